/* Places of workers within an affinity mask: the named ones, or one cpu of each core. Their sites,
 * where not all of them get a worker. */
#define _GNU_SOURCE
#include "blas/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/settings.h"

/* Adds the siblings of a cpu to a set: the cpus of the same core. Returns 0 if the system does not
 * tell. */
static int add_siblings(int cpu, hs__cpus *siblings)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    int from, to;
    while (fscanf(file, "%d", &from) == 1) {
        to = from;
        int mark = fgetc(file);
        if (mark == '-') mark = fscanf(file, "%d", &to) == 1 ? fgetc(file) : EOF;
        if (to >= hs__cpus_end(siblings)) to = hs__cpus_end(siblings) - 1;
        for (int other = from; other <= to; other++) hs__cpus_add(siblings, other);
        if (mark != ',') break;
    }
    fclose(file);
    return 1;
}

/* Finds the first cpu of each core of the mask: one without a sibling among the cpus before it. */
static void find_cores(const hs__cpus *mask, hs__places *found)
{
    hs__cpus seen;
    if (!hs__cpus_open(&seen, hs__cpus_end(mask))) return;
    for (int32_t cpu = 0; cpu < hs__cpus_end(mask) && found->count < HS__MOST_WORKERS; cpu++) {
        if (!hs__cpus_have(mask, cpu) || hs__cpus_have(&seen, cpu)) continue;
        add_siblings(cpu, &seen);
        found->cores[found->count++] = cpu;
    }
    free(seen.set);
}

void hs__places_within(const hs__cpus *mask, hs__places *found)
{
    const hs__places *named = &hs__blas_settings.named;
    found->count = found->has_speeds = found->domains = 0;
    for (int32_t i = 0; mask->set && i < named->count; i++) {
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

/* ---- sites ----------------------------------------------------------------------------------- */

static int32_t least(int32_t one, int32_t other) { return one < other ? one : other; }

/* Finds the cpus of a domain within the mask: all cpus of its cores. */
static hs_status find_cpus(const hs__places *places, int32_t domain, const hs__cpus *mask,
                           hs__cpus *cpus, int32_t *cores)
{
    if (!hs__cpus_open(cpus, hs__cpus_end(mask))) return HS_ERROR_MEMORY;
    *cores = 0;
    for (int32_t i = 0; i < places->count; i++) {
        if (places->domains && places->domain_of[i] != domain) continue;
        hs__cpus_add(cpus, places->cores[i]);
        add_siblings(places->cores[i], cpus);
        ++*cores;
    }
    return HS_OK;
}

/* Writes the cpus of a set that are in the mask, too, but not in `listed`, and adds them there.
 * Returns how many they are. */
static int32_t list_cpus(const hs__cpus *cpus, const hs__cpus *mask, hs__cpus *listed,
                         int32_t *list)
{
    int32_t count = 0;
    for (int32_t cpu = 0; cpu < hs__cpus_end(cpus); cpu++) {
        if (!hs__cpus_have(cpus, cpu) || !hs__cpus_have(mask, cpu)) continue;
        if (hs__cpus_have(listed, cpu)) continue;
        hs__cpus_add(listed, cpu);
        list[count++] = cpu;
    }
    return count;
}

static int is_same_domain(const hs_domain *one, const hs_domain *other)
{
    return one->kernel == other->kernel && !memcmp(one->depth, other->depth, sizeof one->depth) &&
           !memcmp(one->rows, other->rows, sizeof one->rows) &&
           !memcmp(one->cols, other->cols, sizeof one->cols);
}

/* Domains are of the same kind if they have the same kernel and blocks. The first ones are the
 * fastest. */
static int32_t kind_of(int32_t domain)
{
    for (int32_t d = 0; d < domain; d++)
        if (is_same_domain(&hs__blas_settings.domain[d], &hs__blas_settings.domain[domain]))
            return d;
    return domain;
}

void hs__free_sites(hs__place_sites *sites)
{
    free(sites->cpus);
    sites->cpus = NULL;
}

hs_status hs__find_sites(const hs__places *places, const hs__cpus *mask, hs__place_sites *found)
{
    const int32_t domains = places->domains ? places->domains : 1;
    hs__cpus listed = {0};
    found->count = 0;
    found->cpus = calloc((size_t)hs__cpus_count(mask) + 1, sizeof *found->cpus);
    int32_t *list = found->cpus;
    const int has_memory = list && hs__cpus_open(&listed, hs__cpus_end(mask));
    hs_status status = has_memory ? HS_OK : HS_ERROR_MEMORY;
    for (int32_t d = 0; d < domains && !status; d++) {
        hs__cpus cpus;
        int32_t cores;
        status = find_cpus(places, d, mask, &cpus, &cores);
        if (status) break;
        const int32_t count = list_cpus(&cpus, mask, &listed, list);
        free(cpus.set);
        if (!cores || !count) continue;
        found->site[found->count] = (hs_site){count, list, least(cores, count), kind_of(d)};
        found->domain[found->count++] = d;
        list += count;
    }
    free(listed.set);
    if (!status && !found->count) status = HS_ERROR_VALUE;
    if (status) hs__free_sites(found);
    return status;
}

double hs__mean_speed(const hs__places *places, int32_t domain)
{
    double sum = 0.0;
    int32_t count = 0;
    for (int32_t i = 0; i < places->count; i++) {
        if (places->domains && places->domain_of[i] != domain) continue;
        sum += places->speeds[i];
        count++;
    }
    return count ? sum / count : 1.0;
}

/* ---- domains --------------------------------------------------------------------------------- */

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
