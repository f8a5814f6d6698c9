/* Sizes of matrix elements. */
#ifndef HS_CORE_ELEMENT_H
#define HS_CORE_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the real type of an hs_dtype, 4 or 8. The next function returns the bytes of
 * an element, 4, 8, 8 or 16. */
static inline size_t hs__real_bytes(int32_t dtype) { return (size_t)4 << (dtype & 1); }

static inline size_t hs__element_bytes(int32_t dtype)
{
    return hs__real_bytes(dtype) << (dtype >> 1);
}

#endif
