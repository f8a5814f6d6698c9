/* The gate: takes a call for the engine or leaves it to the library behind.
 *
 * One call at a time is computed by the engine. hs__begin_call takes the gate, checks the
 * affinity mask of the calling thread and finds the pool for its places; hs__end_call opens the
 * gate again. Calls never wait: whenever the engine is busy or unsuitable, the call goes to the
 * library behind. */
#include "blas/gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blas/openmp.h"
#include "blas/places.h"
#include "blas/settings.h"

/* Non-zero while the engine computes a call. A call that finds it set goes to the library behind,
 * even if a signal has interrupted the thread that set it. So no call ever waits. */
static atomic_int taken;
/* Pools by number of workers. They are kept as long as the places do not change, because a program
 * may call until it ends. */
static hs_pool *pools[HS__MOST_WORKERS + 1];

/* State that the pools depend on. It belongs to the thread that has set `taken`. */
static struct {
    hs__openmp openmp;
    hs__cpus mask, seen; /* seen: memory for the next check */
    hs__places places;   /* places within the mask */
} now;
_Atomic int32_t hs__startable = HS__MOST_WORKERS;

/* ---- fork ------------------------------------------------------------------------------------ */

/* In the child the threads of the parent's pools do not exist. If another thread of the parent had
 * the gate, the gate is free now. */
static void in_child(void)
{
    const int in_use = atomic_exchange(&taken, 0);
    for (int p = 0; p <= HS__MOST_WORKERS; p++) {
        if (!in_use) hs_pool_destroy(pools[p]);
        pools[p] = NULL;
    }
    if (in_use) { /* another thread may have been in the middle of these */
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
 * places change, all pools are destroyed, so that none of their threads stays on a cpu outside the
 * mask. */
static void follow_mask(void)
{
    hs__cpus_reread(pthread_self(), &now.seen);
    if (now.mask.set && hs__cpus_same(&now.mask, &now.seen)) return;
    const hs__places before = now.places;
    keep_mask();
    hs__unbind(&now.openmp, &hs__blas_settings.start, &now.seen);
    hs__places_within(&now.seen, &now.places);
    if (have_same_cores(&before, &now.places)) return;
    for (int p = 0; p <= HS__MOST_WORKERS; p++) {
        hs_pool_destroy(pools[p]);
        pools[p] = NULL;
    }
    atomic_store_explicit(&hs__startable, HS__MOST_WORKERS, memory_order_relaxed);
}

/* Creates a pool on the first places, with their domains. If this processor lacks the kernel of a
 * domain, the pool has no domains. */
static hs_status create_pool(int32_t workers, hs_pool **pool)
{
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[HS__MOST_WORKERS];
    const hs__places *places = &now.places;
    const int32_t count = hs__domains_of(places, workers, domain, of);
    hs_status status = HS_ERROR_UNSUPPORTED;
    if (count) status = hs_pool_create_domains(workers, places->cores, count, domain, of, pool);
    if (status == HS_ERROR_UNSUPPORTED) status = hs_pool_create(workers, places->cores, pool);
    return status ? status : hs_pool_set_deterministic(*pool, hs__blas_settings.deterministic);
}

/* Opens a pool of so many workers. Returns how many it has. They are fewer if the system refuses to
 * start more threads; it is not asked again until the places change. 0: not even a pool of two
 * could be opened. */
static int32_t open_pool(int32_t workers)
{
    const int32_t startable = atomic_load_explicit(&hs__startable, memory_order_relaxed);
    const int32_t most = startable > 2 ? startable : 2;
    hs_status status = hs_kernel_init();
    if (workers > most) workers = most;
    for (; !status && workers > 1; workers--) {
        if (!pools[workers]) status = create_pool(workers, &pools[workers]);
        if (!status) return workers;
        if (status != HS_ERROR_THREAD) return 0;
        status = HS_OK;
        atomic_store_explicit(&hs__startable, workers - 1, memory_order_relaxed);
    }
    return 0;
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* Counts a call that the engine does not compute; returns 0. */
static int leave_to_library(hs__entry *entry, hs__fate fate, double volume)
{
    if (hs__counting) hs__count_call(entry, fate, volume, 0.0, 0.0);
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
    const int32_t told = entry->threads ? entry->threads() : 0;
    const int32_t limit = atomic_load(&hs__blas_settings.limit);
    return told > 0 && told < limit ? told : limit;
}

/* Returns the fate of a call with at most so many workers, and finds the pool for it. The gate must
 * be taken. */
static hs__fate choose_pool(int32_t workers, hs__call *call)
{
    if (hs__is_in_parallel(&now.openmp)) return HS__PARALLEL;
    follow_mask();
    if (workers > now.places.count) workers = now.places.count;
    if (workers < 2) return HS__ONE_THREAD;
    call->workers = open_pool(workers);
    if (!call->workers) return HS__REFUSED;
    call->pool = pools[call->workers];
    call->speeds = now.places.has_speeds ? now.places.speeds : NULL;
    return HS__TAKEN;
}

int hs__begin_call(hs__call *call, hs__entry *entry, double volume)
{
    if (!hs__is_certain(entry)) return leave_to_library(entry, HS__REFUSED, volume);
    const int32_t workers = workers_for(entry);
    if (workers < 2) return leave_to_library(entry, HS__ONE_THREAD, volume);
    if (atomic_exchange(&taken, 1)) return leave_to_library(entry, HS__BUSY, volume);
    *call = (hs__call){.entry = entry, .volume = volume};
    const hs__fate fate = choose_pool(workers, call);
    if (fate != HS__TAKEN) {
        atomic_store(&taken, 0);
        return leave_to_library(entry, fate, volume);
    }
    call->start = hs__counting ? hs_clock() : 0.0;
    return 1;
}

/* Returns the core-seconds that the workers did not get. */
static double lost_core_seconds(const hs__call *call, double seconds)
{
    double available[HS__MOST_WORKERS];
    double missing = 0.0;
    hs_pool_availability(call->pool, call->speeds, available);
    for (int32_t p = 0; p < call->workers; p++) missing += 1.0 - available[p];
    return missing * seconds;
}

int hs__end_call(hs__call *call, hs_status status)
{
    if (hs__counting) {
        const double seconds = hs_clock() - call->start;
        hs__count_call(call->entry, status ? HS__REFUSED : HS__TAKEN, call->volume, seconds,
                       status ? 0.0 : lost_core_seconds(call, seconds));
    }
    atomic_store(&taken, 0);
    return !status;
}
