/* Matrix elements: sizes, and functions on consecutive elements. */
#ifndef HS_CORE_ELEMENT_H
#define HS_CORE_ELEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the bytes of the real type of an hs_dtype, 4 or 8. The next function returns the bytes of
 * an element, 4, 8, 8 or 16. */
static inline size_t hs__real_bytes(int32_t dtype) { return (size_t)4 << (dtype & 1); }

static inline size_t hs__element_bytes(int32_t dtype)
{
    return hs__real_bytes(dtype) << (dtype >> 1);
}

/* Sets an element to 1. */
static inline void hs__set_one(int32_t dtype, void *at)
{
    memset(at, 0, hs__element_bytes(dtype));
    if (dtype & 1) *(double *)at = 1.0;
    else *(float *)at = 1.0f;
}

/* Sets consecutive elements to real numbers of the same precision. */
static inline void hs__set_reals(int32_t dtype, int64_t count, void *to, const void *from)
{
    const size_t real = hs__real_bytes(dtype), element = hs__element_bytes(dtype);
    memset(to, 0, (size_t)count * element);
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy((char *)to + i * element, (const char *)from + i * real, real);
}

/* Conjugates consecutive elements. */
static inline void hs__conjugate_elements(int32_t dtype, int64_t count, void *elements)
{
    double *twice = elements;
    float *single = elements;
    if (!(dtype >> 1)) return;
    for (int64_t i = 0; i < count; i++)
        if (dtype & 1) twice[2 * i + 1] = -twice[2 * i + 1];
        else single[2 * i + 1] = -single[2 * i + 1];
}

#endif
