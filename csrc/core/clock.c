/* hs_clock: the monotonic clock of POSIX. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "hetsched.h"

double hs_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
