/* The tasks of a factorisation by blocks of columns. Both its simulation (factor.c) and its
 * execution use these functions, so that they agree on blocks, work and messages. */
#ifndef HS_ALLOCATE_FACTOR_H
#define HS_ALLOCATE_FACTOR_H

#include <stdint.h>

#include "hetsched.h"

/* Blocks of `block` columns. If an m x n matrix has more columns than rows, column m begins a new
 * block. The first `panels` blocks are panels. */
typedef struct hs__factor_blocks {
    int32_t kind; /* hs_factor_kind */
    int64_t m, n, block;
    int32_t panels, count;
} hs__factor_blocks;

/* Returns 0 for numbers out of their ranges, and if the number of pairs of blocks is above 2^31 -
 * 1. */
int hs__factor_blocks_init(hs__factor_blocks *blocks, int32_t kind, int64_t m, int64_t n,
                           int64_t block);

static inline int64_t hs__block_first(const hs__factor_blocks *b, int32_t j)
{
    const int64_t rank = b->m < b->n ? b->m : b->n;
    return j <= b->panels ? (j < b->panels ? j * b->block : rank)
                          : rank + (j - b->panels) * b->block;
}

static inline int64_t hs__block_width(const hs__factor_blocks *b, int32_t j)
{
    return (j + 1 < b->count ? hs__block_first(b, j + 1) : b->n) - hs__block_first(b, j);
}

/* Multiply-adds of panel k, of its update of block j > k, and of all its updates. Cholesky computes
 * the lower triangle alone; in QR, where the factor of the block reflector is part of the panel, an
 * update multiplies by V^H, T^H and V. */
double hs__panel_work(const hs__factor_blocks *blocks, int32_t k);
double hs__update_work(const hs__factor_blocks *blocks, int32_t k, int32_t j);
double hs__updates_work(const hs__factor_blocks *blocks, int32_t k);

/* Computes the least time in which the workers can divide the multiply-adds of updates and of panels
 * perfectly. By duality it is the largest value, over all r, of (updates + r panels) / sum max(rate,
 * r panel rate), and the only candidates for r are the workers' own ratios, 0 and infinity.
 *   unit  time of the fastest worker, so that no sum of rates overflows */
hs_status hs__perfect_division_time(int32_t p, const double *times, const double *panel_times,
                                    double updates, double panels, double unit, double *least);

/* Elements of panel k that other workers need. */
double hs__panel_elements(const hs__factor_blocks *blocks, int32_t k);

/* The ports of the workers, and which panels each worker needs. */
typedef struct hs__factor_ports {
    int32_t p;
    const int32_t *owner; /* [count] */
    const double *links;  /* [p * p] */
    int64_t segment;      /* of hs_factor_costs */
    double *out, *in;     /* [p] when each port is free */
    int32_t *last;        /* [p] last block of each worker, -1 for none */
    int32_t *next;        /* [count] the next block of the same worker, -1 for none */
    int32_t *ring;        /* [waiting] the next block of each worker that has one, ascending */
    int32_t waiting;
} hs__factor_ports;

/* Returns 0 if there is no memory. Call hs__factor_ports_end in any case. */
int hs__factor_ports_init(hs__factor_ports *ports, const hs__factor_blocks *blocks, int32_t p,
                          const int32_t *owner, const hs_factor_costs *costs);
void hs__factor_ports_end(hs__factor_ports *ports);

/* Schedules the messages of panel k, which is complete at the time `ready`. Call it for all panels,
 * in order.
 *   arrivals  [p] out: when each worker has the panel, its owner from `ready` on; entries of
 *             workers that do not need it are not written
 *   starts    [p] out, may be NULL: of the messages
 *   order     [p] out, may be NULL: the receivers; each gets the panel from the one before it, the
 *             first from the owner
 * Returns the number of messages. */
int32_t hs__factor_broadcast(hs__factor_ports *ports, const hs__factor_blocks *blocks, int32_t k,
                             double ready, double *arrivals, double *starts, int32_t *order);

/* Returns whether the costs, which may be NULL, are in their ranges. The owners must be valid. */
int hs__factor_valid_costs(const hs_factor_costs *costs, const hs__factor_blocks *blocks, int32_t p,
                           const int32_t *owner);

#endif
