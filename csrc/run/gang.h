/* A gang: workers that compute one box of a product together. Panels of B are packed once and shared; blocks of A and tiles of
 * C belong to one worker at a time. A gang of one is a worker on its own. */
#ifndef HS_RUN_GANG_H
#define HS_RUN_GANG_H

#include <stdatomic.h>
#include <stddef.h>

#include "core/element.h"
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "run/matrix.h"
#include "run/triangle.h"

/* A box as the micro-kernel sees it: C turned so that its fast stride is the kernel's, complex operands made real. */
typedef struct hs__panel_product {
    const hs__blocking *kernel;
    hs__pack pack_a, pack_b;
    int32_t buffers;          /* packed panels of B held at a time: 1 or 2 */
    int32_t complex, general; /* general: tiles go by a buffer, for C has complex elements and no unit stride, or alpha is complex */
    hs__matrix a, b, c;
    hs__triangle triangle;    /* of c */
    double alpha[2], beta[2];
    int64_t depth, block_rows, panel_cols; /* blocking for this size, in elements of the type */
} hs__panel_product;

/* Whether alpha, rounded to the type, is zero: then A and B are not read. */
static inline int hs__no_product(const hs_product *p)
{
    const int double_precision = p->dtype & 1, complex = p->dtype >> 1;
    const double re = p->alpha[0], im = complex ? p->alpha[1] : 0.0;
    return double_precision ? re == 0.0 && im == 0.0 : (float)re == 0.0f && (float)im == 0.0f;
}

/* Sets up the box of a product for a gang of that many members; beta counts only where the box starts at depth 0. Returns 0 where there is nothing to do. */
int hs__panel_product_init(hs__panel_product *x, const hs__kernel *kernel, const hs_product *product, const hs_box *box, int32_t members);

/* The whole product by one thread, with the two buffers below. A cancel is seen after each block of A. */
void hs__panel_product_run(const hs__panel_product *x, void *panel, void *block, const int *cancel);

/* Bytes of one packed panel of B, and of a member's buffer: a packed block of A and what else a tile needs. */
size_t hs__panel_bytes(const hs__panel_product *x);
size_t hs__block_bytes(const hs__panel_product *x);

/* A tile of C within the columns of one panel of B. */
typedef struct hs__tile {
    int64_t row, rows, col, cols;
    _Atomic int32_t done; /* panels that have been added to it */
} hs__tile;

typedef struct hs__panel {
    int64_t col, cols, level, levels; /* columns of B; depth */
    int32_t tile_first, tile_count;
    int32_t chunk_count;
    _Atomic int32_t claimed, packed, finished; /* chunks taken and packed, tiles done */
} hs__panel;

/* A member's tiles in a panel that nobody has taken: a number of the panel's, so that who comes late to a slot finds nothing, then how
 * many were taken from the front and how many are left up to the back. */
typedef _Atomic uint64_t hs__queue;

typedef struct hs__gang {
    hs__panel_product x;
    int32_t members;
    void *panels[2];    /* packed B, in turns; the same twice with one buffer */
    hs__panel *panel;   /* [panel_count] */
    int64_t panel_count;
    hs__tile *tile;     /* all columns' tiles */
    int64_t tile_total; /* of all panels */
    hs__queue *queue;   /* [slots * members] those of a panel are in slot panel % slots */
    int32_t slots;
    int32_t *first;     /* [deals * (members + 1)] tiles of a panel that are the member's, for panels that are dealt alike */
    _Atomic int32_t *present; /* [members] who has begun */
} hs__gang;

/* Splits the box over the members by speed and lays out all state in memory of the run; panels[] are the caller's. */
hs_status hs__gang_init(hs__gang *gang, hs__run *run, const hs__panel_product *x, int32_t members, const double *speeds);

/* The part of one member, until nothing is left for it to take; returns its flops. block is its buffer for A. Meanwhile self keeps its
 * pace, records, attends to its run and ends with it. */
double hs__gang_work(hs__gang *gang, int32_t member, void *block, hs__member *self);

/* Waits until the others have finished theirs: then the buffers and C are free for the next box. */
void hs__gang_wait(const hs__gang *gang, hs__member *self);

#endif
