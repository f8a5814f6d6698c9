/* The boxes of a tree of cuts, in the unit cube and as integers. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/status.h"
#include "hetsched.h"

/* A tree in postfix order: the subtree that ends at node t has length[t] nodes; its children end at
 * t - 1 and at t - 1 - length[t - 1]. */
typedef struct {
    int32_t *length; /* [nodes] */
    double *volume;  /* [nodes] */
} forest;

/* Reads a tree. HS_ERROR_VALUE if it is not a tree, or if it names a worker twice or one without
 * volume. On HS_OK the caller frees both arrays. */
static hs_status read_tree(int32_t p, const double *volumes, const int32_t *tree, int32_t nodes,
                           forest *f)
{
    if (p < 1 || nodes < 1 || nodes % 2 == 0 || nodes / 2 >= p || !hs__valid_costs(p, volumes))
        return HS_ERROR_VALUE;
    f->length = malloc((size_t)nodes * sizeof *f->length);
    f->volume = malloc((size_t)nodes * sizeof *f->volume);
    bool *seen = calloc((size_t)p, sizeof *seen);
    hs_status status = hs__check_memory(f->length && f->volume && seen);

    double largest = 0.0; /* unit of the volumes, so that sums do not overflow */
    for (int32_t i = 0; i < p; i++) largest = fmax(largest, volumes[i]);
    for (int32_t t = 0, waiting = 0; !status && t < nodes; t++) {
        if (tree[t] >= 0) {
            waiting++;
            if (tree[t] >= p || seen[tree[t]] || volumes[tree[t]] == 0.0) status = HS_ERROR_VALUE;
            else {
                seen[tree[t]] = true;
                f->length[t] = 1;
                f->volume[t] = fmax(volumes[tree[t]] / largest, DBL_TRUE_MIN);
            }
        } else if (tree[t] < -3 || waiting-- < 2) status = HS_ERROR_VALUE;
        else {
            int32_t b = t - 1;
            int32_t a = b - f->length[b];
            f->length[t] = 1 + f->length[a] + f->length[b];
            f->volume[t] = f->volume[a] + f->volume[b];
        }
        if (!status && t == nodes - 1 && waiting != 1) status = HS_ERROR_VALUE;
    }
    free(seen);
    if (status) {
        free(f->length);
        free(f->volume);
    }
    return status;
}

hs_status hs_cuboid_boxes(int32_t p, const double *volumes, const int32_t *tree, int32_t length,
                          double *boxes)
{
    if (!volumes || !tree || !boxes) return HS_ERROR_VALUE;
    forest f;
    hs_status status = read_tree(p, volumes, tree, length, &f);
    if (status) return status;
    /* box of each node, parents before children */
    double(*box)[6] = malloc((size_t)length * sizeof *box);
    if (box) {
        memset(boxes, 0, 6 * (size_t)p * sizeof *boxes);
        memcpy(box[length - 1], (const double[6]){0, 0, 0, 1, 1, 1}, sizeof *box);
        for (int32_t t = length; t-- > 0;) {
            if (tree[t] >= 0) {
                memcpy(boxes + 6 * (size_t)tree[t], box[t], sizeof *box);
                continue;
            }
            int32_t b = t - 1;
            int32_t a = b - f.length[b];
            int32_t q = -1 - tree[t];
            memcpy(box[a], box[t], sizeof *box);
            memcpy(box[b], box[t], sizeof *box);
            box[a][3 + q] *= f.volume[a] / f.volume[t];
            box[b][3 + q] *= f.volume[b] / f.volume[t];
            box[b][q] += box[a][3 + q];
        }
    } else status = HS_ERROR_MEMORY;
    free(box);
    free(f.length);
    free(f.volume);
    return status;
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Each node has ideal sides, which are real numbers; its integer sides are kept within REACH of
 * them, so there are at most (2 REACH + 1)^3 cases per node. load[t][case] is the least possible
 * maximum of actual / ideal volume over the leaves below. If a parent is off by e, |e| <= REACH,
 * there are 2 REACH - |e| >= REACH integers for the cut that keep both children within reach: there
 * is always one. */
enum { REACH = 2, WIDE = 2 * REACH + 1, CASES = WIDE * WIDE * WIDE };

typedef struct {
    int64_t low[3];  /* least integer sides */
    int32_t wide[3]; /* number of integers from there */
} window;

static window window_of(const double ideal[3], const int64_t shape[3])
{
    window w;
    for (int q = 0; q < 3; q++) {
        double low = ceil(ideal[q] - REACH);
        double high = floor(ideal[q] + REACH);
        w.low[q] = low > 0.0 ? (int64_t)low : 0;
        int64_t last = high < (double)shape[q] ? (int64_t)high : shape[q];
        w.wide[q] = (int32_t)hs__min(hs__max(last - w.low[q] + 1, 1), WIDE);
    }
    return w;
}

static int32_t case_of(const window *w, const int64_t side[3])
{
    return (int32_t)(((side[0] - w->low[0]) * w->wide[1] + side[1] - w->low[1]) * w->wide[2] +
                     side[2] - w->low[2]);
}

static bool is_within(const window *w, int q, int64_t side)
{
    return side >= w->low[q] && side < w->low[q] + w->wide[q];
}

typedef struct {
    const int32_t *tree;
    const forest *f;
    double (*ideal)[3]; /* [nodes] */
    window *windows;    /* [nodes] */
    double *load;       /* [nodes * CASES] */
    int64_t shape[3];
} tiling;

static double load_of(const tiling *s, int32_t t, const int64_t side[3])
{
    if (s->tree[t] < 0) return s->load[(size_t)t * CASES + (size_t)case_of(&s->windows[t], side)];
    if (!side[0] || !side[1] || !side[2]) return 0.0;
    double load = 1.0;
    for (int q = 0; q < 3; q++) load *= (double)side[q] / s->ideal[t][q];
    return load;
}

/* Finds the least load of node t with these sides, and its cut: among equal cuts the one nearest to
 * the ideal. */
static double best_cut(const tiling *s, int32_t t, const int64_t side[3], int64_t *cut)
{
    int32_t b = t - 1;
    int32_t a = b - s->f->length[b];
    int q = -1 - s->tree[t];
    int64_t in_a[3] = {side[0], side[1], side[2]};
    int64_t in_b[3] = {side[0], side[1], side[2]};
    double best = INFINITY;
    double nearest = INFINITY;
    double ideal = (double)side[q] * (s->f->volume[a] / s->f->volume[t]);
    for (int64_t at = s->windows[a].low[q]; is_within(&s->windows[a], q, at) && at <= side[q];
         at++) {
        if (!is_within(&s->windows[b], q, side[q] - at)) continue;
        in_a[q] = at;
        in_b[q] = side[q] - at;
        double load = fmax(load_of(s, a, in_a), load_of(s, b, in_b));
        double off = fabs((double)at - ideal);
        if (load < best || (load == best && off < nearest)) {
            best = load;
            nearest = off;
            *cut = at;
        }
    }
    return best;
}

static void fill_loads(tiling *s, int32_t nodes, const int *cancel)
{
    for (int32_t t = 0; t < nodes && !hs__cancelled(cancel); t++) {
        const window *w = &s->windows[t];
        if (s->tree[t] >= 0) continue;
        int64_t side[3], cut;
        for (side[0] = w->low[0]; is_within(w, 0, side[0]); side[0]++)
            for (side[1] = w->low[1]; is_within(w, 1, side[1]); side[1]++)
                for (side[2] = w->low[2]; is_within(w, 2, side[2]); side[2]++)
                    s->load[(size_t)t * CASES + (size_t)case_of(w, side)] =
                        best_cut(s, t, side, &cut);
    }
}

hs_status hs_tile_cuboids(int64_t m, int64_t n, int64_t k, int32_t p, const double *volumes,
                          const int32_t *tree, int32_t length, const int *cancel, int64_t *boxes)
{
    if (!volumes || !tree || !boxes) return HS_ERROR_VALUE;
    const int64_t most = HS__SIZE_MOST;
    if (m < 1 || n < 1 || k < 1 || m > most || n > most || k > most) return HS_ERROR_VALUE;
    forest f;
    hs_status status = read_tree(p, volumes, tree, length, &f);
    if (status) return status;
    tiling s = {.tree = tree, .f = &f, .shape = {m, n, k}};
    s.ideal = malloc((size_t)length * sizeof *s.ideal);
    s.windows = malloc((size_t)length * sizeof *s.windows);
    s.load = malloc((size_t)length * CASES * sizeof *s.load);
    int64_t(*box)[6] = malloc((size_t)length * sizeof *box);
    if (s.ideal && s.windows && s.load && box) {
        for (int q = 0; q < 3; q++) s.ideal[length - 1][q] = (double)s.shape[q];
        for (int32_t t = length; t-- > 0;) {
            s.windows[t] = window_of(s.ideal[t], s.shape);
            if (tree[t] >= 0) continue;
            int32_t b = t - 1;
            int32_t a = b - f.length[b];
            int32_t q = -1 - tree[t];
            memcpy(s.ideal[a], s.ideal[t], sizeof *s.ideal);
            memcpy(s.ideal[b], s.ideal[t], sizeof *s.ideal);
            s.ideal[a][q] *= f.volume[a] / f.volume[t];
            s.ideal[b][q] *= f.volume[b] / f.volume[t];
        }
        fill_loads(&s, length, cancel);
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;

        if (!status) memset(boxes, 0, 6 * (size_t)p * sizeof *boxes);
        memcpy(box[length - 1], (const int64_t[6]){0, 0, 0, m, n, k}, sizeof *box);
        for (int32_t t = length; !status && t-- > 0;) {
            if (tree[t] >= 0) {
                if (box[t][3] && box[t][4] && box[t][5])
                    memcpy(boxes + 6 * (size_t)tree[t], box[t], sizeof *box);
                continue;
            }
            int32_t b = t - 1;
            int32_t a = b - f.length[b];
            int32_t q = -1 - tree[t];
            int64_t cut = 0;
            best_cut(&s, t, box[t] + 3, &cut);
            memcpy(box[a], box[t], sizeof *box);
            memcpy(box[b], box[t], sizeof *box);
            box[a][3 + q] = cut;
            box[b][3 + q] -= cut;
            box[b][q] += cut;
        }
    } else status = HS_ERROR_MEMORY;
    free(s.ideal);
    free(s.windows);
    free(s.load);
    free(box);
    free(f.length);
    free(f.volume);
    return status;
}
