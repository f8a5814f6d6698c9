/* hs_ring_routes: routes between the workers of a network. */
#include <math.h>
#include <stdlib.h>

#include "core/status.h"
#include "ring/shared.h"

/* For each node, the best route to it from one worker. */
typedef struct {
    int32_t *length; /* [nodes] links on the route; -1: not reached */
    int32_t *link;   /* [nodes] the last of them */
    double *cost;    /* [nodes] cost of the slowest of them */
} tree;

static int32_t other_end(const hs_ring_network *network, int32_t link, int32_t node)
{
    const int32_t *ends = network->ends + 2 * (size_t)link;
    return ends[0] == node ? ends[1] : ends[0];
}

/* Finds the routes with the fewest links; of these, the ones with the fastest slowest link. */
static void grow_tree(const hs_ring_network *network, int32_t from, tree *t)
{
    for (int32_t k = 0; k < network->nodes; k++) t->length[k] = -1;
    t->length[from] = 0;
    t->cost[from] = 0.0;
    bool grows = true;
    for (int32_t length = 1; grows; length++) {
        grows = false;
        for (int32_t l = 0; l < 2 * network->links; l++) {
            const int32_t tail = network->ends[l];
            const int32_t head = network->ends[l ^ 1];
            if (t->length[tail] != length - 1) continue;
            if (t->length[head] >= 0 && t->length[head] < length) continue;
            const double cost = fmax(t->cost[tail], network->costs[l / 2]);
            if (t->length[head] == length && !(cost < t->cost[head])) continue;
            t->length[head] = length;
            t->link[head] = l / 2;
            t->cost[head] = cost;
            grows = true;
        }
    }
}

static bool is_network(int32_t p, const hs_ring_network *network)
{
    if (!network || p < 1 || network->nodes < p || network->links < 0) return false;
    if (network->nodes > HS_RING_MOST || network->links > HS_RING_LINKS) return false;
    if (network->links && (!network->ends || !network->costs)) return false;
    for (int32_t l = 0; l < network->links; l++) {
        const int32_t *ends = network->ends + 2 * (size_t)l;
        const double cost = network->costs[l];
        if (ends[0] < 0 || ends[1] < 0 || ends[0] >= network->nodes || ends[1] >= network->nodes)
            return false;
        if (ends[0] == ends[1]) return false;
        if (!(cost == 0.0 || (cost >= 0x1p-200 && cost <= 0x1p200))) return false;
    }
    return true;
}

hs_status hs_ring_routes(int32_t p, const hs_ring_network *network, int64_t room, const int *cancel,
                         int64_t *first, int32_t *hops)
{
    if (!is_network(p, network) || !first || room < 0 || (room && !hops)) return HS_ERROR_VALUE;
    const size_t nodes = (size_t)network->nodes;
    tree t = {.length = malloc(nodes * sizeof *t.length),
              .link = malloc(nodes * sizeof *t.link),
              .cost = malloc(nodes * sizeof *t.cost)};
    hs_status status = hs__check_memory(t.length && t.link && t.cost);
    int64_t count = 0;
    for (int32_t i = 0; i < p && !status; i++) {
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        if (!status) grow_tree(network, i, &t);
        /* links lead both ways, so if the first worker reaches all workers, each of them does */
        for (int32_t j = 0; j < p && !status; j++)
            if (t.length[j] < 0) status = HS_ERROR_INFEASIBLE;
        for (int32_t j = 0; j < p && !status; j++) {
            first[(size_t)i * (size_t)p + (size_t)j] = count;
            count += t.length[j];
            if (count > room) continue;
            /* from the end to the beginning */
            int64_t at = count;
            for (int32_t node = j; node != i; node = other_end(network, t.link[node], node))
                hops[--at] = t.link[node];
        }
    }
    if (!status) first[(size_t)p * (size_t)p] = count;
    free(t.length);
    free(t.link);
    free(t.cost);
    return status;
}

/* Follows a route; returns whether it leads from i to j and takes no link twice.
 *   seen  [links] the last route that took each link */
static bool is_route(const hs_ring_network *network, int64_t begin, int64_t end, int32_t i,
                     int32_t j, int64_t number, int64_t *seen)
{
    int32_t node = i;
    for (int64_t k = begin; k < end; k++) {
        const int32_t link = network->hops[k];
        if (link < 0 || link >= network->links || seen[link] == number) return false;
        const int32_t *ends = network->ends + 2 * (size_t)link;
        if (ends[0] != node && ends[1] != node) return false;
        seen[link] = number;
        node = other_end(network, link, node);
    }
    return node == j;
}

static hs_status check_routes(int32_t p, const hs_ring_network *network, const int *cancel)
{
    if (!network->first || (network->links && !network->hops)) return HS_ERROR_VALUE;
    const int64_t pairs = (int64_t)p * p;
    if (network->first[0] != 0) return HS_ERROR_VALUE;
    for (int64_t k = 0; k < pairs; k++)
        if (network->first[k + 1] < network->first[k] ||
            network->first[k + 1] - network->first[k] > network->links)
            return HS_ERROR_VALUE;
    int64_t *seen = malloc(((size_t)network->links + 1) * sizeof *seen);
    if (!seen) return HS_ERROR_MEMORY;
    for (int32_t l = 0; l < network->links; l++) seen[l] = -1;
    hs_status status = HS_OK;
    for (int64_t k = 0; k < pairs && !status; k++) {
        const int32_t i = (int32_t)(k / p);
        const int32_t j = (int32_t)(k % p);
        if (j == 0 && hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        else if (!is_route(network, network->first[k], network->first[k + 1], i, j, k, seen))
            status = HS_ERROR_VALUE;
    }
    free(seen);
    return status;
}

void hs__network_alone(int32_t p, const hs_ring_network *network, double *alone)
{
    for (int64_t k = 0; k < (int64_t)p * p; k++) {
        alone[k] = 0.0;
        for (int64_t h = network->first[k]; h < network->first[k + 1]; h++)
            alone[k] = fmax(alone[k], network->costs[network->hops[h]]);
    }
}

/* Copies the routes between able workers; with links for both directions, link l towards its first
 * end is 2 l + 1. */
static hs_status copy_routes(hs__shared *s, const hs__ring_able *able, int32_t p,
                             const hs_ring_network *network)
{
    const size_t n = (size_t)able->count;
    int64_t count = 0;
    for (int turn = 0; turn < 2; turn++) {
        if (turn) s->hops = malloc(((size_t)count + 1) * sizeof *s->hops);
        else s->first = malloc((n * n + 1) * sizeof *s->first);
        if (!(turn ? (void *)s->hops : (void *)s->first)) return HS_ERROR_MEMORY;
        count = 0;
        for (size_t k = 0; k < n * n; k++) {
            int32_t node = able->worker[k / n];
            const size_t pair = (size_t)node * (size_t)p + (size_t)able->worker[k % n];
            s->first[k] = count;
            for (int64_t h = network->first[pair]; h < network->first[pair + 1]; h++, count++) {
                const int32_t link = network->hops[h];
                const bool back = network->ends[2 * (size_t)link] != node;
                if (turn) s->hops[count] = network->duplex ? 2 * link + back : link;
                node = other_end(network, link, node);
            }
        }
        s->first[n * n] = count;
    }
    return HS_OK;
}

/* Allocates and fills what does not change. */
static hs_status fill_shared(hs__shared *s, const hs__ring_able *able, int32_t p,
                             const hs_ring_network *network)
{
    const hs_ring *inner = &able->inner;
    const size_t n = (size_t)able->count;
    s->links = network->links * (network->duplex ? 2 : 1);
    const size_t links = (size_t)s->links + 1;
    s->cost = malloc(links * sizeof *s->cost);
    s->price = calloc(links, sizeof *s->price);
    s->fixed = malloc(n * n * sizeof *s->fixed);
    s->priced = calloc(n * n, sizeof *s->priced);
    if (!s->cost || !s->price || !s->fixed || !s->priced) return HS_ERROR_MEMORY;
    double fastest = INFINITY;
    for (size_t i = 0; i < n; i++) fastest = fmin(fastest, inner->cycle_times[i]);
    for (int32_t l = 0; l < s->links; l++) {
        const double cost = network->costs[network->duplex ? l / 2 : l];
        s->cost[l] = inner->volume * cost / fastest / inner->work;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double latency = i == j ? 0.0 : hs__ring_latency(inner, i, j);
            s->fixed[i * n + j] =
                (0.5 * hs__ring_overhead(inner, i) + latency) / fastest / inner->work;
        }
    return copy_routes(s, able, p, network);
}

hs_status hs__shared_open(hs__shared *s, hs__ring_able *able, const hs_ring *problem,
                          const hs_ring_network *network, const int *cancel)
{
    if (!problem || !is_network(problem->p, network) || problem->p > HS_RING_MOST)
        return HS_ERROR_VALUE;
    const size_t p = (size_t)problem->p;
    hs_status status = check_routes(problem->p, network, cancel);
    if (status) return status;
    *s = (hs__shared){.alone = malloc(p * p * sizeof *s->alone)};
    if (!s->alone) return HS_ERROR_MEMORY;
    hs__network_alone(problem->p, network, s->alone);
    hs_ring ring = *problem;
    ring.links = s->alone;
    ring.relays = 1;
    *able = (hs__ring_able){0};
    status = hs__ring_choose_able(&ring, cancel, able);
    if (!status && able->count > HS_RING_SHARED_MOST) status = HS_ERROR_UNSUPPORTED;
    if (!status) status = hs__ring_restrict(&ring, able);
    if (!status) status = hs__ring_open(&s->x, &able->inner, cancel);
    if (!status) status = fill_shared(s, able, problem->p, network);
    if (!status) status = hs__sharing_open(s);
    if (!status) return HS_OK;
    hs__shared_close(s);
    hs__ring_close_able(able);
    return status;
}

void hs__shared_close(hs__shared *s)
{
    hs__ring_close(&s->x);
    free(s->alone);
    free(s->cost);
    free(s->first);
    free(s->hops);
    free(s->fixed);
    free(s->price);
    free(s->priced);
    hs__sharing_close(s->own);
    *s = (hs__shared){0};
}
