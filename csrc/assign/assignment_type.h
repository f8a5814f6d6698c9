/* The part of the assignment solver that exists once for each type of cost. `cost_t` is the type;
 * TYPED(x) makes names. LARGEST is above every cost, DONE below every price. LIMIT bounds the
 * costs; only FORBIDDEN may be larger. */

typedef struct {
    int32_t rows, cols;
    const cost_t *costs;
    ptrdiff_t stride;
    int32_t *col_of, *row_of; /* -1: free */
    int32_t *free_rows, *done;
    cost_t *v, *u, *dist; /* u: the row prices, set at the end unless NULL */
    int64_t *from;
    cost_t *kept; /* the price and the distance of each column in `done` */
    int32_t *kept_from;
    cost_t *least; /* of each block */
    const int *cancel;
} TYPED(problem);

#define PROBLEM TYPED(problem)

#define NAME(x) TYPED(x##_plain)
#define LANES 2
#define TARGET
#include "assign/assignment_core.h"
#undef NAME
#undef LANES
#undef TARGET

#ifdef HS_X86
#define NAME(x) TYPED(x##_avx2)
#define LANES 4
#define TARGET __attribute__((target("avx2")))
#include "assign/assignment_core.h"
#undef NAME
#undef LANES
#undef TARGET

#define NAME(x) TYPED(x##_avx512)
#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#include "assign/assignment_core.h"
#undef NAME
#undef LANES
#undef TARGET
#endif

static hs_status TYPED(solve)(const PROBLEM *x)
{
#ifdef HS_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return TYPED(solve_avx512)(x);
    if (__builtin_cpu_supports("avx2")) return TYPED(solve_avx2)(x);
#endif
    return TYPED(solve_plain)(x);
}

/* Returns the costs in the form that the solver needs: the matrix itself, or a transposed or
 * negated copy, which is incomplete after a cancellation. */
static const cost_t *TYPED(oriented)(int32_t rows, int32_t cols, const cost_t *costs,
                                     ptrdiff_t stride, bool negate, bool transpose,
                                     const int *cancel, cost_t *copy)
{
    if (!copy) return costs;
    enum { TILE = 32 };
    for (int32_t i0 = 0; i0 < rows && !hs__cancelled(cancel); i0 += TILE)
        for (int32_t j0 = 0; j0 < cols; j0 += transpose ? TILE : cols) {
            int32_t i1 = rows - i0 < TILE ? rows : i0 + TILE;
            int32_t j1 = transpose && cols - j0 >= TILE ? j0 + TILE : cols;
            for (int32_t i = i0; i < i1; i++)
                for (int32_t j = j0; j < j1; j++) {
                    cost_t c = costs[i * stride + j];
                    copy[transpose ? (ptrdiff_t)j * rows + i : (ptrdiff_t)i * cols + j] =
                        negate ? NEGATED(c) : c;
                }
        }
    return copy;
}

/* Memory for problems with shorter sides of at most n and longer sides of at most m. `copy` is there
 * for problems whose costs are transposed or negated. */
typedef struct {
    int32_t *ints;
    cost_t *reals;
    int64_t *from;
    cost_t *copy;
} TYPED(memory);

static void TYPED(free_memory)(TYPED(memory) * x)
{
    free(x->ints);
    free(x->reals);
    free(x->from);
    free(x->copy);
    *x = (TYPED(memory)){0};
}

static hs_status TYPED(allocate_memory)(int32_t n, int32_t m, bool copied, TYPED(memory) * x)
{
    size_t size = (size_t)m + BLOCK;
    *x = (TYPED(memory)){
        .ints = malloc((3 * size + 2 * (size_t)n) * sizeof *x->ints),
        .reals = malloc((4 * size + size / BLOCK + 1 + (size_t)n) * sizeof *x->reals),
        .from = malloc(size * sizeof *x->from),
        .copy = copied && (uint64_t)n * (uint64_t)m < SIZE_MAX / sizeof *x->copy
                    ? malloc((size_t)n * (size_t)m * sizeof *x->copy)
                    : NULL,
    };
    if (x->ints && x->reals && x->from && (x->copy || !copied)) return HS_OK;
    TYPED(free_memory)(x);
    return HS_ERROR_MEMORY;
}

/* The prices may be NULL, both of them. */
static hs_status TYPED(assign_within)(const TYPED(memory) * memory, int32_t rows, int32_t cols,
                                      const cost_t *costs, ptrdiff_t stride, bool maximise,
                                      const int *cancel, int32_t *col_of_row, cost_t *row_prices,
                                      cost_t *col_prices)
{
    bool transpose = rows > cols;
    bool copied = transpose || maximise;
    int32_t n = transpose ? cols : rows;
    int32_t m = transpose ? rows : cols;
    size_t size = (size_t)m + BLOCK;
    PROBLEM x = {
        .rows = n,
        .cols = m,
        .stride = copied ? m : stride,
        .costs = TYPED(oriented)(rows, cols, costs, stride, maximise, transpose, cancel,
                                 copied ? memory->copy : NULL),
        .row_of = memory->ints,
        .done = memory->ints + size,
        .kept_from = memory->ints + 2 * size,
        .col_of = memory->ints + 3 * size,
        .free_rows = memory->ints + 3 * size + n,
        .v = memory->reals,
        .dist = memory->reals + size,
        .kept = memory->reals + 2 * size,
        .u = row_prices ? memory->reals + 4 * size : NULL,
        .least = memory->reals + 4 * size + n,
        .from = memory->from,
        .cancel = cancel,
    };
    const hs_status status = TYPED(solve)(&x);
    if (status != HS_OK) return status;
    if (row_prices) {
        cost_t *u = transpose ? col_prices : row_prices;
        cost_t *v = transpose ? row_prices : col_prices;
        for (int32_t i = 0; i < n; i++) u[i] = maximise ? -x.u[i] : x.u[i];
        for (int32_t j = 0; j < m; j++) v[j] = maximise ? -x.v[j] : x.v[j];
    }
    memcpy(col_of_row, transpose ? x.row_of : x.col_of, (size_t)rows * sizeof *col_of_row);
    return HS_OK;
}

static hs_status TYPED(assign)(int32_t rows, int32_t cols, const cost_t *costs, ptrdiff_t stride,
                               bool maximise, const int *cancel, int32_t *col_of_row,
                               cost_t *row_prices, cost_t *col_prices)
{
    if (!costs || !col_of_row || !row_prices || !col_prices || rows < 1 || cols < 1)
        return HS_ERROR_VALUE;
    TYPED(memory) memory;
    hs_status status =
        TYPED(allocate_memory)((int32_t)hs__min(rows, cols), (int32_t)hs__max(rows, cols),
                               maximise || rows > cols, &memory);
    if (status != HS_OK) return status;
    status = TYPED(assign_within)(&memory, rows, cols, costs, stride, maximise, cancel, col_of_row,
                                  row_prices, col_prices);
    TYPED(free_memory)(&memory);
    return status;
}

#undef PROBLEM
