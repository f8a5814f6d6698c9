/* hs_assign and hs_assign_int64: the solver of assignment_core.h, compiled for doubles and for
 * integers of 64 bits. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "assign/matching.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "hetsched.h"

enum { BLOCK = 64, PASSES = 2, EFFORT = 3 };

#if defined(__x86_64__) && defined(__GNUC__)
#define HS_X86
#endif

#define cost_t double
#define LARGEST ((double)INFINITY)
#define DONE (-LARGEST)
#define FORBIDDEN LARGEST
#define LIMIT 0x1p990
#define NEGATED(x) (-(x))
#define ROUNDS true
#define BELOW(x) nextafter(x, -INFINITY)
#define TYPED(x) real_##x
#include "assign/assignment_type.h"
#undef cost_t
#undef LARGEST
#undef DONE
#undef FORBIDDEN
#undef LIMIT
#undef NEGATED
#undef ROUNDS
#undef BELOW
#undef TYPED

#define cost_t int64_t
#define LARGEST INT64_MAX
#define DONE (-(INT64_C(1) << 61))
#define FORBIDDEN 0 /* none */
#define LIMIT (INT64_C(1) << 58)
#define NEGATED(x) ((x) < -LIMIT ? INT64_MIN : -(x))
#define ROUNDS false
#define BELOW(x) (x)
#define TYPED(x) whole_##x
#include "assign/assignment_type.h"

hs_status hs_assign(int32_t rows, int32_t cols, const double *costs, ptrdiff_t row_stride,
                    int maximise, const int *cancel, int32_t *col_of_row, double *row_prices,
                    double *col_prices)
{
    return real_assign(rows, cols, costs, row_stride, maximise != 0, cancel, col_of_row, row_prices,
                       col_prices);
}

hs_status hs_assign_int64(int32_t rows, int32_t cols, const int64_t *costs, ptrdiff_t row_stride,
                          int maximise, const int *cancel, int32_t *col_of_row, int64_t *row_prices,
                          int64_t *col_prices)
{
    return whole_assign(rows, cols, costs, row_stride, maximise != 0, cancel, col_of_row,
                        row_prices, col_prices);
}

hs_status hs__matching_open(int32_t rows, int32_t cols, hs__matching *x)
{
    whole_memory memory;
    const hs_status status = whole_allocate_memory((int32_t)hs__min(rows, cols),
                                                   (int32_t)hs__max(rows, cols), true, &memory);
    *x = (hs__matching){memory.ints, memory.reals, memory.from, memory.copy};
    return status;
}

void hs__matching_close(hs__matching *x)
{
    whole_memory memory = {x->ints, x->reals, x->from, x->copy};
    whole_free_memory(&memory);
    *x = (hs__matching){0};
}

hs_status hs__match_rows(const hs__matching *x, int32_t rows, int32_t cols, const int64_t *weights,
                         const int *cancel, int32_t *col_of_row)
{
    const whole_memory memory = {x->ints, x->reals, x->from, x->copy};
    return whole_assign_within(&memory, rows, cols, weights, cols, true, cancel, col_of_row, NULL,
                               NULL);
}
