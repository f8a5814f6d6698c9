/* The interface of everything that multiplies: one micro-kernel per real type. The executor packs A
 * into micro-panels of tile_rows and B into micro-panels of tile_cols, and calls the micro-kernel
 * on pairs of them. Complex products are real products of differently packed panels. A library that
 * offers a whole gemm is a micro-kernel with a large tile, a device one with an even larger
 * tile. */
#ifndef HS_KERNEL_KERNEL_H
#define HS_KERNEL_KERNEL_H

#include "hetsched.h"
#include "kernel/blocks.h"

/* C (m x n, m <= tile_rows, n <= tile_cols) <- alpha A B + beta C, with alpha and beta of the real
 * type. If *beta == 0, C is not read; *beta is never NaN, which BLIS takes for 0.
 *   a               k columns of tile_rows elements, aligned to 64 bytes, zero beyond row m
 *   b               k rows of tile_cols elements, aligned to 64 bytes, zero beyond column n
 *   a_next, b_next  the micro-panels of the next call, for prefetching */
typedef void hs__micro_kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                              const void *b, const void *beta, void *c, int64_t row_stride,
                              int64_t col_stride, const void *a_next, const void *b_next);

/* Block sizes (kernel/blocks.h); for complex operands half of them. depth is at least 2, rows and
 * cols are at least a tile, and the side of the tile along C's fast stride is even. */
typedef struct hs__blocking {
    hs__micro_kernel *run;
    int32_t tile_rows, tile_cols; /* the register tile */
    /* depth of a packed panel: a micro-panel of B stays in the L1 cache */
    int32_t depth;
    /* rows of a packed block of A: it stays in L2 and is read from there */
    int32_t rows;
    /* non-zero: unit column stride of C is fast, else unit row stride */
    int32_t prefers_rows;
    /* largest number of columns of a packed panel of B: enough to hide the packing of A, but other
     * workers need their part of L3, too */
    int32_t cols;
} hs__blocking;

typedef struct hs__kernel {
    hs_kernel_info info;
    hs__blocking real[2]; /* float32, float64 */
} hs__kernel;

/* A library as given to hs_kernel_use_fortran: gemm for float32 and float64, and the functions for
 * its threads, or NULL. */
typedef struct hs__fortran {
    void *gemm[2];
    int32_t integer_bytes;
    void (*set_threads)(int);
    int (*get_threads)(void);
} hs__fortran;

/* Each fills *kernel or returns HS_ERROR_UNSUPPORTED; called once, before the kernel is in use. */
hs_status hs__kernel_blis(hs__kernel *kernel);
hs_status hs__kernel_c(hs__kernel *kernel);
hs_status hs__kernel_fortran(hs__kernel *kernel, const hs__fortran *handed_in);

/* Fills *kernel with hetsched's own micro-kernels of the named instruction set;
 * HS_ERROR_UNSUPPORTED if there is no set of that name, or this processor cannot run it. */
hs_status hs__kernel_set(const char *name, hs__kernel *kernel);

/* Returns the kernel in use; hs_kernel_init chooses it at the first call. */
const hs__kernel *hs__kernel_current(void);

/* 1 if the arithmetic kernels are compiled for AVX2 and AVX-512 as well. HS_PLAIN_VECTORS leaves
 * them out of a build that should be short. Packing does not depend on it; streaming stores are
 * plain, too. */
#if defined(__x86_64__) && !defined(HS_PLAIN_VECTORS)
#define HS__X86_SETS 1
#else
#define HS__X86_SETS 0
#endif

/* The instruction sets that matter to kernels; both the processor and the operating system must
 * support them. */
typedef struct hs__cpu {
    int avx2_fma, avx512; /* AVX-512 F, DQ, BW, VL */
    int amd;
} hs__cpu;
hs__cpu hs__cpu_detect(void);

/* The widest instruction set of the processor: 0 is what every processor of its kind has, 1 AVX2
 * with FMA, 2 AVX-512. */
static inline int hs__cpu_set(void)
{
    const hs__cpu cpu = hs__cpu_detect();
    if (cpu.avx512) return 2;
    return cpu.avx2_fma ? 1 : 0;
}

#endif
