/* Reads and writes an element of a matrix of any type as a value of the widest type. */
#ifndef HETSCHED_TESTS_ELEMENTS_H
#define HETSCHED_TESTS_ELEMENTS_H

#include <complex.h>
#include <stddef.h>

#include "check.h"
#include "hetsched.h"

static const size_t size_of[] = {4, 8, 8, 16};

CHECK_ORACLE inline double complex get(const void *x, int dtype, ptrdiff_t at)
{
    switch (dtype) {
    case HS_FLOAT32: return ((const float *)x)[at];
    case HS_FLOAT64: return ((const double *)x)[at];
    case HS_COMPLEX64: return ((const float complex *)x)[at];
    default: return ((const double complex *)x)[at];
    }
}

static inline void set(void *x, int dtype, ptrdiff_t at, double complex value)
{
    switch (dtype) {
    case HS_FLOAT32: ((float *)x)[at] = (float)creal(value); break;
    case HS_FLOAT64: ((double *)x)[at] = creal(value); break;
    case HS_COMPLEX64: ((float complex *)x)[at] = (float complex)value; break;
    default: ((double complex *)x)[at] = value;
    }
}

#endif
