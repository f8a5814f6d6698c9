/* Exact numbers of tasks for messages that are equal for all workers: the worker of send slot j and
 * receive slot k has c tasks if j send + k receive + c t <= bound, as real numbers. */
#ifndef HS_ASSIGN_SLOTS_H
#define HS_ASSIGN_SLOTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/numbers.h"

#define HS__MOST_TASKS ((double)HS__SIZE_MOST)

/* All times in units of a power of two near the bound, so that products neither overflow nor lose
 * bits. */
typedef struct hs__slotted {
    double bound, send, receive;
    int exponent;
} hs__slotted;

/* Scales a time. A time far below the last bit of any sum of the other times is set to 2^-500, and
 * a time that no sum reaches to 2^40, which does not change a result. */
static inline double hs__scale_time(double time, int exponent)
{
    return time > 0.0 ? fmin(fmax(ldexp(time, -exponent), 0x1p-500), 0x1p40) : 0.0;
}

/* The messages are at most as long as the bound, which is > 0 and finite. */
static inline hs__slotted hs__slotted_of(double bound, double send, double receive)
{
    hs__slotted x;
    frexp(bound, &x.exponent);
    x.bound = ldexp(bound, -x.exponent);
    x.send = hs__scale_time(send, x.exponent);
    x.receive = hs__scale_time(receive, x.exponent);
    return x;
}

/* Returns whether j send + k receive + c t <= bound, as real numbers. It computes the sign of a sum
 * of seven doubles, by Shewchuk's expansions. */
static inline bool hs__fits_bound(const hs__slotted *x, double j, double k, double c, double t)
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

/* Returns the largest c, but at least -2^53, where t is a scaled cycle-time and `rate` is 1 / t
 * rounded. The quotient is wrong by at most 2^-50 of the times that are added up, measured in tasks:
 * only next to an integer, or with very many tasks, the exact sum is needed. */
static inline double hs__tasks_in_slots(const hs__slotted *x, double j, double k, double t,
                                        double rate)
{
    const double messages = j * x->send + k * x->receive;
    const double quotient = (x->bound - messages) * rate;
    double c = floor(quotient);
    if (c < -HS__MOST_TASKS) return -HS__MOST_TASKS;
    if ((x->bound + messages) * rate > 0x1p40 || quotient - c < 0x1p-10 ||
        quotient - c > 1 - 0x1p-10) {
        while (c > -HS__MOST_TASKS && !hs__fits_bound(x, j, k, c, t)) c--;
        while (c < HS__MOST_TASKS && hs__fits_bound(x, j, k, c + 1, t)) c++;
    }
    return c;
}

#endif
