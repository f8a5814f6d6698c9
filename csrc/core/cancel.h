/* What ends a long search from another thread. */
#ifndef HETSCHED_CORE_CANCEL_H
#define HETSCHED_CORE_CANCEL_H

#include <stdbool.h>

static inline bool hs__cancelled(const int *cancel) { return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED); }

#endif
