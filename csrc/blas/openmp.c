/* Finds the OpenMP runtimes among the loaded libraries and asks them. */
#define _GNU_SOURCE
#include "blas/openmp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blas/entry.h"

/* Stores the pointer that dlsym returns in a pointer to a function. */
static void *find_function(void *handle, const char *name, void *function, size_t size)
{
    void *found = dlsym(handle, name);
    memcpy(function, &found, size);
    return found;
}

static int note_runtime(void *handle, void *context)
{
    hs__openmp *known = context;
    hs__runtime new;
    void *function =
        find_function(handle, "omp_in_parallel", &new.in_parallel, sizeof new.in_parallel);
    int seen = !function || known->count == HS__MOST_RUNTIMES;
    for (int i = 0; i < known->count; i++)
        seen = seen || known->runtime[i].in_parallel == new.in_parallel;
    if (seen) return 0;
    find_function(handle, "omp_get_proc_bind", &new.proc_bind, sizeof new.proc_bind);
    find_function(handle, "omp_get_num_places", &new.num_places, sizeof new.num_places);
    find_function(handle, "omp_get_place_num_procs", &new.place_num_procs,
                  sizeof new.place_num_procs);
    find_function(handle, "omp_get_place_proc_ids", &new.place_proc_ids, sizeof new.place_proc_ids);
    hs__keep_loaded(function);
    known->runtime[known->count++] = new;
    return 0;
}

static void find_runtimes(hs__openmp *known)
{
    const unsigned long long loads = hs__load_count();
    if (loads == known->loads) return;
    hs__each_object(note_runtime, known);
    known->loads = loads;
}

int hs__has_openmp(hs__openmp *known)
{
    find_runtimes(known);
    return known->count > 0;
}

int hs__is_in_parallel(hs__openmp *known)
{
    find_runtimes(known);
    for (int i = 0; i < known->count; i++)
        if (known->runtime[i].in_parallel()) return 1;
    return 0;
}

/* Returns a place as a set as large as the mask; no set if there is no memory. */
static hs__cpus find_place(const hs__runtime *runtime, int place, size_t bytes)
{
    const int count = runtime->place_num_procs(place);
    int *ids = count > 0 ? malloc((size_t)count * sizeof *ids) : NULL;
    hs__cpus found = {ids ? calloc(1, bytes) : NULL, bytes};
    if (found.set) {
        runtime->place_proc_ids(place, ids);
        for (int i = 0; i < count; i++) hs__cpus_add(&found, ids[i]);
    }
    free(ids);
    return found;
}

/* Returns whether the mask is one place of the runtime. If it is, the mask becomes the union of all
 * its places. */
static int widen_mask(const hs__runtime *runtime, const hs__cpus *start, hs__cpus *mask)
{
    const int places = runtime->proc_bind() ? runtime->num_places() : 0;
    hs__cpus all = {places > 1 ? calloc(1, mask->bytes) : NULL, mask->bytes};
    int bound = 0;
    for (int i = 0; all.set && i < places; i++) {
        hs__cpus place = find_place(runtime, i, mask->bytes);
        if (!place.set) continue;
        bound = bound || hs__cpus_same(&place, mask);
        CPU_OR_S(all.bytes, all.set, all.set, place.set);
        free(place.set);
    }
    if (bound && start->bytes == all.bytes) CPU_AND_S(all.bytes, all.set, all.set, start->set);
    if (bound && hs__cpus_count(&all)) memcpy(mask->set, all.set, mask->bytes);
    free(all.set);
    return bound;
}

static void look_at_places(const hs__openmp *known, const hs__cpus *start, hs__cpus *mask)
{
    for (int i = 0; i < known->count; i++) {
        const hs__runtime *runtime = &known->runtime[i];
        if (!runtime->proc_bind || !runtime->num_places || !runtime->place_num_procs ||
            !runtime->place_proc_ids)
            continue;
        if (widen_mask(runtime, start, mask)) return;
    }
}

void hs__unbind(hs__openmp *known, const hs__cpus *start, hs__cpus *mask)
{
    if (!mask->set || hs__cpus_same(mask, start)) return;
    find_runtimes(known);
    hs__cpus before, after;
    if (known->count && hs__cpus_of(pthread_self(), &before)) {
        look_at_places(known, start, mask);
        if (hs__cpus_of(pthread_self(), &after) && !hs__cpus_same(&after, &before))
            hs__confine(pthread_self(), &before);
        free(after.set);
        free(before.set);
    }
}
