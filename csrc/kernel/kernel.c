/* The kernels of this process, and which one is in use. */
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This state is process-wide, because BLIS initialises itself once per process. A kernel that is
 * visible through `ready`, `fortran` or `current` never changes again. */
static struct {
    /* held while a kernel is made */
    pthread_mutex_t lock;
    hs__kernel blis, foreign, c;
    hs__fortran library; /* the library of `foreign` */
    hs_status blis_status;
    atomic_bool ready;                            /* blis and c have been made */
    _Atomic(const hs__kernel *) fortran, current; /* NULL: none yet */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

hs_status hs_kernel_init(void)
{
    /* no lock: a child may be forked at any time */
    if (atomic_load_explicit(&state.ready, memory_order_acquire)) return HS_OK;
    pthread_mutex_lock(&state.lock);
    if (!atomic_load_explicit(&state.ready, memory_order_relaxed)) {
        /* read before BLIS reads it */
        int users_choice = getenv("BLIS_ARCH_TYPE") != NULL;
        state.blis_status = hs__kernel_blis(&state.blis);
        hs__kernel_c(&state.c);
        if (!state.blis_status && !users_choice && hs__cpu_detect().avx512)
            state.blis.real[0] = state.c.real[0];
        atomic_store_explicit(&state.current, state.blis_status ? &state.c : &state.blis,
                              memory_order_release);
        atomic_store_explicit(&state.ready, true, memory_order_release);
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
    else if (!strcmp(name, "openblas"))
        chosen = atomic_load_explicit(&state.fortran, memory_order_acquire);
    else if (!strcmp(name, "c")) chosen = &state.c;
    if (!chosen) return HS_ERROR_UNSUPPORTED;
    atomic_store_explicit(&state.current, chosen, memory_order_release);
    return HS_OK;
}

static bool is_same(const hs__fortran *x, const hs__fortran *y)
{
    return x->gemm[0] == y->gemm[0] && x->gemm[1] == y->gemm[1] &&
           x->integer_bytes == y->integer_bytes && x->set_threads == y->set_threads &&
           x->get_threads == y->get_threads;
}

hs_status hs_kernel_use_fortran(void *sgemm, void *dgemm, int32_t integer_bytes,
                                void (*set_threads)(int), int (*get_threads)(void))
{
    if (!sgemm || !dgemm || (integer_bytes != 4 && integer_bytes != 8) ||
        !set_threads != !get_threads)
        return HS_ERROR_VALUE;
    const hs__fortran library = {{sgemm, dgemm}, integer_bytes, set_threads, get_threads};
    hs_kernel_init();
    hs_status status = HS_OK;
    pthread_mutex_lock(&state.lock);
    if (atomic_load_explicit(&state.fortran, memory_order_relaxed)) {
        status = is_same(&state.library, &library) ? HS_OK : HS_ERROR_UNSUPPORTED;
    } else if (!(status = hs__kernel_fortran(&state.foreign, &library))) {
        state.library = library;
        atomic_store_explicit(&state.fortran, &state.foreign, memory_order_release);
    }
    pthread_mutex_unlock(&state.lock);
    return status;
}

const hs__kernel *hs__kernel_current(void)
{
    hs_kernel_init();
    return atomic_load_explicit(&state.current, memory_order_acquire);
}

hs_status hs_kernel_describe(hs_kernel_info *info)
{
    if (!info) return HS_ERROR_VALUE;
    const hs__kernel *kernel = hs__kernel_current();
    *info = kernel->info;
    memcpy(info->refused, state.blis.info.refused, sizeof info->refused);
    for (int type = 0; type < 2; type++) {
        const hs__blocking *real = &kernel->real[type];
        snprintf(info->source[type], sizeof info->source[type], "%s",
                 real->run == state.c.real[type].run ? "c" : info->name);
        info->tile_rows[type] = real->tile_rows;
        info->tile_cols[type] = real->tile_cols;
    }
    return HS_OK;
}

hs_status hs_kernel_sizes(const char *set, int32_t dtype, int32_t *tile, int32_t *blocks)
{
    if (!tile || !blocks || dtype < HS_FLOAT32 || dtype > HS_FLOAT64) return HS_ERROR_VALUE;
    hs__kernel kernel;
    const hs_status status = set ? hs__kernel_set(set, &kernel) : HS_OK;
    if (status) return status;
    if (!set) kernel = *hs__kernel_current();
    const hs__blocking *real = &kernel.real[dtype];
    tile[0] = real->tile_rows;
    tile[1] = real->tile_cols;
    blocks[0] = real->depth;
    blocks[1] = real->rows;
    blocks[2] = real->cols;
    return HS_OK;
}
