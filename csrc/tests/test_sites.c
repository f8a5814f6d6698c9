/* Sites: which are chosen, that processes spread, and that workers are bound to them and move when
 * other programs take their cores. */
#define _GNU_SOURCE
#include "threads/sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "hetsched.h"
#include "machine_root.h"
#include "scarce.h"
#include "threads/load.h"
#include "threads/pool_state.h"

enum { MOST = 64 };

static int32_t numbers[4096];
static hs_site sites[MOST];

/* Equal sites of one kind, with cpus 0, 1, ... */
static void make_sites(int32_t count, int32_t cores)
{
    for (int32_t i = 0; i < 4096; i++) numbers[i] = i;
    for (int32_t i = 0; i < count; i++)
        sites[i] = (hs_site){cores, &numbers[(size_t)i * (size_t)cores], cores, 0};
}

static int32_t sum_of(const int32_t *workers, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++) sum += workers[i];
    return sum;
}

/* ---- choices --------------------------------------------------------------------------------- */

static void test_wrong_arguments(void)
{
    int32_t workers[2];
    const double wrong[2] = {1.0, NAN};
    const double negative[2] = {-1.0, 1.0};
    make_sites(2, 4);
    CHECK(hs_choose_sites(0, 2, sites, NULL, -1, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(4097, 2, sites, NULL, -1, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 0, sites, NULL, -1, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 2, NULL, NULL, -1, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 2, sites, NULL, -1, 1, NULL) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 2, sites, NULL, -2, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 2, sites, NULL, 2, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 2, sites, wrong, -1, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_choose_sites(1, 2, sites, negative, -1, 1, workers) == HS_ERROR_VALUE);
    CHECK(hs_spread_workers(0, 2, sites, workers) == HS_ERROR_VALUE);
    CHECK(hs_spread_workers(INT32_MAX, 2, sites, workers) == HS_ERROR_VALUE);
    CHECK(hs_spread_workers(1, 2, sites, NULL) == HS_ERROR_VALUE);
    const int32_t outside[2] = {0, HS__LAST_CPU + 1};
    const int32_t below[1] = {-1};
    const hs_site bad[] = {{0, numbers, 1, 0},  {1, NULL, 1, 0},    {1, numbers, 0, 0},
                           {1, numbers, 1, -1}, {2, outside, 1, 0}, {1, below, 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sites[1] = bad[i];
        CHECK(hs_choose_sites(1, 2, sites, NULL, -1, 1, workers) == HS_ERROR_VALUE);
        CHECK(hs_spread_workers(1, 2, sites, workers) == HS_ERROR_VALUE);
    }
}

static void test_free_cores(void)
{
    int32_t workers[4];
    make_sites(4, 4);
    const double one[4] = {0.2, 1.1, 3.9, 2.8};
    for (uint64_t seed = 1; seed < 50; seed++) {
        CHECK(!hs_choose_sites(4, 4, sites, one, -1, seed, workers) && workers[2] == 4);
        CHECK(!hs_choose_sites(3, 4, sites, one, 3, seed, workers) && workers[3] == 3);
        CHECK(!hs_choose_sites(3, 4, sites, one, 1, seed, workers) && workers[1] == 0);
        CHECK(!hs_choose_sites(7, 4, sites, one, -1, seed, workers));
        CHECK(workers[2] == 4 && workers[3] == 3);
        CHECK(!hs_choose_sites(8, 4, sites, one, -1, seed, workers));
        CHECK(workers[1] == 1 && workers[2] == 4 && workers[3] == 3);
    }
    /* a fraction of a core is no room for another worker */
    const double nearly[4] = {3.9, 2.7, 3.1, 1.5};
    for (uint64_t seed = 1; seed < 50; seed++) {
        CHECK(!hs_choose_sites(3, 4, sites, nearly, 1, seed, workers));
        CHECK(workers[0] == 3 || workers[2] == 3);
        CHECK(!hs_choose_sites(4, 4, sites, (const double[4]){3.5, 4.0, 3.6, 0}, 0, seed, workers));
        CHECK(workers[1] == 4);
    }
    /* slower cores only where the fast ones are taken */
    sites[2].kind = 1;
    sites[3].kind = 1;
    const double none[4] = {0.0, 0.5, 4.0, 4.0};
    for (uint64_t seed = 1; seed < 50; seed++) {
        CHECK(!hs_choose_sites(2, 4, sites, NULL, -1, seed, workers));
        CHECK(workers[0] + workers[1] == 2);
        CHECK(!hs_choose_sites(10, 4, sites, NULL, -1, seed, workers));
        CHECK(workers[0] == 4 && workers[1] == 4);
        CHECK(!hs_choose_sites(2, 4, sites, none, -1, seed, workers));
        CHECK(workers[2] == 2 || workers[3] == 2);
    }
    /* no core is free: the preferred site is the first, not the only one */
    make_sites(4, 4);
    const double taken[4] = {0.0};
    int32_t there = 0;
    for (uint64_t seed = 1; seed < 50; seed++) {
        CHECK(!hs_choose_sites(1, 4, sites, taken, 2, seed, workers) && workers[2] == 1);
        CHECK(!hs_choose_sites(8, 4, sites, taken, 2, seed, workers));
        there += workers[2];
    }
    CHECK(there > 49 && there < 3 * 49); /* of 8 workers 2 or a few more */
}

/* More workers than free cores, or than cores: all are placed, and no site is overfull while
 * another has room. */
static void test_busy(void)
{
    int32_t workers[MOST];
    double free_cores[MOST];
    for (int trial = 0; trial < CHECK_MANY(2000, 200); trial++) {
        const int32_t count = 1 + (int32_t)check_random(8);
        const int32_t cores = 1 + (int32_t)check_random(8);
        const int32_t p = 1 + (int32_t)check_random((unsigned)(2 * count * cores));
        double total = 0.0;
        make_sites(count, cores);
        for (int32_t i = 0; i < count; i++) {
            free_cores[i] = check_random((unsigned)cores + 1);
            total += free_cores[i];
        }
        CHECK(!hs_choose_sites(p, count, sites, free_cores, -1, 0, workers));
        CHECK(sum_of(workers, count) == p);
        for (int32_t i = 0; i < count; i++) {
            if (p <= total) CHECK(workers[i] <= free_cores[i]);
            else CHECK(workers[i] >= free_cores[i]);
        }
    }
}

/* ---- many processes -------------------------------------------------------------------------- */

static int32_t excess(const int32_t *workers, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        if (workers[i] > sites[i].cores) sum += workers[i] - sites[i].cores;
    return sum;
}

/* 32 processes of two workers each that start at the same moment, and so know nothing of each
 * other, overlap no more than if each had a random site. If they start one after the other and see
 * the load, they do not overlap. */
static void test_processes(int32_t count, int32_t cores)
{
    enum { PROCESSES = 32, WORKERS = 2, TRIALS = 300 };
    double chosen = 0.0;
    double random = 0.0;
    make_sites(count, cores);
    for (int trial = 0; trial < TRIALS; trial++) {
        int32_t blind[MOST] = {0};
        int32_t at_random[MOST] = {0};
        int32_t seeing[MOST] = {0};
        int32_t own[MOST];
        for (int k = 0; k < PROCESSES; k++) {
            const uint64_t seed = 1 + (uint64_t)(trial * PROCESSES + k);
            CHECK(!hs_choose_sites(WORKERS, count, sites, NULL, -1, seed, own));
            for (int32_t i = 0; i < count; i++) blind[i] += own[i];
            at_random[check_random((unsigned)count)] += WORKERS;
            double free_cores[MOST];
            for (int32_t i = 0; i < count; i++) free_cores[i] = fmax(0.0, cores - seeing[i]);
            CHECK(!hs_choose_sites(WORKERS, count, sites, free_cores, -1, seed, own));
            for (int32_t i = 0; i < count; i++) seeing[i] += own[i];
        }
        chosen += excess(blind, count);
        random += excess(at_random, count);
        CHECK(excess(seeing, count) == 0);
    }
    CHECK(chosen <= 1.1 * random + TRIALS * 0.05);
}

static void test_seed(void)
{
    int32_t workers[MOST], other[MOST];
    int differ = 0;
    make_sites(MOST, 1);
    for (uint64_t seed = 1; seed < 20; seed++) {
        CHECK(!hs_choose_sites(1, MOST, sites, NULL, -1, seed, workers));
        CHECK(!hs_choose_sites(1, MOST, sites, NULL, -1, seed, other));
        CHECK(!memcmp(workers, other, sizeof workers));
        CHECK(!hs_choose_sites(1, MOST, sites, NULL, -1, seed + 1, other));
        differ += memcmp(workers, other, sizeof workers) != 0;
    }
    CHECK(differ > 0);
    CHECK(hs__new_seed() != hs__new_seed());
}

/* ---- a pool ---------------------------------------------------------------------------------- */

#if defined(__linux__)

/* Writes the ticks of two cpus of a machine that is a folder of the test's own. */
static void write_ticks(int32_t first, int busy, int32_t second, int idle)
{
    char text[128];
    snprintf(text, sizeof text, "cpu%d %d 0 0 0 0\ncpu%d 0 0 0 %d 0\n", (int)first, busy,
             (int)second, idle);
    write_file("proc/stat", text);
}

static int is_bound(pthread_t thread, const hs_site *site)
{
    hs__cpus cpus;
    if (!CHECK(hs__cpus_of(thread, &cpus))) return 0;
    int same = hs__cpus_count(&cpus) == site->count;
    for (int32_t i = 0; i < site->count; i++) same &= hs__cpus_have(&cpus, site->cpus[i]);
    free(cpus.set);
    return same;
}

/* Two cpus of the mask, the same if there is but one. */
static void find_two(int32_t *cpus)
{
    hs__cpus mask;
    int32_t found = 0;
    if (!CHECK(hs__cpus_of(pthread_self(), &mask))) return;
    for (int32_t cpu = 0; cpu < hs__cpus_end(&mask) && found < 2; cpu++)
        if (hs__cpus_have(&mask, cpu)) cpus[found++] = cpu;
    if (found == 1) cpus[1] = cpus[0];
    free(mask.set);
}

static void check_product(hs_pool *pool)
{
    enum { N = 96 };
    static double a[N * N], b[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, a, b, c);
    CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
    double expected = 0.0;
    for (int k = 0; k < N; k++) expected += a[5 * N + k] * b[k * N + 7];
    CHECK(c[5 * N + 7] == expected);
}

static void test_pool(void)
{
    int32_t cpus[2] = {0, 0};
    find_two(cpus);
    const hs_site both = {2, cpus, 2, 0};
    const hs_site first = {1, cpus, 1, 0};
    const hs_site apart[2] = {first, {1, cpus + 1, 1, 0}};
    const int32_t zero[1] = {0};
    const int32_t wrong[1] = {2};
    hs_pool *pool = NULL;
    if (!CHECK(!hs_pool_create(2, NULL, &pool))) return;
    CHECK(hs_pool_bind(NULL, 1, &both, zero) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(pool, 0, &both, zero) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(pool, 1, NULL, zero) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(pool, 1, &both, NULL) == HS_ERROR_VALUE);
    CHECK(hs_pool_bind(pool, 2, apart, wrong) == HS_ERROR_VALUE);
    CHECK(!pool->sites.count && !pool->spin);
    hs_status status = HS_ERROR_MEMORY;
    for (long allowed = 0; status == HS_ERROR_MEMORY && allowed < 100; allowed++) {
        scarce_left = allowed;
        status = hs_pool_bind(pool, 1, &both, zero);
        scarce_left = -1;
        CHECK(allowed >= SCARCE_FIRST || status != HS_OK);
    }
    CHECK(status == HS_OK && pool->spin);
    CHECK(is_bound(pool->helpers[0].thread, &both) || cpus[0] == cpus[1]);
    CHECK(hs_pool_bind(pool, 1, &both, zero) == HS_ERROR_VALUE); /* once */
    check_product(pool);
    hs_pool_destroy(pool);

    const int32_t cores[2] = {cpus[0], cpus[1]};
    CHECK(!hs_pool_create(2, cores, &pool));
    CHECK(hs_pool_bind(pool, 1, &both, zero) == HS_ERROR_VALUE); /* pinned */
    hs_pool_destroy(pool);
    CHECK(!hs_pool_create(2, NULL, &pool));
    CHECK(!hs_pool_bind(pool, 1, &first, zero) && !pool->spin); /* two workers on one core */
    check_product(pool);
    hs_pool_destroy(pool);
    const int32_t nowhere[1] = {HS__LAST_CPU};
    const hs_site missing = {1, nowhere, 1, 0};
    CHECK(!hs_pool_create(1, NULL, &pool));
    CHECK(!hs_pool_bind(pool, 1, &missing, zero) && !pool->spin); /* the system refuses */
    check_product(pool);
    hs_pool_destroy(pool);
    const int32_t half[2] = {cpus[0], HS__LAST_CPU};
    const hs_site described = {2, half, 2, 0}; /* the system binds both workers to one cpu */
    CHECK(!hs_pool_create(2, NULL, &pool));
    CHECK(!hs_pool_bind(pool, 1, &described, zero) && !pool->spin);
    check_product(pool);
    hs_pool_destroy(pool);
}

/* The workers leave a site that another program has taken, and then stay. */
static void test_move(void)
{
    int32_t cpus[2] = {0, 0};
    find_two(cpus);
    if (cpus[0] == cpus[1]) return;
    const hs_site apart[2] = {{1, cpus, 1, 0}, {1, cpus + 1, 1, 0}};
    const int32_t zero[1] = {0};
    hs__load *load = hs__machine_load();
    hs_pool *pool = NULL;
    load->root = root;
    load->count = 0;
    write_ticks(cpus[0], 1, cpus[1], 1);
    hs__load_start(load, 1.0);
    write_ticks(cpus[0], 100001, cpus[1], 100001);
    hs__load_free(load, 1e6, &(hs__cpus){0}, HS__ALL_USERS, 0.0);
    load->next_sample = INFINITY;
    for (int other_kind = 1; other_kind >= 0; other_kind--) {
        hs_site given[2] = {apart[0], apart[1]};
        given[1].kind = other_kind;
        CHECK(!hs_pool_create(1, NULL, &pool) && !hs_pool_bind(pool, 2, given, zero));
        int moved = 0;
        for (int look = 0; look < 200 && !moved; look++) {
            atomic_store(&pool->sites.next, 0.0);
            hs__review_sites(pool);
            moved = atomic_load(&pool->sites.site_of[0]) == 1;
        }
        CHECK(moved == !other_kind); /* its kernel may not run on another kind of core */
        CHECK(is_bound(pool->helpers[0].thread, &given[moved]));
        check_product(pool);
        for (int look = 0; look < 50; look++) {
            atomic_store(&pool->sites.next, 0.0);
            hs__review_sites(pool);
        }
        CHECK(atomic_load(&pool->sites.site_of[0]) == moved);
        hs_pool_destroy(pool);
    }
    load->root = "";
    load->count = 0;
}

/* A pool is destroyed while a thread that has begun a call looks at the load. */
static atomic_int destroyed;
static hs_status trimmed;

static void *trim(void *pool)
{
    trimmed = hs_pool_trim(pool);
    return NULL;
}

static void *destroy(void *pool)
{
    hs_pool_destroy(pool);
    atomic_store(&destroyed, 1);
    return NULL;
}

static void test_destroyed_while_looking(void)
{
    int32_t cpus[2] = {0, 0};
    find_two(cpus);
    if (cpus[0] == cpus[1]) return;
    const hs_site apart[2] = {{1, cpus, 1, 0}, {1, cpus + 1, 1, 0}};
    hs__load *load = hs__machine_load();
    hs_pool *pool = NULL;
    pthread_t caller, closer;
    char name[256];
    snprintf(name, sizeof name, "%s/proc/stat", root);
    unlink(name);
    CHECK(!mkfifo(name, 0600));
    load->root = root;
    load->count = 0;
    load->next_sample = 0.0;
    CHECK(!hs_pool_create(2, NULL, &pool) && !hs_pool_bind(pool, 2, apart, &(int32_t){0}));
    CHECK(!pthread_create(&caller, NULL, trim, pool));
    while (!atomic_load(&load->owner)) usleep(1000);
    CHECK(!pthread_create(&closer, NULL, destroy, pool));
    usleep(50000);
    CHECK(!atomic_load(&destroyed)); /* the caller waits for a writer of the pipe */
    FILE *file = fopen(name, "w");
    if (CHECK(file != NULL)) fclose(file);
    pthread_join(caller, NULL);
    pthread_join(closer, NULL);
    CHECK(trimmed == HS_OK || trimmed == HS_ERROR_THREAD);
    load->root = "";
    load->count = 0;
}

#endif

static void test_quotas(void)
{
    const double quotas[] = {0.0, 0.3, 1.0, 1.05, 1.1, 1.5, 2.0, 2.1, 2.2, 63.9, INFINITY, NAN};
    const int32_t workers[] = {1, 1, 1, 1, 2, 2, 2, 2, 3, 63, INT32_MAX, 1};
    for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++)
        CHECK(hs_workers_for_quota(quotas[i]) == workers[i]);
    CHECK(hs_cpu_quota() > 0.0);
}

int main(void)
{
    hs_watch_load();
    test_wrong_arguments();
    test_free_cores();
    test_busy();
    test_processes(8, 8);
    test_processes(16, 16);
    test_processes(64, 1);
    test_seed();
    test_quotas();
#if defined(__linux__)
    if (!make_root()) return check_result();
    test_pool();
    test_move();
    test_destroyed_while_looking();
    remove_root();
#endif
    return check_result();
}
