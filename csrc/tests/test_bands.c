/* Products shared by the domains of a pool, each with its own kernel and block sizes, against a
 * triple loop: the same bits whichever worker computes; arguments, memory and cancels as on one
 * domain. Includes bands.c, to test how it cuts. */
#include "product/bands.c"

#include "check.h"
#include "domains.h"
#include "hetsched.h"
#include "late.h"
#include "products.h"
#include "scarce.h"

enum { WORKERS = 5 };
static const int32_t of[WORKERS] = {0, 1, 1, 2, 1};
static const hs_domain plain = {.kernel = "plain"};

static void arguments(void)
{
    hs_pool *pool = NULL;
    const int32_t bad[2] = {0, 2};
    const int32_t good[2] = {0, 1};
    const hs_domain two[2] = {{0}, {0}};
    const hs_domain negative[2] = {{.rows = {0, -1}}, {0}};
    const hs_domain unknown[2] = {{.kernel = "no such set"}, {0}};
    CHECK(hs_pool_create_domains(2, NULL, 2, two, bad, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create_domains(2, NULL, 3, two, good, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create_domains(2, NULL, 0, two, good, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create_domains(2, NULL, 2, NULL, good, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create_domains(2, NULL, 2, two, NULL, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create_domains(2, NULL, 2, negative, good, &pool) == HS_ERROR_VALUE);
    CHECK(hs_pool_create_domains(2, NULL, 2, unknown, good, &pool) == HS_ERROR_UNSUPPORTED);
    CHECK(pool == NULL);
}

/* All types and strides, with sizes near the sizes of bands and tiles. With few inputs, another
 * layout for each type and size. */
static void products(hs_pool *pool)
{
    const int64_t sizes[][3] = {{0, 3, 2},     {1, 1, 1},    {2, 2, 2},      {127, 129, 9},
                                {300, 40, 30}, {3, 700, 20}, {257, 256, 50}, {30, 30, 1500}};
    const double speeds[][WORKERS] = {
        {1, 1, 1, 1, 1}, {1, 0, 0, 3, 0}, {0, 0, 2, 0, 0.5}, {5, 1, 1, 1, 1}};
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int layouts = CHECK_MANY((int)s, (9 * (int)s + 16 * dtype) % 64); layouts < 64;
                 layouts += CHECK_MANY(23, 64)) {
                const hs_box whole = {
                    .height = sizes[s][0], .width = sizes[s][1], .length = sizes[s][2]};
                const test_run run = {.boxes = {.box = &whole,
                                                .count = 1,
                                                .cooperative = 1,
                                                .speeds = speeds[(size_t)layouts % 4]}};
                one_case(pool, dtype, sizes[s][0], sizes[s][1], sizes[s][2], layouts,
                         layouts % 2 ? 1 : -2, layouts % 3, layouts % 5 ? &run : NULL);
            }
}

/* One box after the other, also over the same part of C, and boxes that have one worker each. */
static void boxes(hs_pool *pool)
{
    const hs_box shared[] = {
        {.height = 290, .width = 270, .length = 30},
        {.depth = 30, .height = 290, .width = 270, .length = 0},
        {.depth = 30, .height = 290, .width = 270, .length = 15},
        {.col = 270, .height = 290, .width = 9, .length = 45},
    };
    const hs_box own[] = {{.worker = 1, .height = 290, .width = 100, .length = 45},
                          {.worker = 3, .col = 100, .height = 290, .width = 179, .length = 45}};
    for (int dtype = 0; dtype < 4; dtype++) {
        one_case(pool, dtype, 290, 279, 45, 0, 1, 3,
                 &(test_run){.boxes = {.box = shared, .count = 4, .cooperative = 1}});
        one_case(pool, dtype, 290, 279, 45, 4, 1, 0,
                 &(test_run){.boxes = {.box = own, .count = 2}});
    }
}

/* The triangle of A B; the elements beside it are unchanged. */
static void triangles(hs_pool *pool)
{
    enum { N = 421, K = 18 };
    double *a = malloc(sizeof(double[N * K]));
    double *b = malloc(sizeof(double[N * K]));
    double *c = malloc(sizeof(double[N * N]));
    double *full = malloc(sizeof(double[N * N]));
    for (int i = 0; i < N * K; i++) {
        a[i] = (double)(i % 7) - 3;
        b[i] = (double)(i % 5) - 2;
    }
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, K, a, b, full);
    CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
    for (int which = HS_TRIANGLE_LOWER; which <= HS_TRIANGLE_MIRRORED; which++)
        for (int turned = 0; turned < 2; turned++) {
            for (int i = 0; i < N * N; i++) c[i] = 77;
            hs_product_default(&product, HS_FLOAT64, N, N, K, a, b, c);
            product.triangle = which;
            if (turned) {
                product.c_row_stride = 1;
                product.c_col_stride = N;
            }
            CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
            int wrong = 0;
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    const int lower = i >= j;
                    const int in = which == HS_TRIANGLE_MIRRORED ||
                                   (which == HS_TRIANGLE_LOWER ? lower : i <= j);
                    const double wanted = !in ? 77
                                          : which == HS_TRIANGLE_MIRRORED && !lower
                                              ? full[j * N + i]
                                              : full[i * N + j];
                    wrong += c[turned ? j * N + i : i * N + j] != wanted;
                }
            CHECK(wrong == 0);
        }
    free(a);
    free(b);
    free(c);
    free(full);
}

/* Numbers with rounded sums: one kernel gives the same bits on any domains, at any speeds. */
static void bits(void)
{
    enum { N = 300 };
    float *a = malloc(sizeof(float[N * N]));
    float *c = malloc(sizeof(float[N * N]));
    float *first = NULL;
    for (int i = 0; i < N * N; i++) a[i] = 1.0f / (float)(i % 1009 + 1);
    for (int round = 0; round < CHECK_MANY(12, 4); round++) {
        const hs_domain domains[3] = {
            plain, {.kernel = "plain", .cols = {32, 32}}, {.kernel = "plain", .rows = {16, 16}}};
        const double speeds[WORKERS] = {1, 1 + round % 3, 1, 2 + round % 4, 1};
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create_domains(WORKERS, NULL, round % 2 ? 3 : 1, domains,
                                          round % 2 ? of : (int32_t[WORKERS]){0}, &pool) == HS_OK))
            break;
        hs_product product;
        hs_product_default(&product, HS_FLOAT32, N, N, N, a, a, c);
        CHECK(hs_gemm(pool, &product, speeds, NULL, NULL) == HS_OK);
        if (first) CHECK(!memcmp(first, c, sizeof(float[N * N])));
        else first = memcpy(malloc(sizeof(float[N * N])), c, sizeof(float[N * N]));
        hs_pool_destroy(pool);
    }
    free(a);
    free(c);
    free(first);
}

/* Blocks smaller than a tile hold one tile, also of complex operands. Blocks larger than the
 * operands take no more memory than the operands. */
static void extremes(void)
{
    static const int32_t sizes[][3] = {{1, 1, 1},       {3, 5, 7},
                                       {1 << 20, 1, 1}, {1, 1 << 20, 1},
                                       {1, 1, 1 << 20}, {1 << 20, 1 << 20, 1 << 20}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int32_t *x = sizes[i];
        const hs_domain domains[2] = {
            {.depth = {x[0], x[0]}, .rows = {x[1], x[1]}, .cols = {x[2], x[2]}},
            {.depth = {x[0], x[0]}}};
        hs_pool *pool = NULL;
        if (!CHECK(hs_pool_create_domains(3, NULL, 2, domains, (int32_t[]){0, 1, 0}, &pool) ==
                   HS_OK))
            return;
        for (int dtype = 0; dtype < 4; dtype++)
            for (int layouts = (int)i; layouts < 64; layouts += CHECK_MANY(11, 47))
                one_case(pool, dtype, 131, 127, 70, layouts, 1, 1, NULL);
        hs_pool_destroy(pool);
    }
}

/* Bands tile a share; the last one is cut only where its tail pays. */
static void cuts(void)
{
    for (int64_t lines = 0; lines < 3000; lines += lines < 20 ? 1 : 37)
        for (int shares = 0; shares < 2; shares++) {
            int64_t end[64];
            const int32_t count = cut_share(lines, 1000, 8, shares, end);
            CHECK(count == cut_share(lines, 1000, 8, shares, NULL) && (count > 0) == (lines > 0));
            for (int32_t i = 0; i < count; i++)
                CHECK(end[i] > (i ? end[i - 1] : 0) &&
                      (!shares || end[i] - (i ? end[i - 1] : 0) <= 1000));
            CHECK(count == 0 || end[count - 1] == lines);
            CHECK(shares || count <= 1);
            CHECK(count < 2 || end[count - 1] - end[count - 2] >= HS__TAIL_LINES || lines > 1000);
        }
}

/* A team that has begun late or is slow loses bands. A team that would need longer takes none. */
static void takes(void)
{
    hs__band band[4] = {{.work = 4}, {.work = 2}, {.work = 2}, {.work = 1}};
    hs__team team[2] = {{.members = 1, .speed = 1, .own = band, .back = 4, .rest = 9},
                        {.members = 1, .speed = 1, .own = band + 4}};
    hs__bands x = {.team = team, .teams = 2, .band = band, .count = 4};
    CHECK(choose_band(&x, &team[1]) == &band[3]); /* no member of team 0 has come yet */
    CHECK(choose_band(&x, &team[0]) == &band[0]);
    team[0].last = &band[0];
    CHECK(choose_band(&x, &team[1]) == &band[2]); /* team 0 has 2 + 2 + 2 to go */
    team[1].speed = 0.4;                          /* 2 / 0.4 is more than 2 + 2 */
    CHECK(choose_band(&x, &team[1]) == NULL && team[0].back == 2);
    team[1].speed = 0;
    CHECK(choose_band(&x, &team[1]) == NULL);
    CHECK(choose_band(&x, &team[0]) == &band[1] && choose_band(&x, &team[0]) == NULL &&
          team[0].rest == 0);
}

static hs_status multiply_matrices(hs_pool *pool, void *product)
{
    return hs_gemm(pool, product, NULL, NULL, NULL);
}

static void no_memory(void)
{
    enum { N = 260 };
    static double a[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = i % 3;
        c[i] = 5;
    }
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, a, a, c);
    const hs_domain domains[2] = {plain, {.cols = {64, 64}}};
    hs_pool *pool = NULL;
    CHECK_SCARCE(hs_pool_create_domains(3, NULL, 2, domains, (int32_t[]){0, 1, 1}, &pool),
                 pool == NULL);
    CHECK_SCARCE(multiply_matrices(pool, &product), c[0] == 5 && c[N * N - 1] == 5);
    CHECK(c[0] != 5);
    hs_pool_destroy(pool);
}

static int stop_at_once(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context > 0;
}

static void cancels(hs_pool *pool)
{
    const int64_t N = CHECK_MANY(1100, 600);
    double *a = calloc((size_t)(N * N), sizeof *a);
    double *c = calloc((size_t)(N * N), sizeof *c);
    int calls = 0;
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, a, a, c);
    hs_status status = HS_OK;
    /* on a fast machine this may take several runs */
    for (int i = 0; i < 20 && status == HS_OK; i++)
        status = hs_gemm(pool, &product, NULL, stop_at_once, &calls);
    CHECK(status == HS_ERROR_CANCELLED || calls == 0);
    CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK);
    /* Between boxes, a worker that has seen the cancel does not wait for the bands of other
     * workers. */
    const hs_box halves[2] = {{.height = N, .width = N, .length = N / 2},
                              {.height = N, .width = N, .depth = N / 2, .length = N / 2}};
    const hs_boxes boxes = {.box = halves, .count = 2, .cooperative = 1};
    for (int i = 0; i < CHECK_MANY(8, 4); i++) {
        calls = -i / 2;
        const hs_options options = {.poll = stop_at_once, .poll_context = &calls};
        status = hs_run_product(pool, &product, &boxes, &options, NULL);
        CHECK(status == HS_ERROR_CANCELLED || (status == HS_OK && calls <= 0));
    }
    free(a);
    free(c);
}

/* The division of hs_domain_zones for the register tile of the kernel in use, or that of the
 * transpose, if the kernel computes it. */
static void divide(int32_t dtype, const int64_t size[2], const double *sums, int turned,
                   int64_t rects[12])
{
    int32_t tile[2], blocks[3];
    CHECK(hs_kernel_sizes(NULL, dtype, tile, blocks) == HS_OK);
    CHECK(hs_domain_zones(size[turned], size[!turned], tile[0], tile[1], HS__BAND_LINES, 3, sums,
                          rects) == HS_OK);
    for (int64_t *r = rects; turned && r < rects + 12; r += 4) {
        const int64_t seen[4] = {r[0], r[1], r[2], r[3]};
        for (int i = 0; i < 4; i++) r[i] = seen[i ^ 1];
    }
}

static void zones(void)
{
    int64_t differs[4] = {0}; /* by dtype, and whether the kernel computes the transpose */
    const int64_t sizes[][2] = {{0, 9},     {1, 1},     {2, 2},      {255, 255},
                                {256, 256}, {257, 256}, {1000, 777}, {777, 3000}};
    const double speeds[][WORKERS] = {{1, 1, 1, 1, 1}, {1, 0, 0, 3, 0}, {5, 1, .5, 1, 1}};
    const hs_domain three[3] = {{0}, {.rows = {8, 8}}, {0}};
    int64_t found[12], expected[12];
    for (int32_t dtype = HS_FLOAT32; dtype <= HS_FLOAT64; dtype++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t k = 0; k < 3; k++) {
                double sums[3] = {0};
                for (int w = 0; w < WORKERS; w++) sums[of[w]] += speeds[k][w];
                CHECK(hs_gemm_zones(dtype, sizes[s][0], sizes[s][1], (int64_t)k * 9, WORKERS, 3,
                                    three, of, speeds[k], found) == HS_OK);
                for (int turned = 0; turned < 2; turned++) {
                    divide(dtype, sizes[s], sums, turned, expected);
                    differs[2 * dtype + turned] += memcmp(found, expected, sizeof found) != 0;
                }
            }
    for (int dtype = 0; dtype < 2; dtype++)
        CHECK((differs[2 * dtype] == 0) != (differs[2 * dtype + 1] == 0));
    CHECK(hs_gemm_zones(4, 1, 1, 1, WORKERS, 3, three, of, NULL, found) == HS_ERROR_VALUE);
    CHECK(hs_gemm_zones(0, -1, 1, 1, WORKERS, 3, three, of, NULL, found) == HS_ERROR_VALUE);
    CHECK(hs_gemm_zones(0, 1, 1, -1, WORKERS, 3, three, of, NULL, found) == HS_ERROR_VALUE);
    CHECK(hs_gemm_zones(0, 1, 1, 1, 0, 1, NULL, NULL, NULL, found) == HS_ERROR_VALUE);
    CHECK(hs_gemm_zones(0, 1, 1, 1, WORKERS, 2, three, of, NULL, found) == HS_ERROR_VALUE);
    CHECK(hs_gemm_zones(0, 1, 1, 1, WORKERS, 3, three, NULL, NULL, found) == HS_ERROR_VALUE);
    CHECK_SCARCE(hs_gemm_zones(0, 900, 900, 1, WORKERS, 3, three, of, NULL, found), true);
}

int main(void)
{
    arguments();
    zones();
    cuts();
    takes();
    bits();
    extremes();
    no_memory();
    for (int i = 0; i < DOMAIN_SETS; i += CHECK_MANY(1, 2)) {
        hs_pool *pool = open_domains(WORKERS, of, domain_sets[i]);
        if (!pool) continue;
        ALSO_LATE(products(pool));
        ALSO_LATE(boxes(pool));
        ALSO_LATE(triangles(pool));
        if (i == 0) cancels(pool);
        hs_pool_destroy(pool);
    }
    return check_result();
}
