/* Chooses sites by the cores that other programs leave free. Each free core is equally likely, so
 * that processes that start at the same moment spread. */
#define _GNU_SOURCE
#include "threads/sites.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "core/random.h"
#include "threads/load.h"

/* A core counts as free if no more than this part of it is used: the system itself uses some. */
static const double slack = 0.25;

uint64_t hs__new_seed(void)
{
    static _Atomic uint64_t calls;
    uint64_t seed = 0;
#if defined(__linux__)
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes, new in each program */
    if (random) memcpy(&seed, random, sizeof seed);
#endif
    seed ^= (uint64_t)getpid() << 32; /* a forked child has the bytes of its parent */
    seed += atomic_fetch_add(&calls, 1);
    return hs__random(&seed);
}

/* ---- a choice -------------------------------------------------------------------------------- */

static int is_site(const hs_site *site)
{
    if (site->count < 1 || !site->cpus || site->cores < 1 || site->kind < 0) return 0;
    for (int32_t i = 0; i < site->count; i++)
        if (site->cpus[i] < 0 || site->cpus[i] > HS__LAST_CPU) return 0;
    return 1;
}

static int are_sites(int32_t count, const hs_site *sites)
{
    if (count < 1 || !sites) return 0;
    for (int32_t i = 0; i < count; i++)
        if (!is_site(&sites[i])) return 0;
    return 1;
}

typedef struct {
    int32_t count;
    const hs_site *sites;
    const double *free_cores;
    int32_t preferred;
    uint64_t random;
    int32_t *workers;
} choice;

/* Returns the cores of a site that are free and not yet chosen. */
static double left(const choice *x, int32_t i)
{
    const double cores = x->sites[i].cores;
    return (x->free_cores ? fmin(x->free_cores[i], cores) : cores) - x->workers[i];
}

/* Returns the fastest kind with a free core, or -1 if there is none. */
static int32_t find_kind(const choice *x)
{
    int32_t best = -1;
    for (int32_t i = 0; i < x->count; i++)
        if (left(x, i) >= 1.0 - slack && (best < 0 || x->sites[i].kind < best))
            best = x->sites[i].kind;
    return best;
}

/* Returns how likely a site is to be chosen. Where a core is free, only sites of the fastest kind
 * count that have one for each remaining worker, or the most. Where none is, each core is as likely
 * as the next. */
static double weight_of(const choice *x, int32_t i, int32_t kind, double least)
{
    if (kind < 0) return x->sites[i].cores / (1.0 + x->workers[i]);
    return x->sites[i].kind == kind && left(x, i) >= least ? left(x, i) : 0.0;
}

/* Returns whether no site is better than the preferred one. */
static int is_preferred_best(const choice *x, int32_t kind, double least)
{
    if (x->preferred < 0) return 0;
    const double weight = weight_of(x, x->preferred, kind, least);
    if (kind >= 0) return weight > 0.0;
    for (int32_t i = 0; i < x->count; i++)
        if (weight_of(x, i, kind, least) > weight) return 0;
    return 1;
}

static int32_t choose_site(choice *x, int32_t remaining, int32_t kind)
{
    double most = 0.0;
    double sum = 0.0;
    for (int32_t i = 0; i < x->count; i++)
        if (x->sites[i].kind == kind) most = fmax(most, left(x, i));
    /* A fraction of a core is no room for one more worker. */
    const double least = fmin(kind < 0 ? most : floor(most + slack), remaining) - slack;
    if (is_preferred_best(x, kind, least)) return x->preferred;
    for (int32_t i = 0; i < x->count; i++) sum += weight_of(x, i, kind, least);
    double at = hs__random_unit(&x->random) * sum;
    int32_t last = 0;
    for (int32_t i = 0; i < x->count; i++) {
        const double weight = weight_of(x, i, kind, least);
        if (weight > 0.0) last = i;
        at -= weight;
        if (weight > 0.0 && at < 0.0) return i;
    }
    return last;
}

hs_status hs_choose_sites(int32_t p, int32_t count, const hs_site *sites, const double *free_cores,
                          int32_t preferred, uint64_t seed, int32_t *workers)
{
    if (p < 1 || p > HS__LARGEST_POOL || !workers || !are_sites(count, sites))
        return HS_ERROR_VALUE;
    if (preferred < -1 || preferred >= count) return HS_ERROR_VALUE;
    for (int32_t i = 0; free_cores && i < count; i++)
        if (!(free_cores[i] >= 0.0)) return HS_ERROR_VALUE;
    choice x = {count, sites, free_cores, preferred, seed ? seed : hs__new_seed(), workers};
    memset(workers, 0, (size_t)count * sizeof *workers);
    for (int32_t remaining = p; remaining;) {
        const int32_t kind = find_kind(&x);
        const int32_t i = choose_site(&x, remaining, kind);
        const double room = floor(left(&x, i) + slack);
        int32_t more = kind >= 0 && room >= 1.0 ? (int32_t)room : 1;
        if (more > remaining) more = remaining;
        workers[i] += more;
        remaining -= more;
    }
    return HS_OK;
}

/* ---- what is free ---------------------------------------------------------------------------- */

/* Returns the free cores of a site, below 0 if they are not known. Two programs on the siblings of
 * a core count as two cores, which is too many rather than too few. */
static double free_cores_of(const hs__site *site, hs__users users, double time)
{
    const int32_t cpus = hs__cpus_count(&site->cpus);
    const double found = hs__load_free(hs__machine_load(), time, &site->cpus, users, -1.0);
    return found < 0.0 ? found : fmax(0.0, site->cores - (cpus - found));
}

static hs_status copy_site(const hs_site *given, hs__site *copy)
{
    int32_t end = 0;
    for (int32_t i = 0; i < given->count; i++)
        if (given->cpus[i] >= end) end = given->cpus[i] + 1;
    *copy = (hs__site){.cores = given->cores, .kind = given->kind};
    if (!hs__cpus_open(&copy->cpus, end)) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < given->count; i++) hs__cpus_add(&copy->cpus, given->cpus[i]);
    return HS_OK;
}

int hs__sites_are_here(int32_t count, const hs_site *sites)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < sites[i].count; k++)
            if (sites[i].cpus[k] >= cpus) return 0;
    return 1;
}

/* Returns the site where the calling thread runs, or -1. */
static int32_t find_site_of_caller(int32_t count, const hs_site *sites)
{
#if defined(__linux__)
    const int cpu = sched_getcpu();
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < sites[i].count; k++)
            if (sites[i].cpus[k] == cpu) return i;
#else
    (void)count;
    (void)sites;
#endif
    return -1;
}

/* Writes the free cores of each site. is_known: out */
static hs_status find_free_cores(int32_t count, const hs_site *sites, double *free_cores,
                                 int *is_known)
{
    const double now = hs_clock();
    *is_known = 1;
    for (int32_t i = 0; i < count; i++) {
        hs__site site;
        const hs_status status = copy_site(&sites[i], &site);
        if (status) return status;
        free_cores[i] = free_cores_of(&site, HS__ALL_USERS, now);
        free(site.cpus.set);
        if (free_cores[i] < 0.0) *is_known = 0;
    }
    return HS_OK;
}

void hs_watch_load(void) { hs__load_start(hs__machine_load(), hs_clock()); }

hs_status hs_spread_workers(int32_t p, int32_t count, const hs_site *sites, int32_t *workers)
{
    if (p < 1 || p > HS__LARGEST_POOL || !workers || !are_sites(count, sites))
        return HS_ERROR_VALUE;
    double *free_cores = malloc((size_t)count * sizeof *free_cores);
    if (!free_cores) return HS_ERROR_MEMORY;
    int is_known = hs__sites_are_here(count, sites);
    hs_status status = HS_OK;
    if (is_known) status = find_free_cores(count, sites, free_cores, &is_known);
    const int32_t here = is_known ? find_site_of_caller(count, sites) : -1;
    if (!status)
        status = hs_choose_sites(p, count, sites, is_known ? free_cores : NULL, here, 0, workers);
    free(free_cores);
    return status;
}

/* ---- the sites of a pool --------------------------------------------------------------------- */

hs_status hs__sites_open(hs__sites *sites, int32_t count, const hs_site *given, int32_t domains,
                         const int32_t *site_of)
{
    if (!are_sites(count, given) || !site_of) return HS_ERROR_VALUE;
    for (int32_t d = 0; d < domains; d++)
        if (site_of[d] < 0 || site_of[d] >= count) return HS_ERROR_VALUE;
    *sites = (hs__sites){.count = count, .domains = domains, .random = hs__new_seed()};
    sites->site = calloc((size_t)count, sizeof *sites->site);
    sites->site_of = calloc((size_t)domains, sizeof *sites->site_of);
    hs_status status = sites->site && sites->site_of ? HS_OK : HS_ERROR_MEMORY;
    for (int32_t i = 0; i < count && !status; i++) status = copy_site(&given[i], &sites->site[i]);
    for (int32_t d = 0; d < domains && !status; d++) atomic_init(&sites->site_of[d], site_of[d]);
    if (status) hs__sites_close(sites);
    return status;
}

void hs__sites_close(hs__sites *sites)
{
    for (int32_t i = 0; i < sites->count && sites->site; i++) free(sites->site[i].cpus.set);
    free(sites->site);
    free(sites->site_of);
    *sites = (hs__sites){0};
}

static int is_in_use(const hs__sites *sites, int32_t site)
{
    for (int32_t d = 0; d < sites->domains; d++)
        if (atomic_load(&sites->site_of[d]) == site) return 1;
    return 0;
}

/* Of processes that see the same site become free, only some should move to it at the same time:
 * each look moves the workers with probability 1/2. */
int32_t hs__better_site(hs__sites *sites, int32_t domain, int32_t workers, double time)
{
    const int32_t own = atomic_load(&sites->site_of[domain]);
    const double now = free_cores_of(&sites->site[own], HS__OTHER_USERS, time);
    if (now < 0.0 || now >= workers - 0.5) return -1;
    int32_t best = -1;
    double most = now + 1.0 - slack;
    for (int32_t i = 0; i < sites->count; i++) {
        if (sites->site[i].kind != sites->site[own].kind || is_in_use(sites, i)) continue;
        if (sites->site[i].cores < workers) continue;
        const double found = free_cores_of(&sites->site[i], HS__ALL_USERS, time);
        if (found < most) continue;
        most = found;
        best = i;
    }
    return best >= 0 && hs__random_unit(&sites->random) < 0.5 ? best : -1;
}
