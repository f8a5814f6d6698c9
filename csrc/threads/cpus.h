/* Affinity masks of threads. The sets are as large as the system's, so cpus may have any number. */
#ifndef HS_THREADS_CPUS_H
#define HS_THREADS_CPUS_H

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* set: allocated memory, for free(); NULL: the cpus are not known. */
typedef struct hs__cpus {
#if defined(__linux__)
    cpu_set_t *set;
#else
    void *set;
#endif
    size_t bytes;
} hs__cpus;

/* In the arguments of public functions: the highest number of a cpu, and the most workers. */
enum { HS__LAST_CPU = 65535, HS__LARGEST_POOL = 4096 };

/* Makes an empty set with room for cpus below `end`. Returns 0 if there is no memory. On a system
 * without masks it returns 1, and there is no set. */
int hs__cpus_open(hs__cpus *cpus, int32_t end);

/* Reads the mask of a thread. Returns 0, and no set, if there is no memory or the system does not
 * tell. */
int hs__cpus_of(pthread_t thread, hs__cpus *cpus);

/* The same into an existing set, with its memory reused if it is large enough. */
int hs__cpus_reread(pthread_t thread, hs__cpus *cpus);

/* Returns whether two sets have the same size and the same cpus. */
int hs__cpus_same(const hs__cpus *one, const hs__cpus *other);

/* Return the number of cpus in a set; add a cpu, if the set has room for it. */
int32_t hs__cpus_count(const hs__cpus *cpus);
void hs__cpus_add(hs__cpus *cpus, int32_t cpu);

/* Return whether a cpu is in the set; the number that all cpus of the set are below. */
int hs__cpus_have(const hs__cpus *cpus, int32_t cpu);
int32_t hs__cpus_end(const hs__cpus *cpus);

/* Restrict a thread to these cpus, or to one core. Return whether that succeeded: if the core has
 * disappeared meanwhile, or another mask forbids it, the thread stays where it was. */
int hs__confine(pthread_t thread, const hs__cpus *cpus);
int hs__pin(pthread_t thread, int32_t core);

#endif
