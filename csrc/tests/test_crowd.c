/* Crowded pools: verdicts for given times, and what an elastic pool does about them. */
#include "threads/crowd.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "hetsched.h"
#include "run/phases.h"
#include "threads/pool_state.h"

enum { WORKERS = 3 };

typedef struct {
    hs__crowd crowd;
    hs__crowd_sample sample[WORKERS];
} some_crowd;

static hs__crowd *start(some_crowd *some)
{
    memset(some, 0, sizeof *some);
    some->crowd.p = WORKERS;
    some->crowd.sample = some->sample;
    return &some->crowd;
}

/* Samples of workers 0, 1, ... at a time: shares of the time that they waited; below 0: none. */
static int judge(hs__crowd *crowd, double now, const double share[WORKERS])
{
    for (int32_t w = 0; w < WORKERS; w++)
        if (share[w] >= 0) hs__crowd_add(crowd, w, now, 1 - share[w], share[w]);
    return hs__crowd_judge_at(crowd, now);
}

/* The same for a sample of the caller alone. */
static int judge_caller(hs__crowd *crowd, double now, double share)
{
    hs__crowd_add(crowd, HS__CROWD_CALLER, now, 1 - share, share);
    return hs__crowd_judge_at(crowd, now);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void entering(void)
{
    some_crowd some;
    static const struct {
        double share[WORKERS];
        int crowded;
    } cases[] = {
        {{-1, -1, -1}, 0},       {{0.9, -1, -1}, 0}, /* one worker says nothing of the other cores */
        {{0.5, 0.5, -1}, 1},     {{0.5, 0.5, 0.5}, 1},    {{0.25, 0.5, -1}, 0},
        {{0, 0.9, -1}, 1},       {{0.3, 0.5, 0.3}, 0}, /* three busy programs on cores of six: 1/3 each */
        {{0.39, 0.39, 0.39}, 0}, {{0.41, 0.41, 0.41}, 1}, {{0, 0, 0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(judge(start(&some), 100, cases[i].share) == cases[i].crowded);

    /* samples of different times count together, but not for long */
    hs__crowd *crowd = start(&some);
    CHECK(!judge(crowd, 100, (double[]){0.5, -1, -1}));
    CHECK(judge(crowd, 100.1, (double[]){-1, 0.5, -1}));
    crowd = start(&some);
    CHECK(!judge(crowd, 100, (double[]){0.5, -1, -1}));
    CHECK(!judge(crowd, 100.3, (double[]){-1, 0.5, -1}));
}

static const double none[] = {-1, -1, -1}, all_wait[] = {0.5, 0.5, 0.5};
enum { FREE = 0 }; /* share of a caller with a core of its own */

static void leaving(void)
{
    some_crowd some;
    hs__crowd *crowd = start(&some);
    CHECK(judge(crowd, 100, all_wait));
    CHECK(judge_caller(crowd, 100.4, FREE)); /* too early */
    CHECK(judge_caller(crowd, 100.6, 0.4));
    CHECK(judge(crowd, 102, none));
    CHECK(!judge_caller(crowd, 103, FREE));
    CHECK(!judge(crowd, 103.01, none)); /* the samples from before are forgotten */

    /* It was wrong to leave: the next time takes twice as long, and so on up to 8 s. */
    double now = 103.02;
    for (double patience = 1; patience < 20; patience *= 2) {
        CHECK(judge(crowd, now, all_wait));
        const double expected = patience < 8 ? patience : 8;
        CHECK(judge_caller(crowd, now + expected - 0.01, FREE));
        CHECK(!judge_caller(crowd, now + expected + 0.01, FREE));
        now += expected + 0.02;
    }
    /* After a time without a crowd it begins anew. */
    CHECK(judge(crowd, now + 1, all_wait));
    CHECK(!judge_caller(crowd, now + 1.51, FREE));
}

static void guessing(void)
{
    some_crowd some;
    static const struct {
        const char *text;
        long cpus;
        int crowded;
    } cases[] = {
        {"0.00 0.01 0.05 1/300 1234\n", 2, 0},
        {"0.00 0.01 0.05 2/300 1234\n", 2, 1},
        {"9.00 9.01 9.05 3/300 1234\n", 2, 1},
        {"9.00 9.01 9.05 3/300 1234\n", 4, 0},
        {"9.00 9.01 9.05 4/300 1234\n", 4, 1},
        {"9.00 9.01 9.05 64/300 1\n", 64, 1},
        {"0.00 0.01 0.05 0/300 1234\n", 2, 0},
        {"0.00 0.01 0.05", 2, 0},
        {"", 2, 0},
        {"a b c d/e", 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hs__crowd *crowd = start(&some);
        hs__crowd_guess(crowd, cases[i].text, cases[i].cpus, 100);
        CHECK(judge_caller(crowd, 100.05, FREE) == cases[i].crowded);
        CHECK(judge_caller(crowd, 100.11, FREE) == 0); /* the caller has a core of its own */
        CHECK(judge(crowd, 100.2, none) == 0);
        hs__crowd_guess(crowd, "9 9 9 9/9", 2, 100.2);
        CHECK(judge(crowd, 100.2, none) == 1);
        hs__crowd_guess(crowd, cases[i].text, cases[i].cpus, 101); /* no samples in between */
        CHECK(judge(crowd, 101, none) == cases[i].crowded);
    }
}

static void deferring(void)
{
    some_crowd some;
    hs__crowd *crowd = start(&some);
    CHECK(judge(crowd, 100, all_wait));
    hs__crowd_defer(crowd, "2 2 2 2/300 1", 2, 100.1); /* a cpu is free */
    hs__crowd_defer(crowd, "", 2, 100.1);
    CHECK(crowd->patience == 0.5);
    double patience = 0.5;
    for (int i = 0; i < 6; i++) {
        hs__crowd_defer(crowd, "2 2 2 3/300 1", 2, 100.1);
        patience = patience < 8 ? 2 * patience : 8;
        CHECK(crowd->patience == patience);
    }
    CHECK(judge_caller(crowd, 107.9, FREE));
    CHECK(!judge_caller(crowd, 108.1, FREE));
    crowd = start(&some);
    CHECK(judge(crowd, 100, all_wait));
    hs__crowd_defer(crowd, "2 2 2 3/300 1", 2, 103); /* long after it was time */
    CHECK(crowd->patience == 6);
}

/* A caller alone is enough if it has 0.9 of what three workers have together. */
static void callers(void)
{
    static const double one_core[] = {0.7, 0.6, 0.7};
    some_crowd some;
    hs__crowd *crowd = start(&some);
    judge_caller(crowd, 100, FREE);
    CHECK(!hs__crowd_caller_is_enough(crowd, 100)); /* not crowded */
    CHECK(judge(crowd, 100.1, one_core));
    CHECK(crowd->ran == 0 && crowd->waited == 0);    /* what was before says nothing */
    CHECK(hs__crowd_caller_is_enough(crowd, 100.1)); /* it is tried */
    hs__crowd_add(crowd, HS__CROWD_CALLER, 100.2, 0.1, 0.1);
    CHECK(hs__crowd_caller_is_enough(crowd, 100.2)); /* for 0.3 s */
    hs__crowd_add(crowd, HS__CROWD_CALLER, 100.3, 0.1, 0.1);
    CHECK(!hs__crowd_caller_is_enough(crowd, 100.3));
    hs__crowd_add(crowd, HS__CROWD_CALLER, 108.2, 1, 0);
    CHECK(!hs__crowd_caller_is_enough(crowd, 108.2));
    CHECK(hs__crowd_caller_is_enough(crowd, 108.4)); /* after 8 s it is tried again */
    CHECK(crowd->ran == 0);
    CHECK(judge_caller(crowd, 109, 0.08));
    CHECK(hs__crowd_caller_is_enough(crowd, 109));
    CHECK(judge_caller(crowd, 116, 0.9));
    CHECK(hs__crowd_caller_is_enough(crowd, 116));    /* decided, until 117 */
    CHECK(!hs__crowd_caller_is_enough(crowd, 117.1)); /* one run with all workers */
    CHECK(hs__crowd_caller_is_enough(crowd, 117.2));  /* then it is tried again */

    /* of the times of callers the last second or so counts */
    hs__crowd_add(crowd, HS__CROWD_CALLER, 117.3, 4, 0);
    CHECK(crowd->ran == 1 && crowd->waited == 0);
    hs__crowd_add(crowd, HS__CROWD_CALLER, 117.4, 0, 1);
    CHECK(crowd->ran == 0.5 && crowd->waited == 0.5);

    /* Samples and guesses change what the workers have together. More than one core cannot be
     * enough, so it is not tried. */
    CHECK(fabs(crowd->together - 1) < 1e-15);
    CHECK(judge(crowd, 118, all_wait));
    CHECK(crowd->together == 1.5);
    CHECK(!hs__crowd_caller_is_enough(crowd, 118));
    static const struct {
        const char *text;
        long cpus;
        double together;
    } guesses[] = {
        {"9 9 9 2/300 1", 2, 3 * 2 / 4.0},
        {"9 9 9 4/300 1", 2, 3 * 2 / 6.0},
        {"9 9 9 64/300 1", 64, 3 * 64 / 66.0},
    };
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        hs__crowd_guess(crowd, guesses[i].text, guesses[i].cpus, 119);
        CHECK(fabs(crowd->together - guesses[i].together) < 1e-15);
        some_crowd other;
        hs__crowd_guess(start(&other), guesses[i].text, guesses[i].cpus, 119);
        CHECK(other.crowd.is_crowded && other.crowd.together == crowd->together);
    }
}

/* Without samples the load of this machine decides, except under a quota. */
static void asking_the_system(void)
{
    some_crowd some;
    hs__crowd *crowd = start(&some);
    CHECK(!hs__crowd_judge(crowd, 2.5));
    CHECK(crowd->guessed == 0);
    hs__crowd_judge(crowd, 3.0);
    const double guess = crowd->guessed;
    CHECK(guess > 0 && guess <= hs_clock());
    crowd->guessed = hs_clock();
    crowd->is_crowded = 1;
    CHECK(hs__crowd_judge(crowd, INFINITY) == 1); /* not again within 0.1 s */
    CHECK(hs__crowd_judge(crowd, 2.5) == 0);
}

/* ---- samples of this thread ------------------------------------------------------------------ */

static void sampling(void)
{
    some_crowd some;
    hs__crowd *crowd = start(&some);
    hs__crowd_sample_thread(crowd, 1);
    CHECK(some.sample[1].until == 0); /* nothing to compare with */
    if (access("/proc/thread-self/schedstat", R_OK)) return;
    const double before = hs_clock();
    /* a sample of a thread that had no core for long is left out */
    while (some.sample[1].until == 0 && hs_clock() < before + 60) hs__crowd_sample_thread(crowd, 1);
    CHECK(some.sample[1].until > before);
    CHECK(some.sample[1].share >= 0 && some.sample[1].share <= 1);
    CHECK(some.sample[0].until == 0 && some.sample[2].until == 0 && some.crowd.alone.until == 0);
}

static void compute_for(double seconds)
{
    for (const double until = hs_clock() + seconds; hs_clock() < until;) {}
}

/* A sample that follows a run with other workers says nothing of a caller alone. */
static void *sample_caller(void *context)
{
    hs__crowd *crowd = context;
    hs__crowd_sample_thread(crowd, HS__CROWD_CALLER);
    CHECK(crowd->alone.until == 0); /* nothing to compare with */
    if (access("/proc/thread-self/schedstat", R_OK)) return NULL;
    const double before = hs_clock();
    while (crowd->alone.until == 0 && hs_clock() < before + 60)
        hs__crowd_sample_thread(crowd, HS__CROWD_CALLER);
    const double first = crowd->alone.until;
    CHECK(first > before);
    hs__crowd_note_workers();
    compute_for(0.03);
    hs__crowd_sample_thread(crowd, HS__CROWD_CALLER);
    CHECK(crowd->alone.until == first);
    while (crowd->alone.until == first && hs_clock() < before + 60)
        hs__crowd_sample_thread(crowd, HS__CROWD_CALLER);
    CHECK(crowd->alone.until > first);
    /* a long sample counts if the thread wanted to run */
    const double second = crowd->alone.until;
    compute_for(0.5);
    hs__crowd_sample_thread(crowd, HS__CROWD_CALLER);
    CHECK(crowd->alone.until > second);
    usleep(500 * 1000);
    const double third = crowd->alone.until;
    hs__crowd_sample_thread(crowd, HS__CROWD_CALLER);
    CHECK(crowd->alone.until == third);
    return NULL;
}

static void sampling_callers(void)
{
    some_crowd some;
    pthread_t thread;
    hs__crowd *crowd = start(&some);
    const int started = !pthread_create(&thread, NULL, sample_caller, crowd);
    if (started) pthread_join(thread, NULL); /* one thread at a time counts checks */
    CHECK(started);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void manners(void)
{
    static const struct {
        double updates;
        hs__manner manner;
    } cases[] = {{0, HS__ALONE},    {10, HS__ALONE},   {11, HS__BRIEF},  {100, HS__BRIEF},
                 {101, HS__MEDIUM}, {400, HS__MEDIUM}, {401, HS__SHARED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(hs__manner_for(cases[i].updates, 10, 100, 4) == cases[i].manner);
}

/* ---- pools ----------------------------------------------------------------------------------- */

typedef struct {
    pthread_t caller;
    atomic_int done, by_caller, inside;
    int meets; /* each task waits until another worker is in one, too */
} tasks;

static void do_task(void *context, int32_t task, hs__walk *walk)
{
    tasks *x = context;
    (void)task;
    atomic_fetch_add(&x->done, 1);
    if (pthread_equal(pthread_self(), x->caller)) atomic_fetch_add(&x->by_caller, 1);
    atomic_fetch_add(&x->inside, 1);
    /* long enough for another worker to come, if it is called */
    for (const double end = hs_clock() + 2e-3; !x->meets && hs_clock() < end;) sched_yield();
    while (x->meets && atomic_load(&x->inside) < 2 && !hs__attend(&walk->self)) sched_yield();
}

static void do_phases(void *context, hs__walk *walk) { hs__phase(walk, 2, do_task, context); }

static tasks run(hs_pool *pool, hs__manner manner, int meets)
{
    tasks x = {.caller = pthread_self(), .meets = meets};
    CHECK(hs__phases_run(pool, NULL, NULL, manner, 64, do_phases, &x) == HS_OK);
    CHECK(x.done == 2);
    return x;
}

static void crowd_pool(hs_pool *pool)
{
    atomic_store(&pool->crowd.is_crowded, 1);
    atomic_store(&pool->crowd.since, hs_clock());
    atomic_store(&pool->crowd.patience, 1e6);
    atomic_store(&pool->crowd.guessed, 1e300);
}

/* Without samples: on a busy machine the samples of earlier runs would soon say otherwise. */
static void free_pool(hs_pool *pool)
{
    for (int w = 0; w < 2; w++) atomic_store(&pool->crowd.sample[w].until, 0);
    atomic_store(&pool->crowd.alone.until, 0);
    atomic_store(&pool->crowd.is_crowded, 0);
}

static void elastic_pools(void)
{
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    CHECK(hs_pool_set_elastic(NULL, 1) == HS_ERROR_VALUE);
    crowd_pool(pool);
    run(pool, HS__BRIEF, 1); /* it is not elastic, so both workers come */
    CHECK(hs_pool_set_elastic(pool, 1) == HS_OK);
    for (int i = 0; i < 20; i++) CHECK(run(pool, HS__BRIEF, 0).by_caller == 2);
    run(pool, HS__SHARED, 1); /* not brief */
    atomic_store(&pool->crowd.decided, 1e300);
    run(pool, HS__MEDIUM, 1); /* the caller alone would have less */
    atomic_store(&pool->crowd.enough, 1);
    CHECK(run(pool, HS__MEDIUM, 0).by_caller == 2);
    CHECK(hs_pool_set_elastic(pool, 0) == HS_OK);
    run(pool, HS__BRIEF, 1);
    CHECK(hs_pool_set_elastic(pool, 1) == HS_OK);
    free_pool(pool);
    run(pool, HS__BRIEF, 1);
    hs_pool_destroy(pool);
}

/* A pool that learns speeds learns nothing from a run without its helpers. */
static void products(void)
{
    enum { N = 500 };
    static double a[N * N], c[N * N];
    double availability[2];
    hs_pool *pool = NULL;
    if (!CHECK(hs_pool_create(2, NULL, &pool) == HS_OK)) return;
    for (int i = 0; i < N * N; i++) a[i] = 1;
    CHECK(hs_pool_set_elastic(pool, 1) == HS_OK);
    crowd_pool(pool);
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, a, a, c);
    for (int i = 0; i < 5; i++) { /* each takes some milliseconds: shorter runs teach nothing */
        memset(c, 0, sizeof c);
        CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
        int wrong = 0;
        for (int j = 0; j < N * N; j++) wrong += c[j] != N;
        CHECK(!wrong);
    }
    hs_pool_availability(pool, NULL, availability);
    CHECK(availability[0] == 1 && availability[1] == 1);
    hs_pool_destroy(pool);
}

/* A factorisation has the same bits as in a pool with its helpers, in one domain and in two. */
static void factorisations(void)
{
    enum { N = 360 }; /* for Cholesky: a smaller one is the caller's in any pool */
    static double matrix[2][N * N], tau[N];
    static int32_t pivots[2][N];
    static const hs_domain domains[2]; /* the usual kernel and sizes */
    static const int32_t domain_of[2] = {0, 1};
    for (int32_t kind = HS_LU; kind <= HS_QR; kind++)
        for (int32_t count = 1; count <= 2; count++)
            for (int crowded = 0; crowded < 2; crowded++) {
                hs_pool *pool = NULL;
                hs_factor x;
                for (int i = 0; i < N * N; i++)
                    matrix[crowded][i] = i % (N + 1) ? 1.0 / (1 + i / N + i % N) : N;
                CHECK(hs_pool_create_domains(2, NULL, count, domains,
                                             count == 2 ? domain_of : (const int32_t[]){0, 0},
                                             &pool) == HS_OK);
                CHECK(hs_pool_set_elastic(pool, crowded) == HS_OK);
                if (crowded) crowd_pool(pool);
                hs_factor_default(&x, kind, HS_FLOAT64, N, N, matrix[crowded]);
                x.cooperative = 1;
                x.pivots = pivots[crowded];
                x.tau = tau;
                CHECK(hs_run_factor(pool, &x, NULL, NULL) == HS_OK);
                CHECK(x.failed == -1);
                hs_pool_destroy(pool);
                if (!crowded) continue;
                CHECK(!memcmp(matrix[0], matrix[1], sizeof matrix[0]));
                CHECK(kind != HS_LU || !memcmp(pivots[0], pivots[1], sizeof pivots[0]));
            }
}

int main(void)
{
    entering();
    leaving();
    guessing();
    deferring();
    callers();
    asking_the_system();
    sampling();
    sampling_callers();
    manners();
    elastic_pools();
    products();
    factorisations();
    return check_result();
}
