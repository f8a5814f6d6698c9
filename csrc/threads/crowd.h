/* Whether other programs leave the workers cores of their own.
 *
 * A worker that shares its core with another program is away for some milliseconds now and then, and
 * the workers that meet it wait. A long run gains from such workers nevertheless. A brief one takes
 * less time if its caller does it alone.
 *
 * Linux tells how long a thread has run and how long it has waited for a core, and how many threads
 * run in the whole system. Elsewhere no pool is crowded. */
#ifndef HS_THREADS_CROWD_H
#define HS_THREADS_CROWD_H

#include <stdatomic.h>
#include <stdint.h>

/* How long a worker had to wait for its core.
 *   share  of the time in which it wanted to run
 *   until  end of that time; 0: not known */
typedef struct hs__crowd_sample {
    _Atomic double share, until;
} hs__crowd_sample;

/* What is known of the workers of a pool. All zero at first, but for p and sample.
 *   since     when the pool became crowded, or was found not to be
 *   patience  seconds after which a caller with a core of its own tries whether other workers have
 *             one, too
 *   guessed   when the load of the system was looked at */
typedef struct hs__crowd {
    int32_t p;
    hs__crowd_sample *sample; /* [p] */
    atomic_int is_crowded;
    _Atomic double since, patience, guessed;
} hs__crowd;

/* Samples how long the calling thread had to wait for a core, as a worker of the pool. Does nothing
 * within 20 ms of the thread's last sample. */
void hs__crowd_sample_thread(hs__crowd *crowd, int32_t worker);

/* Returns whether the pool is crowded: its workers wait for a core for a large share of the time
 * that they want to run. A pool becomes crowded by the samples of two workers. It is no longer
 * crowded when a caller that works alone has a core of its own, after some time that grows while
 * this turns out to be too early, and while the threads that run in the system leave no cpu. Without
 * recent samples their number decides: if they leave less than two cpus, the pool is crowded.
 *   cpus  the number that the process may use (hs__load_quota). With less than p the workers wait
 *         for it, not for other programs, and the pool is not crowded */
int hs__crowd_judge(hs__crowd *crowd, double cpus);

/* Parts of these, for tests.
 *   now     of hs_clock
 *   ran     seconds that the worker has run since its last sample
 *   waited  seconds that it has waited for a core
 *   text    content of /proc/loadavg
 *   cpus    number of cpus of the system */
void hs__crowd_add(hs__crowd *crowd, int32_t worker, double now, double ran, double waited);
int hs__crowd_judge_at(hs__crowd *crowd, double now);
void hs__crowd_guess(hs__crowd *crowd, const char *text, long cpus, double now);
/* Doubles the time until the caller tries, if no cpu of the system is free; up to 8 s, since the cpus
 * of this process may be free in a system that is full. */
void hs__crowd_defer(hs__crowd *crowd, const char *text, long cpus);

#endif
