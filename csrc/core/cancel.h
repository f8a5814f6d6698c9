/* What ends a long search, or a run, from another thread. */
#ifndef HS_CORE_CANCEL_H
#define HS_CORE_CANCEL_H

#include <stdbool.h>

/* The flag is a plain int, for it is in the public interface, which C++ reads too; NULL: nobody
 * cancels. */
static inline bool hs__cancelled(const int *cancel)
{
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

static inline void hs__cancel(int *cancel) { __atomic_store_n(cancel, 1, __ATOMIC_RELAXED); }

#endif
