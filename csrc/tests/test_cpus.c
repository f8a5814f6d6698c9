/* Affinity masks: of this machine, and of machines with many more cpus, where the system refuses
 * sets that are too small. */
#define _GNU_SOURCE
#include "threads/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

#if defined(__linux__)

/* The mask as the system returns it in one call with a set that is large enough. */
static void of_this_machine(void)
{
    enum { BYTES = 1 << 17 };
    hs__cpus found;
    hs__cpus all = {calloc(1, BYTES), BYTES};
    if (CHECK(all.set && !pthread_getaffinity_np(pthread_self(), BYTES, all.set)) &&
        CHECK(hs__cpus_of(pthread_self(), &found))) {
        for (int32_t cpu = -1; cpu < 8 * BYTES; cpu++)
            if (hs__cpus_have(&found, cpu) !=
                (cpu >= 0 && CPU_ISSET_S((size_t)cpu, BYTES, all.set)))
                CHECK(cpu < 0);
        CHECK(hs__cpus_end(&found) >= 1 &&
              CPU_COUNT_S(found.bytes, found.set) == CPU_COUNT_S(BYTES, all.set));
        free(found.set);
    }
    free(all.set);
}

static void pinned_and_free_again(void)
{
    hs__cpus before;
    hs__cpus now = {0};
    if (!CHECK(hs__cpus_of(pthread_self(), &before))) return;
    int32_t cpu = 0;
    while (!hs__cpus_have(&before, cpu)) cpu++;
    CHECK(hs__pin(pthread_self(), cpu) && hs__cpus_of(pthread_self(), &now));
    CHECK(CPU_COUNT_S(now.bytes, now.set) == 1 && hs__cpus_have(&now, cpu));
    free(now.set);
    CHECK(hs__confine(pthread_self(), &before) && hs__cpus_of(pthread_self(), &now) &&
          hs__cpus_same(&before, &now));
    free(before.set);
    free(now.set);
}

/* A set is read again into its own memory. The stamp changes as soon as the set does. */
static void looked_at_again(void)
{
    hs__cpus before;
    hs__cpus now = {0};
    hs__cpus none = {0};
    if (!CHECK(hs__cpus_of(pthread_self(), &before)) ||
        !CHECK(hs__cpus_reread(pthread_self(), &now)))
        return;
    const void *memory = now.set;
    const uint64_t stamp = hs_cpus_stamp();
    CHECK(hs__cpus_same(&before, &now) && stamp && hs_cpus_stamp() == stamp);
    CHECK(!hs__cpus_same(&before, &none) && hs__cpus_same(&none, &none) &&
          hs__cpus_count(&none) == 0);
    for (int32_t cpu = 0; cpu < hs__cpus_end(&before); cpu++) {
        if (!hs__cpus_have(&before, cpu) || hs__cpus_count(&before) == 1) continue;
        CHECK(hs__pin(pthread_self(), cpu) && hs__cpus_reread(pthread_self(), &now) &&
              now.set == memory);
        CHECK(!hs__cpus_same(&before, &now) && hs__cpus_count(&now) == 1 &&
              hs__cpus_have(&now, cpu) && hs_cpus_stamp() != stamp);
    }
    CHECK(hs__confine(pthread_self(), &before) && hs_cpus_stamp() == stamp);
    free(before.set);
    free(now.set);
}

static void cpus_are_added(void)
{
    hs__cpus cpus = {calloc(1, CPU_ALLOC_SIZE(2048)), CPU_ALLOC_SIZE(2048)};
    if (!CHECK(cpus.set)) return;
    const int32_t added[] = {0, 63, 64, 1500, 2047, 64};
    const int32_t outside[] = {-1, INT32_MIN, 2048, INT32_MAX};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) hs__cpus_add(&cpus, added[i]);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) hs__cpus_add(&cpus, outside[i]);
    CHECK(hs__cpus_count(&cpus) == 5);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) CHECK(hs__cpus_have(&cpus, added[i]));
    free(cpus.set);
}

#if defined(HS_TEST_SCARCE)

/* A simulated system with so many cpus. Its threads may run on the first and the last one. error:
 * returned instead of a mask. cpus = 0: the real system. */
static struct {
    int32_t cpus, error, asked, confined;
} other;

int __real_pthread_getaffinity_np(pthread_t, size_t, cpu_set_t *);
int __real_pthread_setaffinity_np(pthread_t, size_t, const cpu_set_t *);

int __wrap_pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
    if (!other.cpus) return __real_pthread_getaffinity_np(thread, bytes, set);
    other.asked++;
    if (other.error || 8 * bytes < (size_t)other.cpus) return other.error ? other.error : EINVAL;
    memset(set, 0, bytes);
    CPU_SET_S(0, bytes, set);
    CPU_SET_S((size_t)other.cpus - 1, bytes, set);
    return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
    if (!other.cpus) return __real_pthread_setaffinity_np(thread, bytes, set);
    const int32_t last = other.cpus - 1;
    other.confined =
        CPU_COUNT_S(bytes, set) == 1 && CPU_ISSET_S((size_t)last, bytes, set) ? last : -1;
    return 0;
}

static void of_other_machines(void)
{
    const int32_t counts[] = {1, 2, 1023, 1024, 1025, 2048, 4097, 65535, 65536, 1 << 20};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        hs__cpus found;
        other.cpus = counts[i];
        if (!CHECK(hs__cpus_of(pthread_self(), &found))) continue;
        CHECK(hs__cpus_have(&found, 0) && hs__cpus_have(&found, counts[i] - 1) &&
              hs__cpus_end(&found) >= counts[i]);
        CHECK(!hs__cpus_have(&found, counts[i]) && !hs__cpus_have(&found, -1) &&
              !hs__cpus_have(&found, INT32_MAX));
        CHECK(CPU_COUNT_S(found.bytes, found.set) == (counts[i] == 1 ? 1 : 2));
        CHECK(hs__pin(pthread_self(), counts[i] - 1) && other.confined == counts[i] - 1);
        CHECK(hs__cpus_reread(pthread_self(), &found) && hs__cpus_have(&found, counts[i] - 1) &&
              hs_cpus_stamp());
        other.cpus = 2 * counts[i]; /* more cpus than the set has room for */
        if (other.cpus <= 1 << 20)
            CHECK(hs__cpus_reread(pthread_self(), &found) && hs__cpus_have(&found, other.cpus - 1));
        free(found.set);
    }
    other.cpus = 0;
}

/* Masks that are larger than any set that is tried, and errors that a larger set does not avoid. */
static void refused(void)
{
    hs__cpus found = {.bytes = 1};
    other.cpus = (1 << 20) + 1;
    CHECK(!hs__cpus_of(pthread_self(), &found) && !found.set);
    other.error = ESRCH;
    other.asked = 0;
    CHECK(!hs__cpus_of(pthread_self(), &found) && !found.set && other.asked == 1 &&
          !hs_cpus_stamp());
    CHECK(!hs__cpus_reread(pthread_self(), &found) && !found.set);
    other.error = other.cpus = 0;
}

static void scarce(void)
{
    enum { GROWTHS = 7 }; /* sets that are tried, of 1024 to 65536 cpus */
    hs__cpus found;
    other.cpus = 65536;
    for (int k = 0; k < GROWTHS; k++) {
        scarce_left = k;
        CHECK(!hs__cpus_of(pthread_self(), &found) && !found.set);
    }
    scarce_left = GROWTHS;
    CHECK(hs__cpus_of(pthread_self(), &found));
    free(found.set);
    scarce_left = 0;
    other.confined = 0;
    CHECK(!hs__pin(pthread_self(), 65535) && !other.confined); /* unchanged */
    scarce_left = -1;
    other.cpus = 0;
}

#else
static void of_other_machines(void) {}
static void refused(void) {}
static void scarce(void) {}
#endif

int main(void)
{
    of_this_machine();
    pinned_and_free_again();
    looked_at_again();
    cpus_are_added();
    of_other_machines();
    refused();
    scarce();
    return check_result();
}

#else

int main(void)
{
    hs__cpus cpus;
    CHECK(!hs__cpus_of(pthread_self(), &cpus) && !cpus.set && !hs__cpus_end(&cpus) &&
          !hs__pin(pthread_self(), 0));
    CHECK(!hs__cpus_reread(pthread_self(), &cpus) && hs__cpus_same(&cpus, &cpus) &&
          !hs__cpus_count(&cpus) && !hs_cpus_stamp());
    hs__cpus_add(&cpus, 0);
    return check_result();
}

#endif
