/* Learns the workers' recent speeds from shared runs, as an exponentially weighted mean. */
#include "threads/drift.h"

#include <math.h>

static double load_relaxed(const _Atomic double *x)
{
    return atomic_load_explicit(x, memory_order_relaxed);
}

static void store_relaxed(_Atomic double *x, double value)
{
    atomic_store_explicit(x, value, memory_order_relaxed);
}

static double weighted_mean(double before, double now, double weight)
{
    return before + weight * (now - before);
}

static double speed_of(const double *speeds, int32_t w) { return speeds ? speeds[w] : 1.0; }

static double find_largest(int32_t p, const double *x)
{
    double most = 0.0;
    for (int32_t w = 0; w < p; w++) most = fmax(most, x[w]);
    return most;
}

void hs__drift_availability(const hs__drift *drift, const double *speeds, double *availability)
{
    const int known = atomic_load_explicit(&drift->known, memory_order_acquire);
    double best = 0.0;
    for (int32_t w = 0; known && w < drift->p; w++)
        if (speed_of(speeds, w) > 0.0)
            best = fmax(best, load_relaxed(&drift->rate[w]) / speed_of(speeds, w));
    for (int32_t w = 0; w < drift->p; w++) {
        const int counts = best > 0.0 && isfinite(best) && speed_of(speeds, w) > 0.0;
        availability[w] =
            counts ? fmin(1.0, load_relaxed(&drift->rate[w]) / speed_of(speeds, w) / best) : 1.0;
    }
}

void hs__drift_speeds(const hs__drift *drift, const double *speeds, double *now)
{
    static const double steady = 0.9;
    double least = 1.0;
    hs__drift_availability(drift, speeds, now);
    for (int32_t w = 0; w < drift->p; w++) least = fmin(least, now[w]);
    for (int32_t w = 0; w < drift->p; w++)
        now[w] = speed_of(speeds, w) * (least < steady ? now[w] : 1.0);
}

void hs__drift_learn(hs__drift *drift, const double *speeds, const double *done, double seconds)
{
    /* `least` keeps a share for every worker, so that a slow worker can show later that it has
     * recovered. */
    static const double span = 20e-3;
    static const double shortest = 2e-3;
    static const double least = 1e-3;
    const double most = find_largest(drift->p, done);
    const double fastest = speeds ? find_largest(drift->p, speeds) : 1.0;
    if (seconds < shortest || !(most > 0.0) || !(fastest > 0.0)) return;
    const double weight = seconds / (seconds + span);
    double top = 0.0;
    for (int32_t w = 0; w < drift->p; w++) {
        if (!drift->known) store_relaxed(&drift->rate[w], speed_of(speeds, w) / fastest);
        top = fmax(top, weighted_mean(load_relaxed(&drift->rate[w]), done[w] / most, weight));
    }
    for (int32_t w = 0; w < drift->p; w++)
        store_relaxed(
            &drift->rate[w],
            fmax(weighted_mean(load_relaxed(&drift->rate[w]), done[w] / most, weight) / top,
                 least));
    atomic_store_explicit(&drift->known, 1, memory_order_release);
}
