/* The one interface behind which everything that multiplies stands: a micro-kernel per real type.
 * The executor packs A into panels of tile_rows and B into panels of tile_cols and calls the
 * micro-kernel on pairs of them; complex products are real ones on differently packed panels. A
 * library with a whole gemm joins with a large tile, a device with a larger one. */
#ifndef HS_KERNEL_KERNEL_H
#define HS_KERNEL_KERNEL_H

#include "hetsched.h"

/* C (m x n, m <= tile_rows, n <= tile_cols) <- alpha A B + beta C, alpha and beta of the real type.
 * With *beta == 0 C is not read; *beta is no NaN, which BLIS takes for 0.
 *   a   k columns of tile_rows elements, aligned to 64 bytes, zero beyond row m
 *   b   k rows of tile_cols elements, aligned to 64 bytes, zero beyond column n
 *   a_next, b_next   the panels of the next call, for prefetching */
typedef void hs__micro_kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                              const void *b, const void *beta, void *c, int64_t row_stride,
                              int64_t col_stride, const void *a_next, const void *b_next);

/* Steps of loops come from these sizes, of complex operands from half of them: depth is at least 2,
 * rows and cols are at least a tile, and the tile's side along C's fast stride is even. */
typedef struct hs__blocking {
    hs__micro_kernel *run;
    int32_t tile_rows, tile_cols; /* of the micro-kernel */
    /* k of a packed panel: a micro-panel of B stays in the L1 cache */
    int32_t depth;
    /* rows of a packed block of A: it stays in L2 and comes from there */
    int32_t rows;
    /* non-zero: unit column stride of C is fast, else unit row stride */
    int32_t prefers_rows;
    /* of a packed panel of B, at most: they hide the packing of A, and others have their part of
     * L3, too */
    int32_t cols;
} hs__blocking;

/* Of a row of a packed panel: with the usual depths that has 2 to 5 MiB. */
enum { HS__ROW_BYTES = 8192 };

typedef struct hs__kernel {
    hs_kernel_info info;
    hs__blocking real[2]; /* float32, float64 */
} hs__kernel;

/* A library as hs_kernel_use_fortran takes it: gemm for float32 and float64, its threads or
 * NULL. */
typedef struct hs__fortran {
    void *gemm[2];
    int32_t integer_bytes;
    void (*set_threads)(int);
    int (*get_threads)(void);
} hs__fortran;

/* Each fills *kernel or says HS_ERROR_UNSUPPORTED; called once, before the kernel is in use. */
hs_status hs__kernel_blis(hs__kernel *kernel);
hs_status hs__kernel_c(hs__kernel *kernel);
hs_status hs__kernel_fortran(hs__kernel *kernel, const hs__fortran *library);

/* Our own micro-kernels of the named instruction set; HS_ERROR_UNSUPPORTED if there is none of that
 * name, or this processor cannot run it. */
hs_status hs__kernel_set(const char *name, hs__kernel *kernel);

/* The kernel in use, chosen by hs_kernel_init at the first call. */
const hs__kernel *hs__kernel_current(void);

/* The instruction sets that decide about kernels; both the processor and the system must support
 * them. */
typedef struct hs__cpu {
    int avx2_fma, avx512; /* AVX-512 F, DQ, BW, VL */
    int amd;
} hs__cpu;
hs__cpu hs__cpu_detect(void);

/* Vector registers of so many bytes: sums of tiles are kept in them. */
#if defined(__aarch64__)
#define HS__REGISTERS(bytes) 32
#else
#define HS__REGISTERS(bytes) ((bytes) == 64 ? 32 : 16)
#endif

#endif
