#define _GNU_SOURCE
#include "blas/gate.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "blas/settings.h"

/* One call at a time is the engine's. Who finds it taken goes to the library behind, also where a signal has interrupted the very thread
 * that has it: nobody waits. */
static atomic_int taken;
static hs_pool *pools[HS__MOST_WORKERS + 1]; /* by number of workers; never destroyed, for a program may call to its end */

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The threads of the parent's pools are not here. What its other threads had taken is nobody's. */
static void in_child(void)
{
    const int in_use = atomic_exchange(&taken, 0);
    for (int p = 0; p <= HS__MOST_WORKERS; p++) {
        if (!in_use) hs_pool_destroy(pools[p]);
        pools[p] = NULL;
    }
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* ---- OpenMP ------------------------------------------------------------------------------------------------------ */

enum { MOST_RUNTIMES = 8 };
typedef int in_parallel(void);

typedef struct {
    in_parallel *in[MOST_RUNTIMES];
    int count;
    unsigned long long loads; /* hs__loads when it was looked */
} runtimes;
static runtimes openmp; /* of who has `taken` */

static int look_for_openmp(void *handle, void *context)
{
    runtimes *found = context;
    void *function = dlsym(handle, "omp_in_parallel");
    in_parallel *in;
    memcpy(&in, &function, sizeof in);
    int known = !in || found->count == MOST_RUNTIMES;
    for (int i = 0; i < found->count; i++) known = known || found->in[i] == in;
    if (known) return 0;
    hs__keep(function);
    found->in[found->count++] = in;
    return 0;
}

static int is_in_parallel(void)
{
    const unsigned long long loads = hs__loads();
    if (loads != openmp.loads) {
        hs__each_object(look_for_openmp, &openmp);
        openmp.loads = loads;
    }
    for (int i = 0; i < openmp.count; i++)
        if (openmp.in[i]()) return 1;
    return 0;
}

/* ---- the gate ---------------------------------------------------------------------------------------------------- */

static int no(hs__entry *entry, hs__fate fate, double volume)
{
    if (hs__counting) hs__count(entry, fate, volume, 0.0, 0.0);
    return 0;
}

int hs__refuse(hs__entry *entry, double volume) { return no(entry, HS__REFUSED, volume); }

/* As many as the library behind is to use, and there are. */
static int32_t workers_for(hs__entry *entry)
{
    const int32_t told = entry->threads ? entry->threads() : 0;
    return told > 0 && told < hs__set.workers ? told : hs__set.workers;
}

/* The pool of so many workers, with the domains that they have. One whose kernel this processor does not have is none. */
static hs_status open_pool(int32_t workers)
{
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[HS__MOST_WORKERS];
    hs_status status = hs_kernel_init();
    if (status) return status;
    const int32_t count = hs__domains_of(workers, domain, of);
    status = count ? hs_pool_create_domains(workers, hs__set.cores, count, domain, of, &pools[workers]) : HS_ERROR_UNSUPPORTED;
    if (status == HS_ERROR_UNSUPPORTED) status = hs_pool_create(workers, hs__set.cores, &pools[workers]);
    return status ? status : hs_pool_set_deterministic(pools[workers], hs__set.deterministic);
}

int hs__enter(hs__turn *turn, hs__entry *entry, double volume)
{
    if (!hs__is_certain(entry)) return no(entry, HS__REFUSED, volume);
    const int32_t workers = workers_for(entry);
    if (workers < 2) return no(entry, HS__ONE_THREAD, volume);
    if (atomic_exchange(&taken, 1)) return no(entry, HS__BUSY, volume);
    if (is_in_parallel()) {
        atomic_store(&taken, 0);
        return no(entry, HS__PARALLEL, volume);
    }
    if (!pools[workers] && open_pool(workers)) {
        atomic_store(&taken, 0);
        return no(entry, HS__REFUSED, volume);
    }
    *turn = (hs__turn){entry, pools[workers], workers, hs__set.has_speeds ? hs__set.speeds : NULL, volume, hs__counting ? hs_clock() : 0.0};
    return 1;
}

/* Core-seconds that the workers did not get. */
static double lost(const hs__turn *turn, double seconds)
{
    double available[HS__MOST_WORKERS], missing = 0.0;
    hs_pool_availability(turn->pool, turn->speeds, available);
    for (int32_t p = 0; p < turn->workers; p++) missing += 1.0 - available[p];
    return missing * seconds;
}

int hs__leave(hs__turn *turn, hs_status status)
{
    if (hs__counting) {
        const double seconds = hs_clock() - turn->start;
        hs__count(turn->entry, status ? HS__REFUSED : HS__TAKEN, turn->volume, seconds, status ? 0.0 : lost(turn, seconds));
    }
    atomic_store(&taken, 0);
    return !status;
}
