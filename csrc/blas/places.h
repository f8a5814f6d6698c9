/* Where workers may run: within the affinity mask that the calling thread has at the time of the
 * call.
 *
 * `hetsched exec` names places for the machine as it sees it. The program that it starts may have
 * fewer cpus. `taskset`, `numactl`, `srun` and `mpiexec` narrow the mask after exec has looked, and
 * each rank has another mask. `taskset -p`, a cgroup or the program itself change it later. So the
 * named places are candidates, and the mask of the calling thread says which of them count. It is
 * the mask of that thread alone: a thread that its program has pinned to one cpu has one place.
 *
 * There is one exception. An OpenMP runtime that binds threads pins the thread that loads it to the
 * first of its places, although the process has all of them (openmp.h). */
#ifndef HS_BLAS_PLACES_H
#define HS_BLAS_PLACES_H

#include <stdint.h>

#include "blas/openmp.h"
#include "hetsched.h"
#include "threads/cpus.h"

enum { HS__MOST_WORKERS = 1024, HS__MOST_DOMAINS = 256 };

/* A cpu for each worker, and what is known of these cpus. */
typedef struct hs__places {
    int32_t count;
    int32_t cores[HS__MOST_WORKERS]; /* [count] */
    int32_t has_speeds;
    double speeds[HS__MOST_WORKERS];     /* [count], if has_speeds */
    int32_t domains;                     /* number of domains; 0: all workers are in one */
    int32_t domain_of[HS__MOST_WORKERS]; /* [count], if there are domains: number in the settings */
} hs__places;

/* Finds the places within a mask. The result is the named places that are in the mask. If there are
 * none, it is one cpu of each core of the mask, with unknown speeds and domains. An empty mask (one
 * that cannot be read) gives one place, so that no worker is started. */
void hs__places_within(const hs__cpus *mask, hs__places *found);

/* The places by domain: the sites of a pool with fewer workers than places. */
typedef struct hs__place_sites {
    int32_t count;
    hs_site site[HS__MOST_DOMAINS];   /* [count] */
    int32_t domain[HS__MOST_DOMAINS]; /* [count] number in the settings */
    int32_t *cpus;                    /* of all sites: the cpus of the cores of the places */
} hs__place_sites;

/* Finds the sites of places within a mask. A cpu that belongs to several domains, as siblings may in
 * settings that are not of this machine, is in the site of the first one. HS_ERROR_MEMORY;
 * HS_ERROR_VALUE if there are none.
 * hs__free_sites frees what hs__find_sites has allocated. */
hs_status hs__find_sites(const hs__places *places, const hs__cpus *mask, hs__place_sites *found);
void hs__free_sites(hs__place_sites *sites);

/* Returns the mean speed of the places of a domain; they must have speeds. */
double hs__mean_speed(const hs__places *places, int32_t domain);

/* Finds the domains of the first workers. Returns how many; 0 if all workers are in one.
 *   domain  [HS__MOST_DOMAINS] out
 *   of      [workers] out: the domain of each worker, an index of `domain` */
int32_t hs__domains_of(const hs__places *places, int32_t workers, hs_domain *domain, int32_t *of);

#endif
