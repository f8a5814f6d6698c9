/* What a pool learns of its workers while it is used: the load of other programs comes and goes,
 * measured speeds grow old. */
#ifndef HS_THREADS_DRIFT_H
#define HS_THREADS_DRIFT_H

#include <stdatomic.h>
#include <stdint.h>

/* with fewer parts of the work for each worker a run says little of their speeds */
enum { HS__DRIFT_PARTS = 4 };

typedef struct hs__drift {
    int32_t p;
    atomic_int known;     /* there has been a run to learn from */
    _Atomic double *rate; /* [p]: work of each in the last 20 ms of shared runs or so, the most 1 */
} hs__drift;

/* availability [p] <- rate over speed (speeds [p], NULL: equal ones), the best one 1; 1 while
 * nothing is known, and for who has no speed. From any thread, as is the next. */
void hs__drift_availability(const hs__drift *drift, const double *speeds, double *availability);

/* now [p] <- the speeds, times availability once a worker has less than nine tenths of its own. */
void hs__drift_speeds(const hs__drift *drift, const double *speeds, double *now);

/* After a shared run of workers with those speeds, in which done[w] was the work of worker w,
 * whatever the unit. Short runs teach nothing. Under the lock of the pool. */
void hs__drift_learn(hs__drift *drift, const double *speeds, const double *done, double seconds);

#endif
