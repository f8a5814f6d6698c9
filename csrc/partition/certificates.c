/* Certificates of partitions: lower bounds on the cost of zones and boxes of given sizes, whatever
 * their positions. Proofs: docs/theory.md. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/sum.h"
#include "hetsched.h"
#include "partition/cuboids.h"
#include "partition/floorplan.h"
#include "partition/zones.h"

/* ---- zones (2-D) ----------------------------------------------------------------------------- */

/* The box, and for up to three zones the area, the weight and the least half perimeter of a zone of
 * that area. */
typedef struct {
    double m, n, s[3], c[3], least[3];
} few;

/* Returns the least half perimeter of a zone of area s in a box with shorter side `side`: the zone
 * is a square, or it spans that side. */
static double least_half(double s, double side)
{
    return sqrt(s) <= side ? 2.0 * sqrt(s) : side + s / side;
}

/* Either one zone spans the box in both directions, or both zones span the same side. */
static double bound_of_two(const few *x)
{
    const double whole = x->m + x->n;
    double least =
        fmin(x->c[0] * whole + x->c[1] * x->least[1], x->c[1] * whole + x->c[0] * x->least[0]);
    for (int axis = 0; axis < 2; axis++) {
        const double side = axis ? x->n : x->m;
        least = fmin(least, x->c[0] * (side + x->s[0] / side) + x->c[1] * (side + x->s[1] / side));
    }
    return least;
}

/* Either some zone spans a side, or every row and every column meets two zones. */
static double bound_of_three(const few *x, double total)
{
    const double side = fmin(x->m, x->n);
    const double whole = x->m + x->n;
    const double dearest = fmax(fmax(x->c[0], x->c[1]), x->c[2]);
    double extra = INFINITY;
    double smallest = INFINITY;
    double sum = 0.0;
    for (int q = 0; q < 3; q++) {
        extra = fmin(extra, x->c[q] * (side + x->s[q] / side - x->least[q]));
        smallest = fmin(smallest, x->least[q]);
        sum += x->least[q];
    }
    double bound = fmin(total + extra, (x->c[0] + x->c[1] + x->c[2] - dearest) * whole);
    if (x->c[0] != x->c[1] || x->c[1] != x->c[2]) return bound;
    /* cost of the other two zones, whichever zone spans the side */
    const double two = sum - fmax(fmax(x->least[0], x->least[1]), x->least[2]);
    double least = 2.0 * whole;
    for (int axis = 0; axis < 2; axis++) {
        const double h = axis ? x->n : x->m, w = axis ? x->m : x->n;
        least = fmin(least, fmin(h + w + two - fmax(0.0, (two - h) / 2.0),
                                 fmin(2.0 * h + w + smallest, 3.0 * h + w)));
    }
    return fmax(bound, x->c[0] * least);
}

hs_status hs_zones_bound(int32_t p, const double *areas, const double *weights, double height,
                         double width, int32_t largest, double *bound)
{
    /* eight parallel sums: fast, and their rounding errors stay small for millions of zones */
    enum { LANES = 8 };
    if (p < 1 || !areas || !bound ||
        !(height > 0.0 && width > 0.0 && isfinite(height) && isfinite(width)))
        return HS_ERROR_VALUE;
    few x = {.m = height, .n = width};
    const double side = fmin(height, width);
    double sums[LANES] = {0.0};
    double most = 0.0;
    double total = 0.0;
    int32_t count = 0;
    for (int32_t i = 0; i < p; i++) {
        const double weight = weights ? weights[i] : 1.0;
        if (!(areas[i] >= 0.0 && isfinite(areas[i]) && weight > 0.0 && isfinite(weight)))
            return HS_ERROR_VALUE;
        if (areas[i] == 0.0) continue;
        const double least = least_half(areas[i], side), cost = weight * least;
        if (count < 3) {
            x.s[count] = areas[i];
            x.c[count] = weight;
            x.least[count] = least;
        }
        sums[count++ % LANES] += cost;
        most = fmax(most, cost);
    }
    for (int lane = 0; lane < LANES; lane++) total += sums[lane];
    *bound = largest      ? most
             : count == 2 ? fmax(total, bound_of_two(&x))
             : count == 3 ? fmax(total, bound_of_three(&x, total))
                          : total;
    return HS_OK;
}

hs_status hs_floorplan_certificate(int32_t p, const double *areas, const double *weights,
                                   double aspect, const int32_t *plan, int32_t length,
                                   hs_certificate *certificate)
{
    int32_t size;
    double value;
    if (!areas || !plan || !certificate) return HS_ERROR_VALUE;
    const double total = hs__partition_total(p, areas, weights, aspect, &size);
    if (!(total > 0.0)) return HS_ERROR_VALUE;
    hs_status status = hs__floorplan_cost(p, areas, weights, aspect, plan, length, &value);
    if (status) return status;
    double *shares = malloc((size_t)p * sizeof *shares);
    if (!shares) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < p; i++) shares[i] = areas[i] > 0.0 ? hs__share(areas[i], total) : 0.0;
    double bound;
    status = hs_zones_bound(p, shares, weights, 1.0 / sqrt(aspect), sqrt(aspect), 0, &bound);
    free(shares);
    return status ? status : hs_certificate_of("cost", HS_MINIMISED, value, bound, certificate);
}

/* Adds up the areas of the pieces; returns whether all lie in the matrix and fill it. */
static bool add_areas(int64_t m, int64_t n, int32_t p, int32_t pieces, const int32_t *workers,
                      const int64_t *rects, double *areas)
{
    double total = 0.0;
    memset(areas, 0, (size_t)p * sizeof *areas);
    for (int32_t q = 0; q < pieces; q++) {
        const int64_t *r = rects + 4 * (size_t)q;
        if (workers[q] < 0 || workers[q] >= p || r[0] < 0 || r[1] < 0 || r[2] < 0 || r[3] < 0)
            return false;
        if (r[0] > m || r[2] > m - r[0] || r[1] > n || r[3] > n - r[1]) return false;
        areas[workers[q]] += (double)r[2] * (double)r[3];
        total += (double)r[2] * (double)r[3];
    }
    return fabs(total - (double)m * (double)n) <= 1e-9 * (double)m * (double)n;
}

/* Adds up the weighted projections of the workers' pieces.
 *   space  [7 pieces] workspace, and
 *   marks  [p + 1]
 *   spans  [2 p] workspace */
static double sum_projections(int32_t p, const double *weights, int32_t pieces,
                              const int32_t *workers, const int64_t *rects, double *space,
                              int32_t *marks, double *spans)
{
    double *sides = space + 3 * (size_t)pieces;
    for (size_t k = 0; k < 4 * (size_t)pieces; k++) sides[k] = (double)rects[k];
    hs__zone_spans(p, pieces, workers, sides, space, marks, spans);
    for (size_t i = 0; i < (size_t)p; i++) {
        const double half = spans[2 * i] + spans[2 * i + 1];
        spans[i] = weights ? weights[i] * half : half;
    }
    return hs__sum(p, spans);
}

hs_status hs_zones_certificate(int64_t m, int64_t n, int32_t p, const double *weights,
                               int32_t pieces, const int32_t *workers, const int64_t *rects,
                               hs_certificate *certificate)
{
    const int64_t most = HS__SIZE_MOST;
    if (m < 1 || n < 1 || m > most || n > most || p < 1 || pieces < 1 || !workers || !rects ||
        !certificate)
        return HS_ERROR_VALUE;
    double *areas = malloc((3 * (size_t)p + 7 * (size_t)pieces) * sizeof *areas);
    int32_t *marks = malloc(((size_t)p + 1) * sizeof *marks);
    hs_status status = areas && marks ? HS_OK : HS_ERROR_MEMORY;
    if (!status && !add_areas(m, n, p, pieces, workers, rects, areas)) status = HS_ERROR_VALUE;
    double bound;
    if (!status) status = hs_zones_bound(p, areas, weights, (double)m, (double)n, 0, &bound);
    if (!status) {
        double *spans = areas + p;
        const double value = sum_projections(p, weights, pieces, workers, rects,
                                             spans + 2 * (size_t)p, marks, spans);
        status = hs_certificate_of("cost", HS_MINIMISED, value, bound, certificate);
    }
    free(areas);
    free(marks);
    return status;
}

/* ---- cuboids (3-D) --------------------------------------------------------------------------- */

/* Computes the least weighted faces of a box of volume v <= 1 alone in the unit cube. By Lagrange,
 * its sides are proportional to the weights of the faces across them, `across` (descending, with
 * the largest as 1), except sides that reach the side of the cube, the longest first. */
static double least_faces_alone(double v, const double across[3])
{
    double side[3] = {1.0, 1.0, 1.0};
    for (int first = 0; first < 3; first++) {
        const int left = 3 - first;
        double product = 1.0;
        for (int q = first; q < 3; q++) product *= across[q];
        const double scale = left == 3 ? cbrt(v / product) : left == 2 ? sqrt(v / product) : v;
        /* this side is 1; also if the weight is 0, when any length is good */
        if (left > 1 && !(scale * across[first] <= 1.0)) continue;
        for (int q = first; q < 3; q++) side[q] = left == 1 ? v : scale * across[q];
        break;
    }
    return across[0] * side[1] * side[2] + across[1] * side[0] * side[2] +
           across[2] * side[0] * side[1];
}

/* Computes a lower bound on all tilings: every box alone in the cube, with its best sides. */
static double boxes_bound(const hs__cuboid_problem *s, const double *faces)
{
    double across[3] = {faces[0], faces[1], faces[2]};
    double sum = 0.0;
    for (int i = 1; i < 3; i++)
        for (int q = i; q > 0 && across[q] > across[q - 1]; q--) {
            const double moved = across[q];
            across[q] = across[q - 1];
            across[q - 1] = moved;
        }
    const double unit = across[0];
    for (int q = 0; q < 3; q++) across[q] /= unit;
    for (int32_t i = 0; i < s->size; i++) sum += least_faces_alone(s->volume[i], across);
    return sum * unit;
}

hs_status hs_cuboids_bound(int32_t p, const double *volumes, const double *faces, double *bound)
{
    hs__cuboid_problem s;
    if (!volumes || !faces || !bound) return HS_ERROR_VALUE;
    hs_status status = hs__cuboid_setup(p, volumes, faces, 7, &s);
    if (status) return status;
    *bound = boxes_bound(&s, faces);
    free(s.worker);
    free(s.volume);
    return HS_OK;
}

hs_status hs_cuboids_certificate(int32_t p, const double *volumes, const double *faces,
                                 const int32_t *tree, int32_t length, hs_certificate *certificate)
{
    hs__cuboid_problem s;
    int32_t nodes, best[2 * HS__ALL_ARE_GUILLOTINE - 1];
    double value, bound, least;
    if (!volumes || !faces || !tree || !certificate) return HS_ERROR_VALUE;
    hs_status status = hs__cuboid_setup(p, volumes, faces, 7, &s);
    if (status) return status;
    bound = boxes_bound(&s, faces);
    const int32_t size = s.size;
    free(s.worker);
    free(s.volume);
    status = length == 2 * size - 1
                 ? hs__cuboid_end(p, volumes, faces, tree, length, &nodes, &value)
                 : HS_ERROR_VALUE;
    if (!status && size <= HS__ALL_ARE_GUILLOTINE) {
        status = hs_partition_cuboids_exact(p, volumes, faces, 7, NULL, best, &nodes, &least);
        if (!status) bound = fmax(bound, least);
    }
    return status ? status : hs_certificate_of("cost", HS_MINIMISED, value, bound, certificate);
}
