/* Demand-driven products: a lower bound on the makespan, a lower bound on the volume if work is in
 * proportion to speed, and the expected volume of the two-phase methods.
 *
 * The prediction. Let s_k be the relative speed of worker k, d the number of axes of a task, and f =
 * exp(-beta) the part of the tasks that is left when the first phase ends. While worker k gets to
 * know a fraction x of the indices of each axis, the tasks that it cannot do yet thin out by the
 * work of the other workers. In the limit of many small steps this is a differential equation,
 * whose solution is f = (1 - x^d)^(1 / s_k). So x^d = 1 - exp(-beta s_k), and the first phase sends
 * worker k a fraction x^(d - 1) of the blocks of each operand. A block that worker k then lacks has
 * n tasks, a fraction f / (1 - x^d) of which are left; each of them goes to worker k with
 * probability s_k, and the block is sent if at least one does. */
#include "schedule/dynamic.h"

#include <math.h>

#include "core/cancel.h"

bool hs__dynamic_valid(const hs_dynamic *x)
{
    if (!x || x->p < 1 || !x->cycle_times || x->kind < 0 || x->kind >= HS_DYNAMIC_KINDS)
        return false;
    if (x->n < 0 || x->n > HS_DYNAMIC_MOST_TASKS) return false;
    if (hs__dynamic_blocks(x) > HS_DYNAMIC_MOST_TASKS ||
        hs__dynamic_tasks(x) > HS_DYNAMIC_MOST_TASKS)
        return false;
    if (!hs__valid_times(x->p, x->cycle_times) || !hs__changes_valid(x->p, x->changes))
        return false;
    for (int32_t i = 0; i < x->p; i++)
        if (isfinite(x->cycle_times[i])) return true;
    return false;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Blocks a and b of two vectors allow a b tasks. Blocks of three matrices allow at most sqrt(a b c)
 * tasks (Loomis, Whitney 1949). Among integers with one sum, those that differ least have the
 * largest product. */
int64_t hs__dynamic_least(const hs_dynamic *x, int64_t tasks)
{
    const int axes = hs__dynamic_axes(x);
    const int64_t wanted = axes == 3 ? tasks * tasks : tasks;
    /* below the answer by at most three, whatever the rounding; the loop below finds it */
    int64_t sum = (int64_t)(axes * pow((double)wanted, 1.0 / axes)) - 1;
    if (!tasks) return 0;
    for (sum = hs__max(sum, axes);; sum++) {
        int64_t product = 1;
        for (int i = 0; i < axes; i++) product *= (sum + i) / axes;
        if (product >= wanted) return sum;
    }
}

static double least_time(const hs_dynamic *x, const double *times)
{
    double least = INFINITY;
    for (int32_t i = 0; i < x->p; i++) least = fmin(least, times[i]);
    return least;
}

/* Sum of the speeds, in units of that of a worker with the time `unit`. */
static double speed_of_all(const hs_dynamic *x, const double *times, double unit)
{
    double sum = 0.0;
    for (int32_t i = 0; i < x->p; i++) sum += unit / times[i];
    return sum;
}

/* Returns when all tasks are done if they are divided perfectly at every moment. */
static double ideal_end(const hs_dynamic *x)
{
    const hs_speed_changes *changes = x->changes;
    const double unit = least_time(x, x->cycle_times);
    const int32_t count = changes ? changes->count : 0;
    double left = (double)hs__dynamic_tasks(x);
    double start = 0.0;
    double speed = speed_of_all(x, x->cycle_times, unit);
    for (int32_t i = 0; i < count; i++) {
        if (changes->times[i] > start) {
            const double done = (changes->times[i] - start) / unit * speed;
            if (done >= left) break;
            left -= done;
            start = changes->times[i];
        }
        speed = speed_of_all(x, changes->cycle_times + (size_t)i * (size_t)x->p, unit);
    }
    return left > 0.0 ? start + left / speed * unit : start;
}

hs_status hs_dynamic_bounds(const hs_dynamic *product, double *volume, double *makespan)
{
    if (!hs__dynamic_valid(product) || !volume || !makespan) return HS_ERROR_VALUE;
    const int axes = hs__dynamic_axes(product);
    const double unit = least_time(product, product->cycle_times);
    const double speed = speed_of_all(product, product->cycle_times, unit);
    const double end = ideal_end(product);
    if (!isfinite(end)) return HS_ERROR_VALUE;
    double sum = 0.0;
    for (int32_t i = 0; i < product->p; i++)
        sum += pow(unit / product->cycle_times[i] / speed, (axes - 1.0) / axes);
    *volume = axes * (double)hs__dynamic_blocks(product) * sum;
    *makespan = end;
    return HS_OK;
}

/* ---- prediction ------------------------------------------------------------------------------ */

/* Returns the beta with which one task is expected to be left when the first phase ends. */
static double most_beta(const hs_dynamic *x) { return log((double)hs__dynamic_tasks(x)); }

/* Returns the expected fraction of the blocks of one operand that a worker of relative speed s > 0
 * receives. */
static double expect_fraction(int axes, double n, double beta, double s)
{
    const double cube = -expm1(-beta * s); /* x^d */
    const double known = pow(cube, (axes - 1.0) / axes);
    const double tasks_left = n * exp(-beta * (1.0 - s)); /* n f / (1 - x^d) */
    return known + (1.0 - known) * -expm1(tasks_left * log1p(-s));
}

static double expect_volume(const hs_dynamic *x, double unit, double speed, double beta)
{
    const int axes = hs__dynamic_axes(x);
    double sum = 0.0;
    for (int32_t i = 0; i < x->p; i++) {
        const double s = unit / x->cycle_times[i] / speed;
        if (s > 0.0) sum += expect_fraction(axes, (double)x->n, beta, fmin(s, 1.0));
    }
    return axes * (double)hs__dynamic_blocks(x) * sum;
}

hs_status hs_dynamic_predict(const hs_dynamic *product, double beta, double *volume)
{
    if (!hs__dynamic_valid(product) || !(beta >= 0.0) || !volume) return HS_ERROR_VALUE;
    const double unit = least_time(product, product->cycle_times);
    const double speed = speed_of_all(product, product->cycle_times, unit);
    *volume =
        product->n ? expect_volume(product, unit, speed, fmin(beta, most_beta(product))) : 0.0;
    return HS_OK;
}

hs_status hs_dynamic_beta(const hs_dynamic *product, const int *cancel, double *beta)
{
    enum { COARSE = 64, GOLDEN_STEPS = 40 };
    static const double GOLDEN = 0.6180339887498949;
    if (!hs__dynamic_valid(product) || !beta) return HS_ERROR_VALUE;
    const double unit = least_time(product, product->cycle_times);
    const double speed = speed_of_all(product, product->cycle_times, unit);
    const double most = product->n ? most_beta(product) : 0.0;
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i <= COARSE && most > 0.0; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const double volume = expect_volume(product, unit, speed, most * i / COARSE);
        if (volume < least) {
            least = volume;
            best = i;
        }
    }
    /* golden section between the neighbours of the best one */
    double low = most * hs__max(best - 1, 0) / COARSE;
    double high = most * hs__min(best + 1, COARSE) / COARSE;
    for (int i = 0; i < GOLDEN_STEPS && low < high; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const double step = GOLDEN * (high - low);
        if (expect_volume(product, unit, speed, high - step) <
            expect_volume(product, unit, speed, low + step))
            high = low + step;
        else low = high - step;
    }
    *beta = low;
    return HS_OK;
}
