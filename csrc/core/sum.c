/* hs__sum: eight sums side by side in short blocks, which are added up in pairs. */
#include "core/sum.h"

#include <string.h>

double hs__sum(int64_t count, const double *values)
{
    enum { LANES = 8, BLOCK = 128 };
    if (count > BLOCK) {
        const int64_t half = count / 2 - count / 2 % LANES;
        return hs__sum(half, values) + hs__sum(count - half, values + half);
    }
    double sum = 0.0;
    int64_t k = 0;
    if (count >= LANES) {
        double lane[LANES];
        memcpy(lane, values, sizeof lane);
        for (k = LANES; k + LANES <= count; k += LANES)
            for (int i = 0; i < LANES; i++) lane[i] += values[k + i];
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
              ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; k < count; k++) sum += values[k];
    return sum;
}
