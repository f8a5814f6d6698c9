/* Measuring the workers of a pool. */
#ifndef HETSCHED_MEASURE_H
#define HETSCHED_MEASURE_H

#include "hetsched/run.h"

HS_C_BEGIN

/* HS_MEASURE_GEMM: C <- A B, all size x size. HS_MEASURE_PANEL: the panel of an LU factorisation,
 * size rows and the columns that hs_run_factor would choose. HS_MEASURE_TRSM: the triangular solve
 * with such a panel's square, for size columns, as LU updates need it. */
typedef enum hs_measured {
    HS_MEASURE_GEMM = 0,
    HS_MEASURE_PANEL = 1,
    HS_MEASURE_TRSM = 2
} hs_measured;

/* How long a kernel takes on a worker's thread; each worker has operands of its own and shares
 * nothing but the machine. A product is by the kernel of its domain.
 *   kernel, dtype  hs_measured, hs_dtype
 *   size      >= 1; of GEMM at most 2^15, else 2^20
 *   worker    which one, while the others rest; -1: all at once, who start together and keep
 *             computing until the last has ended
 *   seconds   how long a worker repeats, >= 0, after a tenth of that to warm up; least repetitions
 *             are always done
 *   capacity, least  1 <= least <= capacity
 *   times     [p * capacity] out: seconds of a repetition, capacity places for each worker; what
 *             takes less than 20 us is repeated batch[.] times for one of them, and what takes more
 *             than 100 us is timed by the thread's own clock, which stands still while another
 *             program has the core
 *   count, batch    [p] out: times of each worker, 0 of one that rested; repetitions of which each
 *                   is the mean
 *   elapsed, busy   [p] out: seconds of the wall clock, and of its core, that all repetitions of a
 *             worker took. They include what the LU kernels need to put their operands back. busy <
 *             elapsed: something else had the core
 *   width     out: columns of the panel, 0 for GEMM
 *   flops     out: of one repetition */
typedef struct hs_measurement {
    int32_t kernel, dtype;
    int64_t size;
    int32_t worker;
    double seconds;
    int32_t capacity, least;
    double *times;
    int32_t *count, *batch;
    double *elapsed, *busy;
    int64_t width;
    double flops;
} hs_measurement;

/* Fills *what for float64 GEMM of that size on all workers at once, for half a second and at least
 * three repetitions each; the arrays and their capacity remain to be set. */
HS_API void hs_measurement_default(hs_measurement *what, int64_t size);

/* Measures on the pool; the calling thread sleeps, but for poll (may be NULL). HS_ERROR_MEMORY,
 * HS_ERROR_CANCELLED: the arrays are undefined. Memory: the operands twice, for each worker that
 * runs; given back at the end. */
HS_API hs_status hs_measure_kernel(hs_pool *pool, hs_measurement *what, hs_poll_function poll,
                                   void *context);

HS_C_END
#endif
