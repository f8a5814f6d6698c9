/* LU on a star: hs_star_lu_best against all widths and all shares of the master, the times of the
 * panels, the bound, refusals. */
#include <math.h>
#include <string.h>

#include "../core/numbers.h"
#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { P = 3, MOST = 20, FEW_MESSAGES = 2000 };

typedef struct instance {
    hs_star_lu lu;
    double times[P], costs[P];
    int64_t memory[P];
    int64_t width;
    int64_t own[MOST];
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
    return hs_star_lu_best(&x->lu, options, effort, NULL, &x->width, x->own, x->products, x->parts,
                           &x->makespan, &x->certificate);
}

/* Time of the master per update. */
static double own_time(const hs_star_lu *lu)
{
    double fastest = lu->cycle_times[0];
    for (int32_t i = 1; i < lu->p; i++) fastest = fmin(fastest, lu->cycle_times[i]);
    return lu->master_time > 0.0 ? lu->master_time : fastest;
}

/* Updates that factor a panel of w columns and h rows, and that solve for the rows beside it. */
static double factor_of(double h, double w) { return h * w * w / 2 - w * w * w / 6; }
static double solve_of(double h, double w) { return w * w * (h - w) / 2; }

/* Writes all products, and follows the master through its panels and columns. */
static void check_plan(instance *x)
{
    static hs_star_chunk chunks[4000];
    static hs_star_message messages[20000];
    double times[MOST] = {0};
    hs_star_lu_panel panels[MOST];
    const hs_star_lu *lu = &x->lu;
    const int64_t count = (lu->n - 1) / x->width;
    const double master = own_time(lu);
    const double near = 1e-12 * x->makespan;
    double updates = 0.0;
    double now = 0.0; /* of the master */
    double returned = 0.0;
    for (int64_t k = 0; k < count; k++) {
        int64_t memory[P];
        hs_star star;
        const hs_star_part *parts = x->parts + k * P;
        const int64_t rest = lu->n - (k + 1) * x->width;
        const int64_t own = x->own[k];
        CHECK(own == 0 || (own >= x->width || own == rest));
        for (int32_t i = 0; i < P; i++) updates += (double)parts[i].updates;
        if (own == rest) {
            CHECK(x->products[k].chunk_count == 0 && x->products[k].makespan == 0.0);
            continue;
        }
        CHECK(hs_star_lu_product(lu, x->width, k, own, memory, &star) == HS_OK);
        CHECK(star.r == rest && star.s == rest - own && star.t == x->width);
        if (!CHECK(x->products[k].chunk_count <= 4000 && x->products[k].message_count <= 20000))
            return;
        CHECK(hs_star_write(&star, &x->products[k], parts, NULL, NULL, chunks, messages) == HS_OK);
        times[k] = messages[x->products[k].message_count - 1].end;
        CHECK(times[k] == x->products[k].makespan);
    }
    CHECK(hs_star_lu_panels(lu, x->width, x->own, times, panels) == HS_OK);
    CHECK(panels[count].end == x->makespan && panels[0].start == 0.0);
    for (int64_t k = 0; k <= count; k++) {
        const double h = (double)(lu->n - k * x->width);
        const double w = fmin(h, (double)x->width);
        const double own = k < count ? (double)x->own[k] : 0.0;
        if (k && x->own[k - 1] == 0) now = returned;
        CHECK(fabs(panels[k].start - now) <= near);
        now += master * factor_of(h, w);
        CHECK(fabs(panels[k].factored - now) <= near);
        now = fmax(now, returned);
        CHECK(fabs(panels[k].solving - now) <= near);
        now += master * solve_of(h, w);
        CHECK(fabs(panels[k].end - now) <= near);
        returned = now + (k < count ? times[k] : 0.0);
        now += master * own * w * (h - w);
        CHECK(fabs(panels[k].updated - now) <= near);
        updates += factor_of(h, w) + solve_of(h, w) + own * w * (h - w);
    }
    const double n = (double)lu->n;
    CHECK(fabs(updates - n * n * n / 3) < 1e-9 * n * n * n);
    CHECK(x->certificate.value == x->makespan && x->certificate.bound <= x->makespan);
    hs_certificate again;
    CHECK(hs_star_lu_certificate(lu, x->makespan, NULL, &again) == HS_OK &&
          again.bound == x->certificate.bound && again.optimal == x->certificate.optimal);
}

/* The makespan with panels of a width, if in each step the best of all shares of the master is
 * taken. */
static double try_all_shares(const hs_star_lu *lu, int64_t width, int32_t rule)
{
    const double master = own_time(lu);
    const double n = (double)lu->n;
    double end = master * (factor_of(n, (double)width) + solve_of(n, (double)width));
    for (int64_t k = 0; k < (lu->n - 1) / width; k++) {
        const int64_t rest = lu->n - (k + 1) * width;
        const int64_t next = hs__min(width, rest);
        const double factor = master * factor_of((double)rest, (double)next);
        double least = INFINITY;
        for (int64_t own = 0; own <= rest; own += own ? 1 : next) {
            int64_t memory[P], columns[P], updates[P];
            hs_star star;
            hs_star_summary found = {0};
            if (own < rest) {
                CHECK(hs_star_lu_product(lu, width, k, own, memory, &star) == HS_OK);
                if (hs_star_plan(&star, rule, HS_STAR_ALL, 0, NULL, &found, columns, updates, NULL,
                                 NULL) != HS_OK)
                    continue;
            }
            const double updated = master * (double)(own * width * rest);
            least =
                fmin(least, own ? fmax(updated + factor, found.makespan) : found.makespan + factor);
        }
        end += least + master * solve_of((double)rest, (double)next);
    }
    return end;
}

/* With a quick rule the width is the best of all, and so is each share of the master. */
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
            CHECK(plan(&other, &options, NULL) == HS_OK);
            check_plan(&other);
            CHECK(other.width == width && other.certificate.bound == x.certificate.bound);
            const double wanted = try_all_shares(&other.lu, width, options.method);
            CHECK(fabs(other.makespan - wanted) <= 1e-12 * wanted);
            least = fmin(least, other.makespan);
        }
        CHECK(x.makespan == least);
    }
}

/* The workers and the master end a long step together, up to a few columns. */
static void even_shares(void)
{
    for (int round = 0; round < CHECK_MANY(20, 6); round++) {
        static instance x;
        draw(&x, 48);
        x.lu.width = 3 + check_random(20);
        const hs_star_options options = {.method = HS_STAR_ODDOML};
        CHECK(plan(&x, &options, NULL) == HS_OK);
        check_plan(&x);
        const double wanted = try_all_shares(&x.lu, x.lu.width, HS_STAR_ODDOML);
        CHECK(x.makespan >= wanted * (1 - 1e-12) && x.makespan <= 1.02 * wanted);
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

/* n = 2 with one worker: all 8 / 3 updates by the master alone, or panels of one block column with
 * an update of one block between them, by the worker or by the master. */
static void by_hand(void)
{
    const double time[] = {1};
    const double cost[] = {1};
    const int64_t memory[] = {HS_STAR_UNLIMITED};
    const int64_t none[] = {0};
    const int64_t one[] = {1};
    instance x = {.lu = {.n = 2,
                         .width = 1,
                         .p = 1,
                         .cycle_times = time,
                         .link_costs = cost,
                         .memory = memory,
                         .master_time = 1}};
    const hs_star_options options = {.method = HS_STAR_ODDOML};
    hs_star_lu_panel panels[2];
    CHECK(plan(&x, &options, NULL) == HS_OK && x.own[0] == 1);
    CHECK(fabs(x.makespan - 8.0 / 3) < 1e-12);
    /* panel (2 - 1/3) / 2 + 1/2, product 1 + 2 + 1 + 1, panel (1 - 1/3) / 2 */
    CHECK(hs_star_lu_panels(&x.lu, 1, none, (const double[]){5}, panels) == HS_OK);
    CHECK(fabs(panels[0].factored - 5.0 / 6) < 1e-12 && fabs(panels[0].end - 4.0 / 3) < 1e-12);
    CHECK(panels[0].updated == panels[0].end && panels[1].start == panels[0].end + 5);
    CHECK(fabs(panels[1].end - (5.0 / 6 + 0.5 + 5 + 1.0 / 3)) < 1e-12);
    CHECK(hs_star_lu_panels(&x.lu, 1, one, (const double[]){0}, panels) == HS_OK);
    CHECK(panels[1].start == panels[0].end + 1 && panels[1].start == panels[0].updated);
    /* width 1: the update takes 4 on the port, 1 by the master; together less, but the next panel
     * needs it; width 2: the master does 8/3 updates */
    CHECK(fabs(x.certificate.bound - 8.0 / 3) < 1e-12);
    x.lu.master_time = 1000;
    CHECK(plan(&x, &options, NULL) == HS_OK && x.own[0] == 0);
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
        const double time = x.times[0];
        const double cost = x.costs[0];
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
    const int64_t own[] = {1, 0};
    const double times[] = {1.0, -1.0};
    hs_star star;
    hs_star_lu_panel panels[MOST];
    CHECK(hs_star_lu_product(&x.lu, 2, 2, 0, memory, &star) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_product(&x.lu, 2, -1, 0, memory, &star) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_product(&x.lu, 0, 0, 0, memory, &star) == HS_ERROR_VALUE);
    for (int64_t wrong = -1; wrong <= 5; wrong++) /* 4 columns are left, the next panel has 2 */
        CHECK(hs_star_lu_product(&x.lu, 2, 0, wrong, memory, &star) ==
              (wrong == 0 || wrong == 2 || wrong == 3 ? HS_OK : HS_ERROR_VALUE));
    CHECK(hs_star_lu_panels(&x.lu, 7, own, times, panels) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_panels(&x.lu, 2, own, times, panels) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_panels(&x.lu, 3, own + 1, times + 1, panels) == HS_ERROR_VALUE);
    CHECK(hs_star_lu_panels(&x.lu, 3, own + 1, times, panels) == HS_OK);
    CHECK(hs_star_lu_panels(&x.lu, 6, NULL, NULL, panels) == HS_OK);
    const int stop = 1;
    CHECK(hs_star_lu_best(&x.lu, &options, NULL, &stop, &x.width, x.own, x.products, x.parts,
                          &x.makespan, &x.certificate) == HS_ERROR_CANCELLED);
    CHECK(hs_star_lu_certificate(&x.lu, 1.0, &stop, &x.certificate) == HS_ERROR_CANCELLED);
    x.makespan = -1.0;
    CHECK_SCARCE(plan(&x, &options, NULL), x.makespan == -1.0);

    /* memory for no chunk: the master does all */
    for (int32_t i = 0; i < P; i++) x.memory[i] = 2;
    CHECK(plan(&x, &options, NULL) == HS_OK && x.width == 6);
    x.lu.width = 3;
    CHECK(plan(&x, &options, NULL) == HS_OK && x.own[0] == 3);
    check_plan(&x);
}

int main(void)
{
    by_hand();
    all_widths();
    even_shares();
    searches();
    refusals();
    return check_result();
}
