/* What the files about cuboids share. Sides, faces and cuts are numbered by axis: 0 rows, 1
 * columns, 2 depth; face q of a box is the one across axis q (B, A, C), the product of the other
 * two sides.
 *
 * Affine invariance: the faces of a tiling weighted by w[q] are those, unweighted, of the tiling
 * stretched to the sides 1 / w[q], up to the factor w[0] w[1] w[2]. So everything below works with
 * weights of one in a box of any sides. */
#ifndef HS_PARTITION_CUBOIDS_H
#define HS_PARTITION_CUBOIDS_H

#include <math.h>

#include "hetsched.h"

/* The workers with positive volume in ascending order (ties to the lowest index), and the stretched
 * cube.
 *   free_axis  -1, or an axis where cuts cost nothing, or the only one where cuts are allowed:
 *              slices along it are best */
typedef struct hs__cuboid_problem {
    int32_t size;
    int32_t *worker; /* [size] */
    double *volume;  /* [size] sum 1 */
    double total;    /* of the volumes given */
    double side[3];
    int free_axis;
} hs__cuboid_problem;

/* The share of a volume. One that underflows is a sliver of 2^-1000: only its place in the tree
 * counts. */
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

/* What is said of a tree that is complete: its length, and the sum of alpha, beta and gamma times
 * the faces of its boxes in the unit cube. */
hs_status hs__cuboid_end(int32_t p, const double *volumes, const double *faces, const int32_t *tree,
                         int32_t nodes, int32_t *length, double *cost);

static inline void hs__cuboid_faces(const double side[3], double face[3])
{
    face[0] = side[1] * side[2];
    face[1] = side[0] * side[2];
    face[2] = side[0] * side[1];
}

/* Room for hs__cuboid_guillotine, some 60 KB. */
typedef struct hs__cuboid_cut {
    double bound;
    uint16_t part; /* the side with the lowest part */
    uint8_t axis;
} hs__cuboid_cut;

typedef struct hs__cuboid_search {
    int32_t axes;
    const int *cancel;
    double volume[HS_CUBOIDS_EXACT]; /* true volumes in the box searched */
    double edge[HS_CUBOIDS_EXACT];   /* of the cube of that volume */
    double sum[1 << HS_CUBOIDS_EXACT];
    /* a stack: a set of n parts has 3 (2^(n - 1) - 1) at most, its subsets one part less */
    hs__cuboid_cut cuts[3 << HS_CUBOIDS_EXACT];
} hs__cuboid_search;

/* The guillotine tiling with the least sum of faces for parts of the given relative volumes in a
 * box of the given sides. The tree holds indices of parts, once it is cancelled anything. size <=
 * HS_CUBOIDS_EXACT. */
void hs__cuboid_guillotine(hs__cuboid_search *s, int32_t size, const double *volume,
                           const double side[3], int32_t axes, const int *cancel, int32_t *tree);

#endif
