/* What a pool learns of its workers while it is used: the load of other programs comes and goes, measured speeds grow old. */
#ifndef HS_EXEC_DRIFT_H
#define HS_EXEC_DRIFT_H

#include <stdint.h>

/* Of each worker the work that it did per speed that it was said to have, over the last 20 ms of shared runs or so; the best has 1. */
typedef struct hs__drift {
    int32_t p;
    double *availability; /* atomic, [p] */
} hs__drift;

/* now [p] <- speeds ([p], NULL: equal ones) times availability; the speeds as they are while all workers have nine tenths of theirs.
 * From any thread. */
void hs__drift_speeds(const hs__drift *drift, const double *speeds, double *now);

/* After a shared run of workers with those speeds, in which done[w] was the work of worker w, whatever the unit. Short runs teach
 * nothing. Under the lock of the pool. */
void hs__drift_learn(hs__drift *drift, const double *speeds, const double *done, double seconds);

#endif
