/* Sums in pairs: eight sums side by side in short blocks, which are added up in pairs. */
#include "core/sum.h"

static double sum_from(int64_t first, int64_t count, hs__number *number, const void *context)
{
    enum { LANES = 8, BLOCK = 128 };
    if (count > BLOCK) {
        const int64_t half = count / 2 / LANES * LANES;
        return sum_from(first, half, number, context) +
               sum_from(first + half, count - half, number, context);
    }
    double sum = 0.0;
    int64_t k = 0;
    if (count >= LANES) {
        double lane[LANES];
        for (; k < LANES; k++) lane[k] = number(context, first + k);
        for (; k < count / LANES * LANES; k++) lane[k % LANES] += number(context, first + k);
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
              ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; k < count; k++) sum += number(context, first + k);
    return sum;
}

double hs__sum_numbers(int64_t count, hs__number *number, const void *context)
{
    return sum_from(0, count, number, context);
}

static double value_at(const void *values, int64_t index)
{
    return ((const double *)values)[index];
}

double hs__sum(int64_t count, const double *values) { return sum_from(0, count, value_at, values); }
