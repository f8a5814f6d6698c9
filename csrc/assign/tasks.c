/* Tasks over one bus with equal messages: exact counts for each slot, and the last slot for given
 * counts. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "assign/slots.h"
#include "core/cancel.h"
#include "hetsched.h"

static bool scale_problem(double bound, int32_t p, const double *cycle_times, double send,
                          double receive, hs__slotted *x)
{
    if (!(bound > 0.0) || isinf(bound) || p < 1 || !(send >= 0.0 && send <= bound) ||
        !(receive >= 0.0 && receive <= bound))
        return false;
    *x = hs__slotted_of(bound, send, receive);
    for (int32_t i = 0; i < p; i++)
        if (!(cycle_times[i] > 0.0) || isinf(cycle_times[i]) ||
            x->bound / hs__scale_time(cycle_times[i], x->exponent) > HS__MOST_TASKS)
            return false;
    return true;
}

hs_status hs_task_counts(double bound, int32_t p, const double *cycle_times, double send,
                         double receive, int32_t slots, const int32_t *receive_slots,
                         const int *cancel, int64_t *counts)
{
    if (!cycle_times || !counts) return HS_ERROR_VALUE;
    hs__slotted x;
    if (slots < 1 || !scale_problem(bound, p, cycle_times, send, receive, &x))
        return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p && receive_slots; i++)
        if (receive_slots[i] < 0) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        const double t = hs__scale_time(cycle_times[i], x.exponent);
        const double rate = 1.0 / t;
        const double k = receive_slots ? receive_slots[i] : 0;
        for (int32_t j = 0; j < slots; j++) {
            const double c = hs__tasks_in_slots(&x, j + 1, k, t, rate);
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
    hs__slotted x;
    if (slots < 0 || !(send > 0.0) || !scale_problem(bound, p, cycle_times, send, 0.0, &x))
        return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++)
        if (counts[i] < 0 || (double)counts[i] > HS__MOST_TASKS) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        if (i % 1024 == 0 && hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        double t = hs__scale_time(cycle_times[i], x.exponent);
        double c = (double)counts[i];
        double j = fmin(fmax(floor((x.bound - c * t) / x.send), 0.0), slots);
        while (j > 0 && !hs__fits_bound(&x, j, 0.0, c, t)) j--;
        while (j < slots && hs__fits_bound(&x, j + 1, 0.0, c, t)) j++;
        deadlines[i] = (int32_t)j;
    }
    return HS_OK;
}
