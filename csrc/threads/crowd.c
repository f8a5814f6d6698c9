/* Samples of the time that workers wait for a core, and what follows from them. */
#include "threads/crowd.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "hetsched/pool.h"

/* By hand: a scheduler gives a thread turns of 1 to 10 ms.
 *   sampled   seconds between two samples of a thread
 *   wanted    least seconds of a sample in which the thread wanted to run
 *   recent    age in seconds up to which a sample counts
 *   guessed   seconds between two guesses
 *   crowded   a pool is crowded if its workers wait for a larger share of the time
 *   alone     a caller that waits for a smaller one has a core of its own
 *   first, shortest, longest  `patience` after a guess, after samples, and at most, in seconds */
static const double sampled = 0.02, wanted = 0.002, recent = 0.2, guessed = 0.1;
static const double crowded = 0.4, alone = 0.05;
static const double first = 0.1, shortest = 0.5, longest = 8.0;

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

void hs__crowd_add(hs__crowd *crowd, int32_t worker, double now, double ran, double waited)
{
    store(&crowd->sample[worker].share, waited / (ran + waited));
    store(&crowd->sample[worker].until, now);
}

/* A child has the times of its parent's thread until they are too old. */
void hs__crowd_sample_thread(hs__crowd *crowd, int32_t worker)
{
    static _Thread_local double time, ran, waited; /* of the last sample */
    const double now = hs_clock();
    double ran_now;
    double waited_now;
    if (now - time < sampled || !read_times(&ran_now, &waited_now)) return;
    if (now - time < recent) {
        const double more_ran = ran_now - ran, more_waited = waited_now - waited;
        if (more_ran < 0.0 || more_waited < 0.0 || more_ran + more_waited < wanted) return;
        hs__crowd_add(crowd, worker, now, more_ran, more_waited);
    }
    time = now;
    ran = ran_now;
    waited = waited_now;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Returns the number of workers with a recent sample, and the mean share of their waiting. */
static int32_t find_mean(const hs__crowd *crowd, double now, double *mean)
{
    int32_t known = 0;
    double sum = 0.0;
    for (int32_t w = 0; w < crowd->p; w++) {
        if (!(now - load(&crowd->sample[w].until) < recent)) continue;
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

/* What the workers were like before says nothing of them now. */
static void change(hs__crowd *crowd, int to, double patience, double now)
{
    for (int32_t w = 0; w < crowd->p; w++) store(&crowd->sample[w].until, 0.0);
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

void hs__crowd_guess(hs__crowd *crowd, const char *text, long cpus, double now)
{
    const int found = count_free(text, cpus) < 2;
    if (found != is_crowded(crowd)) change(crowd, found, first, now);
}

static double twice(double patience) { return fmin(2 * patience, longest); }

/* Returns whether it is time to try whether other workers have cores of their own: the caller has
 * one. */
static int must_try(const hs__crowd *crowd, double now)
{
    double mean;
    return is_crowded(crowd) && find_mean(crowd, now, &mean) && mean < alone &&
           now - load(&crowd->since) >= load(&crowd->patience);
}

void hs__crowd_defer(hs__crowd *crowd, const char *text, long cpus)
{
    const double patience = load(&crowd->patience);
    if (patience < longest && count_free(text, cpus) < 1) store(&crowd->patience, twice(patience));
}

int hs__crowd_judge_at(hs__crowd *crowd, double now)
{
    const double since = now - load(&crowd->since), patience = load(&crowd->patience);
    double mean;
    if (must_try(crowd, now)) {
        change(crowd, 0, patience, now);
    } else if (!is_crowded(crowd) && find_mean(crowd, now, &mean) > 1 && mean > crowded) {
        change(crowd, 1, since < shortest ? fmax(twice(patience), shortest) : shortest, now);
    }
    return is_crowded(crowd);
}

int hs__crowd_judge(hs__crowd *crowd, double cpus)
{
    const double now = hs_clock();
    double mean;
    if (cpus < crowd->p) return 0;
    const int is_known = find_mean(crowd, now, &mean) >= (is_crowded(crowd) ? 1 : 2);
    const int must_guess = !is_known && now - load(&crowd->guessed) >= guessed;
    if (must_guess || must_try(crowd, now)) {
        char text[TEXT];
        const long all = sysconf(_SC_NPROCESSORS_ONLN);
        read_text("/proc/loadavg", text);
        if (!must_guess) hs__crowd_defer(crowd, text, all);
        else {
            store(&crowd->guessed, now);
            hs__crowd_guess(crowd, text, all, now);
        }
    }
    return hs__crowd_judge_at(crowd, now);
}
