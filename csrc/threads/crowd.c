/* Samples of the time that workers wait for a core, and what follows from them. */
#include "threads/crowd.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "hetsched/pool.h"

/* By hand: a scheduler gives a thread turns of 1 to 10 ms.
 *   sampled   seconds between two samples of a thread
 *   counted   seconds of a sample that counts in any case; a longer one counts if the thread wanted
 *             to run for half of it
 *   wanted    least seconds of a sample in which the thread wanted to run
 *   recent    age in seconds up to which a sample counts
 *   guessed   seconds between two guesses
 *   crowded   a pool is crowded if its workers wait for a larger share of the time
 *   alone     a caller that waits for a smaller one has a core of its own
 *   part      of the cores of all workers with which a caller is enough
 *   tried     seconds for which this is tried
 *   averaged  seconds of a caller's times that count
 *   first, shortest, most  `patience` after a guess, after samples, and at most, in seconds; most is
 *             also how long the result of a trial holds */
static const double sampled = 0.02, counted = 0.2, wanted = 0.002, recent = 0.2, guessed = 0.1;
static const double crowded = 0.4, alone = 0.05, part = 0.9, tried = 0.3, averaged = 1.0;
static const double first = 0.1, shortest = 0.5, most = 8.0;

static double load(const _Atomic double *x)
{
    return atomic_load_explicit(x, memory_order_relaxed);
}
static void store(_Atomic double *x, double value)
{
    atomic_store_explicit(x, value, memory_order_relaxed);
}

/* ---- samples --------------------------------------------------------------------------------- */

enum { TEXT = 128 };

/* Reads the beginning of a file: nothing if the system does not have it. */
static void read_text(const char *name, char text[TEXT])
{
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, TEXT - 1);
    text[length < 0 ? 0 : length] = '\0';
    if (file >= 0) close(file);
}

/* Reads how many seconds this thread has run and has waited for a core. Returns 0 if the system does
 * not tell. */
static int read_times(double *ran, double *waited)
{
    char text[TEXT];
    char *end;
    read_text("/proc/thread-self/schedstat", text);
    *ran = 1e-9 * (double)strtoull(text, &end, 10);
    if (*end != ' ') return 0;
    *waited = 1e-9 * (double)strtoull(end, &end, 10);
    return *end == ' ';
}

/* Adds to the times of callers. Of two callers at the same time, one may be left out. */
static void add_alone(hs__crowd *crowd, double ran, double waited)
{
    ran += load(&crowd->ran);
    waited += load(&crowd->waited);
    const double kept = fmin(averaged / (ran + waited), 1.0);
    store(&crowd->ran, kept * ran);
    store(&crowd->waited, kept * waited);
}

static void forget_alone(hs__crowd *crowd)
{
    store(&crowd->ran, 0.0);
    store(&crowd->waited, 0.0);
}

void hs__crowd_add(hs__crowd *crowd, int32_t worker, double now, double ran, double waited)
{
    hs__crowd_sample *sample = worker < 0 ? &crowd->alone : &crowd->sample[worker];
    store(&sample->share, waited / (ran + waited));
    store(&sample->until, now);
    if (worker < 0) add_alone(crowd, ran, waited);
}

static _Thread_local int with_workers; /* since the last sample */

void hs__crowd_note_workers(void) { with_workers = 1; }

/* A child has the times of its parent's thread until they are too old. */
void hs__crowd_sample_thread(hs__crowd *crowd, int32_t worker)
{
    static _Thread_local double time, ran, waited; /* of the last sample */
    const double now = hs_clock(), length = now - time;
    double ran_now;
    double waited_now;
    if (length < sampled || !read_times(&ran_now, &waited_now)) return;
    const double more_ran = ran_now - ran, more_waited = waited_now - waited;
    const double seconds = more_ran + more_waited;
    if (length < counted || seconds > 0.5 * length) {
        if (more_ran < 0.0 || more_waited < 0.0 || seconds < wanted) return;
        if (worker >= 0 || !with_workers) hs__crowd_add(crowd, worker, now, more_ran, more_waited);
    }
    with_workers = 0;
    time = now;
    ran = ran_now;
    waited = waited_now;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static int is_recent(const hs__crowd_sample *sample, double now)
{
    return now - load(&sample->until) < recent;
}

/* Returns the number of workers with a recent sample, and the mean share of their waiting. */
static int32_t find_mean(const hs__crowd *crowd, double now, double *mean)
{
    int32_t known = 0;
    double sum = 0.0;
    for (int32_t w = 0; w < crowd->p; w++) {
        if (!is_recent(&crowd->sample[w], now)) continue;
        known++;
        sum += load(&crowd->sample[w].share);
    }
    *mean = known ? sum / known : 0.0;
    return known;
}

static int is_crowded(const hs__crowd *crowd)
{
    return atomic_load_explicit(&crowd->is_crowded, memory_order_relaxed);
}

/* What the workers were like before says nothing of them now.
 *   together  cores that they have; only if the pool becomes crowded */
static void change(hs__crowd *crowd, int to, double patience, double together, double now)
{
    for (int32_t w = 0; w < crowd->p; w++) store(&crowd->sample[w].until, 0.0);
    forget_alone(crowd);
    store(&crowd->decided, 0.0);
    store(&crowd->together, together);
    store(&crowd->patience, patience);
    store(&crowd->since, now);
    atomic_store_explicit(&crowd->is_crowded, to, memory_order_relaxed);
}

/* Returns how many cpus of the system the threads that run besides this one leave; 2, which is enough,
 * if `text` does not tell. */
static long count_free(const char *text, long cpus)
{
    char *end = (char *)(uintptr_t)text;
    for (int average = 0; average < 3; average++) (void)strtod(end, &end);
    const long running = strtol(end, &end, 10); /* with this thread */
    return *end == '/' ? cpus - (running - 1) : 2;
}

static double twice(double patience) { return fmin(2 * patience, most); }

/* Returns the patience of a pool that becomes crowded: longer if it has just been found not to be. */
static double next_patience(const hs__crowd *crowd, double least, double now)
{
    const int was_wrong = now - load(&crowd->since) < shortest;
    return was_wrong ? fmax(twice(load(&crowd->patience)), least) : least;
}

/* Guesses that all threads of the system get the same. */
void hs__crowd_guess(hs__crowd *crowd, const char *text, long cpus, double now)
{
    const long left = count_free(text, cpus);
    const double threads = (double)(cpus - left + crowd->p);
    const double together = crowd->p * fmin((double)cpus / threads, 1.0);
    const int found = left < 2;
    if (found == is_crowded(crowd)) store(&crowd->together, together);
    else change(crowd, found, found ? next_patience(crowd, first, now) : first, together, now);
}

/* Returns whether it is time to try whether other workers have cores of their own: the caller has
 * one. */
static int must_try(const hs__crowd *crowd, double now)
{
    return is_crowded(crowd) && is_recent(&crowd->alone, now) &&
           load(&crowd->alone.share) < alone && now - load(&crowd->since) >= load(&crowd->patience);
}

void hs__crowd_defer(hs__crowd *crowd, const char *text, long cpus, double now)
{
    const double patience = load(&crowd->patience), since = now - load(&crowd->since);
    if (patience < most && count_free(text, cpus) < 1)
        store(&crowd->patience, twice(fmax(patience, since)));
}

int hs__crowd_judge_at(hs__crowd *crowd, double now)
{
    double mean;
    const int known = find_mean(crowd, now, &mean) > 1;
    const double together = crowd->p * (1.0 - mean);
    if (must_try(crowd, now)) change(crowd, 0, load(&crowd->patience), 0.0, now);
    else if (known && is_crowded(crowd)) store(&crowd->together, together);
    else if (known && mean > crowded)
        change(crowd, 1, next_patience(crowd, shortest, now), together, now);
    return is_crowded(crowd);
}

int hs__crowd_judge(hs__crowd *crowd, double cpus)
{
    const double now = hs_clock();
    double mean;
    if (cpus < crowd->p) return 0;
    const int is_known =
        is_crowded(crowd) ? is_recent(&crowd->alone, now) : find_mean(crowd, now, &mean) >= 2;
    const int must_guess = !is_known && now - load(&crowd->guessed) >= guessed;
    if (must_guess || must_try(crowd, now)) {
        char text[TEXT];
        const long all = sysconf(_SC_NPROCESSORS_ONLN);
        read_text("/proc/loadavg", text);
        if (!must_guess) hs__crowd_defer(crowd, text, all, now);
        else {
            store(&crowd->guessed, now);
            hs__crowd_guess(crowd, text, all, now);
        }
    }
    return hs__crowd_judge_at(crowd, now);
}

int hs__crowd_caller_is_enough(hs__crowd *crowd, double now)
{
    const int before = atomic_load_explicit(&crowd->enough, memory_order_relaxed);
    if (!is_crowded(crowd)) return 0;
    const double decided = load(&crowd->decided);
    if (now < decided) return before;
    if (decided > 0.0) { /* the trial was too long ago */
        forget_alone(crowd);
        store(&crowd->decided, 0.0);
        if (before) return 0;
    }
    const double least = part * load(&crowd->together);
    const double ran = load(&crowd->ran), seconds = ran + load(&crowd->waited);
    if (least > 1.0) return 0;
    if (seconds < tried) return 1;
    const int found = ran >= least * seconds;
    atomic_store_explicit(&crowd->enough, found, memory_order_relaxed);
    store(&crowd->decided, now + most);
    return found;
}
