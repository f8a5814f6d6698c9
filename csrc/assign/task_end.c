/* hs_task_end: the exact end of a plan, rounded up. */
#include <math.h>
#include <stdlib.h>

#include "assign/tasks_core.h"
#include "core/exact_sum.h"
#include "core/numbers.h"
#include "core/order.h"
#include "core/status.h"

hs_status hs_task_end(const hs_task_workers *workers, int32_t served, const int32_t *send_order,
                      const int32_t *receive_order, const int64_t *counts, double *end)
{
    if (!hs__workers_given(workers) || served < 0 || served > workers->p || !counts || !end ||
        (served > 0 && (!send_order || (workers->receives && !receive_order))))
        return HS_ERROR_VALUE;
    const int32_t p = workers->p;
    const double *sends = workers->sends;
    const double *receives = workers->receives;
    if (!hs__valid_times(p, workers->cycle_times) || (sends && !hs__valid_costs(p, sends)) ||
        (receives && !hs__valid_costs(p, receives)))
        return HS_ERROR_VALUE;
    hs_status status = hs__check_order(p, served, send_order, workers->cycle_times);
    if (status == HS_OK && receives)
        status = hs__check_order(p, served, receive_order, workers->cycle_times);
    if (status != HS_OK) return status;
    for (int32_t d = 0; d < served; d++) {
        const int32_t i = send_order[d];
        if (counts[i] < 0 || counts[i] > HS__SIZE_MOST || isinf(workers->cycle_times[i]))
            return HS_ERROR_VALUE;
    }
    hs__exact *ends = calloc((size_t)hs__max(served, 1), sizeof *ends); /* in send_order */
    int32_t *place = malloc((size_t)p * sizeof *place);
    status = hs__check_memory(ends && place);
    for (int32_t i = 0; i < p && !status; i++) place[i] = -1;
    for (int32_t d = 0; d < served && !status; d++) place[send_order[d]] = d;
    for (int32_t d = 0; d < served && receives && !status; d++)
        if (place[receive_order[d]] < 0) status = HS_ERROR_VALUE;
    hs__exact bus = {{0}};
    hs__exact last = {{0}};
    for (int32_t d = 0; d < served && !status; d++) {
        const int32_t i = send_order[d];
        if (sends) hs__exact_add(&bus, sends[i], 1);
        ends[d] = bus;
        hs__exact_add(&ends[d], workers->cycle_times[i], (uint64_t)counts[i]);
        if (hs__exact_less(&last, &ends[d])) last = ends[d];
    }
    for (int32_t d = 0; d < served && receives && !status; d++) {
        const int32_t i = receive_order[d];
        if (receives[i] == 0.0) continue;
        if (hs__exact_less(&bus, &ends[place[i]])) bus = ends[place[i]];
        hs__exact_add(&bus, receives[i], 1);
        if (hs__exact_less(&last, &bus)) last = bus;
    }
    free(ends);
    free(place);
    if (!status) *end = hs__exact_rounded(&last, true);
    return status;
}
