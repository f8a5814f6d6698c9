/* BLIS's gemm micro-kernels, taken from its context for this processor (BLIS, docs/KernelsHowTo.md;
 * 0.9 or later). */
#define _GNU_SOURCE
#include "kernel/kernel.h"

#ifndef HS_BLIS_HEADER

hs_status hs__kernel_blis(hs__kernel *kernel)
{
    (void)kernel;
    return HS_ERROR_UNSUPPORTED;
}

#else

/* blis.h or, for Debian's 64-bit flavours, blis64.h */
#include HS_BLIS_HEADER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
#include <unistd.h>
#endif

/* the header has it from 1.0 on */
#ifndef BLIS_VERSION_STRING
#define BLIS_VERSION_STRING "0.9.0"
#define bli_cntx_get_ukr_dt bli_cntx_get_l3_nat_ukr_dt
#define bli_cntx_ukr_prefers_rows_dt bli_cntx_l3_nat_ukr_prefers_rows_dt
#endif

typedef void micro_kernel(dim_t, dim_t, dim_t, const void *, const void *, const void *,
                          const void *, void *, inc_t, inc_t, auxinfo_t *, const cntx_t *);

/* Set once by hs__kernel_blis, before any product. */
static micro_kernel *functions[2];
static cntx_t *context;

#define DEFINE_MICRO_KERNEL(NAME, TYPE)                                                         \
    static void NAME(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,         \
                     const void *b, const void *beta, void *c, int64_t row_stride,              \
                     int64_t col_stride, const void *a_next, const void *b_next)                \
    {                                                                                           \
        auxinfo_t next = {0};                                                                   \
        bli_auxinfo_set_next_ab((void *)a_next, (void *)b_next, &next);                         \
        functions[TYPE](m, n, k, alpha, a, b, beta, c, row_stride, col_stride, &next, context); \
    }

DEFINE_MICRO_KERNEL(multiply_float, 0)
DEFINE_MICRO_KERNEL(multiply_double, 1)

static int major_version(const char *version)
{
    return atoi(version[0] == 'v' ? version + 1 : version);
}

/* Returns the kernel set to request, because BLIS 0.9 recognises processors only by model or name;
 * NULL if there is nothing better. */
static const char *better_set(int *number)
{
    hs__cpu cpu = hs__cpu_detect();
    (void)cpu;
#ifdef BLIS_CONFIG_SKX
    if (cpu.avx512) {
        *number = BLIS_ARCH_SKX;
        return "skx";
    }
#endif
#ifdef BLIS_CONFIG_ZEN
    if (cpu.avx2_fma && cpu.amd) {
        *number = BLIS_ARCH_ZEN;
        return "zen";
    }
#endif
#ifdef BLIS_CONFIG_HASWELL
    if (cpu.avx2_fma) {
        *number = BLIS_ARCH_HASWELL;
        return "haswell";
    }
#endif
    return NULL;
}

/* Calls bli_init with `variable` ("NAME=value") in the environment. BLIS reads the kernel set from
 * nowhere else. setenv could move or free the array while getenv of another thread reads it. So the
 * environment is replaced by a copy during the call, and the copy is never freed, as another thread
 * may still read it. A variable that another thread sets meanwhile is lost, unless setenv makes a
 * new array from the copy: then that array stays. */
static hs_status initialise_with(char *variable)
{
    char **const before = environ;
    size_t count = 0;
    while (before && before[count]) count++;
    /* static, so that leak detectors can reach it */
    static char **copy;
    if (!(copy = malloc((count + 2) * sizeof *copy))) return HS_ERROR_MEMORY;
    if (count) memcpy(copy, before, count * sizeof *copy);
    copy[count] = variable;
    copy[count + 1] = NULL;
    __atomic_store_n(&environ, copy, __ATOMIC_RELEASE);
    bli_init();
    char **expected = copy;
    __atomic_compare_exchange_n(&environ, &expected, before, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return HS_OK;
}

static hs_status initialise_blis(hs_kernel_info *info)
{
    static char variable[32]; /* never freed, like the copy */
    int number = -1;
    int numbered = major_version(info->version) < 2; /* before 2.0 a name is silently read as 0 */
    const char *users = getenv("BLIS_ARCH_TYPE");
    const char *better = users ? NULL : better_set(&number);
    if (better) {
        if (numbered) snprintf(variable, sizeof variable, "BLIS_ARCH_TYPE=%d", number);
        else snprintf(variable, sizeof variable, "BLIS_ARCH_TYPE=%s", better);
        if (initialise_with(variable)) {
            snprintf(info->refused, sizeof info->refused, "no memory to tell BLIS the processor");
            return HS_ERROR_UNSUPPORTED;
        }
    } else {
        bli_init();
    }

    snprintf(info->set, sizeof info->set, "%s", bli_arch_string(bli_arch_query_id()));
    if (users) snprintf(info->reason, sizeof info->reason, "BLIS_ARCH_TYPE=%.40s is set", users);
    else if (better)
        snprintf(info->reason, sizeof info->reason, "cpuid shows %s",
                 !strcmp(better, "skx") ? "AVX-512" : "AVX2 and FMA");
    else snprintf(info->reason, sizeof info->reason, "chosen by BLIS");
    return HS_OK;
}

hs_status hs__kernel_blis(hs__kernel *kernel)
{
    *kernel = (hs__kernel){0};
    hs_kernel_info *info = &kernel->info;
    snprintf(info->name, sizeof info->name, "blis");
    snprintf(info->version, sizeof info->version, "%s", bli_info_get_version_str());
    /* Two releases may have the same file name but different structures. */
    if (strcmp(info->version, BLIS_VERSION_STRING)) {
        snprintf(info->refused, sizeof info->refused,
                 "BLIS %.40s was loaded, the build was for %.40s", info->version,
                 BLIS_VERSION_STRING);
        return HS_ERROR_UNSUPPORTED;
    }
#ifndef BLIS_CONFIG_SKX
    /* hetsched's own kernels are nearly twice as fast as BLIS's next best set */
    if (hs__cpu_detect().avx512 && !getenv("BLIS_ARCH_TYPE")) {
        snprintf(info->refused, sizeof info->refused, "BLIS %.40s was built without AVX-512",
                 info->version);
        return HS_ERROR_UNSUPPORTED;
    }
#endif
    if (initialise_blis(info)) return HS_ERROR_UNSUPPORTED;

    context = (cntx_t *)bli_gks_query_cntx();
    for (int type = 0; type < 2; type++) {
        const num_t dt = type ? BLIS_DOUBLE : BLIS_FLOAT;
        hs__blocking *real = &kernel->real[type];
        functions[type] = (micro_kernel *)bli_cntx_get_ukr_dt(dt, BLIS_GEMM_UKR, context);
        real->prefers_rows = bli_cntx_ukr_prefers_rows_dt(dt, BLIS_GEMM_UKR, context);
        real->run = type ? multiply_double : multiply_float;
        real->tile_rows = (int32_t)bli_cntx_get_blksz_def_dt(dt, BLIS_MR, context);
        real->tile_cols = (int32_t)bli_cntx_get_blksz_def_dt(dt, BLIS_NR, context);
        /* Refuses panels with gaps or with each element several times, as on POWER9; and tiles that
         * complex elements, two reals each, do not fill. */
        const int32_t fast = real->prefers_rows ? real->tile_cols : real->tile_rows;
        if (!functions[type] || fast % 2 ||
            real->tile_rows != bli_cntx_get_blksz_max_dt(dt, BLIS_MR, context) ||
            real->tile_cols != bli_cntx_get_blksz_max_dt(dt, BLIS_NR, context)) {
            snprintf(info->refused, sizeof info->refused,
                     "the panels of BLIS's kernel set %s are of a special form", info->set);
            return HS_ERROR_UNSUPPORTED;
        }
        real->depth = (int32_t)bli_cntx_get_blksz_def_dt(dt, BLIS_KC, context);
        real->rows = (int32_t)bli_cntx_get_blksz_def_dt(dt, BLIS_MC, context);
        real->cols = HS__ROW_BYTES / (type ? 8 : 4);
    }
    return HS_OK;
}

#endif
