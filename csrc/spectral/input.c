/* Copies, checks and scales the input of a spectral decomposition (spectral/input.h). */
#include "spectral/input.h"

#include <math.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"

enum { COLS = 32 }; /* columns of a task */

int32_t hs__input_parts(int64_t cols) { return (int32_t)hs__ceil_div(cols, COLS); }

/* Returns the largest magnitude of `count` reals; NaN if one is not finite. */
static double largest_of(int32_t dtype, int64_t count, const char *reals)
{
    double most = 0.0;
    double zero = 0.0; /* the sum of 0 x, which is NaN if one x is not finite */
    const double *two = (const double *)(const void *)reals;
    const float *one = (const float *)(const void *)reals;
    for (int64_t i = 0; i < count; i++) {
        const double x = dtype & 1 ? two[i] : (double)one[i];
        most = fmax(most, fabs(x));
        zero += 0.0 * x;
    }
    return most + zero;
}

static hs__matrix columns_of_task(const hs__matrix *all, int32_t task)
{
    const int64_t col = (int64_t)task * COLS;
    return hs__part(all, 0, col, all->rows, hs__min(COLS, all->cols - col));
}

static void load_columns(void *context, int32_t task, hs__walk *walk)
{
    const hs__input *x = context;
    const hs__matrix all = columns_of_task(&x->to, task);
    const int64_t first = x->lower ? (int64_t)task * COLS : 0;
    const hs__matrix from = columns_of_task(&x->from, task);
    const hs__matrix to = hs__part(&all, first, 0, all.rows - first, all.cols);
    hs__copy(&walk->self, to, hs__part(&from, first, 0, all.rows - first, all.cols));
    const int32_t reals = x->dtype >= HS_COMPLEX64 ? 2 : 1;
    double most = 0.0;
    double zero = 0.0;
    for (int64_t j = 0; j < to.cols && !hs__stopped(&walk->self); j++) {
        const int64_t above = x->lower ? j : 0;
        char *column = hs__at(&to, above, j);
        /* the imaginary parts of a Hermitian diagonal are not read */
        if (x->lower && reals == 2) memset(column + to.element / 2, 0, (size_t)to.element / 2);
        if (x->conjugate) hs__conjugate_elements(x->dtype, to.rows - above, column);
        const double own = largest_of(x->dtype, reals * (to.rows - above), column);
        most = fmax(most, own);
        zero += 0.0 * own;
    }
    x->largest[task] = most + zero;
}

/* Divides the columns of a task by 2^exponent; in a lower triangle from the diagonal on. */
static void scale_columns(void *context, int32_t task, hs__walk *walk)
{
    const hs__input *x = context;
    const hs__matrix all = columns_of_task(&x->to, task);
    int exponent;
    (void)walk;
    (void)hs__input_scale(x, &exponent);
    for (int64_t j = 0; j < all.cols; j++) {
        const int64_t above = x->lower ? (int64_t)task * COLS + j : 0;
        const hs__matrix column = hs__part(&all, above, j, all.rows - above, 1);
        hs__scale(x->dtype, &column, (const double[2]){ldexp(1.0, -exponent), 0.0});
    }
}

int hs__input_scale(const hs__input *x, int *exponent)
{
    /* for float and double: exponents within which squares are in range; the largest e for which 2^e
     * and 2^-e are normal numbers */
    static const int limits[2][2] = {{50, 126}, {480, 1022}};
    const int *limit = limits[x->dtype & 1];
    double most = 0.0;
    double zero = 0.0;
    *exponent = 0;
    for (int32_t i = 0; i < hs__input_parts(x->to.cols); i++) {
        most = fmax(most, x->largest[i]);
        zero += 0.0 * x->largest[i];
    }
    if (zero != 0.0) return 0;
    if (most == 0.0) return 1;
    const int size = ilogb(most);
    if (size < -limit[0] || size > limit[0])
        *exponent = (int)hs__max(-limit[1], hs__min(size, limit[1]));
    return 1;
}

int hs__input_load(hs__walk *walk, const hs__input *x)
{
    int exponent;
    if (hs__phase(walk, hs__input_parts(x->to.cols), load_columns, (void *)x)) return 1;
    if (!hs__input_scale(x, &exponent) || exponent == 0) return 0;
    return hs__phase(walk, hs__input_parts(x->to.cols), scale_columns, (void *)x);
}

void hs__scale_values(int32_t dtype, int64_t count, const void *from, int exponent, void *to)
{
    for (int64_t i = 0; i < count; i++)
        if (dtype & 1) ((double *)to)[i] = ldexp(((const double *)from)[i], exponent);
        else ((float *)to)[i] = (float)ldexp((double)((const float *)from)[i], exponent);
}

char *hs__reserve(hs__room *room, double elements, size_t element)
{
    const size_t before = room->bytes;
    const double bytes = elements * (double)element + 64.0;
    if (before == SIZE_MAX || bytes + (double)before > 0x1p62) {
        room->bytes = SIZE_MAX;
        return NULL;
    }
    room->bytes = (size_t)hs__round_up((int64_t)(before + (size_t)bytes), 64);
    return room->memory ? room->memory + before : NULL;
}
