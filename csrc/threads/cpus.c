/* Affinity masks of any size, by the functions of glibc; on other systems no cpus are known. */
#define _GNU_SOURCE
#include "threads/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)

int hs__cpus_open(hs__cpus *cpus, int32_t end)
{
    const size_t bytes = CPU_ALLOC_SIZE(end);
    *cpus = (hs__cpus){calloc(1, bytes), bytes};
    return cpus->set != NULL;
}

int hs__cpus_of(pthread_t thread, hs__cpus *cpus)
{
    enum { MOST = 1 << 20 };
    *cpus = (hs__cpus){0};
    int refused = EINVAL; /* by the system, because it has more cpus than the set has room for */
    for (size_t count = CPU_SETSIZE; refused == EINVAL && count <= MOST; count *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(count);
        cpu_set_t *set = malloc(bytes);
        if (!set) return 0;
        refused = pthread_getaffinity_np(thread, bytes, set);
        if (refused) free(set);
        else *cpus = (hs__cpus){set, bytes};
    }
    return !refused;
}

int hs__cpus_reread(pthread_t thread, hs__cpus *cpus)
{
    if (cpus->set && !pthread_getaffinity_np(thread, cpus->bytes, cpus->set)) return 1;
    free(cpus->set);
    return hs__cpus_of(thread, cpus);
}

int hs__cpus_same(const hs__cpus *one, const hs__cpus *other)
{
    return one->bytes == other->bytes && (!one->bytes || !memcmp(one->set, other->set, one->bytes));
}

int32_t hs__cpus_count(const hs__cpus *cpus)
{
    return cpus->set ? CPU_COUNT_S(cpus->bytes, cpus->set) : 0;
}

void hs__cpus_add(hs__cpus *cpus, int32_t cpu)
{
    if (cpu >= 0 && cpu < hs__cpus_end(cpus)) CPU_SET_S((size_t)cpu, cpus->bytes, cpus->set);
}

int hs__cpus_have(const hs__cpus *cpus, int32_t cpu)
{
    return cpu >= 0 && CPU_ISSET_S((size_t)cpu, cpus->bytes, cpus->set);
}

int32_t hs__cpus_end(const hs__cpus *cpus) { return (int32_t)(8 * cpus->bytes); }

int hs__confine(pthread_t thread, const hs__cpus *cpus)
{
    return !pthread_setaffinity_np(thread, cpus->bytes, cpus->set);
}

int hs__pin(pthread_t thread, int32_t core)
{
    hs__cpus one;
    if (!hs__cpus_open(&one, core + 1)) return 0;
    hs__cpus_add(&one, core);
    const int pinned = hs__confine(thread, &one);
    free(one.set);
    return pinned;
}

#else

int hs__cpus_open(hs__cpus *cpus, int32_t end)
{
    (void)end;
    *cpus = (hs__cpus){0};
    return 1;
}
int hs__cpus_of(pthread_t thread, hs__cpus *cpus)
{
    (void)thread;
    *cpus = (hs__cpus){0};
    return 0;
}
int hs__cpus_reread(pthread_t thread, hs__cpus *cpus) { return hs__cpus_of(thread, cpus); }
int hs__cpus_same(const hs__cpus *one, const hs__cpus *other)
{
    (void)one;
    (void)other;
    return 1;
}
int32_t hs__cpus_count(const hs__cpus *cpus)
{
    (void)cpus;
    return 0;
}
void hs__cpus_add(hs__cpus *cpus, int32_t cpu)
{
    (void)cpus;
    (void)cpu;
}
int hs__cpus_have(const hs__cpus *cpus, int32_t cpu)
{
    (void)cpus;
    (void)cpu;
    return 0;
}
int32_t hs__cpus_end(const hs__cpus *cpus)
{
    (void)cpus;
    return 0;
}
int hs__confine(pthread_t thread, const hs__cpus *cpus)
{
    (void)thread;
    (void)cpus;
    return 0;
}
int hs__pin(pthread_t thread, int32_t core)
{
    (void)thread;
    (void)core;
    return 0;
}

#endif
