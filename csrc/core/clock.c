/* The monotonic clock of POSIX (hs_clock) and its clocks of CPU time. */
#define _POSIX_C_SOURCE 200809L
#include "core/clock.h"

#include <time.h>

#include "hetsched.h"

static double read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double hs_clock(void) { return read_clock(CLOCK_MONOTONIC); }
double hs__cpu_clock(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
double hs__process_cpu_clock(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
