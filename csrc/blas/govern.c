/* Tells the library behind how many threads to use, for the time of a call. */
#include "blas/govern.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "blas/explain.h"
#include "blas/gate.h"
#include "blas/library.h"
#include "blas/settings.h"
#include "threads/load.h"

/* Threads of this process that are in governed calls or in calls that the engine computes. */
static atomic_int callers;
/* Until when threads count as calling at the same time: some time after two were in calls. Threads
 * that do the same begin together again and again. By hand. */
static _Atomic double together_until;
static const double together_for = 0.1;

/* The outermost governed call of this thread. Calls inside it, for example of a LAPACK that calls a
 * BLAS by its names, have its number of threads. */
static _Thread_local struct {
    const hs__guard *guard; /* NULL: no call */
    const char *frame;      /* address on the stack: calls that are inside have a lower one */
    uintptr_t caller;       /* start of the calling object */
    hs__library *library;
    const hs__entry *entry; /* with start: of a call that is counted */
    double start;           /* hs_clock when it began */
    int is_told;            /* non-zero if `before` is to be told back after this call */
    int before;
} current;

/* Free cpus as this thread has seen them. */
static _Thread_local struct {
    double until, count;
} free_cpus;

/* ---- how many threads are good --------------------------------------------------------------- */

/* Multiply-adds from which more than one thread can be faster: the largest sizes at which two
 * threads of OpenBLAS 0.3.30 were not faster than one, for trsm the smallest at which they were.
 * Measured on an AMD EPYC (family 26), of float64, best of many calls on a busy machine. LU,
 * Cholesky and QR of order 500 were slower on two threads, too, but may be faster on more, so the
 * numbers are for orders 250 to 400. Of the drivers syevd, gelsd and gesdd of order 100 took
 * 1.2 to 1.3 times as long on two threads, and syevd and gelsd of order 200 1.0 times. For getri
 * the number is an estimate. */
static const double least_shared_by[HS__ROUTINES] = {
    [HS__GEMM] = 3e6,  [HS__SYRK] = 1e7,  [HS__TRSM] = 6e4,  [HS__GEMV] = 4e5,  [HS__GETRF] = 5e6,
    [HS__GETRS] = 6e4, [HS__GESV] = 5e6,  [HS__GETRI] = 3e5, [HS__POTRF] = 1e7, [HS__POTRS] = 6e4,
    [HS__POSV] = 1e7,  [HS__TRTRS] = 6e4, [HS__GEQRF] = 1e7, [HS__ORGQR] = 1e7, [HS__ORMQR] = 1e7,
    [HS__GELS] = 1e7,  [HS__SYEV] = 8e6,  [HS__HEEV] = 8e6,  [HS__SYEVD] = 8e6, [HS__HEEVD] = 8e6,
    [HS__SYEVR] = 8e6, [HS__HEEVR] = 8e6, [HS__SYGV] = 8e6,  [HS__HEGV] = 8e6,  [HS__SYGVD] = 8e6,
    [HS__HEGVD] = 8e6, [HS__GESDD] = 8e6, [HS__GESVD] = 8e6, [HS__GELSD] = 8e6, [HS__GELSS] = 8e6};
/* The other drivers: on an Intel Xeon (family 6, model 167), OpenBLAS 0.3.31, idle, geev, gees,
 * gehrd, gelsy and geqp3 took on two threads 1.0 to 1.8 times as long at orders 200 and 300, 1.0 to
 * 1.1 times at 500, and 0.8 to 1.0 times at 800. */
static const double least_driver = 2e8;
/* Multiply-adds up to which OpenBLAS itself uses one thread. */
static const double single_gemm = 262144.0, single_gemv = 9216.0;

/* Calls of OpenBLAS with fewer multiply-adds have one thread in any case: a thread gets at least 4
 * columns, and these are of order 4, with 75 in dgels. To govern such a call could take a third of
 * its time. */
static const double least_divided = 75.0;

static double least_shared(int32_t routine)
{
    return routine < HS__ROUTINES ? least_shared_by[routine] : least_driver;
}

double hs__least_governed(const hs__library *library, int32_t routine)
{
    if (!library || library->reach == HS__UNTOLD || hs__blas_settings.behind == HS__BEHIND_OWN)
        return INFINITY;
    if (!library->is_openblas) return -INFINITY;
    if (routine == HS__GEMM) return single_gemm;
    if (routine == HS__GEMV) return single_gemv;
    return library->number ? least_divided : -INFINITY;
}

/* An idle system takes up to a tenth of a cpu itself, now on this one, now on that one. This is no
 * reason to use one thread less. */
int hs__best_threads(double cpus)
{
    const double whole = floor(cpus + 0.1);
    const double with_another = (whole + 1.0) * (cpus - whole); /* all are as fast as the last */
    const double best = with_another > 1.05 * whole ? whole + 1.0 : whole;
    return best > 1.0 ? (int)best : 1;
}

/* Returns the number of cpus that are free for this thread, which it looks for every 10 ms. */
static double find_free_cpus(void)
{
    hs__load *load = hs__machine_load();
    const double now = hs_clock();
    if (now < free_cpus.until) return free_cpus.count;
    hs__cpus mask;
    if (hs__cpus_of(pthread_self(), &mask)) {
        const double unknown = free_cpus.until > 0.0 ? free_cpus.count : hs__cpus_count(&mask);
        const double found = hs__load_free(load, now, &mask, HS__OTHER_USERS, unknown);
        free_cpus.count = fmin(found, hs__load_quota(load, now));
        free(mask.set);
    } else {
        free_cpus.count = HS__MOST_WORKERS;
    }
    free_cpus.until = now + 0.01;
    return free_cpus.count;
}

static int good_threads(int32_t routine, double volume)
{
    if (hs__blas_settings.behind != HS__BEHIND_AUTO) return hs__blas_settings.behind;
    if (volume < least_shared(routine)) return 1;
    return hs__best_threads(find_free_cpus() / atomic_load(&callers));
}

static void note_together(void)
{
    atomic_store_explicit(&together_until, hs_clock() + together_for, memory_order_relaxed);
}

static void count_caller(void)
{
    if (atomic_fetch_add(&callers, 1) > 0) note_together();
}

static void drop_caller(void)
{
    if (atomic_fetch_sub(&callers, 1) > 1) note_together();
}

int hs__other_callers(void)
{
    const int others = atomic_load(&callers) - (current.guard != NULL);
    if (others) return others;
    return hs_clock() < atomic_load_explicit(&together_until, memory_order_relaxed);
}

int hs__has_one_cpu(const hs__entry *entry, double volume)
{
    if (hs__blas_settings.behind != HS__BEHIND_AUTO || volume < entry->governed) return 0;
    return hs__best_threads(find_free_cpus() / (hs__other_callers() + 1)) < 2;
}

int hs__join_callers(void)
{
    if (current.guard) return 0;
    count_caller();
    return 1;
}

void hs__leave_callers(int counted)
{
    if (counted) drop_caller();
}

/* ---- a number for all calls of the process --------------------------------------------------- */

static void tell(hs__library *library, int threads)
{
    if (library->number) {
        const int before = *library->number;
        __atomic_store_n(library->number, threads, __ATOMIC_RELAXED);
        if (library->get() == threads) return;
        __atomic_store_n(library->number, before, __ATOMIC_RELAXED); /* of another library */
        library->number = NULL;
    }
    library->set(threads);
}

/* Makes this thread the only one that changes the number, without waiting. */
static int take(hs__library *library) { return !atomic_exchange(&library->taken, 1); }

/* This is sequentially consistent with the count of calls, which is read afterwards. Otherwise the
 * last call could find the library taken while the thread that has taken it does not yet see that
 * the call has ended, and neither would tell the number back. */
static void give_back(hs__library *library) { atomic_store(&library->taken, 0); }

/* The number that the library was told for the calls in flight, and the one that the program wants.
 * They are written by the thread that has taken the library. */
static int given(hs__library *library)
{
    return atomic_load_explicit(&library->given, memory_order_relaxed);
}
static int asked(hs__library *library)
{
    return atomic_load_explicit(&library->asked, memory_order_relaxed);
}
static void set_given(hs__library *library, int threads)
{
    atomic_store_explicit(&library->given, threads, memory_order_relaxed);
}

int hs__threads_asked(hs__library *library)
{
    const int now = library->get();
    return given(library) && now == given(library) ? asked(library) : now;
}

/* Tells the number before a call, and returns it. 0: another thread tells one at this moment, and
 * the call runs with that number. */
static int tell_process(hs__library *library, int good, int is_small)
{
    const int others = atomic_fetch_add(&library->calls, 1);
    if (!take(library)) return 0;
    const int now = library->get();
    atomic_store_explicit(&library->asked, hs__threads_asked(library), memory_order_relaxed);
    const int threads = asked(library) < good ? asked(library) : good;
    if (others && is_small && threads != now) {
        current.is_told = 1;
        current.before = now;
    }
    set_given(library, threads);
    if (threads != now) tell(library, threads);
    give_back(library);
    return threads;
}

/* Tells the number back after the last call, and after a small call the number that other calls in
 * flight had before it. */
static void tell_process_back(hs__library *library, int before)
{
    const int others = atomic_fetch_sub(&library->calls, 1) - 1;
    if (others && !before) return;
    do {
        if (!take(library)) return; /* that thread will see that this call has ended */
        const int is_last = !atomic_load(&library->calls);
        const int back = is_last ? asked(library) : before;
        if (back && given(library)) {
            if (given(library) != back && library->get() == given(library)) tell(library, back);
            set_given(library, is_last ? 0 : back);
        }
        give_back(library);
    } while (!atomic_load(&library->calls) && given(library));
}

/* ---- a number for this thread ---------------------------------------------------------------- */

static int tell_thread(hs__library *library, int good)
{
    const int threads = library->get();
    if (threads <= good) return threads;
    current.before = library->set(good);
    current.is_told = 1;
    return good;
}

/* An OpenBLAS with OpenMP that gets fewer threads than before, but more than one, gives up memory
 * of the others even if a call of another thread uses it. So it gets one or all. */
static int tell_omp_thread(hs__library *library, int good)
{
    const int threads = library->get_omp();
    if (threads <= 1 || good > 1) return threads;
    current.before = threads;
    current.is_told = 1;
    library->set_omp(1);
    return 1;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int begin_current(hs__library *library, int good, int is_small)
{
    if (library->reach == HS__PROCESS) return tell_process(library, good, is_small);
    return library->reach == HS__THREAD ? tell_thread(library, good)
                                        : tell_omp_thread(library, good);
}

static void end_current(void)
{
    hs__library *library = current.library;
    current.guard = NULL;
    if (library->reach == HS__PROCESS) tell_process_back(library, current.before);
    else if (current.is_told && library->reach == HS__THREAD) library->set(current.before);
    else if (current.is_told) library->set_omp(current.before);
    drop_caller();
}

/* Begins to govern a call, unless it is inside another one or the program wants one thread. Returns
 * the number of its threads; 0: not known; HS__INSIDE. */
static int begin_governed(hs__guard *guard, hs__entry *entry, double volume, const char *frame)
{
    hs__library *library = entry->library;
    if (current.guard) {
        if (frame < current.frame && entry->start != current.caller) return HS__INSIDE;
        end_current(); /* it was left by longjmp */
    }
    if (library->reach == HS__PROCESS && library->get() <= 1 && !atomic_load(&library->calls))
        return 1;
    current.frame = frame;
    current.caller = entry->start;
    current.library = library;
    current.is_told = current.before = 0;
    count_caller();
    const int good = good_threads(entry->routine, volume);
    const int threads = begin_current(library, good, volume < least_shared(entry->routine));
    current.guard = guard;
    guard->active = 1;
    return threads;
}

static void count_begun(const hs__guard *guard, const hs__entry *entry, double volume, int threads)
{
    if (guard->active) {
        hs__count_governed(entry, threads);
        current.entry = entry;
        current.start = hs_clock();
    }
    if (hs__blas_settings.explain) hs__explain_governed(entry, volume, threads);
}

void hs__begin_behind(hs__guard *guard, hs__entry *entry, double volume)
{
    const int threads = begin_governed(guard, entry, volume, __builtin_frame_address(0));
    if (__builtin_expect(hs__counting, 0)) count_begun(guard, entry, volume, threads);
}

void hs__end_behind(hs__guard *guard)
{
    if (current.guard != guard) return;
    if (__builtin_expect(hs__counting, 0)) hs__time_governed(current.entry, current.start);
    end_current();
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* In the child only the calls of the thread that has forked go on. Other threads may have left the
 * library with the number of a call. It is told back here if that starts no threads, else at the
 * end of the next call. */
static void forget_others(hs__library *library)
{
    const int is_current = current.guard && current.library == library;
    atomic_store(&library->calls, is_current);
    give_back(library);
    if (is_current || !given(library) || !library->number) return;
    if (library->get() == given(library)) tell(library, asked(library));
    set_given(library, 0);
}

static void in_child(void)
{
    atomic_store(&callers, current.guard != NULL);
    atomic_store(&together_until, 0.0);
    hs__each_library(forget_others);
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }
