/* A clock that leaps on demand: the linker's --wrap redirects hs_clock to this file. */
#ifndef HETSCHED_TESTS_LEAPING_H
#define HETSCHED_TESTS_LEAPING_H

#include "hetsched.h"

#ifdef HS_TEST_SCARCE
/* atomic: number of readings of the clock, each a second after the last; -1: the normal clock */
static int64_t leaps = -1;
double __real_hs_clock(void);
double __wrap_hs_clock(void)
{
    if (__atomic_load_n(&leaps, __ATOMIC_RELAXED) < 0) return __real_hs_clock();
    return __real_hs_clock() + (double)__atomic_add_fetch(&leaps, 1, __ATOMIC_RELAXED);
}
#endif

#endif
