/* A pool of persistent worker threads (helpers), and how it runs jobs.
 *
 * A caller takes a lease (lease.c). hs__pool_run offers a part of its job to each helper: it opens
 * the helper's offer in the lease, increments the helper's ticket and signals the helper. A helper
 * that closes an open offer does that part. If the caller has closed it first (withdraw_job), the
 * helper came too late. The caller takes the place of the worker on the core where it runs, does
 * that worker's part, and then waits until `remaining` is 0. In a shared run it withdraws the job
 * from helpers that have not started, and rescues preempted ones (migrate.h). Between jobs a pinned
 * helper busy-waits for spin_seconds before it sleeps on its signal.
 *
 * Several callers. The caller of a shared job can do all of it. So the jobs of several callers run
 * at the same time, and a helper joins one of them only while fewer threads work than the pool has
 * workers (`busy`), and no caller runs on its core. Two exceptions (needs_helpers): an exclusive
 * job, and a job whose caller has no part and on which no helper works yet. A helper joins these in
 * any case. Of the jobs that offer it a
 * part it takes the one with the fewest helpers. A helper that has ended its part looks again, and
 * a caller that leaves wakes the helpers whose offers are still open. With as many callers as
 * workers each job is done by its caller alone, with the same cuts and so the same bits. */
#define _GNU_SOURCE
#include "threads/pool_state.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "threads/cpus.h"
#include "threads/load.h"

/* How long a worker busy-waits for the next job before it sleeps. Waking a sleeping thread costs
 * tens of microseconds, as much as a small product. */
static const double spin_seconds = 200e-6;

void hs__pool_step_out(hs__lease *lease)
{
    if (lease->own >= 0) hs__go_home(hs__placement_end(&lease->placement));
}

void hs__pool_step_in(hs__lease *lease)
{
    if (lease->own >= 0) hs__placement_begin(&lease->placement);
}

/* Returns the placement of the thread that does a worker's part; NULL if none does. */
static hs__placement *placement_of(hs__lease *lease, int32_t worker)
{
    if (worker < 0) return NULL;
    if (worker == lease->own) return &lease->placement;
    hs__helper *helper = &lease->pool->helpers[worker];
    return atomic_load_explicit(&helper->lease, memory_order_relaxed) == lease ? &helper->placement
                                                                               : NULL;
}

void hs__pool_rescue(hs__lease *lease, int32_t worker)
{
    if (!lease->pool->spin) return;
    hs__placement *own = placement_of(lease, worker);
    int guests = 0;
    for (int32_t i = 0; i < lease->pool->p; i++) {
        hs__placement *other = i == worker ? NULL : placement_of(lease, i);
        if (other) guests += hs__placement_watch(other, own);
    }
    if (guests) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* The worker sleeps on the signal that announces jobs. Other wake-ups are harmless. */
void hs__pool_sleep(hs__lease *lease, int32_t worker, double until, const int *cancel)
{
    hs__sleep_at(&lease->pool->helpers[worker].wake, until, cancel);
}

void hs__pool_wake(hs__lease *lease)
{
    for (int32_t i = 0; i < lease->pool->p; i++) hs__signal_wake(&lease->pool->helpers[i].wake);
}

static double spin_time(const hs_pool *pool) { return pool->spin ? spin_seconds : 0.0; }

/* ---- helpers --------------------------------------------------------------------------------- */

typedef struct {
    const hs__helper *self;
    unsigned seen;
} last_ticket;

static int has_news(const void *what)
{
    const last_ticket *last = what;
    return atomic_load(&last->self->ticket) != last->seen;
}

/* Returns whether the job cannot go on without another helper: it has the pool for itself, or no
 * thread works on it. */
static int needs_helpers(const hs__lease *lease)
{
    return atomic_load(&lease->exclusive) ||
           (atomic_load(&lease->own) < 0 && !atomic_load(&lease->present));
}

/* Returns a job that offers the helper a part, or NULL: of several the one with the fewest helpers.
 * While a caller runs on its core, only a job that needs it may have the helper. */
static hs__lease *find_job(const hs__helper *self)
{
    hs__lease *found = NULL;
    int fewest = 0;
    int is_occupied = 0;
    for (hs__lease *lease = atomic_load(&self->pool->leases); lease; lease = lease->next) {
        if (!atomic_load(&lease->in_use)) continue;
        if (atomic_load(&lease->own) == self->worker && self->pool->cores) is_occupied = 1;
        if (!atomic_load(&lease->offers[self->worker].open)) continue;
        if (needs_helpers(lease)) return lease;
        const int present = atomic_load(&lease->present);
        if (found && present >= fewest) continue;
        found = lease;
        fewest = present;
    }
    return is_occupied ? NULL : found;
}

/* Counts the helper among the threads that work. Returns 0 if there are already as many as the pool
 * has workers, unless the job needs helpers. */
static int join_workers(hs_pool *pool, hs__lease *lease)
{
    const int is_needed = needs_helpers(lease);
    int busy = atomic_load(&pool->busy);
    while (is_needed || busy < pool->p)
        if (atomic_compare_exchange_weak(&pool->busy, &busy, busy + 1)) return 1;
    return 0;
}

/* Ends a part of the job. The lease may be in use for another job right after it. */
static void end_part(hs__lease *lease)
{
    if (atomic_fetch_sub(&lease->remaining, 1) == 1) hs__signal_send(&lease->done);
}

/* Does a part of a job, if there is one for the helper. */
static int do_part(hs__helper *self)
{
    hs_pool *pool = self->pool;
    hs__lease *lease = find_job(self);
    if (!lease || !join_workers(pool, lease)) return 0;
    if (!atomic_exchange(&lease->offers[self->worker].open, 0)) { /* withdrawn */
        atomic_fetch_sub(&pool->busy, 1);
        return 1; /* there may be another job */
    }
    atomic_fetch_add(&lease->present, 1);
    atomic_store(&self->lease, lease);
    hs__placement_begin(&self->placement);
    hs__crowd_sample_thread(&pool->crowd, self->worker);
    lease->work(lease->job, self->worker, 0);
    hs__crowd_sample_thread(&pool->crowd, self->worker);
    const hs__cpus home = hs__placement_end(&self->placement);
    atomic_store(&self->lease, NULL);
    atomic_fetch_sub(&lease->present, 1);
    atomic_fetch_sub(&pool->busy, 1);
    end_part(lease);
    hs__go_home(home);
    return 1;
}

static void *helper_main(void *argument)
{
    hs__helper *self = argument;
    hs_pool *pool = self->pool;
    hs__helper_of = pool;
#if defined(__linux__)
    char name[16] = "hetsched-worker";
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1000UL); /* paced workers sleep with microsecond accuracy */
#endif
    hs__crowd_sample_thread(&pool->crowd, self->worker);
    last_ticket last = {self, 0};
    for (;;) {
        const hs__wait next = {.ready = has_news, .what = &last, .spin = spin_time(pool)};
        hs__wait_until(&next, &self->wake);
        last.seen = atomic_load(&self->ticket);
        if (atomic_load(&pool->stop)) return NULL;
        while (do_part(self)) {}
    }
}

/* ---- what runners ask ------------------------------------------------------------------------ */

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

hs_status hs_pool_set_elastic(hs_pool *pool, int32_t elastic)
{
    if (!pool) return HS_ERROR_VALUE;
    atomic_store(&pool->elastic, elastic != 0);
    return HS_OK;
}

const hs__domains *hs__pool_domains(const hs_pool *pool) { return &pool->domains; }
int32_t hs__pool_domain(const hs_pool *pool, int32_t worker)
{
    return hs__domain_of(&pool->domains, worker);
}

hs__memory hs__pool_take_memory(hs_pool *pool, size_t bytes)
{
    return hs__spares_take(&pool->spares, bytes);
}

void hs__pool_keep_memory(hs_pool *pool, hs__memory memory)
{
    hs__spares_keep(&pool->spares, memory, HS__KEPT);
}

hs__drift *hs__pool_drift(hs_pool *pool) { return &pool->drift; }

int hs__pool_prefers_caller(hs_pool *pool, hs__manner manner)
{
    if (pool->p == 1 || !atomic_load(&pool->elastic)) return 0;
    hs__crowd_sample_thread(&pool->crowd, HS__CROWD_CALLER);
    const double now = hs_clock();
    return hs__crowd_judge(&pool->crowd, hs__load_quota(hs__machine_load(), now)) &&
           (manner == HS__BRIEF || hs__crowd_caller_is_enough(&pool->crowd, now));
}

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

uint64_t hs_cpus_stamp(void)
{
#if defined(__linux__)
    static const uint64_t fnv_prime = 0x100000001b3;
    hs__cpus cpus;
    uint64_t stamp = 0xcbf29ce484222325;
    if (hs__helper_of || !hs__cpus_of(pthread_self(), &cpus)) return 0;
    for (size_t at = 0; at < cpus.bytes; at += sizeof stamp) { /* FNV-1a by words */
        uint64_t word = 0;
        const size_t left = cpus.bytes - at;
        memcpy(&word, (const char *)cpus.set + at, left < sizeof word ? left : sizeof word);
        stamp = (stamp ^ word) * fnv_prime;
        stamp ^= stamp >> 32;
    }
    free(cpus.set);
    return (stamp ^ (uint64_t)hs_workers_for_quota(hs_cpu_quota())) * fnv_prime;
#else
    return 0;
#endif
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int is_place_of(const hs_pool *pool, int32_t worker, int cpu)
{
    if (pool->cores) return pool->cores[worker] == cpu;
    return hs__cpus_have(hs__cpus_of_domain(&pool->sites, hs__pool_domain(pool, worker)), cpu);
}

/* Returns the worker that the caller stands in for: the worker of the core or site where it runs,
 * so that the other cores remain for the helpers. -1: a core of no worker, so that the helpers can
 * do everything. Beside other callers the helpers may have no time for the job, so the caller works
 * in any case. */
static int32_t place_of_caller(const hs__lease *lease)
{
    const hs_pool *pool = lease->pool;
    if ((!pool->cores && !pool->sites.count) || pool->p == 1) return 0;
#if defined(__linux__)
    const int cpu = sched_getcpu();
    for (int32_t i = 0; i < pool->p; i++)
        if (is_place_of(pool, i, cpu)) return i;
    return hs__lease_was_alone(lease) ? -1 : (int32_t)(lease->entry % (unsigned)pool->p);
#else
    return 0;
#endif
}

/* Offers the job to all workers but `own` (-1: to all). Helpers are not woken while enough threads
 * work. */
static void offer_job(hs__lease *lease, hs__work *work, void *job, int32_t own)
{
    hs_pool *pool = lease->pool;
    lease->work = work;
    lease->job = job;
    atomic_store(&lease->remaining, pool->p);
    for (int32_t i = 0; i < pool->p; i++)
        if (i != own) atomic_store(&lease->offers[i].open, 1);
    /* after the offers: a caller that leaves either sees these, or is not counted here any more */
    const int joins = lease->exclusive || own < 0 || atomic_load(&pool->busy) < pool->p;
    for (int32_t i = 0; i < pool->p && joins; i++)
        if (i != own) hs__wake_helper(&pool->helpers[i]);
}

/* Takes the job back from the workers that have not begun it. */
static void withdraw_job(hs__lease *lease)
{
    int withdrawn = 0;
    for (int32_t i = 0; i < lease->pool->p; i++)
        withdrawn += atomic_exchange(&lease->offers[i].open, 0);
    atomic_fetch_sub(&lease->remaining, withdrawn);
}

typedef struct {
    hs__lease *lease;
    void *job;
    void (*idle)(void *job);
    int shared;
} pending_workers;

static int have_ended(const void *what)
{
    return !atomic_load(&((const pending_workers *)what)->lease->remaining);
}

static void while_others_work(void *context)
{
    const pending_workers *x = context;
    if (x->idle) x->idle(x->job);
    if (!x->shared) return;
    if (atomic_load(&x->lease->remaining) < x->lease->pool->p) withdraw_job(x->lease);
    hs__pool_rescue(x->lease, -1);
}

/* Returns when all workers have ended. The last worker may still hold the lock of the signal then.
 * This is safe, because the lease, which contains the signal, outlives the worker. */
static void wait_for_all(pending_workers *x)
{
    const hs_pool *pool = x->lease->pool;
    const hs__wait all = {.ready = have_ended,
                          .what = x,
                          .meanwhile = while_others_work,
                          .context = x,
                          .spin = spin_time(pool),
                          .sleep = hs__pool_look_interval(pool, x->shared)};
    hs__wait_until(&all, &x->lease->done);
}

void hs__pool_run(hs__lease *lease, hs__manner manner, hs__work *work, void (*lead)(void *job),
                  void *job, void (*idle)(void *job))
{
    if (manner == HS__ALONE) {
        hs__crowd_sample_thread(&lease->pool->crowd, HS__CROWD_CALLER);
        work(job, 0, 1);
        hs__crowd_sample_thread(&lease->pool->crowd, HS__CROWD_CALLER);
        return;
    }
    pending_workers x = {lease, job, idle, manner == HS__SHARED};
    const int32_t own = manner == HS__LED ? -1 : place_of_caller(lease);
    atomic_store(&lease->own, own);
    if (own < 0) atomic_fetch_sub(&lease->pool->busy, 1);
    offer_job(lease, work, job, own);
    if (lead) lead(job);
    if (own >= 0) {
        hs__crowd_sample_thread(&lease->pool->crowd, HS__CROWD_CALLER);
        hs__pool_step_in(lease);
        work(job, own, 1);
        hs__crowd_sample_thread(&lease->pool->crowd, own);
        hs__pool_step_out(lease);
        atomic_store(&lease->own, -1);
        atomic_fetch_sub(&lease->remaining, 1);
        if (x.shared) withdraw_job(lease);
    }
    wait_for_all(&x);
    hs__crowd_note_workers();
    if (own < 0) atomic_fetch_add(&lease->pool->busy, 1);
}

/* ---- the life of a pool ---------------------------------------------------------------------- */

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
        hs__helper *h = &pool->helpers[started];
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
                             const hs_domain *domains, const int32_t *domain_of, int has_threads,
                             hs_pool **out)
{
    if (p < 1 || p > HS__LARGEST_POOL || !out) return HS_ERROR_VALUE;
    for (int32_t i = 0; cores && i < p; i++)
        if (cores[i] < 0 || cores[i] > HS__LAST_CPU) return HS_ERROR_VALUE;
    void *memory = NULL;
    const size_t bytes = sizeof(hs_pool) + (size_t)p * sizeof(hs__helper);
    if (posix_memalign(&memory, 64, bytes)) return HS_ERROR_MEMORY;
    hs_pool *pool = memset(memory, 0, bytes);
    pool->p = p;
    pool->pid = getpid();
    pool->spin = cores != NULL;
    hs__signal_init(&pool->left);
    for (int32_t i = 0; i < p; i++) hs__signal_init(&pool->helpers[i].wake);
    pool->cores = cores ? malloc((size_t)p * sizeof *cores) : NULL;
    if (pool->cores) memcpy(pool->cores, cores, (size_t)p * sizeof *cores);
    pool->drift = (hs__drift){.p = p, .rate = calloc((size_t)p, sizeof *pool->drift.rate)};
    pool->crowd = (hs__crowd){.p = p, .sample = calloc((size_t)p, sizeof *pool->crowd.sample)};
    const int enough =
        hs__leases_open(pool) && pool->drift.rate && pool->crowd.sample && (pool->cores || !cores);
    hs_status status = hs__domains_open(&pool->domains, p, count, domains, domain_of);
    if (!status && !enough) status = HS_ERROR_MEMORY;
    if (!status && has_threads) status = start_threads(pool);
    if (status) hs_pool_destroy(pool);
    else *out = pool;
    return status;
}

hs_status hs_pool_create(int32_t p, const int32_t *cores, hs_pool **out)
{
    return create_pool(p, cores, 1, NULL, NULL, 1, out);
}

hs_status hs_pool_create_domains(int32_t p, const int32_t *cores, int32_t count,
                                 const hs_domain *domains, const int32_t *domain_of, hs_pool **out)
{
    return domains && domain_of ? create_pool(p, cores, count, domains, domain_of, 1, out)
                                : HS_ERROR_VALUE;
}

hs_status hs__pool_create_alone(const hs_domain *domain, hs_pool **out)
{
    static const int32_t first = 0;
    return create_pool(1, NULL, 1, domain, domain ? &first : NULL, 0, out);
}

void hs_pool_destroy(hs_pool *pool)
{
    if (!pool) return;
    if (pool->pid == getpid()) {
        atomic_store(&pool->closing, 1);
        hs__signal_wake(&pool->left);
        while (atomic_load(&pool->callers)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        atomic_store(&pool->stop, 1);
        for (int32_t i = 0; i < pool->p; i++) {
            hs__helper *h = &pool->helpers[i];
            if (h->started) {
                hs__wake_helper(h);
                pthread_join(h->thread, NULL);
            }
            hs__signal_end(&h->wake);
        }
        hs__signal_end(&pool->left);
    }
    hs__leases_close(pool);
    hs__domains_close(&pool->domains);
    hs__sites_close(&pool->sites);
    hs__spares_free(&pool->spares);
    free(pool->crowd.sample);
    free(pool->drift.rate);
    free(pool->cores);
    free(pool);
}
