/* Status codes and the clock. */
#ifndef HETSCHED_STATUS_H
#define HETSCHED_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "hetsched/export.h"

HS_C_BEGIN

typedef enum hs_status {
    HS_OK = 0,
    HS_ERROR_VALUE = 1,      /* an argument is outside its documented range */
    HS_ERROR_MEMORY = 2,     /* out of memory; nothing was changed */
    HS_ERROR_INFEASIBLE = 3, /* no plan exists for this input */
    /* cancelled by `cancel`, the poll function or hs_pool_claim; outputs are undefined */
    HS_ERROR_CANCELLED = 4,
    /* the system refused a thread, or the pool belongs to a parent process or is being destroyed */
    HS_ERROR_THREAD = 5,
    HS_ERROR_UNSUPPORTED = 6, /* not on this platform, or not with this build */
    /* the pool is running a job of this very thread (called from its poll function or a tile) */
    HS_ERROR_BUSY = 7
} hs_status;

/* Returns a static English sentence; never NULL, also for unknown numbers. */
HS_API const char *hs_status_string(int status);

/* Returns the time of a monotonic clock in seconds. */
HS_API double hs_clock(void);

HS_C_END
#endif
