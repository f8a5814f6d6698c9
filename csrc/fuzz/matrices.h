/* Common parts of the executors' harnesses: pools that are kept, extents near the kernels' tiles,
 * and matrices of every type and stride in buffers that end with their last element. */
#ifndef HETSCHED_FUZZ_MATRICES_H
#define HETSCHED_FUZZ_MATRICES_H

#include "../tests/elements.h"
#include "../tests/run_calls.h"
#include "bytes.h"

enum { MOST_POOL = 3 };

static inline hs_pool *pool_of(int32_t p)
{
    static hs_pool *pools[MOST_POOL + 1];
    if (!pools[p]) HOLDS(hs_pool_create(p, NULL, &pools[p]) == HS_OK);
    return pools[p];
}

/* Selects the kernel of all later products, "c", or "blis" where it is built. Returns its
 * description, which has the tiles. */
static inline hs_kernel_info kernel_of(bytes *in)
{
    hs_kernel_info info;
    const hs_status status = hs_kernel_select(take_byte(in) % 4 == 3 ? "blis" : "c");
    HOLDS(status == HS_OK || status == HS_ERROR_UNSUPPORTED);
    HOLDS(hs_kernel_describe(&info) == HS_OK);
    return info;
}

/* Draws an extent: none, one, some, or about a tile or several tiles. */
static inline int64_t draw_extent(bytes *in, int32_t tile)
{
    const int kind = pick_below(in, 12);
    if (kind < 3) return kind;
    if (kind < 6) return tile - 4 + kind;
    if (kind < 8) return 2 * tile - 6 + kind;
    return kind == 8 ? 3 * tile + 2 : pick_below(in, 64);
}

/* Draws a long extent: a line of so many doubles takes about one page, or more. */
static inline int64_t draw_long_extent(bytes *in)
{
    return (const int64_t[]){513, 512, 511, 1024, 600, 1025, 2049, 777}[pick_below(in, 8)];
}

/* Makes one side of a matrix long and the other one short. */
static inline void draw_thin(bytes *in, int64_t *m, int64_t *n)
{
    *(pick_below(in, 2) ? m : n) = draw_long_extent(in) / 2;
    *(*m > *n ? n : m) %= 9;
}

/* Draws the size of the blocks of a factorisation. 0: the engine chooses it. */
static inline int64_t draw_block(bytes *in)
{
    return pick_below(in, 2) ? 0 : 1 + draw_small(in, 40);
}

/* Returns the distance from 1 to the next number of a type. */
static inline double rounding_of(int dtype) { return dtype & 1 ? 0x1p-52 : 0x1p-23; }

/* Returns an unusual number to fill a matrix with, or 0: matrix_of() draws small integers. */
static inline double draw_fill(bytes *in, int strange)
{
    return strange ? (const double[]){NAN, INFINITY, 1e300}[pick_below(in, 3)] : 0.0;
}

typedef struct {
    int dtype;
    int64_t rows, cols, row_stride, col_stride;
    char *memory, *before; /* before: a copy of the initial memory */
    int64_t origin, elements;
} matrix;

static inline int64_t place_of(const matrix *x, int64_t i, int64_t j)
{
    return x->origin + i * x->row_stride + j * x->col_stride;
}
static inline void *start_of(const matrix *x)
{
    return x->memory + (ptrdiff_t)size_of[x->dtype] * x->origin;
}
static inline double complex value_at(const matrix *x, int64_t i, int64_t j)
{
    return get(x->memory, x->dtype, place_of(x, i, j));
}
static inline double complex was_at(const matrix *x, int64_t i, int64_t j)
{
    return get(x->before, x->dtype, place_of(x, i, j));
}

/* Returns the stride. In a dimension of one element or none the stride has no effect, so it may be
 * any number. */
static inline int64_t any_stride(bytes *in, int64_t size, int64_t stride)
{
    static const int64_t any[] = {1, 0, -1, 7, INT64_C(1) << 40, -(INT64_C(1) << 40)};
    if (size > 1 || pick_below(in, 2)) return stride;
    return any[pick_below(in, 6)];
}

/* Makes a matrix of small integers, so that sums are exact, or of `fill` everywhere. An input may
 * contain elements more than once. */
static inline matrix matrix_of(bytes *in, int dtype, int64_t rows, int64_t cols, int is_input,
                               double fill)
{
    const int layout = pick_below(in, is_input ? 13 : 10);
    const int64_t gap = layout < 2 ? 0 : pick_below(in, 3);
    int64_t r = cols + gap;
    int64_t c = 1;
    if (layout % 2) {
        r = 1;
        c = rows + gap;
    }
    if (layout == 4) {
        r = 2 * cols + gap;
        c = 2;
    }
    if (layout == 5) {
        r = 3;
        c = 3 * rows + gap;
    }
    if (layout == 6 || layout == 8) r = -r;
    if (layout == 7 || layout == 8) c = -c;
    if (layout == 10) r = 0;
    if (layout == 11) c = 0;
    if (layout == 12) r = c = 1;
    matrix x = {.dtype = dtype,
                .rows = rows,
                .cols = cols,
                .row_stride = any_stride(in, rows, r),
                .col_stride = any_stride(in, cols, c)};
    int64_t low = 0;
    int64_t high = 0;
    if (rows > 1) *(x.row_stride < 0 ? &low : &high) += (rows - 1) * x.row_stride;
    if (cols > 1) *(x.col_stride < 0 ? &low : &high) += (cols - 1) * x.col_stride;
    x.elements = rows > 0 && cols > 0 ? high - low + 1 : 0;
    x.origin = x.elements ? -low : 0;
    const size_t size = (size_t)x.elements * size_of[dtype];
    x.memory = new_buffer(in, size);
    x.before = new_buffer(in, size);
    uint32_t state = take_byte(in);
    /* a prime, so that lines differ */
    const int64_t period = hs__min(x.elements, 1021);
    for (int64_t e = 0; e < period; e++) {
        state = state * 1664525u + 1013904223u;
        double complex value = fill;
        if (fill == 0.0) {
            value = (int)(state >> 16) % 7 - 3;
            if (dtype >> 1) value += I * ((int)(state >> 24) % 5 - 2);
        }
        set(x.memory, dtype, e, value);
    }
    for (size_t done = (size_t)period * size_of[dtype]; done < size; done *= 2)
        memcpy(x.memory + done, x.memory, done < size - done ? done : size - done);
    if (size) memcpy(x.before, x.memory, size);
    return x;
}

/* Returns whether the memory between the elements is unchanged. */
static inline int gaps_kept(const matrix *x)
{
    if (x->elements == x->rows * x->cols) return 1;
    const size_t size = size_of[x->dtype];
    char *own = calloc((size_t)x->elements + 1, 1);
    int kept = own != NULL;
    for (int64_t i = 0; i < x->rows && own; i++)
        for (int64_t j = 0; j < x->cols && own; j++) own[place_of(x, i, j)] = 1;
    for (int64_t e = 0; e < x->elements && kept; e++)
        kept =
            own[e] || memcmp(x->memory + (size_t)e * size, x->before + (size_t)e * size, size) == 0;
    free(own);
    return kept;
}

static inline int same_bytes(const matrix *x)
{
    return x->elements == 0 ||
           memcmp(x->memory, x->before, (size_t)x->elements * size_of[x->dtype]) == 0;
}

/* Draws the outputs and recordings of a run; any of them may be absent. */
static inline void draw_run(bytes *in, test_run *run, int32_t p)
{
    const int which = pick_below(in, 32);
    const size_t size = (size_t)p * sizeof(double);
    if (which & 1) run->trace.times.finish = new_buffer(in, size);
    if (which & 2) run->trace.times.late = new_buffer(in, size);
    if (which & 4) run->trace.times.busy = new_buffer(in, size);
    if (which & 8) {
        run->trace.event_capacity = (const int32_t[]){0, 1, 2, 5, 100}[pick_below(in, 5)];
        run->trace.events =
            new_buffer(in, (size_t)run->trace.event_capacity * sizeof *run->trace.events);
    }
}

/* Draws emulated speeds that are so high that no worker waits long. */
static inline double *draw_pace(bytes *in, int32_t p)
{
    double *pace = new_buffer(in, (size_t)p * sizeof *pace);
    for (int32_t i = 0; i < p; i++)
        pace[i] = take_byte(in) == 255 ? draw_wild(in) : pick_below(in, 3) * 1e-12;
    /* Paces that would take years become infinite, which is refused. */
    for (int32_t i = 0; i < p; i++)
        if (pace[i] > 1e-11) pace[i] = INFINITY;
    return pace;
}

/* Returns draw_pace(), or NULL as often. */
static inline double *draw_pace_or_null(bytes *in, int32_t p)
{
    return pick_below(in, 2) ? draw_pace(in, p) : NULL;
}

/* Draws speeds, some of them 0, or NULL. */
static inline const double *draw_speeds(bytes *in, int32_t p)
{
    return pick_below(in, 2) ? draw_values_or_zeros(in, p, taste_of(in)) : NULL;
}

static inline void check_run(const test_run *run, int32_t p, int64_t boxes)
{
    HOLDS(run->trace.event_count >= 0 && run->trace.event_count <= run->trace.event_capacity);
    for (int32_t k = 0; k < run->trace.event_count; k++) {
        const hs_event *e = &run->trace.events[k];
        HOLDS(e->worker >= 0 && e->worker < p &&
              (e->kind == HS_COMPUTE || e->kind == HS_TRANSFER) && e->box >= 0 && e->box <= boxes &&
              e->end >= e->start);
    }
    for (int32_t i = 0; i < p; i++) {
        if (run->trace.times.finish) HOLDS(run->trace.times.finish[i] >= 0.0);
        if (run->trace.times.busy) HOLDS(run->trace.times.busy[i] >= 0.0);
    }
}

#endif
