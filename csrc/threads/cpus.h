/* On which cpus a thread may run, whatever their numbers: the sets are as large as the system's. */
#ifndef HS_THREADS_CPUS_H
#define HS_THREADS_CPUS_H

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* set: memory of its own, for free(), or NULL: no cpus are known. */
typedef struct hs__cpus {
#if defined(__linux__)
    cpu_set_t *set;
#else
    void *set;
#endif
    size_t bytes;
} hs__cpus;

/* Those of a thread; none, and 0, if there is no memory, or the system does not say. */
int hs__cpus_of(pthread_t thread, hs__cpus *cpus);

/* The same into a set of before, whose memory is used again where there is room. */
int hs__cpus_again(pthread_t thread, hs__cpus *cpus);

/* Whether two sets are of one size and have the same cpus. */
int hs__cpus_same(const hs__cpus *one, const hs__cpus *other);

/* How many cpus there are; and one more, if there is room for it. */
int32_t hs__cpus_count(const hs__cpus *cpus);
void hs__cpus_add(hs__cpus *cpus, int32_t cpu);

/* Whether a cpu is one of them; they are below hs__cpus_end. */
int hs__cpus_have(const hs__cpus *cpus, int32_t cpu);
int32_t hs__cpus_end(const hs__cpus *cpus);

/* The thread may run on these cpus, or on that one, only. Whether that succeeded: a core that is
 * gone meanwhile, or that another mask forbids, leaves the thread where it was. */
int hs__confine(pthread_t thread, const hs__cpus *cpus);
int hs__pin(pthread_t thread, int32_t core);

#endif
