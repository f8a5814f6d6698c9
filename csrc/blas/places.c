/* Places of workers within an affinity mask: the named ones, or one cpu of each core. */
#define _GNU_SOURCE
#include "blas/places.h"

#include <stdio.h>

#include "blas/settings.h"

/* Returns whether a cpu is the first cpu of its core within the mask; true if the system does not
 * tell. */
static int is_first(int cpu, const hs__cpus *mask)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "re");
    if (!file) return 1;
    int first = 1;
    int from, to;
    while (first && fscanf(file, "%d", &from) == 1) {
        to = from;
        int mark = fgetc(file);
        if (mark == '-') mark = fscanf(file, "%d", &to) == 1 ? fgetc(file) : EOF;
        for (int other = from; other <= to && other < cpu; other++)
            first = first && !hs__cpus_have(mask, other);
        if (mark != ',') break;
    }
    fclose(file);
    return first;
}

static void find_cores(const hs__cpus *mask, hs__places *found)
{
    for (int32_t cpu = 0; cpu < hs__cpus_end(mask) && found->count < hs__blas_settings.most; cpu++)
        if (hs__cpus_have(mask, cpu) && is_first(cpu, mask)) found->cores[found->count++] = cpu;
}

void hs__places_within(const hs__cpus *mask, hs__places *found)
{
    const hs__places *named = &hs__blas_settings.named;
    found->count = found->has_speeds = found->domains = 0;
    for (int32_t i = 0; mask->set && i < named->count && found->count < hs__blas_settings.most;
         i++) {
        if (!hs__cpus_have(mask, named->cores[i])) continue;
        found->cores[found->count] = named->cores[i];
        found->speeds[found->count] = named->speeds[i];
        found->domain_of[found->count] = named->domain_of[i];
        found->count++;
    }
    if (found->count) {
        found->has_speeds = named->has_speeds;
        found->domains = named->domains;
    } else if (mask->set) {
        find_cores(mask, found);
    }
    if (!found->count) found->cores[found->count++] = 0;
}

int32_t hs__domains_of(const hs__places *places, int32_t workers, hs_domain *domain, int32_t *of)
{
    int32_t place[HS__MOST_DOMAINS] = {0};
    /* place: index in `domain` plus one; 0: none yet */
    int32_t count = 0;
    for (int32_t w = 0; w < workers && places->domains; w++) {
        const int32_t d = places->domain_of[w];
        if (!place[d]) {
            domain[count] = hs__blas_settings.domain[d];
            place[d] = ++count;
        }
        of[w] = place[d] - 1;
    }
    return count;
}
