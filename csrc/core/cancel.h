/* The flag by which another thread ends a long search or a run. */
#ifndef HS_CORE_CANCEL_H
#define HS_CORE_CANCEL_H

#include <stdbool.h>

/* The flag is a plain int, not an atomic, because it is in the public interface, which C++ also
 * reads. NULL: the call cannot be cancelled. */
static inline bool hs__cancelled(const int *cancel)
{
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

static inline void hs__cancel(int *cancel) { __atomic_store_n(cancel, 1, __ATOMIC_RELAXED); }

#endif
