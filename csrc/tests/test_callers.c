/* Several threads that use one pool at the same time: each call has the bits that it has
 * alone, jobs that need the whole pool have it, and no caller waits for another shared job. */
#include "threads/pool_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { MOST = 160, CALLERS = 6, KINDS = 6 };

static void fill(double *x, int64_t count, unsigned seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (double)(seed >> 8) / (1 << 24) - 0.5;
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The operands and the result of one call of order n. */
typedef struct {
    int64_t n;
    double *a, *b, *c;
    int32_t pivots[MOST];
} operands;

static int open_operands(operands *x, int64_t n, unsigned seed)
{
    const size_t count = (size_t)(n * n);
    *x = (operands){.n = n};
    x->a = malloc(count * sizeof *x->a);
    x->b = malloc(count * sizeof *x->b);
    x->c = calloc(count, sizeof *x->c);
    if (!x->a || !x->b || !x->c) return 0;
    fill(x->a, n * n, seed);
    fill(x->b, n * n, seed + 1);
    for (int64_t i = 0; i < n; i++) x->a[i * n + i] += (double)n;
    return 1;
}

static void close_operands(operands *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
}

static hs_product product_of(const operands *x)
{
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, x->n, x->n, x->n, x->a, x->b, x->c);
    return product;
}

static hs_status multiply(hs_pool *pool, operands *x)
{
    const hs_product product = product_of(x);
    return hs_gemm(pool, &product, NULL, NULL, NULL);
}

/* By zones, which need each worker. */
static hs_status multiply_zones(hs_pool *pool, operands *x)
{
    const hs_product product = product_of(x);
    const int64_t half = x->n / 2;
    const hs_box zones[] = {
        {.worker = hs__pool_size(pool) - 1, .height = half, .width = x->n, .length = x->n},
        {.worker = 0, .row = half, .height = x->n - half, .width = x->n, .length = x->n}};
    const hs_boxes boxes = {.box = zones, .count = 2};
    return hs_run_product(pool, &product, &boxes, NULL, NULL);
}

static hs_status multiply_vector(hs_pool *pool, operands *x)
{
    hs_product product = product_of(x);
    product.n = 1;
    return hs_gemm(pool, &product, NULL, NULL, NULL);
}

static hs_factor factor_of(operands *x, int32_t kind)
{
    hs_factor factor;
    hs_factor_default(&factor, kind, HS_FLOAT64, x->n, x->n, x->c);
    factor.a = x->a;
    factor.a_row_stride = 1;
    factor.a_col_stride = x->n;
    factor.pivots = x->pivots;
    factor.cooperative = 1;
    return factor;
}

static hs_status solve(hs_pool *pool, operands *x)
{
    hs_factor lu = factor_of(x, HS_LU);
    const hs_status status = hs_run_factor(pool, &lu, NULL, NULL);
    if (status) return status;
    return hs_lu_solve(pool, &lu, 0, x->n, x->b, x->n, 1, NULL, NULL);
}

static hs_status factor_qr(hs_pool *pool, operands *x)
{
    double tau[MOST];
    hs_factor qr = factor_of(x, HS_QR);
    qr.tau = tau;
    return hs_run_factor(pool, &qr, NULL, NULL);
}

static hs_status multiply_stack(hs_pool *pool, operands *x)
{
    const int64_t n = x->n / 8;
    hs_product item = product_of(x);
    item.m = item.n = item.k = n;
    item.a_row_stride = item.b_row_stride = item.c_row_stride = n;
    const int64_t count = n ? 60 : 0;
    const int64_t step = n * n;
    const hs_stack stack = {.operation = HS_STACK_MULTIPLY,
                            .rank = 1,
                            .size = &count,
                            .a_steps = &step,
                            .b_steps = &step,
                            .c_steps = &step,
                            .item = item};
    return hs_run_stack(pool, &stack, NULL, NULL, NULL);
}

typedef hs_status a_call(hs_pool *pool, operands *x);
static a_call *const calls[KINDS] = {multiply, multiply_zones, multiply_vector,
                                     solve,    factor_qr,      multiply_stack};

/* ---- many callers ---------------------------------------------------------------------------- */

typedef struct {
    hs_pool *pool;
    int number, wrong;
} caller;

/* Makes all calls and compares their results with the results of the call alone. */
static void *make_calls(void *context)
{
    caller *self = context;
    for (int round = 0; round < CHECK_MANY(12, 2); round++)
        for (int kind = 0; kind < KINDS; kind++) {
            static const int64_t sizes[] = {MOST, 1, 65, 0, 40, 121};
            const int64_t n = sizes[(round + kind + self->number) % 6];
            a_call *const call = calls[(kind + self->number) % KINDS];
            const unsigned seed = (unsigned)(100 * kind + self->number);
            operands own, alone;
            hs_pool *pool = NULL;
            if (!open_operands(&own, n, seed) || !open_operands(&alone, n, seed) ||
                hs_pool_create(hs__pool_size(self->pool), NULL, &pool) || call(pool, &alone) ||
                call(self->pool, &own))
                self->wrong++;
            const size_t bytes = (size_t)(n * n) * sizeof *own.c;
            self->wrong += memcmp(own.c, alone.c, bytes) != 0 || memcmp(own.b, alone.b, bytes) != 0;
            close_operands(&own);
            close_operands(&alone);
            hs_pool_destroy(pool);
        }
    return NULL;
}

static void many_callers(int32_t workers, const int32_t *cores)
{
    hs_pool *pool = NULL;
    pthread_t threads[CALLERS];
    caller callers[CALLERS];
    if (!CHECK(hs_pool_create(workers, cores, &pool) == HS_OK)) return;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){pool, i, 0};
        if (!CHECK(pthread_create(&threads[i], NULL, make_calls, &callers[i]) == 0)) return;
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(callers[i].wrong == 0);
    }
    CHECK(atomic_load(&pool->busy) == 0 && atomic_load(&pool->turns) == 0 &&
          atomic_load(&pool->callers) == 0);
    for (const hs__lease *lease = pool->leases; lease; lease = lease->next) {
        CHECK(!atomic_load(&lease->in_use) && !atomic_load(&lease->remaining));
        for (int32_t w = 0; w < workers; w++) CHECK(!atomic_load(&lease->offers[w].open));
    }
    hs_pool_destroy(pool);
}

/* ---- a job that does not end ----------------------------------------------------------------- */

typedef struct {
    hs_pool *pool;
    atomic_int begun, may_end; /* begun: parts */
} endless;

static void wait_for_the_end(void *job, int32_t worker, int is_caller)
{
    endless *x = job;
    (void)worker;
    (void)is_caller;
    atomic_fetch_add(&x->begun, 1);
    while (!atomic_load(&x->may_end)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void *run_endless(void *context)
{
    endless *x = context;
    hs__lease *lease;
    if (hs__pool_lock(x->pool, HS__TOGETHER, NULL, NULL, &lease)) return NULL;
    hs__pool_run(lease, HS__SHARED, wait_for_the_end, NULL, x, NULL);
    hs__pool_unlock(lease);
    return NULL;
}

static void *trim(void *pool) { return hs_pool_trim(pool) == HS_OK ? NULL : pool; }

/* All workers are in a job that does not end. Other callers do their jobs by themselves. A call
 * that needs the whole pool waits, and later callers wait behind it. */
static void beside_an_endless_job(void)
{
    endless x = {NULL, 0, 0};
    pthread_t thread, last;
    void *refused = NULL;
    operands own;
    if (!CHECK(hs_pool_create(2, NULL, &x.pool) == HS_OK) || !CHECK(open_operands(&own, MOST, 5)) ||
        !CHECK(pthread_create(&thread, NULL, run_endless, &x) == 0))
        return;
    while (atomic_load(&x.begun) < 2) sched_yield();
    for (int kind = 0; kind < KINDS; kind++)
        if (calls[kind] != multiply_zones) CHECK(calls[kind](x.pool, &own) == HS_OK);
    if (!CHECK(pthread_create(&last, NULL, trim, x.pool) == 0)) return;
    while (!atomic_load(&x.pool->exclusives)) sched_yield();
    CHECK(atomic_load(&x.pool->turns) == 1);
    atomic_store(&x.may_end, 1);
    pthread_join(thread, NULL);
    pthread_join(last, &refused);
    CHECK(!refused && multiply_zones(x.pool, &own) == HS_OK);
    close_operands(&own);
    hs_pool_destroy(x.pool);
}

/* ---- helpers that become free ---------------------------------------------------------------- */

typedef struct {
    hs_pool *pool;
    pthread_t thread;
    endless other; /* the job of another caller */
    int32_t helped;
} crowded;

/* The caller's part goes on until a helper comes. */
static void wait_for_help(void *job, int32_t worker, int is_caller)
{
    crowded *x = job;
    (void)worker;
    if (!is_caller) {
        __atomic_store_n(&x->helped, 1, __ATOMIC_SEQ_CST);
        return;
    }
    atomic_store(&x->other.may_end, 1);
    while (!__atomic_load_n(&x->helped, __ATOMIC_SEQ_CST))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* A helper joins a job that began while enough other threads worked, once these have ended. */
static void helped_later(void)
{
    crowded x = {0};
    hs__lease *lease;
    if (!CHECK(hs_pool_create(2, NULL, &x.pool) == HS_OK)) return;
    x.other.pool = x.pool;
    if (!CHECK(pthread_create(&x.thread, NULL, run_endless, &x.other) == 0)) return;
    while (atomic_load(&x.other.begun) < 2) sched_yield();
    CHECK(hs__pool_lock(x.pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK);
    CHECK(!hs__lease_was_alone(lease));
    hs__pool_run(lease, HS__SHARED, wait_for_help, NULL, &x, NULL);
    hs__pool_unlock(lease);
    CHECK(x.helped);
    pthread_join(x.thread, NULL);
    CHECK(hs__pool_lock(x.pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK);
    CHECK(hs__lease_was_alone(lease));
    hs__pool_unlock(lease);
    hs_pool_destroy(x.pool);
}

/* ---- callers on cores of no worker ----------------------------------------------------------- */

static void do_nothing(void *job, int32_t worker, int is_caller)
{
    (void)job;
    (void)worker;
    (void)is_caller;
}

typedef struct {
    hs_pool *pool;
    endless job;
    atomic_int ended;
} outsider;

static void *run_outside(void *context)
{
    outsider *x = context;
    hs__lease *lease;
    if (hs__pool_lock(x->pool, HS__TOGETHER, NULL, NULL, &lease)) return NULL;
    hs__pool_run(lease, HS__SHARED, x->job.pool ? wait_for_the_end : do_nothing, NULL, &x->job,
                 NULL);
    hs__pool_unlock(lease);
    atomic_store(&x->ended, 1);
    return NULL;
}

static int has_caller_at(const hs_pool *pool, int32_t worker)
{
    for (const hs__lease *lease = atomic_load(&pool->leases); lease; lease = lease->next)
        if (atomic_load(&lease->in_use) && atomic_load(&lease->own) == worker) return 1;
    return 0;
}

static int is_offered(const hs_pool *pool)
{
    for (const hs__lease *lease = atomic_load(&pool->leases); lease; lease = lease->next)
        for (int32_t w = 0; w < pool->p; w++)
            if (atomic_load(&lease->offers[w].open)) return 1;
    return 0;
}

/* The first caller leaves everything to the helpers, as it has a core of its own. Before they come,
 * other callers begin. */
static void helpers_that_come_last(void)
{
    outsider first = {0};
    outsider others[2] = {0};
    pthread_t thread, other[2];
    hs_pool *pool = NULL;
    hs__lease *lease;
    /* cores that do not exist: no caller is on one of them */
    if (!CHECK(hs_pool_create(2, (const int32_t[]){4000, 4001}, &pool) == HS_OK)) return;
    first.pool = pool;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* the helpers sleep */
    for (int w = 0; w < 2; w++) pthread_mutex_lock(&pool->helpers[w].wake.lock);
    if (!CHECK(pthread_create(&thread, NULL, run_outside, &first) == 0)) return;
    while (!is_offered(pool)) sched_yield();
    CHECK(hs__pool_lock(pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK);
    CHECK(!hs__lease_was_alone(lease));
    for (int i = 0; i < 2; i++) {
        others[i].pool = others[i].job.pool = pool;
        if (!CHECK(pthread_create(&other[i], NULL, run_outside, &others[i]) == 0)) return;
    }
    for (int i = 0; i < 1000 && !(has_caller_at(pool, 0) && has_caller_at(pool, 1)); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int w = 0; w < 2; w++) pthread_mutex_unlock(&pool->helpers[w].wake.lock);
    hs__pool_unlock(lease);
    for (int i = 0; i < 2000 && !atomic_load(&first.ended); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK(atomic_load(&first.ended)); /* it does not wait for the jobs of the others */
    for (int i = 0; i < 2; i++) atomic_store(&others[i].job.may_end, 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
    hs_pool_destroy(pool);
}

/* ---- a poll that calls the pool -------------------------------------------------------------- */

typedef struct {
    hs_pool *pool;
    operands own;
    atomic_int polls;
    hs_status status;
} nested;

/* Ends the job in the way, then makes a call of the other kind. */
static int call_while_waiting(void *context, double fraction)
{
    nested *x = context;
    (void)fraction;
    if (!atomic_fetch_add(&x->polls, 1)) x->status = multiply(x->pool, &x->own);
    return 0;
}

static void *wait_and_poll(void *context)
{
    nested *x = context;
    hs__lease *lease;
    if (hs__pool_lock(x->pool, HS__EXCLUSIVE, call_while_waiting, x, &lease)) return NULL;
    hs__pool_unlock(lease);
    return x;
}

/* A poll function of a call that waits may make a call of its own. */
static void poll_that_calls(void)
{
    nested x = {.status = HS_ERROR_VALUE};
    pthread_t thread;
    hs__lease *lease;
    void *done = NULL;
    if (!CHECK(hs_pool_create(2, NULL, &x.pool) == HS_OK) || !CHECK(open_operands(&x.own, MOST, 7)))
        return;
    CHECK(hs__pool_lock(x.pool, HS__TOGETHER, NULL, NULL, &lease) == HS_OK);
    if (!CHECK(pthread_create(&thread, NULL, wait_and_poll, &x) == 0)) return;
    while (!atomic_load(&x.polls)) sched_yield();
    hs__pool_unlock(lease);
    pthread_join(thread, &done);
    CHECK(done == &x && x.status == HS_OK);
    close_operands(&x.own);
    hs_pool_destroy(x.pool);
}

int main(void)
{
    many_callers(1, NULL);
    many_callers(2, NULL);
    many_callers(3, (const int32_t[]){0, 1, 4000});
    beside_an_endless_job();
    helped_later();
    helpers_that_come_last();
    poll_that_calls();
    return check_result();
}
