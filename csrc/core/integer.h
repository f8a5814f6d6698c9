/* Sizes and how they divide. */
#ifndef HS_CORE_INTEGER_H
#define HS_CORE_INTEGER_H

#include <stdint.h>

static inline int64_t hs__smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hs__larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* a / b and the next multiple of b, for a >= 0 and b > 0; a + b must be in range. */
static inline int64_t hs__ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t hs__round_up(int64_t a, int64_t b) { return hs__ceil_div(a, b) * b; }

#endif
