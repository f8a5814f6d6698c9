/* The gate: takes a call for the engine or leaves it to the library behind.
 *
 * Calls of several threads are computed at the same time, on one pool (threads/pool.h).
 * hs__begin_call checks the affinity mask of the calling thread and finds the pool for its places;
 * hs__end_call releases the pool. A pool whose places have changed is destroyed when its last call
 * has ended. A call that is unsuitable goes to the library behind. So does a call in a signal
 * handler that has interrupted a call of the same thread. */
#include "blas/gate.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "blas/govern.h"
#include "blas/openmp.h"
#include "blas/places.h"
#include "blas/settings.h"
#include "core/tuning.h"
#include "threads/pool.h"

/* A pool and what belongs to it.
 *   users   calls on it, and one while it is in `pools`; the last one destroys it
 *   speeds  [workers], or NULL */
typedef struct hs__kept_pool {
    hs_pool *pool;
    atomic_int users;
    int32_t workers;
    double *speeds;
} kept_pool;

/* Held while a thread looks at the mask and finds its pool, which takes microseconds unless a pool
 * must be created. */
static atomic_int choosing;
/* Non-zero while this thread is between hs__begin_call and hs__end_call. */
static _Thread_local volatile int inside;
/* Pools by number of workers, kept as long as the places do not change, because a program may call
 * until it ends. Like `now`, they belong to the thread that holds `choosing`. */
static kept_pool *pools[HS__MOST_WORKERS + 1];

static struct {
    hs__openmp openmp;
    hs__cpus mask, seen; /* seen: memory for the next check */
    hs__places places;   /* places within the mask */
} now;
_Atomic int32_t hs__startable = HS__MOST_WORKERS;

/* ---- kept pools ------------------------------------------------------------------------------ */

static void release_pool(kept_pool *used)
{
    if (atomic_fetch_sub(&used->users, 1) > 1) return;
    hs_pool_destroy(used->pool);
    free(used->speeds);
    free(used);
}

static void leave_pools(void)
{
    for (int32_t p = 0; p <= HS__MOST_WORKERS; p++) {
        if (pools[p]) release_pool(pools[p]);
        pools[p] = NULL;
    }
    atomic_store_explicit(&hs__startable, HS__MOST_WORKERS, memory_order_relaxed);
}

/* Returns how many seconds to wait for the gate. A thread that holds it for long is mostly a thread
 * without a core, on a busy machine. Results have to be the same there if the process is to be
 * deterministic, and a forwarded call has other bits. */
static double longest_wait(void) { return hs__blas_settings.deterministic ? 5.0 : 0.1; }

/* Returns 0 after a long wait: the thread that chooses may itself wait for the calling one, as the
 * dynamic linker does when a library that it loads multiplies in its constructor. */
static int begin_choosing(void)
{
    if (!atomic_exchange(&choosing, 1)) return 1;
    for (const double until = hs_clock() + longest_wait(); hs_clock() < until; sched_yield())
        if (!atomic_exchange(&choosing, 1)) return 1;
    return 0;
}

static void end_choosing(void) { atomic_store(&choosing, 0); }

/* ---- fork ------------------------------------------------------------------------------------ */

/* In the child the threads of the parent's pools do not exist. What another thread of the parent
 * used or was changing is left as it is. */
static void in_child(void)
{
    const int was_choosing = atomic_exchange(&choosing, 0);
    for (int32_t p = 0; p <= HS__MOST_WORKERS; p++) {
        if (pools[p] && !was_choosing && atomic_load(&pools[p]->users) == 1) release_pool(pools[p]);
        pools[p] = NULL;
    }
    if (was_choosing) {
        now.openmp = (hs__openmp){.count = 0};
        now.mask = (hs__cpus){0};
        now.seen = (hs__cpus){0};
    }
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* ---- places and pools -------------------------------------------------------------------- */

/* Makes the mask that was seen the current one. Without memory there is no current mask, and the
 * next call reads it again. */
static void keep_mask(void)
{
    void *memory = now.seen.set ? realloc(now.mask.set, now.seen.bytes) : NULL;
    if (!memory) {
        free(now.mask.set);
        now.mask = (hs__cpus){0};
        return;
    }
    now.mask = (hs__cpus){memory, now.seen.bytes};
    memcpy(now.mask.set, now.seen.set, now.seen.bytes);
}

static int have_same_cores(const hs__places *one, const hs__places *other)
{
    return one->count == other->count &&
           !memcmp(one->cores, other->cores, (size_t)one->count * sizeof *one->cores);
}

/* Reads the mask of the calling thread, which may differ from the mask of the last call. If the
 * places change, all pools are left, so that none of their threads stays on a cpu outside the
 * mask. */
static void follow_mask(void)
{
    static hs__places before; /* large */
    hs__cpus_reread(pthread_self(), &now.seen);
    if (now.mask.set && hs__cpus_same(&now.mask, &now.seen)) return;
    before = now.places;
    keep_mask();
    hs__unbind(&now.openmp, &hs__blas_settings.start, &now.seen);
    hs__places_within(&now.seen, &now.places);
    if (!have_same_cores(&before, &now.places)) leave_pools();
}

/* Creates a pool with a worker pinned to each place. If this processor lacks the kernel of a
 * domain, the pool has no domains. */
static hs_status create_pinned(int32_t workers, hs_pool **pool, double *speeds)
{
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[HS__MOST_WORKERS];
    const hs__places *places = &now.places;
    const int32_t count = hs__domains_of(places, workers, domain, of);
    hs_status status = HS_ERROR_UNSUPPORTED;
    if (count) status = hs_pool_create_domains(workers, places->cores, count, domain, of, pool);
    if (status == HS_ERROR_UNSUPPORTED) status = hs_pool_create(workers, places->cores, pool);
    if (speeds) memcpy(speeds, places->speeds, (size_t)workers * sizeof *speeds);
    return status;
}

/* Creates a pool with fewer workers than places, on sites that are free. */
static hs_status create_bound(int32_t workers, const hs__place_sites *sites, hs_pool **pool,
                              double *speeds)
{
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t on[HS__MOST_DOMAINS], site_of[HS__MOST_DOMAINS], of[HS__MOST_WORKERS];
    int32_t used = 0;
    int32_t w = 0;
    hs_status status = hs_spread_workers(workers, sites->count, sites->site, on);
    if (status) return status;
    for (int32_t i = 0; i < sites->count; i++) {
        if (!on[i]) continue;
        domain[used] = hs__blas_settings.domain[sites->domain[i]];
        site_of[used] = i;
        for (int32_t k = 0; k < on[i]; k++, w++) {
            of[w] = used;
            if (speeds) speeds[w] = hs__mean_speed(&now.places, sites->domain[i]);
        }
        used++;
    }
    if (!now.places.domains) status = hs_pool_create(workers, NULL, pool);
    else status = hs_pool_create_domains(workers, NULL, used, domain, of, pool);
    if (status == HS_ERROR_UNSUPPORTED) return hs_pool_create(workers, NULL, pool);
    if (!status) status = hs_pool_bind(*pool, sites->count, sites->site, site_of);
    return status;
}

/* speeds: [workers] out, or NULL if the places have none */
static hs_status create_pool(int32_t workers, hs_pool **pool, double *speeds)
{
    static hs__place_sites sites; /* large */
    hs_status status;
    if (workers == now.places.count) {
        status = create_pinned(workers, pool, speeds);
    } else {
        /* as when the places were found */
        hs__unbind(&now.openmp, &hs__blas_settings.start, &now.seen);
        status = hs__find_sites(&now.places, &now.seen, &sites);
        if (!status) status = create_bound(workers, &sites, pool, speeds);
        hs__free_sites(&sites);
    }
    if (!status) status = hs_pool_set_elastic(*pool, 1);
    return status ? status : hs_pool_set_deterministic(*pool, hs__blas_settings.deterministic);
}

/* The same for one worker, without a thread: a process that is to have one thread gets no other. It
 * is not set to be deterministic, because a pool of one worker is. */
static hs_status create_alone(hs_pool **pool, double *speeds)
{
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[1];
    const int32_t count = hs__domains_of(&now.places, 1, domain, of);
    const hs_status status = hs__pool_create_alone(count ? domain : NULL, pool);
    if (speeds) *speeds = now.places.speeds[0];
    return status == HS_ERROR_UNSUPPORTED ? hs__pool_create_alone(NULL, pool) : status;
}

static hs_status open_pool(int32_t workers, kept_pool **out)
{
    kept_pool *made = calloc(1, sizeof *made);
    if (!made) return HS_ERROR_MEMORY;
    made->workers = workers;
    const int has_speeds = now.places.has_speeds;
    made->speeds = has_speeds ? malloc((size_t)workers * sizeof *made->speeds) : NULL;
    hs_status status = has_speeds && !made->speeds ? HS_ERROR_MEMORY : HS_OK;
    if (!status && workers == 1) status = create_alone(&made->pool, made->speeds);
    else if (!status) status = create_pool(workers, &made->pool, made->speeds);
    if (status) {
        hs_pool_destroy(made->pool);
        free(made->speeds);
        free(made);
        return status;
    }
    atomic_store(&made->users, 1);
    *out = made;
    return HS_OK;
}

/* Returns a pool with so many workers. They are fewer if the system refuses to start more threads;
 * it is not asked again until the places change. NULL: not even a pool of two could be opened. */
static kept_pool *find_pool(int32_t workers)
{
    const int32_t startable = atomic_load_explicit(&hs__startable, memory_order_relaxed);
    const int32_t most = startable > 2 ? startable : 2;
    hs_status status = hs_kernel_init();
    if (workers > most) workers = most;
    for (; !status && workers > 1; workers--) {
        if (!pools[workers]) status = open_pool(workers, &pools[workers]);
        if (!status) return pools[workers];
        if (status != HS_ERROR_THREAD) return NULL;
        status = HS_OK;
        atomic_store_explicit(&hs__startable, workers - 1, memory_order_relaxed);
    }
    return NULL;
}

/* Returns the pool of one worker, which is the calling thread wherever it runs. NULL: no memory. */
static kept_pool *find_alone(void)
{
    if (hs_kernel_init()) return NULL;
    if (!pools[1] && open_pool(1, &pools[1])) return NULL;
    return pools[1];
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* Counts a call that the engine does not compute; returns 0. */
static int leave_to_library(hs__entry *entry, hs__fate fate, double volume)
{
    if (hs__counting) hs__count_call(entry, fate, volume);
    return 0;
}

int hs__refuse_call(hs__entry *entry, double volume)
{
    return leave_to_library(entry, HS__REFUSED, volume);
}

/* Returns the number of workers that both the settings of the library behind and the program
 * allow. */
static int32_t workers_for(hs__entry *entry)
{
    const int32_t told = entry->library ? hs__threads_asked(entry->library) : 0;
    const int32_t limit = atomic_load(&hs__blas_settings.limit);
    return told > 0 && told < limit ? told : limit;
}

/* Returns the fate of a call with so many workers by its size. */
static hs__fate fate_by_size(const hs__call *call, int32_t workers)
{
    const hs__least *least = &hs__least_volumes[call->entry->routine][call->entry->dtype];
    const int is_alone = workers < 2;
    const double volume =
        atomic_load_explicit(is_alone ? &least->alone : &least->shared, memory_order_relaxed);
    if ((is_alone ? call->alone : call->shared) >= volume) return HS__TAKEN;
    return is_alone ? HS__ONE_THREAD : HS__SMALL;
}

/* Returns whether the library behind is to compute a call on one thread: the call is brief, the load
 * leaves one cpu, and one worker would not be faster. If it is other programs that use the cpus, the
 * worker must be slower whatever the size, as other workers could still take a part of their cpus.
 * Never if results must not depend on the load, nor for a routine of which the program wants all
 * calls to be taken (HETSCHED_BLAS_LEAST=0). */
static int must_be_single(const hs__call *call)
{
    const hs__least *least = &hs__least_volumes[call->entry->routine][call->entry->dtype];
    return call->volume < HS__BRIEF_SPECTRAL_UPDATES && !hs__blas_settings.deterministic &&
           atomic_load_explicit(&least->shared, memory_order_relaxed) > 0.0 &&
           fate_by_size(call, 1) != HS__TAKEN && (call->alone < 0.0 || hs__other_callers() > 0) &&
           hs__has_one_cpu(call->entry, call->volume);
}

/* Returns the fate of a call with at most so many workers, and finds the pool for it. The thread
 * must hold `choosing`. */
static hs__fate choose_pool(int32_t workers, hs__call *call)
{
    if (hs__is_in_parallel(&now.openmp)) return HS__PARALLEL;
    follow_mask();
    if (workers > now.places.count) workers = now.places.count;
    const int32_t worth = hs_workers_for_quota(hs_cpu_quota());
    if (workers > worth) workers = worth;
    const hs__fate fate = fate_by_size(call, workers);
    if (fate != HS__TAKEN) return fate;
    if (workers > 1 && must_be_single(call)) return HS__ONE_THREAD;
    kept_pool *found = workers < 2 ? find_alone() : find_pool(workers);
    if (!found) return HS__REFUSED;
    atomic_fetch_add(&found->users, 1);
    call->kept = found;
    call->pool = found->pool;
    call->speeds = found->speeds;
    return HS__TAKEN;
}

int hs__begin_shaped_call(hs__call *call, hs__entry *entry, double volume, double shared,
                          double alone)
{
    if (!hs__is_certain(entry)) return leave_to_library(entry, HS__REFUSED, volume);
    *call = (hs__call){.entry = entry, .volume = volume, .shared = shared, .alone = alone};
    const int32_t workers = workers_for(entry);
    hs__fate fate = fate_by_size(call, workers);
    if (fate == HS__TAKEN && inside) fate = HS__BUSY;
    if (fate != HS__TAKEN) return leave_to_library(entry, fate, volume);
    inside = 1;
    fate = HS__BUSY;
    if (begin_choosing()) {
        fate = choose_pool(workers, call);
        end_choosing();
    }
    if (fate != HS__TAKEN) {
        inside = 0;
        return leave_to_library(entry, fate, volume);
    }
    call->counted = hs__join_callers();
    call->start = hs__counting ? hs_clock() : 0.0;
    return 1;
}

int hs__begin_call(hs__call *call, hs__entry *entry, double volume)
{
    return hs__begin_shaped_call(call, entry, volume, volume, volume);
}

/* Returns the number of cores that the workers did not get. */
static double count_lost_cores(const hs__call *call)
{
    double available[HS__MOST_WORKERS];
    double missing = 0.0;
    hs_pool_availability(call->pool, call->speeds, available);
    for (int32_t p = 0; p < call->kept->workers; p++) missing += 1.0 - available[p];
    return missing;
}

static void count_ended(const hs__call *call, hs_status status)
{
    if (status) hs__count_call(call->entry, HS__REFUSED, call->volume);
    else
        hs__count_taken(call->entry, call->volume, call->kept->workers, call->start,
                        count_lost_cores(call));
}

int hs__end_call(hs__call *call, hs_status status)
{
    if (hs__counting) count_ended(call, status);
    hs__leave_callers(call->counted);
    release_pool(call->kept);
    inside = 0;
    return !status;
}
