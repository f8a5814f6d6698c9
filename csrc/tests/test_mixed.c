/* Sixteen threads that make calls of all kinds on one pool at the same time, some of which are
 * cancelled, while its memory is freed and its workers move between sites: each call that is not
 * cancelled has the bits that it has alone. The clock is fast, so that the pool asks poll functions
 * and looks for preempted workers within short calls. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "hetsched.h"
#include "machine_root.h"
#include "threads/load.h"
#include "threads/pool_state.h"

enum { CALLERS = 16, MOST = 130, SIZES = 5 };

static const int64_t sizes[SIZES] = {MOST, 1, 65, 12, 101};

#ifdef HS_TEST_FAST /* the linker's --wrap redirects hs_clock to this function */
double __real_hs_clock(void);
double __wrap_hs_clock(void);
double __wrap_hs_clock(void) { return 1000.0 * __real_hs_clock(); }
#endif

/* ---- calls ----------------------------------------------------------------------------------- */

/* Operands and results of one call of order n. `matrix` is factored in place. */
typedef struct {
    int64_t n;
    double a[MOST * MOST], b[MOST * MOST], matrix[MOST * MOST], c[MOST * MOST];
    double tau[MOST];
    int32_t pivots[MOST];
} operands;

/* a is diagonally dominant, and its lower triangle is that of a positive definite matrix. */
static void fill(operands *x, int64_t n)
{
    unsigned seed = (unsigned)n;
    memset(x, 0, sizeof *x);
    x->n = n;
    for (int64_t i = 0; i < n * n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x->a[i] = (double)(seed >> 8) / (1 << 24) - 0.5;
        x->b[i] = (double)(seed >> 12) / (1 << 20) - 0.5;
    }
    for (int64_t i = 0; i < n; i++) x->a[i * n + i] += (double)n;
    memcpy(x->matrix, x->a, sizeof x->a);
}

/* How a call may be cancelled: at the poll with this number, counted from 1; 0: never. */
typedef struct {
    int at, polls;
} cancel;

static int count_poll(void *context, double fraction)
{
    cancel *x = context;
    (void)fraction;
    return ++x->polls == x->at;
}

static hs_product product_of(operands *x)
{
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, x->n, x->n, x->n, x->a, x->b, x->c);
    return product;
}

static hs_status multiply(hs_pool *pool, operands *x, cancel *stop)
{
    const hs_product product = product_of(x);
    return hs_gemm(pool, &product, NULL, count_poll, stop);
}

static hs_status multiply_vector(hs_pool *pool, operands *x, cancel *stop)
{
    hs_product product = product_of(x);
    product.n = 1;
    return hs_gemm(pool, &product, NULL, count_poll, stop);
}

/* By zones, which need each worker, and so the whole pool. */
static hs_status multiply_zones(hs_pool *pool, operands *x, cancel *stop)
{
    const hs_product product = product_of(x);
    const hs_options options = {.poll = count_poll, .poll_context = stop};
    const int64_t half = x->n / 2;
    const hs_box zones[] = {
        {.worker = hs__pool_size(pool) - 1, .height = half, .width = x->n, .length = x->n},
        {.worker = 0, .row = half, .height = x->n - half, .width = x->n, .length = x->n}};
    const hs_boxes boxes = {.box = zones, .count = 2};
    return hs_run_product(pool, &product, &boxes, &options, NULL);
}

static hs_status multiply_stack(hs_pool *pool, operands *x, cancel *stop)
{
    const int64_t n = x->n / 5;
    const int64_t count = n ? 25 : 0;
    const int64_t step = n * n;
    const hs_options options = {.poll = count_poll, .poll_context = stop};
    hs_product item = product_of(x);
    item.m = item.n = item.k = n;
    item.a_row_stride = item.b_row_stride = item.c_row_stride = n;
    const hs_stack stack = {.operation = HS_STACK_MULTIPLY,
                            .rank = 1,
                            .size = &count,
                            .a_steps = &step,
                            .b_steps = &step,
                            .c_steps = &step,
                            .item = item};
    return hs_run_stack(pool, &stack, NULL, &options, NULL);
}

static hs_status run_factor(hs_pool *pool, operands *x, int32_t kind, hs_factor *factor,
                            cancel *stop)
{
    const hs_options options = {.poll = count_poll, .poll_context = stop};
    hs_factor_default(factor, kind, HS_FLOAT64, x->n, x->n, x->matrix);
    factor->cooperative = 1;
    if (kind == HS_LU) factor->pivots = x->pivots;
    if (kind == HS_QR) factor->tau = x->tau;
    return hs_run_factor(pool, factor, &options, NULL);
}

static hs_status solve(hs_pool *pool, operands *x, cancel *stop)
{
    hs_factor lu;
    const hs_status status = run_factor(pool, x, HS_LU, &lu, stop);
    if (status) return status;
    return hs_lu_solve(pool, &lu, 0, x->n, x->b, 1, x->n, count_poll, stop);
}

static hs_status invert(hs_pool *pool, operands *x, cancel *stop)
{
    hs_factor lu;
    const hs_status status = run_factor(pool, x, HS_LU, &lu, stop);
    if (status) return status;
    return hs_lu_inverse(pool, &lu, x->c, 1, x->n, count_poll, stop);
}

static hs_status factor_cholesky(hs_pool *pool, operands *x, cancel *stop)
{
    hs_factor cholesky;
    const hs_status status = run_factor(pool, x, HS_CHOLESKY, &cholesky, stop);
    const hs_triangular system = {.dtype = HS_FLOAT64,
                                  .n = x->n,
                                  .cols = x->n,
                                  .t = x->matrix,
                                  .t_row_stride = 1,
                                  .t_col_stride = x->n,
                                  .b = x->b,
                                  .b_row_stride = 1,
                                  .b_col_stride = x->n};
    if (status) return status;
    return hs_solve_triangular(pool, &system, count_poll, stop);
}

static hs_status factor_qr(hs_pool *pool, operands *x, cancel *stop)
{
    hs_factor qr;
    const hs_status status = run_factor(pool, x, HS_QR, &qr, stop);
    if (status) return status;
    return hs_qr_multiply(pool, &qr, 0, 1, x->n, x->c, 1, x->n, count_poll, stop);
}

/* Frees the pool's memory, which the product then needs again. */
static hs_status trim_and_multiply(hs_pool *pool, operands *x, cancel *stop)
{
    const hs_status status = hs_pool_trim(pool);
    if (status) return status;
    return multiply(pool, x, stop);
}

typedef hs_status a_call(hs_pool *pool, operands *x, cancel *stop);
static a_call *const calls[] = {multiply,       multiply_vector,   multiply_zones,
                                solve,          factor_cholesky,   factor_qr,
                                multiply_stack, trim_and_multiply, invert};
enum { KINDS = sizeof calls / sizeof *calls };

/* The results of the calls alone. */
static operands expected[KINDS][SIZES];

static void compute_expected(int32_t workers)
{
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(workers, NULL, &pool) == HS_OK)) return;
    CHECK(hs_pool_set_deterministic(pool, 1) == HS_OK);
    for (int kind = 0; kind < KINDS; kind++)
        for (int size = 0; size < SIZES; size++) {
            cancel never = {0, 0};
            fill(&expected[kind][size], sizes[size]);
            CHECK(calls[kind](pool, &expected[kind][size], &never) == HS_OK);
        }
    hs_pool_destroy(pool);
}

/* ---- callers --------------------------------------------------------------------------------- */

typedef struct {
    hs_pool *pool;
    unsigned random;
    int wrong, cancelled;
    operands own;
} caller;

static unsigned draw(caller *self, unsigned below)
{
    self->random = self->random * 1664525u + 1013904223u;
    return (self->random >> 8) % below;
}

/* Makes one call. It may be cancelled only by its poll function, and is made again then. */
static void make_call(caller *self)
{
    const unsigned kind = draw(self, KINDS);
    const unsigned size = draw(self, SIZES);
    cancel stop = {(int)draw(self, 3), 0};
    fill(&self->own, sizes[size]);
    hs_status status = calls[kind](self->pool, &self->own, &stop);
    if (status == HS_ERROR_CANCELLED) {
        self->wrong += !stop.at || stop.polls < stop.at;
        self->cancelled++;
        stop = (cancel){0, 0};
        fill(&self->own, sizes[size]);
        status = calls[kind](self->pool, &self->own, &stop);
    }
    self->wrong += status != HS_OK;
    self->wrong += memcmp(&self->own, &expected[kind][size], sizeof self->own) != 0;
}

static caller callers[CALLERS];
static atomic_int ended; /* callers */

static void *make_calls(void *context)
{
    for (int round = 0; round < CHECK_MANY(60, 3); round++) make_call(context);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

/* Runs all callers on a pool; meanwhile changes what it may, as often as it can. Returns how many
 * calls were cancelled. */
static int run_callers(hs_pool *pool, void (*change)(hs_pool *pool))
{
    pthread_t threads[CALLERS];
    int cancelled = 0;
    atomic_store(&ended, 0);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].pool = pool;
        callers[i].random = i;
        callers[i].wrong = callers[i].cancelled = 0;
        if (!CHECK(pthread_create(&threads[i], NULL, make_calls, &callers[i]) == 0)) return 0;
    }
    while (change && atomic_load(&ended) < CALLERS) change(pool);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(callers[i].wrong == 0);
        cancelled += callers[i].cancelled;
    }
    CHECK(!atomic_load(&pool->busy) && !atomic_load(&pool->turns) && !atomic_load(&pool->callers));
    return cancelled;
}

static void test_pool(int32_t workers, const int32_t *cores)
{
    hs_pool *pool = NULL;
    compute_expected(workers);
    if (!CHECK(hs_pool_create(workers, cores, &pool) == HS_OK)) return;
    CHECK(hs_pool_set_deterministic(pool, 1) == HS_OK);
    const int cancelled = run_callers(pool, NULL);
#ifdef HS_TEST_FAST
    CHECK(cancelled > 0);
#else
    (void)cancelled;
#endif
    hs_pool_destroy(pool);
}

/* ---- workers that move ----------------------------------------------------------------------- */

#if defined(__linux__)

static int32_t cpus[2];
static unsigned ticks[2];
static double load_time;
static int site, moves;

/* Writes that one of two cpus has been busy since the last time, and the other one idle. */
static void write_ticks(int busy)
{
    char text[128];
    ticks[busy] += 1000;
    const unsigned all = ticks[0] + ticks[1];
    snprintf(text, sizeof text, "cpu%d %u 0 0 %u 0\ncpu%d %u 0 0 %u 0\n", (int)cpus[0], ticks[0],
             all - ticks[0], (int)cpus[1], ticks[1], all - ticks[1]);
    write_file("proc/stat", text);
}

/* Takes a sample of the load in which that cpu has been busy since the last one. The samples lie in
 * the far future, so that no call takes one. */
static void load_cpu(int busy)
{
    write_ticks(busy);
    load_time += 1e12;
    while (hs__load_free(hs__machine_load(), load_time, &(hs__cpus){0}, HS__ALL_USERS, -1.0) < 0.0)
        sched_yield();
}

/* Other programs take the cpu of the workers, which the next call sees. */
static void chase_workers(hs_pool *pool)
{
    const int now = atomic_load(&pool->sites.site_of[0]);
    moves += now != site;
    site = now;
    load_cpu(now);
    atomic_store(&pool->sites.next, 0.0);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_sites(int32_t workers)
{
    const hs_site apart[2] = {{1, cpus, workers, 0}, {1, cpus + 1, workers, 0}};
    const int32_t first[1] = {0};
    hs_pool *pool = NULL;
    compute_expected(workers);
    if (!CHECK(hs_pool_create(workers, NULL, &pool) == HS_OK)) return;
    CHECK(hs_pool_set_deterministic(pool, 1) == HS_OK);
    CHECK(hs_pool_bind(pool, 2, apart, first) == HS_OK);
    site = moves = 0;
    run_callers(pool, chase_workers);
    CHECK(moves > 0);
    hs_pool_destroy(pool);
}

/* Two cpus of the mask. Returns 0 if there is but one. */
static int find_two(void)
{
    hs__cpus mask;
    int found = 0;
    if (!CHECK(hs__cpus_of(pthread_self(), &mask))) return 0;
    for (int32_t cpu = 0; cpu < hs__cpus_end(&mask) && found < 2; cpu++)
        if (hs__cpus_have(&mask, cpu)) cpus[found++] = cpu;
    free(mask.set);
    return found == 2;
}

static void test_moves(void)
{
    if (!find_two() || !make_root()) return;
    write_ticks(0);
    hs__machine_load()->root = root;
    hs__machine_load()->count = 0;
    hs__load_start(hs__machine_load(), load_time);
    load_cpu(0);
    for (int32_t workers = 1; workers <= CHECK_MANY(4, 2); workers++) test_sites(workers);
    remove_root();
}

#endif

int main(void)
{
    test_pool(1, NULL);
    test_pool(2, NULL);
    test_pool(3, (const int32_t[]){0, 1, 4000});
    test_pool(4, NULL);
#if defined(__linux__)
    test_moves();
#endif
    return check_result();
}
