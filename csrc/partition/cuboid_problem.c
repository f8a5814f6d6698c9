/* The common part of the planners of cuboids: the arguments, slices where they are the best tiling,
 * and the cost of a tree. */
#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "core/sort.h"
#include "partition/cuboids.h"
#include "partition/interval.h"

hs_status hs__cuboid_setup(int32_t p, const double *volumes, const double *faces, int32_t axes,
                           hs__cuboid_problem *problem)
{
    if (p < 1 || axes < 1 || axes > 7 || !hs__valid_costs(p, volumes) || !hs__valid_costs(3, faces))
        return HS_ERROR_VALUE;
    double total = 0.0;
    int32_t size = 0;
    for (int32_t i = 0; i < p; i++) {
        total += volumes[i];
        size += volumes[i] > 0.0;
    }
    double most = fmax(faces[0], fmax(faces[1], faces[2]));
    if (size == 0 || isinf(total) || most == 0.0) return HS_ERROR_VALUE;

    problem->worker = malloc((size_t)p * sizeof *problem->worker);
    problem->volume = malloc((size_t)size * sizeof *problem->volume);
    const hs_status status = problem->worker && problem->volume
                                 ? hs__sort_positive(p, volumes, problem->worker, &problem->size)
                                 : HS_ERROR_MEMORY;
    if (status) {
        free(problem->worker);
        free(problem->volume);
        return status;
    }
    for (int32_t i = 0; i < size; i++)
        problem->volume[i] = hs__cuboid_share(volumes[problem->worker[i]], total);
    problem->total = total;

    /* Weights further apart than 2^100 give the same tree as weights that are 2^100 apart. The
     * weight of an axis that is not cut changes nothing. */
    const double across[3] = {faces[1], faces[0], faces[2]};
    double weight[3];
    int allowed = 0;
    problem->free_axis = -1;
    for (int q = 0; q < 3; q++) {
        weight[q] = fmax(across[q] / most, 0x1p-100);
        allowed += axes >> q & 1;
    }
    for (int q = 2; q >= 0; q--)
        if (axes >> q & 1 && (across[q] == 0.0 || allowed == 1)) problem->free_axis = q;
    for (int q = 0; q < 3; q++) {
        if (!(axes >> q & 1)) weight[q] = sqrt(weight[(q + 1) % 3] * weight[(q + 2) % 3]);
        problem->side[q] = 1.0 / weight[q];
    }
    return HS_OK;
}

void hs__cuboid_slices(const hs__cuboid_problem *problem, int32_t *tree)
{
    int32_t length = 0;
    for (int32_t i = 0; i < problem->size; i++) {
        tree[length++] = problem->worker[i];
        if (i) tree[length++] = -1 - problem->free_axis;
    }
}

hs_status hs__cuboid_end(int32_t p, const double *volumes, const double *faces, const int32_t *tree,
                         int32_t nodes, int32_t *length, double *cost)
{
    double *boxes = malloc(6 * (size_t)p * sizeof *boxes);
    if (!boxes) return HS_ERROR_MEMORY;
    hs_status status = hs_cuboid_boxes(p, volumes, tree, nodes, boxes);
    double sum = 0.0;
    for (int32_t i = 0; !status && i < p; i++) {
        const double *side = boxes + 6 * (size_t)i + 3;
        sum += faces[0] * side[0] * side[2] + faces[1] * side[2] * side[1] +
               faces[2] * side[0] * side[1];
    }
    free(boxes);
    if (!status) {
        *length = nodes;
        *cost = sum;
    }
    return status;
}
