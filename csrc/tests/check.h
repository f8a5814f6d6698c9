/* CHECK for the unit tests: it counts failures and goes on; main ends with "return
 * check_result();". For one thread. */
#ifndef HETSCHED_TESTS_CHECK_H
#define HETSCHED_TESTS_CHECK_H

#include <stdio.h>

static long check_count, check_failures;

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* Returns whether the condition holds, so that a test can leave out what would make no sense after
 * a failure. */
static inline int check_that(int holds, const char *condition, const char *file, int line)
{
    check_count++;
    if (!holds && check_failures++ < 50)
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
    return holds;
}

/* What main returns: 1 after a failure, and where nothing was checked. */
static inline int check_result(void)
{
    if (check_failures) fprintf(stderr, "%ld of %ld checks failed\n", check_failures, check_count);
    if (!check_count) fprintf(stderr, "nothing was checked\n");
    return check_failures || !check_count;
}

/* How many inputs of one kind, or in which steps: `all`, and `few` under the thread sanitizer,
 * which is slow and where only the turns of threads matter: neither sizes nor layouts nor one
 * worker's arithmetic. Few as well in an emulator, which is as slow. */
#if defined(__SANITIZE_THREAD__) || defined(HS_TEST_FEW)
#define CHECK_MANY(all, few) (few)
#else
#define CHECK_MANY(all, few) (all)
#endif

/* Of an emulator, for what is said elsewhere of every processor and takes it long. */
#ifdef HS_TEST_FEW
enum { CHECK_EMULATED = 1 };
#else
enum { CHECK_EMULATED = 0 };
#endif

/* A repeatable source of numbers (Knuth's 64-bit generator), the upper bits only. */
static inline unsigned check_random(unsigned below)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

#endif
