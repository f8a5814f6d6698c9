/* hs_ring_tour: the ring of all workers by Lin and Kernighan's moves (1973), disturbed again and
 * again by double bridges of near edges (Applegate, Cook, Rohe 2003). All changes are reversals of
 * the shorter side of an array; a list of the reversals makes it possible to undo them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/order.h"
#include "core/random.h"
#include "core/status.h"
#include "ring/ring.h"

enum { NEAR = 10, DEEPEST = 25, BRIDGE = 50 };
static const int32_t BREADTH[] = {5, 3}; /* number of choices at the first depths; 1 below */

typedef struct {
    int32_t from, to;
} reversal;

typedef struct {
    int32_t p, nearby;
    const double *edge;
    int32_t *at, *place; /* [p] the tour, and the place of each worker in it */
    bool mirrored;       /* the array is read from right to left */
    /* the tour is read in the opposite direction for now; `done` records reversals in the usual
     * direction */
    bool facing;
    int32_t *near;  /* [p * nearby] the cheapest edges of each worker, cheapest first */
    int32_t *queue; /* [p] circular queue of the workers to look at */
    bool *queued;   /* [p] */
    int32_t first, waiting;
    reversal *done; /* reversals since the last disturbance */
    size_t count, room;
    double least; /* least gain that counts */
    bool short_of_memory;
    const int *cancel;
} tour;

static double edge_cost(const tour *s, int32_t i, int32_t j)
{
    return s->edge[(size_t)i * (size_t)s->p + (size_t)j];
}

static int32_t neighbour_of(const tour *s, int32_t i, bool back)
{
    const int32_t k = s->place[i];
    return s->at[back != s->mirrored ? hs__place_before(k, s->p) : hs__place_after(k, s->p)];
}

static int32_t worker_after(const tour *s, int32_t i) { return neighbour_of(s, i, false); }
static int32_t worker_before(const tour *s, int32_t i) { return neighbour_of(s, i, true); }

static void queue_worker(tour *s, int32_t i)
{
    if (s->queued[i]) return;
    s->queued[i] = true;
    s->queue[(s->first + s->waiting++) % s->p] = i;
}

/* Reverses the path between two workers, taken in reading direction. If the rest of the ring is
 * shorter, it is reversed instead, and the reading direction changes: the ring is the same. */
static void reverse_path(tour *s, int32_t from, int32_t to)
{
    int32_t i = s->place[s->mirrored ? to : from];
    int32_t j = s->place[s->mirrored ? from : to];
    int32_t length = j - i + (j < i ? s->p : 0) + 1;
    if (2 * length > s->p) {
        const int32_t kept = i;
        i = hs__place_after(j, s->p);
        j = hs__place_before(kept, s->p);
        length = s->p - length;
        s->mirrored = !s->mirrored;
    }
    for (length /= 2; length > 0; length--) {
        const int32_t a = s->at[i];
        const int32_t b = s->at[j];
        s->at[i] = b;
        s->place[b] = i;
        s->at[j] = a;
        s->place[a] = j;
        i = hs__place_after(i, s->p);
        j = hs__place_before(j, s->p);
    }
}

static void make_reversal(tour *s, int32_t from, int32_t to)
{
    if (s->count == s->room) {
        reversal *more = realloc(s->done, 2 * s->room * sizeof *more);
        /* checked before the next move begins */
        if (!more) s->short_of_memory = true;
        else {
            s->done = more;
            s->room *= 2;
        }
    }
    if (s->count == s->room) return;
    reverse_path(s, from, to);
    s->done[s->count++] = s->facing ? (reversal){to, from} : (reversal){from, to};
}

static void undo_reversals(tour *s, size_t count)
{
    while (s->count > count) {
        const reversal last = s->done[--s->count];
        if (s->facing) reverse_path(s, last.from, last.to);
        else reverse_path(s, last.to, last.from);
    }
}

/* Makes a Lin-Kernighan move. It removes the edge between `one` and the next worker, adds another
 * edge from the next worker, removes an edge at its far end, and so on, as long as more is removed
 * than added. It leaves the shortest tour on the way; returns the gain, or 0. */
static double deepen_move(tour *s, int32_t one, double gain, int32_t depth)
{
    const int32_t next = worker_after(s, one);
    const int32_t wide = depth < (int32_t)(sizeof BREADTH / sizeof *BREADTH) ? BREADTH[depth] : 1;
    int32_t choice[5];
    double value[5];
    int32_t count = 0;
    for (int32_t c = 0; c < s->nearby; c++) {
        const int32_t far = s->near[(size_t)next * (size_t)s->nearby + (size_t)c];
        const double rest = gain - edge_cost(s, next, far);
        if (!(rest > s->least)) break;
        const int32_t end = worker_before(s, far);
        if (far == one || end == next) continue;
        const double worth = rest + edge_cost(s, end, far);
        int32_t k = count < wide ? count++ : wide;
        for (; k > 0 && worth > value[k - 1]; k--)
            if (k < wide) {
                choice[k] = choice[k - 1];
                value[k] = value[k - 1];
            }
        if (k < wide) {
            choice[k] = far;
            value[k] = worth;
        }
    }
    for (int32_t k = 0; k < count; k++) {
        const int32_t far = choice[k];
        const int32_t end = worker_before(s, far);
        const size_t mark = s->count;
        make_reversal(s, next, end); /* one end ... next far */
        if (s->count == mark) return 0.0;
        double found = value[k] - edge_cost(s, one, end);
        const size_t own = s->count;
        if (!(found > s->least)) found = 0.0;
        if (depth + 1 < DEEPEST) {
            const double deeper = deepen_move(s, one, value[k], depth + 1);
            if (deeper > found) found = deeper;
            else undo_reversals(s, own);
        }
        if (found > 0.0) {
            queue_worker(s, next);
            queue_worker(s, far);
            queue_worker(s, end);
            return found;
        }
        undo_reversals(s, mark);
    }
    return 0.0;
}

/* Or's move: puts the path of up to three workers that begins with `one` between two neighbours x
 * and y. One of these is a near worker of `one` and becomes its neighbour. */
static double move_path(tour *s, int32_t one)
{
    const int32_t left = worker_before(s, one);
    const int32_t *near = s->near + (size_t)one * (size_t)s->nearby;
    int32_t last = one;
    for (int32_t size = 1; size <= 3 && size + 3 <= s->p; size++, last = worker_after(s, last)) {
        const int32_t right = worker_after(s, last);
        const int32_t inner = size > 2 ? worker_after(s, one) : last;
        const double taken =
            edge_cost(s, left, one) + edge_cost(s, last, right) - edge_cost(s, left, right);
        for (int32_t c = 0; c < s->nearby && taken - edge_cost(s, one, near[c]) > s->least; c++) {
            if (near[c] == inner || near[c] == last) continue;
            for (int turned = 0; turned < 2; turned++) {
                if (near[c] == (turned ? right : left)) continue;
                const int32_t x = turned ? worker_before(s, near[c]) : near[c];
                const int32_t y = turned ? near[c] : worker_after(s, near[c]);
                const double shorter = taken + edge_cost(s, x, y) - edge_cost(s, one, near[c]) -
                                       edge_cost(s, last, turned ? x : y);
                if (!(shorter > s->least)) continue;
                make_reversal(s, one, x);
                /* left [one last] [right x] y becomes left [right x] [last one] y */
                make_reversal(s, x, right);
                if (!turned) make_reversal(s, last, one);
                queue_worker(s, left);
                queue_worker(s, right);
                queue_worker(s, last);
                queue_worker(s, x);
                queue_worker(s, y);
                return shorter;
            }
        }
    }
    return 0.0;
}

static void flip_direction(tour *s)
{
    s->facing = !s->facing;
    s->mirrored = !s->mirrored;
}

/* Improves until no move of a worker in the queue makes the tour shorter; returns the gain. */
static double improve_tour(tour *s)
{
    double all = 0.0;
    while (s->waiting && !hs__cancelled(s->cancel) && !s->short_of_memory) {
        const int32_t i = s->queue[s->first];
        s->first = hs__place_after(s->first, s->p);
        s->waiting--;
        s->queued[i] = false;
        double found = 0.0;
        for (int way = 0; way < 2 && !(found > 0.0); way++, flip_direction(s)) {
            found = deepen_move(s, i, edge_cost(s, i, worker_after(s, i)), 0);
            if (!(found > 0.0)) found = move_path(s, i);
        }
        if (s->facing) flip_direction(s);
        if (found > 0.0) {
            all += found;
            queue_worker(s, i);
        }
    }
    return all;
}

/* Exchanges two short adjacent paths; returns by how much the tour is longer. */
static double disturb_tour(tour *s, uint64_t *state)
{
    const int32_t longest = (int32_t)hs__min((s->p - 2) / 2, BRIDGE);
    const int32_t x = hs__pick(state, s->p);
    const int32_t one = worker_after(s, x);
    int32_t end = one;
    for (int32_t k = hs__pick(state, longest); k > 0; k--) end = worker_after(s, end);
    const int32_t other = worker_after(s, end);
    int32_t last = other;
    for (int32_t k = hs__pick(state, longest); k > 0; k--) last = worker_after(s, last);
    const int32_t y = worker_after(s, last);
    const double longer = edge_cost(s, x, other) + edge_cost(s, last, one) + edge_cost(s, end, y) -
                          edge_cost(s, x, one) - edge_cost(s, end, other) - edge_cost(s, last, y);
    make_reversal(s, one, last);
    make_reversal(s, last, other);
    make_reversal(s, end, one);
    queue_worker(s, x);
    queue_worker(s, one);
    queue_worker(s, end);
    queue_worker(s, other);
    queue_worker(s, last);
    queue_worker(s, y);
    return longer;
}

static hs_status find_near(tour *s)
{
    const size_t n = (size_t)s->nearby;
    for (int32_t i = 0; i < s->p; i++) {
        if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        int32_t *own = s->near + (size_t)i * n;
        int32_t count = 0;
        for (int32_t j = 0; j < s->p; j++) {
            if (j == i ||
                (count == s->nearby && !(edge_cost(s, i, j) < edge_cost(s, i, own[count - 1]))))
                continue;
            int32_t k = count < s->nearby ? count++ : count - 1;
            for (; k > 0 && edge_cost(s, i, j) < edge_cost(s, i, own[k - 1]); k--)
                own[k] = own[k - 1];
            own[k] = j;
        }
    }
    return HS_OK;
}

static double tour_length(const tour *s)
{
    double length = 0.0;
    for (int32_t k = 0; k < s->p; k++)
        length += edge_cost(s, s->at[k], s->at[hs__place_after(k, s->p)]);
    return length;
}

/* Improves the tour from all workers. A gain that is within the rounding of the tour's length does
 * not count. When very long edges are gone, smaller gains do, so all workers are looked at again. */
static void improve_from_all(tour *s)
{
    s->least = INFINITY;
    for (double least = HS_EQUAL * tour_length(s); least < s->least / 2;
         least = HS_EQUAL * tour_length(s)) {
        s->least = least;
        for (int32_t k = 0; k < s->p; k++) queue_worker(s, s->at[k]);
        improve_tour(s);
        if (hs__cancelled(s->cancel) || s->short_of_memory) return;
    }
}

static hs_status lin_kernighan(tour *s, int64_t rounds, uint64_t *state)
{
    const hs_status status = find_near(s);
    if (status) return status;
    for (int32_t k = 0; k < s->p; k++) s->place[s->at[k]] = k;
    improve_from_all(s);
    for (; rounds > 0 && s->p >= 8 && !hs__cancelled(s->cancel) && !s->short_of_memory; rounds--) {
        s->count = 0;
        const double longer = disturb_tour(s, state);
        if (!(longer - improve_tour(s) < -s->least)) undo_reversals(s, 0);
    }
    if (s->short_of_memory) return HS_ERROR_MEMORY;
    return hs__check_cancel(s->cancel);
}

hs_status hs_ring_tour(const hs_ring *problem, int64_t rounds, const int *cancel, int32_t *ring,
                       uint64_t *state)
{
    if (!ring || !state || rounds < 0) return HS_ERROR_VALUE;
    hs__ring x;
    hs_status status = hs__ring_open(&x, problem, cancel);
    if (status) return status;
    const size_t p = (size_t)x.p;
    const size_t nearby = p > NEAR ? NEAR : p - 1;
    tour s = {.p = x.p, .nearby = (int32_t)nearby, .edge = x.edge, .cancel = cancel, .room = 64};
    status = hs__ring_check(x.p, x.p, ring);
    if (!status && p > 3) {
        s.at = malloc(p * sizeof *s.at);
        s.place = malloc(p * sizeof *s.place);
        s.queue = malloc(p * sizeof *s.queue);
        s.queued = calloc(p, sizeof *s.queued);
        s.near = malloc(p * nearby * sizeof *s.near);
        s.done = malloc(s.room * sizeof *s.done);
        if (!s.at || !s.place || !s.queue || !s.queued || !s.near || !s.done)
            status = HS_ERROR_MEMORY;
        if (!status) {
            uint64_t own = *state;
            memcpy(s.at, ring, p * sizeof *ring);
            status = lin_kernighan(&s, rounds, &own);
            if (!status) {
                memcpy(ring, s.at, p * sizeof *ring);
                *state = own;
            }
        }
        free(s.at);
        free(s.place);
        free(s.queue);
        free(s.queued);
        free(s.near);
        free(s.done);
    }
    if (!status) hs__ring_turn(x.p, ring);
    hs__ring_close(&x);
    return status;
}
