/* The input of a spectral decomposition: a copy that the stages overwrite, scaled by a power of two
 * if its elements are so large or small that squares of them would overflow or vanish. */
#ifndef HS_SPECTRAL_INPUT_H
#define HS_SPECTRAL_INPUT_H

#include "run/matrix.h"
#include "run/phases.h"

/* lower      non-zero: the matrix is square, and only its lower triangle counts
 * conjugate  non-zero: conjugates the elements
 * to         columns of unit stride
 * largest    [hs__input_parts] the largest real or imaginary part in some columns; NaN if one is not
 *            finite */
typedef struct hs__input {
    int32_t dtype;
    int32_t lower, conjugate;
    hs__matrix from, to;
    double *largest;
} hs__input;

int32_t hs__input_parts(int64_t cols);

/* Copies and scales the matrix. Returns non-zero after a cancel. */
int hs__input_load(hs__walk *walk, const hs__input *x);

/* Returns 0 if the matrix has a NaN or an infinity. Else *exponent is the power of two by which the
 * copy was divided. Only after hs__input_load. */
int hs__input_scale(const hs__input *x, int *exponent);

/* Copies `count` values of the real type, multiplied by a power of two. */
void hs__scale_values(int32_t dtype, int64_t count, const void *from, int exponent, void *to);

/* Parts of one allocation.
 *   memory  NULL while the parts are only measured
 *   bytes   of all parts so far; SIZE_MAX: more than can be counted */
typedef struct hs__room {
    char *memory;
    size_t bytes;
} hs__room;

/* Adds a part, which begins on a cache line, and returns it; NULL while parts are measured. */
char *hs__reserve(hs__room *room, double elements, size_t element);

#endif
