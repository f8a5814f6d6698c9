/* Finds the function behind a name for the object that calls it, and how wide its integers are.
 *
 * The function is the one to which the dynamic loader would have bound the caller without us. The
 * loader searches the global scope first (the program, the libraries that it is linked with, and
 * those opened with RTLD_GLOBAL), then the caller's own scope (the caller and its dependencies). A
 * library that came into the global scope after the caller's own library was loaded is too late.
 * If neither scope has the name, the first of all loaded libraries with that name is taken. This
 * happens for pointers to functions of Python's wheels, and for code that was compiled at run time,
 * which is in no object.
 *
 * The caller is known by its return address. Where a function ends with a jump into ours, that is
 * the address in the function's caller, and the library found may be another one than meant. An
 * entry is therefore marked as guessed unless the caller's own scope has the function.
 *
 * The width is asked of the library: isamax, cblas_isamax and ilaver give another answer for each
 * width. A prefix or suffix of the name tells the width, too. It is not known if the two contradict
 * each other, or if a library with plain names has no such function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/entry.h"
#include "blas/govern.h"
#include "blas/library.h"
#include "blas/loader.h"

/* ---- objects --------------------------------------------------------------------------------- */

static const char here; /* an address in this library */

typedef struct {
    uintptr_t address; /* an address in the wanted object */
    uintptr_t base;
    uintptr_t start;  /* of the segment that contains the address */
    uintptr_t bytes;  /* of that segment */
    const char *path; /* of the file */
    int order;        /* of loading: 0 is the program */
} object;

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    object *found = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || found->address - start >= segment->p_memsz) continue;
        found->base = info->dlpi_addr;
        found->start = start;
        found->bytes = segment->p_memsz;
        found->path = info->dlpi_name;
        return 1;
    }
    found->order++;
    return 0;
}

/* Finds the object that contains an address; 0 if there is none. */
static int find_object(const void *address, object *found)
{
    *found = (object){.address = (uintptr_t)address};
    return dl_iterate_phdr(look_at_object, found);
}

/* Returns a handle of a library, which then stays loaded. NULL for the program, and for a library
 * if its path now leads to another file. */
static void *open_object(const object *library)
{
    struct link_map *map;
    if (!library->path || !library->path[0]) return NULL;
    void *handle = dlopen(library->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!handle) return NULL;
    if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map->l_addr == library->base) return handle;
    dlclose(handle);
    return NULL;
}

/* Returns whether a function is in a drop-in library: in this one, or in a copy from another
 * installation (one `hetsched exec` runs another). A copy is never taken for the library behind:
 * two of them would call each other without end. */
static int is_ours(const void *function)
{
    object its, ours, signs;
    if (!find_object(function, &its) || !find_object(&here, &ours)) return 0;
    if (its.order == ours.order) return 1;
    void *handle = open_object(&its);
    void *sign = handle ? dlsym(handle, "hetsched_blas_get_num_threads") : NULL;
    const int is_copy = sign && find_object(sign, &signs) && signs.order == its.order;
    if (handle) dlclose(handle);
    return is_copy;
}

/* Returns the function, or NULL if it is one of a drop-in library. */
static void *not_ours(void *function) { return function && !is_ours(function) ? function : NULL; }

void hs__keep_loaded(const void *address)
{
    object library;
    hs__enter_loader();
    void *handle = find_object(address, &library) ? open_object(&library) : NULL;
    if (handle) dlclose(handle);
    hs__leave_loader();
}

typedef struct {
    char *names; /* null-terminated, one after the other */
    size_t bytes;
} object_names;

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    object_names *all = context;
    if (!info->dlpi_name || !info->dlpi_name[0]) return 0; /* the program */
    const size_t length = strlen(info->dlpi_name) + 1;
    char *more = realloc(all->names, all->bytes + length);
    if (!more) return 1;
    memcpy(more + all->bytes, info->dlpi_name, length);
    all->names = more;
    all->bytes += length;
    return 0;
}

void hs__each_object(int (*visit)(void *handle, void *context), void *context)
{
    object_names all = {NULL, 0};
    hs__enter_loader();
    dl_iterate_phdr(note_object, &all);
    for (size_t at = 0; at < all.bytes; at += strlen(all.names + at) + 1) {
        void *handle = dlopen(all.names + at, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle) continue;
        const int enough = visit(handle, context);
        dlclose(handle);
        if (enough) break;
    }
    hs__leave_loader();
    free(all.names);
}

static int note_loads(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(unsigned long long *)context = info->dlpi_adds;
    return 1;
}

unsigned long long hs__load_count(void)
{
    unsigned long long loads = 0;
    hs__enter_loader();
    dl_iterate_phdr(note_loads, &loads);
    hs__leave_loader();
    return loads;
}

/* ---- what a library says of itself ----------------------------------------------------------- */

enum { NO_ANSWER = 0, NO_SENSE = -1, ANSWERS = 64 };

/* Each library is asked once, as far as the table has room. */
static struct {
    _Atomic(const void *) function;
    atomic_int bits; /* 0: being asked */
} answers[ANSWERS];

/* Asks isamax. The number of elements is 3 if it is read with 32 bits, and negative if it is read
 * with 64 bits. On a machine that stores the high half first it is 0 and 3. The largest of the
 * three elements is the second one; for no elements the result is 0. */
static int ask_isamax(const void *function)
{
    static const float values[] = {1.0f, 3.0f, 2.0f};
    static const int64_t one = 1;
    const int low_first = *(const unsigned char *)&one;
    const int64_t count = low_first ? 3 - (INT64_C(1) << 32) : 3;
    int64_t (*isamax)(const int64_t *, const float *, const int64_t *);
    memcpy(&isamax, &function, sizeof isamax);
    const int32_t place = (int32_t)isamax(&count, values, &one);
    if (place != 0 && place != 2) return NO_SENSE;
    return (place == 2) == low_first ? 32 : 64;
}

/* The same with the number passed by value, for cblas_isamax, which counts from 0; for no elements
 * the result is 0. On ABIs that leave the upper half unspecified, a function with 32-bit integers
 * does not see the upper half. On other machines functions of C cannot be asked. */
static int ask_cblas_isamax(const void *function)
{
#if defined(__x86_64__) || defined(__aarch64__)
    static const float values[] = {1.0f, 3.0f, 2.0f};
    size_t (*isamax)(int64_t, const float *, int64_t);
    memcpy(&isamax, &function, sizeof isamax);
    const int32_t place = (int32_t)isamax(3 - (INT64_C(1) << 32), values, 1);
    if (place == 1) return 32;
    return place == 0 ? 64 : NO_SENSE;
#else
    (void)function;
    return NO_ANSWER;
#endif
}

/* Asks ilaver, which writes LAPACK's version, three small numbers. With 32-bit integers one half of
 * each stays -1. */
static int ask_ilaver(const void *function)
{
    int64_t version[3] = {-1, -1, -1};
    void (*ilaver)(int64_t *, int64_t *, int64_t *);
    memcpy(&ilaver, &function, sizeof ilaver);
    ilaver(&version[0], &version[1], &version[2]);
    if (version[0] >= 0 && version[0] <= INT16_MAX) return 64;
    int32_t halves[2];
    memcpy(halves, version, sizeof halves);
    return (halves[0] == -1) != (halves[1] == -1) ? 32 : NO_SENSE;
}

/* Asks a library, given its handle and base, by the first of these functions that it has itself, or
 * else by the first that its dependencies have. Returns 32, 64, NO_ANSWER or NO_SENSE. */
static int ask_width(const hs__name *name, void *handle, uintptr_t base)
{
    const char *const names[] = {name->isamax, name->ilaver};
    int (*const questions[])(const void *) = {name->ilaver ? ask_isamax : ask_cblas_isamax,
                                              ask_ilaver};
    for (int i = 0; i < 4; i++) {
        const char *function_name = names[i % 2];
        void *function = function_name ? not_ours(dlsym(handle, function_name)) : NULL;
        object its;
        if (!function || !find_object(function, &its) || (i < 2 && its.base != base)) continue;
        int a = 0;
        for (; a < ANSWERS; a++) {
            const void *free_place = NULL;
            if (atomic_compare_exchange_strong(&answers[a].function, &free_place, function) ||
                free_place == function)
                break;
        }
        int bits = a < ANSWERS ? atomic_load(&answers[a].bits) : 0;
        if (bits) return bits;
        bits = questions[i % 2](function);
        if (a < ANSWERS) atomic_store(&answers[a].bits, bits);
        return bits;
    }
    return NO_ANSWER;
}

/* Returns the width of the integers of a function with that name, 0 if it is not known. handle: of
 * the function's library, or NULL. */
static int width_of(const hs__name *name, void *handle, uintptr_t base)
{
    const int said = handle ? ask_width(name, handle, base) : NO_ANSWER;
    if (said == NO_SENSE) return 0;
    if (!name->bits) return said;
    return said == NO_ANSWER || said == name->bits ? name->bits : 0;
}

/* ---- what a caller is bound to --------------------------------------------------------------- */

typedef struct {
    const hs__name *name;
    void *found;
    int bits;
    int differ;
} name_search;

static int look_in(void *handle, void *context)
{
    name_search *s = context;
    s->found = not_ours(dlsym(handle, s->name->text));
    return s->found != NULL;
}

/* Finds the function in the first of all loaded libraries that has it, else in the usual libraries
 * of a system. */
static void *find_anywhere(const hs__name *name)
{
    name_search s = {.name = name};
    hs__each_object(look_in, &s);
    static const char *const usual[] = {"liblapack.so.3", "libblas.so.3", "libopenblas.so.0"};
    for (int i = 0; !s.found && i < 3 && strncmp(name->text, "scipy_", 6) != 0; i++) {
        void *handle = dlopen(usual[i], RTLD_LAZY | RTLD_LOCAL); /* stays loaded */
        if (handle) s.found = not_ours(dlsym(handle, name->text));
    }
    return s.found;
}

/* Returns whether the loader binds callers to this library's function of that name. It does not if
 * this library was loaded as a dependency of a library that was itself opened while the program
 * ran. */
static int is_global(const hs__name *name)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    void *function = program ? dlsym(program, name->text) : NULL;
    return function && is_ours(function);
}

static int is_loaded_before(const void *function, const void *other)
{
    object its, others;
    return find_object(function, &its) && find_object(other, &others) && its.order < others.order;
}

/* Returns the function behind a name for a caller. handle: of the caller; NULL for the program and
 * for callers that are in no object. */
static void *find_behind(const hs__name *name, void *handle, int is_program, int *guessed)
{
    void *own = handle ? not_ours(dlsym(handle, name->text)) : NULL;
    void *next = not_ours(dlsym(RTLD_NEXT, name->text));
    *guessed = !own && !(is_program && next);
    if (own && next && is_global(name) && is_loaded_before(own, next)) return own;
    if (next) return next;
    return own ? own : find_anywhere(name);
}

static void fill_entry(hs__entry *entry, const hs__name *name, void *handle, int is_program)
{
    int guessed;
    void *function = find_behind(name, handle, is_program, &guessed);
    if (!function) {
        fprintf(stderr,
                "hetsched: symbol lookup error: no BLAS or LAPACK library that is loaded has %s\n",
                name->text);
        _exit(127); /* as the loader does */
    }
    object library;
    void *its = find_object(function, &library) ? open_object(&library) : NULL;
    hs__library *asked = hs__library_of(its);
    *entry = (hs__entry){.behind = function,
                         .bits = width_of(name, its, library.base),
                         .routine = name->routine,
                         .dtype = name->dtype,
                         .guessed = guessed,
                         .library = asked,
                         .governed = hs__least_governed(asked, name->routine),
                         .name = name};
}

/* Makes or finds the entry of a name for the place of a call, and notes in its slot whether the
 * entry is the one for places elsewhere. */
static hs__entry *look_for_entry(hs__name *name, const void *site, atomic_uintptr_t *slot)
{
    static _Thread_local hs__entry without_memory;
    /* Entries are found by address. So the caller must stay loaded, because otherwise another
     * object could be loaded to the same addresses later. */
    object caller;
    const int known = find_object((const char *)site - 1, &caller);
    const int is_program = known && caller.order == 0;
    void *handle = known && !is_program ? open_object(&caller) : NULL;
    const int kept = is_program || handle;
    hs__entry *entry = kept ? NULL : atomic_load(&name->elsewhere);
    if (!entry) {
        entry = malloc(sizeof *entry);
        if (!entry) {
            fill_entry(&without_memory, name, handle, is_program);
            return &without_memory;
        }
        fill_entry(entry, name, handle, is_program);
        if (kept) {
            entry->start = caller.start + 1; /* a return address follows the call */
            entry->bytes = caller.bytes;
            entry->next = atomic_load(&name->entries);
            while (!atomic_compare_exchange_weak(&name->entries, &entry->next, entry)) {}
            return entry;
        }
        atomic_store(&name->elsewhere, entry);
    }
    atomic_store(slot, (uintptr_t)site);
    return entry;
}

hs__entry *hs__find_entry(hs__name *name, const void *site)
{
    atomic_uintptr_t *slot = &name->sites[((uintptr_t)site >> 4) % HS__SITES];
    if (atomic_load(slot) == (uintptr_t)site) return atomic_load(&name->elsewhere);
    hs__enter_loader();
    hs__entry *entry = look_for_entry(name, site, slot);
    hs__leave_loader();
    return entry;
}

/* ---- certainty ------------------------------------------------------------------------------- */

static int look_for_difference(void *handle, void *context)
{
    name_search *s = context;
    void *function = not_ours(dlsym(handle, s->name->text));
    object library;
    if (!function || !find_object(function, &library)) return 0;
    void *its = open_object(&library);
    s->differ = width_of(s->name, its, library.base) != s->bits;
    if (its) dlclose(its);
    return s->differ;
}

int hs__is_certain(hs__entry *entry)
{
    if (!entry->bits) return 0;
    if (!entry->guessed || entry->name->bits) return 1;

    /* The call may be meant for any library with this name. */
    const unsigned long long loads = hs__load_count();
    if (atomic_load(&entry->agreed) == loads) return 1;
    name_search s = {.name = entry->name, .bits = entry->bits};
    hs__each_object(look_for_difference, &s);
    if (!s.differ) atomic_store(&entry->agreed, loads);
    return !s.differ;
}
