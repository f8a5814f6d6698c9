/* Tasks over one bus with equal messages: exact counts for each slot, and the last slot for given
 * counts. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/cancel.h"
#include "hetsched.h"

/* All times in units of a power of two near the bound, so that products neither overflow nor lose
 * bits. */
typedef struct {
    double bound, send, receive;
    int exponent;
} scale;

static const double MOST = 0x1p53;

/* Scales a time. A time far below the last bit of any sum of the other times is set to 2^-500, and
 * a time that no sum reaches to 2^40, which does not change a result. */
static double scale_time(double time, int exponent)
{
    return time > 0.0 ? fmin(fmax(ldexp(time, -exponent), 0x1p-500), 0x1p40) : 0.0;
}

static bool scale_problem(double bound, int32_t p, const double *cycle_times, double send,
                          double receive, scale *x)
{
    if (!(bound > 0.0) || isinf(bound) || p < 1 || !(send >= 0.0 && send <= bound) ||
        !(receive >= 0.0 && receive <= bound))
        return false;
    frexp(bound, &x->exponent);
    x->bound = ldexp(bound, -x->exponent);
    x->send = scale_time(send, x->exponent);
    x->receive = scale_time(receive, x->exponent);
    for (int32_t i = 0; i < p; i++)
        if (!(cycle_times[i] > 0.0) || isinf(cycle_times[i]) ||
            x->bound / scale_time(cycle_times[i], x->exponent) > MOST)
            return false;
    return true;
}

/* Returns whether j send + k receive + c t <= bound, as real numbers. It computes the sign of a sum
 * of seven doubles, by Shewchuk's expansions. */
static bool fits_bound(const scale *x, double j, double k, double c, double t)
{
    const double factors[3][2] = {{j, x->send}, {k, x->receive}, {c, t}};
    double parts[7] = {-x->bound};
    int size = 1;
    for (int f = 0; f < 3; f++) {
        double high = factors[f][0] * factors[f][1];
        double pair[2] = {fma(factors[f][0], factors[f][1], -high), high};
        for (int q = 0; q < 2; q++) {
            double carry = pair[q];
            for (int i = 0; i < size; i++) {
                double sum = carry + parts[i];
                double part = sum - carry;
                parts[i] = (carry - (sum - part)) + (parts[i] - part);
                carry = sum;
            }
            parts[size++] = carry;
        }
    }
    while (size > 1 && parts[size - 1] == 0.0) size--;
    return parts[size - 1] <= 0.0;
}

hs_status hs_task_counts(double bound, int32_t p, const double *cycle_times, double send,
                         double receive, int32_t slots, const int32_t *receive_slots,
                         const int *cancel, int64_t *counts)
{
    if (!cycle_times || !counts) return HS_ERROR_VALUE;
    scale x;
    if (slots < 1 || !scale_problem(bound, p, cycle_times, send, receive, &x))
        return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p && receive_slots; i++)
        if (receive_slots[i] < 0) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        double t = scale_time(cycle_times[i], x.exponent);
        double k = receive_slots ? receive_slots[i] : 0;
        for (int32_t j = 0; j < slots; j++) {
            double quotient = (x.bound - (j + 1) * x.send - k * x.receive) / t;
            double c = floor(quotient);
            if (c < -MOST) c = -MOST;
            else if (fabs(c) > 0x1p30 || quotient - c < 0x1p-10 || quotient - c > 1 - 0x1p-10) {
                /* otherwise rounding cannot matter */
                while (c > -MOST && !fits_bound(&x, j + 1, k, c, t)) c--;
                while (c < MOST && fits_bound(&x, j + 1, k, c + 1, t)) c++;
            }
            counts[(size_t)i * (size_t)slots + (size_t)j] = (int64_t)c;
        }
    }
    return HS_OK;
}

hs_status hs_task_deadlines(double bound, int32_t p, const double *cycle_times, double send,
                            int32_t slots, const int64_t *counts, const int *cancel,
                            int32_t *deadlines)
{
    if (!cycle_times || !counts || !deadlines) return HS_ERROR_VALUE;
    scale x;
    if (slots < 0 || !(send > 0.0) || !scale_problem(bound, p, cycle_times, send, 0.0, &x))
        return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++)
        if (counts[i] < 0 || (double)counts[i] > MOST) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        if (i % 1024 == 0 && hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        double t = scale_time(cycle_times[i], x.exponent);
        double c = (double)counts[i];
        double j = fmin(fmax(floor((x.bound - c * t) / x.send), 0.0), slots);
        while (j > 0 && !fits_bound(&x, j, 0.0, c, t)) j--;
        while (j < slots && fits_bound(&x, j + 1, 0.0, c, t)) j++;
        deadlines[i] = (int32_t)j;
    }
    return HS_OK;
}
