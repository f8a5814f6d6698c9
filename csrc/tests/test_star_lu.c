/* LU on a star: hs_star_lu_best against all widths, the times of the panels, the bound, refusals. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 3, MOST = 20, FEW_MESSAGES = 2000 };

typedef struct instance {
    hs_star_lu lu;
    double times[P], costs[P];
    int64_t memory[P];
    int64_t width;
    hs_star_decision products[MOST];
    hs_star_part parts[MOST * P];
    double makespan;
    hs_certificate certificate;
} instance;

static void draw(instance *x, int64_t n)
{
    static const int64_t sizes[] = {HS_STAR_UNLIMITED, 2, 3, 5, 12, 21, 60};
    for (int32_t i = 0; i < P; i++) {
        x->times[i] = 1 + check_random(6);
        x->costs[i] = 0.25 * check_random(4);
        x->memory[i] = sizes[check_random(7)];
    }
    x->memory[check_random(P)] = sizes[4 + check_random(3)];
    x->lu = (hs_star_lu){.n = n,
                         .p = P,
                         .cycle_times = x->times,
                         .link_costs = x->costs,
                         .memory = x->memory,
                         .master_time = check_random(2) ? 0.0 : 1 + check_random(4)};
}

static hs_status plan(instance *x, const hs_star_options *options, const hs_effort *effort)
{
    return hs_star_lu_best(&x->lu, options, effort, NULL, &x->width, x->products, x->parts,
                           &x->makespan, &x->certificate);
}

/* Writes all products, and adds their times to those of the panels. */
static void check_plan(instance *x)
{
    static hs_star_chunk chunks[4000];
    static hs_star_message messages[20000];
    double times[MOST], starts[MOST], ends[MOST];
    const hs_star_lu *lu = &x->lu;
    const int64_t count = (lu->n - 1) / x->width;
    double updates = 0.0;
    for (int64_t k = 0; k < count; k++) {
        int64_t memory[P];
        hs_star star;
        const hs_star_part *parts = x->parts + k * P;
        CHECK(hs_star_lu_product(lu, x->width, k, memory, &star) == HS_OK);
        CHECK(star.r == lu->n - (k + 1) * x->width && star.s == star.r && star.t == x->width);
        if (!CHECK(x->products[k].chunk_count <= 4000 && x->products[k].message_count <= 20000))
            return;
        CHECK(hs_star_write(&star, &x->products[k], parts, NULL, NULL, chunks, messages) == HS_OK);
        times[k] = messages[x->products[k].message_count - 1].end;
        CHECK(times[k] == x->products[k].makespan);
        for (int32_t i = 0; i < P; i++) updates += (double)parts[i].updates;
    }
    CHECK(hs_star_lu_panels(lu, x->width, times, starts, ends) == HS_OK);
    CHECK(ends[count] == x->makespan && starts[0] == 0.0);
    double master = 0.0;
    for (int64_t k = 0; k <= count; k++) {
        master += ends[k] - starts[k];
        CHECK(k == count || starts[k + 1] == ends[k] + times[k]);
    }
    const double own =
        lu->master_time > 0.0 ? lu->master_time : fmin(x->times[0], fmin(x->times[1], x->times[2]));
    const double n = (double)lu->n;
    CHECK(fabs(updates + master / own - n * n * n / 3) < 1e-9 * n * n * n);
    CHECK(x->certificate.value == x->makespan && x->certificate.bound <= x->makespan);
    hs_certificate again;
    CHECK(hs_star_lu_certificate(lu, x->makespan, NULL, &again) == HS_OK &&
          again.bound == x->certificate.bound && again.optimal == x->certificate.optimal);
}

/* With a quick rule the width is the best of all. */
static void all_widths(void)
{
    for (int round = 0; round < CHECK_MANY(40, 12); round++) {
        static instance x, other;
        draw(&x, 1 + check_random(10));
        const hs_star_options options = {.method = HS_STAR_ORROML + (int32_t)check_random(6)};
        CHECK(plan(&x, &options, NULL) == HS_OK);
        check_plan(&x);
        double least = INFINITY;
        for (int64_t width = 1; width <= x.lu.n; width++) {
            other = x;
            other.lu.cycle_times = other.times;
            other.lu.link_costs = other.costs;
            other.lu.memory = other.memory;
            other.lu.width = width;
            const hs_status status = plan(&other, &options, NULL);
            CHECK(status == HS_OK || (status == HS_ERROR_INFEASIBLE && width < x.lu.n));
            if (status) continue;
            check_plan(&other);
            CHECK(other.width == width && other.certificate.bound == x.certificate.bound);
            least = fmin(least, other.makespan);
        }
        CHECK(x.makespan == least);
    }
}

static void searches(void)
{
    for (int round = 0; round < CHECK_MANY(6, 2); round++) {
        static instance x;
        draw(&x, 2 + check_random(5));
        const hs_star_options options = {.method = round % 2 ? HS_STAR_BEST : HS_STAR_SEARCH,
                                         .messages = FEW_MESSAGES};
        CHECK(plan(&x, &options, &(hs_effort){.seed = UINT64_MAX}) == HS_OK);
        check_plan(&x);
        CHECK(plan(&x, &options, &(hs_effort){.timed = 1, .seconds = 0.01}) == HS_OK);
        check_plan(&x);
    }
}

/* n = 2 with one worker that is as fast as the master: all 8 / 3 updates by the master alone, or
 * panels of one block column with a product of one update between them. */
static void by_hand(void)
{
    const double time[] = {1}, cost[] = {1};
    const int64_t memory[] = {HS_STAR_UNLIMITED};
    instance x = {.lu = {.n = 2,
                         .width = 1,
                         .p = 1,
                         .cycle_times = time,
                         .link_costs = cost,
                         .memory = memory,
                         .master_time = 1}};
    const hs_star_options options = {.method = HS_STAR_ODDOML};
    double starts[2], ends[2];
    CHECK(plan(&x, &options, NULL) == HS_OK);
    /* panel (2 - 1/3) / 2 + 1/2, product 1 + 2 + 1 + 1, panel (1 - 1/3) / 2 */
    CHECK(fabs(x.makespan - (5.0 / 6 + 0.5 + 5 + 1.0 / 3)) < 1e-12);
    CHECK(hs_star_lu_panels(&x.lu, 1, (const double[]){5}, starts, ends) == HS_OK &&
          starts[1] == ends[0] + 5 && fabs(ends[0] - 4.0 / 3) < 1e-12);
    /* width 1: the product takes 4 on the port; width 2: the master does 8/3 updates */
    CHECK(fabs(x.certificate.bound - 8.0 / 3) < 1e-12);
    x.lu.master_time = 1000;
    CHECK(plan(&x, &options, NULL) == HS_OK);
    CHECK(fabs(x.certificate.bound - (5000.0 / 3 + 4)) < 1e-9);
    x.lu.width = 0;
    CHECK(plan(&x, &options, NULL) == HS_OK && x.width == 1);
}

static void refusals(void)
{
    static instance x;
    draw(&x, 6);
    const hs_star_options options = {.method = HS_STAR_ODDOML};
    for (int k = 0; k < 9; k++) {
        const hs_star_lu good = x.lu;
        const double time = x.times[0], cost = x.costs[0];
        const int64_t memory = x.memory[0];
        if (k == 0) x.lu.n = 0;
        if (k == 1) x.lu.n = HS_STAR_LU_MOST + 1;
        if (k == 2) x.lu.width = 7;
        if (k == 3) x.lu.width = -1;
        if (k == 4) x.lu.p = 0;
        if (k == 5) x.times[0] = 0.0;
        if (k == 6) x.costs[0] = -1.0;
        if (k == 7) x.memory[0] = -2;
        if (k == 8) x.lu.master_time = INFINITY;
        CHECK(plan(&x, &options, NULL) == HS_ERROR_VALUE);
        CHECK(hs_star_lu_certificate(&x.lu, 1.0, NULL, &x.certificate) == HS_ERROR_VALUE);
        x.lu = good;
        x.times[0] = time;
        x.costs[0] = cost;
        x.memory[0] = memory;
    }
    const hs_star_options bad[] = {
        {.method = HS_STAR_EXACT}, {.method = -1}, {.eager = 2}, {.messages = -1}};
    for (int k = 0; k < 4; k++) CHECK(plan(&x, &bad[k], NULL) == HS_ERROR_VALUE);
    int64_t memory[P];
    hs_star star;
    double numbers[MOST];
    CHECK(hs_star_lu_product(&x.lu, 2, 2, memory, &star) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_product(&x.lu, 2, -1, memory, &star) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_product(&x.lu, 0, 0, memory, &star) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_panels(&x.lu, 7, numbers, numbers, numbers) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_panels(&x.lu, 3, (const double[]){-1.0}, numbers, numbers) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_panels(&x.lu, 6, NULL, numbers, numbers) == HS_OK);
    const int stop = 1;
    CHECK(hs_star_lu_best(&x.lu, &options, NULL, &stop, &x.width, x.products, x.parts, &x.makespan,
                          &x.certificate) == HS_ERROR_CANCELLED);
    CHECK(hs_star_lu_certificate(&x.lu, 1.0, &stop, &x.certificate) == HS_ERROR_CANCELLED);
    x.makespan = -1.0;
    CHECK_SCARCE(plan(&x, &options, NULL), x.makespan == -1.0);

    /* memory for no chunk: the master does all, if it may */
    for (int32_t i = 0; i < P; i++) x.memory[i] = 2;
    CHECK(plan(&x, &options, NULL) == HS_OK && x.width == 6);
    x.lu.width = 3;
    CHECK(plan(&x, &options, NULL) == HS_ERROR_INFEASIBLE);
}

int main(void)
{
    by_hand();
    all_widths();
    searches();
    refusals();
    return check_result();
}
