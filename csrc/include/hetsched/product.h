/* Products on the pool: runs of boxes, and runs of a plan for a star. */
#ifndef HETSCHED_PRODUCT_H
#define HETSCHED_PRODUCT_H

#include "hetsched/run.h"
#include "hetsched/schedule.h"
#include "hetsched/star.h"

HS_C_BEGIN

/* ---- product --------------------------------------------------------------------------------- */

/* The part of a square C that a product computes: all elements; the elements (i, j) with i >= j;
 * the elements with i <= j; or the lower triangle, and above the diagonal its mirror image.
 * Elements outside of that part are neither read nor written. */
typedef enum hs_triangle {
    HS_TRIANGLE_NONE = 0,
    HS_TRIANGLE_LOWER = 1,
    HS_TRIANGLE_UPPER = 2,
    HS_TRIANGLE_MIRRORED = 3
} hs_triangle;

/* C <- alpha A B + beta C, with A m x k, B k x n, C m x n, each with a row and a column stride.
 * With beta == 0 C is not read. C must not overlap A or B. alpha and beta are (real, imaginary);
 * the imaginary part is ignored for real types.
 *
 * A triangle takes half the flops. If B is the transpose of A (the same memory, strides exchanged),
 * the product is what the BLAS calls syrk, and with conjugate herk. If mirrored, the result is
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
    /* hs_triangle; m and n must be equal unless it is HS_TRIANGLE_NONE */
    int32_t triangle;
    /* non-zero: conj(B) in place of B. A triangle is then Hermitian: the imaginary parts of its
     * diagonal become 0, and alpha and beta are real. Ignored for real types */
    int32_t conjugate;
    /* non-zero: A (alpha B), as the BLAS computes it if A is not transposed; zero: alpha (A B).
     * They differ where the expression in parentheses is out of range. Not for stacks */
    int32_t alpha_first;
} hs_product;

/* Fills *product for C <- A B, all three stored in row-major order without gaps. */
HS_API void hs_product_default(hs_product *product, int32_t dtype, int64_t m, int64_t n, int64_t k,
                               const void *a, const void *b, void *c);

/* The boxes of a product, and how the workers share them. Fields that the chosen kind of run does
 * not use must be zero.
 *   box          [count] boxes that tile the iterations of the product, see hs_boxes_cover: all of
 *                C, each element once; to compute a part of C, give that part as the product's C.
 *                Each worker computes its boxes in the order given. All boxes of an element of C
 *                belong to one worker, except in cooperative and layered runs. A box with depth > 0
 *                adds to the result of the boxes before it; the first box of a region of C has
 *                depth 0. Layered: the boxes may be in any order
 *   cooperative  non-zero: all workers share every box, split by speeds, with work stealing from
 *                slower workers. Excludes pace and receive. Zero: each worker computes its own
 *                boxes, alone
 *   layered      non-zero: each worker adds its boxes up in a layer of its own, the least rectangle
 *                of C around them; when all have ended, the layers are summed to C. If cooperative
 *                is also set, the layers must each cover the whole of C, in one box or in several
 *                consecutive boxes that have its rows from the first to the last; workers that
 *                finish early take over boxes, and the next two fields are NULL
 *   sum_rows     [p + 1] layered: worker i sums rows sum_rows[i] .. sum_rows[i + 1] - 1 of C, which
 *                go from 0 to m; NULL: workers take rows when they are free
 *   sum_receive  [2 p] layered: start and end of the emulated transfer that each worker's sum waits
 *                for, in seconds from the end of the last box; or NULL
 *   speeds       [p] cooperative: relative speeds, >= 0 with a positive finite sum; NULL: equal
 *                speeds
 *   receive      [2 count] start and end of the emulated transfer that each box waits for, in
 *                seconds (equal: no transfer); or NULL
 *   layers       [p] for each worker a matrix that its boxes write instead of C: m rows of n
 *                elements without gaps, which may be a memory-mapped file; NULL for a worker
 *                without boxes. C is not touched, beta is applied to each matrix where it has
 *                boxes, and the matrices are not summed. The first box of a worker over a region
 *                applies beta. A later box of the worker over this region must lie wholly over
 *                first boxes of one depth, and begin deeper. Neither cooperative nor layered.
 *                layers NULL: all boxes write C
 *   overlap      non-zero: work on a box, or on a sum, starts with its transfer and does not end
 *                before it. Needs receive or sum_receive */
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

/* Runs the product. HS_ERROR_VALUE, with nothing changed, if the boxes do not tile it. Paced by
 * seconds per flop. The box of an event is its index, and `count` for the sum of layers.
 *
 * The same operands and boxes give the same bits, whichever worker computes what: every element is
 * the sum of the same terms in one order. If the boxes have the whole inner dimension, are not
 * layered and have no `layers`, the bits are the same as in hs_gemm, wherever the boxes cut C. The
 * exceptions are products in which hs_gemm reads one operand unpacked (a side of at most 8).
 *
 * Extra memory: one or two packed panels of B and one block of A per worker, a few MiB, which the
 * pool keeps; not kept: the layers, one layer of the size of C where the inner dimension is divided
 * by size, and 40 bytes per tile of C and 64 per packed panel. Complexity: 2 m n k flops (8 m n k
 * complex), layered one addition per element of a layer more; half of all that for a triangle. */
HS_API hs_status hs_run_product(hs_pool *pool, const hs_product *product, const hs_boxes *boxes,
                                const hs_options *options, hs_trace *trace);

/* Multiplies without a plan, the usual case: all workers of the pool share C, split by speeds ([p]
 * or NULL). If C is small and the inner dimension is long, the run is layered, by hs_gemm_boxes.
 * The same operands give the same bits for any number of workers and any speeds, with the same
 * kernel and block sizes (hs_pool_create_domains). */
HS_API hs_status hs_gemm(hs_pool *pool, const hs_product *product, const double *speeds,
                         hs_poll_function poll, void *context);

/* Computes the boxes of hs_gemm for a layered run and returns their number; 0: hs_gemm is not
 * layered for these sizes. boxes [capacity] receives as many as fit. The depth of a layer depends
 * on m, n and k alone; layers that cannot be dealt evenly are cut into rows. For a triangle of C
 * the limit is a little lower: it is layered for a slightly smaller inner dimension. Layers pay if
 * there is little to share but the inner dimension: the workers then synchronise once instead of at
 * every panel. */
HS_API int32_t hs_gemm_boxes(int64_t m, int64_t n, int64_t k, int32_t p, const double *speeds,
                             hs_box *boxes, int32_t capacity);

/* Computes the zone of C that each domain of a pool has at the start of hs_gemm, if that is not
 * layered and C is in row-major order: hs_domain_zones for the kernel in use. Work stealing, and
 * what a pool has learned of the workers' speeds, change who computes what in the end.
 *   dtype      hs_dtype
 *   m, n, k    >= 0
 *   p, count, domains, domain_of
 *              as for hs_pool_create_domains
 *   speeds     [p] >= 0 with a positive finite sum, or NULL: equal speeds
 *   rects      [4 count] out: row, col, height, width; all 0: none
 * Memory O(p + count). */
HS_API hs_status hs_gemm_zones(int32_t dtype, int64_t m, int64_t n, int64_t k, int32_t p,
                               int32_t count, const hs_domain *domains, const int32_t *domain_of,
                               const double *speeds, int64_t *rects);

/* Returns the number of flops of one multiply-add of dtype: 2 or 8. */
HS_API double hs_flops_per_update(int32_t dtype);

/* ---- product on a star ----------------------------------------------------------------------- */

/* Real execution of chunks that hs_star_simulate accepts. The calling thread is the master: it
 * alone touches A, B and C, and it copies the content of a message into the worker's arena, or a
 * result back, one message after the other. The pool's workers multiply, in their arenas, what they
 * have received.
 *   star              the star of the pool's workers; r, s and t are the blocks of m, n and k, of
 *                     which the last may be smaller. With pace, a message takes link_costs, in
 *                     seconds per block; only hs_star_simulate uses cycle_times
 *   chunks            [chunk_count] tile the blocks of C: each block is in exactly one chunk
 *   order             HS_STAR_LISTED, or HS_STAR_DEMAND: the request that is pending longest,
 *                     decided at run time
 *   served            [length] for HS_STAR_LISTED
 *   block             side of a block in elements, at most 2^31 - 1
 *   messages          [message_capacity] out: the log of the port, with measured seconds from the
 *                     start; or NULL
 *   message_capacity  at least the number of messages of the chunks, see hs_star_message_count
 *   message_count     out: also after HS_ERROR_CANCELLED, then the messages that had ended
 *   peak              [p] out: largest number of blocks that a worker held at a time, never above
 *                     its memory; or NULL
 *   late              out: by how many seconds the port missed its last deadline
 *   simulated         [message_capacity] out: the log of the port by the model, as hs_star_simulate
 *                     writes it; or NULL. Written before the run begins */
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
    hs_star_message *simulated;
} hs_star_product;

/* Runs the product. HS_ERROR_VALUE, with nothing changed, also for chunks that do not tile C and
 * for a log that is too short. Paced by seconds per block update; without pace, links and workers
 * run at their real speed. Messages and updates start, on the clock of the emulated platform, when
 * the model lets them; a block at the edge costs as much as a full one. C is multiplied by beta
 * when it is loaded; with beta == 0 zeros are loaded. Extra memory: for each worker with chunks an
 * arena of as many blocks as the chunks need, at most its memory[i]; 100 bytes per message and
 * chunk; and the kernel's packed panels, which the pool keeps, as for hs_run_product. */
HS_API hs_status hs_run_star(hs_pool *pool, const hs_product *product,
                             hs_star_product *star_product, const hs_options *options,
                             const hs_times *times);

HS_C_END
#endif
