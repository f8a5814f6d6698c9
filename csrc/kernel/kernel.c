#include "kernel/kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Process-wide because what it describes is: BLIS initialises itself once per process. */
static struct {
    pthread_mutex_t lock;
    hs__kernel blis, fortran, c;
    hs_status blis_status, fortran_status;
    int ready;
    const hs__kernel *current;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .fortran_status = HS_ERROR_UNSUPPORTED};

hs_status hs_kernel_init(void)
{
    if (__atomic_load_n(&state.ready, __ATOMIC_ACQUIRE)) return HS_OK; /* no lock: a child may be forked at any time */
    pthread_mutex_lock(&state.lock);
    if (!state.ready) {
        int users_choice = getenv("BLIS_ARCH_TYPE") != NULL; /* before BLIS reads it */
        state.blis_status = hs__kernel_blis(&state.blis);
        hs__kernel_c(&state.c);
        if (!state.blis_status && !users_choice && hs__cpu_detect().avx512) state.blis.real[0] = state.c.real[0];
        __atomic_store_n(&state.current, state.blis_status ? &state.c : &state.blis, __ATOMIC_RELEASE);
        __atomic_store_n(&state.ready, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&state.lock);
    return HS_OK;
}

hs_status hs_kernel_select(const char *name)
{
    if (!name) return HS_ERROR_VALUE;
    hs_kernel_init();
    const hs__kernel *chosen = NULL;
    if (!strcmp(name, "blis") && !state.blis_status) chosen = &state.blis;
    else if (!strcmp(name, "openblas") && !state.fortran_status) chosen = &state.fortran;
    else if (!strcmp(name, "c")) chosen = &state.c;
    if (!chosen) return HS_ERROR_UNSUPPORTED;
    __atomic_store_n(&state.current, chosen, __ATOMIC_RELEASE);
    return HS_OK;
}

hs_status hs_kernel_use_fortran(void *sgemm, void *dgemm, int32_t integer_bytes)
{
    if (!sgemm || !dgemm || (integer_bytes != 4 && integer_bytes != 8)) return HS_ERROR_VALUE;
    hs_kernel_init();
    pthread_mutex_lock(&state.lock);
    state.fortran_status = hs__kernel_fortran(&state.fortran, sgemm, dgemm, integer_bytes);
    pthread_mutex_unlock(&state.lock);
    return state.fortran_status;
}

const hs__kernel *hs__kernel_current(void) { return __atomic_load_n(&state.current, __ATOMIC_ACQUIRE); }

hs_status hs_kernel_describe(hs_kernel_info *info)
{
    if (!info) return HS_ERROR_VALUE;
    hs_kernel_init();
    const hs__kernel *kernel = hs__kernel_current();
    *info = kernel->info;
    memcpy(info->refused, state.blis.info.refused, sizeof info->refused);
    for (int type = 0; type < 2; type++) {
        const hs__blocking *real = &kernel->real[type];
        snprintf(info->source[type], sizeof info->source[type], "%s", real->run == state.c.real[type].run ? "c" : info->name);
        info->tile_rows[type] = real->tile_rows;
        info->tile_cols[type] = real->tile_cols;
    }
    return HS_OK;
}
