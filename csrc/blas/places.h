/* Where workers may be: within the mask that the calling thread has at the time of the call.
 *
 * `hetsched exec` names places for the machine that it sees itself. The program behind it may have
 * fewer cpus: `taskset`, `numactl`, `srun` and `mpiexec` narrow the mask after exec has looked,
 * each rank has another one, and `taskset -p`, a cgroup or the program itself change it later. So
 * the places that are named are a choice, and the mask of the thread that calls says which of them
 * count. It is the thread's own mask: a thread that its program has pinned to one cpu has one
 * place.
 *
 * One exception: an OpenMP runtime that binds threads pins the thread that loads it to the first of
 * its places, though the process has all of them (openmp.h). */
#ifndef HS_BLAS_PLACES_H
#define HS_BLAS_PLACES_H

#include <stdint.h>

#include "blas/openmp.h"
#include "hetsched.h"
#include "threads/cpus.h"

enum { HS__MOST_WORKERS = 1024, HS__MOST_DOMAINS = 256 };

/* A cpu for each worker, and what is known of it. */
typedef struct hs__places {
    int32_t count;
    int32_t cores[HS__MOST_WORKERS]; /* [count] */
    int32_t has_speeds;
    double speeds[HS__MOST_WORKERS];     /* [count], if has_speeds */
    int32_t domains;                     /* 0: all are one */
    int32_t domain_of[HS__MOST_WORKERS]; /* [count], if there are domains: of the settings' */
} hs__places;

/* The places within a mask, at most as many as the settings allow: those that are named. If the
 * mask has none of them, or none is named, one cpu of each core of the mask, of which neither
 * speeds nor domains are known. An empty mask, for one that cannot be read: one place, so that no
 * worker is started. */
void hs__places_within(const hs__cpus *mask, hs__places *found);

/* Domains of the first workers, and which of these each worker is in: domain [HS__MOST_DOMAINS], of
 * [workers]. Returns how many, 0 where all are one. */
int32_t hs__domains_of(const hs__places *places, int32_t workers, hs_domain *domain, int32_t *of);

#endif
