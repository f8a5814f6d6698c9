/* The loops of lanes.h for all instruction sets, and the choice among them. */
#include "kernel/lanes.h"

#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

/* Compiled without errno (CMakeLists.txt): square roots are instructions then. */

#define INLINE TARGET static inline __attribute__((always_inline))

/* The function of this name for the real type of the template. */
#define PASTE(type, x) SET(type##_##x)
#define OF_TYPE(type, x) PASTE(type, x)
#define OF_REAL(x) OF_TYPE(REAL, x)

#define TEMPLATE "kernel/lanes_template.h"
#include "kernel/each_set.h"

#define LOOPS(prefix, real)                                                    \
    {real##_lanes, sizeof(real##_vector), prefix##_load_items,  prefix##_eigh, \
     prefix##_svd, real##_sort,           prefix##_store_items, real##_store_items}
#define TYPES(SET)                                                       \
    {LOOPS(SET##_float, SET##_float), LOOPS(SET##_double, SET##_double), \
     LOOPS(SET##_complex_float, SET##_float), LOOPS(SET##_complex_double, SET##_double)}

static const hs__lanes loops[][4] = SETS(TYPES);

const hs__lanes *hs__lanes_for(int32_t dtype) { return &loops[hs__cpu_set()][dtype]; }
