/* The sites of a pool: where its workers run, if it needs fewer cores than it may use.
 *
 * The workers of a domain are bound to the cpus of one site, and the system places them within. A
 * pool looks at the load again from time to time and moves the workers of a domain to another site
 * of the same kind if other programs have taken their cores. */
#ifndef HS_THREADS_SITES_H
#define HS_THREADS_SITES_H

#include <stdatomic.h>
#include <stdint.h>

#include "hetsched.h"
#include "threads/cpus.h"

typedef struct hs__site {
    hs__cpus cpus;
    int32_t cores, kind;
} hs__site;

/* Initially all zero: a pool without sites.
 *   site_of  [domains] the site of the workers of each domain */
typedef struct hs__sites {
    int32_t count, domains;
    hs__site *site; /* [count] */
    atomic_int *site_of;
    atomic_int is_changing; /* non-zero while a thread binds workers */
    _Atomic double next;    /* time of the next look at the load */
    uint64_t random;
} hs__sites;

/* Copies the sites. HS_ERROR_VALUE for wrong ones, HS_ERROR_MEMORY. */
hs_status hs__sites_open(hs__sites *sites, int32_t count, const hs_site *given, int32_t domains,
                         const int32_t *site_of);
void hs__sites_close(hs__sites *sites);

/* Returns whether this machine has all cpus of the sites. A description of a machine may have
 * others: then the system does not tell their load, and some workers have no core. */
int hs__sites_are_here(int32_t count, const hs_site *sites);

/* Returns the cpus of the workers of a domain. */
static inline const hs__cpus *hs__cpus_of_domain(const hs__sites *sites, int32_t domain)
{
    return &sites->site[atomic_load(&sites->site_of[domain])].cpus;
}

/* Returns a better site for the workers of a domain, or -1 if they should stay. The thread must be
 * the one that changes the sites.
 *   workers  number of workers of the domain
 *   time     of hs_clock */
int32_t hs__better_site(hs__sites *sites, int32_t domain, int32_t workers, double time);

/* Returns another number at each call, also in processes that start at the same moment. */
uint64_t hs__new_seed(void);

#endif
