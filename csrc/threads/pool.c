#define _GNU_SOURCE
#include "threads/pool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "threads/migrate.h"

/* After a job a worker looks for the next one this long before it sleeps: waking a sleeping thread costs tens of
 * microseconds, as much as a small product. */
static const double spin_seconds = 200e-6;

typedef struct {
    void *data;
    size_t bytes;
} buffer;

typedef struct {
    hs_pool *pool;
    int32_t worker;
    int started, pinned;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int asleep;      /* under lock */
    unsigned ticket; /* atomic: number of the job to do */
    int offered;     /* atomic: the job is there for the taking; who clears it does it, or lets it be */
    hs__seat seat;
} __attribute__((aligned(64))) helper;

struct hs_pool {
    int32_t p;
    int32_t *cores; /* NULL: not pinned */
    int spin;       /* workers have cores of their own */
    pid_t pid;
    helper *helpers; /* [p] */
    buffer *scratch; /* [2 p] */
    hs__drift drift;

    pthread_mutex_t run_lock;
    int callers; /* atomic: threads that are in hs__pool_lock */
    int closing; /* under run_lock: they are to leave */
    const char *runner; /* atomic: this_thread of the thread whose job runs, or NULL */
    hs__work *work;
    void *job;
    int32_t own;   /* whose place the caller has in it, or -1 */
    int stop;      /* atomic: a helper that was late for the last job looks at it at any time */
    int remaining; /* atomic: workers that have not ended */
    pthread_mutex_t done_lock;
    pthread_cond_t done;
};

void hs__condition_init(pthread_cond_t *condition)
{
#if defined(__APPLE__)
    pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
#endif
}

void hs__condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int milliseconds)
{
    struct timespec until;
#if defined(__APPLE__)
    clock_gettime(CLOCK_REALTIME, &until);
#else
    clock_gettime(CLOCK_MONOTONIC, &until);
#endif
    until.tv_nsec += milliseconds * 1000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    pthread_cond_timedwait(condition, lock, &until);
}

void hs__pool_step_out(hs_pool *pool)
{
    if (pool->own < 0) return;
    const hs__home home = hs__seat_leave(&pool->helpers[pool->own].seat);
    hs__go_home(&home);
}

void hs__pool_step_in(hs_pool *pool)
{
    if (pool->own >= 0) hs__seat_take(&pool->helpers[pool->own].seat);
}

void hs__pool_rescue(hs_pool *pool, int32_t worker)
{
    if (!pool->spin) return;
    int guests = 0;
    for (int32_t i = 0; i < pool->p; i++)
        if (i != worker) guests += hs__seat_watch(&pool->helpers[i].seat);
    if (guests) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static void finish(hs_pool *pool)
{
    if (__atomic_sub_fetch(&pool->remaining, 1, __ATOMIC_ACQ_REL) == 0) {
        pthread_mutex_lock(&pool->done_lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->done_lock);
    }
}

/* Returns the ticket of the next job. */
static unsigned next_ticket(helper *self, unsigned seen)
{
    unsigned ticket, rounds = 0;
    if (self->pool->spin)
        for (double until = hs_clock() + spin_seconds; hs_clock() < until;) {
            for (int i = 0; i < 32; i++) {
                if ((ticket = __atomic_load_n(&self->ticket, __ATOMIC_ACQUIRE)) != seen) return ticket;
                hs__relax(&rounds);
            }
        }
    pthread_mutex_lock(&self->lock);
    self->asleep = 1;
    while ((ticket = __atomic_load_n(&self->ticket, __ATOMIC_ACQUIRE)) == seen) pthread_cond_wait(&self->wake, &self->lock);
    self->asleep = 0;
    pthread_mutex_unlock(&self->lock);
    return ticket;
}

/* The pool whose helper this thread is, or NULL. */
static _Thread_local const hs_pool *helper_of;

static void *helper_main(void *argument)
{
    helper *self = argument;
    hs_pool *pool = self->pool;
    helper_of = pool;
#if defined(__linux__)
    char name[16] = "hetsched-worker";
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1000UL); /* paced workers sleep to the microsecond */
#endif
    for (unsigned seen = 0;;) {
        seen = next_ticket(self, seen);
        if (__atomic_load_n(&pool->stop, __ATOMIC_ACQUIRE)) return NULL;
        if (!__atomic_exchange_n(&self->offered, 0, __ATOMIC_ACQ_REL)) continue; /* it came too late */
        hs__seat_take(&self->seat);
        pool->work(pool->job, self->worker, 0);
        const hs__home home = hs__seat_leave(&self->seat);
        finish(pool);
        hs__go_home(&home);
    }
}

static void start(helper *to)
{
    /* The lock orders this with a helper about to sleep; the store alone serves one that looks. */
    pthread_mutex_lock(&to->lock);
    __atomic_add_fetch(&to->ticket, 1, __ATOMIC_RELEASE);
    if (to->asleep) pthread_cond_signal(&to->wake);
    pthread_mutex_unlock(&to->lock);
}

int32_t hs__pool_size(const hs_pool *pool) { return pool->p; }

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

/* An address of its own for every thread. */
static _Thread_local char this_thread;

hs_status hs__pool_lock(hs_pool *pool, hs_poll_function poll, void *context)
{
    if (pool->pid != getpid()) return HS_ERROR_THREAD;
    if (__atomic_load_n(&pool->runner, __ATOMIC_RELAXED) == &this_thread || helper_of == pool) return HS_ERROR_BUSY;
    __atomic_add_fetch(&pool->callers, 1, __ATOMIC_ACQUIRE);
    hs_status status = HS_OK;
    if (!poll) pthread_mutex_lock(&pool->run_lock);
    else
        for (double last = hs_clock(); !status && pthread_mutex_trylock(&pool->run_lock);) {
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            if (hs_clock() - last < 0.05) continue;
            last = hs_clock();
            if (poll(context, 0.0)) status = HS_ERROR_CANCELLED;
        }
    if (!status && pool->closing) {
        pthread_mutex_unlock(&pool->run_lock);
        status = HS_ERROR_THREAD;
    }
    if (!status) __atomic_store_n(&pool->runner, &this_thread, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&pool->callers, 1, __ATOMIC_RELEASE); /* the last look at a pool that closes */
    return status;
}

void hs__pool_unlock(hs_pool *pool)
{
    __atomic_store_n(&pool->runner, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool->run_lock);
}

void *hs__allocate_pages(size_t bytes)
{
    void *memory = NULL;
    const size_t huge = (size_t)2 << 20;
    const size_t alignment = bytes >= huge ? huge : 4096;
    if (bytes > SIZE_MAX - alignment) return NULL;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (posix_memalign(&memory, alignment, rounded)) return NULL;
#if defined(MADV_HUGEPAGE)
    if (alignment == huge) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
    return memory;
}

void *hs__pool_scratch(hs_pool *pool, int32_t slot, size_t bytes)
{
    buffer *b = &pool->scratch[slot];
    if (b->bytes >= bytes) return b->data;
    void *old = b->data;
    *b = (buffer){0}; /* first: a child forked in between must not find what is being freed */
    free(old);
    const size_t slack = 4096; /* micro-kernels load the next step of a panel before they know that there is none */
    b->data = hs__allocate_pages(bytes + slack);
    if (b->data) b->bytes = bytes;
    return b->data;
}

/* The worker whose place the caller takes: that of the core it is on, so that the pinned ones have the others. */
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

/* The job for all workers but `own`, -1 for none. */
static void start_all(hs_pool *pool, hs__work *work, void *job, int32_t own)
{
    pool->work = work;
    pool->job = job;
    __atomic_store_n(&pool->remaining, pool->p, __ATOMIC_RELEASE);
    for (int32_t i = 0; i < pool->p; i++)
        if (i != own) {
            __atomic_store_n(&pool->helpers[i].offered, 1, __ATOMIC_RELEASE);
            start(&pool->helpers[i]);
        }
}

static void wait_for_all(hs_pool *pool, void *job, void (*idle)(void *job), int shared)
{
    unsigned rounds = 0;
    if (pool->spin)
        for (double until = hs_clock() + spin_seconds; hs_clock() < until;) {
            for (int i = 0; i < 32; i++) {
                if (!__atomic_load_n(&pool->remaining, __ATOMIC_ACQUIRE)) goto ended;
                hs__relax(&rounds);
            }
        }
    while (__atomic_load_n(&pool->remaining, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&pool->done_lock);
        if (__atomic_load_n(&pool->remaining, __ATOMIC_ACQUIRE)) hs__condition_wait(&pool->done, &pool->done_lock, shared && pool->spin ? 2 : 20);
        pthread_mutex_unlock(&pool->done_lock);
        if (idle) idle(job);
        if (shared) hs__pool_rescue(pool, -1);
    }
ended:
    /* The last worker may still hold done_lock to signal: the pool, and with it the lock, outlives it. */
    return;
}

static void run(hs_pool *pool, hs__work *work, void *job, void (*idle)(void *job), int shared)
{
    const int32_t own = pool->own = place_of_caller(pool);
    start_all(pool, work, job, own);
    if (own >= 0) {
        int32_t ended = 1;
        hs__pool_step_in(pool);
        work(job, own, 1);
        hs__pool_step_out(pool);
        pool->own = -1;
        for (int32_t i = 0; shared && i < pool->p; i++)
            if (i != own) ended += __atomic_exchange_n(&pool->helpers[i].offered, 0, __ATOMIC_ACQ_REL);
        if (__atomic_sub_fetch(&pool->remaining, ended, __ATOMIC_ACQ_REL) == 0) return;
    }
    wait_for_all(pool, job, idle, shared);
}

void hs__pool_run(hs_pool *pool, hs__work *work, void *job, void (*idle)(void *job)) { run(pool, work, job, idle, 0); }

void hs__pool_run_shared(hs_pool *pool, hs__work *work, void *job, void (*idle)(void *job)) { run(pool, work, job, idle, 1); }

void hs__pool_run_led(hs_pool *pool, hs__work *work, void *job, void (*lead)(void *job))
{
    pool->own = -1;
    start_all(pool, work, job, -1);
    lead(job);
    wait_for_all(pool, job, NULL, 0);
}

hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **out)
{
    if (p < 1 || p > 4096 || !out) return HS_ERROR_VALUE;
    for (int32_t i = 0; cores && i < p; i++)
        if (cores[i] < 0 || cores[i] > 65535) return HS_ERROR_VALUE;
    hs_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return HS_ERROR_MEMORY;
    pool->p = p;
    pool->pid = getpid();
    pool->spin = cores != NULL;
    pool->own = -1;
    pool->scratch = calloc(2 * (size_t)p, sizeof *pool->scratch);
    pool->cores = cores ? malloc((size_t)p * sizeof *cores) : NULL;
    pool->drift = (hs__drift){.p = p, .rate = calloc((size_t)p, sizeof(double))};
    void *helpers = NULL;
    int refused = posix_memalign(&helpers, 64, (size_t)p * sizeof(helper));
    if (!pool->scratch || !pool->drift.rate || (cores && !pool->cores) || refused) {
        free(helpers), free(pool->scratch), free(pool->drift.rate), free(pool->cores), free(pool);
        return HS_ERROR_MEMORY;
    }
    memset(helpers, 0, (size_t)p * sizeof(helper));
    pool->helpers = helpers;
    if (cores) memcpy(pool->cores, cores, (size_t)p * sizeof *cores);
    pthread_mutex_init(&pool->run_lock, NULL);
    pthread_mutex_init(&pool->done_lock, NULL);
    hs__condition_init(&pool->done);

    /* Signals belong to the threads of the program that uses us, but for those that a thread causes itself. */
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGFPE), sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    hs_status status = HS_OK;
    for (int32_t i = 0; i < p; i++) {
        helper *h = &pool->helpers[i];
        h->pool = pool, h->worker = i;
        pthread_mutex_init(&h->lock, NULL);
        pthread_cond_init(&h->wake, NULL);
        if (pthread_create(&h->thread, NULL, helper_main, h)) {
            status = HS_ERROR_THREAD;
            pthread_mutex_destroy(&h->lock);
            pthread_cond_destroy(&h->wake);
            break;
        }
        h->started = 1;
        if (cores) h->pinned = hs__pin(h->thread, cores[i]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status) {
        hs_pool_destroy(pool);
        return status;
    }
    *out = pool;
    return HS_OK;
}

void hs_pool_destroy(hs_pool *pool)
{
    if (!pool) return;
    int ours = pool->pid == getpid();
    if (ours) {
        pthread_mutex_lock(&pool->run_lock);
        pool->closing = 1;
        pthread_mutex_unlock(&pool->run_lock);
        while (__atomic_load_n(&pool->callers, __ATOMIC_ACQUIRE)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        __atomic_store_n(&pool->stop, 1, __ATOMIC_RELEASE);
        for (int32_t i = 0; i < pool->p; i++) {
            helper *h = &pool->helpers[i];
            if (!h->started) continue;
            start(h);
            pthread_join(h->thread, NULL);
            pthread_mutex_destroy(&h->lock);
            pthread_cond_destroy(&h->wake);
        }
        pthread_mutex_destroy(&pool->run_lock);
        pthread_mutex_destroy(&pool->done_lock);
        pthread_cond_destroy(&pool->done);
    }
    for (int32_t i = 0; i < 2 * pool->p; i++) free(pool->scratch[i].data);
    free(pool->scratch), free(pool->drift.rate), free(pool->cores), free(pool->helpers), free(pool);
}
