/* hs_ring_greedy: rings that grow by cheapest insertion. 2003 paper, section 6.2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"
#include "ring/ring.h"

typedef struct {
    const hs__ring *x;
    int32_t size;
    int32_t *next, *before; /* [p] neighbours in the ring; next is -1 outside */
    /* [p] outside: the cheapest place is between this member and the next one */
    int32_t *place;
    double *cost;     /* [p] cost of that insertion */
    int32_t *members; /* [p] in the order of insertion */
    int32_t *order;   /* [p] workspace */
    double *paid;     /* [p] */
} growth;

static double insertion_cost(const growth *g, int32_t i, int32_t a)
{
    const size_t p = (size_t)g->x->p;
    const size_t u = (size_t)i;
    const size_t from = (size_t)a;
    const size_t to = (size_t)g->next[a];
    return g->x->edge[u * p + from] + g->x->edge[u * p + to] - g->x->edge[from * p + to];
}

static void offer_place(growth *g, int32_t i, int32_t a)
{
    const double cost = insertion_cost(g, i, a);
    if (cost < g->cost[i]) {
        g->cost[i] = cost;
        g->place[i] = a;
    }
}

/* Inserts worker i after member a. Only the two new edges and the one that vanishes can change the
 * cheapest places of other workers. */
static void insert_worker(growth *g, int32_t i, int32_t a)
{
    const int32_t b = g->next[a];
    g->next[a] = i;
    g->next[i] = b;
    g->before[b] = i;
    g->before[i] = a;
    g->members[g->size++] = i;
    for (int32_t u = 0; u < g->x->p; u++) {
        if (g->next[u] >= 0) continue;
        if (g->place[u] == a) {
            g->cost[u] = INFINITY;
            for (int32_t k = 0; k < g->size; k++) offer_place(g, u, g->members[k]);
        } else {
            offer_place(g, u, a);
            offer_place(g, u, i);
        }
    }
}

static double paid_by(const growth *g, int32_t i)
{
    const double *payment = g->x->payment + (size_t)i * (size_t)g->x->p;
    return payment[g->next[i]] + payment[g->before[i]];
}

hs_status hs__ring_grow(const hs__ring *x, int32_t first, const int *cancel, int32_t *ring,
                        int32_t *size, double *value)
{
    const size_t p = (size_t)x->p;
    int32_t *indices = malloc(5 * p * sizeof *indices);
    double *numbers = malloc(2 * p * sizeof *numbers);
    if (!indices || !numbers) {
        free(indices);
        free(numbers);
        return HS_ERROR_MEMORY;
    }
    growth g = {.x = x,
                .next = indices,
                .before = indices + p,
                .place = indices + 2 * p,
                .members = indices + 3 * p,
                .order = indices + 4 * p,
                .cost = numbers,
                .paid = numbers + p};
    for (size_t i = 0; i < p; i++) g.next[i] = -1;
    g.next[first] = g.before[first] = first;
    g.members[g.size++] = first;
    for (int32_t i = 0; i < x->p; i++)
        if (i != first) {
            g.place[i] = first;
            g.cost[i] = insertion_cost(&g, i, first);
        }
    g.paid[first] = paid_by(&g, first);
    double length = x->edge[(size_t)first * p + (size_t)first];
    double speed = x->speed[first];
    hs_status status = HS_OK;
    for (;;) {
        double most = 0.0;
        for (int32_t k = 0; k < g.size; k++) most = fmax(most, g.paid[g.members[k]]);
        const double time = (1.0 + length) / speed;
        if ((time > most || g.size == 1 || x->relays) && fmax(time, most) < *value) {
            for (int32_t k = 0, i = first; k < g.size; k++, i = g.next[i]) g.order[k] = i;
            hs__ring_turn(g.size, g.order);
            const double found = hs__ring_value(x, g.size, g.order);
            if (found < *value) {
                memcpy(ring, g.order, (size_t)g.size * sizeof *ring);
                *size = g.size;
                *value = found;
            }
        }
        if (g.size == x->p) break;
        if (hs__cancelled(cancel)) {
            status = HS_ERROR_CANCELLED;
            break;
        }
        int32_t chosen = -1;
        for (int32_t i = 0; i < x->p; i++)
            if (g.next[i] < 0 && (chosen < 0 || g.cost[i] < g.cost[chosen])) chosen = i;
        const int32_t a = g.place[chosen];
        const int32_t b = g.next[a];
        length += g.cost[chosen];
        speed += x->speed[chosen];
        insert_worker(&g, chosen, a);
        g.paid[a] = paid_by(&g, a);
        g.paid[b] = paid_by(&g, b);
        g.paid[chosen] = paid_by(&g, chosen);
    }
    free(indices);
    free(numbers);
    return status;
}

hs_status hs_ring_greedy(const hs_ring *problem, int32_t first, const int *cancel, int32_t *ring,
                         int32_t *size, double *makespan)
{
    if (!problem || !ring || !size || !makespan) return HS_ERROR_VALUE;
    if (first < -1 || first >= problem->p) return HS_ERROR_VALUE;
    hs__ring x;
    hs_status status = hs__ring_open(&x, problem, cancel);
    if (status) return status;
    int32_t *found = malloc((size_t)x.p * sizeof *found);
    int32_t count = 0;
    double value = INFINITY;
    if (!found) status = HS_ERROR_MEMORY;
    const int32_t begin = (int32_t)hs__max(first, 0); /* -1: from each worker */
    const int32_t end = first < 0 ? x.p : first + 1;
    for (int32_t i = begin; !status && i < end; i++) {
        status = hs__check_cancel(cancel);
        if (!status) status = hs__ring_grow(&x, i, cancel, found, &count, &value);
    }
    if (!status) {
        memcpy(ring, found, (size_t)count * sizeof *ring);
        *size = count;
        *makespan = value * x.unit;
    }
    free(found);
    hs__ring_close(&x);
    return status;
}
