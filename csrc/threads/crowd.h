/* Whether other programs leave the workers cores of their own.
 *
 * A worker that shares its core with another program is away for some milliseconds now and then, and
 * the workers that meet it wait. A brief run takes less time if its caller does it alone. A longer
 * one gains from such workers, unless the caller alone gets as much of the cores as all workers
 * together, for instance if the scheduler divides the cores among groups of threads.
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
 *   sample    [p] of runs with all workers
 *   alone     of a caller, while no other worker computed for it
 *   ran, waited  seconds that callers have run and have waited for a core meanwhile, since the last
 *             trial began; of the last second or so
 *   since     when the pool became crowded, or was found not to be
 *   patience  seconds after which a caller with a core of its own tries whether other workers have
 *             one, too
 *   together  cores that the workers have in the crowded pool
 *   enough    whether the caller has about as much alone, until `decided`
 *   guessed   when the load of the system was looked at */
typedef struct hs__crowd {
    int32_t p;
    hs__crowd_sample *sample;
    hs__crowd_sample alone;
    _Atomic double ran, waited;
    atomic_int is_crowded, enough;
    _Atomic double since, patience, together, decided, guessed;
} hs__crowd;

/* Instead of a worker: a caller, while no other worker computes for it. */
enum { HS__CROWD_CALLER = -1 };

/* Samples how long the calling thread had to wait for a core since its last sample, as a worker of
 * the pool or as HS__CROWD_CALLER. Does nothing within 20 ms of the thread's last sample. */
void hs__crowd_sample_thread(hs__crowd *crowd, int32_t worker);

/* Notes that workers have computed for the calling thread: its next sample as HS__CROWD_CALLER does
 * not count. */
void hs__crowd_note_workers(void);

/* Returns whether the pool is crowded: its workers wait for a core for a large share of the time
 * that they want to run. A pool becomes crowded by the samples of two workers. A crowded pool is
 * tried again when a caller that works alone has a core of its own, but only after some time. This
 * time grows whenever the trial came too early, and while the threads that run in the system leave
 * no cpu free. Without recent samples the number of these threads decides: if they leave less than
 * two cpus, the pool is crowded.
 *   cpus  the number that the process may use (hs__load_quota). With less than p the workers wait
 *         for it, not for other programs, and the pool is not crowded */
int hs__crowd_judge(hs__crowd *crowd, double cpus);

/* Returns whether, in a crowded pool, the caller alone has about as much of the cores as all workers
 * have together. This is tried for 0.3 s if one core would be enough: it takes a scheduler some time
 * to give a single thread its share. The result holds for 8 s. If the caller was enough, one run with
 * all workers comes before the next trial. */
int hs__crowd_caller_is_enough(hs__crowd *crowd, double now);

/* Parts of these, for tests.
 *   now     of hs_clock
 *   ran     seconds that the worker has run since its last sample
 *   waited  seconds that it has waited for a core
 *   text    content of /proc/loadavg
 *   cpus    number of cpus of the system */
void hs__crowd_add(hs__crowd *crowd, int32_t worker, double now, double ran, double waited);
int hs__crowd_judge_at(hs__crowd *crowd, double now);
void hs__crowd_guess(hs__crowd *crowd, const char *text, long cpus, double now);
/* While no cpu of the system is free, puts off the caller's next try: to twice the patience or twice
 * the time since the pool became crowded, whichever is longer. That is at most 8 s, since the cpus of
 * this process may be free in a system that is full. */
void hs__crowd_defer(hs__crowd *crowd, const char *text, long cpus, double now);

#endif
