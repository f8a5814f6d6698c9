/* Tasks over one bus with equal messages for all workers: matchings of workers and slots.
 *
 * Messages in one direction: a matching of workers and send slots is optimal (2001 paper, section
 * 4.1). If no worker can do two tasks while the bus sends all messages, a late slot costs a worker
 * at most one task, and the largest number of workers in time, by earliest deadline first, is an
 * optimal matching. Both directions: the paper's two matchings with a part of the time each,
 * improved in turn, then prices on the slots of the answers, and for few workers dynamic
 * programming over pairs of sets of slots. */
#include <math.h>
#include <string.h>

#include "assign/slots.h"
#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sort.h"

/* Fractions of the time that the first of the two starting matchings gets. The paper takes one half.
 * The other fractions are tried only if the plan is not improved by prices afterwards. */
static const double SPLITS[] = {0.5, 0.25, 0.75, 0.0, 1.0};
enum { SPLIT_COUNT = 5 };

/* One direction of the bus: `time.send` is the message of the slots that are to be found, and
 * `time.receive` that of the other direction. */
typedef struct {
    hs__slotted time;
    int32_t slots;
} side;

static side side_of(double bound, double message, double other, int32_t slots)
{
    return (side){.time = hs__slotted_of(bound, message, other), .slots = slots};
}

/* Returns the number of workers that the bus can serve: the largest j <= p with j (send + receive)
 * <= bound. */
static int32_t count_slots(const hs__bus *x, double bound)
{
    if (x->send > bound || x->receive > bound) return 0;
    const hs__slotted time = hs__slotted_of(bound, x->send, x->receive);
    const double message = time.send + time.receive;
    if (message == 0.0) return x->p;
    double slots = fmin(floor(time.bound / message), x->p);
    while (slots > 0 && !hs__fits_bound(&time, slots, slots, 0.0, 0.0)) slots--;
    while (slots < x->p && hs__fits_bound(&time, slots + 1, slots + 1, 0.0, 0.0)) slots++;
    return (int32_t)slots;
}

/* Computes the tasks [p * slots] of each worker in each slot of this side, if it has slot others[i]
 * on the other side, or none if others is NULL. Slots beyond the bus's slots allow no tasks.
 * Negative numbers say how many tasks are missing; `least` is the least number stored. */
static hs_status fill_weights(const hs__bus *x, const side *s, const int32_t *others, int64_t least,
                              int64_t *weights)
{
    for (int32_t i = 0; i < x->p; i++) {
        if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
        const double t = hs__scale_time(x->times[i], s->time.exponent);
        const double rate = 1.0 / t;
        const int32_t k = others ? others[i] : 0;
        int64_t *own = weights + (size_t)i * (size_t)s->slots;
        for (int32_t j = 0; j < s->slots; j++) {
            const int64_t tasks =
                k > s->slots ? 0 : (int64_t)hs__tasks_in_slots(&s->time, j + 1, k, t, rate);
            own[j] = hs__max(tasks, least);
        }
    }
    return HS_OK;
}

static int64_t *take_weights(hs__bus *x, int32_t slots)
{
    return hs__room_take(&x->weights, (size_t)x->p * (size_t)slots, sizeof(int64_t));
}

/* Counts the tasks in the given slots; none for a worker whose slot the bus does not have. */
static void assess_slots(const hs__bus *x, double bound, int32_t slots, hs__found *found)
{
    const hs__slotted time = hs__slotted_of(bound, x->send, x->receive);
    for (int32_t i = 0; i < x->p; i++) {
        const int32_t j = found->sends[i];
        const int32_t k = x->returning ? found->receives[i] : 0;
        const double t = hs__scale_time(x->times[i], time.exponent);
        found->counts[i] = j > slots || k > slots
                               ? 0
                               : (int64_t)fmax(hs__tasks_in_slots(&time, j, k, t, 1.0 / t), 0.0);
    }
    found->tasks = hs__sum_tasks(x->p, found->counts);
}

/* ---- messages in one direction ---- */

static void set_all(int32_t p, int32_t value, int32_t *slots)
{
    for (int32_t i = 0; i < p; i++) slots[i] = value;
}

/* Returns whether t >= (p - 1) send for all workers, as real numbers. */
static bool is_late_slot_cheap(const hs__bus *x)
{
    double least = INFINITY;
    for (int32_t i = 0; i < x->p; i++) least = fmin(least, x->times[i]);
    const double high = (x->p - 1) * x->send;
    return high < least || (high == least && fma(x->p - 1, x->send, -high) <= 0.0);
}

/* Gives slots 1, 2, ... to as many workers as possible, none after its deadline. The other workers
 * with tasks come later and do one task less (is_late_slot_cheap). Earliest deadline first leaves the
 * fewest workers late. */
static hs_status serve_by_deadlines(hs__bus *x, double bound, hs__found *found)
{
    const int32_t p = x->p;
    double *keys = hs__room_take(&x->prices, (size_t)p, sizeof *keys);
    int32_t *order = hs__room_take(&x->keys, 2 * (size_t)p, sizeof *order);
    if (!keys || !order) return HS_ERROR_MEMORY;
    int32_t *deadlines = order + p;
    hs_status status =
        hs_task_deadlines(bound, p, x->times, x->send, p, found->counts, x->cancel, deadlines);
    if (status != HS_OK) return status;
    for (int32_t i = 0; i < p; i++) keys[i] = deadlines[i];
    status = hs__sort(p, keys, order);
    if (status != HS_OK) return status;
    int32_t served = 0;
    for (int32_t d = 0; d < p; d++) {
        const int32_t i = order[d];
        found->sends[i] = 0;
        if (found->counts[i] == 0) continue;
        if (deadlines[i] > served) found->sends[i] = ++served;
    }
    for (int32_t i = 0; i < p; i++) {
        if (found->sends[i] > 0) continue;
        found->sends[i] = ++served;
        if (found->counts[i] > 0) found->counts[i]--;
    }
    found->method = HS_TASKS_DEADLINES;
    return HS_OK;
}

static hs_status match_send_slots(hs__bus *x, double bound, int32_t slots, hs__found *found)
{
    const side out = side_of(bound, x->send, 0.0, slots);
    int64_t *weights = take_weights(x, slots);
    if (!weights) return HS_ERROR_MEMORY;
    hs_status status = fill_weights(x, &out, NULL, 0, weights);
    if (status == HS_OK) status = hs__match(x, x->p, slots, weights, found->sends, &found->tasks);
    if (status != HS_OK) return status;
    for (int32_t i = 0; i < x->p; i++) {
        const int32_t j = found->sends[i];
        found->counts[i] = j >= 0 ? weights[(size_t)i * (size_t)slots + (size_t)j] : 0;
        found->sends[i] = j >= 0 ? j + 1 : x->p;
    }
    found->method = HS_TASKS_MATCHING;
    return HS_OK;
}

/* Finds the optimum for messages out alone, or for none at all. */
static hs_status serve_one_way(hs__bus *x, double bound, int32_t slots, hs__found *found)
{
    hs_status status = HS_OK;
    found->method = HS_TASKS_FLOOR;
    set_all(x->p, 1, found->sends);
    set_all(x->p, 1, found->receives);
    if (!x->sending || is_late_slot_cheap(x)) {
        const side first = side_of(bound, x->send, 0.0, 1);
        status = fill_weights(x, &first, NULL, 0, found->counts);
        if (status == HS_OK && x->sending) status = serve_by_deadlines(x, bound, found);
    } else status = match_send_slots(x, bound, slots, found);
    if (status != HS_OK) return status;
    found->tasks = hs__sum_tasks(x->p, found->counts);
    found->bound = found->tasks;
    return HS_OK;
}

/* ---- messages in both directions ---- */

/* Finds the largest total of the weights of one side, with given slots on the other side; slots + 1
 * stands for no slot. total: out, or NULL */
static hs_status match_side(hs__bus *x, const side *s, const int32_t *others, int32_t *slot,
                            int64_t *total)
{
    int64_t *weights = take_weights(x, s->slots);
    if (!weights) return HS_ERROR_MEMORY;
    hs_status status = fill_weights(x, s, others, 0, weights);
    if (status == HS_OK) status = hs__match(x, x->p, s->slots, weights, slot, total);
    for (int32_t i = 0; i < x->p && status == HS_OK; i++)
        slot[i] = slot[i] >= 0 ? slot[i] + 1 : s->slots + 1;
    return status;
}

/* Computes the bound of a platform with messages out, if there are any. */
static hs_status bound_turned(hs__bus *x, double bound, int64_t *most)
{
    const int32_t slots = count_slots(x, bound);
    *most = 0;
    if (slots == 0) return HS_OK;
    if (x->returning && x->p > HS__MOST_CUBE) return hs__bound_linked(x, bound, most);
    hs__found any;
    hs_status status = hs__found_open(x->p, &x->slots, &any, NULL);
    if (status != HS_OK) return status;
    if (!x->returning) {
        status = serve_one_way(x, bound, slots, &any);
        *most = any.tasks;
        return status;
    }
    /* all answers, or all messages out, in the first slot */
    const side out = side_of(bound, x->send, x->receive, slots);
    const side back = side_of(bound, x->receive, x->send, slots);
    int64_t others = 0;
    set_all(x->p, 1, any.receives);
    status = match_side(x, &out, any.receives, any.sends, most);
    if (status == HS_OK) status = match_side(x, &back, any.receives, any.sends, &others);
    *most = hs__min(*most, others);
    return status;
}

hs_status hs__bound_equal(hs__bus *x, double bound, int64_t *most)
{
    const bool turned = !x->sending;
    if (turned) hs__bus_turn(x);
    const hs_status status = bound_turned(x, bound, most);
    if (turned) hs__bus_turn(x);
    return status;
}

/* Finds the slots of one of the paper's two matchings, within a part of the time. */
static hs_status match_part(hs__bus *x, double time, double message, int32_t *slot)
{
    for (int32_t i = 0; i < x->p; i++) slot[i] = i + 1;
    if (!(time >= message && message > 0.0)) return HS_OK;
    const side s = side_of(time, message, 0.0, x->p);
    int64_t *weights = take_weights(x, x->p);
    if (!weights) return HS_ERROR_MEMORY;
    hs_status status = fill_weights(x, &s, NULL, INT64_MIN, weights);
    if (status == HS_OK) status = hs__match(x, x->p, x->p, weights, slot, NULL);
    for (int32_t i = 0; i < x->p && status == HS_OK; i++) slot[i]++;
    return status;
}

/* Improves both sides in turn, while the other side stays, until the tasks meet found->bound or
 * grow no more. */
static hs_status improve_in_turn(hs__bus *x, double bound, int32_t slots, hs__found *found,
                                 hs__found *better)
{
    const side out = side_of(bound, x->send, x->receive, slots);
    const side back = side_of(bound, x->receive, x->send, slots);
    while (found->tasks < found->bound) {
        hs_status status = match_side(x, &out, found->receives, better->sends, NULL);
        if (status == HS_OK) status = match_side(x, &back, better->sends, better->receives, NULL);
        if (status != HS_OK) return status;
        assess_slots(x, bound, slots, better);
        if (better->tasks <= found->tasks) break;
        better->bound = found->bound;
        better->method = found->method;
        hs__found_copy(x->p, better, found);
    }
    return HS_OK;
}

/* Tries several splits of the time for the paper's two matchings, or the paper's alone. */
static hs_status try_splits(hs__bus *x, double bound, int32_t slots, int32_t method,
                            hs__found *found)
{
    hs__found now;
    hs__found better;
    hs_status status = hs__found_open(x->p, &x->tried, &now, &better);
    if (status == HS_OK) status = hs__bound_equal(x, bound, &now.bound);
    if (status != HS_OK) return status;
    const int splits = method == HS_TASKS_PAPER || x->p <= HS__MOST_CUBE ? 1 : SPLIT_COUNT;
    now.method = method;
    for (int split = 0; split < splits; split++) {
        const double time = SPLITS[split] * bound;
        status = match_part(x, time, x->send, now.sends);
        if (status == HS_OK) status = match_part(x, bound - time, x->receive, now.receives);
        if (status != HS_OK) return status;
        assess_slots(x, bound, slots, &now);
        if (method == HS_TASKS_BEST) status = improve_in_turn(x, bound, slots, &now, &better);
        if (status != HS_OK) return status;
        if (split == 0 || now.tasks > found->tasks) hs__found_copy(x->p, &now, found);
        if (found->tasks == found->bound) break;
    }
    return HS_OK;
}

/* Computes the tasks [p^3] of each worker in each pair of slots. */
static hs_status fill_cube(const hs__bus *x, double bound, int32_t slots, int64_t *cube)
{
    const size_t p = (size_t)x->p;
    const hs__slotted time = hs__slotted_of(bound, x->send, x->receive);
    memset(cube, 0, p * p * p * sizeof *cube);
    for (int32_t i = 0; i < x->p; i++) {
        if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
        const double t = hs__scale_time(x->times[i], time.exponent);
        const double rate = 1.0 / t;
        for (int32_t j = 0; j < slots; j++) {
            int64_t *line = cube + ((size_t)i * p + (size_t)j) * p;
            for (int32_t k = 0; k < slots; k++) {
                const double tasks = hs__tasks_in_slots(&time, j + 1, k + 1, t, rate);
                if (tasks <= 0.0) break;
                line[k] = (int64_t)tasks;
            }
        }
    }
    return HS_OK;
}

static bool is_decided(const hs__found *found, int64_t wanted)
{
    return found->tasks == found->bound ||
           (wanted >= 0 && (found->tasks >= wanted || found->bound < wanted));
}

/* Takes workers' columns and tubes as their slots. */
static void take_slots(const hs__bus *x, double bound, int32_t slots, hs__found *found)
{
    for (int32_t i = 0; i < x->p; i++) {
        found->sends[i]++;
        found->receives[i]++;
    }
    assess_slots(x, bound, slots, found);
}

/* Improves a plan over all pairs of slots: by prices, and exactly for few workers. */
static hs_status match_pairs(hs__bus *x, double bound, int32_t slots, int64_t wanted,
                             hs__found *found)
{
    const int32_t p = x->p;
    hs__found other;
    int64_t *cube = hs__room_take(&x->cube, (size_t)p * (size_t)p * (size_t)p, sizeof *cube);
    if (!cube) return HS_ERROR_MEMORY;
    hs_status status = hs__found_open(p, &x->tried, &other, NULL);
    if (status == HS_OK) status = fill_cube(x, bound, slots, cube);
    if (status != HS_OK) return status;
    if (p > HS_ASSIGN_AXIAL_MOST / 2) {
        status = hs__price_tubes(x, cube, found->tasks, wanted, &other.bound, &other.tasks,
                                 other.sends, other.receives);
        if (status != HS_OK) return status;
        other.bound = hs__min(other.bound, found->bound);
        found->bound = other.bound;
        other.method = HS_TASKS_PRICES;
        if (other.tasks > found->tasks) {
            take_slots(x, bound, slots, &other);
            hs__found_copy(p, &other, found);
        }
        if (p > HS_ASSIGN_AXIAL_MOST || is_decided(found, wanted)) return HS_OK;
        status = fill_cube(x, bound, slots, cube);
    }
    if (status == HS_OK)
        status = hs_assign_axial(p, cube, x->cancel, found->sends, found->receives, &found->bound);
    if (status != HS_OK) return status;
    take_slots(x, bound, slots, found);
    found->method = HS_TASKS_EXACT;
    return HS_OK;
}

/* ---- all ---- */

hs_status hs__solve_equal(hs__bus *x, double bound, int32_t method, int64_t wanted,
                          hs__found *found)
{
    const int32_t p = x->p;
    const int32_t slots = count_slots(x, bound);
    if (slots == 0) {
        set_all(p, 1, found->sends);
        set_all(p, 1, found->receives);
        memset(found->counts, 0, (size_t)p * sizeof *found->counts);
        found->method = HS_TASKS_FLOOR;
        found->tasks = 0;
        found->bound = 0;
        return HS_OK;
    }
    if (method == HS_TASKS_FASTEST) {
        int32_t *order = hs__room_take(&x->keys, (size_t)p, sizeof *order);
        hs_status status = order ? hs__sort(p, x->times, order) : HS_ERROR_MEMORY;
        if (status != HS_OK) return status;
        for (int32_t d = 0; d < p; d++) {
            found->sends[order[d]] = d + 1;
            found->receives[order[d]] = d + 1;
        }
        assess_slots(x, bound, slots, found);
        found->method = method;
        return hs__bound_equal(x, bound, &found->bound);
    }
    if (!x->returning) return serve_one_way(x, bound, slots, found);
    hs_status status = try_splits(x, bound, slots, method, found);
    if (status != HS_OK || method == HS_TASKS_PAPER || p > HS__MOST_CUBE ||
        is_decided(found, wanted))
        return status;
    return match_pairs(x, bound, slots, wanted, found);
}
