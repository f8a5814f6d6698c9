/* A gang: workers that compute one box of a product together. Each panel of B is packed once and
 * shared; a block of A and a tile of C belong to one worker at a time. A worker on its own is a
 * gang of one. */
#ifndef HS_PRODUCT_GANG_H
#define HS_PRODUCT_GANG_H

#include <stdatomic.h>
#include <stddef.h>

#include "product/panels.h"
#include "run/member.h"

/* The tiles of one member in a panel that no worker has taken yet, in one word: a number that
 * stands for the panel, the end of the tiles that are left, and the first of them. Panels that use
 * the same slot have different numbers, so a worker that comes late finds nothing to take. */
typedef _Atomic uint64_t hs__queue;

typedef struct hs__gang {
    hs__panel_product x;
    int32_t members;
    void *panels[2];  /* buffers of packed B, used in turn; the same twice if there is one */
    hs__panel *panel; /* [panel_count] */
    int64_t panel_count;
    hs__tile *tile;   /* tiles of all columns */
    hs__queue *queue; /* [slots * members] panel k uses slot k % slots */
    int32_t slots;
    /* [deals * (members + 1)] in each row: tiles first[w] .. first[w + 1] - 1 of a panel are
     * planned for member w. Panels that are dealt alike share a row. */
    int32_t *first;
    _Atomic int32_t *present; /* [members] non-zero: it has begun */
    int32_t ends;             /* non-zero: no box follows, members are to end together */
    int32_t first_buffer;     /* index in panels[] of the first panel's buffer */
    /* before[i] is the panel that the buffer of panel i held last, computed by these members in the
     * gang before this one; or NULL */
    const hs__panel *before[2];
} hs__gang;

/* Computes an upper bound for the bytes of a gang's tables, and the number of its tiles; a tile of
 * C counts once for each panel that is added to it. HS_ERROR_VALUE, HS_ERROR_MEMORY: too large. */
hs_status hs__gang_measure(const hs__panel_product *x, int32_t members, const double *speeds,
                           size_t *bytes, int64_t *tiles);

/* Splits the box over the members and lays out the gang in `room`. The caller sets panels[].
 *   speeds   [members], or NULL: equal ones
 *   ends     non-zero: no box follows
 *   after    the gang that these members formed before, or NULL
 *   room     zeros, as many bytes as hs__gang_measure says */
void hs__gang_place(hs__gang *gang, const hs__panel_product *x, int32_t members,
                    const double *speeds, int32_t ends, const hs__gang *after, void *room);

/* Does the same in memory of the run, for a gang with nothing before or after it. */
hs_status hs__gang_init(hs__gang *gang, hs__run *run, const hs__panel_product *x, int32_t members,
                        const double *speeds);

/* Does the part of one member, until nothing is left for it to take; returns its flops.
 *   block   its buffer for A, hs__block_bytes
 *   self    keeps its pace, records events, attends to the run, and ends with it
 * Members wait for each other at the run's first signal if the run has signals, which it does when
 * its workers have no cores of their own; else they spin. */
double hs__gang_work(hs__gang *gang, int32_t member, void *block, hs__member *self);

/* Waits until the other members have finished their tiles: then the buffers and C are free for the
 * next box. */
void hs__gang_wait(const hs__gang *gang, hs__member *self);

#endif
