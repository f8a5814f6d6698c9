/* Chases a Hermitian band matrix to tridiagonal form (spectral/chase.h). */
#include "spectral/chase.h"

#include <string.h>

#include "core/element.h"
#include "core/numbers.h"

/* Sweeps of a group. Longer groups keep the band longer in the cache of a worker: with one worker,
 * groups of 2 to 8 sweeps took the same time, and single sweeps 5 % more. But at least
 * GROUPS_IN_BAND groups should be on the band at the same time. A group of q sweeps needs q + 1
 * places, so groups are shorter on a short band. */
enum { GROUP_MOST = 4, GROUPS_IN_BAND = 5 };

static int64_t count_sweeps(const hs__chase *x) { return hs__max(x->n - 1, 0); }
static int64_t group_size(const hs__chase *x)
{
    const int64_t fair = hs__chased_places(x->n, x->width) / GROUPS_IN_BAND - 1;
    return hs__min(hs__max(fair, 1), GROUP_MOST);
}
static int64_t count_groups(const hs__chase *x)
{
    return hs__ceil_div(count_sweeps(x), group_size(x));
}

static int64_t places_of(const hs__chase *x, int64_t sweep)
{
    return hs__chased_places(x->n - sweep, x->width);
}

/* The workspace: for each group, the places that its last sweep has done. */
static _Atomic int64_t *counter_of(const hs__chase *x, int64_t group)
{
    return (_Atomic int64_t *)x->work + group;
}

size_t hs__chase_bytes(const hs__chase *x)
{
    return (size_t)count_groups(x) * sizeof(_Atomic int64_t);
}

/* The scratch memory: for each sweep of a group two reflectors, of the next place and of the one
 * after it. Each is v, then tau in as many bytes as a vector of the processor. */
static int64_t reflector_bytes(const hs__chase *x)
{
    return x->width * (int64_t)hs__element_bytes(x->dtype) + 64;
}

size_t hs__chase_scratch(const hs__chase *x)
{
    return (size_t)(2 * GROUP_MOST * reflector_bytes(x));
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

typedef struct {
    const hs__chase *x;
    hs__chase_vector vector;
    char *scratch;
} worker_state;

typedef struct {
    char *v, *tau;
} reflector;

/* Returns where the reflector of a sweep at a place is, or will be. */
static reflector reflector_at(const worker_state *w, int64_t sweep, int64_t place)
{
    const int64_t e = (int64_t)hs__element_bytes(w->x->dtype);
    const hs__chased *kept = w->x->kept;
    if (kept) {
        const int64_t at = sweep * kept->places + place;
        return (reflector){kept->v + at * kept->width * e, kept->tau + at * e};
    }
    char *v = w->scratch + (2 * (sweep % GROUP_MOST) + place % 2) * reflector_bytes(w->x);
    return (reflector){v, v + w->x->width * e};
}

static char *element_at(const hs__chase *x, int64_t row, int64_t col)
{
    return x->band + (row - col + col * x->band_ld) * (int64_t)hs__element_bytes(x->dtype);
}

/* Does one place of a sweep. The first place also makes the first reflector. */
static void do_place(const worker_state *w, int64_t sweep, int64_t place)
{
    const hs__chase *x = w->x;
    const int64_t row = sweep + 1 + place * x->width, cols = hs__min(x->width, x->n - row);
    const reflector own = reflector_at(w, sweep, place);
    reflector next = {NULL, NULL};
    if (place == 0) w->vector.reflect(x->width, element_at(x, row, sweep), own.v, own.tau);
    if (place + 1 < places_of(x, sweep)) next = reflector_at(w, sweep, place + 1);
    w->vector.step(x->width, cols, element_at(x, row, row), x->band_ld - 1, own.v, own.tau, next.v,
                   next.tau);
}

/* Does the sweeps of a group together. Step t does place t - k of sweep k, for ascending k. So when
 * sweep k does a place, sweep k - 1 has just done the place after it. */
static void do_group(void *context, int32_t group, hs__walk *walk)
{
    const hs__chase *x = context;
    const worker_state w = {x, hs__chase_vector_for(x->dtype), hs__walk_scratch(walk)};
    const int64_t first = group * group_size(x);
    const int64_t sweeps = hs__min(group_size(x), count_sweeps(x) - first);
    const int64_t last_places = places_of(x, first + sweeps - 1);
    for (int64_t step = 0, done = 0; done < last_places; step++) {
        for (int64_t k = 0; k < sweeps; k++) {
            const int64_t place = step - k;
            if (place < 0 || place >= places_of(x, first + k)) continue;
            if (k == 0 && group > 0) hs__phase_await(walk, counter_of(x, group - 1), place + 2);
            if (hs__stopped(&walk->self)) return;
            do_place(&w, first + k, place);
            if (k == sweeps - 1) done++;
        }
        if (done && done < last_places) hs__phase_raise(walk, counter_of(x, group), done);
        if (hs__attend(&walk->self)) return;
    }
    hs__phase_raise(walk, counter_of(x, group), INT64_MAX);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void reset_counters(void *context, int32_t task, hs__walk *walk)
{
    const hs__chase *x = context;
    (void)task;
    (void)walk;
    for (int64_t i = 0; i < count_groups(x); i++) atomic_store(counter_of(x, i), 0);
}

/* Copies the real parts of the diagonal and of the subdiagonal. */
static void copy_tridiagonal(void *context, int32_t task, hs__walk *walk)
{
    const hs__chase *x = context;
    const size_t real = hs__real_bytes(x->dtype);
    (void)task;
    (void)walk;
    for (int64_t i = 0; i < x->n; i++) {
        memcpy((char *)x->d + (size_t)i * real, element_at(x, i, i), real);
        if (i + 1 < x->n) memcpy((char *)x->e + (size_t)i * real, element_at(x, i + 1, i), real);
    }
}

int hs__hermitian_chase(hs__walk *walk, const hs__chase *x)
{
    void *context = (void *)(uintptr_t)x;
    return hs__phase(walk, 1, reset_counters, context) ||
           hs__phase(walk, (int32_t)count_groups(x), do_group, context) ||
           hs__phase(walk, 1, copy_tridiagonal, context);
}
