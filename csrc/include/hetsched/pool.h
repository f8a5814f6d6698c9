/* What one core does, the micro-kernels, and worker threads. */
#ifndef HETSCHED_POOL_H
#define HETSCHED_POOL_H

#include "hetsched/status.h"

HS_C_BEGIN

/* ---- kernels --------------------------------------------------------------------------------- */

typedef enum hs_dtype {
    HS_FLOAT32 = 0,
    HS_FLOAT64 = 1,
    HS_COMPLEX64 = 2,
    HS_COMPLEX128 = 3
} hs_dtype;

/* What multiplies: one of "blis", "openblas" (its gemm functions, handed in by
 * hs_kernel_use_fortran), "c" (our own). */
typedef struct hs_kernel_info {
    char name[32];
    char version[64];     /* of the library, "" for our own */
    char set[32];         /* kernel set, e.g. "skx" */
    char reason[160];     /* why that set */
    char refused[160];    /* why BLIS, though it is there, is not used, else "" */
    char source[2][32];   /* whose micro-kernel multiplies float32, float64: a name as above */
    int32_t tile_rows[2]; /* its register tile */
    int32_t tile_cols[2];
} hs_kernel_info;

/* Chooses and initialises the kernels; called once by every entry point that needs them, harmless
 * to call again.
 * BLIS does not know recent processors and then runs its slowest kernels: the set is chosen from
 * cpuid instead.
 * A BLIS_ARCH_TYPE in the environment is left alone; without one, BLIS is shown a copy of the
 * environment that has it while it initialises itself: other threads may call getenv meanwhile, but
 * nobody should set a variable, which might be lost. With AVX-512 our own float32 micro-kernel,
 * which loads less per multiply-add, stands in for BLIS's. BLIS is refused if the library that was
 * loaded is of another release than the header of the build, packs its panels in a way of its own
 * (POWER9), or has no kernels for an AVX-512 that is there. */
HS_API hs_status hs_kernel_init(void);

/* What is in use; *info is filled. */
HS_API hs_status hs_kernel_describe(hs_kernel_info *info);

/* Selects "blis", "openblas" or "c" for all later runs. HS_ERROR_UNSUPPORTED if it is not there. */
HS_API hs_status hs_kernel_select(const char *name);

/* Hands in Fortran-style sgemm and dgemm, 32-bit or 64-bit integers. They become available as
 * "openblas" for as long as the process lives: to hand in the same again changes nothing, any
 * others are HS_ERROR_UNSUPPORTED, for a product may be running.
 *   set_threads, get_threads   the number of the library's own threads, or both NULL: while workers
 *                              are inside it is held at one, for they are the threads, and then
 *                              made what it was. Without them gemm should stay on the calling
 *                              thread. */
HS_API hs_status hs_kernel_use_fortran(void *sgemm, void *dgemm, int32_t integer_bytes,
                                       void (*set_threads)(int), int (*get_threads)(void));

/* ---- pool ------------------------------------------------------------------------------------ */

typedef struct hs_pool hs_pool;

/* p workers as persistent threads. The calling thread of a run takes the place of one worker: with
 * cores given that of the worker whose core it is on, so that a run never has more threads than
 * workers; but for hs_run_star it is the master beside them.
 *   cores   [p] the core to pin each worker to, or NULL: not pinned (pinning is ignored where the
 *           system has none)
 * HS_ERROR_THREAD where the system refuses to start so many threads (RLIMIT_NPROC, the pids of a
 * cgroup): none is left then. One worker does without a thread, but for hs_run_star and
 * hs_measure_kernel, which are HS_ERROR_THREAD.
 * After fork() the child must make its own. */
HS_API hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **pool);

/* Workers that share a cache, and the kind of their cores. Zeros are the usual values.
 *   kernel            a set of our own micro-kernels: "avx512", "avx2", "neon", "plain"; NULL: the
 *                     kernel in use
 *   depth, rows, cols [2] of float32 and float64, elements: the depth of packed panels, rows of a
 *   packed block of A, which stays in a core's own cache, columns of a packed panel of B, which
 *   stays in the shared one; 0: the kernel's own, rows and columns less than a register tile: that,
 *   a depth of 1: 2 */
typedef struct hs_domain {
    const char *kernel;
    int32_t depth[2], rows[2], cols[2];
} hs_domain;

/* The same for a machine of several caches, or kinds of core. A product that workers share is
 * divided among the domains by their speeds, each share, a rectangle of C, into bands of columns or
 * rows; the workers of one compute a band together, with their kernel, block sizes and packed
 * panels, in memory that they touch first. A domain that is done takes bands over from others.
 * Panels are as deep everywhere as the least of the domains wants, so that every element is the sum
 * of the same terms in one order; kernels that round otherwise than others can still give other
 * last bits, by who computed what. Of a factorisation, a system or a product with Q each block of
 * columns belongs to the domain of its owner: its kernel updates it, with panels that the domain
 * packs for itself; but for emulated runs, owners in both directions, and small ones that one
 * worker does alone, which have one kernel, the one in use.
 *   domains    [count], count >= 1; read only now
 *   domain_of  [p] of each worker, 0 .. count - 1
 * HS_ERROR_UNSUPPORTED if this processor cannot run a kernel, or there is none of that name. */
HS_API hs_status hs_pool_create_domains(int32_t p, const int32_t *cores, int32_t count,
                                        const hs_domain *domains, const int32_t *domain_of,
                                        hs_pool **pool);

/* Waits for a run in progress, joins the threads and frees all. Calls of other threads that wait
 * for their turn end with HS_ERROR_THREAD; none may begin any more. NULL is allowed. In a forked
 * child the threads do not exist; there only the memory is given back. */
HS_API void hs_pool_destroy(hs_pool *pool);

/* For a program that is about to end while other threads compute: makes the pool the calling
 * thread's own. Runs of other threads in progress are cancelled, those that wait for their turn and
 * all later ones are refused, with HS_ERROR_CANCELLED. Returns when no other thread is inside a
 * run, so that no poll function or tile is called any more.
 *   seconds  how long to wait for that, >= 0
 * HS_ERROR_BUSY if one still is inside then (it stays cancelled), or the calling thread works on
 * the run itself; HS_ERROR_THREAD in a forked child. */
HS_API hs_status hs_pool_claim(hs_pool *pool, double seconds);

/* Non-zero: the runs that begin after it give the same bits in a pool of any size. At first it is
 * zero: then factorisations, systems and products with Q, of matrices that are small for more than
 * two workers, are cut into narrower blocks for them, which takes less time. Products without
 * layers of a plan, stacks and tall QR do not depend on the size of the pool in any case. */
HS_API hs_status hs_pool_set_deterministic(hs_pool *pool, int32_t deterministic);

/* Gives back the memory that the pool keeps for its next run, after a run in progress: at most 32
 * MiB for each worker's packed panels, and as much for its blocks. HS_ERROR_BUSY, HS_ERROR_THREAD
 * as of a run. */
HS_API hs_status hs_pool_trim(hs_pool *pool);

/* What the pool's shared runs have shown of late.
 *   speeds        [p] relative speeds, as for those runs, or NULL for equal ones
 *   availability  [p] out: the work that each worker did per speed, over the last 20 ms of such
 *                 runs or so; the best one's is 1, and so are all at first, and that of a worker
 *                 without speed
 * Shared runs are dealt by speeds times these while one of them is below 0.9. May be called from
 * any thread. */
HS_API void hs_pool_availability(const hs_pool *pool, const double *speeds, double *availability);

/* Which workers' threads are held on the core that was given for them: pinned is [p]. */
HS_API void hs_pool_pinned(const hs_pool *pool, int32_t *pinned);

/* Whether the calling thread works on a job of the pool: it is in a poll function or a tile of one
 * of its runs, where another run of the pool is HS_ERROR_BUSY. */
HS_API int32_t hs_pool_is_inside(const hs_pool *pool);

/* A number for the set of cpus that the calling thread may run on: another one when the set has
 * changed, by `taskset -p`, a cgroup or the program itself, so that pinned workers may be where
 * they should not. 0: the system does not say, or the thread is a worker of a pool, whose own cpu
 * says nothing of the program's. Takes less than a microsecond. */
HS_API uint64_t hs_cpus_stamp(void);

HS_C_END
#endif
