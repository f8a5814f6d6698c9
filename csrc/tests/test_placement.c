/* hs__place_zones: zones still tile C, workers keep the areas of their speed, the cheapest placement
 * met is taken, errors and cancelling end the search. hs__link_clusters: against components by
 * their definition. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "schedule/clusters.h"
#include "schedule/placement.h"

enum { P = 7, PIECES = 9, M = 12, N = 10 };

/* two columns of zones beside a part that no straight cut divides; the last zone is empty */
static const int64_t tiled[4 * PIECES] = {0, 0, 5,  4, 5, 0, 7, 4, /* a column of two */
                                          0, 4, 12, 1,             /* a column of one */
                                          0, 5, 4,  4, 0, 9, 9, 1, 9, 6,
                                          3, 4, 4,  5, 8, 1, 4, 6, 5, 3, /* a pinwheel */
                                          3, 3, 0,  2};
static const int32_t owners[PIECES] = {0, 1, 2, 3, 4, 5, 6, 0, 1};
static const double times[P] = {1.0, 2.0, 2.0, 3.0, 2.0, 1.0, 5.0};

static int32_t workers[PIECES];
static int64_t rects[4 * PIECES];
static hs__placement zones = {.pieces = PIECES, .workers = workers, .rects = rects};
static const hs_matmul product = {.m = M, .n = N, .k = 1, .p = P, .cycle_times = times};

/* The cost is the distance of each worker's zones from a place of its own. */
typedef struct {
    long calls, most_calls;
    double least;
    double first;
} pricing;

static double area_of(int32_t worker)
{
    double area = 0.0;
    for (int q = 0; q < PIECES; q++)
        if (workers[q] == worker) area += (double)(rects[4 * q + 2] * rects[4 * q + 3]);
    return area;
}

static int is_tiled(void)
{
    int covered[M * N] = {0};
    for (int q = 0; q < PIECES; q++)
        for (int64_t i = rects[4 * q]; i < rects[4 * q] + rects[4 * q + 2]; i++)
            for (int64_t k = rects[4 * q + 1]; k < rects[4 * q + 1] + rects[4 * q + 3]; k++) {
                if (i < 0 || k < 0 || i >= M || k >= N) return 0;
                covered[i * N + k]++;
            }
    for (int i = 0; i < M * N; i++)
        if (covered[i] != 1) return 0;
    return 1;
}

/* Returns whether workers of each speed have the areas that workers of this speed had. */
static int has_areas_of_speeds(void)
{
    double square[2][6] = {{0.0}};
    for (int32_t i = 0; i < P; i++) {
        double before = 0.0;
        for (int q = 0; q < PIECES; q++)
            if (owners[q] == i) before += (double)(tiled[4 * q + 2] * tiled[4 * q + 3]);
        square[0][(int)times[i]] += before * before;
        square[1][(int)times[i]] += area_of(i) * area_of(i);
    }
    return !memcmp(square[0], square[1], sizeof square[0]);
}

static double cost_now(void)
{
    double cost = 0.0;
    for (int q = 0; q < PIECES; q++)
        cost += fabs((double)rects[4 * q] - 2.0 * workers[q]) +
                fabs((double)rects[4 * q + 1] - (workers[q] * 5) % 11);
    return cost;
}

static hs_status price(void *context, hs__price *found)
{
    pricing *x = context;
    CHECK(is_tiled() && has_areas_of_speeds());
    found->makespan = cost_now();
    found->messages = 0.0;
    if (!x->calls++) x->first = found->makespan;
    x->least = fmin(x->least, found->makespan);
    return x->most_calls && x->calls > x->most_calls ? HS_ERROR_MEMORY : HS_OK;
}

static hs_status place(pricing *x, int64_t moves, const int *cancel)
{
    memcpy(workers, owners, sizeof workers);
    memcpy(rects, tiled, sizeof rects);
    zones.price = price;
    zones.context = x;
    return hs__place_zones(&product, moves, cancel, &zones);
}

static void placements(void)
{
    pricing x = {.least = INFINITY};
    CHECK(place(&x, 300, NULL) == HS_OK);
    CHECK(x.calls == 301 && is_tiled() && has_areas_of_speeds());
    CHECK(cost_now() == x.least && x.least < x.first);
    const double least = x.least;
    x = (pricing){.least = INFINITY};
    CHECK(place(&x, 300, NULL) == HS_OK && x.least == least);
    x = (pricing){.least = INFINITY};
    CHECK(place(&x, 0, NULL) == HS_OK && x.calls == 1 && cost_now() == x.first);
    x = (pricing){.least = INFINITY, .most_calls = 7};
    CHECK(place(&x, 300, NULL) == HS_ERROR_MEMORY && x.calls == 8);
    const int cancelled = 1;
    x = (pricing){.least = INFINITY};
    CHECK(place(&x, 300, &cancelled) == HS_ERROR_CANCELLED && x.calls == 1);
}

/* Components of the links up to `cheap`, by marking neighbours until nothing changes. */
static void mark_components(int32_t p, const double *links, double cheap, int32_t *marks)
{
    for (int32_t i = 0; i < p; i++) marks[i] = i;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t i = 0; i < p; i++)
            for (int32_t k = 0; k < p; k++)
                if (links[i * p + k] <= cheap && links[k * p + i] <= cheap && marks[k] < marks[i]) {
                    marks[i] = marks[k];
                    changed = 1;
                }
    }
}

static void clusters(void)
{
    enum { MOST = 9 };
    for (int test = 0; test < CHECK_MANY(2000, 200); test++) {
        const int32_t p = 1 + (int32_t)check_random(MOST);
        double links[MOST * MOST];
        int32_t found[MOST], group[MOST], marks[MOST];
        const double far = test % 2 ? 20.0 : 1.0;
        for (int32_t i = 0; i < p; i++) group[i] = (int32_t)check_random(3);
        for (int32_t i = 0; i < p; i++)
            for (int32_t k = 0; k < p; k++)
                links[i * p + k] = i == k                 ? 0.0
                                   : group[i] == group[k] ? 4.0 + 0.2 * check_random(10)
                                                          : (4.0 + 0.2 * check_random(10)) * far;
        CHECK(hs__link_clusters(p, links, found) == HS_OK);
        mark_components(p, links, test % 2 ? 10.0 : INFINITY, marks);
        int32_t pairs = 0; /* without a cheap link there is no step */
        for (int32_t i = 0; i < p; i++)
            for (int32_t k = 0; k < i; k++) pairs += marks[i] == marks[k];
        for (int32_t i = 0; i < p; i++)
            for (int32_t k = 0; k < i; k++)
                CHECK((found[i] == found[k]) == (marks[i] == marks[k] || !pairs));
        int32_t next = 0;
        for (int32_t i = 0; i < p; i++) {
            CHECK(found[i] >= 0 && found[i] <= next);
            next += found[i] == next;
        }
    }
    const double free_links[9] = {0, 0, 7, 0, 0, 7, 7, 7, 0};
    int32_t found[3];
    CHECK(hs__link_clusters(3, free_links, found) == HS_OK);
    CHECK(found[0] == 0 && found[1] == 0 && found[2] == 1);
}

int main(void)
{
    placements();
    clusters();
    return check_result();
}
