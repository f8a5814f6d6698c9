/* Pools with domains that differ as much as this processor allows. */
#ifndef HETSCHED_TESTS_DOMAINS_H
#define HETSCHED_TESTS_DOMAINS_H

#include <string.h>

#include "check.h"
#include "hetsched.h"

enum { DOMAIN_SETS = 4 };
static const char *const domain_sets[DOMAIN_SETS] = {"plain", "avx2", "avx512", "neon"};

/* Creates a pool of three domains, the second with the kernels of set `second`; worker w is in
 * domain of[w]. The blocks are small, so that there are many. Returns NULL if the processor does
 * not have the set. */
static inline hs_pool *open_domains(int32_t workers, const int32_t *of, const char *second)
{
    const hs_domain domains[3] = {
        {.depth = {40, 24}, .rows = {48, 48}, .cols = {64, 32}},
        {.kernel = second, .rows = {8, 8}, .cols = {200, 100}},
        {.kernel = "plain", .depth = {16, 32}},
    };
    hs_pool *pool = NULL;
    const hs_status status = hs_pool_create_domains(workers, NULL, 3, domains, of, &pool);
    if (status == HS_ERROR_UNSUPPORTED && strcmp(second, "plain") != 0) return NULL;
    CHECK(status == HS_OK);
    return pool;
}

#endif
