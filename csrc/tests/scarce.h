/* Allocations that fail on demand: the linker's --wrap redirects the engine's allocations to this
 * file. In programs without --wrap no allocation fails. */
#ifndef HETSCHED_TESTS_SCARCE_H
#define HETSCHED_TESTS_SCARCE_H

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "hetsched.h"

/* number of allocations that still succeed; -1: all. Atomic, because workers allocate, too. */
static long scarce_left = -1;
/* 1: after the first failure all later allocations fail as well; 0: only one allocation fails */
__attribute__((unused)) static int scarce_lasts;
static size_t scarce_bytes; /* atomic: bytes requested so far */

#ifdef HS_TEST_SCARCE
static int scarce_fails(size_t bytes)
{
    __atomic_add_fetch(&scarce_bytes, bytes, __ATOMIC_RELAXED);
    long left = __atomic_load_n(&scarce_left, __ATOMIC_RELAXED);
    while (left > 0 || (left == 0 && !scarce_lasts))
        if (__atomic_compare_exchange_n(&scarce_left, &left, left - 1, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            break;
    return left == 0;
}

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__wrap_malloc(size_t size) { return scarce_fails(size) ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size)
{
    return scarce_fails(count * size) ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size)
{
    return scarce_fails(size) ? NULL : __real_realloc(old, size);
}
int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    return scarce_fails(size) ? ENOMEM : __real_posix_memalign(out, alignment, size);
}
/* The least number of calls until one succeeds: a loop in which no allocation fails checks
 * nothing. */
enum { SCARCE_FIRST = 1 };
#else
enum { SCARCE_FIRST = 0 };
#endif

/* Returns the bytes requested since the last call. */
static inline size_t scarce_asked(void)
{
    return __atomic_exchange_n(&scarce_bytes, 0, __ATOMIC_RELAXED);
}

/* Repeats a call until it succeeds, with its first, second, ... allocation failing, once together
 * with all later allocations and once alone. If few inputs are enough, each allocation fails once:
 * every second one alone. Each failed call must return HS_ERROR_MEMORY, with `untouched` true. */
#define CHECK_SCARCE(call, untouched)                            \
    do {                                                         \
        hs_status scarce_status = HS_ERROR_MEMORY;               \
        long scarce_k = 0;                                       \
        for (; scarce_status != HS_OK; scarce_k++) {             \
            scarce_lasts = scarce_k % 2 == 0;                    \
            scarce_left = scarce_k / CHECK_MANY(2, 1);           \
            scarce_status = (call);                              \
            scarce_left = -1;                                    \
            if (scarce_status == HS_OK) break;                   \
            if (!CHECK(scarce_status == HS_ERROR_MEMORY)) break; \
            if (!CHECK(untouched)) break;                        \
        }                                                        \
        CHECK(scarce_k >= SCARCE_FIRST);                         \
    } while (0)

/* Does the same for the whole life of a pool of p workers and a run on it. The pool is a new one
 * each time, because a pool keeps what it has allocated. `run` returns its status and checks itself
 * that the data are unchanged, or correct. With enough memory it must succeed on a pool on which it
 * has just failed. */
static inline hs_status scarce_life(int32_t p, hs_status (*run)(hs_pool *pool, void *context),
                                    void *context)
{
    hs_pool *pool = NULL;
    hs_status status = hs_pool_create(p, NULL, &pool);
    if (status) {
        CHECK(pool == NULL);
        return status;
    }
    status = run(pool, context);
    if (status == HS_ERROR_MEMORY) {
        scarce_left = -1;
        CHECK(run(pool, context) == HS_OK);
    }
    hs_pool_destroy(pool);
    return status;
}

#endif
