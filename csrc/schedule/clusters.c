/* Clusters of workers that the costs of links show (schedule/clusters.h). */
#include "schedule/clusters.h"

#include <math.h>
#include <stdlib.h>

/* The least step between cheap and dear links. */
static const double STEP = 2.0;

static int compare_costs(const void *x, const void *y)
{
    const double a = *(const double *)x;
    const double b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Finds the minimum spanning tree (Prim): from [p] is the worker that each worker is joined to, at
 * cost [p]; from[0] is -1. */
static void span_workers(int32_t p, const double *links, int32_t *from, double *cost)
{
    for (int32_t i = 0; i < p; i++) {
        from[i] = -1;
        cost[i] = INFINITY;
    }
    int32_t *inside = from + p;
    for (int32_t i = 0; i < p; i++) inside[i] = 0;
    for (int32_t at = 0, joined = 1; joined < p; joined++) {
        int32_t next = -1;
        inside[at] = 1;
        for (int32_t i = 0; i < p; i++) {
            if (inside[i]) continue;
            const double link = fmax(links[(size_t)at * (size_t)p + (size_t)i],
                                     links[(size_t)i * (size_t)p + (size_t)at]);
            if (link < cost[i]) {
                cost[i] = link;
                from[i] = at;
            }
            if (next < 0 || cost[i] < cost[next]) next = i;
        }
        at = next;
    }
}

/* Returns the largest cost of a cheap edge of count edges, sorted. */
static double largest_cheap(int32_t count, const double *edges)
{
    double most = STEP;
    double cheap = INFINITY;
    for (int32_t k = 1; k < count; k++) {
        const double step = edges[k] / edges[k - 1]; /* 0 / 0 is no step */
        if (!(step >= most)) continue;
        most = step;
        cheap = edges[k - 1];
    }
    return cheap;
}

hs_status hs__link_clusters(int32_t p, const double *links, int32_t *clusters)
{
    double *cost = malloc((size_t)p * (2 * sizeof *cost + 2 * sizeof(int32_t)));
    if (!cost) return HS_ERROR_MEMORY;
    double *edges = cost + p;
    int32_t *from = (int32_t *)(edges + p);
    span_workers(p, links, from, cost);
    for (int32_t i = 1; i < p; i++) edges[i - 1] = cost[i];
    qsort(edges, (size_t)p - 1, sizeof *edges, compare_costs);
    const double cheap = largest_cheap(p - 1, edges);
    /* each worker follows the cheap edges to the first worker of its component */
    int32_t count = 0;
    for (int32_t i = 0; i < p; i++)
        if (from[i] < 0 || cost[i] > cheap) from[i] = -1;
    for (int32_t i = 0; i < p; i++) clusters[i] = -1;
    for (int32_t i = 0; i < p; i++) {
        int32_t root = i;
        while (from[root] >= 0) root = from[root];
        if (clusters[root] < 0) clusters[root] = count++;
        clusters[i] = clusters[root];
    }
    free(cost);
    return HS_OK;
}
