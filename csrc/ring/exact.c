/* hs_ring_exact: the best of all rings. Held and Karp's paths over all subsets start from the
 * lowest index of each subset. If the shortest ring of a subset is not balanced, its other rings
 * are enumerated, with the paths as exact bounds on the rest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ring/ring.h"

enum { BRIEF = 1 << 12, ROUNDS = 20 };

/* Workers are renumbered by `node`; bit k of a mask is the worker base + 1 + k. */
typedef struct {
    const hs__ring *x;
    int32_t n;              /* number of workers that remain */
    int32_t *node;          /* [n] their indices in the problem */
    double *edge, *payment; /* [n * n]; infinite for an edge that is in no better ring */
    double *speed;          /* [n] */
    /* row `mask` of m entries: the shortest path from the base through mask, by its end; infinite
     * for ends outside of mask */
    double *path;
    double *total; /* [1 << m] total speed of the workers in mask */
    int32_t base, m;
    int32_t walk[HS_RING_EXACT], depth; /* the path from the base backwards */
    int32_t *best, best_size;
    double value; /* makespan of the best ring */
    const int *cancel;
    int64_t walked;
} search;

static void close_search(search *s)
{
    free(s->node);
    free(s->edge);
    free(s->speed);
    free(s->path);
    free(s->best);
}

/* Keeps the workers that have at least two edges left: the best ring of three or more consists of
 * these. */
static hs_status reduce_workers(search *s, const hs__ring *x)
{
    const size_t p = (size_t)x->p;
    bool *gone = calloc(p * p, sizeof *gone);
    s->node = malloc(p * sizeof *s->node);
    if (!gone || !s->node) {
        free(gone);
        return HS_ERROR_MEMORY;
    }
    hs_status status = isfinite(s->value) ? hs__ring_prune(x, s->value, s->cancel, gone) : HS_OK;
    for (size_t i = 0; i < p && !status; i++) {
        int32_t edges = 0;
        for (size_t j = 0; j < p; j++) edges += j != i && !gone[i * p + j];
        if (edges >= 2) s->node[s->n++] = (int32_t)i;
    }
    const size_t n = (size_t)s->n;
    if (status) {
        free(gone);
        return status;
    }
    if (n > HS_RING_EXACT) status = HS_ERROR_UNSUPPORTED;
    else if (n >= 3) {
        const size_t rows = (size_t)1 << (n - 1);
        s->edge = malloc(2 * n * n * sizeof *s->edge);
        s->speed = malloc(n * sizeof *s->speed);
        /* n - 1 ends, and the speed */
        s->path = malloc(rows * n * sizeof *s->path);
        if (!s->edge || !s->speed || !s->path) status = HS_ERROR_MEMORY;
        else {
            s->payment = s->edge + n * n;
            s->total = s->path + rows * (n - 1);
            for (size_t a = 0; a < n; a++) {
                const size_t i = (size_t)s->node[a];
                s->speed[a] = x->speed[i];
                for (size_t b = 0; b < n; b++) {
                    const size_t at = i * p + (size_t)s->node[b];
                    s->payment[a * n + b] = x->payment[at];
                    s->edge[a * n + b] = a == b || gone[at] ? INFINITY : x->edge[at];
                }
            }
        }
    }
    free(gone);
    return status;
}

/* Finds all shortest paths from the base through subsets of the workers after it. */
static hs_status find_paths(search *s, int32_t base)
{
    const size_t n = (size_t)s->n;
    const size_t m = n - 1 - (size_t)base;
    const size_t first = (size_t)base + 1;
    s->base = base;
    s->m = (int32_t)m;
    s->total[0] = s->speed[base];
    for (uint32_t mask = 1; mask < UINT32_C(1) << m; mask++) {
        if (mask % BRIEF == 0 && hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        double *own = s->path + mask * m;
        const uint32_t rest = mask & (mask - 1);
        s->total[mask] = s->total[rest] + s->speed[first + (size_t)__builtin_ctz(mask)];
        for (size_t j = 0; j < m; j++) {
            own[j] = INFINITY;
            if (!(mask >> j & 1)) continue;
            const uint32_t others = mask ^ (UINT32_C(1) << j);
            const double *edge = s->edge + (first + j) * n + first;
            const double *path = s->path + others * m;
            if (!others) {
                own[j] = edge[-1]; /* to the base */
                continue;
            }
            /* four independent minima at a time */
            double least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
            size_t k = 0;
            for (; k + 4 <= m; k += 4)
                for (size_t c = 0; c < 4; c++) {
                    const double length = path[k + c] + edge[k + c];
                    least[c] = length < least[c] ? length : least[c];
                }
            for (; k < m; k++)
                least[0] = path[k] + edge[k] < least[0] ? path[k] + edge[k] : least[0];
            const double left = least[0] < least[1] ? least[0] : least[1];
            const double right = least[2] < least[3] ? least[2] : least[3];
            own[j] = left < right ? left : right;
        }
    }
    return HS_OK;
}

/* Returns the length of the shortest ring of the base and a mask of at least two workers. */
static double ring_length(const search *s, uint32_t mask, int32_t *last)
{
    const double *path = s->path + mask * (size_t)s->m;
    const double *edge = s->edge + (size_t)s->base * (size_t)s->n + s->base + 1;
    double least = INFINITY;
    for (int32_t j = 0; j < s->m; j++)
        if (path[j] + edge[j] < least) {
            least = path[j] + edge[j];
            *last = j;
        }
    return least;
}

/* Writes the members of that ring, as indices of the problem. */
static void write_ring(const search *s, uint32_t mask, int32_t last, int32_t *ring)
{
    const size_t n = (size_t)s->n;
    const size_t m = (size_t)s->m;
    const size_t first = (size_t)s->base + 1;
    int32_t size = 0;
    ring[size++] = s->node[s->base];
    for (int32_t j = last;;) {
        ring[size++] = s->node[first + (size_t)j];
        const uint32_t others = mask ^ (UINT32_C(1) << j);
        if (!others) return;
        const double *edge = s->edge + (first + (size_t)j) * n + first;
        const double *path = s->path + others * m;
        const double wanted = s->path[mask * m + (size_t)j];
        for (size_t k = 0; k < m; k++)
            if (path[k] + edge[k] == wanted) {
                j = (int32_t)k;
                break;
            }
        mask = others;
    }
}

static void consider_ring(search *s, int32_t size, int32_t *ring)
{
    hs__ring_turn(size, ring);
    const double value = hs__ring_value(s->x, size, ring);
    if (value < s->value) {
        s->value = value;
        s->best_size = size;
        memcpy(s->best, ring, (size_t)size * sizeof *ring);
    }
}

/* Goes backwards from the end j of a path through mask. `after` follows j in the ring, and `done`
 * is the length of the ring from j on. */
static hs_status walk_back(search *s, uint32_t mask, int32_t j, int32_t after, double done,
                           double speed)
{
    if (++s->walked % BRIEF == 0 && hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
    const size_t n = (size_t)s->n;
    const size_t first = (size_t)s->base + 1;
    const size_t own = first + (size_t)j;
    const double *payment = s->payment + own * n;
    const double paid = payment[after];
    s->walk[s->depth++] = (int32_t)own;
    const uint32_t others = mask ^ (UINT32_C(1) << j);
    hs_status status = HS_OK;
    if (!others) {
        const double *base = s->payment + (size_t)s->base * n;
        if (paid + payment[s->base] < s->value && base[own] + base[s->walk[1]] < s->value &&
            (int32_t)own < s->walk[1]) {
            int32_t ring[HS_RING_EXACT];
            for (int32_t k = 0; k < s->depth; k++) ring[k] = s->node[s->walk[k]];
            consider_ring(s, s->depth, ring);
        }
    } else {
        const double *edge = s->edge + own * n + first;
        const double *path = s->path + others * (size_t)s->m;
        for (int32_t k = 0; k < s->m && !status; k++)
            if (1.0 + (done + edge[k] + path[k]) < s->value * speed &&
                paid + payment[first + (size_t)k] < s->value)
                status = walk_back(s, others, k, (int32_t)own, done + edge[k], speed);
    }
    s->depth--;
    return status;
}

/* Tries the shortest ring of each subset first. Then, subset by subset, it enumerates all other
 * rings if the shortest ring is not balanced. */
static hs_status find_rings(search *s)
{
    const uint32_t all = UINT32_C(1) << s->m;
    int32_t ring[HS_RING_EXACT];
    int32_t last = 0;
    bool more = false;
    for (uint32_t mask = 1; mask < all; mask++) {
        if (mask % BRIEF == 0 && hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        if (!(mask & (mask - 1)) || 1.0 + ring_length(s, mask, &last) >= s->value * s->total[mask])
            continue;
        write_ring(s, mask, last, ring);
        consider_ring(s, __builtin_popcount(mask) + 1, ring);
        more = more || 1.0 + ring_length(s, mask, &last) < s->value * s->total[mask];
    }
    s->walk[0] = s->base;
    s->depth = 1;
    const double *edge = s->edge + (size_t)s->base * (size_t)s->n + s->base + 1;
    hs_status status = HS_OK;
    for (uint32_t mask = 1; more && mask < all && !status; mask++) {
        if (mask % BRIEF == 0 && hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
        if (!(mask & (mask - 1))) continue;
        for (int32_t j = 0; j < s->m && !status; j++)
            if (1.0 + (s->path[mask * (size_t)s->m + (size_t)j] + edge[j]) <
                s->value * s->total[mask])
                status = walk_back(s, mask, j, s->base, edge[j], s->total[mask]);
    }
    return status;
}

/* Tries all rings of one or two workers. */
static void find_small(search *s)
{
    const int32_t p = s->x->p;
    for (int32_t i = 0; i < p; i++) consider_ring(s, 1, &(int32_t){i});
    for (int32_t i = 0; i < p && !hs__cancelled(s->cancel); i++)
        for (int32_t j = i + 1; j < p; j++) consider_ring(s, 2, (int32_t[]){i, j});
}

static hs_status first_ring(search *s)
{
    hs_status status = HS_OK;
    for (int32_t i = 0; i < s->x->p && i < HS_RING_EXACT && !status; i++)
        status = hs__ring_grow(s->x, i, s->cancel, s->best, &s->best_size, &s->value);
    uint64_t state = 0;
    if (status) return status;
    return hs__ring_search(s->x, ROUNDS, s->cancel, &state, s->best, &s->best_size, &s->value);
}

hs_status hs_ring_exact(const hs_ring *problem, const int *cancel, int32_t *ring, int32_t *size,
                        double *makespan)
{
    if (!ring || !size || !makespan) return HS_ERROR_VALUE;
    hs__ring x;
    hs_status status = hs__ring_open(&x, problem, cancel);
    if (status) return status;
    search s = {
        .x = &x, .value = INFINITY, .cancel = cancel, .best = malloc((size_t)x.p * sizeof *s.best)};
    if (!s.best) status = HS_ERROR_MEMORY;
    if (!status) find_small(&s);
    if (!status) status = first_ring(&s);
    if (!status) status = reduce_workers(&s, &x);
    for (int32_t base = 0; base + 3 <= s.n && !status; base++) {
        status = find_paths(&s, base);
        if (!status) status = find_rings(&s);
    }
    if (!status) {
        memcpy(ring, s.best, (size_t)s.best_size * sizeof *ring);
        *size = s.best_size;
        *makespan = s.value * x.unit;
    }
    close_search(&s);
    hs__ring_close(&x);
    return status;
}

/* Opens a search for functions that consider all subsets of all workers. On HS_OK, and only then,
 * the caller closes x and s. */
static hs_status open_all(const hs_ring *problem, const int *cancel, hs__ring *x, search *s)
{
    hs_status status = hs__ring_open(x, problem, cancel);
    if (status) return status;
    *s = (search){.x = x, .value = INFINITY, .cancel = cancel};
    status = x->p > HS_RING_EXACT ? HS_ERROR_UNSUPPORTED : reduce_workers(s, x);
    if (status) {
        close_search(s);
        hs__ring_close(x);
    }
    return status;
}

hs_status hs_ring_lengths(const hs_ring *problem, const int *cancel, double *lengths)
{
    if (!lengths) return HS_ERROR_VALUE;
    hs__ring x;
    search s;
    hs_status status = open_all(problem, cancel, &x, &s);
    if (status) return status;
    const int32_t p = x.p;
    for (int32_t i = 0; i < p; i++) {
        lengths[0] = 0.0;
        lengths[(size_t)1 << i] = x.edge[(size_t)i * (size_t)p + (size_t)i];
        for (int32_t j = 0; j < i; j++)
            lengths[(size_t)1 << i | (size_t)1 << j] =
                2.0 * x.edge[(size_t)i * (size_t)p + (size_t)j];
    }
    for (int32_t base = 0; base + 3 <= s.n && !status; base++) {
        status = find_paths(&s, base);
        int32_t last;
        for (uint32_t mask = 1; mask < UINT32_C(1) << s.m && !status; mask++)
            if (mask & (mask - 1))
                lengths[(size_t)(2 * mask + 1) << base] = ring_length(&s, mask, &last);
    }
    close_search(&s);
    hs__ring_close(&x);
    return status;
}

hs_status hs_ring_shortest(const hs_ring *problem, const int *cancel, int32_t *ring)
{
    if (!ring) return HS_ERROR_VALUE;
    hs__ring x;
    search s;
    hs_status status = open_all(problem, cancel, &x, &s);
    if (status) return status;
    if (x.p >= 3) status = find_paths(&s, 0);
    if (!status) {
        int32_t last = 0;
        const uint32_t all = (UINT32_C(1) << (x.p - 1)) - 1;
        if (x.p >= 3) {
            ring_length(&s, all, &last);
            write_ring(&s, all, last, ring);
        } else
            for (int32_t i = 0; i < x.p; i++) ring[i] = i;
        hs__ring_turn(x.p, ring);
    }
    close_search(&s);
    hs__ring_close(&x);
    return status;
}
