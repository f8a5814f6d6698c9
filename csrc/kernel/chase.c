/* The loops of chase.h for all instruction sets, and the choice among them. */
#include "kernel/chase.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#define INLINE TARGET static inline __attribute__((always_inline))

#define TEMPLATE "kernel/chase_template.h"
#include "kernel/each_set.h"

#define TYPES(SET)                                                                          \
    {                                                                                       \
        {SET##_float_reflect, SET##_float_step}, {SET##_double_reflect, SET##_double_step}, \
            {SET##_complex_float_reflect, SET##_complex_float_step},                        \
        {                                                                                   \
            SET##_complex_double_reflect, SET##_complex_double_step                         \
        }                                                                                   \
    }

static const hs__chase_vector vectors[][4] = SETS(TYPES);

hs__chase_vector hs__chase_vector_for(int32_t dtype) { return vectors[hs__cpu_set()][dtype]; }
