/* hs_ring_search: local search over rings of some of the workers. A worker is inserted, dropped,
 * exchanged for a member, or inserted while another member is dropped elsewhere; a few members move
 * along the ring (or-opt); a part of the ring is reversed (2-opt). The ring is disturbed again and
 * again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/random.h"
#include "core/status.h"
#include "core/tuning.h"
#include "ring/ring.h"

enum { NEAR = 12, SEGMENT = 3, STALE = 10, DOUBLINGS = 6 };

static const double FAR = 1e9; /* in units of the best ring's time, if that is above 1 */

typedef struct {
    const hs__ring *problem;
    /* the same problem, sometimes with more work, and with the cost FAR for edges that are in no
     * better ring */
    hs__ring *x;
    bool *gone;    /* [p * p] these edges */
    double pruned; /* the value for which they were found */
    int32_t size;
    int32_t *at;    /* [p] the ring */
    int32_t *place; /* [p] place in the ring, or -1 */
    double length, speed, time;
    int32_t *trial, *turned; /* [p] workspace */
    int32_t *near;           /* [p * nearby] the cheapest edges of each worker */
    int32_t nearby;
    int32_t *queue; /* [p] circular queue of the workers to look at */
    bool *queued;   /* [p] */
    int32_t first, waiting;
    int32_t *best, best_size; /* the best ring; with relays it need not be balanced */
    double value;
    const int *cancel;
} search;

static double edge_cost(const search *s, int32_t i, int32_t j)
{
    return s->x->edge[(size_t)i * (size_t)s->x->p + (size_t)j];
}
static int32_t member_after(const search *s, int32_t k)
{
    return s->at[hs__place_after(k, s->size)];
}
static int32_t member_before(const search *s, int32_t k)
{
    return s->at[hs__place_before(k, s->size)];
}

static void queue_worker(search *s, int32_t i)
{
    if (s->queued[i]) return;
    s->queued[i] = true;
    s->queue[(s->first + s->waiting++) % s->x->p] = i;
}

static void queue_neighbours(search *s, int32_t i)
{
    queue_worker(s, i);
    if (s->place[i] >= 0) {
        queue_worker(s, member_before(s, s->place[i]));
        queue_worker(s, member_after(s, s->place[i]));
    }
    if (s->nearby >= s->x->p - 1)
        for (int32_t j = 0; j < s->x->p; j++) queue_worker(s, j);
}

/* Makes the ring the current one, whatever its cost. */
static void adopt_ring(search *s, int32_t size, const int32_t *ring, double time)
{
    for (int32_t k = 0; k < s->size; k++) s->place[s->at[k]] = -1;
    memmove(s->at, ring, (size_t)size * sizeof *ring);
    s->size = size;
    s->time = time;
    s->length = s->speed = 0.0;
    for (int32_t k = 0; k < size; k++) {
        s->place[s->at[k]] = k;
        s->speed += s->x->speed[s->at[k]];
        s->length += edge_cost(s, s->at[k], member_after(s, k));
    }
}

/* Drops the members that pay most until all have a share; returns the time. */
static double repair_ring(const search *s, int32_t *size, int32_t *ring)
{
    const size_t p = (size_t)s->x->p;
    double most;
    double time = hs__ring_balanced(s->x, *size, ring, &most);
    while (!(time > most) && *size > 1) {
        int32_t worst = 0;
        for (int32_t k = 0; k < *size; k++) {
            const double *payment = s->x->payment + (size_t)ring[k] * p;
            const int32_t before = ring[hs__place_before(k, *size)];
            const int32_t after = ring[hs__place_after(k, *size)];
            if (payment[before] + payment[after] >= most) worst = k;
        }
        memmove(ring + worst, ring + worst + 1, (size_t)(--*size - worst) * sizeof *ring);
        time = hs__ring_balanced(s->x, *size, ring, &most);
    }
    return time;
}

/* Keeps a ring if it is the best one. The value is computed in the order in which the ring is
 * returned: another order may round differently. */
static void keep_best(search *s, int32_t size, const int32_t *ring)
{
    memcpy(s->turned, ring, (size_t)size * sizeof *ring);
    hs__ring_turn(size, s->turned);
    const double value = hs__ring_value(s->problem, size, s->turned);
    if (value < s->value) {
        s->value = value;
        s->best_size = size;
        memcpy(s->best, s->turned, (size_t)size * sizeof *ring);
    }
}

/* Makes the trial the current ring if it is better. */
static bool accept_trial(search *s, int32_t size)
{
    double most;
    double time = hs__ring_balanced(s->x, size, s->trial, &most);
    if (s->x->relays && !(time > most)) keep_best(s, size, s->trial);
    if (!(time > most) && size > 1) {
        int32_t left = size;
        time = repair_ring(s, &left, s->trial);
        size = left;
    }
    if (!(time < s->time * (1.0 - HS_EQUAL))) return false;
    adopt_ring(s, size, s->trial, time);
    return true;
}

static bool is_better(const search *s, double length, double speed)
{
    return s->x->work + (s->length + length) < s->time * (s->speed + speed) * (1.0 - HS_EQUAL);
}

/* ---- moves of the member at place k, or of worker u outside ---------------------------------- */

static double removal_cost(const search *s, int32_t k)
{
    if (s->size < 2) return INFINITY;
    const int32_t a = s->at[k];
    const int32_t x = member_before(s, k);
    const int32_t y = member_after(s, k);
    return edge_cost(s, x, y) - edge_cost(s, x, a) - edge_cost(s, a, y);
}

static bool drop_member(search *s, int32_t k)
{
    if (!is_better(s, removal_cost(s, k), -s->x->speed[s->at[k]])) return false;
    memcpy(s->trial, s->at, (size_t)k * sizeof *s->at);
    memcpy(s->trial + k, s->at + k + 1, (size_t)(s->size - 1 - k) * sizeof *s->at);
    return accept_trial(s, s->size - 1);
}

/* Exchanges a member for a worker outside that has a cheap edge to one of the neighbours. */
static bool exchange_member(search *s, int32_t k)
{
    const int32_t a = s->at[k];
    const int32_t x = member_before(s, k);
    const int32_t y = member_after(s, k);
    const double old = s->size > 1 ? edge_cost(s, x, a) + edge_cost(s, a, y) : edge_cost(s, a, a);
    for (int32_t c = 0; c < 2 * s->nearby; c++) {
        const int32_t u = s->near[(c < s->nearby ? x : y) * s->nearby + c % s->nearby];
        if (s->place[u] >= 0) continue;
        const double own =
            s->size > 1 ? edge_cost(s, x, u) + edge_cost(s, u, y) : edge_cost(s, u, u);
        if (!is_better(s, own - old, s->x->speed[u] - s->x->speed[a])) continue;
        memcpy(s->trial, s->at, (size_t)s->size * sizeof *s->at);
        s->trial[k] = u;
        if (accept_trial(s, s->size)) {
            queue_neighbours(s, u);
            return true;
        }
    }
    return false;
}

/* Inserts u between the member at place k and the next one; `gone`: a place to be dropped, or
 * -1. */
static bool try_insertion(search *s, int32_t u, int32_t k, int32_t gone)
{
    int32_t size = 0;
    for (int32_t i = 0; i < s->size; i++) {
        if (i != gone) s->trial[size++] = s->at[i];
        if (i == k) s->trial[size++] = u;
    }
    return accept_trial(s, size);
}

static double insertion_cost(const search *s, int32_t u, int32_t k)
{
    const int32_t a = s->at[k];
    const int32_t b = member_after(s, k);
    return edge_cost(s, a, u) + edge_cost(s, u, b) - edge_cost(s, a, b);
}

/* Finds the cheapest place for u next to members that are near it, or among all members if none is
 * near. */
static int32_t find_cheapest_place(const search *s, int32_t u, double *cost)
{
    int32_t found = -1;
    for (int32_t c = 0; c < 2 * s->nearby; c++) {
        int32_t k = s->place[s->near[u * s->nearby + c / 2]];
        if (k < 0) continue;
        if (c % 2) k = hs__place_before(k, s->size);
        const double length = insertion_cost(s, u, k);
        if (found < 0 || length < *cost) {
            found = k;
            *cost = length;
        }
    }
    for (int32_t k = 0;
         found < 0 || (s->nearby < s->x->p - 1 && s->size <= HS__RING_WORKERS && k < s->size);
         k++) {
        const double length = insertion_cost(s, u, k);
        if (found < 0 || length < *cost) {
            found = k;
            *cost = length;
        }
    }
    return found;
}

static bool insert_worker(search *s, int32_t u)
{
    double cost = 0.0;
    const int32_t k = find_cheapest_place(s, u, &cost);
    const double speed = s->x->speed[u];
    if (is_better(s, cost, speed) && try_insertion(s, u, k, -1)) return true;
    if (s->x->p > HS__RING_WORKERS || s->size < 3) return false;
    for (int32_t from = 0; from < s->size; from++) {
        const double length = insertion_cost(s, u, from);
        for (int32_t gone = 0; gone < s->size; gone++) {
            if (gone == from || gone == (from + 1) % s->size) continue;
            if (is_better(s, length + removal_cost(s, gone), speed - s->x->speed[s->at[gone]]) &&
                try_insertion(s, u, from, gone))
                return true;
        }
    }
    return false;
}

/* Reverses the members at the places from .. from + count - 1, around the end of the array. */
static bool reverse_part(search *s, int32_t from, int32_t count)
{
    for (int32_t k = 0; k < s->size; k++) s->trial[k] = s->at[k];
    for (int32_t k = 0; k < count; k++)
        s->trial[(from + k) % s->size] = s->at[(from + count - 1 - k) % s->size];
    return accept_trial(s, s->size);
}

static bool two_opt(search *s, int32_t k)
{
    if (s->size < 4) return false;
    const int32_t a = s->at[k];
    for (int32_t c = 0; c < s->nearby; c++) {
        const int32_t other = s->near[a * s->nearby + c];
        const int32_t l = s->place[other];
        if (l < 0) continue;
        const double joined = edge_cost(s, a, other);
        /* number of steps from a to the other */
        const int32_t between = (l - k + s->size) % s->size;
        if (is_better(s,
                      joined + edge_cost(s, member_after(s, k), member_after(s, l)) -
                          edge_cost(s, a, member_after(s, k)) -
                          edge_cost(s, other, member_after(s, l)),
                      0.0) &&
            reverse_part(s, (k + 1) % s->size, between))
            return true;
        if (is_better(s,
                      joined + edge_cost(s, member_before(s, k), member_before(s, l)) -
                          edge_cost(s, a, member_before(s, k)) -
                          edge_cost(s, other, member_before(s, l)),
                      0.0) &&
            reverse_part(s, k, between))
            return true;
    }
    return false;
}

/* Moves `count` members from place k on, forward or backward, between two other members, the first
 * next to a member that is near it. */
static bool move_segment(search *s, int32_t k, int32_t count, bool forward)
{
    const int32_t n = s->size;
    const int32_t a = s->at[k];
    if (n < count + 3) return false;
    const int32_t step = forward ? 1 : n - 1;
    const int32_t far = (int32_t)((k + (int64_t)(count - 1) * step) % n);
    const int32_t z = s->at[far];
    const int32_t x = s->at[(k + n - step) % n];
    const int32_t y = s->at[(far + step) % n];
    const double gain = edge_cost(s, x, y) - edge_cost(s, x, a) - edge_cost(s, z, y);
    for (int32_t c = 0; c < 2 * s->nearby; c++) {
        const int32_t near = s->near[a * s->nearby + c / 2];
        const int32_t l = s->place[near];
        if (l < 0) continue;
        const int32_t m = c % 2 ? (l + 1) % n : (l + n - 1) % n;
        const int32_t other = s->at[m];
        /* the first place of the segment in forward direction */
        const int32_t from = forward ? k : far;
        if ((l - from + n) % n < count || (m - from + n) % n < count) continue;
        if (!is_better(s,
                       gain + edge_cost(s, near, a) + edge_cost(s, z, other) -
                           edge_cost(s, near, other),
                       0.0))
            continue;
        int32_t size = 0;
        /* all other members, in order */
        for (int32_t i = 0, at = (from + count) % n; i < n - count; i++, at = (at + 1) % n) {
            s->trial[size++] = s->at[at];
            const bool first = at == l && m == (l + 1) % n;
            const bool second = at == m && l == (m + 1) % n;
            for (int32_t j = 0; (first || second) && j < count; j++) {
                const int32_t q = first ? j : count - 1 - j; /* a is placed next to `near` */
                s->trial[size++] = s->at[(int32_t)((k + (int64_t)q * step) % n)];
            }
        }
        if (accept_trial(s, size)) return true;
    }
    return false;
}

static bool improve_worker(search *s, int32_t i)
{
    const int32_t k = s->place[i];
    if (k < 0) return insert_worker(s, i);
    const int32_t x = member_before(s, k);
    const int32_t y = member_after(s, k);
    bool found = drop_member(s, k) || exchange_member(s, k) || two_opt(s, k);
    for (int32_t count = 1; count <= SEGMENT && !found; count++)
        found = move_segment(s, k, count, true) || (count > 1 && move_segment(s, k, count, false));
    if (found) {
        queue_neighbours(s, x);
        queue_neighbours(s, y);
    }
    return found;
}

static hs_status improve_queued(search *s)
{
    while (s->waiting > 0) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        const int32_t i = s->queue[s->first];
        s->first = (s->first + 1) % s->x->p;
        s->waiting--;
        s->queued[i] = false;
        while (improve_worker(s, i)) queue_neighbours(s, i);
    }
    keep_best(s, s->size, s->at);
    return HS_OK;
}

/* Starts from the ring of the trial with much work, which then becomes less, so that members drop
 * out. */
static hs_status shrink_work(search *s, int32_t size, double much)
{
    hs_status status = HS_OK;
    for (double work = much; work >= 1.0 && !status; work *= 0.5) {
        s->x->work = work;
        if (work < much) memcpy(s->trial, s->at, (size_t)(size = s->size) * sizeof *s->trial);
        const double time = repair_ring(s, &size, s->trial);
        adopt_ring(s, size, s->trial, time);
        for (int32_t i = 0; i < s->x->p; i++) queue_worker(s, i);
        status = improve_queued(s);
    }
    return status;
}

/* ---- disturbances ---------------------------------------------------------------------------- */

/* Exchanges two adjacent parts of the ring. */
static void swap_parts(search *s, uint64_t *state)
{
    const int32_t n = s->size;
    const int32_t most = (int32_t)hs__min(n / 2, 30);
    const int32_t a = 1 + hs__pick(state, most);
    const int32_t b = 1 + hs__pick(state, most);
    const int32_t from = hs__pick(state, n);
    for (int32_t k = 0; k < n; k++) {
        int32_t old = k;
        if (k < b) old = a + k;
        else if (k < a + b) old = k - b;
        s->trial[k] = s->at[(from + old) % n];
    }
    for (int32_t k = 0; k < a + b; k++)
        if (k == 0 || k == b - 1 || k == b || k == a + b - 1) queue_worker(s, s->trial[k]);
}

static int32_t disturb_ring(search *s, uint64_t *state)
{
    const int32_t p = s->x->p;
    const int32_t outside = p - s->size;
    int32_t size = s->size;
    int32_t move = hs__pick(state, 4);
    if (move == 0 && size >= 6) {
        swap_parts(s, state);
        return size;
    }
    memcpy(s->trial, s->at, (size_t)size * sizeof *s->trial);
    for (int32_t left = 1 + hs__pick(state, 3); left > 0; left--) {
        const int32_t k = hs__pick(state, size);
        int32_t u = -1;
        /* a worker to insert, or to take a member's place */
        if (outside && move >= 2) {
            do u = hs__pick(state, p);
            while (s->place[u] >= 0);
            for (int32_t j = 0; j < size; j++)
                if (s->trial[j] == u) {
                    u = -1;
                    j = size;
                }
        }
        if (move == 2 && u >= 0) {
            memmove(s->trial + k + 1, s->trial + k, (size_t)(size++ - k) * sizeof *s->trial);
            s->trial[k] = u;
            queue_worker(s, u);
        } else if (u >= 0) {
            queue_worker(s, s->trial[k]);
            s->trial[k] = u;
            queue_worker(s, u);
        } else if (size > 1) {
            queue_worker(s, s->trial[k]);
            memmove(s->trial + k, s->trial + k + 1, (size_t)(--size - k) * sizeof *s->trial);
        }
        queue_worker(s, s->trial[k % size]);
        queue_worker(s, s->trial[(k + size - 1) % size]);
    }
    return size;
}

/* Removes workers and edges that are in no better ring of three or more workers, so that they
 * cannot mislead the search. */
static hs_status prune_edges(search *s)
{
    const size_t p = (size_t)s->x->p;
    if (!(s->value < s->pruned)) return HS_OK;
    s->pruned = s->value;
    const hs_status status = hs__ring_prune(s->problem, s->value, s->cancel, s->gone);
    for (size_t k = 0; k < p * p && !status; k++)
        s->x->edge[k] = s->gone[k] ? FAR * fmax(1.0, s->value) : s->problem->edge[k];
    return status;
}

/* Starts anew: a random ring of a random number of workers, improved for much work, then for less
 * and less, so that workers that do not pay off drop out. */
static hs_status start_anew(search *s, uint64_t *state)
{
    const int32_t p = s->x->p;
    for (int32_t i = 0; i < p; i++) s->trial[i] = i;
    for (int32_t i = p - 1; i > 0; i--) {
        const int32_t j = hs__pick(state, i + 1);
        const int32_t kept = s->trial[i];
        s->trial[i] = s->trial[j];
        s->trial[j] = kept;
    }
    const hs_status status = prune_edges(s);
    if (status) return status;
    return shrink_work(s, 1 + hs__pick(state, p), 1 << hs__pick(state, DOUBLINGS));
}

static hs_status run_rounds(search *s, int64_t rounds, uint64_t *state, int32_t *old)
{
    hs_status status = HS_OK;
    for (int64_t round = 0, stale = 0; round < rounds && s->x->p > 1 && !status; round++) {
        const int32_t old_size = s->size;
        const double old_time = s->time;
        memcpy(old, s->at, (size_t)old_size * sizeof *old);
        if (s->x->p <= HS__RING_WORKERS && stale >= STALE) {
            status = start_anew(s, state);
            stale = 0;
            continue;
        }
        int32_t size = disturb_ring(s, state);
        const double time = repair_ring(s, &size, s->trial);
        adopt_ring(s, size, s->trial, time);
        if (s->nearby >= s->x->p - 1) queue_neighbours(s, s->at[0]);
        status = improve_queued(s);
        stale = s->time < old_time * (1.0 - HS_EQUAL) ? 0 : stale + 1;
        if (s->time > old_time) adopt_ring(s, old_size, old, old_time);
    }
    return status;
}

/* Finds the `nearby` cheapest edges of each worker, ascending. */
static hs_status find_near(search *s)
{
    const int32_t p = s->x->p;
    for (int32_t i = 0; i < p; i++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        int32_t *own = s->near + (size_t)i * (size_t)s->nearby;
        int32_t count = 0;
        for (int32_t j = 0; j < p; j++) {
            if (j == i ||
                (count == s->nearby && edge_cost(s, i, j) >= edge_cost(s, i, own[count - 1])))
                continue;
            int32_t k = count < s->nearby ? count++ : count - 1;
            for (; k > 0 && edge_cost(s, i, own[k - 1]) > edge_cost(s, i, j); k--)
                own[k] = own[k - 1];
            own[k] = j;
        }
    }
    return HS_OK;
}

hs_status hs__ring_search(const hs__ring *x, int64_t rounds, const int *cancel, uint64_t *state,
                          int32_t *ring, int32_t *size, double *value)
{
    const int32_t p = x->p;
    const size_t count = (size_t)p;
    hs__ring varied = *x;
    search s = {.problem = x,
                .x = &varied,
                .pruned = INFINITY,
                .nearby = p <= HS__RING_WORKERS ? p - 1 : NEAR,
                .cancel = cancel};
    s.value = *value;
    s.best_size = *size;
    int32_t *numbers = malloc((7 + (size_t)s.nearby) * count * sizeof *numbers);
    varied.edge = malloc(count * count * sizeof *varied.edge);
    s.queued = calloc(count, sizeof *s.queued);
    s.gone = calloc(count * count, sizeof *s.gone);
    hs_status status = hs__check_memory(numbers && varied.edge && s.queued && s.gone);
    if (!status) {
        uint64_t random = *state;
        s.at = numbers;
        s.place = numbers + count;
        s.trial = numbers + 2 * count;
        s.queue = numbers + 3 * count;
        s.best = numbers + 4 * count;
        s.turned = numbers + 6 * count;
        s.near = numbers + 7 * count;
        memcpy(s.best, ring, (size_t)*size * sizeof *ring);
        for (int32_t i = 0; i < p && !hs__cancelled(cancel); i++)
            for (int32_t j = 0; j <= i; j++) keep_best(&s, i == j ? 1 : 2, (int32_t[]){j, i});
        status = prune_edges(&s);
        if (!status) status = find_near(&s);
        if (status) {
            free(numbers);
            free(varied.edge);
            free(s.queued);
            free(s.gone);
            return status;
        }
        for (int32_t i = 0; i < p; i++) s.place[i] = -1;
        int32_t left = s.best_size;
        memcpy(s.trial, s.best, (size_t)left * sizeof *ring);
        const double time = repair_ring(&s, &left, s.trial);
        adopt_ring(&s, left, s.trial, time);
        for (int32_t i = 0; i < p; i++) queue_worker(&s, i);
        status = improve_queued(&s);
        if (!status) status = run_rounds(&s, rounds, &random, numbers + 5 * count);
        if (!status) {
            memcpy(ring, s.best, (size_t)s.best_size * sizeof *ring);
            *size = s.best_size;
            *value = s.value;
            *state = random;
        }
    }
    free(numbers);
    free(varied.edge);
    free(s.queued);
    free(s.gone);
    return status;
}

hs_status hs_ring_search(const hs_ring *problem, int64_t rounds, const int *cancel, int32_t *ring,
                         int32_t *size, uint64_t *state, double *makespan)
{
    if (!ring || !size || !state || !makespan) return HS_ERROR_VALUE;
    if (rounds < 0) return HS_ERROR_VALUE;
    hs__ring x;
    hs_status status = hs__ring_open(&x, problem, cancel);
    if (status) return status;
    int32_t *found = malloc((size_t)x.p * sizeof *found);
    int32_t count = *size;
    uint64_t random = *state;
    double value = 0.0;
    if (!found) status = HS_ERROR_MEMORY;
    else status = hs__ring_check(x.p, count, ring);
    if (!status) {
        memcpy(found, ring, (size_t)count * sizeof *ring);
        hs__ring_turn(count, found);
        value = hs__ring_value(&x, count, found);
        status = hs__ring_search(&x, rounds, cancel, &random, found, &count, &value);
    }
    if (!status) {
        memcpy(ring, found, (size_t)count * sizeof *ring);
        *size = count;
        *state = random;
        *makespan = value * x.unit;
    }
    free(found);
    hs__ring_close(&x);
    return status;
}
