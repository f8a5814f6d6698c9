#include "drift.h"

#include <math.h>

static double load(const double *x)
{
    double value;
    __atomic_load(x, &value, __ATOMIC_RELAXED);
    return value;
}

static void store(double *x, double value) { __atomic_store(x, &value, __ATOMIC_RELAXED); }

void hs__drift_speeds(const hs__drift *drift, const double *speeds, double *now)
{
    static const double steady = 0.9;
    double least = 1.0;
    for (int32_t w = 0; w < drift->p; w++) least = fmin(least, load(&drift->availability[w]));
    for (int32_t w = 0; w < drift->p; w++) now[w] = (speeds ? speeds[w] : 1.0) * (least < steady ? load(&drift->availability[w]) : 1.0);
}

void hs__drift_learn(hs__drift *drift, const double *speeds, const double *done, double seconds)
{
    static const double span = 20e-3, shortest = 2e-3;
    const double weight = seconds / (seconds + span);
    double best = 0.0, top = 0.0;
    for (int32_t w = 0; w < drift->p; w++)
        if (speeds ? speeds[w] > 0.0 : 1) best = fmax(best, done[w] / (speeds ? speeds[w] : 1.0));
    if (seconds < shortest || !(best > 0.0)) return;
    for (int32_t w = 0; w < drift->p; w++) {
        const double before = load(&drift->availability[w]), speed = speeds ? speeds[w] : 1.0;
        const double now = speed > 0.0 ? done[w] / speed / best : before; /* nothing was expected of it */
        store(&drift->availability[w], before + weight * (now - before));
        top = fmax(top, load(&drift->availability[w]));
    }
    for (int32_t w = 0; w < drift->p; w++) store(&drift->availability[w], load(&drift->availability[w]) / top);
}
