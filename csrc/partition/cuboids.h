/* Declarations for the files about cuboids. Sides, faces and cuts are numbered by axis: 0 rows, 1
 * columns, 2 depth. Face q of a box is the face across axis q (B, A, C), the product of the other
 * two sides.
 *
 * Affine invariance: the faces of a tiling, weighted by w[q], equal the unweighted faces of the
 * tiling stretched to the sides 1 / w[q], up to the factor w[0] w[1] w[2]. So everything below
 * works with weights of one in a box of any sides. */
#ifndef HS_PARTITION_CUBOIDS_H
#define HS_PARTITION_CUBOIDS_H

#include <math.h>

#include "hetsched.h"

/* All tilings by so few boxes are guillotine, so the best guillotine tiling is optimal. */
enum { HS__ALL_ARE_GUILLOTINE = 4 };

/* The workers with positive volume in ascending order (ties to the lowest index), and the stretched
 * cube.
 *   free_axis  -1, or an axis along which cuts cost nothing, or the only axis along which cuts are
 *              allowed: slices along it are best */
typedef struct hs__cuboid_problem {
    int32_t size;
    int32_t *worker; /* [size] */
    double *volume;  /* [size] sum 1 */
    double total;    /* sum of the given volumes */
    double side[3];
    int free_axis;
} hs__cuboid_problem;

/* Returns the share of a volume. A share that underflows counts as 2^-1000: only its place in the
 * tree matters. */
static inline double hs__cuboid_share(double volume, double total)
{
    return fmax(volume / total, 0x1p-1000);
}

/* Checks the arguments of the planners and fills *problem. On HS_OK the caller frees worker and
 * volume. */
hs_status hs__cuboid_setup(int32_t p, const double *volumes, const double *faces, int32_t axes,
                           hs__cuboid_problem *problem);

/* Writes slices along free_axis. */
void hs__cuboid_slices(const hs__cuboid_problem *problem, int32_t *tree);

/* Finishes a complete tree: sets its length, and its cost, i.e. the sum over its boxes in the unit
 * cube of the weights `faces` times the faces. */
hs_status hs__cuboid_end(int32_t p, const double *volumes, const double *faces, const int32_t *tree,
                         int32_t nodes, int32_t *length, double *cost);

static inline void hs__cuboid_faces(const double side[3], double face[3])
{
    face[0] = side[1] * side[2];
    face[1] = side[0] * side[2];
    face[2] = side[0] * side[1];
}

/* Workspace for hs__cuboid_guillotine, about 60 KB. */
typedef struct hs__cuboid_cut {
    double bound;
    uint16_t part; /* the set that contains the lowest part */
    uint8_t axis;
} hs__cuboid_cut;

typedef struct hs__cuboid_search {
    int32_t axes;
    const int *cancel;
    double volume[HS_CUBOIDS_EXACT]; /* volumes in the box that is searched */
    double edge[HS_CUBOIDS_EXACT];   /* edge of a cube of that volume */
    double sum[1 << HS_CUBOIDS_EXACT];
    /* a stack: a set of n parts has at most 3 (2^(n - 1) - 1) cuts, and its subsets have one part
     * less */
    hs__cuboid_cut cuts[3 << HS_CUBOIDS_EXACT];
} hs__cuboid_search;

/* Finds the guillotine tiling with the least sum of faces for parts of the given relative volumes
 * in a box of the given sides. The tree holds indices of parts; after a cancellation it is
 * undefined. size <= HS_CUBOIDS_EXACT. */
void hs__cuboid_guillotine(hs__cuboid_search *s, int32_t size, const double *volume,
                           const double side[3], int32_t axes, const int *cancel, int32_t *tree);

#endif
