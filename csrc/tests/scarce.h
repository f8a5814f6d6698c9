/* Allocations that fail on demand: the linker's --wrap sends those of the engine here. Elsewhere nothing fails. */
#ifndef HETSCHED_TESTS_SCARCE_H
#define HETSCHED_TESTS_SCARCE_H

#include <stdlib.h>

#include "check.h"
#include "hetsched.h"

static long scarce_left = -1; /* allocations that still succeed; -1: all */

#ifdef HS_TEST_SCARCE
static int scarce_fails(void) { return scarce_left >= 0 && scarce_left-- == 0; }

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t size) { return scarce_fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return scarce_fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return scarce_fails() ? NULL : __real_realloc(old, size); }
#endif

/* Fails the first, the second, ... allocation of a call until it succeeds: always HS_ERROR_MEMORY, and `untouched` holds. */
#define CHECK_SCARCE(call, untouched)                                       \
    do {                                                                    \
        hs_status scarce_status = HS_ERROR_MEMORY;                          \
        for (long scarce_k = 0; scarce_status != HS_OK; scarce_k++) {       \
            scarce_left = scarce_k;                                         \
            scarce_status = (call);                                         \
            scarce_left = -1;                                               \
            if (scarce_status == HS_OK) break;                              \
            if (!CHECK(scarce_status == HS_ERROR_MEMORY)) break;            \
            if (!CHECK(untouched)) break;                                   \
        }                                                                   \
    } while (0)

#endif
