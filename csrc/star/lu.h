/* LU on a star: what the planner (csrc/star/lu_best.c) shares with the model (csrc/star/lu.c). */
#ifndef HS_STAR_LU_H
#define HS_STAR_LU_H

#include <stdbool.h>

#include "hetsched/star_lu.h"

/* Returns whether the numbers are in the ranges of the public header. */
bool hs__star_lu_valid(const hs_star_lu *lu);

/* Returns the number of steps with updates: one after each panel but the last. */
int64_t hs__star_lu_count(const hs_star_lu *lu, int64_t width);

/* Returns the side of the matrix that a step updates. */
static inline int64_t hs__star_lu_rest(const hs_star_lu *lu, int64_t width, int64_t step)
{
    return lu->n - (step + 1) * width;
}

/* Returns the star of the product of a step, of which the master updates `own` columns.
 *   memory  [p] out */
hs_star hs__star_lu_product(const hs_star_lu *lu, int64_t width, int64_t step, int64_t own,
                            int64_t *memory);

/* Times of the master: to factor panel k, to solve for the rows beside it, and to update one block
 * column of the rest. */
typedef struct hs__star_lu_times {
    double factor, solve, column;
} hs__star_lu_times;

hs__star_lu_times hs__star_lu_times_of(const hs_star_lu *lu, int64_t width, int64_t k);

/* Returns when the master works on panel k.
 *   own         columns that it updates after panel k
 *   before      the panel before it; NULL for the first
 *   own_before  columns that it updates after that panel
 *   product     makespan of the product after that panel */
hs_star_lu_panel hs__star_lu_next(const hs_star_lu *lu, int64_t width, int64_t k, int64_t own,
                                  const hs_star_lu_panel *before, int64_t own_before,
                                  double product);

#endif
