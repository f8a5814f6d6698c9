/* Life of pools: creation, refusal, many pools at once, use from several threads, destruction. It
 * includes the source file, because no public function tells which threads wait and which place a
 * thread has. */
#include "threads/pool.c"

#include <math.h>
#include <sys/wait.h>

#include "check.h"
#include "scarce.h"

enum { N = 40 };
static double x[N * N];

static hs_status multiply_ones(hs_pool *pool, double *c)
{
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = N,
                          .n = N,
                          .k = N,
                          .a = x,
                          .a_row_stride = N,
                          .a_col_stride = 1,
                          .b = x,
                          .b_row_stride = N,
                          .b_col_stride = 1,
                          .c = c,
                          .c_row_stride = N,
                          .c_col_stride = 1,
                          .alpha = {1}};
    return hs_gemm(pool, &product, NULL, NULL, NULL);
}

static void *many_products(void *pool)
{
    double c[N * N];
    long wrong = 0;
    for (int round = 0; round < 50; round++) {
        c[0] = c[N * N - 1] = -1;
        wrong += multiply_ones(pool, c) != HS_OK || c[0] != N || c[N * N - 1] != N;
    }
    return (void *)wrong;
}

/* All workers are on the caller's core. They seldom begin before the caller has done all the work,
 * and must not touch the job afterwards. */
static void crowded(void)
{
    enum { SIDE = 100, ROUNDS = 60 };
    const int32_t same[] = {0, 0, 0, 0};
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(4, same, &pool) == HS_OK)) return;
#if defined(__linux__)
    cpu_set_t before, one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
#endif
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t depth = round % 3 ? SIDE : 12 * SIDE; /* one panel; several */
        double *a = malloc((size_t)(SIDE * depth) * sizeof *a);
        double *c = malloc(SIDE * SIDE * sizeof *c); /* freed when the product is done */
        if (!CHECK(a && c)) break;
        for (int64_t i = 0; i < SIDE * depth; i++) a[i] = round + 1;
        hs_product product = {.dtype = HS_FLOAT64,
                              .m = SIDE,
                              .n = SIDE,
                              .k = depth,
                              .a = a,
                              .a_row_stride = depth,
                              .a_col_stride = 1,
                              .b = a,
                              .b_row_stride = SIDE,
                              .b_col_stride = 1,
                              .c = c,
                              .c_row_stride = SIDE,
                              .c_col_stride = 1,
                              .alpha = {1}};
        CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
        long wrong = 0;
        for (int i = 0; i < SIDE * SIDE; i++)
            wrong += c[i] != (double)(depth * (round + 1) * (round + 1));
        CHECK(wrong == 0);
        free(a);
        free(c);
    }
#if defined(__linux__)
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
#endif
    hs_pool_destroy(pool);
}

/* Outside a run, also before the first run, the caller takes no worker's place. Otherwise a rescue
 * would move its thread for good. */
static void a_fresh_pool_has_no_caller(void)
{
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    for (int round = 0; round < 2; round++) {
        hs__lease *lease;
        if (!CHECK(hs__pool_lock(pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK)) return;
        hs__pool_step_out(lease);
        hs__pool_step_in(lease);
        CHECK(!lease->placement.taken);
        for (int32_t i = 0; i < 2; i++) CHECK(!pool->helpers[i].placement.taken);
        hs__pool_unlock(lease);
        double c[N * N];
        CHECK(multiply_ones(pool, c) == HS_OK);
    }
    hs_pool_destroy(pool);
}

/* A pool that is to have no thread: each of several callers works by itself. */
static void without_threads(void)
{
    enum { CALLERS = 3 };
    const hs_domain domain = {.depth = {8, 8}};
    for (int has_domain = 0; has_domain < 2; has_domain++) {
        hs_pool *pool = NULL;
        pthread_t caller[CALLERS];
        void *wrong;
        if (!CHECK(hs__pool_create_alone(has_domain ? &domain : NULL, &pool) == HS_OK)) return;
        CHECK(hs__pool_size(pool) == 1 && !hs__pool_has_threads(pool) && !hs__pool_spins(pool));
        for (int i = 0; i < CALLERS; i++)
            CHECK(!pthread_create(&caller[i], NULL, many_products, pool));
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(caller[i], &wrong);
            CHECK(!wrong);
        }
        hs_pool_destroy(pool);
    }
    CHECK(hs__pool_create_alone(&(hs_domain){.rows = {-1, 0}}, &(hs_pool *){NULL}) ==
          HS_ERROR_VALUE);
}

typedef struct {
    hs_pool *pool;
    int polls; /* whether it waits with a poll function */
    hs_status status;
} waiter;

static int never_cancel(void *context, double fraction)
{
    (void)context;
    (void)fraction;
    return 0;
}

static void *wait_for_turn(void *context)
{
    waiter *own = context;
    hs__lease *lease;
    own->status =
        hs__pool_lock(own->pool, HS__EXCLUSIVE, own->polls ? never_cancel : NULL, NULL, &lease);
    if (!own->status) hs__pool_unlock(lease);
    return NULL;
}

static void *destroy_pool(void *pool)
{
    hs_pool_destroy(pool);
    return NULL;
}

/* Threads that wait for their turn leave a pool before it is freed. */
static void destroyed_with_threads_queued(void)
{
    enum { WAITERS = 4 };
    hs_pool *pool = NULL;
    hs__lease *lease;
    pthread_t threads[WAITERS], last;
    waiter waiters[WAITERS];
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK) ||
        !CHECK(hs__pool_lock(pool, HS__EXCLUSIVE, NULL, NULL, &lease) == HS_OK))
        return;
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = (waiter){pool, i % 2, HS_ERROR_VALUE};
        if (!CHECK(pthread_create(&threads[i], NULL, wait_for_turn, &waiters[i]) == 0)) return;
    }
    while (atomic_load(&pool->callers) < WAITERS + 1)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    if (!CHECK(pthread_create(&last, NULL, destroy_pool, pool) == 0)) return;
    /* the later the pool is unlocked, the more of them wait */
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    hs__pool_unlock(lease);
    pthread_join(last, NULL);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(threads[i], NULL);
        /* it had its turn before the destruction, or none */
        CHECK(waiters[i].status == HS_OK || waiters[i].status == HS_ERROR_THREAD);
    }
}

typedef struct {
    hs_pool *pool;
    hs_poll_function poll;
    hs_status status;
} computing;

/* A product that would take minutes. */
static void *multiply_for_minutes(void *context)
{
    enum { SIDE = 400, DEPTH = 100 * 1000 * 1000 };
    computing *self = context;
    double *c = malloc(SIDE * SIDE * sizeof *c);
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = SIDE,
                                .n = SIDE,
                                .k = DEPTH,
                                .a = x,
                                .b = x,
                                .c = c,
                                .c_row_stride = SIDE,
                                .c_col_stride = 1,
                                .alpha = {1}};
    self->status = c ? hs_gemm(self->pool, &product, NULL, self->poll, NULL) : HS_ERROR_MEMORY;
    free(c);
    return NULL;
}

static void *multiply_once(void *context)
{
    computing *self = context;
    double c[N * N];
    self->status = multiply_ones(self->pool, c);
    return NULL;
}

/* Running products of other threads end, and their later calls are refused. Both hold with
 * and without a poll function. */
static void claimed(void)
{
    enum { THREADS = 3 };
    for (int32_t p = 1; p <= 3; p++) {
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create(p, NULL, &pool) == HS_OK)) return;
        pthread_t threads[THREADS], late;
        computing each[THREADS];
        for (int i = 0; i < THREADS; i++) {
            each[i] = (computing){pool, (i + p) % 2 ? never_cancel : NULL, HS_ERROR_VALUE};
            if (!CHECK(pthread_create(&threads[i], NULL, multiply_for_minutes, &each[i]) == 0))
                return;
        }
        while (atomic_load(&pool->turns) < THREADS)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        const hs_status at_once = hs_pool_claim(pool, 0.0);
        CHECK(at_once == HS_ERROR_BUSY || at_once == HS_OK);
        CHECK(hs_pool_claim(pool, INFINITY) == HS_OK);
        CHECK(!atomic_load(&pool->callers) && !atomic_load(&pool->turns));
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK(each[i].status == HS_ERROR_CANCELLED);
        }
        computing more = {pool, NULL, HS_ERROR_VALUE};
        if (!CHECK(pthread_create(&late, NULL, multiply_once, &more) == 0)) return;
        pthread_join(late, NULL);
        CHECK(more.status == HS_ERROR_CANCELLED);
        multiply_once(&more);
        CHECK(more.status == HS_OK);
        hs_pool_destroy(pool);
    }
}

static void *claim(void *context)
{
    computing *self = context;
    self->status = hs_pool_claim(self->pool, INFINITY);
    return NULL;
}

/* The claim of a thread that has ended holds for threads that start later. */
static void claimed_by_a_thread_that_ended(void)
{
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    computing self = {pool, NULL, HS_ERROR_VALUE};
    for (int round = 0; round < 5; round++) {
        pthread_t other;
        if (!CHECK(pthread_create(&other, NULL, round ? multiply_once : claim, &self) == 0)) return;
        pthread_join(other, NULL);
        CHECK(self.status == (round ? HS_ERROR_CANCELLED : HS_OK));
    }
    hs_pool_destroy(pool);
}

#ifndef __SANITIZE_THREAD__
/* A child that is forked inside a run destroys the inherited pool and uses pools of its own. */
static void forked_inside_a_run(void)
{
    double c[N * N];
    hs_pool *pool = NULL;
    hs__lease *lease;
    if (!CHECK(hs_pool_create(4, NULL, &pool) == HS_OK) ||
        !CHECK(hs__pool_lock(pool, HS__EXCLUSIVE, NULL, NULL, &lease) == HS_OK))
        return;
    int child_status = 1;
    const pid_t child = fork();
    if (child == 0) {
        hs_pool_destroy(pool);
        int failed = 0;
        for (int32_t p = 1; p < 5; p++) {
            hs_pool *own = NULL;
            if (hs_pool_create(p, NULL, &own) != HS_OK) _exit(1);
            failed |= multiply_ones(own, c) != HS_OK;
            hs_pool_destroy(own);
        }
        _exit(failed);
    }
    CHECK(waitpid(child, &child_status, 0) == child && child_status == 0);
    hs__pool_unlock(lease);
    hs_pool_destroy(pool);
}
#endif

/* A claim from within a run of the same thread is refused, because it would wait for itself. */
static void claimed_from_within(void)
{
    hs_pool *pool = NULL;
    hs__lease *lease;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK) ||
        !CHECK(hs__pool_lock(pool, HS__EXCLUSIVE, NULL, NULL, &lease) == HS_OK))
        return;
    CHECK(hs_pool_claim(pool, 1.0) == HS_ERROR_BUSY);
    hs__pool_unlock(lease);
    CHECK(hs_pool_claim(pool, -1.0) == HS_ERROR_VALUE &&
          hs_pool_claim(pool, NAN) == HS_ERROR_VALUE);
    CHECK(hs_pool_claim(NULL, 1.0) == HS_ERROR_VALUE);
    computing more = {pool, NULL, HS_ERROR_VALUE};
    pthread_t other;
    if (!CHECK(pthread_create(&other, NULL, multiply_once, &more) == 0)) return;
    pthread_join(other, NULL);
    CHECK(more.status == HS_OK);
    hs_pool_destroy(pool);
}

/* Arguments are checked before the pool is locked. */
static void checked_before_locked(void)
{
    hs_pool *pool = NULL;
    hs__lease *lease;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK) ||
        !CHECK(hs__pool_lock(pool, HS__EXCLUSIVE, NULL, NULL, &lease) == HS_OK))
        return;
    const hs_product good = {.dtype = HS_FLOAT64};
    const hs_product bad = {.dtype = HS_FLOAT64, .m = -1};
    const double none[] = {0, 0};
    CHECK(hs_gemm(pool, &good, NULL, NULL, NULL) == HS_ERROR_BUSY && hs_pool_is_inside(pool));
    CHECK(hs_gemm(pool, &bad, NULL, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_gemm(pool, &good, none, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(hs_pool_trim(pool) == HS_ERROR_BUSY);
    int child_status = 1;
    const pid_t child = fork(); /* has none of the pool's jobs */
    if (child == 0) _exit(hs_pool_is_inside(pool));
    CHECK(waitpid(child, &child_status, 0) == child && child_status == 0);
    hs__pool_unlock(lease);
    hs_pool_destroy(pool);
}

static size_t kept_bytes(const hs_pool *pool)
{
    size_t bytes = 0;
    for (const hs__lease *lease = pool->leases; lease; lease = lease->next)
        for (int32_t i = 0; i < 2 * pool->p; i++) bytes += lease->scratch.buffer[i].bytes;
    return bytes;
}

/* Memory of a run is kept up to a size, and freed on request. */
static void kept_and_trimmed(void)
{
    hs_pool *pool = NULL;
    hs__lease *lease;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    CHECK(hs__pool_lock(pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK);
    CHECK(hs__pool_scratch(lease, HS__PANELS, 1, HS__KEPT + 1) &&
          hs__pool_scratch(lease, HS__BLOCKS, 0, 1000));
    CHECK(hs__pool_scratch(lease, HS__PANELS, 1, 0) != NULL);
    hs__pool_unlock(lease);
    CHECK(kept_bytes(pool) == 1000);
    CHECK(hs_pool_trim(pool) == HS_OK && kept_bytes(pool) == 0);
    CHECK(hs_pool_trim(NULL) == HS_ERROR_VALUE);
    double c[N * N];
    CHECK(multiply_ones(pool, c) == HS_OK && kept_bytes(pool) > 0);
    hs_pool_destroy(pool);
}

static size_t spare_bytes(const hs_pool *pool)
{
    size_t bytes = 0;
    for (int i = 0; i < 4; i++) bytes += pool->spares.of[i].memory.bytes;
    return bytes;
}

/* Memory that a call takes without a lease is also kept up to a size, and freed on request. */
static void spares_kept_and_trimmed(void)
{
    enum { BYTES = 100000 };
    hs_pool *pool = NULL;
    hs__memory used[6];
    if (!CHECK(hs_pool_create(1, NULL, &pool) == HS_OK)) return;
    CHECK(hs__pool_take_memory(pool, SIZE_MAX).data == NULL);
    hs__pool_keep_memory(pool, (hs__memory){NULL, 5});
    hs__pool_keep_memory(pool, hs__pool_take_memory(pool, HS__KEPT + 1));
    CHECK(spare_bytes(pool) == 0);

    const hs__memory first = hs__pool_take_memory(pool, BYTES);
    CHECK(first.bytes == BYTES && (uintptr_t)first.data % 4096 == 0);
    memset(first.data, 1, BYTES);
    hs__pool_keep_memory(pool, first);
    const hs__memory less =
        hs__pool_take_memory(pool, BYTES / 4 - 1); /* too small for the block that is kept */
    const hs__memory more = hs__pool_take_memory(pool, BYTES + 1);
    CHECK(less.data != first.data && less.bytes == BYTES / 4 - 1);
    CHECK(more.data != first.data && more.bytes == BYTES + 1);
    const hs__memory again = hs__pool_take_memory(pool, BYTES / 4);
    CHECK(again.data == first.data && again.bytes == BYTES);
    hs__pool_keep_memory(pool, less);
    hs__pool_keep_memory(pool, more);
    hs__pool_keep_memory(pool, again);
    CHECK(spare_bytes(pool) == less.bytes + more.bytes + again.bytes);
    CHECK(hs_pool_trim(pool) == HS_OK && spare_bytes(pool) == 0);

    /* the largest four are kept */
    for (size_t i = 0; i < 6; i++) used[i] = hs__pool_take_memory(pool, (i * 5 % 6 + 1) * BYTES);
    for (size_t i = 0; i < 6; i++) hs__pool_keep_memory(pool, used[i]);
    CHECK(spare_bytes(pool) == (3 + 4 + 5 + 6) * BYTES);
    hs_pool_destroy(pool);
}

/* Signal handler that stops a helper until may_go_on is set, for at most about 5 seconds, as if
 * another program had its core. */
static atomic_int may_go_on, stopped;
static void stop_here(int number)
{
    (void)number;
    atomic_store(&stopped, 1);
    for (int i = 0; i < 5000 && !atomic_load(&may_go_on); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&stopped, 0);
}

static void one_does_all(void *job, int32_t worker, int is_caller)
{
    atomic_fetch_add((atomic_int *)job, worker == 0 && !is_caller);
}

/* The caller is on none of the pool's cores, and so does no part of the work. It does not wait for
 * a helper that does not come, either. */
static inline void without_a_caller(void)
{
    const int32_t elsewhere[] = {4000, 4001}; /* may not exist: the helpers are unpinned then */
    hs_pool *pool = NULL;
    hs__lease *lease;
    struct sigaction stop = {.sa_handler = stop_here}, before;
    if (!CHECK(hs_pool_create(2, elsewhere, &pool) == HS_OK)) return;
    sigaction(SIGILL, &stop, &before);
    /* The helper must not hold the lock of its signal when it is stopped, so it is asleep. */
    while (!atomic_load(&pool->helpers[1].wake.asleep)) sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    pthread_kill(pool->helpers[1].thread, SIGILL); /* a signal that helpers do not block */
    while (!atomic_load(&stopped)) sched_yield();
    atomic_int done = 0;
    CHECK(hs__pool_lock(pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK);
    hs__pool_run(lease, HS__SHARED, one_does_all, NULL, &done, NULL);
    hs__pool_unlock(lease);
    CHECK(atomic_load(&done) == 1 && atomic_load(&stopped));
    atomic_store(&may_go_on, 1);
    hs_pool_destroy(pool);
    sigaction(SIGILL, &before, NULL);
}

#ifdef HS_TEST_SCARCE
static int32_t threads_left = -1; /* threads that the system still starts; -1: any number */
static int32_t threads_joined;    /* atomic */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument)
{
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    return __real_pthread_create(thread, attributes, begin, argument);
}
int __wrap_pthread_join(pthread_t thread, void **result)
{
    __atomic_add_fetch(&threads_joined, 1, __ATOMIC_RELAXED);
    return __real_pthread_join(thread, result);
}

/* The system refuses a thread. The pool ends its other threads, and the caller's signal mask is
 * restored. */
static void threads_refused(void)
{
    enum { P = 4 };
    const int32_t cores[P] = {0};
    for (int32_t some = 0; some < P; some++)
        for (int pinned = 0; pinned < 2; pinned++) {
            hs_pool *pool = NULL;
            sigset_t before, after;
            pthread_sigmask(SIG_SETMASK, NULL, &before);
            threads_left = some;
            threads_joined = 0;
            CHECK(hs_pool_create(P, pinned ? cores : NULL, &pool) == HS_ERROR_THREAD);
            threads_left = -1;
            CHECK(pool == NULL && threads_joined == some);
            pthread_sigmask(SIG_SETMASK, NULL, &after);
            for (int signal = 1; signal < 32; signal++)
                CHECK(sigismember(&before, signal) == sigismember(&after, signal));
        }
}

/* Not even one thread can be started: the caller is the only worker, and waits for no other one. */
static void no_thread_at_all(void)
{
    const int32_t core = 0;
    for (int pinned = 0; pinned < 2; pinned++) {
        hs_pool *pool = NULL;
        double c[N * N];
        threads_left = 0;
        threads_joined = 0;
        if (!CHECK(hs_pool_create(1, pinned ? &core : NULL, &pool) == HS_OK)) continue;
        CHECK(!hs__pool_has_threads(pool));
        for (int round = 0; round < 3; round++)
            CHECK(multiply_ones(pool, c) == HS_OK && c[N + 1] == N && !hs_pool_is_inside(pool));
        double time, elapsed, busy;
        int32_t count, batch;
        hs_measurement what = {.dtype = HS_FLOAT64, .size = 8, .worker = -1, .capacity = 1};
        what.least = 1;
        what.times = &time;
        what.count = &count;
        what.batch = &batch;
        what.elapsed = &elapsed;
        what.busy = &busy;
        /* The caller would be beside the worker. */
        CHECK(hs_measure_kernel(pool, &what, NULL, NULL) == HS_ERROR_THREAD);
        hs_pool_destroy(pool);
        threads_left = -1;
        CHECK(threads_joined == 0);
    }
}
#endif

int main(void)
{
    for (int i = 0; i < N * N; i++) x[i] = 1;
#ifdef HS_TEST_SCARCE
    threads_refused();
    no_thread_at_all();
#endif
    crowded();
    a_fresh_pool_has_no_caller();
    without_threads();
    checked_before_locked();
    kept_and_trimmed();
    spares_kept_and_trimmed();
#if defined(__linux__)
    without_a_caller();
#endif
    for (int round = 0; round < 10; round++) destroyed_with_threads_queued();
    claimed();
    claimed_from_within();
    claimed_by_a_thread_that_ended();
#ifndef __SANITIZE_THREAD__ /* which does not support threads after a fork */
    forked_inside_a_run();
#endif

    hs_pool *pool = NULL;
    const int32_t negative[] = {0, -1};
    CHECK(hs_pool_create(0, NULL, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create(5000, NULL, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create(2, negative, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create(2, NULL, NULL) == HS_ERROR_VALUE);
    CHECK(pool == NULL);
    hs_pool_destroy(NULL);

    for (int32_t p = 1; p <= 9; p++) { /* never used, then used */
        CHECK(hs_pool_create(p, NULL, &pool) == HS_OK);
        hs_pool_destroy(pool);
        CHECK(hs_pool_create(p, NULL, &pool) == HS_OK);
        double c[N * N];
        CHECK(multiply_ones(pool, c) == HS_OK && c[N + 1] == N);
        hs_pool_destroy(pool);
        pool = NULL;
    }

    CHECK_SCARCE(hs_pool_create(3, NULL, &pool), pool == NULL);
    hs_pool_destroy(pool);
    pool = NULL;
    CHECK_SCARCE(hs_pool_create(2, (const int32_t[]){0, 0}, &pool), pool == NULL);
    hs_pool_destroy(pool);

    const int32_t cores[] = {0, 1, 4000}; /* may not exist: the helpers are unpinned then */
    CHECK(hs_pool_create(3, cores, &pool) == HS_OK);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, many_products, pool) == 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
    hs_pool_destroy(pool);
    return check_result();
}
