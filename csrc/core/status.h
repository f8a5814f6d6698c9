/* The statuses of what most functions check: memory, and whether they are cancelled. */
#ifndef HS_CORE_STATUS_H
#define HS_CORE_STATUS_H

#include "core/cancel.h"
#include "hetsched.h"

/* Returns HS_OK if everything that a function needs was allocated, or HS_ERROR_MEMORY. */
static inline hs_status hs__check_memory(bool allocated)
{
    return allocated ? HS_OK : HS_ERROR_MEMORY;
}

/* Returns HS_OK, or HS_ERROR_CANCELLED once the flag is set. */
static inline hs_status hs__check_cancel(const int *cancel)
{
    return hs__cancelled(cancel) ? HS_ERROR_CANCELLED : HS_OK;
}

#endif
