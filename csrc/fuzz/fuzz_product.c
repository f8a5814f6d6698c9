/* Fuzz harness of products, against a triple loop: arbitrary extents and strides, by boxes in every
 * kind of run, by hs_gemm, and on a star. */
#include "matrices.h"

enum { BOXES = 40, WORK = 20000 };

typedef struct {
    hs_product x;
    matrix a, b, c;
    double complex alpha, beta;
} product;

static double complex draw_scalar(bytes *in, int dtype)
{
    const int kind = pick_below(in, 12);
    if (kind == 11) return NAN;
    const double complex at[] = {1, 0, -1, 2, 0.5, 1, 0, 1 + I, I, -2, 3};
    return dtype >> 1 ? at[kind] : creal(at[kind]);
}

static product product_of(bytes *in, int dtype, int64_t m, int64_t n, int64_t k)
{
    product p = {.alpha = draw_scalar(in, dtype), .beta = draw_scalar(in, dtype)};
    /* not read: A and B if alpha == 0, C if beta == 0 */
    const double unread = p.alpha == 0 ? NAN : 0.0;
    p.a = matrix_of(in, dtype, m, k, 1, unread);
    p.b = matrix_of(in, dtype, k, n, 1, unread);
    p.c = matrix_of(in, dtype, m, n, 0, p.beta == 0 ? NAN : 0.0);
    p.x = (hs_product){.dtype = dtype,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a = start_of(&p.a),
                       .a_row_stride = p.a.row_stride,
                       .a_col_stride = p.a.col_stride,
                       .b = start_of(&p.b),
                       .b_row_stride = p.b.row_stride,
                       .b_col_stride = p.b.col_stride,
                       .c = start_of(&p.c),
                       .c_row_stride = p.c.row_stride,
                       .c_col_stride = p.c.col_stride,
                       .alpha = {creal(p.alpha), cimag(p.alpha)},
                       .beta = {creal(p.beta), cimag(p.beta)}};
    /* real types ignore the imaginary parts */
    if (dtype < 2 && pick_below(in, 4) == 0) {
        p.x.alpha[1] = 7.0;
        p.x.beta[1] = NAN;
    }
    return p;
}

/* Draws a product. Occasionally it is only a triangle of a square C, with conj(B), or with the
 * transpose of A as B. */
static product product_or_triangle(bytes *in, int dtype, int64_t m, int64_t n, int64_t k)
{
    const int kind = pick_below(in, 12);
    const int square = kind < 4 && m * m * k <= WORK;
    if (square) n = m;
    product p = product_of(in, dtype, m, n, k);
    p.x.conjugate = kind % 2;
    if (!square) return p;
    p.x.triangle = HS_TRIANGLE_LOWER + pick_below(in, 3);
    if (kind < 2) {
        p.b = p.a;
        p.b.rows = k;
        p.b.cols = n;
        p.b.row_stride = p.a.col_stride;
        p.b.col_stride = p.a.row_stride;
        p.x.b = p.x.a;
        p.x.b_row_stride = p.b.row_stride;
        p.x.b_col_stride = p.b.col_stride;
    }
    if (p.x.conjugate && dtype >> 1) {
        p.alpha = p.x.alpha[0];
        p.beta = p.x.beta[0];
        p.x.alpha[1] = p.x.beta[1] = 0.0;
    }
    return p;
}

static int is_number(double complex x) { return !isnan(creal(x)) && !isnan(cimag(x)); }

/* Computes sums of products in doubles. They are exact, because all numbers are small integers. */
#define DEFINE_DOT(real, name)                                                                \
    static double name(const real *x, ptrdiff_t step_x, const real *y, ptrdiff_t step_y,      \
                       int64_t k)                                                             \
    {                                                                                         \
        double sum = 0.0;                                                                     \
        for (int64_t l = 0; l < k; l++) sum += (double)x[l * step_x] * (double)y[l * step_y]; \
        return sum;                                                                           \
    }

DEFINE_DOT(float, dot_float)
DEFINE_DOT(double, dot_double)

static double complex dot_product(const product *p, int64_t i, int64_t j)
{
    const int parts = 1 + (p->x.dtype >> 1);
    const int64_t k = p->x.k;
    const int64_t x = parts * place_of(&p->a, i, 0);
    const int64_t y = parts * place_of(&p->b, 0, j);
    const int64_t step_x = parts * p->a.col_stride;
    const int64_t step_y = parts * p->b.row_stride;
    /* products of the real and imaginary parts */
    double sum[2][2] = {{0.0}};
    if (k == 0) return 0;
    for (int u = 0; u < parts; u++)
        for (int v = 0; v < parts; v++) {
            if (p->x.dtype & 1)
                sum[u][v] = dot_double((const double *)p->a.memory + x + u, step_x,
                                       (const double *)p->b.memory + y + v, step_y, k);
            else
                sum[u][v] = dot_float((const float *)p->a.memory + x + u, step_x,
                                      (const float *)p->b.memory + y + v, step_y, k);
        }
    if (p->x.conjugate) return sum[0][0] + sum[1][1] + (sum[1][0] - sum[0][1]) * I;
    return sum[0][0] - sum[1][1] + (sum[0][1] + sum[1][0]) * I;
}

/* Returns whether an element is not computed, because it is outside of the triangle. */
static int is_outside(int triangle, int64_t i, int64_t j)
{
    if (triangle == HS_TRIANGLE_UPPER) return i > j;
    return triangle && i < j;
}

static void check_product(const product *p)
{
    for (int64_t i = 0; i < p->x.m; i++)
        for (int64_t j = 0; j < p->x.n; j++) {
            const int triangle = p->x.triangle;
            const int hermitian = triangle && p->x.conjugate && p->x.dtype >> 1;
            const double complex found = value_at(&p->c, i, j);
            if (is_outside(triangle, i, j)) {
                const size_t size = size_of[p->x.dtype];
                const size_t here = (size_t)place_of(&p->c, i, j) * size;
                const size_t image = (size_t)place_of(&p->c, j, i) * size;
                if (triangle != HS_TRIANGLE_MIRRORED)
                    HOLDS(!memcmp(p->c.memory + here, p->c.before + here, size));
                else if (!hermitian) HOLDS(!memcmp(p->c.memory + here, p->c.memory + image, size));
                else if (is_number(found)) HOLDS(found == conj(value_at(&p->c, j, i)));
                else HOLDS(!is_number(value_at(&p->c, j, i)));
                continue;
            }
            double complex wanted = 0;
            if (p->beta != 0) wanted = p->beta * was_at(&p->c, i, j);
            if (p->x.k > 0 && p->alpha != 0) wanted += p->alpha * dot_product(p, i, j);
            if (hermitian && i == j) wanted = creal(wanted);
            HOLDS(found == wanted || (!is_number(wanted) && !is_number(found)));
        }
    HOLDS(gaps_kept(&p->c) && same_bytes(&p->a) && same_bytes(&p->b));
}

/* Draws m, n and k near the tiles, or one of them long; their product is limited. */
static void draw_extents(bytes *in, const hs_kernel_info *kernel, int dtype, int64_t *m, int64_t *n,
                         int64_t *k)
{
    *m = draw_extent(in, kernel->tile_rows[dtype & 1]);
    *n = draw_extent(in, kernel->tile_cols[dtype & 1]);
    *k = draw_extent(in, 16);
    const int line = pick_below(in, 8);
    int64_t *const sides[] = {m, n, k};
    if (line < 3) *sides[line] = draw_long_extent(in);
    if (*m * *n * *k > WORK && line != 2) *k = 1 + *k % 3;
    if (*m * *n * *k > WORK && line != 1) *n = 1 + *n % 3;
    if (*m * *n * *k > WORK) *(line == 0 ? n : m) = 1;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

typedef struct {
    hs_box box[BOXES];
    int32_t count;
} boxes;

static int64_t draw_cut(bytes *in, int64_t size)
{
    return size > 0 ? take_byte(in) % (size + 1) : 0;
}

/* Adds a box, cut into up to three pieces of its depth. In a layered run (p > 0) some pieces have
 * no length; in other runs only the first piece begins at depth 0. */
static void add_depths(bytes *in, boxes *list, hs_box box, int32_t p)
{
    const int64_t end = box.depth + box.length;
    for (int part = pick_below(in, 3); list->count < BOXES; part--) {
        box.length = end - box.depth;
        if (part > 0) box.length = draw_cut(in, box.length);
        /* in a layered run, any worker may own a piece */
        if (p) box.worker = pick_below(in, p);
        if (p || box.length || part <= 0) list->box[list->count++] = box;
        if (!p && box.length && box.depth + box.length == end) return;
        box.depth += box.length;
        if (part <= 0) return;
    }
}

/* Cuts C into rectangles of one worker each. */
static void tile_c(bytes *in, boxes *list, hs_box box, int32_t p, int splits)
{
    const int way = splits ? pick_below(in, 3) : 0;
    if (way == 0) {
        box.worker = pick_below(in, p);
        add_depths(in, list, box, 0);
        return;
    }
    hs_box rest = box;
    if (way == 1) {
        box.height = draw_cut(in, box.height);
        rest.row += box.height;
        rest.height -= box.height;
    } else {
        box.width = draw_cut(in, box.width);
        rest.col += box.width;
        rest.width -= box.width;
    }
    tile_c(in, list, box, p, splits - 1);
    tile_c(in, list, rest, p, splits - 1);
}

/* Adds layers. Either any worker owns any layer of the whole C; or all workers but the last own
 * rows of C up to some depth, and the last worker owns the whole C from there on. */
static void tile_layers(bytes *in, boxes *list, hs_box whole, int32_t p)
{
    if (p == 1 || pick_below(in, 2)) {
        add_depths(in, list, whole, p);
        /* a layer of no length */
        add_depths(in, list,
                   (hs_box){.height = whole.height, .width = whole.width, .depth = whole.length},
                   p);
        return;
    }
    hs_box last = whole;
    hs_box slab = whole;
    slab.length = draw_cut(in, whole.length);
    last.depth = slab.length;
    last.length -= slab.length;
    last.worker = p - 1;
    add_depths(in, list, last, 0);
    for (int32_t w = 0; w + 1 < p; w++) {
        slab.worker = w;
        slab.height = whole.height - slab.row;
        if (w + 2 < p) slab.height = draw_cut(in, slab.height);
        add_depths(in, list, slab, 0);
        slab.row += slab.height;
    }
}

static double *draw_transfers(bytes *in, int32_t count)
{
    double *times = new_buffer(in, 2 * (size_t)count * sizeof *times);
    for (int32_t k = 0; k < count; k++) {
        times[2 * k] = pick_below(in, 3) * 1e-6;
        times[2 * k + 1] = times[2 * k] + pick_below(in, 2) * 1e-6;
    }
    if (take_byte(in) == 255 && count)
        times[pick_below(in, 2 * count)] = (const double[]){NAN, INFINITY, -1.0}[pick_below(in, 3)];
    return times;
}

static void by_boxes(bytes *in)
{
    const hs_kernel_info kernel = kernel_of(in);
    const int dtype = pick_below(in, 4);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    int64_t m, n, k;
    draw_extents(in, &kernel, dtype, &m, &n, &k);
    product x = product_or_triangle(in, dtype, m, n, k);
    n = x.x.n;
    const int how = pick_below(in, 4);
    const int strange = take_byte(in) > 250;
    boxes list = {.count = 0};
    const hs_box whole = {.height = m, .width = n, .length = k};
    test_run run = {
        .boxes.cooperative = how % 2, .boxes.layered = how / 2, .boxes.overlap = pick_below(in, 2)};
    if (!run.boxes.layered) tile_c(in, &list, whole, p, 3);
    else if (!run.boxes.cooperative) tile_layers(in, &list, whole, p);
    else add_depths(in, &list, whole, p);
    if (strange && list.count) {
        hs_box *b = &list.box[pick_below(in, list.count)];
        int64_t *const fields[] = {&b->row, &b->col, &b->depth, &b->height, &b->width, &b->length};
        if (pick_below(in, 2)) *fields[pick_below(in, 6)] = draw_extreme(in);
        else b->worker = (int32_t)draw_extreme(in);
    }
    draw_run(in, &run, p);
    hs_box *exact = new_buffer(in, (size_t)list.count * sizeof *exact);
    memcpy(exact, list.box, (size_t)list.count * sizeof *exact);
    run.boxes.box = exact;
    run.boxes.count = list.count;
    const unsigned with = take_byte(in);
    if (run.boxes.cooperative) {
        if (with & 1) run.boxes.speeds = draw_values_or_zeros(in, p, taste_of(in));
    } else {
        if (with & 1) run.options.pace = draw_pace(in, p);
        if (with % 8 == 6) run.boxes.receive = draw_transfers(in, list.count);
        if (run.boxes.layered && with & 16) {
            int64_t *rows = new_buffer(in, ((size_t)p + 1) * sizeof *rows);
            rows[0] = 0;
            rows[p] = m;
            for (int32_t i = 1; i < p; i++) rows[i] = rows[i - 1] + draw_cut(in, m - rows[i - 1]);
            if (with == 255) rows[pick_below(in, p + 1)] = draw_extreme(in);
            run.boxes.sum_rows = rows;
        }
        if (run.boxes.layered && with % 8 == 6) run.boxes.sum_receive = draw_transfers(in, p);
    }
    /* Without transfers there is nothing to overlap. This is refused; test_product checks that. */
    if (!run.boxes.receive && !run.boxes.sum_receive) run.boxes.overlap = 0;
    const hs_status status = run_product(pool_of(p), &x.x, &run);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    if (status) HOLDS(same_bytes(&x.c));
    else {
        check_run(&run, p, list.count);
        HOLDS(gaps_kept(&x.c));
        if (!strange) check_product(&x);
    }
}

static void gemm(bytes *in)
{
    const hs_kernel_info kernel = kernel_of(in);
    const int dtype = pick_below(in, 4);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    int64_t m, n, k;
    draw_extents(in, &kernel, dtype, &m, &n, &k);
    /* layers: the inner dimension is long, and one side of C is long, too, or none is */
    if (pick_below(in, 16) == 0) {
        k = 1024 + 256 * p + pick_below(in, 3) * 255;
        m = pick_below(in, 2) ? 1 + pick_below(in, 80) : draw_long_extent(in) / p;
        n = 1 + pick_below(in, m > 8 ? 1 : 4);
        if (pick_below(in, 2)) {
            const int64_t other = m;
            m = n;
            n = other;
        }
    }
    product x = product_or_triangle(in, dtype, m, n, k);
    n = x.x.n;
    const double *speeds = draw_speeds(in, p);
    const int32_t count = hs_gemm_boxes(m, n, k, p, speeds, NULL, 0);
    HOLDS(count >= 0);
    hs_box *layers = new_output(in, (size_t)count * sizeof *layers);
    HOLDS(hs_gemm_boxes(m, n, k, p, speeds, layers, count) == count);
    int64_t next = 0;
    /* rows of the current layer so far: each layer goes from the first row to the last */
    int64_t rows = 0;
    for (int32_t i = 0; i < count; i++) {
        HOLDS(layers[i].depth == next && layers[i].length > 0 && layers[i].worker >= 0 &&
              layers[i].worker < p && layers[i].row == rows && layers[i].width == n);
        rows += layers[i].height;
        if (rows == m) {
            next += layers[i].length;
            rows = 0;
        }
    }
    HOLDS(!count || (next == k && rows == 0));
    const hs_status status = hs_gemm(pool_of(p), &x.x, speeds, NULL, NULL);
    HOLDS(status == HS_OK || (status == HS_ERROR_VALUE && speeds));
    if (status) HOLDS(same_bytes(&x.c));
    else check_product(&x);
    hs_gemm_boxes(draw_extreme(in), draw_extreme(in), draw_extreme(in), p, NULL, NULL, 0);
}

/* ---- star ------------------------------------------------------------------------------------ */

static int draw_cuts(bytes *in, int64_t size, int64_t *places)
{
    int count = 1;
    places[0] = 0;
    for (int k = 0; k < 2; k++) {
        const int64_t next = places[count - 1] + 1 + pick_below(in, 3);
        if (next < size) places[count++] = next;
    }
    places[count] = size;
    return count;
}

/* Draws the elements along `blocks` blocks, the last of which may be smaller. */
static int64_t draw_side(bytes *in, int64_t blocks, int64_t block)
{
    return (blocks - 1) * block + 1 + draw_cut(in, block - 1);
}

/* Returns how many blocks of its panels a chunk has at a time. t: layers of the product. *kept:
 * blocks that stay. */
static int64_t count_passing(const hs_star_chunk *chunk, int64_t t, int64_t *kept)
{
    const int64_t h = chunk->height;
    const int64_t v = chunk->width;
    int64_t layer;
    int64_t length;
    switch (chunk->held) {
    case HS_STAR_HOLD_C:
        *kept = h * v;
        layer = h + v;
        length = t;
        break;
    case HS_STAR_HOLD_A:
        *kept = h * t;
        layer = h + t;
        length = v;
        break;
    default:
        *kept = v * t;
        layer = v + t;
        length = h;
    }
    return chunk->buffers * layer * hs__min(chunk->depth, length);
}

static void star(bytes *in)
{
    const hs_kernel_info kernel = kernel_of(in);
    const int dtype = pick_below(in, 4);
    const int32_t p = 1 + pick_below(in, MOST_POOL);
    const int64_t block = pick_below(in, 4) ? 1 + draw_extent(in, kernel.tile_cols[dtype & 1]) % 20
                                            : draw_long_extent(in);
    hs_star platform = {
        .r = 1 + pick_below(in, 4), .s = 1 + pick_below(in, 4), .t = 1 + pick_below(in, 4), .p = p};
    /* Only one side of a long block is long; the other sides are a single element. */
    const int longest = pick_below(in, 4);
    int64_t *const blocks[] = {&platform.r, &platform.s, &platform.t};
    int64_t size[3];
    for (int side = 0; side < 3; side++) {
        const int is_short = block > 20 && longest != side;
        if (is_short) *blocks[side] = 1;
        size[side] = is_short ? 1 : draw_side(in, *blocks[side], block);
    }
    product x = product_of(in, dtype, size[0], size[1], size[2]);
    double *t = new_buffer(in, (size_t)p * sizeof *t);
    double *links = new_buffer(in, (size_t)p * sizeof *links);
    int64_t *memory = new_buffer(in, (size_t)p * sizeof *memory);
    int64_t rows[4], cols[4];
    for (int32_t i = 0; i < p; i++) {
        t[i] = 1e-9 * (1 + pick_below(in, 3));
        links[i] = 1e-9 * pick_below(in, 3);
        memory[i] = pick_below(in, 2) ? 0 : pick_below(in, 40);
    }
    const int down = draw_cuts(in, platform.r, rows);
    const int across = draw_cuts(in, platform.s, cols);
    const int64_t count = down * across;
    hs_star_chunk *chunks = new_buffer(in, (size_t)count * sizeof *chunks);
    int64_t last[MOST_POOL] = {0};
    int64_t pair[MOST_POOL] = {0};
    /* most blocks in panels over a worker's current chunks, each of them ahead of the one before */
    int64_t passing[MOST_POOL] = {0};
    int after_c[MOST_POOL] = {0};
    for (int64_t c = 0; c < count; c++) {
        const int64_t i = c / across;
        const int64_t j = c % across;
        const int32_t held = pick_below(in, 3);
        const int32_t buffers = 1 + pick_below(in, 2);
        const int32_t w = pick_below(in, p);
        chunks[c] = (hs_star_chunk){.worker = w,
                                    .held = held,
                                    .buffers = buffers,
                                    .row = rows[i],
                                    .col = cols[j],
                                    .height = rows[i + 1] - rows[i],
                                    .width = cols[j + 1] - cols[j],
                                    .depth = 1 + pick_below(in, 4)};
        int64_t own;
        const int64_t passes = count_passing(&chunks[c], platform.t, &own);
        chunks[c].ahead = held == HS_STAR_HOLD_C && after_c[w] && pick_below(in, 2);
        after_c[w] = held == HS_STAR_HOLD_C;
        if (!chunks[c].ahead) last[w] = pair[w] = passing[w] = 0;
        if (last[w] + own > pair[w]) pair[w] = last[w] + own;
        if (passes > passing[w]) passing[w] = passes;
        last[w] = own;
        const int64_t needs = pair[w] + passing[w];
        if (needs > memory[w] && pick_below(in, 64)) memory[w] = needs;
    }
    platform.cycle_times = t;
    platform.link_costs = links;
    platform.memory = memory;
    hs_star_product how = {.star = &platform,
                           .chunk_count = count,
                           .chunks = chunks,
                           .order = HS_STAR_DEMAND,
                           .block = block};
    test_run run = {.options.pace = draw_pace_or_null(in, p)};
    const int which = pick_below(in, 8);
    if (which & 1) run.trace.times.finish = new_buffer(in, (size_t)p * sizeof(double));
    if (which & 2) run.trace.times.busy = new_buffer(in, (size_t)p * sizeof(double));
    if (which & 4) how.peak = new_buffer(in, (size_t)p * sizeof *how.peak);
    int64_t messages = 0;
    double makespan;
    const hs_status model = hs_star_simulate(&platform, count, chunks, HS_STAR_DEMAND, 0, NULL, 0,
                                             NULL, NULL, &messages, &makespan);
    HOLDS(model == HS_OK || model == HS_ERROR_VALUE);
    if (!model) {
        how.messages = new_buffer(in, (size_t)messages * sizeof *how.messages);
        how.message_capacity = messages;
        HOLDS(hs_star_simulate(&platform, count, chunks, HS_STAR_DEMAND, 0, NULL, 0, NULL,
                               how.messages, &messages, &makespan) == HS_OK);
        int32_t *served = new_buffer(in, (size_t)messages * sizeof *served);
        for (int64_t e = 0; e < messages; e++) served[e] = how.messages[e].worker;
        if (take_byte(in) == 255 && messages) served[0] = (int32_t)draw_extreme(in);
        if (pick_below(in, 2)) {
            how.order = HS_STAR_LISTED;
            how.length = messages;
            how.served = served;
        }
    }
    const hs_status status = run_star(pool_of(p), &x.x, &how, &run);
    HOLDS(status == HS_OK || status == HS_ERROR_VALUE);
    if (status) {
        HOLDS(same_bytes(&x.c));
        return;
    }
    HOLDS(!model && how.message_count == messages);
    for (int32_t i = 0; i < p && how.peak; i++) HOLDS(how.peak[i] >= 0 && how.peak[i] <= memory[i]);
    check_run(&run, p, 0);
    check_product(&x);
}

HARNESS(by_boxes, by_boxes, gemm, star)
