/* Every index in an array of the caller, in each entry: out of range it gives HS_ERROR_VALUE, and
 * neither inputs nor outputs change. The arrays end where their memory ends. One line for each
 * array of each public function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"

enum { P = 3, N = 4 };

static hs_pool *pool;

/* The array with the changed entries; all other arrays are valid. */
static int32_t *list;
static int64_t *longs;

static const double times[] = {1, 2, 4}, few[] = {.1, .2, .3}, ones[] = {1, 1, 1},
                    table[P * 6] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const double links[P * P] = {0, .1, .2, .1, 0, .3, .2, .3, 0};
static const int32_t zeros[16], order3[] = {0, 1, 2}, plan3[] = {0, 1, HS_ABOVE, 2, HS_BESIDE},
                                tree3[] = {0, 1, -1, 2, -2}, served6[6];
static const int64_t counts[] = {5, 0, 0}, rects3[] = {0, 0, 2, 2, 2, 0, 2, 2, 0, 2, 4, 2},
                     memory[] = {60, 60, 60}, rows4[] = {0, 1, 3, N}, widths[] = {1, 2, 1};
static int32_t ints[64], more[64], one_int;
static int64_t outs[64], others[64], one_long;
static double reals[256], second[256], third[256], one;
static hs_certificate certificate;
static hs_box boxes[8];
static uint64_t seed;
static int flag;

/* ---- allocate ---- */

static hs_status distribute_certificate(void)
{
    return hs_distribute_certificate(5, P, times, longs, NULL, &certificate);
}
static hs_status profile_certificate(void)
{
    return hs_profile_certificate(5, P, table, longs, NULL, &certificate);
}
static hs_status pattern_certificate(void)
{
    return hs_pattern_certificate(5, P, times, list, NULL, &certificate);
}
static hs_status pattern_best(void)
{
    return hs_pattern_best(5, P, times, HS_PATTERN_GIVEN, 0, NULL, list, reals, &certificate);
}
static hs_status factor_simulate(int32_t kind, int32_t grid)
{
    return hs_factor_simulate(kind, 9, 9, 3, P, times, list, grid, NULL, NULL, &one, NULL, NULL,
                              NULL, NULL, NULL);
}
static hs_status lu_columns(void) { return factor_simulate(HS_LU, 0); }
static hs_status lu_grid(void) { return factor_simulate(HS_LU, 1); }
static hs_status cholesky_grid(void) { return factor_simulate(HS_CHOLESKY, 1); }
static hs_status factor_certificate(void)
{
    return hs_factor_certificate(HS_QR, 9, 9, 3, P, times, list, 0, NULL, NULL, &certificate);
}
static hs_status lu_grid_deal(void) { return hs_lu_grid_deal(N, P, times, list, 5, NULL, ints); }
static hs_status lu_grid_evaluate(void)
{
    return hs_lu_grid_evaluate(N, P, times, list, NULL, reals, outs, others);
}
static hs_status lu_grid_certificate(void)
{
    return hs_lu_grid_certificate(N, P, times, 0, list, NULL, &certificate);
}
static hs_status lu_grid_best(void)
{
    const hs_lu_grid grid = {N, P, times, 0};
    hs_lu_grid_result result = {list, reals, second, outs, others, 0};
    hs_lu_grid_method found;
    return hs_lu_grid_best(&grid, HS_LU_GRID_GIVEN, NULL, &found, &result, &certificate);
}
static hs_status wavefront_makespan(void)
{
    return hs_wavefront_makespan(4, 5, P, times, list, 0, HS_ROW_WISE, NULL, &one, reals, second);
}
static hs_status wavefront_certificate(void)
{
    return hs_wavefront_certificate(4, 5, P, times, list, 0, HS_ROW_WISE, NULL, &certificate);
}

/* ---- assign ---- */

static hs_status sends(void)
{
    return hs_task_orders(9, P, times, few, few, P, list, order3, outs);
}
static hs_status answers(void)
{
    return hs_task_orders(9, P, times, few, few, P, order3, list, outs);
}
static hs_status end_of_sends(void)
{
    const hs_task_workers workers = {P, times, few, few, 0, 0};
    return hs_task_end(&workers, P, list, order3, counts, &one);
}
static hs_status end_of_answers(void)
{
    const hs_task_workers workers = {P, times, few, few, 0, 0};
    return hs_task_end(&workers, P, order3, list, counts, &one);
}
static hs_status divisible(int32_t *send, int32_t *receive)
{
    return hs_divisible_orders(P, times, few, few, 9, 1, 0, NULL, send, receive, reals, &one,
                               &flag);
}
static hs_status divisible_sends(void)
{
    memcpy(more, order3, sizeof order3);
    return divisible(list, more);
}
static hs_status divisible_answers(void)
{
    memcpy(more, order3, sizeof order3);
    return divisible(more, list);
}

/* ---- partition ---- */

static hs_status partition_plan(void)
{
    const hs_partition x = {
        .p = P, .areas = ones, .method = HS_PARTITION_GIVEN, .plan = list, .length = 5};
    hs_partition_plan found = {0};
    return hs_partition_best(&x, NULL, NULL, &found, &certificate);
}
static hs_status partition_groups(void)
{
    const hs_partition x = {.p = P, .areas = ones, .groups = list};
    hs_partition_plan found = {0};
    return hs_partition_best(&x, NULL, NULL, &found, &certificate);
}
static hs_status spans_workers(void) { return hs_zones_spans(P, P, list, table, reals, second); }
static hs_status floorplan_rects(void)
{
    return hs_floorplan_rects(P, times, ones, 1, list, 5, ints, reals, &one_int, &one);
}
static hs_status floorplan_tile(void)
{
    return hs_floorplan_tile(8, 8, P, times, list, 5, NULL, ints, outs, &one_int);
}
static hs_status floorplan_certificate(void)
{
    return hs_floorplan_certificate(P, times, ones, 1, list, 5, &certificate);
}
static hs_status partition_search(void)
{
    return hs_partition_search(P, times, ones, 1, 9, 0, NULL, list, 5, &seed, &one);
}
static hs_status zones_workers(void)
{
    return hs_zones_certificate(N, N, P, ones, P, list, rects3, &certificate);
}
static hs_status zones_rects(void)
{
    return hs_zones_certificate(N, N, P, ones, P, order3, longs, &certificate);
}
static hs_status interval_order(void)
{
    return hs_partition_interval(P, times, ones, 1, list, NULL, 1, 0, NULL, ints, &one_int, &one);
}
static hs_status interval_groups(void)
{
    return hs_partition_interval(P, times, ones, 1, NULL, list, 1, 0, NULL, ints, &one_int, &one);
}
static hs_status nonrectangular(void)
{
    return hs_partition_nonrectangular(P, times, ones, 1, list, NULL, ints, &one_int, &one);
}
static hs_status largest(void)
{
    return hs_partition_largest(P, times, ones, 1, list, NULL, ints, &one_int, &one);
}
static hs_status cuboids(void)
{
    return hs_partition_cuboids(P, times, ones, 7, list, 1, 1, NULL, ints, &one_int, &one);
}
static hs_status cuboid_boxes(void) { return hs_cuboid_boxes(P, times, list, 5, reals); }
static hs_status tile_cuboids(void)
{
    return hs_tile_cuboids(8, 8, 8, P, times, list, 5, NULL, outs);
}
static hs_status cuboids_certificate(void)
{
    return hs_cuboids_certificate(P, times, ones, list, 5, &certificate);
}

/* ---- ring, layers, star ---- */

static const hs_ring ring = {.p = P, .cycle_times = times, .links = links, .work = 9, .volume = 1};
static hs_status ring_shares(void) { return hs_ring_shares(&ring, P, list, NULL, reals, &one); }
static hs_status ring_certificate(void)
{
    return hs_ring_certificate(&ring, P, list, NULL, NULL, &certificate);
}
static hs_status ring_search(void)
{
    one_int = P;
    return hs_ring_search(&ring, 9, NULL, list, &one_int, &seed, &one);
}
static hs_status ring_tour(void) { return hs_ring_tour(&ring, 9, NULL, list, &seed); }
static hs_status ring_size(void)
{
    memcpy(ints, order3, sizeof order3);
    return hs_ring_search(&ring, 9, NULL, ints, list, &seed, &one);
}

static const hs_layers layers = {
    .mode = HS_SCSS, .p = P, .layers = 5, .compute = times, .send = few};
static hs_status schedule_order(void)
{
    return hs_layers_schedule(&layers, list, counts, reals, second, third, &one);
}
static hs_status schedule_counts(void)
{
    return hs_layers_schedule(&layers, order3, longs, reals, second, third, &one);
}
static hs_status layers_relaxed(void) { return hs_layers_relaxed(&layers, list, reals, &one); }
static hs_status layers_paper(void) { return hs_layers_paper(&layers, list, reals, outs); }
static hs_status layers_exact(void) { return hs_layers_exact(&layers, list, NULL, outs, &flag); }
static hs_status layers_certificate(void)
{
    return hs_layers_certificate(&layers, list, counts, NULL, &certificate);
}
static hs_status layers_counts(void)
{
    return hs_layers_certificate(&layers, order3, longs, NULL, &certificate);
}

static hs_status plan_layers(int32_t *order, int64_t *given)
{
    const hs_layers_product product = {HS_SCSS, P, 5, times, few, NULL, 0};
    hs_layers_result result = {given, order, P, reals, second, third, 0};
    return hs_layers_plan(&product, HS_LAYERS_GIVEN, NULL, &result, &certificate);
}
static hs_status layers_plan_order(void)
{
    memcpy(outs, counts, sizeof counts);
    memcpy(ints, list, sizeof order3);
    return plan_layers(ints, outs);
}
static hs_status layers_plan_counts(void)
{
    memcpy(ints, order3, sizeof order3);
    return plan_layers(ints, longs);
}

static const hs_star star = {
    .r = N, .s = N, .t = N, .p = P, .cycle_times = times, .link_costs = few, .memory = memory};
static const hs_star_chunk chunk = {
    .held = HS_STAR_HOLD_C, .buffers = 2, .height = N, .width = N, .depth = 1};
static hs_status star_listed(void)
{
    return hs_star_simulate(&star, 1, &chunk, HS_STAR_LISTED, 6, list, 0, NULL, NULL, &one_long,
                            &one);
}
static hs_status star_written(void)
{
    const hs_star_decision decision = {
        .method = HS_STAR_EXACT, .chunk_count = 1, .message_count = 6};
    static const hs_star_part parts[P];
    static hs_star_message messages[6];
    hs_star_chunk own = chunk;
    return hs_star_write(&star, &decision, parts, list, NULL, &own, messages);
}
static hs_status star_panels(void)
{
    return hs_star_simulate(&star, 1, &chunk, HS_STAR_PANELS, 4, list, 0, NULL, NULL, &one_long,
                            &one);
}

/* ---- runs ---- */

static hs_status boxes_of_counts(void)
{
    return hs_boxes_of_counts(0, 5, 5, 5, P, longs, boxes, &one_int);
}
static hs_status domain_of(void)
{
    static const hs_domain domains[P] = {{0}};
    hs_pool *made = NULL;
    const hs_status status = hs_pool_create_domains(P, NULL, P, domains, list, &made);
    hs_pool_destroy(made);
    return status;
}

static double a[N * N], b[N * N], c[N * N];

static hs_product product_of(void)
{
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, a, b, c);
    return product;
}

static hs_status sum_rows(void)
{
    static const hs_box halves[] = {
        {.height = N, .width = N, .length = 2},
        {.worker = 2, .depth = 2, .height = N, .width = N, .length = 2}};
    const hs_product product = product_of();
    return hs_run_product(pool, &product,
                          &(hs_boxes){.box = halves, .count = 2, .layered = 1, .sum_rows = longs},
                          NULL, NULL);
}

static hs_status star_served(void)
{
    const hs_product product = product_of();
    hs_star_product what = {.star = &star,
                            .chunk_count = 1,
                            .chunks = &chunk,
                            .order = HS_STAR_LISTED,
                            .length = 6,
                            .served = list,
                            .block = 1};
    return hs_run_star(pool, &product, &what, NULL, NULL);
}

static hs_factor factor_of(int32_t kind)
{
    hs_factor factor;
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++) a[i * N + i] = i + 2;
    hs_factor_default(&factor, kind, HS_FLOAT64, N, N, a);
    factor.block = 1;
    factor.pivots = ints;
    factor.tau = reals;
    return factor;
}

static hs_status run_factor(int32_t kind, int32_t grid)
{
    hs_factor factor = factor_of(kind);
    factor.owner = list;
    factor.grid = grid;
    return hs_run_factor(pool, &factor, NULL, NULL);
}
static hs_status run_lu(void) { return run_factor(HS_LU, 0); }
static hs_status run_lu_grid(void) { return run_factor(HS_LU, 1); }
static hs_status run_cholesky_grid(void) { return run_factor(HS_CHOLESKY, 1); }
static hs_status run_qr_grid(void) { return run_factor(HS_QR, 1); }

static hs_status lu_solve(void)
{
    hs_factor factor = factor_of(HS_LU);
    factor.pivots = list;
    return hs_lu_solve(pool, &factor, 0, N, b, N, 1, NULL, NULL);
}
static hs_status lu_inverse(void)
{
    hs_factor factor = factor_of(HS_LU);
    factor.pivots = list;
    return hs_lu_inverse(pool, &factor, c, N, 1, NULL, NULL);
}

static void tile(void *context, int64_t row, int64_t col, int64_t height, int64_t width)
{
    (void)context;
    (void)row;
    (void)col;
    (void)height;
    (void)width;
}
static hs_status wavefront(void)
{
    const hs_wavefront w = {
        .m = 8, .n = 8, .rows = 2, .cols = N, .axis = 1, .owner = list, .tile = tile};
    return hs_run_wavefront(pool, &w, NULL, NULL);
}
static hs_status wavefront_of_rows(void)
{
    const hs_wavefront w = {.m = 8, .n = 8, .rows = N, .cols = 2, .owner = list, .tile = tile};
    return hs_run_wavefront(pool, &w, NULL, NULL);
}

static hs_status slices(const int32_t *members, const int64_t *sides)
{
    const hs_slices x = {.dtype = HS_FLOAT64,
                         .m = N,
                         .n = N,
                         .source = a,
                         .source_row_stride = N,
                         .source_col_stride = 1,
                         .target = c,
                         .target_row_stride = N,
                         .target_col_stride = 1,
                         .weight = .25,
                         .steps = 2,
                         .size = P,
                         .ring = members,
                         .widths = sides};
    return hs_run_slices(pool, &x, NULL, NULL);
}
static hs_status slices_ring(void) { return slices(list, widths); }
static hs_status slices_widths(void) { return slices(order3, longs); }

/* ---- lists of int32_t, and of int64_t ---- */

/* good [length]: accepted values; end: the least number that is out of range. */
static const struct {
    const char *name;
    hs_status (*call)(void);
    const int32_t *good;
    int32_t length, end;
} LISTS[] = {
    {"hs_pattern_best: owner", pattern_best, zeros, 5, P},
    {"hs_pattern_certificate: owner", pattern_certificate, zeros, 5, P},
    {"hs_factor_simulate: owner", lu_columns, zeros, 3, P},
    {"hs_factor_simulate: owner in both directions", lu_grid, zeros, 9, P},
    {"hs_factor_simulate: owner of Cholesky", cholesky_grid, zeros, 9, P},
    {"hs_factor_certificate: owner", factor_certificate, zeros, 3, P},
    {"hs_lu_grid_deal: plan", lu_grid_deal, plan3, 5, P},
    {"hs_lu_grid_evaluate: owner", lu_grid_evaluate, zeros, N *N, P},
    {"hs_lu_grid_certificate: owner", lu_grid_certificate, zeros, N *N, P},
    {"hs_lu_grid_best: owner", lu_grid_best, zeros, N *N, P},
    {"hs_wavefront_makespan: owner", wavefront_makespan, zeros, 5, P},
    {"hs_wavefront_certificate: owner", wavefront_certificate, zeros, 5, P},
    {"hs_task_orders: send_order", sends, order3, P, P},
    {"hs_task_orders: receive_order", answers, order3, P, P},
    {"hs_task_end: send_order", end_of_sends, order3, P, P},
    {"hs_task_end: receive_order", end_of_answers, order3, P, P},
    {"hs_divisible_orders: send_order", divisible_sends, order3, P, P},
    {"hs_divisible_orders: receive_order", divisible_answers, order3, P, P},
    {"hs_floorplan_rects: plan", floorplan_rects, plan3, 5, P},
    {"hs_floorplan_tile: plan", floorplan_tile, plan3, 5, P},
    {"hs_floorplan_certificate: plan", floorplan_certificate, plan3, 5, P},
    {"hs_partition_search: plan", partition_search, plan3, 5, P},
    {"hs_partition_best: plan", partition_plan, plan3, 5, P},
    {"hs_partition_best: groups", partition_groups, zeros, P, P},
    {"hs_zones_spans: workers", spans_workers, zeros, P, P},
    {"hs_zones_certificate: workers", zones_workers, order3, P, P},
    {"hs_partition_interval: order", interval_order, order3, P, P},
    {"hs_partition_interval: groups", interval_groups, zeros, P, P},
    {"hs_partition_nonrectangular: order", nonrectangular, order3, P, P},
    {"hs_partition_largest: order", largest, order3, P, P},
    {"hs_partition_cuboids: order", cuboids, order3, P, P},
    {"hs_cuboid_boxes: tree", cuboid_boxes, tree3, 5, P},
    {"hs_tile_cuboids: tree", tile_cuboids, tree3, 5, P},
    {"hs_cuboids_certificate: tree", cuboids_certificate, tree3, 5, P},
    {"hs_ring_shares: ring", ring_shares, order3, P, P},
    {"hs_ring_certificate: ring", ring_certificate, order3, P, P},
    {"hs_ring_search: ring", ring_search, order3, P, P},
    {"hs_ring_search: size", ring_size, (const int32_t[]){P}, 1, P + 1},
    {"hs_ring_tour: ring", ring_tour, order3, P, P},
    {"hs_layers_schedule: order", schedule_order, order3, P, P},
    {"hs_layers_relaxed: order", layers_relaxed, order3, P, P},
    {"hs_layers_paper: order", layers_paper, order3, P, P},
    {"hs_layers_exact: order", layers_exact, order3, P, P},
    {"hs_layers_certificate: order", layers_certificate, order3, P, P},
    {"hs_layers_plan: order", layers_plan_order, order3, P, P},
    {"hs_star_simulate: served", star_listed, served6, 6, P},
    {"hs_star_write: served", star_written, served6, 6, P},
    {"hs_star_simulate: served by panels", star_panels, served6, 4, P},
    {"hs_pool_create_domains: domain_of", domain_of, order3, P, P},
    {"hs_run_star: served", star_served, served6, 6, P},
    {"hs_run_factor: owner of LU", run_lu, zeros, N, P},
    {"hs_run_factor: owner of LU in both directions", run_lu_grid, zeros, N *N, P},
    {"hs_run_factor: owner of Cholesky in both directions", run_cholesky_grid, zeros, N *N, P},
    {"hs_run_factor: owner of QR in both directions", run_qr_grid, zeros, N *N, P},
    {"hs_lu_solve: pivots", lu_solve, zeros, N, N},
    {"hs_lu_inverse: pivots", lu_inverse, zeros, N, N},
    {"hs_run_wavefront: owner", wavefront, zeros, N, P},
    {"hs_run_wavefront: owner of rows", wavefront_of_rows, zeros, N, P},
    {"hs_run_slices: ring", slices_ring, order3, P, P},
};

static const struct {
    const char *name;
    hs_status (*call)(void);
    const int64_t *good;
    int32_t length;
} LONGS[] = {
    {"hs_distribute_certificate: counts", distribute_certificate, counts, P},
    {"hs_profile_certificate: counts", profile_certificate, counts, P},
    {"hs_zones_certificate: rects", zones_rects, rects3, 4 * P},
    {"hs_layers_schedule: counts", schedule_counts, counts, P},
    {"hs_layers_certificate: counts", layers_counts, counts, P},
    {"hs_layers_plan: counts", layers_plan_counts, counts, P},
    {"hs_boxes_of_counts: counts", boxes_of_counts, counts, P},
    {"hs_run_product: sum_rows", sum_rows, rows4, P + 1},
    {"hs_run_slices: widths", slices_widths, widths, P},
};

static void expect(const char *name, hs_status status, hs_status wanted, int entry,
                   long long number)
{
    if (!CHECK(status == wanted))
        fprintf(stderr, "  %s: status %d with %lld as entry %d\n", name, status, number, entry);
}

static void lists(void)
{
    for (size_t f = 0; f < sizeof LISTS / sizeof *LISTS; f++) {
        const int32_t length = LISTS[f].length;
        const int32_t bad[] = {-1, LISTS[f].end, INT32_MIN, INT32_MAX, -100};
        const size_t bytes = (size_t)length * sizeof *list;
        list = malloc(bytes);
        if (!CHECK(list != NULL)) return;
        memcpy(list, LISTS[f].good, bytes);
        expect(LISTS[f].name, LISTS[f].call(), HS_OK, -1, 0);
        for (int32_t i = 0; i < length; i++)
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                memcpy(list, LISTS[f].good, bytes);
                /* -1 is an operator, too */
                if (list[i] < 0 && bad[k] == -1) continue;
                list[i] = bad[k];
                expect(LISTS[f].name, LISTS[f].call(), HS_ERROR_VALUE, i, bad[k]);
                CHECK(list[i] == bad[k]);
            }
        free(list);
    }
}

static void long_lists(void)
{
    for (size_t f = 0; f < sizeof LONGS / sizeof *LONGS; f++) {
        static const int64_t bad[] = {-1,        INT64_MIN,        INT64_MAX,
                                      INT32_MIN, INT64_C(1) << 53, INT64_MAX / 2};
        const int32_t length = LONGS[f].length;
        const size_t bytes = (size_t)length * sizeof *longs;
        longs = malloc(bytes);
        if (!CHECK(longs != NULL)) return;
        memcpy(longs, LONGS[f].good, bytes);
        expect(LONGS[f].name, LONGS[f].call(), HS_OK, -1, 0);
        for (int32_t i = 0; i < length; i++)
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                memcpy(longs, LONGS[f].good, bytes);
                longs[i] = bad[k];
                expect(LONGS[f].name, LONGS[f].call(), HS_ERROR_VALUE, i, bad[k]);
            }
        free(longs);
    }
}

/* ---- structures ---- */

static const int64_t any_bad[] = {-1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
enum { BAD = sizeof any_bad / sizeof *any_bad };

static void product_boxes(void)
{
    const hs_product product = product_of();
    for (int layered = 0; layered < 2; layered++)
        for (int field = -1; field < 7; field++)
            for (int k = 0; k < BAD; k++) {
                hs_box *box = malloc(sizeof *box);
                if (!CHECK(box != NULL)) return;
                *box = (hs_box){.height = N, .width = N, .length = N};
                int64_t *const sides[] = {&box->row,    &box->col,   &box->depth,
                                          &box->height, &box->width, &box->length};
                if (field >= 0 && field < 6) *sides[field] = any_bad[k];
                if (field == 6) box->worker = k ? (int32_t)any_bad[k % 3] : P;
                const hs_status status = hs_run_product(
                    pool, &product, &(hs_boxes){.box = box, .count = 1, .layered = layered}, NULL,
                    NULL);
                expect("hs_run_product: box", status, field < 0 ? HS_OK : HS_ERROR_VALUE, field,
                       any_bad[k]);
                free(box);
            }
}

static void star_chunks(void)
{
    const hs_product product = product_of();
    for (int field = -1; field < 9; field++)
        for (int k = 0; k < BAD; k++) {
            hs_star_chunk *own = malloc(sizeof *own);
            if (!CHECK(own != NULL)) return;
            *own = chunk;
            int64_t *const sides[] = {&own->row, &own->col, &own->height, &own->width, &own->depth};
            int32_t *const others_of[] = {&own->worker, &own->held, &own->buffers, &own->ahead};
            /* any depth above 0 is valid */
            const int64_t bad = field == 4 && any_bad[k] > 0 ? 0 : any_bad[k];
            if (field >= 0 && field < 5) *sides[field] = bad;
            if (field >= 5) *others_of[field - 5] = k % 3 ? (int32_t)any_bad[k % 3] : 3;
            hs_star_product what = {.star = &star,
                                    .chunk_count = 1,
                                    .chunks = own,
                                    .order = HS_STAR_DEMAND,
                                    .block = 1};
            const hs_status wanted = field < 0 ? HS_OK : HS_ERROR_VALUE;
            expect("hs_run_star: chunks", hs_run_star(pool, &product, &what, NULL, NULL), wanted,
                   field, bad);
            expect("hs_star_simulate: chunks",
                   hs_star_simulate(&star, 1, own, HS_STAR_DEMAND, 0, NULL, 0, NULL, NULL,
                                    &one_long, &one),
                   wanted, field, bad);
            free(own);
        }
}

static void star_shares(void)
{
    for (int field = -1; field < 6; field++)
        for (int k = 0; k < BAD; k++) {
            hs_star_share *shares = calloc(P, sizeof *shares);
            if (!CHECK(shares != NULL)) return;
            hs_star_share *own = &shares[P - 1];
            *own = (hs_star_share){N, 1, 1, HS_STAR_HOLD_C, 2, 0};
            int64_t *const sides[] = {&own->columns, &own->rows, &own->panels};
            int32_t *const others_of[] = {&own->held, &own->buffers, &own->ahead};
            if (field >= 0 && field < 3) *sides[field] = any_bad[k];
            if (field >= 3) *others_of[field - 3] = k % 3 ? (int32_t)any_bad[k % 3] : 3;
            if (field == 4 && k % 3 == 0) own->buffers = -2;
            expect("hs_star_cut: shares", hs_star_cut(&star, 0, shares, &one_long, NULL),
                   field < 0 ? HS_OK : HS_ERROR_VALUE, field, any_bad[k]);
            free(shares);
        }
}

int main(void)
{
    if (!CHECK(hs_pool_create(P, NULL, &pool) == HS_OK)) return check_result();
    lists();
    long_lists();
    product_boxes();
    star_chunks();
    star_shares();
    hs_pool_destroy(pool);
    return check_result();
}
