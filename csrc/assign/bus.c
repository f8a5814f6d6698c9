/* The able workers of a platform on one bus, as the solvers of tasks use them, and the memory that the
 * solvers share. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/effort.h"
#include "core/numbers.h"

void *hs__room_take(hs__room *room, size_t count, size_t size)
{
    if (count > SIZE_MAX / size) return NULL;
    const size_t bytes = count * size;
    if (bytes > room->bytes) {
        free(room->at);
        room->at = malloc(bytes);
        room->bytes = room->at ? bytes : 0;
    }
    return room->at;
}

void hs__room_free(hs__room *room)
{
    free(room->at);
    *room = (hs__room){0};
}

bool hs__workers_given(const hs_task_workers *workers)
{
    return workers && workers->p >= 1 && workers->cycle_times;
}

bool hs__plan_given(const hs_task_plan *plan)
{
    return plan && plan->counts && plan->send_order && plan->receive_order;
}

hs_status hs__bus_open(int32_t p, const hs_effort *effort, const int *cancel, hs__bus *x)
{
    const size_t size = (size_t)p;
    *x = (hs__bus){.cancel = cancel,
                   .seed = 1 + hs__effort_seed(effort),
                   .end = hs__effort_end(effort),
                   .own = malloc(size * (3 * sizeof(double) + sizeof(int32_t)))};
    if (!x->own) return HS_ERROR_MEMORY;
    x->times = x->own;
    x->sends = x->times + size;
    x->receives = x->sends + size;
    x->worker = (int32_t *)(x->receives + size);
    return HS_OK;
}

void hs__bus_close(hs__bus *x)
{
    free(x->own);
    hs__room_free(&x->tried);
    hs__room_free(&x->slots);
    hs__room_free(&x->weights);
    hs__room_free(&x->cube);
    hs__room_free(&x->keys);
    hs__room_free(&x->prices);
    hs__matching_close(&x->matching);
    *x = (hs__bus){0};
}

static bool are_equal(int32_t p, const double *messages)
{
    for (int32_t i = 1; i < p && messages; i++)
        if (messages[i] != messages[0]) return false;
    return true;
}

static bool is_any_positive(int32_t p, const double *messages)
{
    for (int32_t i = 0; i < p; i++)
        if (messages[i] > 0.0) return true;
    return false;
}

bool hs__bus_set(hs__bus *x, int32_t p, const double *cycle_times, const double *sends,
                 const double *receives)
{
    if (!hs__valid_times(p, cycle_times) || (sends && !hs__valid_costs(p, sends)) ||
        (receives && !hs__valid_costs(p, receives)))
        return false;
    x->p = 0;
    for (int32_t i = 0; i < p; i++) {
        if (isinf(cycle_times[i])) continue;
        x->worker[x->p] = i;
        x->times[x->p] = cycle_times[i];
        x->sends[x->p] = sends ? sends[i] : 0.0;
        x->receives[x->p] = receives ? receives[i] : 0.0;
        x->p++;
    }
    if (!x->p) return false;
    x->sends_equal = are_equal(p, sends);
    x->receives_equal = are_equal(p, receives);
    x->linked = !x->sends_equal || !x->receives_equal;
    x->send = x->sends[0];
    x->receive = x->receives[0];
    x->sending = is_any_positive(x->p, x->sends);
    x->returning = is_any_positive(x->p, x->receives);
    x->answering = receives && is_any_positive(p, receives);
    return true;
}

bool hs__bus_fits(const hs__bus *x, double bound)
{
    double sum = 0.0;
    for (int32_t i = 0; i < x->p; i++) {
        const double most = bound / x->times[i];
        if (!(most <= HS__MOST_TASKS)) return false;
        sum += most;
    }
    return sum < HS__MOST_SUM;
}

hs_status hs__found_open(int32_t p, hs__room *room, hs__found *one, hs__found *other)
{
    const size_t size = (size_t)p;
    int64_t *longs = hs__room_take(room, 4 * size, sizeof *longs);
    if (!longs) return HS_ERROR_MEMORY;
    int32_t *ints = (int32_t *)(longs + 2 * size);
    *one = (hs__found){.counts = longs, .sends = ints, .receives = ints + size};
    if (other)
        *other = (hs__found){
            .counts = longs + size, .sends = ints + 2 * size, .receives = ints + 3 * size};
    return HS_OK;
}

void hs__found_copy(int32_t p, const hs__found *from, hs__found *to)
{
    memcpy(to->counts, from->counts, (size_t)p * sizeof *to->counts);
    memcpy(to->sends, from->sends, (size_t)p * sizeof *to->sends);
    memcpy(to->receives, from->receives, (size_t)p * sizeof *to->receives);
    to->method = from->method;
    to->tasks = from->tasks;
    to->bound = from->bound;
}

hs_status hs__match(hs__bus *x, int32_t rows, int32_t cols, const int64_t *weights,
                    int32_t *col_of_row, int64_t *total)
{
    const int32_t shorter = (int32_t)hs__min(rows, cols);
    const int32_t longer = (int32_t)hs__max(rows, cols);
    if (shorter > x->shorter || longer > x->longer) {
        hs__matching_close(&x->matching);
        x->shorter = (int32_t)hs__max(shorter, x->shorter);
        x->longer = (int32_t)hs__max(longer, x->longer);
        const hs_status status = hs__matching_open(x->shorter, x->longer, &x->matching);
        if (status != HS_OK) {
            x->shorter = 0;
            x->longer = 0;
            return status;
        }
    }
    const hs_status status =
        hs__match_rows(&x->matching, rows, cols, weights, x->cancel, col_of_row);
    if (!total) return status;
    *total = 0;
    for (int32_t i = 0; i < rows && status == HS_OK; i++)
        if (col_of_row[i] >= 0) *total += weights[(size_t)i * (size_t)cols + (size_t)col_of_row[i]];
    return status;
}
