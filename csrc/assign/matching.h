/* Matchings of integer weights, many in the same memory: hs_assign_int64 without its checks, its
 * allocations and its prices. */
#ifndef HS_ASSIGN_MATCHING_H
#define HS_ASSIGN_MATCHING_H

#include "hetsched.h"

typedef struct hs__matching {
    int32_t *ints;
    int64_t *reals, *from, *copy;
} hs__matching;

/* Allocates memory for problems of up to rows x cols, or cols x rows; on an error nothing is left to
 * close. hs__matching_close may be given {0}. */
hs_status hs__matching_open(int32_t rows, int32_t cols, hs__matching *x);
void hs__matching_close(hs__matching *x);

/* Computes the same columns as hs_assign_int64 with row_stride = cols and maximise. */
hs_status hs__match_rows(const hs__matching *x, int32_t rows, int32_t cols, const int64_t *weights,
                         const int *cancel, int32_t *col_of_row);

#endif
