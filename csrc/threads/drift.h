/* What a pool learns of its workers while it is used. The load of other programs comes and goes, so
 * measured speeds become outdated. */
#ifndef HS_THREADS_DRIFT_H
#define HS_THREADS_DRIFT_H

#include <stdatomic.h>
#include <stdint.h>

/* a run with fewer parts of work per worker tells little of the workers' speeds */
enum { HS__DRIFT_PARTS = 4 };

typedef struct hs__drift {
    int32_t p;
    atomic_int known;     /* non-zero after the first run that counted */
    _Atomic double *rate; /* [p] work in about the last 20 ms of shared runs; the most is 1 */
} hs__drift;

/* Computes the availability of the workers. May be called from any thread, like hs__drift_speeds.
 *   speeds        [p] or NULL: equal speeds
 *   availability  [p] out: rate divided by speed, the best worker 1. All are 1 before the first run
 *                 that counted; a worker without speed has 1 */
void hs__drift_availability(const hs__drift *drift, const double *speeds, double *availability);

/* now [p] <- the speeds, multiplied by availability if one worker has less than 0.9. */
void hs__drift_speeds(const hs__drift *drift, const double *speeds, double *now);

/* Learns from a shared run. Short runs are ignored. Call it with the pool locked.
 *   speeds  [p] of the workers in that run, or NULL: equal speeds
 *   done    [p] work of each worker, in any unit */
void hs__drift_learn(hs__drift *drift, const double *speeds, const double *done, double seconds);

#endif
