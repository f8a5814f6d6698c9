/* The library behind: looked for once for each name. A program finds its BLAS in the global scope, after us; what Python's wheels bring
 * is in no scope but their own, so all that is loaded is looked through. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/entry.h"

static const char here; /* in this library */

/* The object that has an address, or NULL. */
static void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static int is_ours(const void *function) { return object_of(function) == object_of(&here); }

void hs__keep(const void *address)
{
    Dl_info info;
    void *handle = dladdr(address, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) : NULL;
    if (handle) dlclose(handle);
}

typedef struct {
    char *names; /* one after the other, each with its end */
    size_t bytes;
} objects;

static int note_object(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    objects *all = context;
    if (!object->dlpi_name || !object->dlpi_name[0]) return 0; /* the program */
    const size_t length = strlen(object->dlpi_name) + 1;
    char *more = realloc(all->names, all->bytes + length);
    if (!more) return 1;
    memcpy(more + all->bytes, object->dlpi_name, length);
    all->names = more, all->bytes += length;
    return 0;
}

void hs__each_object(int (*visit)(void *handle, void *context), void *context)
{
    objects all = {NULL, 0};
    dl_iterate_phdr(note_object, &all);
    for (size_t at = 0; at < all.bytes; at += strlen(all.names + at) + 1) {
        void *handle = dlopen(all.names + at, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle) continue;
        const int enough = visit(handle, context);
        dlclose(handle);
        if (enough) break;
    }
    free(all.names);
}

typedef struct {
    const char *name;
    void *found;
} search;

static int look_in(void *handle, void *context)
{
    search *s = context;
    void *function = dlsym(handle, s->name);
    if (!function || is_ours(function)) return 0;
    s->found = function;
    return 1;
}

static void *find(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function && !is_ours(function)) return function;
    search s = {name, NULL};
    hs__each_object(look_in, &s);
    static const char *const usual[] = {"liblapack.so.3", "libblas.so.3", "libopenblas.so.0"};
    for (int i = 0; !s.found && i < 3 && strncmp(name, "scipy_", 6) != 0; i++) {
        void *handle = dlopen(usual[i], RTLD_LAZY | RTLD_LOCAL);
        void *there = handle ? dlsym(handle, name) : NULL;
        if (there && !is_ours(there)) s.found = there; /* the library stays */
    }
    return s.found;
}

/* BLIS counts in 64 bits; -1 is what it says if it was told nothing. */
static int64_t (*_Atomic blis)(void);
static int of_blis(void)
{
    const int64_t threads = atomic_load(&blis)();
    return threads > 0 ? (int)threads : 0;
}

/* What says how many threads the library that has a function is to use. */
static int (*threads_of(void *function))(void)
{
    static const char *const names[] = {"openblas_get_num_threads", "openblas_get_num_threads64_", "scipy_openblas_get_num_threads",
                                        "scipy_openblas_get_num_threads64_", "MKL_Get_Max_Threads", "flexiblas_get_num_threads"};
    Dl_info info;
    if (!dladdr(function, &info) || !info.dli_fname) return NULL;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return NULL;
    void *get = NULL;
    for (size_t i = 0; !get && i < sizeof names / sizeof *names; i++) get = dlsym(handle, names[i]);
    void *own = get ? NULL : dlsym(handle, "bli_thread_get_num_threads");
    dlclose(handle);
    if (own) {
        int64_t (*count)(void);
        memcpy(&count, &own, sizeof count);
        atomic_store(&blis, count);
        return of_blis;
    }
    int (*count)(void);
    memcpy(&count, &get, sizeof count);
    return count;
}

/* A plain name in a library with 64-bit integers, as its file's name says. */
static int is_doubtful(const char *name, void *function)
{
    Dl_info info;
    if (strncmp(name, "scipy_", 6) == 0 || strstr(name, "64_") || !dladdr(function, &info) || !info.dli_fname) return 0;
    const char *file = strrchr(info.dli_fname, '/');
    file = file ? file + 1 : info.dli_fname;
    return strstr(file, "64") != NULL;
}

void *hs__behind(hs__entry *entry)
{
    void *function = atomic_load_explicit(&entry->behind, memory_order_acquire);
    if (__builtin_expect(function != NULL, 1)) return function;
    function = find(entry->name);
    if (!function) {
        fprintf(stderr, "hetsched: symbol lookup error: no BLAS or LAPACK library that is loaded has %s\n", entry->name);
        _exit(127); /* as the loader does */
    }
    hs__keep(function);
    atomic_store(&entry->threads, threads_of(function));
    atomic_store(&entry->doubtful, is_doubtful(entry->name, function));
    atomic_store_explicit(&entry->behind, function, memory_order_release);
    return function;
}
