/* The memory that a pool of many workers and one product take beside the operands, packed panels
 * and stacks: queues, tables of gangs, signals, events. Includes product.c, so that the product
 * need not be computed. */
#include "product/product.c"

#include "check.h"
#include "scarce.h"

#ifdef HS_TEST_SCARCE

enum { WORKERS = 256, ROWS = 16, COLUMNS = WORKERS / ROWS, N = 20000 };
static const size_t MOST = 10 << 20;

/* Returns the bytes of the events that Python asks for. */
static size_t event_bytes(int32_t boxes)
{
    return (1000 + 200 * WORKERS + 4 * (size_t)boxes) * sizeof(hs_event);
}

/* Returns the bytes that a job asks for the second time, when the pool already has its panels. */
static size_t table_bytes(hs_pool *pool, const hs_product *product, const hs_boxes *boxes)
{
    size_t asked = 0;
    for (int turn = 0; turn < 2; turn++) {
        product_run job = {
            .run = hs__run_of(&kind, pool, NULL, NULL), .product = product, .boxes = boxes};
        if (!CHECK(check_arguments(&job) == HS_OK &&
                   hs__pool_lock(pool, HS__TOGETHER, NULL, NULL, &job.run.lease) == HS_OK))
            return 0;
        scarce_asked();
        CHECK(open_run(&job) == HS_OK);
        asked = scarce_asked();
        CHECK(job.run.total >= WORKERS);
        close_run(&job);
        hs__run_free(&job.run);
        hs__pool_unlock(job.run.lease);
    }
    CHECK(asked > 0);
    return asked;
}

static hs_product some_product(int64_t m, int64_t n, int64_t k, double *somewhere)
{
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, m, n, k, somewhere, somewhere, somewhere);
    product.beta[0] = 1.0;
    return product;
}

static void shared(hs_pool *pool, size_t own)
{
    double x = 0.0;
    const hs_box whole = {.height = N, .width = N, .length = N};
    for (hs_triangle triangle = HS_TRIANGLE_NONE; triangle <= HS_TRIANGLE_LOWER; triangle++) {
        hs_product product = some_product(N, N, N, &x);
        product.triangle = triangle;
        const hs_boxes boxes = {.box = &whole, .count = 1, .cooperative = 1};
        CHECK(own + table_bytes(pool, &product, &boxes) + event_bytes(1) < MOST);
    }
}

static void zones(hs_pool *pool, size_t own)
{
    double x = 0.0;
    static hs_box box[WORKERS];
    for (int32_t w = 0; w < WORKERS; w++)
        box[w] = (hs_box){.worker = w,
                          .row = w / COLUMNS * (N / ROWS),
                          .col = w % COLUMNS * (N / COLUMNS),
                          .height = N / ROWS,
                          .width = N / COLUMNS,
                          .length = N};
    const hs_product product = some_product(N, N, N, &x);
    const hs_boxes boxes = {.box = box, .count = WORKERS};
    CHECK(own + table_bytes(pool, &product, &boxes) + event_bytes(WORKERS) < MOST);
}

/* As many domains as are allowed. */
static void many_domains(void)
{
    enum { DOMAINS = 32 };
    hs_domain domains[DOMAINS] = {{0}};
    int32_t of[WORKERS];
    hs_pool *pool = NULL;
    for (int32_t w = 0; w < WORKERS; w++) of[w] = w / (WORKERS / DOMAINS);
    scarce_asked();
    if (CHECK(hs_pool_create_domains(WORKERS, NULL, DOMAINS, domains, of, &pool) == HS_OK))
        shared(pool, scarce_asked());
    hs_pool_destroy(pool);
}

int main(void)
{
    hs_pool *pool = NULL;
    scarce_asked();
    if (CHECK(hs_pool_create(WORKERS, NULL, &pool) == HS_OK)) {
        const size_t own = scarce_asked();
        shared(pool, own);
        zones(pool, own);
    }
    hs_pool_destroy(pool);
    many_domains();
    return check_result();
}

#else

int main(void)
{
    CHECK(1);
    return check_result();
}

#endif
