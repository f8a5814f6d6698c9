/* hs_ring_profile: the lower envelope of the lines of all subsets of the workers. */
#include <math.h>
#include <stdlib.h>

#include "ring/able.h"

/* The line of subset c is (x + length[c]) / speed[c], for the work x > 0. */
typedef struct {
    uint32_t subsets;
    double *length, *speed; /* [subsets] bit k of the index stands for worker k */
    const int *cancel;
    struct {
        double from;
        uint32_t subset;
    } *piece; /* ascending */
    size_t count, room;
    uint32_t *pending; /* pairs of subsets between whose lines others may lie, the leftmost last */
    size_t waiting, most;
} envelope;

static double slope_of(const envelope *e, uint32_t c) { return 1.0 / e->speed[c]; }
static double start_of(const envelope *e, uint32_t c) { return e->length[c] * slope_of(e, c); }

static void close_envelope(envelope *e)
{
    free(e->length);
    free(e->speed);
    free(e->piece);
    free(e->pending);
}

static hs_status open_envelope(envelope *e, const hs_ring *problem, const int *cancel)
{
    *e = (envelope){.subsets = UINT32_C(1) << problem->p, .cancel = cancel, .room = 64, .most = 64};
    e->length = malloc(e->subsets * sizeof *e->length);
    e->speed = malloc(e->subsets * sizeof *e->speed);
    e->piece = malloc(e->room * sizeof *e->piece);
    e->pending = malloc(2 * e->most * sizeof *e->pending);
    if (!e->length || !e->speed || !e->piece || !e->pending) return HS_ERROR_MEMORY;
    e->speed[0] = 0.0;
    for (int32_t i = 0; i < problem->p; i++)
        for (uint32_t c = 0; c < UINT32_C(1) << i; c++)
            e->speed[UINT32_C(1) << i | c] = e->speed[c] + 1.0 / problem->cycle_times[i];
    return hs_ring_lengths(problem, cancel, e->length);
}

static hs_status add_piece(envelope *e, double from, uint32_t subset)
{
    if (e->count == e->room) {
        void *more = realloc(e->piece, 2 * e->room * sizeof *e->piece);
        if (!more) return HS_ERROR_MEMORY;
        e->piece = more;
        e->room *= 2;
    }
    e->piece[e->count].from = from;
    e->piece[e->count++].subset = subset;
    return HS_OK;
}

static hs_status add_pending(envelope *e, uint32_t left, uint32_t right)
{
    if (e->waiting == e->most) {
        uint32_t *more = realloc(e->pending, 4 * e->most * sizeof *e->pending);
        if (!more) return HS_ERROR_MEMORY;
        e->pending = more;
        e->most *= 2;
    }
    e->pending[2 * e->waiting] = left;
    e->pending[2 * e->waiting++ + 1] = right;
    return HS_OK;
}

/* Finds the line that is lowest as x goes to 0; of equal ones the one with the least slope. */
static uint32_t find_first(const envelope *e)
{
    uint32_t first = 1;
    for (uint32_t c = 2; c < e->subsets; c++) {
        const double start = start_of(e, c);
        const double least = start_of(e, first);
        if (start < least || (start == least && e->speed[c] > e->speed[first])) first = c;
    }
    return first;
}

static uint32_t find_lowest(const envelope *e, double x)
{
    uint32_t lowest = 1;
    double least = INFINITY;
    for (uint32_t c = 1; c < e->subsets; c++) {
        const double inverse = slope_of(e, c);
        const double time = x * inverse + e->length[c] * inverse;
        if (time < least) {
            least = time;
            lowest = c;
        }
    }
    return lowest;
}

/* Where the lines of two neighbours meet, either no line is lower, and the next piece begins; or
 * the lowest one lies between the two. */
static hs_status find_pieces(envelope *e)
{
    const uint32_t first = find_first(e);
    hs_status status = add_piece(e, 0.0, first);
    if (!status) status = add_pending(e, first, e->subsets - 1);
    while (e->waiting > 0 && !status) {
        if (hs__cancelled(e->cancel)) return HS_ERROR_CANCELLED;
        const uint32_t left = e->pending[2 * --e->waiting];
        const uint32_t right = e->pending[2 * e->waiting + 1];
        if (slope_of(e, left) <= slope_of(e, right)) continue;
        const double x =
            (start_of(e, right) - start_of(e, left)) / (slope_of(e, left) - slope_of(e, right));
        const uint32_t lowest = find_lowest(e, x);
        const double time = x * slope_of(e, lowest) + start_of(e, lowest);
        const double ends = fmin(x * slope_of(e, left) + start_of(e, left),
                                 x * slope_of(e, right) + start_of(e, right));
        if (time < ends * (1.0 - 1e-13)) {
            status = add_pending(e, lowest, right);
            if (!status) status = add_pending(e, left, lowest);
        } else status = add_piece(e, x, right);
    }
    return status;
}

/* Writes the shortest ring of a subset, and the largest payment of a member. */
static hs_status write_ring(const hs_ring *problem, uint32_t subset, const int *cancel,
                            int32_t *ring, int32_t *size, double *most)
{
    hs_ring all = *problem;
    double times[HS_RING_EXACT];
    for (int32_t i = 0; i < problem->p; i++)
        times[i] = subset >> i & 1 ? problem->cycle_times[i] : INFINITY;
    all.cycle_times = times;
    hs__ring_able able;
    hs_status status = hs__ring_choose_able(&all, cancel, &able);
    if (status) return status;
    status = hs__ring_restrict(&all, &able);
    if (!status) status = hs_ring_shortest(&able.inner, cancel, ring);
    *size = able.count;
    *most = 0.0;
    for (int32_t k = 0; k < *size && !status; k++) ring[k] = able.worker[ring[k]];
    for (int32_t k = 0; k < *size && !status; k++)
        *most = fmax(*most, hs__ring_paid(problem, ring[k], ring[(k + *size - 1) % *size],
                                          ring[(k + 1) % *size]));
    hs__ring_close_able(&able);
    return status;
}

hs_status hs_ring_profile(const hs_ring *problem, int32_t room, const int *cancel, int32_t *count,
                          double *works, int32_t *sizes, int32_t *rings, double *lengths,
                          int32_t *proven, double *least_lengths)
{
    if (!problem || problem->relays || room < 0 || !count || !least_lengths) return HS_ERROR_VALUE;
    if (room > 0 && (!works || !sizes || !rings || !lengths || !proven)) return HS_ERROR_VALUE;
    hs_ring unit = *problem;
    unit.work = 1.0;
    hs__ring_able able;
    hs_status status = hs__ring_choose_able(&unit, cancel, &able);
    if (status) return status;
    envelope e = {0};
    status = able.count > HS_RING_EXACT ? HS_ERROR_UNSUPPORTED : hs__ring_restrict(&unit, &able);
    if (!status) status = open_envelope(&e, &able.inner, cancel);
    if (!status) status = find_pieces(&e);
    for (size_t k = 0; k < e.count && k < (size_t)room && !status; k++) {
        const uint32_t subset = e.piece[k].subset;
        int32_t *ring = rings + k * (size_t)problem->p;
        double most;
        status = write_ring(&able.inner, subset, cancel, ring, sizes + k, &most);
        if (status) break;
        for (int32_t i = 0; i < sizes[k]; i++) ring[i] = able.worker[ring[i]];
        works[k] = e.piece[k].from;
        lengths[k] = e.length[subset];
        proven[k] = (works[k] + lengths[k]) / e.speed[subset] >= most * (1.0 - HS_EQUAL);
    }
    if (!status) {
        *count = (int32_t)e.count;
        for (int32_t i = 0; i < problem->p; i++) least_lengths[i] = INFINITY;
        for (uint32_t c = 1; c < e.subsets; c++) {
            double *least = least_lengths + __builtin_popcount(c) - 1;
            *least = fmin(*least, e.length[c]);
        }
    }
    close_envelope(&e);
    hs__ring_close_able(&able);
    return status;
}
