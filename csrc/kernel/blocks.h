/* The instruction sets of hetsched's own kernels, and for each its register tiles and block sizes.
 *
 *   MR x NR        register tile of the micro-kernel for packed panels (kernel_c_template.h); its
 *                  vectors lie along MR
 *   KC             depth of a packed panel: a micro-panel of B, KC x NR, stays in the L1 cache
 *   MC             rows of a packed block of A, MC x KC, which stays in L2 and is read from there
 *   NC             most columns of a packed panel of B, KC x NC of 2 to 5 MiB: enough to hide the
 *                  packing of A, but the other workers need their part of L3, too
 *   BYTES          of a vector
 *   ROWS, VECTORS  register tile of the loops over small matrices (small_template.h); for complex
 *                  elements half the rows
 *
 * Sizes are in elements; for complex operands KC and either MC or NC are half of that. The sums of
 * a tile fill the registers as far as a step of A and B leaves room. NC is one rule for all sets,
 * HS__ROW_BYTES.
 *
 * How KC, MC and NC were found: float32 of AVX-512, and NC, measured beside OpenBLAS on Zen 5. NEON
 * by the analytical model (Low, Igual, Smith and Quintana-Orti 2016) for 64 KiB of L1 with 4 ways
 * and 512 KiB of L2 with 8: one way of L1 holds a micro-panel of A, and L2 keeps one way for a
 * micro-panel of B and one for C; not measured. The others were chosen by hand. A pool with domains
 * can use other KC, MC and NC (hs_domain). */
#ifndef HS_KERNEL_BLOCKS_H
#define HS_KERNEL_BLOCKS_H

/* Bytes of a row of a packed panel. */
enum { HS__ROW_BYTES = 8192 };

/* Number of vector registers of so many bytes. */
#if defined(__aarch64__)
#define HS__REGISTERS(bytes) 32
#else
#define HS__REGISTERS(bytes) ((bytes) == 64 ? 32 : 16)
#endif

/* clang-format off */

/* ---- AVX-512 F, DQ, BW and VL, with FMA: 32 registers of 64 bytes ---------------------------- */
#define HS__AVX512_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
/*                                  MR  NR   KC   MC   NC */
#define HS__AVX512_float            48,  8, 640, 192,  HS__ROW_BYTES / 4 /* 2048 */
#define HS__AVX512_double           24,  8, 320, 240,  HS__ROW_BYTES / 8 /* 1024 */
#define HS__AVX512_BYTES            64
#define HS__AVX512_ROWS              8
#define HS__AVX512_VECTORS           3

/* ---- AVX2 and FMA: 16 registers of 32 bytes -------------------------------------------------- */
#define HS__AVX2_TARGET __attribute__((target("avx2,fma")))
/*                                  MR  NR   KC   MC   NC */
#define HS__AVX2_float              24,  4, 384, 192,  HS__ROW_BYTES / 4 /* 2048 */
#define HS__AVX2_double             12,  4, 256, 144,  HS__ROW_BYTES / 8 /* 1024 */
#define HS__AVX2_BYTES              32
#define HS__AVX2_ROWS                4
#define HS__AVX2_VECTORS             3

/* ---- NEON: 32 registers of 16 bytes ---------------------------------------------------------- */
/* 24 sums, 4 vectors of A and 3 of B use 31 registers; float32 uses two vectors of A. Each step
 * loads 7 vectors (float32: 5) for 24 multiply-adds, and a sum is needed again after 24 of them:
 * enough for four units with a latency of four cycles. */
/*                                  MR  NR   KC   MC   NC */
#define HS__NEON_float               8, 12, 512, 192,  HS__ROW_BYTES / 4 /* 2048 */
#define HS__NEON_double              8,  6, 256, 192,  HS__ROW_BYTES / 8 /* 1024 */
#define HS__NEON_BYTES              16

/* ---- any processor: 16 or more registers of 16 bytes ----------------------------------------- */
/* If multiply-adds take an element of a register (32 registers), the elements of A are in registers
 * as well: three vectors would be too many for the loops over small matrices. */
/*                                  MR  NR   KC   MC   NC */
#define HS__PLAIN_float              8,  4, 256, 256,  HS__ROW_BYTES / 4 /* 2048 */
#define HS__PLAIN_double             4,  4, 256, 192,  HS__ROW_BYTES / 8 /* 1024 */
#define HS__PLAIN_BYTES             16
#define HS__PLAIN_ROWS               (HS__REGISTERS(16) / 4)
#define HS__PLAIN_VECTORS            2

/* clang-format on */

#endif
