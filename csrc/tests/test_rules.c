/* hs_partition_rule: the paper's example, every plan read as a tree and measured on the way down,
 * what is proven of the rules, long chains, extreme areas. hs_partition_contiguous: painted cell by
 * cell. Every refusal of both. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MAX = 200, MANY = 100000 };

static const hs_rule every_rule[] = {HS_RULE_ROWS,
                                     HS_RULE_KALINOV_LASTOVETSKY,
                                     HS_RULE_RECURSIVE,
                                     HS_RULE_NAGAMOCHI_ABE,
                                     HS_RULE_SNRPP,
                                     HS_RULE_KADDOURA,
                                     HS_RULE_MOHAMMADI_BEHROOZI};

typedef struct {
    const double *areas;
    const int32_t *plan;
    int32_t at; /* the entries before this one are still to be read */
    /* sum of the areas; largest ratio of the sides of a rectangle */
    double total, ratio;
    int seen[MAX];
} reader;

/* Returns the sum of the areas of the subtree that ends before `end`; *start becomes its first
 * entry. */
static double measure_area(const reader *r, int32_t end, int32_t *start)
{
    int32_t entry = r->plan[end - 1];
    int32_t middle;
    *start = end - 1;
    if (entry >= 0) return r->areas[entry] / r->total;
    double second = measure_area(r, end - 1, &middle);
    return second + measure_area(r, middle, start);
}

/* Returns the half perimeters in a height x width box, read backwards from r->at, with square
 * corners. */
static double walk_plan(reader *r, double height, double width)
{
    int32_t entry = r->plan[--r->at];
    int32_t middle, start;
    if (entry >= 0) {
        r->seen[entry]++;
        r->ratio = fmax(r->ratio, fmax(height / width, width / height));
        return height + width;
    }
    double second = measure_area(r, r->at, &middle);
    double first = measure_area(r, middle, &start);
    double share = first / (first + second);
    if (entry == HS_BESIDE) {
        double right = walk_plan(r, height, width * (second / (first + second)));
        return right + walk_plan(r, height, width * share);
    }
    if (entry == HS_ABOVE) {
        double lower = walk_plan(r, height * (second / (first + second)), width);
        return lower + walk_plan(r, height * share, width);
    }
    CHECK(entry == HS_AROUND && r->plan[r->at - 1] >= 0);
    CHECK(sqrt(first) <= fmin(height, width) / sqrt(3) * (1 + 1e-12));
    r->seen[r->plan[--r->at]]++;
    double corner = walk_plan(r, sqrt(first), sqrt(first));
    return corner + height + width;
}

static double lower_bound_of(int32_t p, const double *areas)
{
    double total = 0;
    double sum = 0;
    for (int32_t i = 0; i < p; i++) total += areas[i];
    for (int32_t i = 0; i < p; i++) sum += 2 * sqrt(areas[i] / total);
    return sum;
}

static int by_falling_value(const void *x, const void *y)
{
    const double *a = x;
    const double *b = y;
    return (*a < *b) - (*a > *b);
}

/* Returns 1 + the largest a_i / a_(i+1) of the positive areas in descending order. */
static double steepest_ratio(int32_t p, const double *areas)
{
    double sorted[MAX];
    double most = 0;
    memcpy(sorted, areas, (size_t)p * sizeof *areas);
    qsort(sorted, (size_t)p, sizeof *sorted, by_falling_value);
    for (int32_t i = 0; i + 1 < p && sorted[i + 1] > 0; i++)
        most = fmax(most, sorted[i] / sorted[i + 1]);
    return 1 + most;
}

/* Solves, checks everything that holds for every input, and returns the cost. */
static double solve_rule(hs_rule rule, int32_t p, const double *areas, double aspect)
{
    static int32_t plan[2 * MAX];
    int32_t length = -1;
    int32_t size = 0;
    double cost = -1;
    if (!CHECK(hs_partition_rule(rule, p, areas, aspect, NULL, plan, &length, &cost) == HS_OK))
        return -1;
    reader r = {.areas = areas, .plan = plan, .at = length};
    for (int32_t i = 0; i < p; i++) {
        r.total += areas[i];
        size += areas[i] > 0;
    }
    if (!CHECK(length == 2 * size - 1)) return cost;
    double walked = walk_plan(&r, 1 / sqrt(aspect), sqrt(aspect));
    double box_ratio = fmax(aspect, 1 / aspect);
    double near = 1 + 1e-10;
    CHECK(r.at == 0);
    for (int32_t i = 0; i < p; i++) CHECK(r.seen[i] == (areas[i] > 0));
    if (rule == HS_RULE_ROWS)
        CHECK(fabs(cost - (size * sqrt(aspect) + 1 / sqrt(aspect))) <= 1e-12 * cost);
    if (rule == HS_RULE_NAGAMOCHI_ABE)
        CHECK(r.ratio <= fmax(fmax(box_ratio, 3), steepest_ratio(p, areas)) * near);
    if (rule == HS_RULE_MOHAMMADI_BEHROOZI && aspect == 1)
        CHECK(cost <= 1.203 * fmax(lower_bound_of(p, areas), size > 1 ? 3 : 2) * near);
    if (rule == HS_RULE_NAGAMOCHI_ABE && aspect == 1)
        CHECK(cost <= 1.25 * fmax(lower_bound_of(p, areas), size > 1 ? 3 : 2) * near);
    if (rule == HS_RULE_SNRPP) {
        CHECK(r.ratio <= fmax(box_ratio, 3) * near);
        CHECK(cost <= walked * near);
        if (box_ratio <= 3) CHECK(walked <= sqrt(1.5) * lower_bound_of(p, areas) * near);
    } else {
        CHECK(fabs(walked - cost) <= 1e-11 * cost);
    }
    if (rule == HS_RULE_KADDOURA)
        CHECK(cost <= solve_rule(HS_RULE_RECURSIVE, p, areas, aspect) * near);
    return cost;
}

static void paper_example(void)
{
    const double areas[] = {0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3};
    const double costs[] = {9, 6, 5.56, 251.0 / 45, 5.5};
    for (int i = 0; i < 5; i++)
        CHECK(fabs(solve_rule(every_rule[i], 8, areas, 1) - costs[i]) < 1e-12);

    /* columns of six and two workers, each 0.5 wide */
    const int32_t figure_17[] = {0, 1, -2, 2, -2, 3, -2, 4, -2, 5, -2, 6, 7, -2, -1};
    int32_t plan[16], length;
    double cost;
    CHECK(hs_partition_rule(HS_RULE_KALINOV_LASTOVETSKY, 8, areas, 1, NULL, plan, &length, &cost) ==
          HS_OK);
    CHECK(length == 15 && memcmp(plan, figure_17, sizeof figure_17) == 0);
}

static void corners(void)
{
    int32_t plan[16], length;
    double cost;
    /* Two equal workers in the corner: the corner is made 2 : 1, so that their zones are
     * squares. */
    CHECK(hs_partition_rule(HS_RULE_SNRPP, 3, (const double[]){40, 1, 1}, 1, NULL, plan, &length,
                            &cost) == HS_OK);
    CHECK(length == 5 &&
          memcmp(plan, (const int32_t[]){1, 2, HS_BESIDE, 0, HS_AROUND}, 5 * sizeof *plan) == 0);
    CHECK(fabs(cost - (2 + 4 / sqrt(42))) < 1e-14);
    CHECK(fabs(solve_rule(HS_RULE_SNRPP, 2, (const double[]){1, 20}, 1) - (2 + 2 / sqrt(21))) <
          1e-14);
    CHECK(fabs(solve_rule(HS_RULE_SNRPP, 2, (const double[]){1, 2}, 1) - 3) < 1e-14);
    CHECK(fabs(solve_rule(HS_RULE_SNRPP, 3, (const double[]){1, 1, 1}, 1) - 11.0 / 3) < 1e-14);
}

static double random_area(int kind)
{
    switch (kind) {
    case 0: return (double)check_random(4);
    case 1: return 1 + (double)check_random(20);
    case 2: return pow(10, (int)check_random(17) - 8);
    case 3: return pow(5, -(int)check_random(12));
    default: return (1 + check_random(1u << 30)) * 0x1p-30;
    }
}

static void random_areas(void)
{
    static double areas[MAX];
    for (int round = 0; round < 3000; round++) {
        int32_t p = 1 + (int32_t)check_random(round % 50 ? 12 : MAX);
        for (int32_t i = 0; i < p; i++) areas[i] = random_area(round % 5);
        areas[check_random((unsigned)p)] = 2.5; /* never all zero */
        double aspect = round % 3 ? exp2((double)check_random(400) / 100 - 2) : 1;
        for (int i = 0; i < 5; i++) solve_rule(every_rule[i], p, areas, aspect);
    }
}

static void many_areas(void)
{
    static double areas[MANY];
    static int32_t plan[2 * MANY];
    for (int kind = 0; kind < 3; kind++) {
        for (int32_t i = 0; i < MANY; i++)
            areas[i] = kind == 0 ? 1 : fmax(pow(kind == 1 ? 0.999 : 0.2, i), 1e-300);
        for (int i = 0; i < 5; i++) {
            int32_t length;
            int32_t height = 0;
            int32_t lowest = 1;
            double cost;
            if (!CHECK(hs_partition_rule(every_rule[i], MANY, areas, 1, NULL, plan, &length,
                                         &cost) == HS_OK))
                continue;
            for (int32_t q = 0; q < length; q++) {
                height += plan[q] >= 0 ? 1 : -1;
                if (height < lowest) lowest = height;
            }
            CHECK(length == 2 * MANY - 1 && height == 1 && lowest == 1);
            CHECK(cost >= lower_bound_of(MANY, areas) * (1 - 1e-9) &&
                  cost <= (MANY + 1) * (1 + 1e-9));
            if (every_rule[i] == HS_RULE_SNRPP)
                CHECK(cost <= sqrt(1.5) * lower_bound_of(MANY, areas));
        }
    }
}

static void extreme_areas(void)
{
    const double sets[][5] = {
        {DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN},
        {1e300, 1e-300, 1e-300, DBL_TRUE_MIN, 1},
        {DBL_MAX / 8, DBL_MAX / 8, DBL_MAX / 8, DBL_MAX / 8, DBL_MAX / 8}};
    const double aspects[] = {DBL_TRUE_MIN, 1e-12, 1, 1e12, DBL_MAX};
    for (int set = 0; set < 3; set++)
        for (int shape = 0; shape < 5; shape++)
            for (int i = 0; i < 5; i++) {
                int32_t plan[10], length;
                double cost;
                double aspect = aspects[shape];
                double longer = fmax(sqrt(aspect), 1 / sqrt(aspect));
                CHECK(hs_partition_rule(every_rule[i], 5, sets[set], aspect, NULL, plan, &length,
                                        &cost) == HS_OK);
                CHECK(length == 9 && isfinite(cost) && cost >= longer * (1 - 1e-12));
            }
}

static void rule_refused(int rule, int32_t p, const double *areas, double aspect, int line)
{
    int32_t plan[8] = {-7, -7, -7, -7, -7, -7, -7, -7};
    int32_t length = -7;
    double cost = -7;
    hs_status status =
        hs_partition_rule((hs_rule)rule, p, areas, aspect, NULL, plan, &length, &cost);
    check_that(status == HS_ERROR_VALUE, "refused as a value", __FILE__, line);
    for (int i = 0; i < 8; i++) check_that(plan[i] == -7, "plan untouched", __FILE__, line);
    check_that(length == -7 && cost == -7, "length and cost untouched", __FILE__, line);
}

static void blocks_refused(int64_t m, int64_t n, int32_t p, const double *areas, int line)
{
    int32_t workers[12];
    int32_t pieces = -7;
    int64_t rects[48];
    for (int i = 0; i < 12; i++) workers[i] = -7;
    for (int i = 0; i < 48; i++) rects[i] = -7;
    hs_status status = hs_partition_contiguous(m, n, p, areas, NULL, workers, rects, &pieces);
    check_that(status == HS_ERROR_VALUE && pieces == -7, "refused as a value", __FILE__, line);
    for (int i = 0; i < 12; i++) check_that(workers[i] == -7, "workers untouched", __FILE__, line);
    for (int i = 0; i < 48; i++) check_that(rects[i] == -7, "rects untouched", __FILE__, line);
}

static void refusals(void)
{
    const double good[] = {1, 2, 0, 3};
    const double bad[] = {-1, -DBL_TRUE_MIN, NAN, INFINITY, -INFINITY};
    rule_refused(-1, 4, good, 1, __LINE__);
    rule_refused(7, 4, good, 1, __LINE__);
    const double aspects[] = {0, -0.0, -1, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 7; i++) {
        rule_refused(i, 0, good, 1, __LINE__);
        rule_refused(i, -1, good, 1, __LINE__);
        rule_refused(i, INT32_MAX, good, 1, __LINE__);
        for (int k = 0; k < 6; k++) rule_refused(i, 4, good, aspects[k], __LINE__);
        for (int k = 0; k < 5; k++) {
            double areas[] = {1, 2, 0, bad[k]};
            rule_refused(i, 4, areas, 1, __LINE__);
        }
        rule_refused(i, 4, (const double[]){0, 0, -0.0, 0}, 1, __LINE__);
        rule_refused(i, 2, (const double[]){DBL_MAX, DBL_MAX}, 1, __LINE__);
    }
    const int64_t most = INT64_C(1) << 53;
    blocks_refused(0, 4, 4, good, __LINE__);
    blocks_refused(4, 0, 4, good, __LINE__);
    blocks_refused(-4, -4, 4, good, __LINE__);
    blocks_refused(most + 1, 1, 4, good, __LINE__);
    blocks_refused(most / 2 + 1, 2, 4, good, __LINE__);
    blocks_refused(INT64_MAX, INT64_MAX, 4, good, __LINE__);
    blocks_refused(4, 4, 0, good, __LINE__);
    blocks_refused(4, 4, INT32_MAX, good, __LINE__);
    for (int k = 0; k < 5; k++) {
        double areas[] = {bad[k], 2, 0, 1};
        blocks_refused(4, 4, 4, areas, __LINE__);
    }
    blocks_refused(4, 4, 4, (const double[]){0, 0, -0.0, 0}, __LINE__);
    blocks_refused(4, 4, 2, (const double[]){DBL_MAX, DBL_MAX}, __LINE__);
}

/* Pieces come in row-major order, at most three per worker, with as many cells as hs_distribute
 * says. */
static void contiguous(void)
{
    static double areas[MAX], times[MAX];
    static int32_t workers[3 * MAX];
    static int64_t rects[12 * MAX], counts[MAX];
    for (int round = 0; round < 2000; round++) {
        int64_t m = 1 + check_random(12);
        int64_t n = 1 + check_random(12);
        int32_t p = 1 + (int32_t)check_random(20);
        int32_t pieces = -1;
        int32_t owner[144];
        int32_t of_worker[MAX] = {0};
        for (int32_t i = 0; i < p; i++) areas[i] = random_area(round % 5);
        areas[check_random((unsigned)p)] = 2.5;
        if (!CHECK(hs_partition_contiguous(m, n, p, areas, NULL, workers, rects, &pieces) == HS_OK))
            continue;
        memset(owner, -1, sizeof owner);
        for (int32_t k = 0; k < pieces; k++) {
            const int64_t *rect = rects + 4 * k;
            int inside =
                rect[0] >= 0 && rect[1] >= 0 && rect[0] + rect[2] <= m && rect[1] + rect[3] <= n;
            if (!CHECK(inside && rect[2] > 0 && rect[3] > 0)) continue;
            CHECK(++of_worker[workers[k]] <= 3);
            for (int64_t row = rect[0]; row < rect[0] + rect[2]; row++)
                for (int64_t col = rect[1]; col < rect[1] + rect[3]; col++) {
                    CHECK(owner[row * n + col] == -1);
                    owner[row * n + col] = workers[k];
                }
        }
        /* long double, because one more rounding may change a tie */
        long double total = 0;
        for (int32_t i = 0; i < p; i++) total += areas[i];
        for (int32_t i = 0; i < p; i++) times[i] = (double)total / areas[i];
        CHECK(hs_distribute(m * n, p, times, NULL, counts, NULL) == HS_OK);
        for (int64_t cell = 0, i = 0; cell < m * n; cell++) {
            while (counts[i] == 0) i++;
            counts[i]--;
            CHECK(owner[cell] == i);
        }
    }
}

/* The larger part is dealt first, so it has the lowest of equal workers. */
static void ties(void)
{
    const double areas[] = {1, 1, 0, 1};
    int32_t plan[8], length;
    double cost;
    CHECK(hs_partition_rule(HS_RULE_RECURSIVE, 4, areas, 1.0, NULL, plan, &length, &cost) ==
              HS_OK &&
          length == 5);
    CHECK((plan[0] == 3) != (plan[3] == 3));
    CHECK(hs_partition_rule(HS_RULE_NAGAMOCHI_ABE, 4, areas, 1.0, NULL, plan, &length, &cost) ==
              HS_OK &&
          length == 5);
    CHECK(plan[0] == 0);
}

static void no_memory(void)
{
    const double areas[] = {1, 2, 3, 4, 50};
    for (int rule = HS_RULE_ROWS; rule <= HS_RULE_MOHAMMADI_BEHROOZI; rule++) {
        int32_t plan[10] = {-7};
        int32_t length = -7;
        double cost = -7;
        CHECK_SCARCE(hs_partition_rule(rule, 5, areas, 1.0, NULL, plan, &length, &cost),
                     plan[0] == -7 && length == -7 && cost == -7);
    }
    int32_t workers[15] = {-7};
    int32_t pieces = -7;
    int64_t rects[60] = {-7};
    CHECK_SCARCE(hs_partition_contiguous(7, 9, 5, areas, NULL, workers, rects, &pieces),
                 workers[0] == -7 && pieces == -7 && rects[0] == -7);
}

int main(void)
{
    paper_example();
    corners();
    random_areas();
    many_areas();
    extreme_areas();
    contiguous();
    refusals();
    ties();
    no_memory();
    return check_result();
}
