/* hs_ring_routes, hs_ring_shared_best and hs_ring_bandwidths: closed forms, bandwidths of links, all
 * methods against each other, refusals, failing allocations. What needs another solver is in
 * tests/planners/test_shared_ring.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

enum { MOST = 6, NODES = MOST + 3, LINKS = NODES + 2, HOPS = MOST * MOST * LINKS };

static double times[MOST], costs[LINKS];
static int32_t ends[2 * LINKS], hops[HOPS];
static int64_t first[MOST * MOST + 1];

static int is_near(double a, double b, double part)
{
    return fabs(a - b) <= part * fmax(fabs(a), fabs(b));
}

/* A random tree of p workers and three routers, with two more links. */
static hs_ring_network make_network(int32_t p)
{
    const int32_t nodes = p + 3;
    for (int32_t k = 0; k < nodes + 1; k++) {
        ends[2 * k] = k + 1 < nodes ? (int32_t)check_random((unsigned)k + 1) : 0;
        ends[2 * k + 1] = k + 1 < nodes ? k + 1 : nodes - 1;
        costs[k] = check_random(8) ? (double)(1 + check_random(20)) / 8 : 0.0;
    }
    for (int32_t i = 0; i < p; i++) times[i] = 1 + check_random(100) / 25.0;
    hs_ring_network net = {.nodes = nodes,
                           .links = nodes + 1,
                           .ends = ends,
                           .costs = costs,
                           .duplex = (int32_t)check_random(2),
                           .first = first,
                           .hops = hops};
    CHECK(hs_ring_routes(p, &net, HOPS, NULL, first, hops) == HS_OK);
    return net;
}

/* Checks that messages with these costs, 1 / bandwidth, fit on each link. */
static void check_links(int32_t p, const hs_ring_network *net, int32_t size, const int32_t *ring,
                        const double *links)
{
    double used[2 * LINKS] = {0};
    for (int32_t r = 0; r < 2 * size && size > 1; r++) {
        int32_t node = ring[r / 2];
        const int32_t to = ring[(r / 2 + (r % 2 ? size - 1 : 1)) % size];
        const int64_t pair = node * p + to;
        const double cost = links[pair];
        for (int64_t h = first[pair]; h < first[pair + 1]; h++) {
            const int32_t *end = net->ends + 2 * hops[h];
            const int back = net->duplex && end[0] != node;
            if (net->costs[hops[h]] > 0) used[2 * hops[h] + back] += net->costs[hops[h]] / cost;
            node = end[0] == node ? end[1] : end[0];
        }
        CHECK(node == to);
    }
    for (int32_t k = 0; k < 2 * net->links; k++) CHECK(used[k] <= 1 + 1e-12);
}

static void all_methods(void)
{
    for (int round = 0; round < CHECK_MANY(300, 5); round++) {
        const int32_t p = 1 + (int32_t)check_random(MOST);
        const hs_ring_network net = make_network(p);
        const hs_ring problem = {
            .p = p, .cycle_times = times, .work = pow(4, check_random(5)), .volume = 1};
        double exact = NAN;
        static const hs_ring_method methods[] = {HS_RING_METHOD_EXACT, HS_RING_METHOD_BEST,
                                                 HS_RING_METHOD_SEARCH, HS_RING_METHOD_GREEDY};
        for (int m = 0; m < 4; m++) {
            int32_t ring[MOST];
            int32_t size;
            double links[MOST * MOST], shares[MOST];
            hs_ring_method used;
            hs_certificate c;
            hs_certificate own;
            CHECK(hs_ring_shared_best(&problem, &net, methods[m], NULL, NULL, ring, &size, links,
                                      shares, &used, &c) == HS_OK);
            check_links(p, &net, size, ring, links);
            CHECK(c.bound <= c.value);
            if (m == 0) exact = c.value;
            CHECK(m || c.gap < 1e-6);
            CHECK(c.bound <= exact * (1 + 1e-12) && c.value >= exact * (1 - 1e-9));
            CHECK(m == 3 || is_near(c.value, exact, 1e-9));
            hs_ring with = problem;
            with.links = links;
            with.relays = 1;
            CHECK(hs_ring_certificate(&with, size, ring, shares, NULL, &own) == HS_OK &&
                  is_near(own.value, c.value, 1e-9));
            CHECK(hs_ring_shared_certificate(&with, &net, size, ring, shares, NULL, &own) ==
                      HS_OK &&
                  is_near(own.value, c.value, 1e-9) && own.bound <= exact * (1 + 1e-12));
            CHECK(hs_ring_bandwidths(&problem, &net, size, ring, NULL, links, shares, &own) ==
                      HS_OK &&
                  is_near(own.value, c.value, 1e-9));
        }
    }
}

/* Two workers on one link that all four messages share: (work + 4 c (sum of the square roots of the
 * speeds)^2) / (sum of the speeds). */
static void one_link(void)
{
    const double two[] = {1, 4};
    const double cost[] = {0.5};
    const int32_t both[] = {0, 1};
    const int32_t hop[] = {0, 0};
    const int64_t at[] = {0, 0, 1, 2, 2};
    const hs_ring_network net = {
        .nodes = 2, .links = 1, .ends = both, .costs = cost, .first = at, .hops = hop};
    const hs_ring problem = {.p = 2, .cycle_times = two, .work = 100, .volume = 2};
    double links[4], shares[2];
    hs_certificate c;
    CHECK(hs_ring_bandwidths(&problem, &net, 2, both, NULL, links, shares, &c) == HS_OK);
    CHECK(is_near(c.value, (100 + 4 * 0.5 * 2 * 2.25) / 1.25, 1e-12));
    CHECK(is_near(links[2], 2 * links[1], 1e-6) && links[0] == 0 && links[3] == 0);
}

static void refusals(void)
{
    hs_ring_network net = make_network(3);
    const hs_ring problem = {.p = 3, .cycle_times = times, .work = 9, .volume = 1};
    double links[9] = {-7};
    double shares[3] = {-7};
    hs_certificate c = {.value = -7};
#define REFUSED(status)                                                                      \
    (hs_ring_bandwidths(&problem, &net, 3, (int32_t[]){0, 1, 2}, NULL, links, shares, &c) == \
         (status) &&                                                                         \
     links[0] == -7 && shares[0] == -7 && c.value == -7)
    ends[1] = 99;
    CHECK(REFUSED(HS_ERROR_VALUE));
    ends[1] = ends[0];
    CHECK(REFUSED(HS_ERROR_VALUE));
    net = make_network(3);
    costs[2] = NAN;
    CHECK(REFUSED(HS_ERROR_VALUE));
    costs[2] = -1;
    CHECK(REFUSED(HS_ERROR_VALUE));
    net = make_network(3);
    hops[0] = 99;
    CHECK(REFUSED(HS_ERROR_VALUE));
    net = make_network(3);
    first[4]++;
    CHECK(REFUSED(HS_ERROR_VALUE));
    net = make_network(3);
    first[0] = 1;
    CHECK(REFUSED(HS_ERROR_VALUE));
    net = make_network(3);
    net.nodes = 2;
    CHECK(REFUSED(HS_ERROR_VALUE));
    net = make_network(3);
    int32_t size = -7;
    int32_t ring[3] = {-7};
    CHECK(hs_ring_shared_best(&problem, &net, HS_RING_METHOD_ALL, NULL, NULL, ring, &size, links,
                              shares, NULL, &c) == HS_ERROR_VALUE);
    CHECK(hs_ring_bandwidths(&problem, &net, 2, (int32_t[]){1, 1}, NULL, links, shares, &c) ==
          HS_ERROR_VALUE);
    net.links = 0;
    first[9] = -7;
    CHECK(hs_ring_routes(3, &net, 0, NULL, first, NULL) == HS_ERROR_INFEASIBLE && first[9] == -7);
}

static void no_memory(void)
{
    const hs_ring_network net = make_network(4);
    const hs_ring problem = {.p = 4, .cycle_times = times, .work = 100, .volume = 1};
    int32_t ring[4] = {-7};
    int32_t size = -7;
    double links[16] = {-7};
    double shares[4] = {-7};
    hs_certificate c = {.value = -7};
    CHECK_SCARCE(hs_ring_shared_best(&problem, &net, HS_RING_METHOD_SEARCH, NULL, NULL, ring, &size,
                                     links, shares, NULL, &c),
                 ring[0] == -7 && size == -7 && links[0] == -7 && shares[0] == -7 && c.value == -7);
    ring[0] = size = -7;
    links[0] = shares[0] = c.value = -7;
    CHECK_SCARCE(hs_ring_shared_best(&problem, &net, HS_RING_METHOD_EXACT, NULL, NULL, ring, &size,
                                     links, shares, NULL, &c),
                 ring[0] == -7 && size == -7 && links[0] == -7 && shares[0] == -7 && c.value == -7);
    links[0] = shares[0] = c.value = -7;
    CHECK_SCARCE(hs_ring_bandwidths(&problem, &net, size, ring, NULL, links, shares, &c),
                 links[0] == -7 && shares[0] == -7 && c.value == -7);
    first[0] = -7;
    hops[0] = -7;
    CHECK_SCARCE(hs_ring_routes(4, &net, HOPS, NULL, first, hops), first[0] == -7 && hops[0] == -7);
}

int main(void)
{
    all_methods();
    one_link();
    refusals();
    no_memory();
    return check_result();
}
