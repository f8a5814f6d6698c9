/* hetsched: plan, certify, simulate and run dense linear algebra on unequal workers.
 *
 * Tiers, read from the top: status - allocation - partition - kernels - pool - product.
 *
 * Contracts that hold everywhere
 *  - Every fallible function returns an hs_status; HS_OK is 0. Outputs are written only on HS_OK, unless said otherwise.
 *  - Inputs are const and never kept; outputs are owned by the caller. "[p]" after a parameter is the length of the array.
 *  - Nothing prints, aborts or exits. Planners are pure functions: they may be called from any number of threads.
 *  - Strides are counted in elements of the array's type and may be zero (inputs only) or negative.
 */
#ifndef HETSCHED_H
#define HETSCHED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status --------------------------------------------------------------------------------------------------- */

typedef enum hs_status {
    HS_OK = 0,
    HS_ERROR_VALUE = 1,       /* an argument is outside its documented range */
    HS_ERROR_MEMORY = 2,      /* out of memory; nothing was changed */
    HS_ERROR_INFEASIBLE = 3,  /* no plan exists for this input */
    HS_ERROR_CANCELLED = 4,   /* the poll function asked to stop; outputs hold partial results */
    HS_ERROR_THREAD = 5,      /* the system refused a thread, or the pool is that of a parent process */
    HS_ERROR_UNSUPPORTED = 6, /* not on this platform, or not with this build */
    HS_ERROR_BUSY = 7         /* the pool runs a job of this very thread (called from its poll function) */
} hs_status;

/* A static English sentence; never NULL, also for unknown numbers. */
const char *hs_status_string(int status);

/* "major.minor.patch" of the library. */
const char *hs_version(void);

/* ---- allocation (1-D) ----------------------------------------------------------------------------------------- */

/* Optimal counts of n equal, independent chunks: minimises max_i counts[i] * cycle_times[i] with sum(counts) == n.
 * 2001 paper, section 2.2, Algorithm 2; ties to the lowest index. The comparisons are exact for the doubles given,
 * so the result is optimal, not nearly so. An infinite cycle-time gets nothing.
 *   n            chunks, 0 <= n <= 2^53
 *   cycle_times  [p] time per chunk, > 0, not NaN, at least one finite
 *   counts       [p] out
 *   makespan     out, may be NULL
 * Time O(p log p), independent of n; memory O(p). */
hs_status hs_distribute(int64_t n, int32_t p, const double *cycle_times, int64_t *counts, double *makespan);

/* ---- partition (2-D) ------------------------------------------------------------------------------------------ */

/* Both partitions tile the unit square with rectangles of the given areas (scaled to sum 1), full columns side by side.
 *   areas         [p] > 0 or 0, finite, at least one positive; a zero area belongs to no column
 *   order         [p] out: the workers with positive area, column by column from the left, top to bottom
 *   column_start  [p + 1] out: column j holds order[column_start[j]] .. order[column_start[j + 1] - 1]
 *   columns       out: number of columns
 *   cost          out: sum of half perimeters */

/* The column-based partition of least cost, 2001 paper section 3.2.1 (Algorithm 3), optimal among full-column partitions.
 * The cost of a column is Monge, so a queue replaces the O(p^2) recurrence: time O(p log p), memory O(p).
 *   max_columns, max_rows   limits on the columns and on the rectangles in one column (p for none); with fewer than
 *                           p columns allowed and a binding limit the time is O(columns * p log p).
 * HS_ERROR_INFEASIBLE if max_columns * max_rows is less than the number of positive areas. */
hs_status hs_partition_columns(int32_t p, const double *areas, int32_t max_columns, int32_t max_rows, int32_t *order,
                               int32_t *column_start, int32_t *columns, double *cost);

/* Integer tiling of an m x n matrix with the structure (order, column_start) of a column partition. Cuts come from
 * hs_distribute, on the columns first and then inside each column: the rectangles tile the matrix exactly.
 *   rects   [4 p] out: row, col, height, width of each worker; all zero for a worker that gets nothing
 * Time O(p log p). */
hs_status hs_tile_columns(int64_t m, int64_t n, int32_t p, const double *areas, const int32_t *order,
                          const int32_t *column_start, int32_t columns, int64_t *rects);

/* ---- kernels -------------------------------------------------------------------------------------------------- */

typedef enum hs_dtype { HS_FLOAT32 = 0, HS_FLOAT64 = 1, HS_COMPLEX64 = 2, HS_COMPLEX128 = 3 } hs_dtype;

/* What multiplies: one of "blis", "openblas" (its gemm functions, handed in by hs_kernel_use_cblas), "c" (our own). */
typedef struct hs_kernel_info {
    char name[32];
    char version[64];      /* of the library, "" for our own */
    char set[32];          /* kernel set, e.g. "skx" */
    char reason[160];      /* why that set */
    char refused[160];     /* why BLIS, though it is there, is not used, else "" */
    char source[2][32];    /* whose micro-kernel multiplies float32, float64: a name as above */
    int32_t tile_rows[2];  /* its register tile */
    int32_t tile_cols[2];
} hs_kernel_info;

/* Chooses and initialises the kernels; called once by every entry point that needs them, harmless to call again.
 * BLIS does not know recent processors and then runs its slowest kernels: the set is chosen from cpuid instead.
 * A BLIS_ARCH_TYPE in the environment is left alone. With AVX-512 our own float32 micro-kernel, which loads less per
 * multiply-add, stands in for BLIS's. BLIS is refused if the library that was loaded is of another release than the header
 * of the build, packs its panels in a way of its own (POWER9), or has no kernels for an AVX-512 that is there. */
hs_status hs_kernel_init(void);

/* What is in use; *info is filled. */
hs_status hs_kernel_describe(hs_kernel_info *info);

/* Selects "blis", "openblas" or "c" for all later products. HS_ERROR_UNSUPPORTED if it is not there. Not to be called
 * while a product runs. */
hs_status hs_kernel_select(const char *name);

/* Hands in Fortran-style sgemm and dgemm, 32-bit or 64-bit integers. They become available as "openblas". */
hs_status hs_kernel_use_fortran(void *sgemm, void *dgemm, int32_t integer_bytes);

/* ---- pool ----------------------------------------------------------------------------------------------------- */

typedef struct hs_pool hs_pool;

/* p workers as persistent threads. The calling thread of a run takes the place of one worker: with cores given that of the
 * worker whose core it is on, so that a run never has more threads than workers.
 *   cores   [p] the core to pin each worker to, or NULL: not pinned (pinning is ignored where the system has none)
 * Runs of one pool are serialised; a pool may be used from several threads. After fork() the child must make its own. */
hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **pool);

/* Waits for a run in progress, joins the threads and frees all. NULL is allowed. In a forked child the threads do not
 * exist; there only the memory is given back. */
void hs_pool_destroy(hs_pool *pool);

/* ---- product -------------------------------------------------------------------------------------------------- */

/* A part of the iteration space of C = A B: rows row.. of C, columns col.. of C, depth.. of the inner dimension. */
typedef struct hs_box {
    int32_t worker;
    int64_t row, col, depth;
    int64_t height, width, length;
} hs_box;

/* C <- alpha A B + beta C, A m x k, B k x n, C m x n, each with a row and a column stride. With beta == 0 C is not read. C
 * must not overlap A or B. alpha and beta are (real, imaginary); the imaginary part is ignored for real types. */
typedef struct hs_product {
    int32_t dtype; /* hs_dtype */
    int64_t m, n, k;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    const void *b;
    int64_t b_row_stride, b_col_stride;
    void *c;
    int64_t c_row_stride, c_col_stride;
    double alpha[2], beta[2];
} hs_product;

typedef enum hs_event_kind { HS_COMPUTE = 0, HS_TRANSFER = 1 } hs_event_kind;

typedef struct hs_event {
    int32_t worker;
    int32_t kind; /* hs_event_kind */
    int32_t box;  /* index of the box worked on */
    double start, end; /* seconds from the start of the run */
} hs_event;

/* Return non-zero to cancel. Called on the thread that called hs_run_product, at most 20 times a second, with the fraction
 * of the work done. */
typedef int (*hs_poll_function)(void *context, double fraction);

/* How a product is run.
 *   boxes       [box_count] tile C; each worker does its own in the order given. A box with depth > 0 adds to what the
 *               boxes before it left, the first one of a C region has depth 0.
 *   cooperative non-zero: all workers share every box, split by speeds; ends are taken over from slower workers. Zero:
 *               each worker does its own boxes, alone.
 *   speeds      [p] relative speeds for cooperative runs, >= 0 with a positive finite sum; NULL for equal ones
 *   pace        [p] seconds per flop of an emulated worker, or NULL for real speed
 *   receive     [2 p] start and end of the emulated transfer of each worker's operands (seconds), or NULL
 *   events      [event_capacity] out, may be NULL with capacity 0; a full array ends the recording, not the run
 *   finish      [p] out or NULL: when each worker ended, seconds from the start
 *   late        [p] out or NULL: by how much a paced worker missed its last deadline, seconds
 *   busy        [p] out or NULL: CPU seconds that each worker used for computing */
typedef struct hs_run {
    const hs_box *boxes;
    int32_t box_count;
    int32_t cooperative;
    const double *speeds;
    const double *pace;
    const double *receive;
    hs_event *events;
    int32_t event_capacity;
    int32_t event_count;
    double *finish, *late, *busy;
    hs_poll_function poll;
    void *poll_context;
} hs_run;

/* Runs the product on the pool; event_count and the arrays of *run are filled. Extra memory: one or two packed panels of B and one
 * block of A per worker, a few MiB, kept by the pool. Complexity: 2 m n k flops (8 m n k complex). */
hs_status hs_run_product(hs_pool *pool, const hs_product *product, hs_run *run);

/* The usual case without a plan: all workers of the pool share C, split by speeds ([p] or NULL). */
hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds, hs_poll_function poll, void *context);

/* Number of flops of one multiply-add of dtype: 2 or 8. */
double hs_flops_per_update(int32_t dtype);

/* Monotonic clock in seconds. */
double hs_clock(void);

#ifdef __cplusplus
}
#endif
#endif
