/* Governs the library behind: each call that goes there runs with as many threads as are good at
 * that moment, and never with more than the program asked for.
 *
 *     hs__guard guard = {0};
 *     hs__govern(&guard, entry, volume);
 *     call of the library behind
 *     hs__release(&guard);
 *
 * Good are
 *   one thread     for a small call, which takes longer with more;
 *   fewer threads  if other programs use the cpus, a quota leaves fewer, or other threads of this
 *                  process are in calls, too. An equal split among t threads is as slow as the
 *                  slowest of them. So of f free cpus floor(f) threads are used, or one more if its
 *                  part of a cpu makes the whole call faster.
 *
 * What the program asked for holds and is read back: the number is told before a call and told back
 * after the last call in flight, unless the program has told another one meanwhile. A number that
 * counts for the calling thread alone is told back after its call. Libraries that cannot be told
 * are left alone (library.h).
 *
 * A call of the library behind need not return: the xerbla of R and Octave leaves it by longjmp.
 * Its guard is released when the same thread makes a call that cannot be inside that one: from an
 * outer frame, or from the same object. */
#ifndef HS_BLAS_GOVERN_H
#define HS_BLAS_GOVERN_H

#include "blas/entry.h"
#include "blas/library.h"

/* In `behind` of the settings: the library is left alone; its threads follow the load. Any other
 * number is the most threads of a call. */
enum { HS__BEHIND_OWN = 0, HS__BEHIND_AUTO = -1 };

typedef struct hs__guard {
    int active;
} hs__guard;

/* Slow parts of the functions below. */
void hs__begin_behind(hs__guard *guard, hs__entry *entry, double volume);
void hs__end_behind(hs__guard *guard);

/* volume: multiply-adds of the call, about */
static inline void hs__govern(hs__guard *guard, hs__entry *entry, double volume)
{
    if (volume >= entry->governed) hs__begin_behind(guard, entry, volume);
}

static inline void hs__release(hs__guard *guard)
{
    if (guard->active) hs__end_behind(guard);
}

/* Returns the multiply-adds from which the calls of a routine are governed; infinite if the library
 * cannot be told, or is to be left alone. */
double hs__least_governed(const hs__library *library, int32_t routine);

/* Returns the number of threads that the program wants, whatever the library was told for a call;
 * below 1: none was set. */
int hs__threads_asked(hs__library *library);

/* Returns how many threads of an equal split are best on so many free cpus, at least 1. */
int hs__best_threads(double cpus);

/* Returns whether a call that the calling thread begins now would be governed with one thread because
 * of the load: other programs and other calls of this process. 0 if it would not be governed, or not
 * by the load. */
int hs__has_one_cpu(const hs__entry *entry, double volume);

/* Returns how many other threads of this process are in calls; 1 if there are none, but several
 * threads were in calls at the same time in the last tenth of a second. */
int hs__other_callers(void);

/* Surround a call that the engine computes: its thread uses cpus, too. hs__join_callers returns
 * whether it has counted the thread, which it has not if the thread is in a governed call. */
int hs__join_callers(void);
void hs__leave_callers(int counted);

#endif
