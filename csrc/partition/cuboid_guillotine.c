/* hs_partition_cuboids_exact: the cheapest guillotine tiling of few cuboids. */
#include <math.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "partition/cuboids.h"

/* Depth-first branch and bound over the guillotine trees of a set of parts. A set is a bit mask of
 * parts. */
enum { MAX = HS_CUBOIDS_EXACT };

typedef hs__cuboid_cut cut;
typedef hs__cuboid_search search;

static int by_bound(const void *x, const void *y)
{
    const cut *a = x;
    const cut *b = y;
    if (a->bound != b->bound) return a->bound < b->bound ? -1 : 1;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    return a->axis < b->axis ? -1 : a->axis > b->axis;
}

/* Returns the least sum of faces of a cuboid of volume v with sides of at most `side` (ascending):
 * equal sides, except those that would be too long. With `flat` the first side is given. */
static double least_faces(double v, double edge, const double side[3], int flat)
{
    if (!flat && edge <= side[0]) return 3.0 * edge * edge;
    double area = v / side[0];
    double other = sqrt(area);
    if (other <= side[1]) return area + 2.0 * side[0] * other;
    return area + v / side[1] + side[0] * side[1];
}

/* Returns a lower bound for all tilings of the box by the set: every part by itself, and the box
 * with the cheapest first cut. */
static double lower_bound(const search *s, uint32_t set, const double side[3])
{
    double face[3];
    double least = INFINITY;
    double sorted[3] = {side[0], side[1], side[2]};
    double total = 0.0;
    hs__cuboid_faces(side, face);
    double box = face[0] + face[1] + face[2];
    if (!(set & (set - 1))) return box;
    for (int q = 0; q < 3; q++)
        if (s->axes >> q & 1) least = fmin(least, face[q]);

    int flat = s->axes != 7;
    int never = 0;
    while (flat && s->axes >> never & 1) never++;
    sorted[0] = side[never];
    /* an axis that is not cut comes first */
    sorted[never] = side[0];
    for (int i = flat; i < 2; i++)
        for (int j = i + 1; j > flat && sorted[j] < sorted[j - 1]; j--) {
            double moved = sorted[j];
            sorted[j] = sorted[j - 1];
            sorted[j - 1] = moved;
        }
    for (int32_t i = 0; set >> i; i++)
        if (set >> i & 1) total += least_faces(s->volume[i], s->edge[i], sorted, flat);
    return fmax(total, box + least);
}

/* Finds the least cost below the cutoff and its tree; returns INFINITY if there is none. A cut
 * along `banned` is skipped, as the parent would have made it. */
static double solve_set(const search *s, uint32_t set, const double side[3], int banned,
                        double cutoff, cut *cuts, int32_t *tree)
{
    double face[3];
    hs__cuboid_faces(side, face);
    double box = face[0] + face[1] + face[2];
    uint32_t low = set & -set;
    uint32_t rest = set ^ low;
    int32_t parts = 0;
    int32_t lowest = 0;
    for (uint32_t left = set; left; left &= left - 1) parts++;
    while (!(low >> lowest & 1)) lowest++;
    if (parts == 1) {
        tree[0] = lowest;
        return box < cutoff ? box : INFINITY;
    }
    if (parts == 2) {
        int best = -1;
        for (int q = 0; q < 3; q++)
            if (s->axes >> q & 1 && (best < 0 || face[q] < face[best])) best = q;
        int32_t other = lowest + 1;
        while (!(rest >> other & 1)) other++;
        tree[0] = lowest;
        tree[1] = other;
        tree[2] = -1 - best;
        return box + face[best] < cutoff ? box + face[best] : INFINITY;
    }

    int32_t count = 0;
    /* all proper subsets of the rest */
    for (uint32_t others = (rest - 1) & rest;; others = (others - 1) & rest) {
        uint32_t a = low | others;
        uint32_t b = set ^ a;
        for (int q = 0; q < 3; q++) {
            if (!(s->axes >> q & 1) || q == banned) continue;
            double inside[3] = {side[0], side[1], side[2]};
            double outside[3] = {side[0], side[1], side[2]};
            inside[q] *= s->sum[a] / s->sum[set];
            outside[q] *= s->sum[b] / s->sum[set];
            double bound = lower_bound(s, a, inside) + lower_bound(s, b, outside);
            if (bound < cutoff) cuts[count++] = (cut){bound, (uint16_t)a, (uint8_t)q};
        }
        if (!others) break;
    }
    if (count > 1) qsort(cuts, (size_t)count, sizeof *cuts, by_bound);

    if (hs__cancelled(s->cancel)) return INFINITY;
    double best = INFINITY;
    int32_t first[2 * MAX], second[2 * MAX];
    for (int32_t i = 0; i < count && cuts[i].bound < cutoff; i++) {
        uint32_t a = cuts[i].part;
        uint32_t b = set ^ a;
        int q = cuts[i].axis;
        double inside[3] = {side[0], side[1], side[2]};
        double outside[3] = {side[0], side[1], side[2]};
        inside[q] *= s->sum[a] / s->sum[set];
        outside[q] *= s->sum[b] / s->sum[set];
        double cost_a =
            solve_set(s, a, inside, q, cutoff - lower_bound(s, b, outside), cuts + count, first);
        if (isinf(cost_a)) continue;
        double cost_b = solve_set(s, b, outside, -1, cutoff - cost_a, cuts + count, second);
        if (!(cost_a + cost_b < cutoff)) continue;
        cutoff = best = cost_a + cost_b;
        int32_t in_a = 1;
        int32_t length = 0;
        for (uint32_t left = a & (a - 1); left; left &= left - 1) in_a++;
        for (int32_t j = 0; j < 2 * in_a - 1; j++) tree[length++] = first[j];
        for (int32_t j = 0; j < 2 * (parts - in_a) - 1; j++) tree[length++] = second[j];
        tree[length] = -1 - q;
    }
    return best;
}

void hs__cuboid_guillotine(hs__cuboid_search *s, int32_t size, const double *volume,
                           const double side[3], int32_t axes, const int *cancel, int32_t *tree)
{
    s->axes = axes;
    s->cancel = cancel;
    s->sum[0] = 0.0;
    double total = 0.0;
    for (int32_t i = 0; i < size; i++) total += volume[i];
    for (int32_t i = 0; i < size; i++) {
        s->volume[i] = volume[i] / total * side[0] * side[1] * side[2];
        s->edge[i] = cbrt(s->volume[i]);
    }
    for (uint32_t set = 1; set < 1u << size; set++) {
        int32_t lowest = 0;
        while (!(set >> lowest & 1)) lowest++;
        s->sum[set] = s->sum[set & (set - 1)] + s->volume[lowest];
    }
    solve_set(s, (1u << size) - 1, side, -1, INFINITY, s->cuts, tree);
}

hs_status hs_partition_cuboids_exact(int32_t p, const double *volumes, const double *faces,
                                     int32_t axes, const int *cancel, int32_t *tree,
                                     int32_t *length, double *cost)
{
    if (!volumes || !faces || !tree || !length || !cost) return HS_ERROR_VALUE;
    hs__cuboid_problem s;
    hs_status status = hs__cuboid_setup(p, volumes, faces, axes, &s);
    if (status) return status;
    if (s.free_axis >= 0) hs__cuboid_slices(&s, tree);
    else if (s.size > HS_CUBOIDS_EXACT) status = HS_ERROR_VALUE;
    else {
        int32_t parts[2 * MAX];
        search *space = malloc(sizeof *space);
        if (!space) status = HS_ERROR_MEMORY;
        else hs__cuboid_guillotine(space, s.size, s.volume, s.side, axes, cancel, parts);
        if (!status && hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        for (int32_t i = 0; !status && i < 2 * s.size - 1; i++)
            tree[i] = parts[i] < 0 ? parts[i] : s.worker[parts[i]];
        free(space);
    }
    free(s.worker);
    free(s.volume);
    if (status) return status;
    return hs__cuboid_end(p, volumes, faces, tree, 2 * s.size - 1, length, cost);
}
