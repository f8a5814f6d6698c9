/* Measuring the workers of a pool. */
#ifndef HETSCHED_MEASURE_H
#define HETSCHED_MEASURE_H

#include "hetsched/run.h"

HS_C_BEGIN

/* HS_MEASURE_GEMM: C <- A B, all size x size, or C of another size. HS_MEASURE_PANEL: the panel of an LU factorisation,
 * with `size` rows and as many columns as hs_run_factor would choose. HS_MEASURE_TRSM: the
 * triangular solve with the square of such a panel, for `size` columns, as LU updates need it. */
typedef enum hs_measured {
    HS_MEASURE_GEMM = 0,
    HS_MEASURE_PANEL = 1,
    HS_MEASURE_TRSM = 2
} hs_measured;

/* How long a kernel takes on a worker's thread. Each worker has operands of its own and shares
 * nothing but the machine. A product uses the kernel of the worker's domain.
 *   kernel    hs_measured
 *   dtype     hs_dtype
 *   size      >= 1; at most 2^15 for GEMM, else 2^20
 *   worker    the worker to measure, while the other workers are idle; -1: all at once. They then
 *             start together and keep computing until the last one has ended
 *   seconds   how long a worker repeats the kernel, >= 0, after a tenth of that time to warm up;
 *             `least` repetitions are always done
 *   capacity  entries of `times` for each worker, >= least
 *   least     >= 1
 *   times     [p * capacity] out: seconds of a repetition. A kernel that takes less than 20 us is
 *             repeated batch[.] times for one entry; one that takes more than 100 us is timed by
 *             the thread's CPU clock, which stands still while another program has the core
 *   count     [p] out: number of entries of each worker, 0 for an idle one
 *   batch     [p] out: number of repetitions of which each entry is the mean
 *   elapsed   [p] out: wall-clock seconds of all repetitions of a worker, including the time in
 *             which LU kernels restore their operands
 *   busy      [p] out: the same in seconds of CPU time. busy < elapsed: another program had the
 *             core
 *   width     out: columns of the panel, 0 for GEMM
 *   flops     out: of one repetition
 *   rows, cols  sides of C for GEMM, whose depth is `size`, at most 2^15; 0: size. 0 for the other
 *             kernels */
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
    int64_t rows, cols;
} hs_measurement;

/* Fills *what for float64 GEMM of that size on all workers at once, for half a second and at least
 * three repetitions each. The caller sets the arrays and their capacity. */
HS_API void hs_measurement_default(hs_measurement *what, int64_t size);

/* Measures on the pool. The calling thread sleeps and only calls poll (may be NULL). After
 * HS_ERROR_MEMORY and HS_ERROR_CANCELLED the arrays are undefined. Memory: twice the operands for
 * each worker that runs, freed at the end. */
HS_API hs_status hs_measure_kernel(hs_pool *pool, hs_measurement *what, hs_poll_function poll,
                                   void *context);

HS_C_END
#endif
