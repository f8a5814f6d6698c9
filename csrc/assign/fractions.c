/* An upper bound on the tasks if workers may be served, and tasks be done, in part.
 *
 * x_i is the part of worker i. A message of length m at mean time M ends at M + m / 2. With parts,
 * the workers with the least m_i t_i go first (Smith's rule). So tasks(x) = sum x_i bound / t_i -
 * quadratic costs, which is concave on [0, 1]^p. Frank-Wolfe steps maximise it; the tangent of each
 * step is a bound. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"

/* steps, and the rise of the tangent at which they end, in tasks; by hand */
enum { STEPS = 60 };
static const double LEAST_RISE = 1e-3;

typedef struct {
    int32_t p;
    const double *message; /* [p] */
    double *rate;          /* [p] 1 / cycle-time */
    int32_t *order;        /* [p] workers by Smith's rule */
} direction;

static hs_status open_direction(const hs__bus *x, const double *message, double *keys,
                                direction *way)
{
    double most = 1e-300;
    for (int32_t i = 0; i < x->p; i++) most = fmax(most, message[i]);
    for (int32_t i = 0; i < x->p; i++) keys[i] = message[i] / most * x->times[i];
    way->p = x->p;
    way->message = message;
    return hs__sort(x->p, keys, way->order);
}

/* Returns the tasks that the messages of one direction cost, and adds the slope of this cost. */
static double cost_of_messages(const direction *way, const double *part, double *slope)
{
    double value = 0.0;
    double before = 0.0;
    double after = 0.0;
    for (int32_t d = 0; d < way->p; d++) {
        const int32_t i = way->order[d];
        const double share = part[i];
        const double message = way->message[i];
        const double rate = way->rate[i];
        value += share * rate * (before + (share + 1) * message / 2);
        slope[i] += rate * (before + (share + 0.5) * message);
        before += share * message;
    }
    for (int32_t d = way->p - 1; d >= 0; d--) {
        const int32_t i = way->order[d];
        slope[i] += way->message[i] * after;
        after += part[i] * way->rate[i];
    }
    return value;
}

static double cost_of_both(const direction *ways, const double *part, double *slope)
{
    memset(slope, 0, (size_t)ways->p * sizeof *slope);
    const double first = cost_of_messages(&ways[0], part, slope);
    return first + cost_of_messages(&ways[1], part, slope);
}

hs_status hs__bound_fractions(hs__bus *x, double bound, int64_t *most)
{
    const int32_t p = x->p;
    double *work = hs__room_take(&x->prices, 5 * (size_t)p, sizeof *work);
    int32_t *orders = hs__room_take(&x->keys, 2 * (size_t)p, sizeof *orders);
    if (!work || !orders) return HS_ERROR_MEMORY;
    double *part = work;
    double *slope = work + p;
    double *target = slope + p;
    double *unused = target + p;
    double *rate = unused + p;
    direction ways[2] = {{.rate = rate, .order = orders}, {.rate = rate, .order = orders + p}};
    hs_status status = open_direction(x, x->sends, unused, &ways[0]);
    if (status == HS_OK) status = open_direction(x, x->receives, unused, &ways[1]);
    if (status != HS_OK) return status;
    for (int32_t i = 0; i < p; i++) {
        part[i] = 1.0;
        rate[i] = 1.0 / x->times[i];
    }
    double least = INFINITY;
    for (int step = 0; step < STEPS; step++) {
        if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
        const double cost = cost_of_both(ways, part, slope);
        double value = 0.0;
        double rise = 0.0;
        double along = 0.0;
        double terms = cost;
        for (int32_t i = 0; i < p; i++) {
            const double whole = bound / x->times[i];
            const double gradient = whole - slope[i];
            target[i] = gradient > 0.0 ? 1.0 : 0.0;
            const double ahead = target[i] - part[i];
            value += part[i] * whole;
            rise += gradient * ahead;
            along += slope[i] * ahead;
            terms += part[i] * whole + (whole + slope[i]) * fabs(ahead);
        }
        /* a message may be so long in comparison with the times that it overflows */
        if (!isfinite(value - cost + rise)) break;
        /* the roundings of all terms matter if large ones cancel */
        least = fmin(least, value - cost + rise + (p + 10) * 0x1p-51 * terms);
        if (rise <= LEAST_RISE) break;
        /* the curvature along the step */
        const double curve = cost_of_both(ways, target, unused) - cost - along;
        const double length = fmin(1.0, curve > 0.0 ? rise / (2 * curve) : 1.0);
        for (int32_t i = 0; i < p; i++) part[i] += (target[i] - part[i]) * length;
    }
    /* also infinite if a rate overflows */
    *most = INT64_C(1) << 62;
    if (least < HS__MOST_TASKS * p && least < HS__MOST_SUM)
        *most = (int64_t)floor(fmax(least, 0.0) * (1 + 1e-12 * p) + 1e-9);
    return HS_OK;
}
