/* Kernels, which compute on one core, and pools of worker threads. */
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

/* The library that multiplies: "blis", "openblas" (its gemm functions, passed to
 * hs_kernel_use_fortran) or "c" (this library's own kernels). */
typedef struct hs_kernel_info {
    char name[32];
    char version[64];     /* of the library; "" for "c" */
    char set[32];         /* kernel set, e.g. "skx" */
    char reason[160];     /* why this set was chosen */
    char refused[160];    /* why BLIS, although present, is not used; else "" */
    char source[2][32];   /* origin of the micro-kernel for float32, float64: a name as above */
    int32_t tile_rows[2]; /* register tile of that micro-kernel */
    int32_t tile_cols[2];
} hs_kernel_info;

/* Chooses and initialises the kernels. Every entry point that needs kernels calls it once; calling
 * it again is harmless.
 *
 * BLIS does not know recent processors and then runs its slowest kernels, so the kernel set is
 * chosen from cpuid. A BLIS_ARCH_TYPE in the environment is respected. If there is none, BLIS sees
 * a copy of the environment with this variable while it initialises itself. During that time other
 * threads may call getenv, but no thread should set a variable, because the change might be lost.
 * With AVX-512, this library's own float32 micro-kernel replaces the one of BLIS because it loads
 * less per multiply-add. BLIS is refused if the loaded library is of another release than the
 * header used in the build, if it packs its panels in its own layout (POWER9), or if the processor
 * has an AVX-512 for which it has no kernels. */
HS_API hs_status hs_kernel_init(void);

/* Fills in *info for the kernels in use. */
HS_API hs_status hs_kernel_describe(hs_kernel_info *info);

/* Selects "blis", "openblas" or "c" for all later runs. HS_ERROR_UNSUPPORTED if it is not
 * available. */
HS_API hs_status hs_kernel_select(const char *name);

/* Registers Fortran-style sgemm and dgemm, with 32-bit or 64-bit integers. They remain available as
 * "openblas" for the life of the process. Registering the same functions again changes nothing;
 * other functions give HS_ERROR_UNSUPPORTED, because a product may be running.
 *   set_threads, get_threads   set and return the number of threads of the library, or both NULL.
 *                              While workers are inside the library the number is held at one,
 *                              because the workers are the threads; afterwards it is restored.
 *                              Without these functions gemm should stay on the calling thread. */
HS_API hs_status hs_kernel_use_fortran(void *sgemm, void *dgemm, int32_t integer_bytes,
                                       void (*set_threads)(int), int (*get_threads)(void));

/* ---- pool ------------------------------------------------------------------------------------ */

typedef struct hs_pool hs_pool;

/* Creates p workers as persistent threads. The thread that calls a run takes the place of one
 * worker, so a run never has more threads than workers. If cores are given, it takes the place of
 * the worker on the core where it runs. In hs_run_star it is the master instead, beside the
 * workers.
 *   cores   [p] the core to pin each worker to, or NULL: not pinned. Ignored on systems without
 *           pinning
 * HS_ERROR_THREAD if the system refuses to start so many threads (RLIMIT_NPROC, the pids limit of a
 * cgroup); no thread is left then. A pool of one worker works without a thread, except in
 * hs_run_star and hs_measure_kernel, which return HS_ERROR_THREAD. After fork() the child must
 * create its own pool. */
HS_API hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **pool);

/* Kernel and block sizes of a domain: workers that share a cache and have the same kind of core.
 * Zeros select the defaults.
 *   kernel             a set of this library's own micro-kernels: "avx512", "avx2", "neon" or
 *                      "plain"; NULL: the kernel in use
 *   depth, rows, cols  [2] for float32 and float64, in elements, >= 0. depth: of packed panels.
 *                      rows: of a packed block of A, which stays in a core's private cache. cols:
 *                      of a packed panel of B, which stays in the shared cache. 0: the default of
 *                      the kernel. rows and cols below a register tile are raised to it, a depth
 *                      of 1 to 2 */
typedef struct hs_domain {
    const char *kernel;
    int32_t depth[2], rows[2], cols[2];
} hs_domain;

/* Like hs_pool_create, for a machine with several caches or kinds of core.
 *
 * A product that the workers share is divided among the domains by their speeds. Each share is a
 * rectangle of C, divided into bands of columns or rows. The workers of a domain compute a band
 * together, with their own kernel, block sizes and packed panels, in memory that they touch first.
 * A domain that has finished steals bands from the other domains. The depth of the panels is the
 * least depth of all domains, so that every element is the sum of the same terms in the same order.
 * If the kernels round differently, the last bits can still depend on which domain computed an
 * element.
 *
 * In a factorisation, a system or a product with Q, each block of columns belongs to the domain of
 * its owner. The domain updates it with its own kernel and with panels that it packs for itself.
 * Exceptions use the kernel in use for all workers: emulated runs, owners in both directions, and
 * small matrices that one worker computes alone.
 *   domains    [count], count >= 1; read only during the call
 *   domain_of  [p] the domain of each worker, 0 .. count - 1
 * HS_ERROR_UNSUPPORTED if this processor cannot run a kernel, or no kernel has the name. */
HS_API hs_status hs_pool_create_domains(int32_t p, const int32_t *cores, int32_t count,
                                        const hs_domain *domains, const int32_t *domain_of,
                                        hs_pool **pool);

/* Cpus between which the system may move a worker: they share a cache and have the same kind of
 * core.
 *   cpus   [count] numbers, 0 .. 65535; no cpu is in two sites
 *   cores  number of physical cores with these cpus, >= 1: so many workers have room
 *   kind   the same number, >= 0, for sites that the same kernel and block sizes suit. Lower
 *          numbers have faster cores */
typedef struct hs_site {
    int32_t count;
    const int32_t *cpus;
    int32_t cores, kind;
} hs_site;

/* Chooses the sites of a pool that needs fewer cores than it may use. The free cores of the fastest
 * kind are taken first, then those of the next kind. Within a kind the workers come together on one
 * site if that has enough free cores, else on as few as possible. Of equally good sites one is
 * chosen at random, in proportion to its free cores, so that processes that start at the same moment
 * spread.
 *   p           number of workers, 1 .. 4096
 *   free_cores  [count] >= 0, or NULL: all cores are free
 *   preferred   the site to take if it is as good as any other, or -1
 *   seed        of the random choice; 0: another one for each call
 *   workers     [count] out: number of workers on each site; their sum is p
 * O(p count). HS_ERROR_VALUE for wrong arguments. */
HS_API hs_status hs_choose_sites(int32_t p, int32_t count, const hs_site *sites,
                                 const double *free_cores, int32_t preferred, uint64_t seed,
                                 int32_t *workers);

/* Chooses the sites of p workers as hs_choose_sites does, by the cores that are free now: by the
 * load of the last moments (Linux), once hs_watch_load or an earlier call is 0.1 s ago; otherwise
 * all cores count as free. If the load is known, the site where the calling thread runs is preferred.
 * Arguments and errors as above; HS_ERROR_MEMORY. */
HS_API hs_status hs_spread_workers(int32_t p, int32_t count, const hs_site *sites,
                                   int32_t *workers);

/* Begins to watch the load of the cpus. */
HS_API void hs_watch_load(void);

/* Returns the CPU quota of this process in cpus, the least of its control groups and their
 * ancestors (Linux), as it was during the last second; infinite without one. */
HS_API double hs_cpu_quota(void);

/* Returns the number of workers worth starting under a CPU quota: the quota rounded up if the
 * fraction adds a tenth to the speed, else rounded down; at least 1.
 *   quota  in cpus; infinite: none */
HS_API int32_t hs_workers_for_quota(double quota);

/* Binds the workers of each domain of a pool to a site, instead of pinning each to a core. Before a
 * run, but not more often than every 0.25 s, the pool looks whether other programs have taken the
 * cores of a site. If so, it may move the workers of the domain to another site of the same kind.
 *   pool     made without cores. Call this at most once, before the first run
 *   site_of  [domains of the pool, 1 for hs_pool_create] 0 .. count - 1
 * A site whose cpus the system refuses leaves the workers where they are. HS_ERROR_VALUE for wrong
 * arguments, HS_ERROR_MEMORY. */
HS_API hs_status hs_pool_bind(hs_pool *pool, int32_t count, const hs_site *sites,
                              const int32_t *site_of);

/* Waits for the runs in progress, joins the threads and frees the pool. Calls from other threads
 * that wait for their turn end with HS_ERROR_THREAD; no new call may begin. NULL is allowed. In a
 * forked child the threads do not exist, and only the memory is freed. */
HS_API void hs_pool_destroy(hs_pool *pool);

/* Makes the pool the calling thread's own, for a program that is about to end while other threads
 * compute. Runs in progress in other threads are cancelled. Runs of other threads that wait for
 * their turn, and all their later runs, are refused. All of them return HS_ERROR_CANCELLED. The
 * function returns when no other thread is inside a run, so that no poll function and no tile
 * function is called after it.
 *   seconds  how long to wait for that, >= 0
 * HS_ERROR_BUSY if a thread is still inside after that time (its run stays cancelled), or if the
 * calling thread works on the run itself. HS_ERROR_THREAD in a forked child. */
HS_API hs_status hs_pool_claim(hs_pool *pool, double seconds);

/* Makes results independent of the size of the pool, bit for bit, in the runs that begin after the
 * call.
 *   deterministic  non-zero: yes. 0, the initial state: factorisations, systems and products with Q
 *                  use narrower blocks if the matrix is small for more than two workers, which
 *                  takes less time
 * Products without layers of a plan, stacks and tall QR never depend on the size of the pool. */
HS_API hs_status hs_pool_set_deterministic(hs_pool *pool, int32_t deterministic);

/* Lets the caller of a brief run do it alone while the pool is crowded: while other programs have
 * about as much of the cores as its workers. A worker that shares its core is away for some
 * milliseconds now and then, and a run of less time, or one whose workers meet often, waits for it.
 * Results are the same, bit for bit. A longer run, of up to about a second, is done alone only if the
 * caller then has about as much of the cores as all workers together. Runs that are longer still have
 * all workers in any case.
 *   elastic  non-zero: yes. 0, the initial state: every run has all workers
 * Linux only: elsewhere no pool is found to be crowded. */
HS_API hs_status hs_pool_set_elastic(hs_pool *pool, int32_t elastic);

/* Frees the memory that the pool keeps for later runs, after the runs in progress. For each of the
 * runs that were in progress at the same time it is at most 32 MiB per worker for packed panels and
 * 32 MiB for blocks, and for four decompositions 32 MiB each. HS_ERROR_BUSY and HS_ERROR_THREAD as in a run. */
HS_API hs_status hs_pool_trim(hs_pool *pool);

/* Returns how much of its speed each worker has had recently, as measured in the pool's shared
 * runs. May be called from any thread.
 *   speeds        [p] relative speeds, as in those runs, or NULL for equal speeds
 *   availability  [p] out: work done divided by speed, over about the last 20 ms of such runs,
 *                 relative to the best worker, which has 1. All are 1 before the first run, and a
 *                 worker without speed always has 1
 * While one value is below 0.9, shared runs are divided by speeds times availability. */
HS_API void hs_pool_availability(const hs_pool *pool, const double *speeds, double *availability);

/* Tells which workers are pinned to the core that was given for them.
 *   pinned  [p] out: non-zero if the worker's thread is pinned */
HS_API void hs_pool_pinned(const hs_pool *pool, int32_t *pinned);

/* Returns whether the calling thread works on a job of the pool, that is, it is in a poll function
 * or a tile function of one of its runs. There, another run of the pool returns HS_ERROR_BUSY. A
 * child that was forked there is not inside: it has none of the pool's jobs. */
HS_API int32_t hs_pool_is_inside(const hs_pool *pool);

/* Returns a number that identifies the set of cpus on which the calling thread may run, and the
 * number of workers for the quota. It changes when one of them does: the set by `taskset -p`, a
 * cgroup or the program itself; pinned workers may then be outside the set. 0 if the system does not
 * tell, or the thread is a worker of a pool, because a worker's own cpu tells nothing about the cpus
 * of the program. Takes less than a microsecond, unless it reads the quota, about once a second. */
HS_API uint64_t hs_cpus_stamp(void);

HS_C_END
#endif
