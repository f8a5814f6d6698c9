/* Chases the bulges of a general band (spectral/general_chase.h). */
#include "spectral/general_chase.h"

#include <complex.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "kernel/qr_vector.h"

/* LINE: bytes of a cache line. GROUP: sweeps that go down the band together. */
enum { LINE = 64, GROUP = 4 };

/* The chase, as all workers see it.
 *   step  from an element of a row to the next one */
typedef struct {
    const hs__general_band *own;
    hs__qr_vector vector;
    int64_t element, step;
} chase;

/* A sweep on its way down the band.
 *   place   the next one
 *   cols    rows and columns of D there; <= 0: the sweep has ended
 *   v, tau  the reflector from the right that D has to be multiplied by */
typedef struct {
    int64_t number, place, cols;
    void *v, *tau;
} sweep_state;

/* A worker's vectors. u, tau: the reflector from the left. The updates are u z^T + w y^T. */
typedef struct {
    void *u, *z, *w, *y, *tau;
} chase_room;

/* ---- places and memory ----------------------------------------------------------------------- */

static void *element_at(const chase *x, int64_t row, int64_t col)
{
    const int64_t at = 2 * x->own->width + row - col + col * x->own->band_ld;
    return x->own->band + at * x->element;
}

static int64_t count_sweeps(const hs__general_band *x) { return hs__max(x->n - 1, 0); }

static int64_t count_groups(const hs__general_band *x)
{
    return hs__ceil_div(count_sweeps(x), GROUP);
}

/* Each group of sweeps has a counter, in a cache line of its own: the places that its last sweep has
 * left. */
size_t hs__general_band_bytes(const hs__general_band *x)
{
    return (size_t)(count_groups(x) * LINE);
}

static _Atomic int64_t *progress_of(const hs__general_band *x, int64_t group)
{
    return (_Atomic int64_t *)(void *)(x->work + group * LINE);
}

static int64_t vector_bytes(const hs__general_band *x)
{
    return hs__round_up(x->width * (int64_t)hs__element_bytes(x->dtype), LINE);
}

/* A vector and a factor for each sweep of a group, and for the worker four vectors and a factor. */
size_t hs__general_band_scratch(const hs__general_band *x)
{
    return (size_t)((GROUP + 4) * vector_bytes(x) + (GROUP + 1) * LINE);
}

static void store_reflector(const chase *x, const hs__chased *to, const sweep_state *s,
                            const void *v, const void *tau)
{
    if (!to) return;
    const int64_t at = s->number * to->places + s->place;
    memcpy(to->v + at * to->width * x->element, v, (size_t)(s->cols * x->element));
    memcpy(to->tau + at * x->element, tau, (size_t)x->element);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

#define TEMPLATE "spectral/general_chase_template.h"
#define SET(x) x
#include "kernel/each_type.h"

typedef struct {
    void (*begin_sweep)(const chase *x, sweep_state *s);
    void (*pass_place)(const chase *x, sweep_state *s, const chase_room *room);
    void (*set_first)(const chase *x);
} chase_type;

#define FUNCTIONS(TYPE) {TYPE##_begin_sweep, TYPE##_pass_place, TYPE##_set_first}
static const chase_type types[] = {FUNCTIONS(float), FUNCTIONS(double), FUNCTIONS(complex_float),
                                   FUNCTIONS(complex_double)};

/* Lays out the scratch memory: the worker's vectors, then the vectors of the sweeps. */
static chase_room start_group(const hs__general_band *x, int64_t group, const hs__walk *walk,
                              sweep_state *sweeps)
{
    char *scratch = hs__walk_scratch(walk);
    const int64_t each = vector_bytes(x);
    const chase_room room = {.u = scratch,
                             .z = scratch + each,
                             .w = scratch + 2 * each,
                             .y = scratch + 3 * each,
                             .tau = scratch + 4 * each};
    scratch += 4 * each + LINE;
    for (int64_t q = 0; q < GROUP; q++, scratch += each + LINE) {
        const int64_t number = group * GROUP + q;
        sweeps[q] = (sweep_state){.number = number,
                                  .cols = hs__min(x->width, x->n - 1 - number),
                                  .v = scratch,
                                  .tau = scratch + each};
    }
    return room;
}

/* Takes a group of sweeps down the band: each in turn passes a place, one place behind the sweep
 * before it. */
static void chase_group(void *context, int32_t task, hs__walk *walk)
{
    const chase *x = context;
    const chase_type *type = &types[x->own->dtype];
    const int64_t places = hs__chased_places(x->own->n - (int64_t)task * GROUP, x->own->width);
    sweep_state sweeps[GROUP];
    const chase_room room = start_group(x->own, task, walk, sweeps);
    for (int64_t t = 0; t < places + GROUP - 1; t++) {
        if (task) hs__phase_await(walk, progress_of(x->own, task - 1), t + 2);
        if (hs__attend(&walk->self)) return;
        for (int64_t q = 0; q < GROUP && q <= t; q++) {
            if (sweeps[q].cols <= 0) continue;
            if (sweeps[q].place == 0) type->begin_sweep(x, &sweeps[q]);
            type->pass_place(x, &sweeps[q], &room);
        }
        hs__phase_raise(walk, progress_of(x->own, task), sweeps[GROUP - 1].place);
    }
    hs__phase_raise(walk, progress_of(x->own, task), INT64_MAX);
}

/* Resets the counters and sets the factors tau of places that no sweep reaches to zero. */
static void begin_chase(void *context, int32_t task, hs__walk *walk)
{
    const chase *x = context;
    const hs__chased *kept[] = {x->own->left, x->own->right};
    (void)task;
    (void)walk;
    types[x->own->dtype].set_first(x);
    for (int64_t g = 0; g < count_groups(x->own); g++) atomic_store(progress_of(x->own, g), 0);
    for (int i = 0; i < 2; i++)
        if (kept[i])
            memset(kept[i]->tau, 0, (size_t)(kept[i]->sweeps * kept[i]->places * x->element));
}

int hs__general_chase(hs__walk *walk, const hs__general_band *x)
{
    chase all = {.own = x,
                 .vector = hs__qr_vector_for(x->dtype),
                 .element = (int64_t)hs__element_bytes(x->dtype),
                 .step = x->band_ld - 1};
    return hs__phase(walk, x->n > 0, begin_chase, &all) ||
           hs__phase(walk, (int32_t)count_groups(x), chase_group, &all);
}
