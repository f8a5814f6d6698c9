/* Binds the workers of a pool to sites, and moves them when other programs have taken the cores. */
#include <stdlib.h>

#include "threads/pool_state.h"

static void bind_domain(hs_pool *pool, int32_t domain)
{
    const hs__cpus *cpus = hs__cpus_of_domain(&pool->sites, domain);
    for (int32_t w = 0; w < pool->p; w++)
        if (pool->helpers[w].started && hs__domain_of(&pool->domains, w) == domain)
            hs__confine(pool->helpers[w].thread, cpus);
}

static int32_t count_workers(const hs_pool *pool, int32_t domain)
{
    int32_t count = 0;
    for (int32_t w = 0; w < pool->p; w++) count += hs__domain_of(&pool->domains, w) == domain;
    return count;
}

hs_status hs_pool_bind(hs_pool *pool, int32_t count, const hs_site *sites, const int32_t *site_of)
{
    if (!pool || pool->cores || pool->sites.count) return HS_ERROR_VALUE;
    const int32_t domains = pool->domains.count;
    const hs_status status = hs__sites_open(&pool->sites, count, sites, domains, site_of);
    if (status) return status;
    int32_t *on = calloc((size_t)count, sizeof *on); /* workers on each site */
    if (!on) {
        hs__sites_close(&pool->sites);
        return HS_ERROR_MEMORY;
    }
    int have_cores = hs__sites_are_here(count, sites);
    for (int32_t d = 0; d < domains; d++) {
        on[site_of[d]] += count_workers(pool, d);
        if (on[site_of[d]] > sites[site_of[d]].cores) have_cores = 0;
        bind_domain(pool, d);
    }
    atomic_store(&pool->spin, have_cores);
    free(on);
    return HS_OK;
}

void hs__review_sites(hs_pool *pool)
{
    static const double interval = 0.25;
    hs__sites *sites = &pool->sites;
    if (sites->count < 2) return;
    const double now = hs_clock();
    if (now < atomic_load_explicit(&sites->next, memory_order_relaxed)) return;
    if (atomic_exchange(&sites->is_changing, 1)) return;
    for (int32_t d = 0; d < sites->domains; d++) {
        const int32_t better = hs__better_site(sites, d, count_workers(pool, d), now);
        if (better < 0) continue;
        atomic_store(&sites->site_of[d], better);
        bind_domain(pool, d);
    }
    atomic_store_explicit(&sites->next, hs_clock() + interval, memory_order_relaxed);
    atomic_store(&sites->is_changing, 0);
}
