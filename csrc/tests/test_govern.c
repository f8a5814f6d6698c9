/* How many threads a library behind has in a call, and that it has those that the program asked for
 * afterwards: with libraries, a load and a number of free cpus of the test's own. */
#define _GNU_SOURCE
#include "blas/govern.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/gate.h"
#include "blas/settings.h"
#include "check.h"
#include "threads/load.h"

hs__settings hs__blas_settings;
int hs__counting = 1;

static _Thread_local int counted; /* threads of the last call that was counted */
void hs__count_governed(const hs__entry *entry, int threads)
{
    (void)entry;
    counted = threads;
}
void hs__time_governed(const hs__entry *entry, double start)
{
    (void)entry;
    CHECK(start > 0.0);
}
void hs__explain_governed(const hs__entry *entry, double volume, int threads)
{
    (void)entry;
    (void)volume;
    (void)threads;
}

static _Atomic double free_now;
hs__load *hs__machine_load(void) { return NULL; }
double hs__load_quota(hs__load *load, double time)
{
    (void)load;
    (void)time;
    return HUGE_VAL;
}
double hs__load_free(hs__load *load, double time, const hs__cpus *mask, hs__users users,
                     double unknown)
{
    (void)load;
    (void)time;
    CHECK(users == HS__OTHER_USERS);
    return hs__cpus_count(mask) > 0 && unknown > 0.0 ? (double)free_now : 0.0;
}

static void set_free(double cpus)
{
    free_now = cpus;
    usleep(11000); /* a thread looks every 10 ms */
}

/* ---- libraries ------------------------------------------------------------------------------- */

static atomic_int number, told; /* of threads; how often a setter was called */
static _Thread_local int local, omp;

static int get(void) { return number; }
static int set(intptr_t threads)
{
    number = (int)threads;
    told++;
    return 0;
}
static int get_local(void) { return local ? local : number; }
static int set_local(intptr_t threads)
{
    const int before = local;
    local = (int)threads;
    return before;
}
static int get_omp(void) { return omp; }
static void set_omp(int threads) { omp = threads; }

static hs__library process = {.get = get, .set = set, .reach = HS__PROCESS};
static hs__library thread = {.get = get_local, .set = set_local, .reach = HS__THREAD};
static hs__library omp_thread = {
    .get = get, .get_omp = get_omp, .set_omp = set_omp, .reach = HS__OMP_THREAD};

void hs__each_library(void (*visit)(hs__library *library)) { visit(&process); }

enum { SMALL = 1000, LARGE = 1000000000 };

static hs__entry entry_for(hs__library *library, uintptr_t caller)
{
    return (hs__entry){.start = caller,
                       .library = library,
                       .routine = HS__GESV,
                       .governed = hs__least_governed(library, HS__GESV)};
}

/* Returns the number of threads in a call. */
static int threads_in_call(hs__library *library, double volume)
{
    hs__entry entry = entry_for(library, 1);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, volume);
    const int found = library == &omp_thread ? omp : library->get();
    hs__release(&guard);
    return found;
}

/* Returns the number of threads in a call of a routine. */
static int threads_in(int32_t routine, double volume)
{
    hs__entry entry = entry_for(&process, 1);
    hs__guard guard = {0};
    entry.routine = routine;
    hs__govern(&guard, &entry, volume);
    const int found = get();
    hs__release(&guard);
    return found;
}

/* Checks that nothing is left of the calls before. */
static void check_idle(int asked)
{
    CHECK(number == asked);
    CHECK(process.calls == 0 && process.given == 0 && process.taken == 0);
    CHECK(hs__threads_asked(&process) == asked);
}

static void begin(int asked, double cpus)
{
    hs__blas_settings.behind = HS__BEHIND_AUTO;
    number = asked;
    set_free(cpus);
}

/* ---- one thread ------------------------------------------------------------------------------ */

static void test_best_threads(void)
{
    static const struct {
        double cpus;
        int best;
    } cases[] = {{0.0, 1},  {0.3, 1},  {1.0, 1},    {1.5, 1},   {1.52, 1}, {1.53, 2},
                 {1.6, 2},  {1.99, 2}, {2.0, 2},    {2.5, 2},   {2.75, 3}, {7.85, 7},
                 {7.92, 8}, {0.95, 1}, {31.92, 32}, {31.8, 31}, {7.5, 7},  {64.0, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(hs__best_threads(cases[i].cpus) == cases[i].best);
}

static void test_one_thread(void)
{
    begin(8, 4.0);
    CHECK(threads_in_call(&process, LARGE) == 4);
    CHECK(counted == 4);
    check_idle(8);
    CHECK(threads_in_call(&process, SMALL) == 1);
    CHECK(threads_in(HS__TRSM, 1e5) == 4 && threads_in(HS__TRSM, 5e4) == 1);
    CHECK(threads_in(HS__POTRF, 5e6) == 1 && threads_in(HS__POTRF, 2e7) == 4);
    CHECK(threads_in(HS__ROUTINES, 1e8) == 1 && threads_in(HS__ROUTINES, 4e8) == 4);
    check_idle(8);
    begin(8, 0.2);
    CHECK(threads_in_call(&process, LARGE) == 1);
    begin(8, 100.0);
    CHECK(threads_in_call(&process, LARGE) == 8);
    begin(2, 4.0); /* the program's own lower number */
    CHECK(threads_in_call(&process, LARGE) == 2);
    check_idle(2);
    begin(1, 4.0);
    told = counted = 0;
    CHECK(threads_in_call(&process, LARGE) == 1);
    CHECK(told == 0 && counted == 0);
    check_idle(1);
}

static void test_has_one_cpu(void)
{
    const hs__entry entry = entry_for(&process, 1);
    begin(8, 1.4);
    CHECK(hs__has_one_cpu(&entry, LARGE));
    set_free(2.0);
    CHECK(!hs__has_one_cpu(&entry, LARGE));
    hs__entry behind = entry;
    hs__guard guard = {0};
    hs__govern(&guard, &behind, LARGE);
    CHECK(!hs__has_one_cpu(&entry, LARGE)); /* this thread's own call does not count */
    CHECK(hs__other_callers() == 0);
    hs__release(&guard);
    CHECK(hs__join_callers()); /* of another thread */
    CHECK(hs__has_one_cpu(&entry, LARGE) && hs__other_callers() == 1);
    hs__leave_callers(1);
    CHECK(!hs__has_one_cpu(&entry, LARGE));

    CHECK(hs__join_callers() && hs__join_callers());
    CHECK(hs__other_callers() == 2);
    hs__leave_callers(1);
    hs__leave_callers(1);
    const double ended = hs_clock();
    const int others = hs__other_callers();
    CHECK(others == 1 || hs_clock() - ended > 0.05);
    usleep(110000);
    CHECK(hs__other_callers() == 0);

    set_free(0.5);
    hs__entry untold = entry; /* its library cannot be told */
    untold.governed = INFINITY;
    CHECK(!hs__has_one_cpu(&untold, LARGE));
    hs__blas_settings.behind = 3;
    CHECK(!hs__has_one_cpu(&entry, LARGE));
    hs__blas_settings.behind = HS__BEHIND_AUTO;
    CHECK(hs__has_one_cpu(&entry, LARGE));
}

static void test_settings(void)
{
    begin(8, 4.0);
    hs__blas_settings.behind = 3;
    CHECK(threads_in_call(&process, LARGE) == 3);
    CHECK(threads_in_call(&process, SMALL) == 3);
    check_idle(8);
    number = 2;
    CHECK(threads_in_call(&process, LARGE) == 2);
    hs__blas_settings.behind = HS__BEHIND_OWN;
    CHECK(threads_in_call(&process, SMALL) == 2);
    hs__blas_settings.behind = HS__BEHIND_AUTO;

    hs__library nobody = {.get = get};
    hs__library openblas = {.get = get, .reach = HS__PROCESS};
    openblas.is_openblas = 1;
    CHECK(hs__least_governed(NULL, HS__GEMM) == INFINITY);
    CHECK(hs__least_governed(&nobody, HS__GEMM) == INFINITY);
    CHECK(hs__least_governed(&process, HS__GEMM) == -INFINITY);
    CHECK(hs__least_governed(&openblas, HS__GESV) == -INFINITY);
    CHECK(hs__least_governed(&openblas, HS__GEMM) > 1e4); /* it takes one thread itself */
    CHECK(hs__least_governed(&openblas, HS__GEMV) < 1e4);
}

/* The program tells another number while a call is in flight. */
static void test_told_meanwhile(void)
{
    begin(8, 4.0);
    hs__entry entry = entry_for(&process, 1);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, LARGE);
    CHECK(number == 4 && hs__threads_asked(&process) == 8);
    number = 5;
    CHECK(hs__threads_asked(&process) == 5);
    hs__release(&guard);
    check_idle(5);
    CHECK(threads_in_call(&process, LARGE) == 4);
    check_idle(5);
}

/* A variable instead of the setter, and one that is another library's. */
static void test_variable(void)
{
    static int wrong;
    begin(8, 4.0);
    process.number = (int *)(void *)&number;
    told = 0;
    CHECK(threads_in_call(&process, LARGE) == 4);
    CHECK(told == 0);
    wrong = 8;
    process.number = &wrong;
    CHECK(threads_in_call(&process, LARGE) == 4);
    CHECK(told == 2 && wrong == 8 && process.number == NULL);
    check_idle(8);
}

static void test_this_thread_only(void)
{
    begin(8, 4.0);
    CHECK(threads_in_call(&thread, LARGE) == 4);
    CHECK(local == 0);
    local = 6;
    CHECK(threads_in_call(&thread, SMALL) == 1);
    CHECK(local == 6);
    local = 0;
    omp = 8;
    CHECK(threads_in_call(&omp_thread, LARGE) == 8); /* all or one */
    CHECK(threads_in_call(&omp_thread, SMALL) == 1);
    CHECK(omp == 8 && number == 8);
}

/* ---- calls inside calls, and calls that are left --------------------------------------------- */

static __attribute__((noinline)) int call_inside(uintptr_t caller, double volume)
{
    hs__entry entry = entry_for(&process, caller);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, volume);
    const int found = number;
    CHECK(process.calls == 1);
    hs__release(&guard);
    return found;
}

static void test_inside(void)
{
    begin(8, 4.0);
    hs__entry entry = entry_for(&process, 1);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, LARGE);
    CHECK(call_inside(2, SMALL) == 4); /* of the library itself: it has the outer call's threads */
    CHECK(number == 4);
    CHECK(call_inside(1, SMALL) == 1); /* of the same object: the outer one was left */
    CHECK(number == 8 && process.calls == 0);
    hs__release(&guard); /* that it was not does no harm */
    check_idle(8);
}

static jmp_buf outside;
static int times_left;

static __attribute__((noinline)) void leave_call(void)
{
    hs__entry entry = entry_for(&process, 1);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, LARGE);
    CHECK(number == 4);
    times_left++;
    longjmp(outside, 1);
}

/* Leaves a call that is as far down the stack as a program may be. */
static __attribute__((noinline)) void leave_call_deep(void)
{
    char room[4096];
    memset(room, times_left, sizeof room);
    leave_call();
    CHECK(room[4095] == 0);
}

static void test_left(void)
{
    begin(8, 4.0);
    if (!setjmp(outside)) leave_call_deep();
    CHECK(number == 4 && process.calls == 1);
    CHECK(call_inside(2, SMALL) == 1); /* from an outer frame */
    check_idle(8);
    setjmp(outside);
    if (times_left < 4) leave_call();
    CHECK(process.calls == 1);
    CHECK(threads_in_call(&process, LARGE) == 4); /* no other thread is in a call */
    check_idle(8);
}

/* ---- several threads ------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

/* Calls that the engine computes use cpus, too; a call of the engine inside a governed one is in
 * the same thread. */
static void test_beside_the_engine(void)
{
    begin(8, 8.0);
    CHECK(threads_in_call(&process, LARGE) == 8);
    const int counted_here = hs__join_callers();
    CHECK(counted_here && threads_in_call(&process, LARGE) == 4);
    hs__leave_callers(counted_here);
    CHECK(threads_in_call(&process, LARGE) == 8);
    hs__entry entry = entry_for(&process, 1);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, LARGE);
    CHECK(!hs__join_callers());
    hs__leave_callers(0);
    hs__release(&guard);
    CHECK(threads_in_call(&process, LARGE) == 8);
    check_idle(8);
}

/* Is in a call from the first to the second barrier. */
static void *call_beside(void *volume)
{
    hs__entry entry = entry_for(&process, 3);
    hs__guard guard = {0};
    hs__govern(&guard, &entry, *(double *)volume);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    hs__release(&guard);
    return NULL;
}

static void test_two_threads(void)
{
    pthread_t other;
    double large = LARGE;
    double small = SMALL;
    for (int is_small = 0; is_small < 2; is_small++) {
        begin(8, 4.0);
        CHECK(!pthread_create(&other, NULL, call_beside, is_small ? &small : &large));
        pthread_barrier_wait(&barrier);
        CHECK(number == (is_small ? 1 : 4));
        CHECK(threads_in_call(&process, LARGE) == 2); /* two calls share the cpus */
        CHECK(number == 2 && process.calls == 1);
        CHECK(threads_in_call(&process, SMALL) == 1);
        CHECK(number == 2); /* the other call gets its threads back */
        pthread_barrier_wait(&barrier);
        pthread_join(other, NULL);
        check_idle(8);
    }
}

/* A fork while another thread is in a call. */
static void test_fork(void)
{
    pthread_t other;
    double large = LARGE;
    for (int variable = 0; variable < 2; variable++) {
        begin(8, 4.0);
        process.number = variable ? (int *)(void *)&number : NULL;
        CHECK(!pthread_create(&other, NULL, call_beside, &large));
        pthread_barrier_wait(&barrier);
        process.taken = 1; /* by a third thread */
        const pid_t child = fork();
        if (!child) {
            int right = number == (variable ? 8 : 4); /* the setter would start threads */
            right = right && hs__threads_asked(&process) == 8;
            right = right && threads_in_call(&process, LARGE) == 4; /* alone */
            right = right && number == 8 && process.calls == 0 && process.given == 0;
            _exit(right ? 3 : 4);
        }
        process.taken = 0;
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
        pthread_barrier_wait(&barrier);
        pthread_join(other, NULL);
        check_idle(8);
    }
    process.number = NULL;
}

/* Calls that begin and end at the same time. */
static void *call_often(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < CHECK_MANY(20000, 2000); i++) {
        state = state * 1664525u + 1013904223u;
        threads_in_call(&process, state >> 30 ? SMALL : LARGE);
    }
    return NULL;
}

static void test_many_threads(void)
{
    enum { COUNT = 8 };
    pthread_t threads[COUNT];
    begin(8, 4.0);
    for (int round = 0; round < 5; round++) {
        for (uintptr_t i = 0; i < COUNT; i++)
            CHECK(!pthread_create(&threads[i], NULL, call_often, (void *)(i + 1)));
        for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
        check_idle(8);
    }
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    test_best_threads();
    test_one_thread();
    test_has_one_cpu();
    test_settings();
    test_told_meanwhile();
    test_variable();
    test_this_thread_only();
    test_inside();
    test_left();
    test_beside_the_engine();
    test_two_threads();
    test_fork();
    test_many_threads();
    return check_result();
}
