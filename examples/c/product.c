/* A product on unequal workers: two threads, the second emulated at a third of the speed of the first, share the rows of C. The plan
 * says how long it takes; the trace says how long it took. */
#include <hetsched.h>
#include <stdio.h>
#include <string.h>

enum { P = 2, N = 480, EVENTS = 1000 };

static double a[N * N], b[N * N], c[N * N];
static hs_event events[EVENTS];

int main(void)
{
    const double pace[P] = {5e-10, 15e-10}; /* seconds per flop */
    const double times[P] = {pace[0] * 2.0 * N * N, pace[1] * 2.0 * N * N}; /* per row of C */
    int64_t rows[P];
    int32_t count;
    hs_box boxes[P];
    double makespan;
    hs_pool *pool = NULL;
    hs_product product;
    hs_boxes all;
    hs_options options;
    hs_trace trace;
    for (int i = 0; i < N * N; i++) a[i] = 1.0, b[i] = 2.0;
    hs_product_default(&product, HS_FLOAT64, N, N, N, a, b, c); /* C <- A B, stored row by row */
    memset(&all, 0, sizeof all), memset(&options, 0, sizeof options), memset(&trace, 0, sizeof trace); /* what is zero is not asked for */
    all.box = boxes;
    options.pace = pace;
    trace.events = events, trace.event_capacity = EVENTS;

    hs_status status = hs_distribute(N, P, times, NULL, rows, &makespan);
    if (!status) status = hs_boxes_of_counts(0, N, N, N, P, rows, boxes, &count);
    if (!status) all.count = count;
    if (!status) status = hs_pool_create(P, NULL, &pool);
    if (!status) status = hs_run_product(pool, &product, &all, &options, &trace);
    hs_pool_destroy(pool);
    if (status) {
        fprintf(stderr, "product: %s\n", hs_status_string(status));
        return 1;
    }
    for (int e = 0; e < trace.event_count; e++)
        printf("worker %d computes from %.4f to %.4f s\n", (int)events[e].worker, events[e].start, events[e].end);
    printf("%d and %d rows, planned %.3f s; c(0, 0) is %g of %g\n", (int)rows[0], (int)rows[1], makespan, c[0], 2.0 * N);
    return 0;
}
