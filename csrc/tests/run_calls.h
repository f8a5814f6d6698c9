/* The arguments and results of a run in one struct. The runners pass its three parts to the
 * engine. */
#ifndef HETSCHED_TESTS_RUN_CALLS_H
#define HETSCHED_TESTS_RUN_CALLS_H

#include "hetsched.h"

typedef struct {
    hs_boxes boxes;
    hs_options options;
    hs_trace trace;
} test_run;

static inline hs_status run_product(hs_pool *pool, const hs_product *product, test_run *run)
{
    return hs_run_product(pool, product, &run->boxes, &run->options, &run->trace);
}

static inline hs_status run_star(hs_pool *pool, const hs_product *product, hs_star_product *star,
                                 const test_run *run)
{
    return hs_run_star(pool, product, star, &run->options, &run->trace.times);
}

/* Runs a factorisation. Whether it is cooperative is a part of the boxes, as for a product. */
static inline hs_status run_lu(hs_pool *pool, hs_factor *lu, test_run *run)
{
    if (lu) lu->cooperative = run->boxes.cooperative;
    return hs_run_factor(pool, lu, &run->options, &run->trace);
}

static inline hs_status run_slices(hs_pool *pool, const hs_slices *slices, test_run *run)
{
    return hs_run_slices(pool, slices, &run->options, &run->trace);
}

static inline hs_status run_wavefront(hs_pool *pool, const hs_wavefront *wavefront, test_run *run)
{
    return hs_run_wavefront(pool, wavefront, &run->options, &run->trace);
}

#endif
