/* Fuzz harness of the other runs of a pool: LU and its solutions, iterations on slices, wavefronts,
 * stencils, measurements. */
#include "matrices.h"

/* ---- LU -------------------------------------------------------------------------------------- */

static double magnitude_of(double complex x) { return fabs(creal(x)) + fabs(cimag(x)); }

/* Checks P A = L U up to rounding, and that no multiplier is above 1; `a` is the given matrix. */
static void check_factors(bytes *in, const hs_factor *lu, const matrix *f, const matrix *a)
{
    const int64_t m = lu->m;
    const int64_t n = lu->n;
    const int64_t rank = hs__min(m, n);
    int64_t *order = new_buffer(in, (size_t)m * sizeof *order);
    double worst = 0.0;
    double largest = 0.0;
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int64_t i = 0; i < rank; i++) {
        const int64_t p = lu->pivots[i];
        const int64_t kept = order[i];
        HOLDS(p >= i && p < m);
        order[i] = order[p];
        order[p] = kept;
    }
    HOLDS(lu->failed >= -1 && lu->failed < rank);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -was_at(a, order[i], j);
            for (int64_t k = 0; k <= i && k <= j && k < rank; k++) {
                const double complex l = k == i ? 1 : value_at(f, i, k);
                HOLDS(magnitude_of(l) < 2.01);
                sum += l * value_at(f, k, j);
            }
            worst = fmax(worst, magnitude_of(sum));
            largest = fmax(largest, magnitude_of(value_at(f, i < rank ? i : 0, j)));
        }
    HOLDS(worst <= 40.0 * rounding_of(lu->dtype) * (double)(m + n) * fmax(largest, 6.0));
    for (int64_t i = 0; i < rank; i++) {
        const int zero = value_at(f, i, i) == 0;
        if (lu->failed < 0 || i < lu->failed) HOLDS(!zero);
        if (i == lu->failed) HOLDS(zero);
    }
}

static void check_solution(bytes *in, hs_pool *pool, const hs_factor *lu, const matrix *a,
                           int dtype)
{
    const int64_t n = lu->n;
    const int64_t cols = pick_below(in, 4) ? pick_below(in, 9) : draw_extent(in, 8);
    const int transposed = pick_below(in, 2);
    matrix b = matrix_of(in, dtype, n, cols, 0, 0.0);
    const hs_status status = hs_lu_solve(pool, lu, transposed, cols, start_of(&b), b.row_stride,
                                         b.col_stride, NULL, NULL);
    HOLDS(status == HS_OK && gaps_kept(&b));
    if (lu->failed >= 0 || !a) return;
    /* the residual is small relative to the size of the solution */
    for (int64_t c = 0; c < cols; c++) {
        double worst = 0.0;
        double weight = 0.0;
        double top = 0.0;
        for (int64_t i = 0; i < n; i++) {
            double complex sum = -was_at(&b, i, c);
            for (int64_t k = 0; k < n; k++)
                sum += (transposed ? was_at(a, k, i) : was_at(a, i, k)) * value_at(&b, k, c);
            worst = fmax(worst, magnitude_of(sum));
            weight = fmax(weight, magnitude_of(value_at(&b, i, c)));
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i; j < n; j++)
                top = fmax(top, magnitude_of(get(lu->matrix, dtype,
                                                 i * lu->row_stride + j * lu->col_stride)));
        if (isfinite(weight))
            HOLDS(worst <=
                  40.0 * rounding_of(dtype) * (double)(n * n) * (weight * fmax(top, 6.0) + 6.0));
    }
}

static void factor(bytes *in)
{
    const hs_kernel_info kernel = kernel_of(in);
    const int dtype = pick_below(in, 4);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    const int32_t tile =
        pick_below(in, 2) ? kernel.tile_rows[dtype & 1] : kernel.tile_cols[dtype & 1];
    int64_t m = draw_extent(in, tile);
    int64_t n = pick_below(in, 2) ? m : draw_extent(in, tile);
    if (pick_below(in, 12) == 0) draw_thin(in, &m, &n);
    const double strange = draw_fill(in, take_byte(in) > 250);
    const int in_place = pick_below(in, 2);
    matrix f = matrix_of(in, dtype, m, n, 0, in_place ? strange : 0.0);
    matrix a = in_place ? f : matrix_of(in, dtype, m, n, 1, strange);
    hs_factor lu = {.dtype = dtype,
                    .m = m,
                    .n = n,
                    .matrix = start_of(&f),
                    .row_stride = f.row_stride,
                    .col_stride = f.col_stride,
                    .failed = -7};
    const matrix *const given = in_place ? &f : &a;
    if (!in_place) {
        lu.a = start_of(&a);
        lu.a_row_stride = a.row_stride;
        lu.a_col_stride = a.col_stride;
    }
    const int64_t rank = hs__min(m, n);
    lu.pivots = new_buffer(in, (size_t)rank * sizeof *lu.pivots);
    lu.block = draw_block(in);
    int32_t blocks = 0;
    test_run run = {.boxes.cooperative = pick_below(in, 2)};
    hs_factor_costs costs = {.late_panel = pick_below(in, 2)};
    if (lu.block) {
        HOLDS(hs_factor_blocks(m, n, lu.block, &blocks) == HS_OK);
        if (pick_below(in, 2)) lu.owner = draw_indices(in, blocks, p);
    }
    draw_run(in, &run, p);
    if (!run.boxes.cooperative && pick_below(in, 2)) {
        run.options.pace = draw_pace(in, p);
        if (pick_below(in, 2)) lu.costs = &costs;
        if (pick_below(in, 2)) {
            double *panels = new_buffer(in, (size_t)p * sizeof *panels);
            double *links = new_buffer(in, (size_t)(p * p) * sizeof *links);
            for (int32_t i = 0; i < p; i++) panels[i] = 1e-12 * (1 + pick_below(in, 3));
            for (int32_t e = 0; e < p * p; e++) links[e] = 1e-12 * pick_below(in, 3);
            costs.panels = panels;
            costs.links = links;
            costs.segment = draw_small(in, 50);
        }
    }
    const hs_status status = run_lu(pool_of(p), &lu, &run);
    HOLDS(status == HS_OK || (status == HS_ERROR_VALUE && (lu.owner || run.options.pace)));
    if (status) {
        HOLDS(same_bytes(&f));
        return;
    }
    HOLDS(gaps_kept(&f) && (in_place || same_bytes(&a)) &&
          hs_factor_block(HS_LU, m, n, dtype, p) >= 1);
    check_run(&run, p, INT32_MAX);
    if (strange == 0.0) check_factors(in, &lu, &f, given);
    for (int64_t i = 0; i < rank; i++) HOLDS(lu.pivots[i] >= i && lu.pivots[i] < m);
    if (m == n)
        check_solution(in, pool_of(1 + pick_below(in, MOST_POOL)), &lu,
                       strange == 0.0 ? given : NULL, dtype);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Computes the iteration element by element, in the given type, as the header defines it. */
static void iterate_slices(double *x, double *next, int dtype, int64_t m, int64_t n, double weight)
{
    memcpy(next, x, (size_t)(m * n) * sizeof *x);
    for (int64_t i = 1; i < m - 1; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *row = x + i * n;
            const double above = row[j - n];
            const double below = row[j + n];
            const double left = row[(j + n - 1) % n];
            const double right = row[(j + 1) % n];
            if (dtype == HS_FLOAT64)
                next[i * n + j] =
                    row[j] + weight * ((((above + below) + left) + right) - 4 * row[j]);
            else {
                const float sum = (((float)above + (float)below) + (float)left) + (float)right;
                next[i * n + j] = (float)row[j] + (float)weight * (sum - 4 * (float)row[j]);
            }
        }
    memcpy(x, next, (size_t)(m * n) * sizeof *x);
}

static void slices(bytes *in)
{
    const int dtype = pick_below(in, 2);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    int64_t m = pick_below(in, 30);
    int64_t n = pick_below(in, 30);
    if (pick_below(in, 8) == 0) *(pick_below(in, 2) ? &m : &n) = draw_long_extent(in);
    matrix source = matrix_of(in, dtype, m, n, 1, 0.0);
    matrix target = pick_below(in, 3) ? matrix_of(in, dtype, m, n, 0, 0.0) : (matrix){.rows = -1};
    const int in_place = target.rows < 0;
    if (in_place) target = source = matrix_of(in, dtype, m, n, 0, 0.0);
    hs_slices x = {.dtype = dtype,
                   .m = m,
                   .n = n,
                   .source = start_of(&source),
                   .source_row_stride = source.row_stride,
                   .source_col_stride = source.col_stride,
                   .target = start_of(&target),
                   .target_row_stride = target.row_stride,
                   .target_col_stride = target.col_stride,
                   .weight = take_byte(in) > 250 ? draw_wild(in) : 0.01 * pick_below(in, 60),
                   .steps = pick_below(in, 7),
                   .size = 1 + pick_below(in, p)};
    const int32_t *all = draw_permutation(in, p);
    int32_t *ring = new_buffer(in, (size_t)x.size * sizeof *ring);
    int64_t *widths = new_buffer(in, (size_t)x.size * sizeof *widths);
    int64_t left = n;
    for (int32_t k = 0; k < x.size; k++) {
        ring[k] = all[k];
        widths[k] = left;
        if (k + 1 < x.size) widths[k] = 1 + (left > 1 ? take_byte(in) % (left - 1) : 0);
        left -= widths[k];
    }
    if (take_byte(in) > 250)
        *(pick_below(in, 2) ? &widths[0] : &x.steps) = draw_extreme(in) | INT64_MIN;
    if (take_byte(in) > 250) ring[0] = (int32_t)draw_extreme(in);
    x.ring = ring;
    x.widths = widths;
    test_run run = {.options.pace = draw_pace_or_null(in, p)};
    draw_run(in, &run, p);
    if (run.options.pace && pick_below(in, 2)) {
        double *exchange = new_buffer(in, 2 * (size_t)x.size * sizeof *exchange);
        for (int32_t k = 0; k < 2 * x.size; k++) exchange[k] = pick_below(in, 3) * 1e-9;
        x.exchange = exchange;
        if (pick_below(in, 2)) x.overheads = exchange;
    }
    const hs_status status = run_slices(pool_of(p), &x, &run);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    if (status) {
        HOLDS(same_bytes(&target));
        return;
    }
    check_run(&run, p, INT32_MAX);
    HOLDS(gaps_kept(&target) && (in_place || same_bytes(&source)));
    double *old = new_buffer(in, (size_t)(m * n) * sizeof *old);
    double *next = new_buffer(in, (size_t)(m * n) * sizeof *next);
    for (int64_t e = 0; e < m * n; e++) old[e] = creal(was_at(&source, e / n, e % n));
    for (int64_t step = 0; step < x.steps; step++) iterate_slices(old, next, dtype, m, n, x.weight);
    for (int64_t e = 0; e < m * n; e++) {
        const double found = creal(value_at(&target, e / n, e % n));
        HOLDS(found == old[e] || (isnan(found) && isnan(old[e])));
    }
}

/* ---- wavefronts ------------------------------------------------------------------------------ */

enum { TILES = 12 };

typedef struct {
    /* done: elements of each tile that are finished (atomic) */
    int64_t m, n, rows, cols, reach, done[TILES][TILES];
    int axis;
} watched;

/* Returns the tile that begins with this element, or -1. Tiles are as even as integers allow. */
static int64_t tile_at(int64_t element, int64_t size, int64_t tiles)
{
    for (int64_t k = 0; k < tiles; k++)
        if (size / tiles * k + size % tiles * k / tiles == element) return k;
    return -1;
}

/* Checks that a tile, if there is one, is finished. */
static void check_done(watched *w, int64_t along, int64_t across)
{
    if (along < 0 || across < 0) return;
    const int64_t *tile = w->axis ? &w->done[along][across] : &w->done[across][along];
    HOLDS(__atomic_load_n(tile, __ATOMIC_ACQUIRE) > 0);
}

static void watch_tile(void *context, int64_t row, int64_t col, int64_t height, int64_t width)
{
    watched *w = context;
    HOLDS(row >= 0 && col >= 0 && height >= 1 && width >= 1 && height <= w->m - row &&
          width <= w->n - col);
    const int64_t i = tile_at(row, w->m, w->rows);
    const int64_t j = tile_at(col, w->n, w->cols);
    HOLDS(i >= 0 && j >= 0);
    const int64_t along = w->axis ? i : j;
    const int64_t across = w->axis ? j : i;
    const int64_t length = w->axis ? w->rows : w->cols;
    /* finished before: the previous tile of the line, and the last tile needed of the previous
     * line */
    check_done(w, along - 1, across);
    check_done(w, hs__min(along + w->reach, length - 1), across - 1);
    HOLDS(__atomic_fetch_add(&w->done[i][j], height * width, __ATOMIC_RELEASE) == 0);
}

static void wavefront(bytes *in)
{
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    watched w = {.rows = 1 + pick_below(in, TILES),
                 .cols = 1 + pick_below(in, TILES),
                 .reach = draw_small(in, 4),
                 .axis = pick_below(in, 2)};
    w.m = w.rows + pick_below(in, 20) - (take_byte(in) == 255);
    w.n = w.cols + pick_below(in, 20);
    hs_wavefront x = {.m = w.m,
                      .n = w.n,
                      .rows = (int32_t)w.rows,
                      .cols = (int32_t)w.cols,
                      .axis = w.axis,
                      .reach = w.reach,
                      .order = draw_option(in, 2),
                      .tile = watch_tile,
                      .context = &w};
    x.owner = draw_indices(in, w.axis ? w.cols : w.rows, p);
    test_run run = {.options.pace = draw_pace_or_null(in, p)};
    draw_run(in, &run, p);
    const hs_status status = run_wavefront(pool_of(p), &x, &run);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    int64_t sum = 0;
    for (int64_t i = 0; i < w.rows; i++)
        for (int64_t j = 0; j < w.cols; j++) sum += w.done[i][j];
    HOLDS(sum == (status ? 0 : w.m * w.n));
    if (!status) check_run(&run, p, w.rows * w.cols);
}

static void stencil(bytes *in)
{
    const int dtype = pick_below(in, 2);
    const int64_t m = pick_below(in, 12);
    const int64_t n = pick_below(in, 12);
    matrix x = matrix_of(in, dtype, m, n, 0, 0.0);
    hs_stencil s = {.dtype = dtype,
                    .rule = pick_below(in, 2) ? HS_SUM : HS_MIN,
                    .m = m,
                    .n = n,
                    .data = start_of(&x),
                    .row_stride = x.row_stride,
                    .col_stride = x.col_stride};
    const double neutral = s.rule == HS_SUM ? 0.0 : INFINITY;
    for (int k = 0; k < 9; k++)
        s.weights[k] = pick_below(in, 3) ? 0.25 * pick_below(in, 9) : neutral;
    if (m == 0 || n == 0) return;
    const int64_t row = pick_below(in, (int)m);
    const int64_t col = pick_below(in, (int)n);
    const int64_t height = pick_below(in, (int)(m - row) + 1);
    const int64_t width = pick_below(in, (int)(n - col) + 1);
    double *old = new_buffer(in, (size_t)(m * n) * sizeof *old);
    for (int64_t e = 0; e < m * n; e++) old[e] = creal(value_at(&x, e / n, e % n));
    for (int64_t i = row; i < row + height; i++)
        for (int64_t j = col; j < col + width; j++) {
            double own = neutral;
            for (int k = 0; k < 9; k++) {
                const int64_t a = i + k / 3 - 1;
                const int64_t b = j + k % 3 - 1;
                if (a < 0 || b < 0 || a >= m || b >= n || s.weights[k] == neutral) continue;
                if (s.rule == HS_SUM) own += s.weights[k] * old[a * n + b];
                else own = fmin(own, old[a * n + b] + s.weights[k]);
                if (dtype == HS_FLOAT32) own = (float)own;
            }
            old[i * n + j] = own;
        }
    hs_stencil_tile(&s, row, col, height, width);
    for (int64_t e = 0; e < m * n; e++)
        HOLDS(
            is_near(creal(value_at(&x, e / n, e % n)), old[e], dtype == HS_FLOAT32 ? 1e-5 : 1e-13));
    HOLDS(gaps_kept(&x));
}

/* ---- measurements ---------------------------------------------------------------------------- */

static void measure(bytes *in)
{
    /* measurements take long, so they are rare */
    if (take_byte(in) < 240) {
        stencil(in);
        return;
    }
    const hs_kernel_info kernel = kernel_of(in);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    hs_measurement x = {.kernel = pick_below(in, 3),
                        .dtype = pick_below(in, 4),
                        .worker = pick_below(in, p + 1) - 1,
                        .capacity = 1 + pick_below(in, 3)};
    x.size = 1 + draw_extent(in, kernel.tile_rows[x.dtype & 1]);
    x.least = 1 + pick_below(in, x.capacity);
    if (take_byte(in) > 240) x.size = draw_extreme(in) | INT64_MIN;
    x.times = new_buffer(in, (size_t)p * (size_t)x.capacity * sizeof *x.times);
    x.count = new_buffer(in, (size_t)p * sizeof *x.count);
    x.batch = new_buffer(in, (size_t)p * sizeof *x.batch);
    x.elapsed = new_buffer(in, (size_t)p * sizeof *x.elapsed);
    x.busy = new_buffer(in, (size_t)p * sizeof *x.busy);
    const hs_status status = hs_measure_kernel(pool_of(p), &x, NULL, NULL);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    for (int32_t i = 0; i < p && !status; i++) {
        HOLDS(x.count[i] >= 0 && x.count[i] <= x.capacity &&
              (x.worker < 0 || x.worker == i ? x.count[i] >= x.least : x.count[i] == 0));
        for (int32_t k = 0; k < x.count[i]; k++) HOLDS(x.times[(int64_t)i * x.capacity + k] >= 0.0);
    }
}

HARNESS(factor, factor, slices, wavefront, stencil, measure)
