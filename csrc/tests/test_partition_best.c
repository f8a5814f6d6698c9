/* hs_partition_best, hs_zones_spans and hs_zones_flaw: every method and option against its own
 * zones, the best against all methods, zones that were given, refusals, ends of searches. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MOST = 20 };

/* A plan with memory for its arrays. */
typedef struct {
    hs_partition_plan is;
    hs_certificate proof;
    int32_t plan[2 * MOST], order[MOST], start[MOST + 1], workers[3 * MOST];
    double rects[12 * MOST], areas[MOST];
    int64_t cells[12 * MOST];
} planned;

static hs_status plan_it(const hs_partition *problem, const hs_effort *effort, const int *cancel,
                         planned *out)
{
    out->is = (hs_partition_plan){.plan = out->plan,
                                  .order = out->order,
                                  .column_start = out->start,
                                  .workers = out->workers,
                                  .rects = out->rects,
                                  .cells = out->cells,
                                  .areas = out->areas};
    return hs_partition_best(problem, effort, cancel, &out->is, &out->proof);
}

static int32_t draw_areas(int32_t p, double *areas)
{
    int32_t size = 0;
    const int kind = (int)check_random(4);
    for (int32_t i = 0; i < p; i++) {
        switch (kind) {
        case 0: areas[i] = 1.0; break;
        case 1: areas[i] = check_random(3); break;
        case 2: areas[i] = pow(10, (double)check_random(1000) / 200); break;
        default: areas[i] = 1.0 + check_random(9);
        }
        size += areas[i] > 0.0;
    }
    if (size) return size;
    areas[0] = 1.0;
    return 1;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Checks that the zones tile the whole, and that their cost is that of the certificate. */
static void check_zones(const hs_partition *x, const planned *found)
{
    const double m = x->m ? (double)x->m : 1.0;
    const double n = x->m ? (double)x->n : 1.0;
    double spans[2 * MOST], areas[MOST];
    double sum = 0.0;
    double most = 0.0;
    int32_t flaw, at[2];
    CHECK(hs_zones_flaw(m, n, x->m ? 0.0 : 1e-9, found->is.pieces, found->rects, NULL, &flaw, at) ==
              HS_OK &&
          flaw == HS_FLAW_NONE);
    CHECK(hs_zones_spans(x->p, found->is.pieces, found->workers, found->rects, spans, areas) ==
          HS_OK);
    CHECK(memcmp(areas, found->areas, (size_t)x->p * sizeof *areas) == 0);
    for (int32_t k = 0; k < found->is.pieces; k++) {
        CHECK(x->areas[found->workers[k]] > 0.0);
        CHECK(k == 0 || found->workers[k] >= found->workers[k - 1]);
        for (int q = 0; q < 4 && x->m; q++)
            CHECK((double)found->cells[4 * k + q] == found->rects[4 * k + q]);
    }
    for (int32_t i = 0; i < x->p; i++) {
        const double cost = (x->weights ? x->weights[i] : 1.0) * (spans[2 * i] + spans[2 * i + 1]);
        sum += cost;
        most = fmax(most, cost);
    }
    if (!x->groups)
        CHECK(fabs((x->largest ? most : sum) - found->proof.value) <= 1e-12 * found->proof.value);
    CHECK(found->proof.bound <= found->proof.value);
}

/* Checks that the columns contain each worker with a zone once, and stand side by side. */
static void check_columns(const planned *found, int32_t p)
{
    int32_t seen = 0;
    if (!found->is.columns) return;
    CHECK(found->start[0] == 0);
    for (int32_t j = 0; j < found->is.columns; j++) CHECK(found->start[j] < found->start[j + 1]);
    for (int32_t i = 0; i < p; i++) seen += found->areas[i] > 0.0;
    CHECK(found->start[found->is.columns] == seen);
}

/* Plans by all methods; the best is no worse than any of them, and is what the method that won
 * finds alone. */
static void every_method(void)
{
    static planned best, one;
    for (int round = 0; round < CHECK_MANY(300, 20); round++) {
        double areas[MOST], weights[MOST];
        const int32_t p = 1 + (int32_t)check_random(6);
        const int32_t size = draw_areas(p, areas);
        hs_partition x = {.p = p, .areas = areas};
        for (int32_t i = 0; i < p; i++) weights[i] = 1.0 + (double)check_random(4);
        if (round % 2) x.m = 3 + (int64_t)check_random(40);
        if (round % 2) x.n = 2 + (int64_t)check_random(40);
        if (round % 3 == 0) x.weights = weights;
        x.largest = round % 5 == 0;
        if (!CHECK(plan_it(&x, NULL, NULL, &best) == HS_OK)) return;
        check_zones(&x, &best);
        check_columns(&best, p);
        CHECK(best.is.method > HS_PARTITION_BEST && best.is.method < HS_PARTITION_SEARCH);
        for (x.method = HS_PARTITION_COLUMNS; x.method <= HS_PARTITION_MOHAMMADI_BEHROOZI;
             x.method++) {
            if (x.method == HS_PARTITION_CONTIGUOUS && !x.m) continue;
            if (!CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK)) return;
            check_zones(&x, &one);
            check_columns(&one, p);
            CHECK(one.is.method == x.method);
            CHECK((one.is.length == 0) == (x.method == HS_PARTITION_CONTIGUOUS));
            CHECK((one.is.columns > 0) ==
                  (x.method == HS_PARTITION_COLUMNS || x.method == HS_PARTITION_ROWS ||
                   x.method == HS_PARTITION_KALINOV_LASTOVETSKY));
            if (!x.m && x.method != HS_PARTITION_CONTIGUOUS)
                CHECK(best.proof.value <= one.proof.value * (1 + 1e-12));
            if (x.method == best.is.method && !x.largest)
                CHECK(one.proof.value == best.proof.value);
        }
        x.method = HS_PARTITION_COLUMNS;
        x.columns = 1 + (int32_t)check_random((unsigned)size);
        const hs_status status = plan_it(&x, NULL, NULL, &one);
        CHECK(status == HS_OK ? one.is.columns <= x.columns : status == HS_ERROR_INFEASIBLE);
    }
}

/* The zones of full columns, computed without a tree, are the zones of their floorplan, to the last
 * bit. */
static void columns_of_the_floorplan(void)
{
    static planned one;
    for (int round = 0; round < CHECK_MANY(400, 30); round++) {
        double areas[MOST], rects[8 * MOST];
        int32_t workers[2 * MOST], pieces;
        const int32_t p = 1 + (int32_t)check_random(MOST);
        draw_areas(p, areas);
        const hs_partition x = {.p = p, .areas = areas, .method = HS_PARTITION_COLUMNS};
        if (!CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK)) return;
        if (!CHECK(hs_floorplan_rects(p, areas, NULL, 1.0, one.plan, one.is.length, workers, rects,
                                      &pieces, NULL) == HS_OK))
            return;
        CHECK(pieces == one.is.pieces);
        for (int32_t k = 0; k < pieces; k++)
            for (int32_t q = 0; q < pieces; q++)
                if (one.workers[q] == workers[k])
                    CHECK(memcmp(rects + 4 * k, one.rects + 4 * q, 4 * sizeof *rects) == 0);
        for (int32_t j = 0; j < one.is.columns; j++)
            for (int32_t k = one.start[j]; k + 1 < one.start[j + 1]; k++)
                CHECK(areas[one.order[k]] > 0.0);
    }
}

static void groups_and_scopes(void)
{
    static planned best, one;
    const double areas[] = {3, 1, 2, 2, 4, 1};
    const int32_t groups[] = {0, 0, 1, 1, 3, 3};
    hs_partition x = {.p = 6, .areas = areas, .groups = groups, .group_cost = 2.0};
    if (!CHECK(plan_it(&x, NULL, NULL, &best) == HS_OK)) return;
    CHECK(best.is.method == HS_PARTITION_INTERVAL);
    CHECK(strstr(best.proof.scope, "of each group") != NULL);
    x.group_cost = 0.0;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.proof.value < best.proof.value);
    check_zones(&x, &one);
    x.method = HS_PARTITION_ROWS;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    x = (hs_partition){.p = 6, .areas = areas};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK &&
          strcmp(one.proof.scope, "partitions into rectangles") == 0);
    x.method = HS_PARTITION_COLUMNS;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK &&
          strcmp(one.proof.scope, "partitions into full columns") == 0);
    x.m = x.n = 30;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.proof.scope[0] == '\0');
    /* the zone around the small one costs least: no rectangles do */
    x = (hs_partition){.p = 2, .areas = (const double[]){1, 20}};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.proof.optimal && one.is.pieces == 3 &&
          fabs(one.proof.value - (2.0 + 2.0 / sqrt(21.0))) < 1e-12);
}

/* ---- zones that were given ------------------------------------------------------------------- */

static void given_zones(void)
{
    static planned one;
    const double areas[] = {1, 0, 1};
    const double other[] = {1, 0, 3};
    double halves[] = {0, 0, 1, .5, 0, 0, 0, 0, 0, .5, 1, .5};
    hs_partition x = {
        .p = 3, .areas = areas, .method = HS_PARTITION_GIVEN, .rects = halves, .each = 1};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.is.method == HS_PARTITION_GIVEN &&
          one.proof.value == 3.0 && one.proof.optimal && one.is.pieces == 2 && one.is.length == 0 &&
          one.is.columns == 0);
    x.areas = other; /* not the areas asked for */
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && !one.proof.optimal &&
          strcmp(one.proof.scope, "zones of the areas that they have") == 0);
    x.areas = (const double[]){0, 1, 1};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    x.areas = areas;
    halves[3] = .6;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    halves[3] = NAN;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    /* an L around a corner, in whole cells */
    double corner[] = {0, 0, 1, 4, 1, 0, 3, 2, 1, 2, 3, 2, 0, 0, 0, 0};
    x = (hs_partition){.p = 2,
                       .areas = (const double[]){10, 6},
                       .method = HS_PARTITION_GIVEN,
                       .m = 4,
                       .n = 4,
                       .rects = corner,
                       .each = 2};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.proof.value == 13.0 && one.is.pieces == 3);
    corner[2] = 1.5;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    x.each = 0;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    /* a floorplan */
    const int32_t beside[] = {0, 2, HS_BESIDE};
    x = (hs_partition){
        .p = 3, .areas = areas, .method = HS_PARTITION_GIVEN, .plan = beside, .length = 3};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.proof.value == 3.0 && one.is.columns == 2 &&
          one.is.length == 3 && one.proof.scope[0] == '\0');
    x.length = 2;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    x.plan = NULL;
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_ERROR_VALUE);
    /* columns may be joined in any order */
    const int32_t chain[] = {0, 1, 2, HS_ABOVE, HS_ABOVE};
    x = (hs_partition){.p = 3,
                       .areas = (const double[]){1, 2, 3},
                       .method = HS_PARTITION_GIVEN,
                       .plan = chain,
                       .length = 5};
    CHECK(plan_it(&x, NULL, NULL, &one) == HS_OK && one.is.columns == 1 && one.start[1] == 3);
}

static void check_flaw(int32_t wanted, double m, double n, double near, int32_t pieces,
                       const double *rects, int first, int second, int line)
{
    int32_t flaw, at[2];
    check_that(hs_zones_flaw(m, n, near, pieces, rects, NULL, &flaw, at) == HS_OK && flaw == wanted,
               "the flaw", __FILE__, line);
    if (first >= 0) check_that(at[0] == first, "the first rectangle", __FILE__, line);
    if (second >= 0) check_that(at[1] == second, "the second rectangle", __FILE__, line);
}

static void flaws(void)
{
    const double halves[] = {0, 0, 2, 2, 0, 2, 2, 2};
    check_flaw(HS_FLAW_NONE, 2, 4, 0, 2, halves, -1, -1, __LINE__);
    check_flaw(HS_FLAW_AREA, 2, 5, 0, 2, halves, -1, -1, __LINE__);
    check_flaw(HS_FLAW_OUTSIDE, 2, 3, 0, 2, halves, 1, -1, __LINE__);
    check_flaw(HS_FLAW_AREA, 2, 4, 0, 0, NULL, -1, -1, __LINE__);
    const double overlap[] = {1, 0, 1, 4, 0, 0, 1, 2, 0, 1, 1, 3};
    check_flaw(HS_FLAW_OVERLAP, 2, 4, 0, 3, overlap, 1, 2, __LINE__);
    /* whole numbers whose sums and products a double rounds */
    const double most = 0x1p53;
    const double tall[] = {0, 0, most - 1, most, most - 1, 0, 1, most};
    check_flaw(HS_FLAW_NONE, most, most, 0, 2, tall, -1, -1, __LINE__);
    const double beyond[] = {1, 0, most, 1};
    check_flaw(HS_FLAW_OUTSIDE, most, 1, 0, 1, beyond, 0, -1, __LINE__);
    const double lacking[] = {0, 0, most - 1, most, most - 1, 1, 1, most - 1};
    check_flaw(HS_FLAW_AREA, most, most, 0, 2, lacking, -1, -1, __LINE__);
    const double close[] = {0, 0, 1, .5 + 1e-10, 0, .5, 1, .5};
    check_flaw(HS_FLAW_NONE, 1, 1, 1e-9, 2, close, -1, -1, __LINE__);
    check_flaw(HS_FLAW_OVERLAP, 1, 1, 1e-11, 2, close, 0, 1, __LINE__);
    int32_t flaw = -7, at[2];
    CHECK(hs_zones_flaw(0, 1, 0, 2, halves, NULL, &flaw, at) == HS_ERROR_VALUE);
    CHECK(hs_zones_flaw(1, 1, NAN, 2, halves, NULL, &flaw, at) == HS_ERROR_VALUE);
    CHECK(hs_zones_flaw(1, 1, 0, -1, halves, NULL, &flaw, at) == HS_ERROR_VALUE);
    CHECK(hs_zones_flaw(1, 1, 0, 1, (const double[]){0, 0, 1, -1}, NULL, &flaw, at) ==
          HS_ERROR_VALUE);
    CHECK_SCARCE(hs_zones_flaw(2, 4, 0, 2, halves, NULL, &flaw, at), flaw == -7);
}

static void spans_of_pieces(void)
{
    const int32_t workers[] = {2, 0, 2, 2};
    const double rects[] = {0, 0, 2, 1, 0, 5, 1, 2, 1, 0, 3, 1, 6, 0, 1, 3};
    double spans[6] = {-7}, areas[3];
    CHECK(hs_zones_spans(3, 4, workers, rects, spans, areas) == HS_OK);
    CHECK(spans[0] == 1 && spans[1] == 2 && spans[2] == 0 && spans[3] == 0 && spans[4] == 5 &&
          spans[5] == 3);
    CHECK(areas[0] == 2 && areas[1] == 0 && areas[2] == 8);
    CHECK(hs_zones_spans(2, 4, workers, rects, spans, areas) == HS_ERROR_VALUE);
    CHECK(hs_zones_spans(3, 1, (const int32_t[]){-1}, rects, spans, areas) == HS_ERROR_VALUE);
    CHECK(hs_zones_spans(3, 1, workers, (const double[]){0, 0, INFINITY, 1}, spans, areas) ==
          HS_ERROR_VALUE);
    CHECK(hs_zones_spans(0, 0, NULL, NULL, spans, areas) == HS_ERROR_VALUE);
    CHECK(hs_zones_spans(1, 0, NULL, NULL, spans, areas) == HS_OK && spans[0] == 0 &&
          areas[0] == 0);
    spans[0] = -7;
    CHECK_SCARCE(hs_zones_spans(3, 4, workers, rects, spans, areas), spans[0] == -7);
}

/* ---- refusals, ends -------------------------------------------------------------------------- */

static void check_refused(hs_status wanted, const hs_partition *x, const hs_effort *effort,
                          int line)
{
    static planned one;
    one.proof.value = -7;
    check_that(plan_it(x, effort, NULL, &one) == wanted, "refused with the documented status",
               __FILE__, line);
    check_that(one.is.method == 0 && one.is.length == 0 && one.proof.value == -7,
               "outputs untouched", __FILE__, line);
}

static void refusals(void)
{
    const double areas[MOST] = {1, 2, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const double huge[] = {1e308, 1e308, 1e308, 1e308};
    const double zeros[4] = {0};
    const int32_t groups[] = {0, 1, 4, 0};
    const hs_partition good = {.p = 4, .areas = areas};
    hs_partition x = good;
#define REFUSED(status, field, value)              \
    do {                                           \
        x.field = (value);                         \
        check_refused(status, &x, NULL, __LINE__); \
        x = good;                                  \
    } while (0)
    REFUSED(HS_ERROR_VALUE, p, 0);
    REFUSED(HS_ERROR_VALUE, p, (INT32_C(1) << 29) + 1);
    REFUSED(HS_ERROR_VALUE, method, -1);
    REFUSED(HS_ERROR_VALUE, method, HS_PARTITION_SEARCH);
    REFUSED(HS_ERROR_VALUE, method, HS_PARTITION_GIVEN);
    REFUSED(HS_ERROR_VALUE, method, HS_PARTITION_GIVEN + 1);
    REFUSED(HS_ERROR_VALUE, method, HS_PARTITION_CONTIGUOUS);
    REFUSED(HS_ERROR_VALUE, m, 3);
    REFUSED(HS_ERROR_VALUE, m, -3);
    REFUSED(HS_ERROR_VALUE, largest, 2);
    REFUSED(HS_ERROR_VALUE, columns, 1);
    REFUSED(HS_ERROR_VALUE, groups, groups);
    REFUSED(HS_ERROR_VALUE, weights, huge);
    REFUSED(HS_ERROR_VALUE, areas, huge);
    REFUSED(HS_ERROR_VALUE, areas, zeros);
    x.method = HS_PARTITION_COLUMNS;
    x.columns = 4;
    check_refused(HS_ERROR_INFEASIBLE, &x, NULL, __LINE__);
    x = good;
    x.m = 1;
    x.n = 2;
    check_refused(HS_ERROR_INFEASIBLE, &x, NULL, __LINE__);
    x = (hs_partition){.p = MOST, .areas = areas, .method = HS_PARTITION_GUILLOTINE};
    check_refused(HS_ERROR_UNSUPPORTED, &x, NULL, __LINE__);
    x.p = 12;
    x.largest = 1;
    check_refused(HS_ERROR_UNSUPPORTED, &x, NULL, __LINE__);
    x = good;
    x.method = HS_PARTITION_CONTIGUOUS;
    x.m = x.n = INT64_C(1) << 40;
    check_refused(HS_ERROR_VALUE, &x, NULL, __LINE__);
    check_refused(HS_ERROR_VALUE, &good, &(hs_effort){.timed = 1, .seconds = NAN}, __LINE__);
    check_refused(HS_ERROR_VALUE, &good, &(hs_effort){.timed = 2}, __LINE__);
#undef REFUSED
}

static void scarce_memory(void)
{
    static planned one;
    const double areas[14] = {1, 2, 0, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    hs_partition x = {.p = 4, .areas = areas, .m = 9, .n = 9};
    one.proof.value = -7;
    CHECK_SCARCE(plan_it(&x, NULL, NULL, &one), one.proof.value == -7);
    x.largest = 1;
    x.m = x.n = 0;
    one.proof.value = -7;
    CHECK_SCARCE(plan_it(&x, NULL, NULL, &one), one.proof.value == -7);
    x = (hs_partition){.p = 14, .areas = areas};
    one.proof.value = -7;
    CHECK_SCARCE(plan_it(&x, &(hs_effort){.timed = 1}, NULL, &one), one.proof.value == -7);
}

static void *cancel_later(void *flag)
{
    const double end = hs_clock() + 0.05;
    while (hs_clock() < end) continue;
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* A search goes on for as long as it is given, and no longer than until it is cancelled. */
static void ends_of_searches(void)
{
    static planned first, second;
    double areas[16];
    for (int i = 0; i < 16; i++) areas[i] = 1.0 + (double)check_random(1000) / 100;
    const hs_partition x = {.p = 16, .areas = areas};
    CHECK(plan_it(&x, &(hs_effort){.seed = 1}, NULL, &first) == HS_OK);
    CHECK(plan_it(&x, &(hs_effort){.seed = 1}, NULL, &second) == HS_OK);
    CHECK(memcmp(first.plan, second.plan, (size_t)first.is.length * sizeof *first.plan) == 0);
    const double start = hs_clock();
    CHECK(plan_it(&x, &(hs_effort){.timed = 1, .seconds = 0.0}, NULL, &second) == HS_OK);
    const double short_search = hs_clock() - start;
    CHECK(second.proof.value <= first.proof.value * 1.01);
    CHECK(plan_it(&x, &(hs_effort){.timed = 1, .seconds = 0.1}, NULL, &second) == HS_OK);
    CHECK(hs_clock() - start >= short_search + 0.1);
    int cancel = 1;
    CHECK(plan_it(&x, NULL, &cancel, &second) == HS_ERROR_CANCELLED);
    cancel = 0;
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, cancel_later, &cancel) == 0)) return;
    CHECK(plan_it(&x, &(hs_effort){.timed = 1, .seconds = 1e308}, &cancel, &second) ==
          HS_ERROR_CANCELLED);
    pthread_join(thread, NULL);
}

int main(void)
{
    every_method();
    columns_of_the_floorplan();
    groups_and_scopes();
    given_zones();
    flaws();
    spans_of_pieces();
    refusals();
    scarce_memory();
    ends_of_searches();
    return check_result();
}
