/* Elements of matrices. */
#ifndef HS_CORE_ELEMENT_H
#define HS_CORE_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of an element of an hs_dtype, 4, 8, 8 or 16; and of its real type. */
static inline size_t hs__real_bytes(int32_t dtype) { return (size_t)4 << (dtype & 1); }

static inline size_t hs__element_bytes(int32_t dtype)
{
    return hs__real_bytes(dtype) << (dtype >> 1);
}

#endif
