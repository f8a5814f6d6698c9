/* The text of records: on stderr at the end of a process if HETSCHED_BLAS_REPORT=1 asks for it, and
 * of the files of many processes for `hetsched exec --report`. This is the only place that makes
 * the text.
 *
 * Each process has up to two tables, of the calls that the gate decided about and of the calls that
 * the library behind computed, governed. A sentence follows. If there are several processes, the
 * same follows for all of them together. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blas/control.h"
#include "blas/explain.h"
#include "blas/output.h"
#include "blas/record.h"
#include "blas/settings.h"

/* Text on its way to a file. A part of it is at most MOST_PART bytes long. */
enum { MOST_PART = 512 };
typedef struct {
    int file;
    int is_whole; /* everything was written */
    size_t used;
    char text[16 * MOST_PART];
} output;

static void flush(output *to)
{
    if (to->used && !hs__write(to->file, to->text, to->used)) to->is_whole = 0;
    to->used = 0;
}

__attribute__((format(printf, 2, 3))) static void say(output *to, const char *format, ...)
{
    if (to->used + MOST_PART > sizeof to->text) flush(to);
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(to->text + to->used, MOST_PART, format, values);
    va_end(values);
    if (length > 0) to->used += (size_t)length < MOST_PART ? (size_t)length : MOST_PART - 1;
}

/* Says a time with about two digits. */
static void say_seconds(output *to, double seconds)
{
    if (seconds >= 10.0) say(to, "%.0f s", seconds);
    else if (seconds >= 1.0) say(to, "%.1f s", seconds);
    else say(to, "%.2g s", seconds);
}

static const char *plural(double count) { return count == 1.0 ? "" : "s"; }

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t calls_of(const hs__tally *tally)
{
    uint64_t calls = 0;
    for (int fate = 0; fate < HS__FATES; fate++) calls += tally->calls[fate];
    return calls;
}

static uint64_t calls_governed(const hs__governed_tally *tally)
{
    return tally->told + tally->untold;
}

static void say_tally(output *to, const char *name, int dtype, const hs__tally *tally)
{
    const double flops = (dtype >> 1 ? 8.0 : 2.0) * tally->volume;
    say(to, "%c%-6s", "sdcz"[dtype], name);
    for (int fate = 0; fate < HS__FATES; fate++)
        say(to, " %8llu", (unsigned long long)tally->calls[fate]);
    say(to, " %9.1e %9.1e %9.3f", (double)tally->largest, flops, (double)tally->seconds);
    if (tally->seconds > 0.0)
        say(to, " %9.1f %8.3f\n", flops / tally->seconds * 1e-9, (double)tally->lost);
    else say(to, " %9s %8s\n", "-", "-");
}

static void say_tallies(output *to, const hs__record *record)
{
    int said = 0;
    for (int routine = 0; routine < HS__ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            const hs__tally *tally = &record->tallies[routine][dtype];
            if (!calls_of(tally)) continue;
            if (!said++)
                say(to, "%-7s %8s %8s %8s %8s %8s %8s %9s %9s %9s %9s %8s\n", "", "taken", "small",
                    "1-thread", "busy", "parallel", "refused", "largest", "flops", "seconds",
                    "GFLOP/s", "lost (s)");
            say_tally(to, hs__name_of_routine(routine), dtype, tally);
        }
    if (said && record->startable < HS__MOST_WORKERS)
        say(to, "The system refused to start threads: calls had %d worker%s at most.\n",
            (int)record->startable, plural(record->startable));
}

static void say_governed(output *to, const hs__record *record)
{
    int said = 0;
    for (int routine = 0; routine < HS__ALL_ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            const hs__governed_tally *tally = &record->governed[routine][dtype];
            if (!calls_governed(tally)) continue;
            if (!said++)
                say(to, "computed by your library:\n%-7s %8s %8s %9s\n", "", "calls", "threads",
                    "seconds");
            say(to, "%c%-6s %8llu", "sdcz"[dtype], hs__name_of_routine(routine),
                (unsigned long long)calls_governed(tally));
            if (tally->told) say(to, " %8.1f", (double)tally->threads / (double)tally->told);
            else say(to, " %8s", "-");
            say(to, " %9.3f\n", (double)tally->seconds);
        }
}

static void say_legend(output *to)
{
    say(to, "taken: by the engine; all others went to your library. largest: multiply-adds. flops, "
            "seconds, GFLOP/s: of\nthose taken. lost: core-seconds meanwhile that other programs "
            "had. threads: mean number that hetsched gave\nto a call. ");
    say(to, "Seconds of all calling threads are added up. A call inside another one counts in "
            "both.\n");
}

/* ---- a sentence ------------------------------------------------------------------------------ */

/* Kinds of routines, as the sentence names them. */
enum { PRODUCTS, SOLVES, FACTORISATIONS, DECOMPOSITIONS, FAMILIES };
static const char *const family_names[] = {"products", "solves", "factorisations",
                                           "eigenvalues and singular values"};
static const int families[] = {
    [HS__GEMM] = PRODUCTS,        [HS__SYRK] = PRODUCTS,        [HS__GEMV] = PRODUCTS,
    [HS__TRSM] = SOLVES,          [HS__GETRS] = SOLVES,         [HS__GESV] = SOLVES,
    [HS__GETRI] = SOLVES,         [HS__POTRS] = SOLVES,         [HS__POSV] = SOLVES,
    [HS__TRTRS] = SOLVES,         [HS__GELS] = SOLVES,          [HS__GETRF] = FACTORISATIONS,
    [HS__POTRF] = FACTORISATIONS, [HS__GEQRF] = FACTORISATIONS, [HS__ORGQR] = FACTORISATIONS,
    [HS__ORMQR] = FACTORISATIONS, [HS__SYEV] = DECOMPOSITIONS,  [HS__HEEV] = DECOMPOSITIONS,
    [HS__SYEVD] = DECOMPOSITIONS, [HS__HEEVD] = DECOMPOSITIONS, [HS__SYEVR] = DECOMPOSITIONS,
    [HS__HEEVR] = DECOMPOSITIONS, [HS__SYGV] = DECOMPOSITIONS,  [HS__HEGV] = DECOMPOSITIONS,
    [HS__SYGVD] = DECOMPOSITIONS, [HS__HEGVD] = DECOMPOSITIONS, [HS__GESDD] = DECOMPOSITIONS,
    [HS__GESVD] = DECOMPOSITIONS, [HS__GELSD] = SOLVES,         [HS__GELSS] = SOLVES,
};
_Static_assert(sizeof families / sizeof *families == HS__ROUTINES, "a family for each");

/* The names in NumPy of the functions that call these drivers. */
static const struct {
    const char *driver, *known;
} known_names[] = {{"syevd", "eigh"}, {"heevd", "eigh"},  {"syevr", "eigh"}, {"heevr", "eigh"},
                   {"sygvd", "eigh"}, {"hegvd", "eigh"},  {"gesdd", "svd"},  {"gesvd", "svd"},
                   {"geev", "eig"},   {"gelsd", "lstsq"}, {"gelss", "lstsq"}};

/* Sums over a record. */
typedef struct {
    double seconds[FAMILIES];
    double all_seconds, lost;
    uint64_t calls[HS__FATES];
} sums;

static sums sum_up(const hs__record *record)
{
    sums found = {.lost = 0.0};
    for (int routine = 0; routine < HS__ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            const hs__tally *tally = &record->tallies[routine][dtype];
            for (int fate = 0; fate < HS__FATES; fate++) found.calls[fate] += tally->calls[fate];
            found.seconds[families[routine]] += tally->seconds;
            found.all_seconds += tally->seconds;
            found.lost += tally->lost;
        }
    return found;
}

/* The time that a sentence is about. */
typedef struct {
    const char *before; /* words before the time */
    double seconds;
    const char *after;
} period;

static void say_period(output *to, const period *of)
{
    say(to, "%s", of->before);
    say_seconds(to, of->seconds);
    say(to, "%s", of->after);
}

/* Says "2.1 s of 9.8 s were products, 0.2 s solves". Returns whether it has said anything. */
static int say_families(output *to, const sums *sum, const period *of)
{
    int said = 0;
    for (int family = 0; family < FAMILIES; family++) {
        if (!(sum->seconds[family] > 0.0)) continue;
        if (said) say(to, ", ");
        say_seconds(to, sum->seconds[family]);
        if (!said++) {
            say(to, " of ");
            say_period(to, of);
            say(to, " were");
        }
        say(to, " %s", family_names[family]);
    }
    return said;
}

/* Says why no call was taken. Returns whether it has said anything. */
static int say_why_not(output *to, const sums *sum, const period *of)
{
    uint64_t calls = 0;
    int most = HS__SMALL;
    for (int fate = most; fate < HS__FATES; fate++) {
        calls += sum->calls[fate];
        if (sum->calls[fate] > sum->calls[most]) most = fate;
    }
    if (!calls || sum->calls[HS__TAKEN]) return 0;
    say(to, "in ");
    say_period(to, of);
    say(to, " no call was taken; the reason of %llu of %llu calls: %s",
        (unsigned long long)sum->calls[most], (unsigned long long)calls, hs__reasons[most]);
    return 1;
}

static void say_known_name(output *to, const char *driver)
{
    for (size_t i = 0; i < sizeof known_names / sizeof *known_names; i++)
        if (strcmp(driver, known_names[i].driver) == 0) say(to, " (%s)", known_names[i].known);
}

/* Says how the forwarded function that took longest was computed. Returns whether it has said
 * anything. */
static int say_longest(output *to, const hs__record *record, int is_first)
{
    const hs__governed_tally *longest = NULL;
    int its_routine = 0;
    int its_dtype = 0;
    for (int routine = 0; routine < HS__ALL_ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            const hs__governed_tally *tally = &record->governed[routine][dtype];
            if (!tally->told || (longest && tally->seconds <= longest->seconds)) continue;
            longest = tally;
            its_routine = routine;
            its_dtype = dtype;
        }
    if (!longest) return 0;
    const double threads = (double)longest->threads / (double)longest->told;
    say(to, "%s%c%s", is_first ? "" : "; ", "sdcz"[its_dtype], hs__name_of_routine(its_routine));
    say_known_name(to, hs__name_of_routine(its_routine));
    say(to, " was forwarded on %.3g thread%s, ", threads, plural(threads));
    say_seconds(to, longest->seconds);
    return 1;
}

static void say_sentence(output *to, const hs__record *record, const period *of)
{
    const sums sum = sum_up(record);
    say(to, "hetsched: ");
    int said = say_families(to, &sum, of);
    if (said && sum.lost > 0.005 * sum.all_seconds)
        say(to, "; other programs took %.0f %% of one core meanwhile",
            100.0 * sum.lost / sum.all_seconds);
    if (!said) said = say_why_not(to, &sum, of);
    say(to, "%s\n", say_longest(to, record, !said) || said ? "" : "no call was timed");
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Seconds of a process; until its last timed call if it was ended by a signal. */
static double seconds_of(const hs__record *record) { return record->last - record->start; }

static void say_process(output *to, const hs__record *record)
{
    const period of = {record->ended ? "" : "at least ", seconds_of(record), ""};
    say(to, "hetsched: calls of process %lld (%s), from %d thread%s%s\n", (long long)record->pid,
        record->command, (int)record->threads, plural(record->threads),
        record->ended ? "" : ", which was ended by a signal or execve, or still runs");
    say_tallies(to, record);
    say_governed(to, record);
    say_sentence(to, record, &of);
}

static void say_total(output *to, const hs__record *total, int processes, double seconds)
{
    const period of = {total->ended ? "" : "at least ", seconds, " of all processes"};
    say(to, "hetsched: calls of all %d processes, from %d threads\n", processes,
        (int)total->threads);
    say_tallies(to, total);
    say_governed(to, total);
    say_sentence(to, total, &of);
}

/* ---- the end of this process ----------------------------------------------------------------- */

/* A child of vfork has the memory of its parent, whose record is not its own. */
static void end_record(void)
{
    static output to = {.file = STDERR_FILENO};
    hs__record *record = hs__blas_settings.report ? hs__current_record() : NULL;
    if (!record || atomic_exchange(&record->ended, 1)) return;
    record->last = hs_clock();
    if (hs__blas_settings.report != HS__REPORT_AT_END) return;
    say_legend(&to);
    say_process(&to, record);
    flush(&to);
}

__attribute__((destructor)) static void end_at_exit(void) { end_record(); }

/* Processes of multiprocessing and joblib end by _exit, which runs no destructor. The loader is not
 * asked for the function when it is needed, because after a fork its lock may be held for ever. */
static void (*next_exit)(int status);

__attribute__((constructor)) static void find_exit(void)
{
    void *found = dlsym(RTLD_NEXT, "_exit");
    memcpy(&next_exit, &found, sizeof found);
}

HS__BLAS _Noreturn void _exit(int status)
{
    end_record();
    if (next_exit) next_exit(status);
    for (;;) syscall(SYS_exit_group, status);
}

HS__BLAS _Noreturn void _Exit(int status) { _exit(status); }

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads a record that can be trusted. Says what is wrong if it returns 0. */
static int take_record(output *to, const char *path, hs__record *record)
{
    const char *fault = hs__read_record(path, record);
    char name[128];
    if (!fault) return 1;
    snprintf(name, sizeof name, "%s", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    hs__make_printable(name);
    say(to, "hetsched: the file %s is left out of the report: %s\n", name, fault);
    return 0;
}

static void add_amount(_Atomic double *to, double more) { *to = *to + more; }

static void add_record(hs__record *total, const hs__record *record)
{
    total->threads += record->threads;
    if (!record->ended) total->ended = 0;
    if (record->startable < total->startable) total->startable = record->startable;
    for (int routine = 0; routine < HS__ALL_ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            hs__governed_tally *to = &total->governed[routine][dtype];
            const hs__governed_tally *from = &record->governed[routine][dtype];
            to->told += from->told;
            to->untold += from->untold;
            to->threads += from->threads;
            add_amount(&to->seconds, from->seconds);
        }
    for (int routine = 0; routine < HS__ROUTINES; routine++)
        for (int dtype = 0; dtype < 4; dtype++) {
            hs__tally *to = &total->tallies[routine][dtype];
            const hs__tally *from = &record->tallies[routine][dtype];
            for (int fate = 0; fate < HS__FATES; fate++) to->calls[fate] += from->calls[fate];
            if (from->largest > to->largest) to->largest = from->largest;
            add_amount(&to->volume, from->volume);
            add_amount(&to->seconds, from->seconds);
            add_amount(&to->lost, from->lost);
        }
}

/* Says all records. Returns how many there are. */
static int say_records(output *to, const char *const *paths, int count, hs__record *record,
                       hs__record *total)
{
    int processes = 0;
    double seconds = 0.0;
    total->startable = HS__MOST_WORKERS;
    total->ended = 1; /* until a process has not */
    for (int i = 0; i < count; i++) {
        if (!take_record(to, paths[i], record)) continue;
        if (!processes++) say_legend(to);
        say_process(to, record);
        seconds += seconds_of(record);
        add_record(total, record);
    }
    if (processes > 1) say_total(to, total, processes, seconds);
    return processes;
}

int hetsched_blas_write_report(const char *const *paths, int count, int file)
{
    output to = {.file = file, .is_whole = 1};
    hs__record *record = calloc(1, sizeof *record);
    hs__record *total = calloc(1, sizeof *total);
    if (record && total && !say_records(&to, paths, count, record, total))
        say(&to, "hetsched: no call of BLAS or LAPACK was seen\n");
    const int had_memory = record && total;
    free(record);
    free(total);
    flush(&to);
    return had_memory && to.is_whole;
}
