/* Certificates of partitions: lower bounds on the cost of zones and boxes of given sizes, whatever
 * their positions. Proofs: docs/theory.md. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"
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

/* The same for the larger of the two costs. */
static double bound_of_larger(const few *x)
{
    const double whole = x->m + x->n;
    double least = fmin(fmax(x->c[0] * whole, x->c[1] * x->least[1]),
                        fmax(x->c[1] * whole, x->c[0] * x->least[0]));
    for (int axis = 0; axis < 2; axis++) {
        const double side = axis ? x->n : x->m;
        const double first = x->c[0] * (side + x->s[0] / side);
        least = fmin(least, fmax(first, x->c[1] * (side + x->s[1] / side)));
    }
    return least;
}

/* Zones i and j span the side h and share the lines across it, w in all; zone k spans nothing. */
static double bound_of_slices(const few *x, int i, int j, int k, double h, double w)
{
    const int cheap = x->c[i] <= x->c[j] ? i : j;
    const int dear = i + j - cheap;
    const double lines = x->s[dear] / h;
    return (x->c[i] + x->c[j]) * h + x->c[dear] * lines + x->c[cheap] * (w - lines) +
           x->c[k] * x->least[k];
}

/* Zone i spans the side h, and d lines across it meet the other two zones, j and k, but not zone i.
 * The most that d can be is `strip`, and the cost is convex in d. */
static double bound_of_strip(const few *x, int i, int j, int k, double h, double w)
{
    const int dear = x->c[j] >= x->c[k] ? j : k;
    const double strip = (x->s[j] + x->s[k]) / h;
    const double cheaper = fmin(x->c[j], x->c[k]);
    const double more = x->c[dear] - cheaper;
    const double gain = x->c[i] - cheaper; /* from each line without zone i */
    const double s = x->s[dear];
    const double free = fmin(fmax(sqrt(s), s / h), w); /* as wide a zone has its least cost */
    double d = 0.0;
    if (gain > 0.0) d = more > gain ? sqrt(s * (more / (more - gain))) : strip;
    d = fmin(gain > 0.0 ? fmax(d, free) : 0.0, strip);
    const double half = d > free ? d + s / d : x->least[dear];
    return x->c[i] * (h + w) + cheaper * (h + strip) - gain * d + more * half;
}

/* Every row and every column meets two zones. */
static double bound_of_pairs(const few *x)
{
    int dear = 0;
    for (int q = 1; q < 3; q++) dear = x->c[q] > x->c[dear] ? q : dear;
    const double first = x->c[(dear + 1) % 3];
    const double second = x->c[(dear + 2) % 3];
    return (first + second) * (x->m + x->n) + (x->c[dear] - fmax(first, second)) * x->least[dear];
}

/* The rows and the columns meet sets of zones that leave these cases (docs/theory.md). */
static double bound_of_three(const few *x)
{
    double least = bound_of_pairs(x);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        const int k = (i + 2) % 3;
        /* zone i meets all rows and all columns */
        const double around =
            x->c[i] * (x->m + x->n) + x->c[j] * x->least[j] + x->c[k] * x->least[k];
        least = fmin(least, around);
    }
    for (int axis = 0; axis < 2; axis++) {
        const double h = axis ? x->n : x->m;
        const double w = axis ? x->m : x->n;
        double slices = 0.0;
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3;
            const int k = (i + 2) % 3;
            slices += x->c[i] * (h + x->s[i] / h);
            least = fmin(least, bound_of_slices(x, i, j, k, h, w));
            least = fmin(least, bound_of_strip(x, i, j, k, h, w));
        }
        least = fmin(least, slices);
    }
    return least;
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
        const double weight = hs__weight_of(weights, i);
        if (!(areas[i] >= 0.0 && isfinite(areas[i]) && weight > 0.0 && isfinite(weight)))
            return HS_ERROR_VALUE;
        if (areas[i] == 0.0) continue;
        const double least = least_half(areas[i], side);
        const double cost = weight * least;
        if (count < 3) {
            x.s[count] = areas[i];
            x.c[count] = weight;
            x.least[count] = least;
        }
        sums[count++ % LANES] += cost;
        most = fmax(most, cost);
    }
    for (int lane = 0; lane < LANES; lane++) total += sums[lane];
    *bound = largest ? most : total;
    if (largest && count == 2) *bound = fmax(most, bound_of_larger(&x));
    if (!largest && count == 2) *bound = fmax(total, bound_of_two(&x));
    if (!largest && count == 3) *bound = fmax(total, bound_of_three(&x));
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
    if (status) return status;
    return hs_certificate_of("cost", HS_MINIMISED, value, bound, certificate);
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
    hs_status status = hs__check_memory(areas && marks);
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
        double scale = v;
        if (left == 3) scale = cbrt(v / product);
        if (left == 2) scale = sqrt(v / product);
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
    if (status) return status;
    return hs_certificate_of("cost", HS_MINIMISED, value, bound, certificate);
}
