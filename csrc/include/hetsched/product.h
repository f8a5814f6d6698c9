/* Products on the pool: the run of boxes, and of a plan for a star. */
#ifndef HETSCHED_PRODUCT_H
#define HETSCHED_PRODUCT_H

#include "hetsched/run.h"
#include "hetsched/star.h"

HS_C_BEGIN

/* ---- product --------------------------------------------------------------------------------- */

/* A part of the iteration space of C = A B: rows row.. of C, columns col.. of C, depth.. of the
 * inner dimension. */
typedef struct hs_box {
    int32_t worker;
    int64_t row, col, depth;
    int64_t height, width, length;
} hs_box;

/* The part of a square C that a product computes: all of it; the elements (i, j) with i >= j; those
 * with i <= j; or the lower ones, and above the diagonal their mirror image. What does not belong
 * to it is neither read nor written. */
typedef enum hs_triangle {
    HS_TRIANGLE_NONE = 0,
    HS_TRIANGLE_LOWER = 1,
    HS_TRIANGLE_UPPER = 2,
    HS_TRIANGLE_MIRRORED = 3
} hs_triangle;

/* C <- alpha A B + beta C, A m x k, B k x n, C m x n, each with a row and a column stride. With
 * beta == 0 C is not read. C must not overlap A or B. alpha and beta are (real, imaginary); the
 * imaginary part is ignored for real types.
 * A triangle takes half the flops. With the transpose of A as B (the same memory, strides
 * exchanged) it is what the BLAS calls syrk, and with conjugate herk. Mirrored, the result is
 * exactly symmetric (Hermitian). */
typedef struct hs_product {
    int32_t dtype; /* hs_dtype */
    int64_t m, n, k;
    const void *a;
    int64_t a_row_stride, a_col_stride;
    const void *b;
    int64_t b_row_stride, b_col_stride;
    void *c;
    int64_t c_row_stride, c_col_stride;
    double alpha[2], beta[2];
    int32_t triangle; /* hs_triangle; else than HS_TRIANGLE_NONE m and n are equal */
    int32_t
        conjugate; /* non-zero: conj(B) in the place of B. A triangle then is Hermitian: its diagonal gets imaginary parts of 0, and
                        * alpha and beta are real. Ignored for real types */
    int32_t
        alpha_first; /* non-zero: A (alpha B), as the BLAS has it for an A that is not transposed; zero: alpha (A B).
                          * They differ where what is in parentheses is out of range. Not for stacks */
} hs_product;

/* Fills *product for C <- A B, all three stored row by row without gaps. */
HS_API void hs_product_default(hs_product *product, int32_t dtype, int64_t m, int64_t n, int64_t k,
                               const void *a, const void *b, void *c);

/* What is run of a product, and how the workers share it.
 *   box         [count] tile the iterations of the product, hs_boxes_cover: all of C, each element
 *               once; for a part of C give that part as the product's. Each worker does its own in
 *               the order given. An element of C has one worker, but for cooperative and layered
 *               runs. A box with depth > 0 adds to what the boxes before it left, the first one of
 *               a C region has depth 0. Layered: in any order, all of one worker with the same rows
 *               and columns of C
 *   cooperative non-zero: all workers share every box, split by speeds; ends are taken over from
 *   slower workers. Excludes pace and receive. Zero: each worker does its own boxes, alone
 *   layered     non-zero: each worker adds its boxes up in a layer of its own; when all have ended,
 *               the layers are summed to C. Then cooperative asks for layers of the whole of C,
 *               each in one box or in some that follow each other and have its rows from the first
 *               to the last; early workers take boxes over, and the two below are NULL
 *   sum_rows    [p + 1] layered: the rows of C that worker i sums are sum_rows[i] .. sum_rows[i +
 *               1] - 1, from 0 on to m; NULL: as they are free
 *   sum_receive [2 p] layered: start and end of the emulated transfer that each worker's sum waits
 *   for, in seconds from the end of the last box; or NULL
 *   speeds      [p] cooperative: relative speeds, >= 0 with a positive finite sum; NULL for equal
 *               ones
 *   receive     [2 count] start and end of the emulated transfer that each box waits for (seconds;
 *               the same: none), or NULL
 *   layers      [p] a matrix of each worker in the place of C, where its boxes go: m rows of n
 *               elements without gaps, in memory that may be that of a file; NULL for one without
 *               boxes. C is not touched, beta counts for each of them where it has boxes, and no
 *               worker adds them up. The boxes of a worker with the least of its depths come first.
 *               Neither cooperative nor layered. NULL: all go to C
 *   overlap     non-zero: work on a box, or a sum, starts with its transfer, and does not end
 *               before it. Needs receive or sum_receive
 * What is of no use in the way that is asked for must be zero. */
typedef struct hs_boxes {
    const hs_box *box;
    int32_t count;
    int32_t cooperative, layered;
    const int64_t *sum_rows;
    const double *sum_receive;
    const double *speeds;
    const double *receive;
    void *const *layers;
    int32_t overlap;
} hs_boxes;

/* Runs the product. HS_ERROR_VALUE, with nothing changed, for boxes that do not tile it. Paced by
 * seconds per flop; the box of an event is its index, `count` for the sum of layers.
 *
 * The same operands and boxes give the same bits, whoever did what: every element is the sum of the
 * same terms in one order. Boxes with the whole of the inner dimension, neither layered nor with
 * layers to keep, give those of hs_gemm wherever they cut C, but for products of which hs_gemm
 * reads one operand as it lies in memory (a side of at most 8).
 *
 * Extra memory: one or two packed panels of B and one block of A per worker, a few MiB, kept by the
 * pool; the layers, one of the size of C where the inner dimension is divided by size, and 40 bytes
 * per tile of C and 64 per packed panel, not kept. Complexity: 2 m n k flops (8 m n k complex),
 * layered an addition per element of a layer more; of a triangle half of all that. */
HS_API hs_status hs_run_product(hs_pool *pool, const hs_product *product, const hs_boxes *boxes,
                                const hs_options *options, hs_trace *trace);

/* The usual case without a plan: all workers of the pool share C, split by speeds ([p] or NULL);
 * layered, by hs_gemm_boxes, where C is small and the inner dimension long. The same operands give
 * the same bits for any number of workers and any speeds, with the same kernel and block sizes
 * (hs_pool_create_domains). */
HS_API hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds,
                         hs_poll_function poll, void *context);

/* The boxes of hs_gemm where that is layered: count of them, with those that boxes [capacity] has
 * room for filled in; 0: it is not. How deep a layer is depends on m, n and k alone; those that
 * cannot be dealt evenly are cut into rows. A product of which only a triangle is asked for is
 * layered a little earlier. Layers pay where there is little to share but the inner dimension:
 * workers then meet once instead of at every panel. */
HS_API int32_t hs_gemm_boxes(int64_t m, int64_t n, int64_t k, int32_t p, const double *speeds,
                             hs_box *boxes, int32_t capacity);

/* Number of flops of one multiply-add of dtype: 2 or 8. */
HS_API double hs_flops_per_update(int32_t dtype);

/* ---- product on a star ----------------------------------------------------------------------- */

/* Chunks that hs_star_simulate accepts, run for real. The calling thread is the master: it alone
 * touches A, B and C, and copies what a message holds into the worker's arena, or a result back,
 * one message after the other. The pool's workers multiply what has come, in their arenas.
 *   star      of the pool's workers; r, s and t are the blocks of m, n and k, the last ones maybe
 *             smaller. With pace a message takes link_costs, in seconds per block; cycle_times only
 *             matter to hs_star_simulate
 *   chunks    [chunk_count] tile the blocks of C: each is in one of them
 *   order     HS_STAR_LISTED, or HS_STAR_DEMAND: the request pending longest, decided at run time
 *   served    [length] for HS_STAR_LISTED
 *   block     side of a block in elements, at most 2^31 - 1
 *   messages  [message_capacity] out: the port's log, with the seconds from the start that were
 *             measured; or NULL
 *   message_capacity  at least the messages of the chunks, which hs_star_simulate tells: as many in
 *                     any order
 *   message_count  out: also after HS_ERROR_CANCELLED, then of those that had ended
 *   peak      [p] out: most blocks that a worker held at a time, never above its memory; or NULL
 *   late      out: by how much the port missed its last deadline, seconds */
typedef struct hs_star_product {
    const hs_star *star;
    int64_t chunk_count;
    const hs_star_chunk *chunks;
    int32_t order; /* hs_star_order */
    int64_t length;
    const int32_t *served;
    int64_t block;
    hs_star_message *messages;
    int64_t message_capacity;
    int64_t message_count;
    int64_t *peak;
    double late;
} hs_star_product;

/* Runs the product. HS_ERROR_VALUE, with nothing changed, also for chunks that do not tile C and a
 * log that is too short. Paced by seconds per block update, else at real speed on both the links
 * and the workers. Messages and updates start,
 * on the clock of the emulated platform, when the model lets them; a block at the edge costs as
 * much as a full one. C is multiplied by beta when it is loaded; with beta == 0 zeros are. Extra
 * memory: for each worker with chunks an arena of as many blocks as these take, at most its
 * memory[i]; 100 bytes per message and chunk; and the kernel's packed panels, kept by the pool as
 * for hs_run_product. */
HS_API hs_status hs_run_star(hs_pool *pool, const hs_product *product,
                             hs_star_product *star_product, const hs_options *options,
                             const hs_times *times);

HS_C_END
#endif
