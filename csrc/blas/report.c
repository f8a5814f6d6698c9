/* Counts what became of all calls, and prints a table on stderr when the process ends, if
 * HETSCHED_BLAS_REPORT asks for it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blas/drivers.h"
#include "blas/gate.h"
#include "blas/settings.h"

typedef struct {
    long calls[HS__FATES];
    double volume[2], largest; /* multiply-adds: taken, not taken */
    double seconds, lost;      /* of taken calls: time, and core-seconds of other programs */
} tally;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tally tallies[HS__ROUTINES][4];
/* Governed calls of the library behind, and the sum of their numbers of threads. */
static struct {
    long calls;
    double threads;
} governed[HS__ALL_ROUTINES][4];

#define NAME_OF(NAME, ...) #NAME,
static const char *const driver_names[] = {HS__DRIVERS(NAME_OF, NAME_OF, NAME_OF)};

void hs__count_call(const hs__entry *entry, hs__fate fate, double volume, double seconds,
                    double lost)
{
    /* Losing a count is better than waiting, which in a signal handler could be for the thread
     * itself. */
    if (pthread_mutex_trylock(&lock)) return;
    tally *t = &tallies[entry->routine][entry->dtype];
    t->calls[fate]++;
    t->volume[fate != HS__TAKEN] += volume;
    if (volume > t->largest) t->largest = volume;
    t->seconds += seconds;
    t->lost += lost;
    pthread_mutex_unlock(&lock);
}

void hs__count_governed(const hs__entry *entry, int threads)
{
    if (!threads || pthread_mutex_trylock(&lock)) return;
    governed[entry->routine][entry->dtype].calls++;
    governed[entry->routine][entry->dtype].threads += threads;
    pthread_mutex_unlock(&lock);
}

static void print_tally(const char *name, int dtype, const tally *t)
{
    const double flops = (dtype >> 1 ? 8.0 : 2.0) * t->volume[0];
    fprintf(stderr, "%c%-6s %8ld %8ld %8ld %8ld %8ld %8ld %9.1e %9.1e %9.3f", "sdcz"[dtype], name,
            t -> calls[HS__TAKEN], t -> calls[HS__SMALL], t -> calls[HS__ONE_THREAD],
            t -> calls[HS__BUSY], t -> calls[HS__PARALLEL], t -> calls[HS__REFUSED], t -> largest,
            flops, t -> seconds);
    if (t->seconds > 0.0) fprintf(stderr, " %9.1f %8.3f\n", flops / t->seconds * 1e-9, t->lost);
    else fprintf(stderr, " %9s %8s\n", "-", "-");
}

static void print_governed(void)
{
    int printed = 0;
    for (int r = 0; r < HS__ALL_ROUTINES; r++)
        for (int d = 0; d < 4; d++) {
            if (!governed[r][d].calls) continue;
            if (!printed++)
                fprintf(stderr,
                        "hetsched: calls that your library computed, process %ld\n%-7s %8s %8s\n",
                        (long)getpid(), "", "calls", "threads");
            fprintf(stderr, "%c%-6s %8ld %8.1f\n", "sdcz"[d],
                    r < HS__ROUTINES ? hs__routine_names[r] : driver_names[r - HS__ROUTINES],
                    governed[r][d].calls, governed[r][d].threads / (double)governed[r][d].calls);
        }
    if (printed) fputs("threads: mean number that hetsched gave to a call.\n", stderr);
}

__attribute__((destructor)) static void print_report(void)
{
    if (!hs__blas_settings.report) return;
    int printed = 0;
    for (int r = 0; r < HS__ROUTINES; r++)
        for (int d = 0; d < 4; d++) {
            const tally *t = &tallies[r][d];
            long calls = 0;
            for (int f = 0; f < HS__FATES; f++) calls += t->calls[f];
            if (!calls) continue;
            if (!printed++)
                fprintf(stderr,
                        "hetsched: calls of process %ld\n%-7s %8s %8s %8s %8s %8s %8s %9s %9s %9s "
                        "%9s %8s\n",
                        (long)getpid(), "", "taken", "small", "1-thread", "busy", "parallel",
                        "refused", "largest", "flops", "seconds", "GFLOP/s", "lost (s)");
            print_tally(hs__routine_names[r], d, t);
        }
    const long startable = atomic_load_explicit(&hs__startable, memory_order_relaxed);
    if (printed && startable < HS__MOST_WORKERS)
        fprintf(stderr, "The system refused to start threads: calls had %ld worker%s at most.\n",
                startable, startable == 1 ? "" : "s");
    if (printed)
        fputs("Taken: by the engine; all others went to the library behind. largest: "
              "multiply-adds. flops, seconds, GFLOP/s: of those\n"
              "taken. lost: core-seconds meanwhile that other programs had.\n",
              stderr);
    print_governed();
}
