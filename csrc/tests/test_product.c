/* Products on the pool, against a triple loop: all types, strides and sizes across the kernels'
 * blocking, plans of boxes, pacing, cancels, failing allocations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hetsched.h"
#include "late.h"
#include "products.h"
#include "scarce.h"

static void products(hs_pool *pool)
{
    const int64_t sizes[][3] = {{1, 1, 1},     {1, 40, 7},   {33, 1, 5},  {17, 19, 23},
                                {64, 70, 300}, {270, 9, 40}, {5, 600, 11}};
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int layouts = 0; layouts < 64; layouts += CHECK_MANY(5, 21)) {
                double complex alpha = layouts % 2 ? 1 : -2;
                double complex beta = layouts % 3 ? layouts % 3 : 0;
                if (dtype >> 1 && layouts % 7 == 0) {
                    alpha += I;
                    beta += beta == 0 ? 0 : 2 * I;
                }
                one_case(pool, dtype, sizes[s][0], sizes[s][1], sizes[s][2], layouts, alpha, beta,
                         NULL);
            }
}

static void unequal_shares(hs_pool *pool)
{
    const double speeds[] = {1.0, 0.0, 5.5};
    hs_box whole = {.height = 130, .width = 77, .length = 40};
    one_case(
        pool, HS_FLOAT64, 130, 77, 40, 0, 1, 1,
        &(test_run){
            .boxes.box = &whole, .boxes.count = 1, .boxes.cooperative = 1, .boxes.speeds = speeds});
}

static void own_boxes(hs_pool *pool)
{
    /* Worker 2 has two boxes, one of them in two depths; worker 1 has none. */
    const hs_box boxes[] = {
        {.worker = 0, .row = 0, .col = 0, .height = 50, .width = 30, .length = 60},
        {.worker = 2, .row = 50, .col = 0, .height = 14, .width = 30, .length = 20},
        {.worker = 2, .row = 50, .col = 0, .depth = 20, .height = 14, .width = 30, .length = 40},
        {.worker = 2, .row = 0, .col = 30, .height = 64, .width = 11, .length = 60},
    };
    for (int dtype = 0; dtype < 4; dtype++)
        for (int layouts = 0; layouts < 64; layouts += 21)
            one_case(pool, dtype, 64, 41, 60, layouts, 1, 3,
                     &(test_run){.boxes.box = boxes, .boxes.count = 4});
}

static void shared_boxes(hs_pool *pool)
{
    /* One box after the other, also over the same part of C: no worker may run ahead into the next
     * box. */
    const hs_box boxes[] = {
        {.height = 90, .width = 70, .length = 300},
        {.depth = 300, .height = 90, .width = 70, .length = 5},
        {.depth = 305, .height = 90, .width = 70, .length = 295},
        {.col = 70, .height = 90, .width = 9, .length = 600},
    };
    const double speeds[] = {1.0, 3.0, 0.5};
    for (int round = 0; round < CHECK_MANY(10, 4); round++) {
        const test_run run = {.boxes.box = boxes,
                              .boxes.count = 4,
                              .boxes.cooperative = 1,
                              .boxes.speeds = round % 2 ? speeds : NULL};
        one_case(pool, round % 4, 90, 79, 600, 0, 1, 3, &run);
    }
}

static void layered_boxes(hs_pool *pool)
{
    /* Worker 1 begins in the middle of the depth, in `boxes` with two boxes. Workers 0 and 2 have
     * the first part of the depth, each for a part of C. */
    const hs_box across[] = {
        {.worker = 0, .row = 0, .col = 0, .height = 37, .width = 20, .length = 100},
        {.worker = 2, .row = 0, .col = 20, .height = 37, .width = 9, .length = 100},
        {.worker = 1, .row = 0, .col = 0, .depth = 100, .height = 37, .width = 29, .length = 100},
    };
    const hs_box boxes[] = {
        {.worker = 1, .row = 0, .col = 0, .depth = 100, .height = 37, .width = 29, .length = 30},
        {.worker = 0, .row = 0, .col = 0, .height = 20, .width = 29, .length = 100},
        {.worker = 1, .row = 0, .col = 0, .depth = 130, .height = 37, .width = 29, .length = 70},
        {.worker = 2, .row = 20, .col = 0, .height = 17, .width = 29, .length = 100},
    };
    /* Worker 0 has boxes at three places of C, worker 1 at two, one of them with two boxes. */
    const hs_box scattered[] = {
        {.worker = 0, .row = 0, .col = 0, .height = 20, .width = 11, .length = 100},
        {.worker = 1, .row = 0, .col = 11, .depth = 100, .height = 20, .width = 18, .length = 100},
        {.worker = 2, .row = 20, .col = 0, .height = 17, .width = 11, .length = 100},
        {.worker = 0, .row = 20, .col = 11, .depth = 30, .height = 17, .width = 18, .length = 170},
        {.worker = 1, .row = 0, .col = 0, .depth = 100, .height = 20, .width = 11, .length = 100},
        {.worker = 1, .row = 0, .col = 11, .height = 20, .width = 18, .length = 100},
        {.worker = 0, .row = 20, .col = 0, .depth = 100, .height = 17, .width = 11, .length = 100},
        {.worker = 1, .row = 20, .col = 11, .height = 17, .width = 18, .length = 30},
    };
    const int64_t rows[] = {0, 5, 5, 37};
    for (int dtype = 0; dtype < 4; dtype++)
        for (int layouts = 0; layouts < 64; layouts += CHECK_MANY(3, 31)) {
            const test_run run = {.boxes.box = boxes,
                                  .boxes.count = 4,
                                  .boxes.layered = 1,
                                  .boxes.sum_rows = layouts % 2 ? rows : NULL};
            double complex alpha = layouts % 4 ? 2 : 1;
            double complex beta = layouts % 5;
            if (dtype >> 1 && layouts % 7 == 0) {
                alpha += I;
                beta += beta == 0 ? 0 : 2 * I;
            }
            one_case(pool, dtype, 37, 29, 200, layouts, alpha, beta, &run);
            one_case(pool, dtype, 37, 29, 200, layouts, alpha, beta,
                     &(test_run){.boxes.box = across, .boxes.count = 3, .boxes.layered = 1});
            one_case(pool, dtype, 37, 29, 200, layouts, alpha, beta,
                     &(test_run){.boxes.box = scattered, .boxes.count = 8, .boxes.layered = 1});
        }
    /* with alpha 0 there is nothing to sum */
    one_case(pool, HS_FLOAT64, 37, 29, 200, 0, 0, 3,
             &(test_run){.boxes.box = boxes, .boxes.count = 4, .boxes.layered = 1});
}

static void layers_of_the_whole(hs_pool *pool)
{
    const double speeds[] = {1.0, 3.0, 0.5};
    enum { K = 3000 };
    hs_box boxes[64];
    const int32_t count = hs_gemm_boxes(9, 14, K, 3, speeds, boxes, 64);
    CHECK(count >= 3 && count <= 64);
    int64_t next = 0;
    int64_t share[3] = {0};
    for (int32_t i = 0; i < count; i++) {
        CHECK(boxes[i].depth == next && boxes[i].length > 0 && boxes[i].height == 9 &&
              boxes[i].width == 14 && !boxes[i].row && !boxes[i].col);
        next += boxes[i].length;
        share[boxes[i].worker] += boxes[i].length;
    }
    CHECK(next == K && share[1] > share[0] && share[0] >= share[2]);
    for (int dtype = 0; dtype < 4; dtype++) {
        const test_run run = {
            .boxes.box = boxes, .boxes.count = count, .boxes.cooperative = 1, .boxes.layered = 1};
        for (int layouts = 0; layouts < 64; layouts += CHECK_MANY(9, 45)) {
            one_case(pool, dtype, 9, 14, K, layouts, 1, 2, &run);
            one_case(pool, dtype, 9, 14, K, layouts, 1, 0, NULL);
        }
    }
    /* gaps spread lines of 4096 bytes over the cache */
    one_case(pool, HS_FLOAT64, CHECK_MANY(512, 64), 1, 16 * 1024, 0, 1, 0, NULL);

    /* Five layers for three workers, two of them in three bands of rows each. Such bands must
     * belong to one layer, from its first row to its last. */
    enum { M = 100, N = 90, LONG = 5200 };
    const int32_t banded = hs_gemm_boxes(M, N, LONG, 3, NULL, boxes, 64);
    const int32_t whole = 3;
    CHECK(banded == whole + 2 * 3 && boxes[whole].height < M &&
          boxes[whole + 1].row == boxes[whole].height &&
          boxes[whole + 1].depth == boxes[whole].depth);
    const test_run in_bands = {
        .boxes.box = boxes, .boxes.count = banded, .boxes.cooperative = 1, .boxes.layered = 1};
    for (int dtype = 0; dtype < 4; dtype++) {
        if (!check_few() || dtype == HS_FLOAT32)
            one_case(pool, dtype, M, N, LONG, 16 * dtype, 1, 3, &in_bands);
        if (!check_few()) one_case(pool, dtype, M, N, LONG, 16 * dtype, 1, 3, NULL);
    }
    hs_product product;
    double few[4] = {0};
    hs_product_default(&product, HS_FLOAT64, 2, 2, 1, few, few, few + 2);
    /* a layer that ends early */
    const hs_box bad[][3] = {
        {{.height = 1, .width = 2, .length = 1}},
        /* rows before the first layer */
        {{.row = 2, .width = 2, .length = 1}, {.height = 2, .width = 2, .length = 1}},
        /* the next layer begins before the first one is complete */
        {{.height = 1, .width = 2, .length = 1}, {.height = 2, .width = 2, .length = 1}},
        /* a band of another depth */
        {{.height = 1, .width = 2, .length = 1}, {.row = 1, .height = 1, .width = 2}},
        /* bands of columns */
        {{.height = 2, .width = 1, .length = 1}, {.col = 1, .height = 2, .width = 1, .length = 1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const hs_boxes refused = {
            .box = bad[i], .count = i ? 2 : 1, .cooperative = 1, .layered = 1};
        CHECK(hs_run_product(pool, &product, &refused, NULL, NULL) == HS_ERROR_VALUE);
    }
    CHECK(hs_gemm_boxes(9, 14, 700, 3, NULL, NULL, 0) == 0 &&
          hs_gemm_boxes(9, 14, K, 1, NULL, NULL, 0) == 0);
    CHECK(hs_gemm_boxes(900, 1400, K, 3, NULL, NULL, 0) == 0 &&
          hs_gemm_boxes(0, 0, 0, 3, NULL, NULL, 0) == 0);
}

/* If C has one column or one row, its strides of 1 do not tell its layout. 1025 elements take more
 * than a page in every type. */
static void layers_of_one_line(hs_pool *pool)
{
    const int64_t lengths[] = {1, 2, 512, 1025};
    enum { K = 40, FIRST = 25, LONG = 800 };
    for (int dtype = 0; dtype < 4; dtype++)
        for (int layouts = 0; layouts < 64; layouts += CHECK_MANY(16, 48))
            for (size_t s = 0; s < sizeof lengths / sizeof *lengths; s++)
                for (int by_columns = 0; by_columns < 2; by_columns++) {
                    const int64_t m = by_columns ? lengths[s] : 1;
                    const int64_t n = by_columns ? 1 : lengths[s];
                    /* workers 1 and 2 have no layer of their own: each has a part of C */
                    const int64_t first = m > 1 ? m / 2 : 0;
                    const int64_t left = n > 1 ? n / 2 : 0;
                    const hs_box own[] = {{.worker = 0, .height = m, .width = n, .length = FIRST},
                                          {.worker = 2,
                                           .row = first,
                                           .col = left,
                                           .depth = FIRST,
                                           .height = m - first,
                                           .width = n - left,
                                           .length = K - FIRST},
                                          {.worker = 1,
                                           .height = m > 1 ? first : m,
                                           .width = n > 1 ? left : n,
                                           .depth = FIRST,
                                           .length = K - FIRST}};
                    const int32_t count = m * n > 1 ? 3 : 2;
                    const hs_box shared[] = {
                        {.height = m, .width = n, .length = FIRST},
                        {.depth = FIRST, .height = m, .width = n, .length = K - FIRST}};
                    if (dtype == layouts / 16)
                        one_case(pool, dtype, m, n, LONG, layouts, 1, 2, NULL);
                    one_case(
                        pool, dtype, m, n, K, layouts, 1, 2,
                        &(test_run){.boxes.box = own, .boxes.count = count, .boxes.layered = 1});
                    one_case(pool, dtype, m, n, K, layouts, 1, 0,
                             &(test_run){.boxes.box = shared,
                                         .boxes.count = 2,
                                         .boxes.cooperative = 1,
                                         .boxes.layered = 1});
                }
}

static void layers_are_taken_over(hs_pool *pool)
{
    enum { N = 64, BOXES = 64 };
    const int64_t K = CHECK_MANY(64, 8) * 1024;
    double *x = calloc((size_t)(N * K), sizeof *x);
    double c[N * N];
    hs_box boxes[BOXES];
    for (int i = 0; i < BOXES; i++)
        boxes[i] = (hs_box){.depth = i * (K / BOXES), .height = N, .width = N, .length = K / BOXES};
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = N,
                          .n = N,
                          .k = K,
                          .a = x,
                          .a_row_stride = K,
                          .a_col_stride = 1,
                          .b = x,
                          .b_row_stride = N,
                          .b_col_stride = 1,
                          .c = c,
                          .c_row_stride = N,
                          .c_col_stride = 1,
                          .alpha = {1}};
    int others = 0;
    for (int round = 0; round < 100 && !others; round++) {
        hs_event events[2 * BOXES];
        test_run run = {.boxes.box = boxes,
                        .boxes.count = BOXES,
                        .boxes.cooperative = 1,
                        .boxes.layered = 1,
                        .trace.events = events,
                        .trace.event_capacity = 2 * BOXES};
        CHECK(run_product(pool, &product, &run) == HS_OK);
        for (int32_t i = 0; i < run.trace.event_count; i++)
            others += events[i].worker != 0 && events[i].box < BOXES;
    }
    CHECK(others > 0); /* all boxes were planned for worker 0 */
    free(x);
}

static void layered_times(hs_pool *pool)
{
    enum { N = 16 };
    static double x[N * N], c[N * N];
    /* A layer of depth 8 takes 0.05 s, with 0.1 s of transfer before it or beside it. The sum: 256
     * additions at 1/16 and 1/8 of that, after a transfer. */
    const double pace[] = {0.05 / (2 * N * N * 8), 0.05 / (2 * N * N * 8), 1};
    const hs_box boxes[] = {{.worker = 0, .height = N, .width = N, .length = 8},
                            {.worker = 1, .depth = 8, .height = N, .width = N, .length = 8}};
    const double receive[] = {0, 0.1, 0.1, 0.2};
    const double sum_receive[] = {0, 0.02, 0.02, 0.06, 0, 0};
    const int64_t rows[] = {0, 4, N, N};
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
    for (int overlap = 0; overlap < 2; overlap++) {
        double finish[3], late[3];
        hs_event events[32];
        test_run run = {.boxes.box = boxes,
                        .boxes.count = 2,
                        .boxes.layered = 1,
                        .boxes.sum_rows = rows,
                        .boxes.sum_receive = sum_receive,
                        .boxes.overlap = overlap,
                        .options.pace = pace,
                        .boxes.receive = receive,
                        .trace.events = events,
                        .trace.event_capacity = 32,
                        .trace.times.finish = finish,
                        .trace.times.late = late};
        CHECK(run_product(pool, &product, &run) == HS_OK);
        const double computed = overlap ? 0.2 : 0.25;
        const double unit = 0.05 / (2 * N * N * 8) * N;
        const double ends[] = {computed + (overlap ? 0.02 : 0.02 + 4 * unit),
                               computed + (overlap ? 0.06 : 0.06 + 12 * unit), computed};
        for (int w = 0; w < 3; w++)
            CHECK(finish[w] >= ends[w] && finish[w] - late[w] < ends[w] + 1e-9);
        int sums = 0;
        int transfers = 0;
        for (int32_t i = 0; i < run.trace.event_count; i++) {
            const hs_event *e = &events[i];
            transfers += e->kind == HS_TRANSFER;
            if (e->box == 2 && e->kind == HS_COMPUTE) {
                sums += 1;
                CHECK(e->start >= computed - 1e-9 && e->worker < 2);
            }
        }
        CHECK(sums == 2 && transfers == 4);
    }
}

static void refused_layers(hs_pool *pool)
{
    double x[64] = {0};
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = 8,
                          .n = 8,
                          .k = 8,
                          .a = x,
                          .a_row_stride = 8,
                          .a_col_stride = 1,
                          .b = x,
                          .b_row_stride = 8,
                          .b_col_stride = 1,
                          .c = x,
                          .c_row_stride = 8,
                          .c_col_stride = 1,
                          .alpha = {1}};
    hs_box boxes[] = {{.height = 8, .width = 8, .length = 4},
                      {.depth = 4, .height = 8, .width = 4, .length = 4}};
    test_run run = {.boxes.box = boxes, .boxes.count = 2, .boxes.layered = 1};
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE); /* a part of a layer is missing */
    boxes[1].worker = 1;
    boxes[1].col = 4;
    run.boxes.cooperative = 1;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE); /* shared, but not the whole C */
    boxes[1].col = 0;
    boxes[1].width = 8;
    run.boxes.cooperative = 0;
    /* the last layer is missing, or the layer before it is there twice */
    boxes[1].length = 3;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
    boxes[1].depth = 3;
    boxes[1].length = 5;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
    boxes[1].depth = 4;
    boxes[1].length = 4;
    const int64_t backwards[] = {0, 9, 8, 8};
    const int64_t early[] = {1, 2, 3, 8};
    const int64_t short_of[] = {0, 2, 3, 7};
    const int64_t *rows[] = {backwards, early, short_of};
    for (int i = 0; i < 3; i++) {
        run.boxes.sum_rows = rows[i];
        CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
    }
    const double never[] = {0, INFINITY, 0, 0, 0, 0};
    run.boxes.sum_rows = NULL;
    run.boxes.sum_receive = never;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
    const double at_once[6] = {0};
    const int64_t even[] = {0, 3, 5, 8};
    run.boxes.cooperative = 1;
    run.boxes.sum_receive = at_once;
    /* in a shared run some workers may have no part in the sum */
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
    run.boxes.sum_receive = NULL;
    run.boxes.sum_rows = even;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
    run.boxes.sum_rows = NULL;
    CHECK(run_product(pool, &product, &run) == HS_OK);
    boxes[0].worker = 3;
    CHECK(run_product(pool, &product, &run) == HS_ERROR_VALUE);
}

static int run_again(void *context, double fraction)
{
    (void)fraction;
    double x = 1;
    double c = 0;
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = 1,
                          .n = 1,
                          .k = 1,
                          .a = &x,
                          .a_row_stride = 1,
                          .a_col_stride = 1,
                          .b = &x,
                          .b_row_stride = 1,
                          .b_col_stride = 1,
                          .c = &c,
                          .c_row_stride = 1,
                          .c_col_stride = 1,
                          .alpha = {1}};
    CHECK(hs_gemm(context, &product, NULL, NULL, NULL) == HS_ERROR_BUSY);
    return 1;
}

static void calling_from_the_poll_function(hs_pool *pool)
{
    static double x[64], c[64];
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = 8,
                          .n = 8,
                          .k = 8,
                          .a = x,
                          .a_row_stride = 8,
                          .a_col_stride = 1,
                          .b = x,
                          .b_row_stride = 8,
                          .b_col_stride = 1,
                          .c = c,
                          .c_row_stride = 8,
                          .c_col_stride = 1,
                          .alpha = {1}};
    const hs_box box = {.worker = 0, .height = 8, .width = 8, .length = 8};
    const double pace[] = {1000, 0, 0};
    test_run run = {.boxes.box = &box,
                    .boxes.count = 1,
                    .options.pace = pace,
                    .options.poll = run_again,
                    .options.poll_context = pool};
    CHECK(run_product(pool, &product, &run) == HS_ERROR_CANCELLED);
}

static void empty(hs_pool *pool)
{
    for (int dtype = 0; dtype < 4; dtype++) {
        one_case(pool, dtype, 3, 4, 0, 0, 1, 2, NULL); /* k = 0: C is scaled */
        one_case(pool, dtype, 3, 4, 0, 0, 1, 0, NULL); /* or cleared */
        one_case(pool, dtype, 3, 4, 5, 0, 0, 2, NULL); /* alpha = 0 */
        one_case(pool, dtype, 0, 4, 5, 0, 1, 2, NULL);
        one_case(pool, dtype, 3, 0, 5, 0, 1, 2, NULL);
    }
    /* real types ignore the imaginary part of alpha */
    const double nan = NAN;
    double c = 5;
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = 1,
                                .n = 1,
                                .k = 1,
                                .a = &nan,
                                .b = &nan,
                                .c = &c,
                                .alpha = {0, 7},
                                .beta = {2}};
    CHECK(hs_gemm(pool, &product, NULL, NULL, NULL) == HS_OK && c == 10);
}

static void pacing(hs_pool *pool)
{
    enum { N = 48 };
    static double x[N * N], c[N * N];
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
    const hs_box boxes[] = {{.worker = 0, .height = N / 2, .width = N, .length = N},
                            {.worker = 2, .row = N / 2, .height = N / 2, .width = N, .length = N}};
    const double flops = 2.0 * N * N * N / 2;
    const double pace[] = {0.02 / flops, 0, 0.05 / flops};
    const double receive[] = {0, 0.01, 0.01, 0.015};
    hs_event events[16];
    double finish[3], late[3], busy[3];
    test_run run = {.boxes.box = boxes,
                    .boxes.count = 2,
                    .options.pace = pace,
                    .boxes.receive = receive,
                    .trace.events = events,
                    .trace.event_capacity = 16,
                    .trace.times.finish = finish,
                    .trace.times.late = late,
                    .trace.times.busy = busy};
    CHECK(run_product(pool, &product, &run) == HS_OK);
    CHECK(finish[0] >= 0.03 && finish[2] >= 0.065);
    CHECK(run.trace.event_count >= 4 && run.trace.event_count <= 16);
    double computed[3] = {0};
    double transferred[3] = {0};
    for (int32_t i = 0; i < run.trace.event_count; i++) {
        CHECK(events[i].end >= events[i].start);
        (events[i].kind == HS_COMPUTE ? computed : transferred)[events[i].worker] +=
            events[i].end - events[i].start;
    }
    CHECK(computed[0] >= 0.0199 && computed[1] == 0 && computed[2] >= 0.0499);
    CHECK(fabs(transferred[0] - 0.01) < 1e-12 && transferred[1] == 0 &&
          fabs(transferred[2] - 0.005) < 1e-12);
    for (int w = 0; w < 3; w++) CHECK(late[w] >= 0 || w == 1);
}

/* Two steps of an outer product: each worker waits for the panels of each step, one of them in the
 * middle of its work. */
static void pacing_by_steps(hs_pool *pool)
{
    enum { N = 32, STEP = N / 2 };
    static double x[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        x[i] = i % 7 - 3;
        c[i] = 1;
    }
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
    hs_box boxes[4];
    for (int i = 0; i < 4; i++)
        boxes[i] = (hs_box){.worker = i % 2,
                            .row = i % 2 * N / 2,
                            .depth = i / 2 * STEP,
                            .height = N / 2,
                            .width = N,
                            .length = STEP};
    const double flops = 2.0 * N / 2 * N * STEP;
    const double pace[] = {0.01 / flops, 0.02 / flops, 0};
    const double receive[] = {0, 0.01, 0.01, 0.02, 0.05, 0.06, 0.03, 0.035};
    hs_event events[32];
    double finish[3];
    test_run run = {.boxes.box = boxes,
                    .boxes.count = 4,
                    .options.pace = pace,
                    .boxes.receive = receive,
                    .trace.events = events,
                    .trace.event_capacity = 32,
                    .trace.times.finish = finish};
    CHECK(run_product(pool, &product, &run) == HS_OK);
    /* worker 0: 0.02, idle, 0.06 + 0.01; worker 1: 0.04 + 0.02 */
    CHECK(finish[0] >= 0.07 && finish[1] >= 0.06);
    double started[4] = {0};
    for (int32_t i = 0; i < run.trace.event_count; i++)
        if (events[i].kind == HS_COMPUTE && started[events[i].box] == 0)
            started[events[i].box] = events[i].start;
    for (int i = 0; i < 4; i++) CHECK(started[i] >= receive[2 * i + 1] - 1e-9);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < N; l++) sum += x[i * N + l] * x[l * N + j];
            CHECK(c[i * N + j] == sum);
        }
}

static int stop_after(void *context, double fraction)
{
    CHECK(fraction >= 0 && fraction <= 1);
    return ++*(int *)context >= 2;
}

static void cancelling(hs_pool *pool)
{
    static double x[64], c[64];
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = 8,
                          .n = 8,
                          .k = 8,
                          .a = x,
                          .a_row_stride = 8,
                          .a_col_stride = 1,
                          .b = x,
                          .b_row_stride = 8,
                          .b_col_stride = 1,
                          .c = c,
                          .c_row_stride = 8,
                          .c_col_stride = 1,
                          .alpha = {1}};
    const hs_box box = {.worker = 1, .height = 8, .width = 8, .length = 8};
    const double pace[] = {0, 1000, 0}; /* hours */
    int calls = 0;
    test_run run = {.boxes.box = &box,
                    .boxes.count = 1,
                    .options.pace = pace,
                    .options.poll = stop_after,
                    .options.poll_context = &calls};
    CHECK(run_product(pool, &product, &run) == HS_ERROR_CANCELLED);
    CHECK(calls == 2);
    one_case(pool, HS_FLOAT64, 20, 20, 20, 0, 1, 0, NULL); /* the pool still works */
}

static void errors(hs_pool *pool)
{
    double x[4] = {1, 2, 3, 4};
    double c[4] = {5, 6, 7, 8};
    double nan_pace[] = {NAN, 0, 0};
    double negative[] = {-1, 1, 1};
    double zeros[3] = {0};
    double backwards[] = {2, 1, 0, 0, 0, 0};
    const hs_product good = {.dtype = HS_FLOAT64,
                             .m = 2,
                             .n = 2,
                             .k = 2,
                             .a = x,
                             .a_row_stride = 2,
                             .a_col_stride = 1,
                             .b = x,
                             .b_row_stride = 2,
                             .b_col_stride = 1,
                             .c = c,
                             .c_row_stride = 2,
                             .c_col_stride = 1,
                             .alpha = {1}};
    const double ones[] = {1, 1, 1};
    const int64_t rows[] = {0, 1, 2, 2};
    hs_box box = {.height = 2, .width = 2, .length = 2};
    test_run run = {.boxes.box = &box, .boxes.count = 1};
    hs_product bad = good;
    CHECK(run_product(NULL, &good, &run) == HS_ERROR_VALUE);
    bad.dtype = 4;
    CHECK(run_product(pool, &bad, &run) == HS_ERROR_VALUE);
    bad = good;
    bad.m = -1;
    CHECK(run_product(pool, &bad, &run) == HS_ERROR_VALUE);
    bad = good;
    bad.a = NULL;
    CHECK(run_product(pool, &bad, &run) == HS_ERROR_VALUE);
    box.row = 1;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    box.row = 0;
    box.worker = 3;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    box.worker = 0;
    run.options.pace = nan_pace;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    run.options.pace = NULL;
    run.boxes.speeds = negative;
    run.boxes.cooperative = 1;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    run.boxes.speeds = zeros;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    CHECK(hs_gemm(pool, NULL, NULL, NULL, NULL) == HS_ERROR_VALUE);
    run.boxes.speeds = NULL;
    run.boxes.cooperative = 0;
    run.boxes.receive = backwards;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    /* what would not be read is refused */
    run.boxes.receive = NULL;
    run.boxes.speeds = ones;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    run.boxes.speeds = NULL;
    run.boxes.sum_rows = rows;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    run.boxes.sum_rows = NULL;
    run.boxes.sum_receive = zeros;
    CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    run.boxes.sum_receive = NULL;
    run.boxes.overlap = 1; /* there is no transfer to overlap */
    for (run.boxes.cooperative = 0; run.boxes.cooperative < 2; run.boxes.cooperative++)
        for (run.boxes.layered = 0; run.boxes.layered < 2; run.boxes.layered++)
            CHECK(run_product(pool, &good, &run) == HS_ERROR_VALUE);
    CHECK(c[0] == 5 && c[1] == 6 && c[2] == 7 && c[3] == 8);
}

/* Boxes that do not tile are refused before anything is changed. Boxes without an extent may be
 * anywhere, and change nothing. */
static void boxes_tile(hs_pool *pool)
{
    enum { N = 12 };
    double x[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) x[i] = i % 5 - 2;
    const hs_box good[] = {
        {.worker = 0, .height = 7, .width = N, .length = N},
        {.worker = 1, .row = 7, .height = 5, .width = 5, .length = N},
        {.worker = 2, .row = 7, .col = 5, .height = 5, .width = 7, .length = 4},
        {.worker = 2, .row = 7, .col = 5, .depth = 4, .height = 5, .width = 7, .length = 8}};
    hs_product product;
    hs_product_default(&product, HS_FLOAT64, N, N, N, x, x, c);
    for (int cooperative = 0; cooperative < 2; cooperative++)
        for (int change = 0; change < 8; change++) {
            hs_box *boxes = malloc(5 * sizeof *boxes);
            if (!CHECK(boxes != NULL)) return;
            memcpy(boxes, good, sizeof good);
            boxes[4] = boxes[3];
            test_run run = {.boxes.box = boxes, .boxes.count = 4, .boxes.cooperative = cooperative};
            switch (change) {
            case 1: run.boxes.count = 3; break;
            case 2: run.boxes.count = 5; break;
            case 3: boxes[1].row--; break;
            case 4: boxes[0].height++; break;
            case 5: boxes[2].length--; break;
            /* two workers would add to the same elements, unless all workers compute each box
             * together */
            case 6: boxes[3].worker = 1; break;
            case 7: run.boxes.count = 0; break;
            default: break; /* 0: nothing is wrong */
            }
            for (int i = 0; i < N * N; i++) c[i] = -7;
            const int fine = change == 0 || (change == 6 && cooperative);
            CHECK(run_product(pool, &product, &run) == (fine ? HS_OK : HS_ERROR_VALUE));
            for (int i = 0; i < N * N && !fine; i++) CHECK(c[i] == -7);
            free(boxes);
        }
    const hs_box with_empty[] = {{.worker = 1, .height = N, .width = N},
                                 {.worker = 0, .height = N, .width = N, .length = N},
                                 {.worker = 2, .row = N, .width = N, .length = N}};
    for (int scaled = 0; scaled < 2; scaled++)
        one_case(pool, HS_FLOAT64, N, N, N, 0, scaled ? 0 : 1, 3,
                 &(test_run){.boxes.box = with_empty, .boxes.count = 3});
    /* C would be multiplied by beta twice */
    const hs_box twice[] = {{.height = N, .width = N}, {.worker = 1, .height = N, .width = N}};
    hs_product_default(&product, HS_FLOAT64, N, N, 0, x, x, c);
    CHECK(run_product(pool, &product, &(test_run){.boxes.box = twice, .boxes.count = 2}) ==
          HS_ERROR_VALUE);
    CHECK(run_product(pool, &product, &(test_run){.boxes.box = twice, .boxes.count = 1}) == HS_OK);
}

/* More panels than there are slots for their queues. */
static void shared_by_many_panels(hs_pool *pool)
{
    enum { SIDE = 40, DEPTH = 3000 };
    const hs_box whole = {.height = SIDE, .width = SIDE, .length = DEPTH};
    one_case(pool, HS_FLOAT64, SIDE, SIDE, DEPTH, 0, 1, 1,
             &(test_run){.boxes.box = &whole, .boxes.count = 1, .boxes.cooperative = 1});
}

/* ---- no memory ------------------------------------------------------------------------------- */

/* Computes C <- 2 A B + 3 C with ones in A and B: with the boxes of `run`, or by hs_gemm if there
 * are none. */
typedef struct {
    int64_t m, n, k;
    test_run run;
    double *a, *b, *c;
} scanty;

static hs_status run_scanty(hs_pool *pool, void *context)
{
    const scanty *x = context;
    hs_product product = {.dtype = HS_FLOAT64,
                          .m = x->m,
                          .n = x->n,
                          .k = x->k,
                          .a = x->a,
                          .a_row_stride = x->k,
                          .a_col_stride = 1,
                          .b = x->b,
                          .b_row_stride = x->n,
                          .b_col_stride = 1,
                          .c = x->c,
                          .c_row_stride = x->n,
                          .c_col_stride = 1,
                          .alpha = {2},
                          .beta = {3}};
    for (int64_t i = 0; i < x->m * x->n; i++) x->c[i] = (double)i;
    test_run run = x->run;
    const hs_status status = run.boxes.count ? run_product(pool, &product, &run)
                                             : hs_gemm(pool, &product, NULL, NULL, NULL);
    int64_t wrong = 0;
    for (int64_t i = 0; i < x->m * x->n; i++) {
        const double done = 2 * (double)x->k + 3 * (double)i;
        wrong += x->c[i] != (status ? (double)i : done);
    }
    CHECK(wrong == 0);
    return status;
}

static void scarce(void)
{
    enum { M = 90, N = 80, K = 3000 };
    double *a = malloc(sizeof *a * M * K);
    double *b = malloc(sizeof *b * K * N);
    double *c = malloc(sizeof *c * M * N);
    for (int i = 0; a && i < M * K; i++) a[i] = 1;
    for (int i = 0; b && i < K * N; i++) b[i] = 1;
    const hs_box whole = {.height = M, .width = N, .length = 100};
    const hs_box apart[] = {{.worker = 0, .row = 60, .height = 30, .width = N, .length = 100},
                            {.worker = 1, .height = 30, .width = N, .length = 100},
                            {.worker = 2, .row = 30, .height = 30, .width = N, .length = 100}};
    const hs_box layers[] = {
        {.worker = 0, .height = 9, .width = 14, .length = 1000},
        {.worker = 2, .depth = 1000, .height = 9, .width = 14, .length = 2000}};
    const int64_t rows[] = {0, 3, 3, 9};
    const double pace[] = {1e-9, 1e-9, 1e-9};
    scanty cases[] = {
        {M, N, 100, {.boxes.box = &whole, .boxes.count = 1, .boxes.cooperative = 1}, a, b, c},
        {M, N, 100, {.boxes.box = apart, .boxes.count = 3}, a, b, c},
        {M, N, 100, {.boxes.box = apart, .boxes.count = 3, .options.pace = pace}, a, b, c},
        {9,
         14,
         K,
         {.boxes.box = layers, .boxes.count = 2, .boxes.layered = 1, .boxes.sum_rows = rows},
         a,
         b,
         c},
        {9,
         14,
         K,
         {.boxes.box = layers, .boxes.count = 2, .boxes.layered = 1, .boxes.cooperative = 1},
         a,
         b,
         c},
        {9, 14, K, {.boxes.count = 0}, a, b, c},  /* hs_gemm in layers */
        {M, N, 100, {.boxes.count = 0}, a, b, c}, /* by all workers */
        {5, 6, 7, {.boxes.count = 0}, a, b, c},   /* by one worker */
    };
    for (size_t i = 0; a && b && c && i < sizeof cases / sizeof *cases; i++)
        CHECK_SCARCE(scarce_life(3, run_scanty, &cases[i]), 1);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    hs_pool *pool = NULL;
    CHECK(hs_kernel_select("no such kernel") == HS_ERROR_UNSUPPORTED);
    CHECK(hs_pool_create(3, NULL, &pool) == HS_OK);
    ALSO_LATE(products(pool));
    unequal_shares(pool);
    own_boxes(pool);
    ALSO_LATE(shared_boxes(pool));
    layered_boxes(pool);
    layers_of_the_whole(pool);
    layers_of_one_line(pool);
    layers_are_taken_over(pool);
    layered_times(pool);
    refused_layers(pool);
    boxes_tile(pool);
    shared_by_many_panels(pool);
    calling_from_the_poll_function(pool);
    empty(pool);
    pacing(pool);
    pacing_by_steps(pool);
    cancelling(pool);
    errors(pool);
    hs_pool_destroy(pool);
    scarce();
    return check_result();
}
