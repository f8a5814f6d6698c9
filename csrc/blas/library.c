/* Finds the functions of a library behind for its number of threads. */
#define _GNU_SOURCE
#include "blas/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static _Atomic(hs__library *) libraries; /* newest first */

/* Stores the pointer that dlsym returns, for the name prefix + name + suffix, in a pointer to a
 * function. Returns whether there is one. */
static int find_function(void *handle, const char *prefix, const char *name, const char *suffix,
                         void *function)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s%s", prefix, name, suffix);
    void *found = dlsym(handle, text);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* OpenBLAS, under the names that its builds give it (Debian, conda, wheels of NumPy and SciPy).
 *
 * If its threads are its own, the setter starts those that are missing. In a forked process all are
 * missing, and small calls would start them for nothing. If one thread calls the setter while
 * another one forks, the child has the count of the new threads but not the threads, and its next
 * call waits for them forever. To set the variable that the getter returns has no such effect.
 *
 * If OpenMP gives it its threads, it uses as many as the runtime gives to the calling
 * thread. */
static int find_openblas(void *handle, hs__library *found)
{
    static const char *const prefixes[] = {"", "scipy_"};
    static const char *const suffixes[] = {"", "64_", "_64"};
    for (int i = 0; i < 6; i++) {
        const char *prefix = prefixes[i / 3];
        const char *suffix = suffixes[i % 3];
        if (!find_function(handle, prefix, "openblas_get_num_threads", suffix, &found->get))
            continue;
        int (*get_parallel)(void);
        enum { SERIAL, OWN_THREADS, OPENMP } parallel = OWN_THREADS;
        if (find_function(handle, prefix, "openblas_get_parallel", suffix, &get_parallel))
            parallel = get_parallel();
        if (parallel == OPENMP) {
            if (find_function(handle, "", "omp_get_max_threads", "", &found->get_omp) &&
                find_function(handle, "", "omp_set_num_threads", "", &found->set_omp))
                found->reach = HS__OMP_THREAD;
        } else if (parallel == OWN_THREADS &&
                   find_function(handle, prefix, "openblas_set_num_threads", suffix, &found->set)) {
            found->reach = HS__PROCESS;
            found->number = dlsym(handle, "blas_cpu_number");
            if (found->number && *found->number != found->get()) found->number = NULL;
        }
        found->is_openblas = 1;
        return 1;
    }
    return 0;
}

/* FlexiBLAS, which tells the library that it has chosen. To an OpenBLAS with OpenMP the number
 * means nothing, and to change it is not safe while another thread calls it. */
static int find_flexiblas(void *handle, hs__library *found)
{
    char name[64] = "";
    int (*get_name)(char *name, size_t most);
    if (!find_function(handle, "flexiblas_", "get_num_threads", "", &found->get)) return 0;
    if (find_function(handle, "flexiblas_", "current_backend", "", &get_name))
        get_name(name, sizeof name);
    if (find_function(handle, "flexiblas_", "set_num_threads", "", &found->set) &&
        !strcasestr(name, "openmp"))
        found->reach = HS__PROCESS;
    return 1;
}

static int find_mkl(void *handle, hs__library *found)
{
    if (!find_function(handle, "MKL_", "Get_Max_Threads", "", &found->get)) return 0;
    if (find_function(handle, "MKL_", "Set_Num_Threads_Local", "", &found->set))
        found->reach = HS__THREAD;
    return 1;
}

/* BLIS's getter returns 64 bits, of which the int is the lower half; -1: no number was set. */
static int find_blis(void *handle, hs__library *found)
{
    if (!find_function(handle, "bli_thread_", "get_num_threads", "", &found->get)) return 0;
    if (find_function(handle, "bli_thread_", "set_num_threads", "", &found->set))
        found->reach = HS__PROCESS;
    return 1;
}

/* Returns the library with the same getter, added if there is none. */
static hs__library *added(const hs__library *found)
{
    hs__library *new = NULL;
    hs__library *first = atomic_load(&libraries);
    for (;;) {
        for (hs__library *known = first; known; known = known->next) {
            if (known->get != found->get) continue;
            free(new);
            return known;
        }
        if (!new) new = malloc(sizeof *new);
        if (!new) return NULL;
        *new = *found;
        new->next = first;
        if (atomic_compare_exchange_strong(&libraries, &first, new)) return new;
    }
}

hs__library *hs__library_of(void *handle)
{
    static int (*const find[])(void *, hs__library *) = {find_flexiblas, find_openblas, find_mkl,
                                                         find_blis};
    hs__library found = {.reach = HS__UNTOLD};
    for (size_t i = 0; handle && i < sizeof find / sizeof *find; i++)
        if (find[i](handle, &found)) return added(&found);
    return NULL;
}

void hs__each_library(void (*visit)(hs__library *library))
{
    for (hs__library *known = atomic_load(&libraries); known; known = known->next) visit(known);
}
