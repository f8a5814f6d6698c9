/* A pool of persistent worker threads (helpers), and how it runs one job.
 *
 * A runner takes the pool with hs__pool_lock; other callers wait for their turn. hs__pool_run
 * offers the job to all helpers: it sets `offered`, increments the ticket and signals the helper. A
 * helper that clears `offered` does its part. If the caller has cleared the flag first
 * (withdraw_job), the helper came too late and goes on waiting. The caller takes the place of the
 * worker on the core where it runs, does that worker's part, and then waits until `remaining` is 0.
 * In a shared run it withdraws the job from helpers that have not started, and rescues preempted
 * ones (migrate.h). Between jobs a pinned helper busy-waits for spin_seconds before it sleeps on
 * its signal. */
#define _GNU_SOURCE
#include "threads/pool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "threads/arena.h"
#include "threads/cpus.h"
#include "threads/migrate.h"

/* How long a worker busy-waits for the next job before it sleeps. Waking a sleeping thread costs
 * tens of microseconds, as much as a small product. */
static const double spin_seconds = 200e-6;

typedef struct {
    hs_pool *pool;
    int32_t worker;
    int started, pinned;
    pthread_t thread;
    hs__signal wake;
    atomic_uint ticket; /* number of the current job */
    atomic_int offered; /* the thread that clears it does the job, or withdraws it */
    hs__placement placement;
} __attribute__((aligned(64))) helper;

struct hs_pool {
    int32_t p;
    int32_t *cores; /* NULL: not pinned */
    int spin;       /* each worker has its own core */
    atomic_int deterministic;
    pid_t pid;
    hs__domains domains;
    hs__arena scratch; /* [2 p] panels of each worker, then blocks of each worker */
    hs__drift drift;

    pthread_mutex_t run_lock;
    atomic_int callers;         /* threads inside hs__pool_lock */
    int closing;                /* under run_lock: these threads must leave */
    const char *_Atomic runner; /* this_thread of the thread with the running job, or NULL */
    /* this_thread of the only thread that may run jobs, or NULL: any thread may */
    const char *_Atomic owner;
    hs__work *work;
    void *job;
    int32_t own;          /* worker that the caller stands in for, or -1 */
    atomic_int stop;      /* read at any time, by a helper that was late for the last job */
    atomic_int remaining; /* workers that have not ended */
    hs__signal done;
    helper helpers[]; /* [p] */
};

void hs__pool_step_out(hs_pool *pool)
{
    if (pool->own < 0) return;
    hs__go_home(hs__placement_end(&pool->helpers[pool->own].placement));
}

void hs__pool_step_in(hs_pool *pool)
{
    if (pool->own >= 0) hs__placement_begin(&pool->helpers[pool->own].placement);
}

void hs__pool_rescue(hs_pool *pool, int32_t worker)
{
    if (!pool->spin) return;
    hs__placement *own = worker < 0 ? NULL : &pool->helpers[worker].placement;
    int guests = 0;
    for (int32_t i = 0; i < pool->p; i++)
        if (i != worker) guests += hs__placement_watch(&pool->helpers[i].placement, own);
    if (guests) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* The worker sleeps on the signal that announces jobs, since no job can be announced meanwhile. */
void hs__pool_sleep(hs_pool *pool, int32_t worker, double until, const int *cancel)
{
    hs__sleep_at(&pool->helpers[worker].wake, until, cancel);
}

void hs__pool_wake(hs_pool *pool)
{
    for (int32_t i = 0; i < pool->p; i++) hs__signal_wake(&pool->helpers[i].wake);
}

static double spin_time(const hs_pool *pool) { return pool->spin ? spin_seconds : 0.0; }

static void end_part(hs_pool *pool)
{
    if (atomic_fetch_sub(&pool->remaining, 1) == 1) hs__signal_send(&pool->done);
}

typedef struct {
    const helper *self;
    unsigned seen;
} last_job;

static int has_next(const void *what)
{
    const last_job *last = what;
    return atomic_load(&last->self->ticket) != last->seen;
}

/* The pool of which this thread is a helper, or NULL. */
static _Thread_local const hs_pool *helper_of;

static void *helper_main(void *argument)
{
    helper *self = argument;
    hs_pool *pool = self->pool;
    helper_of = pool;
#if defined(__linux__)
    char name[16] = "hetsched-worker";
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1000UL); /* paced workers sleep with microsecond accuracy */
#endif
    for (unsigned seen = 0;;) {
        const last_job last = {self, seen};
        const hs__wait next = {.ready = has_next, .what = &last, .spin = spin_time(pool)};
        hs__wait_until(&next, &self->wake);
        seen = atomic_load(&self->ticket);
        if (atomic_load(&pool->stop)) return NULL;
        if (!atomic_exchange(&self->offered, 0)) continue; /* the job was withdrawn */
        hs__placement_begin(&self->placement);
        pool->work(pool->job, self->worker, 0);
        const hs__cpus home = hs__placement_end(&self->placement);
        end_part(pool);
        hs__go_home(home);
    }
}

static void wake_helper(helper *to)
{
    atomic_fetch_add(&to->ticket, 1);
    hs__signal_send(&to->wake);
}

int32_t hs__pool_size(const hs_pool *pool) { return pool->p; }
int hs__pool_has_threads(const hs_pool *pool) { return pool->helpers[0].started; }

int32_t hs__pool_cuts_for(const hs_pool *pool)
{
    return atomic_load(&pool->deterministic) ? 1 : pool->p;
}

hs_status hs_pool_set_deterministic(hs_pool *pool, int32_t deterministic)
{
    if (!pool) return HS_ERROR_VALUE;
    atomic_store(&pool->deterministic, deterministic != 0);
    return HS_OK;
}

const hs__domains *hs__pool_domains(const hs_pool *pool) { return &pool->domains; }
int32_t hs__pool_domain(const hs_pool *pool, int32_t worker)
{
    return hs__domain_of(&pool->domains, worker);
}

hs__drift *hs__pool_drift(hs_pool *pool) { return &pool->drift; }

void hs_pool_availability(const hs_pool *pool, const double *speeds, double *availability)
{
    if (pool && availability) hs__drift_availability(&pool->drift, speeds, availability);
}

void hs_pool_pinned(const hs_pool *pool, int32_t *pinned)
{
    for (int32_t i = 0; pool && pinned && i < pool->p; i++) pinned[i] = pool->helpers[i].pinned;
}

int hs__pool_spins(const hs_pool *pool) { return pool->spin; }
int32_t hs__pool_look_interval(const hs_pool *pool, int shared)
{
    return shared && pool->spin ? 2 : 20;
}

/* Its address identifies the thread. */
static _Thread_local char this_thread;

/* Returns whether the calling thread works on the running job. */
static int is_inside(const hs_pool *pool)
{
    return atomic_load_explicit(&pool->runner, memory_order_relaxed) == &this_thread ||
           helper_of == pool;
}

int32_t hs_pool_is_inside(const hs_pool *pool)
{
    return pool && is_inside(pool) && pool->pid == getpid();
}

uint64_t hs_cpus_stamp(void)
{
#if defined(__linux__)
    static const uint64_t fnv_prime = 0x100000001b3;
    hs__cpus cpus;
    uint64_t stamp = 0xcbf29ce484222325;
    if (helper_of || !hs__cpus_of(pthread_self(), &cpus)) return 0;
    for (size_t at = 0; at < cpus.bytes; at += sizeof stamp) { /* FNV-1a by words */
        uint64_t word = 0;
        const size_t left = cpus.bytes - at;
        memcpy(&word, (const char *)cpus.set + at, left < sizeof word ? left : sizeof word);
        stamp = (stamp ^ word) * fnv_prime;
        stamp ^= stamp >> 32;
    }
    free(cpus.set);
    return stamp;
#else
    return 0;
#endif
}

int hs__pool_is_claimed(const hs_pool *pool)
{
    const char *owner = atomic_load(&pool->owner);
    return owner && owner != &this_thread;
}

hs_status hs__pool_lock(hs_pool *pool, hs_poll_function poll, void *context)
{
    if (pool->pid != getpid()) return HS_ERROR_THREAD;
    if (is_inside(pool)) return HS_ERROR_BUSY;
    atomic_fetch_add(&pool->callers, 1);
    hs_status status = HS_OK;
    if (!poll) pthread_mutex_lock(&pool->run_lock);
    else
        for (double last = hs_clock(); !status && pthread_mutex_trylock(&pool->run_lock);) {
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            if (hs__pool_is_claimed(pool)) status = HS_ERROR_CANCELLED;
            if (status || hs_clock() - last < 0.05) continue;
            last = hs_clock();
            if (poll(context, 0.0)) status = HS_ERROR_CANCELLED;
        }
    if (!status && (pool->closing || hs__pool_is_claimed(pool))) {
        status = pool->closing ? HS_ERROR_THREAD : HS_ERROR_CANCELLED;
        pthread_mutex_unlock(&pool->run_lock);
    }
    if (!status) atomic_store_explicit(&pool->runner, &this_thread, memory_order_relaxed);
    atomic_fetch_sub(&pool->callers, 1); /* last access to a pool that is being destroyed */
    return status;
}

void hs__pool_unlock(hs_pool *pool)
{
    hs__arena_trim(&pool->scratch, HS__KEPT);
    atomic_store_explicit(&pool->runner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&pool->run_lock);
}

void *hs__pool_scratch(hs_pool *pool, hs__scratch kind, int32_t worker, size_t bytes)
{
    return hs__arena_get(&pool->scratch, (int32_t)kind * pool->p + worker, bytes);
}

hs_status hs_pool_trim(hs_pool *pool)
{
    if (!pool) return HS_ERROR_VALUE;
    hs_status status = hs__pool_lock(pool, NULL, NULL);
    if (status) return status;
    hs__arena_trim(&pool->scratch, 0);
    hs__pool_unlock(pool);
    return HS_OK;
}

/* Returns whether no other thread is inside a run. A thread that has passed hs__pool_lock before
 * the pool had an owner holds the lock. A thread that comes later is refused, and is counted in
 * `callers` until then. */
static int is_empty(hs_pool *pool)
{
    if (pthread_mutex_trylock(&pool->run_lock)) return 0;
    pthread_mutex_unlock(&pool->run_lock);
    return !atomic_load(&pool->callers);
}

hs_status hs_pool_claim(hs_pool *pool, double seconds)
{
    if (!pool || !(seconds >= 0.0)) return HS_ERROR_VALUE;
    if (pool->pid != getpid()) return HS_ERROR_THREAD;
    if (is_inside(pool)) return HS_ERROR_BUSY;
    atomic_store(&pool->owner, &this_thread);
    for (const double until = hs_clock() + seconds; !is_empty(pool);) {
        if (hs_clock() >= until) return HS_ERROR_BUSY;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return HS_OK;
}

/* Returns the worker that the caller stands in for: the worker of the core where it runs, so that
 * the other cores remain for the pinned helpers. */
static int32_t place_of_caller(const hs_pool *pool)
{
    if (!pool->cores || pool->p == 1) return 0;
#if defined(__linux__)
    int core = sched_getcpu();
    for (int32_t i = 0; i < pool->p; i++)
        if (pool->cores[i] == core) return i;
    return -1;
#else
    return 0;
#endif
}

/* Offers the job to all workers but `own` (-1: to all). */
static void start_all(hs_pool *pool, hs__work *work, void *job, int32_t own)
{
    pool->work = work;
    pool->job = job;
    atomic_store(&pool->remaining, pool->p);
    for (int32_t i = 0; i < pool->p; i++)
        if (i != own) {
            atomic_store(&pool->helpers[i].offered, 1);
            wake_helper(&pool->helpers[i]);
        }
}

/* Takes the job back from the workers that have not begun it. */
static void withdraw_job(hs_pool *pool)
{
    int withdrawn = 0;
    for (int32_t i = 0; i < pool->p; i++)
        withdrawn += atomic_exchange(&pool->helpers[i].offered, 0);
    atomic_fetch_sub(&pool->remaining, withdrawn);
}

typedef struct {
    hs_pool *pool;
    void *job;
    void (*idle)(void *job);
    int shared;
} pending_workers;

static int have_ended(const void *what)
{
    return !atomic_load(&((const pending_workers *)what)->pool->remaining);
}

static void while_others_work(void *context)
{
    const pending_workers *x = context;
    if (x->idle) x->idle(x->job);
    if (!x->shared) return;
    if (atomic_load(&x->pool->remaining) < x->pool->p) withdraw_job(x->pool);
    hs__pool_rescue(x->pool, -1);
}

/* Returns when all workers have ended. The last worker may still hold the lock of the signal then.
 * This is safe, because the pool, which contains the signal, outlives the worker. */
static void wait_for_all(pending_workers *x)
{
    const hs__wait all = {.ready = have_ended,
                          .what = x,
                          .meanwhile = while_others_work,
                          .context = x,
                          .spin = spin_time(x->pool),
                          .sleep = hs__pool_look_interval(x->pool, x->shared)};
    hs__wait_until(&all, &x->pool->done);
}

void hs__pool_run(hs_pool *pool, hs__manner manner, hs__work *work, void (*lead)(void *job),
                  void *job, void (*idle)(void *job))
{
    if (manner == HS__ALONE) {
        work(job, 0, 1);
        return;
    }
    pending_workers x = {pool, job, idle, manner == HS__SHARED};
    const int32_t own = pool->own = manner == HS__LED ? -1 : place_of_caller(pool);
    start_all(pool, work, job, own);
    if (lead) lead(job);
    if (own >= 0) {
        hs__pool_step_in(pool);
        work(job, own, 1);
        hs__pool_step_out(pool);
        pool->own = -1;
        atomic_fetch_sub(&pool->remaining, 1);
        if (x.shared) withdraw_job(pool);
    }
    wait_for_all(&x);
}

/* Starts a thread for each worker. A pool of one worker may do without, because the caller takes
 * its place. Signals belong to the threads of the program, so the helpers block all of them, except
 * the signals that a thread causes itself. */
static hs_status start_threads(hs_pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int32_t started = 0;
    for (; started < pool->p; started++) {
        helper *h = &pool->helpers[started];
        h->pool = pool;
        h->worker = started;
        h->started = !pthread_create(&h->thread, NULL, helper_main, h);
        if (!h->started) break;
        if (pool->cores) h->pinned = hs__pin(h->thread, pool->cores[started]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started == pool->p || pool->p == 1 ? HS_OK : HS_ERROR_THREAD;
}

static hs_status create_pool(int32_t p, const int32_t *cores, int32_t count,
                             const hs_domain *domains, const int32_t *domain_of, hs_pool **out)
{
    if (p < 1 || p > 4096 || !out) return HS_ERROR_VALUE;
    for (int32_t i = 0; cores && i < p; i++)
        if (cores[i] < 0 || cores[i] > 65535) return HS_ERROR_VALUE;
    void *memory = NULL;
    const size_t bytes = sizeof(hs_pool) + (size_t)p * sizeof(helper);
    if (posix_memalign(&memory, 64, bytes)) return HS_ERROR_MEMORY;
    hs_pool *pool = memset(memory, 0, bytes);
    pool->p = p;
    pool->pid = getpid();
    pool->spin = cores != NULL;
    pool->own = -1;
    pthread_mutex_init(&pool->run_lock, NULL);
    hs__signal_init(&pool->done);
    for (int32_t i = 0; i < p; i++) hs__signal_init(&pool->helpers[i].wake);
    pool->cores = cores ? malloc((size_t)p * sizeof *cores) : NULL;
    if (pool->cores) memcpy(pool->cores, cores, (size_t)p * sizeof *cores);
    pool->drift = (hs__drift){.p = p, .rate = calloc((size_t)p, sizeof *pool->drift.rate)};
    const int enough =
        hs__arena_open(&pool->scratch, 2 * p) && pool->drift.rate && (pool->cores || !cores);
    hs_status status = hs__domains_open(&pool->domains, p, count, domains, domain_of);
    if (!status) status = enough ? start_threads(pool) : HS_ERROR_MEMORY;
    if (status) hs_pool_destroy(pool);
    else *out = pool;
    return status;
}

hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **out)
{
    return create_pool(p, cores, 1, NULL, NULL, out);
}

hs_status hs_pool_create_domains(int32_t p, const int32_t *cores, int32_t count,
                                 const hs_domain *domains, const int32_t *domain_of, hs_pool **out)
{
    return domains && domain_of ? create_pool(p, cores, count, domains, domain_of, out)
                                : HS_ERROR_VALUE;
}

void hs_pool_destroy(hs_pool *pool)
{
    if (!pool) return;
    int ours = pool->pid == getpid();
    if (ours) {
        pthread_mutex_lock(&pool->run_lock);
        pool->closing = 1;
        pthread_mutex_unlock(&pool->run_lock);
        while (atomic_load(&pool->callers)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        atomic_store(&pool->stop, 1);
        for (int32_t i = 0; i < pool->p; i++) {
            helper *h = &pool->helpers[i];
            if (h->started) {
                wake_helper(h);
                pthread_join(h->thread, NULL);
            }
            hs__signal_end(&h->wake);
        }
        pthread_mutex_destroy(&pool->run_lock);
        hs__signal_end(&pool->done);
    }
    hs__arena_close(&pool->scratch);
    hs__domains_close(&pool->domains);
    free(pool->drift.rate);
    free(pool->cores);
    free(pool);
}
