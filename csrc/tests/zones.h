/* Zones and costs for the tests of partitions: everything is measured again from the rectangles,
 * and for few workers every tree is tried. */
#ifndef HETSCHED_TESTS_ZONES_H
#define HETSCHED_TESTS_ZONES_H

#include <math.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "span.h"

enum { ZONES_MOST = 64 };

static inline double zones_weight(const double *weights, int32_t i)
{
    return weights ? weights[i] : 1.0;
}

/* Returns a side of a part of a box: its share if the cut divides that side. */
static inline double zones_side(double side, int divided, double share)
{
    return divided ? side * share : side;
}

static inline int zones_near(double x, double y, double relative)
{
    return fabs(x - y) <= relative * fmax(fabs(x), fabs(y));
}

/* Returns the sum over the workers of weight * (height + width of what the pieces span). *largest,
 * if not NULL, becomes the largest term. */
static inline double zones_cost(const double *weights, double aspect, const int32_t *workers,
                                const double *rects, int32_t pieces, double *largest)
{
    const double width = sqrt(aspect);
    const double height = 1.0 / width;
    double sum = 0.0;
    double most = 0.0;
    for (int32_t k = 0; k < pieces; k++) {
        const double *a = rects + 4 * k;
        int count = 1;
        while (k + count < pieces && workers[k + count] == workers[k]) count++;
        const double own = zones_weight(weights, workers[k]) *
                           (pieces_span(a, count, 0) * height + pieces_span(a, count, 1) * width);
        sum += own;
        most = fmax(most, own);
        k += count - 1;
    }
    if (largest) *largest = most;
    return sum;
}

/* Returns whether the pieces tile the unit square with the requested areas. */
static inline int zones_tile(int32_t p, const double *areas, const int32_t *workers,
                             const double *rects, int32_t pieces)
{
    double own[ZONES_MOST] = {0};
    double total = 0.0;
    int count[ZONES_MOST] = {0};
    for (int32_t i = 0; i < p; i++) total += areas[i];
    for (int32_t k = 0; k < pieces; k++) {
        const double *a = rects + 4 * k;
        if (workers[k] < 0 || workers[k] >= p) return 0;
        if (!(a[0] >= -1e-12 && a[1] >= -1e-12 && a[2] > 0 && a[3] > 0 &&
              a[0] + a[2] <= 1 + 1e-12 && a[1] + a[3] <= 1 + 1e-12))
            return 0;
        own[workers[k]] += a[2] * a[3];
        count[workers[k]]++;
        for (int32_t q = 0; q < k; q++) {
            const double *b = rects + 4 * q;
            const double tall = fmin(a[0] + a[2], b[0] + b[2]) - fmax(a[0], b[0]);
            const double wide = fmin(a[1] + a[3], b[1] + b[3]) - fmax(a[1], b[1]);
            if (tall > 1e-11 && wide > 1e-11) return 0;
        }
    }
    /* a zone around corners is a difference of rectangles, so its error is absolute */
    for (int32_t i = 0; i < p; i++) {
        const double share = areas[i] / total;
        if (share > 1e-290 ? !zones_near(own[i], share, 1e-9) &&
                                 !(count[i] >= 2 && fabs(own[i] - share) < 1e-14)
                           : own[i] > 1e-289)
            return 0;
    }
    return 1;
}

/* Checks a floorplan and its cost. Returns the measured cost, or -1. `cost_of_most`: the cost is
 * the largest cost of a worker. */
static inline double zones_check(int32_t p, const double *areas, const double *weights,
                                 double aspect, const int32_t *plan, int32_t length, double cost,
                                 int cost_of_most, const char *file, int line)
{
    int32_t workers[2 * ZONES_MOST];
    int32_t pieces = -1;
    double rects[8 * ZONES_MOST];
    double sum = -1;
    double most;
    if (!check_that(hs_floorplan_rects(p, areas, weights, aspect, plan, length, workers, rects,
                                       &pieces, &sum) == HS_OK,
                    "a floorplan", file, line))
        return -1;
    check_that(zones_tile(p, areas, workers, rects, pieces), "zones of the areas tile the square",
               file, line);
    const double measured = zones_cost(weights, aspect, workers, rects, pieces, &most);
    double heaviest = 1.0;
    double stretch = fmax(sqrt(aspect), 1.0 / sqrt(aspect));
    for (int32_t i = 0; i < p && weights; i++) heaviest = fmax(heaviest, weights[i]);
    /* rounding errors in the positions of the pieces of an L */
    const double lost = 1e-14 * heaviest * stretch;
    check_that(zones_near(sum, measured, 1e-9) || fabs(sum - measured) < lost,
               "the cost of hs_floorplan_rects is that of the zones", file, line);
    check_that(zones_near(cost, sum, 1e-9) || cost_of_most,
               "the cost is that of hs_floorplan_rects", file, line);
    check_that(zones_near(cost, most, 1e-9) || !cost_of_most,
               "the cost is the largest of the zones", file, line);
    return cost_of_most ? most : measured;
}

/* Draws areas of many kinds, at least one of them positive. */
static inline void zones_areas(int kind, int32_t p, double *areas)
{
    for (int32_t i = 0; i < p; i++) switch (kind % 6) {
        case 0: areas[i] = 1 + check_random(1u << 20); break;
        case 1: areas[i] = check_random(4); break;
        case 2: areas[i] = 1; break;
        case 3: areas[i] = pow(10, (int)check_random(9) - 4); break;
        case 4: areas[i] = check_random(2) ? pow(10, (int)check_random(31) - 15) : 1e15; break;
        default: areas[i] = pow(10, (int)check_random(281) - 140); break;
        }
    areas[check_random((unsigned)p)] = 3.5;
}

/* Draws weights of several kinds, or returns NULL. */
static inline const double *zones_weights(int kind, int32_t p, double *weights)
{
    if (kind % 3 == 0) return NULL;
    for (int32_t i = 0; i < p; i++)
        weights[i] =
            kind % 3 == 1 ? 0.25 * (1 + check_random(12)) : pow(10, (int)check_random(9) - 4);
    return weights;
}

static inline double zones_aspect(int kind)
{
    return (const double[]){1, 1, 1, 2.5, 0.1, 300}[kind % 6];
}

/* Returns the least sum, or the least maximum, over all guillotine trees of a set of shares, in a
 * box with the area of the set. */
static inline double zones_every_tree(unsigned set, const double *areas, const double *weights,
                                      double height, double width, int cost_of_most)
{
    if ((set & (set - 1)) == 0) {
        int i = 0;
        while (!(set >> i & 1)) i++;
        return zones_weight(weights, i) * (height + width);
    }
    double best = INFINITY;
    double all = 0;
    for (int i = 0; i < 32; i++)
        if (set >> i & 1) all += areas[i];
    for (unsigned first = (set - 1) & set; first; first = (first - 1) & set) {
        double own = 0;
        double rest = 0;
        /* skips mirror images */
        if (first & (set & -set)) continue;
        for (int i = 0; i < 32; i++) {
            if (first >> i & 1) own += areas[i];
            else if (set >> i & 1) rest += areas[i];
        }
        for (int above = 0; above < 2; above++) {
            const double share = own / all;
            const double other = rest / all;
            const double a =
                zones_every_tree(first, areas, weights, zones_side(height, above, share),
                                 zones_side(width, !above, share), cost_of_most);
            const double b =
                zones_every_tree(set & ~first, areas, weights, zones_side(height, above, other),
                                 zones_side(width, !above, other), cost_of_most);
            best = fmin(best, cost_of_most ? fmax(a, b) : a + b);
        }
    }
    return best;
}

/* Does the same over the trees in which every box holds a run of the list. */
static inline double zones_every_run(const int32_t *list, int32_t size, const double *areas,
                                     const double *weights, double height, double width,
                                     int cost_of_most)
{
    if (size == 1) return zones_weight(weights, *list) * (height + width);
    double best = INFINITY;
    for (int32_t cut = 1; cut < size; cut++) {
        double own = 0;
        double rest = 0;
        for (int32_t k = 0; k < size; k++) *(k < cut ? &own : &rest) += areas[list[k]];
        for (int above = 0; above < 2; above++) {
            const double share = own / (own + rest);
            const double other = rest / (own + rest);
            const double a =
                zones_every_run(list, cut, areas, weights, zones_side(height, above, share),
                                zones_side(width, !above, share), cost_of_most);
            const double b = zones_every_run(list + cut, size - cut, areas, weights,
                                             zones_side(height, above, other),
                                             zones_side(width, !above, other), cost_of_most);
            best = fmin(best, cost_of_most ? fmax(a, b) : a + b);
        }
    }
    return best;
}

/* Sorts the workers of positive area in ascending order, ties by index; returns their number. */
static inline int32_t zones_sorted(int32_t p, const double *areas, int32_t *order)
{
    int32_t size = 0;
    for (int32_t i = 0; i < p; i++) {
        if (!(areas[i] > 0)) continue;
        int32_t k = size++;
        for (; k > 0 && areas[order[k - 1]] > areas[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    return size;
}

static inline void zones_shuffle(int32_t size, int32_t *order)
{
    for (int32_t k = size - 1; k > 0; k--) {
        const int32_t j = (int32_t)check_random((unsigned)k + 1);
        const int32_t swap = order[k];
        order[k] = order[j];
        order[j] = swap;
    }
}

#endif
