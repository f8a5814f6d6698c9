/* The tasks of an LU factorisation by blocks of columns, as both its simulation and its execution see them. */
#ifndef HS_ALLOCATE_LU_H
#define HS_ALLOCATE_LU_H

#include <stdint.h>

#include "hetsched.h"

/* Blocks of `block` columns; the columns of an m x n matrix beyond the m-th begin a block. Panels are the first of them. */
typedef struct hs__lu_blocks {
    int64_t m, n, block;
    int32_t panels, count;
} hs__lu_blocks;

/* Returns 0 for numbers out of their ranges, and where there would be more than 2^31 - 1 blocks or pairs of them. */
int hs__lu_blocks_init(hs__lu_blocks *blocks, int64_t m, int64_t n, int64_t block);

static inline int64_t hs__lu_first(const hs__lu_blocks *b, int32_t j)
{
    const int64_t rank = b->m < b->n ? b->m : b->n;
    return j <= b->panels ? (j < b->panels ? j * b->block : rank) : rank + (j - b->panels) * b->block;
}

static inline int64_t hs__lu_width(const hs__lu_blocks *b, int32_t j)
{
    return (j + 1 < b->count ? hs__lu_first(b, j + 1) : b->n) - hs__lu_first(b, j);
}

/* Multiply-adds of the panel k, and of its update of block j. */
static inline double hs__lu_panel_work(const hs__lu_blocks *b, int32_t k)
{
    const double rows = (double)(b->m - hs__lu_first(b, k)), width = (double)hs__lu_width(b, k);
    return width * width * (rows - width / 3.0) / 2.0;
}

static inline double hs__lu_update_work(const hs__lu_blocks *b, int32_t k, int32_t j)
{
    const double rows = (double)(b->m - hs__lu_first(b, k)), width = (double)hs__lu_width(b, k);
    return width * (rows - width / 2.0) * (double)hs__lu_width(b, j);
}

/* The ports of the workers, and who needs which panels. */
typedef struct hs__lu_ports {
    int32_t p;
    const int32_t *owner; /* [count] */
    const double *links;  /* [p * p] */
    double *out, *in;     /* [p] when each port is free */
    int32_t *last;        /* [p] last block of each worker, -1 for none */
} hs__lu_ports;

/* 0 if there is no memory. hs__lu_ports_end in any case. */
int hs__lu_ports_init(hs__lu_ports *ports, const hs__lu_blocks *blocks, int32_t p, const int32_t *owner, const double *links);
void hs__lu_ports_end(hs__lu_ports *ports);

/* The messages of panel k, which is ready at `ready`; panels come in order.
 *   arrivals  [p] out: when each worker has it, its owner from `ready` on; others that do not need it are left out
 *   starts    [p] out, may be NULL: of the messages
 *   order     [p] out, may be NULL: the receivers in the order in which they are served
 * Returns the number of messages. */
int32_t hs__lu_broadcast(hs__lu_ports *ports, const hs__lu_blocks *blocks, int32_t k, double ready, double *arrivals, double *starts,
                         int32_t *order);

/* Whether the costs, which may be NULL, are in their ranges for valid owners. */
int hs__lu_valid_costs(const hs_lu_costs *costs, const hs__lu_blocks *blocks, int32_t p, const int32_t *owner);

#endif
