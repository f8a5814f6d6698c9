/* CHECK for the unit tests: it counts failures and continues; main ends with "return
 * check_result();". For one thread. */
#ifndef HETSCHED_TESTS_CHECK_H
#define HETSCHED_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

static long check_count, check_failures;

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* Counts a check and returns whether its condition holds, so that a test can skip what makes no
 * sense after a failure. */
static inline int check_that(int holds, const char *condition, const char *file, int line)
{
    check_count++;
    if (!holds && check_failures++ < 50)
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
    return holds;
}

/* Returns the exit status of main: 1 after a failure, or if nothing was checked. */
static inline int check_result(void)
{
    if (check_failures) fprintf(stderr, "%ld of %ld checks failed\n", check_failures, check_count);
    if (!check_count) fprintf(stderr, "nothing was checked\n");
    return check_failures || !check_count;
}

/* Whether few inputs of each kind are enough. This holds under the thread sanitizer, where only the
 * interleaving of threads matters, not sizes, layouts or the arithmetic of one worker, and with
 * HS_TEST_FEW in the environment: in "make test", and in an emulator. */
static inline int check_few(void)
{
#ifdef __SANITIZE_THREAD__
    return 1;
#else
    return getenv("HS_TEST_FEW") != NULL;
#endif
}

/* Declares a function that checks results by sums of O(n^3) terms. The thread sanitizer does not
 * instrument it, because no other thread runs meanwhile, and it would take most of the time. */
#define CHECK_ORACLE static __attribute__((no_sanitize("thread")))

/* The number of inputs of one kind, or their step. */
#define CHECK_MANY(all, few) (check_few() ? (few) : (all))

/* Returns a repeatable pseudo-random number: the upper bits of Knuth's 64-bit generator. */
static inline unsigned check_random(unsigned below)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

#endif
