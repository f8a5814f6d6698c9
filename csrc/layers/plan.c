/* Products of matrices in layers: the times of a layer, the layers that fit into a memory, the
 * choice of counts and order, and the certificate. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/order.h"
#include "core/status.h"
#include "layers/layers.h"

enum { SEARCH_WORK = 3000000 }; /* of hs_layers_best: half a second at most */

/* ---- from a product to its layers ------------------------------------------------------------ */

hs_status hs_layers_room(int64_t n, int64_t beside, int64_t count, const double *memory,
                         int64_t *most)
{
    if (n < 0 || n > HS_LAYERS_SIDE || beside < 0 || beside > INT64_C(1) << 62 || count < 0 ||
        (count > 0 && (!memory || !most)))
        return HS_ERROR_VALUE;
    for (int64_t i = 0; i < count; i++)
        if (!(memory[i] >= 0.0)) return HS_ERROR_VALUE;
    for (int64_t i = 0; i < count; i++) {
        const int64_t left = (int64_t)fmin(memory[i], 0x1p62) - beside;
        most[i] = hs__min(hs__max(left, 0) / hs__max(2 * n, 1), n);
    }
    return HS_OK;
}

/* Workspace for one product of p workers. */
typedef struct {
    double *times;  /* [5 p] compute, send, and the three times of hs_layers_schedule */
    int64_t *most;  /* [p] */
    int32_t *order; /* [p] */
} space;

static hs_status open_space(int32_t p, space *s)
{
    *s = (space){.times = malloc(5 * (size_t)p * sizeof *s->times),
                 .most = malloc((size_t)p * sizeof *s->most),
                 .order = malloc((size_t)p * sizeof *s->order)};
    return hs__check_memory(s->times && s->most && s->order);
}

static void close_space(space *s)
{
    free(s->times);
    free(s->most);
    free(s->order);
}

/* Computes the times of one layer. A finite time that overflows must not become infinite, because
 * an infinite time stands for a worker that gets nothing. */
static hs_status scale_times(int32_t p, const double *times, double factor, double *scaled)
{
    for (int32_t i = 0; i < p; i++) {
        scaled[i] = times[i] * factor;
        if (isinf(scaled[i]) && !isinf(times[i])) return HS_ERROR_VALUE;
    }
    return HS_OK;
}

/* Describes the layers of a product; the arrays belong to the workspace. */
static hs_status describe_layers(const hs_layers_product *product, const space *s, hs_layers *x)
{
    const int32_t p = product->p;
    const int64_t n = product->n, side = hs__max(n, 1); /* n = 0 takes no time in any case */
    double *compute = s->times;
    double *send = s->times + p;
    *x = (hs_layers){.mode = product->mode, .p = p, .layers = n, .compute = compute, .send = send};
    hs_status status = scale_times(p, product->cycle_times, (double)(side * side), compute);
    if (!status) status = scale_times(p, product->link_costs, (double)(2 * side), send);
    if (status || !product->memory) return status;
    status = hs_layers_room(n, product->disk ? n : n * n, p, product->memory, s->most);
    /* with room for all layers everywhere there are no limits */
    for (int32_t i = 0; i < p && !status; i++)
        if (s->most[i] < n) x->most = s->most;
    return status;
}

static bool is_valid(const hs_layers_product *x)
{
    return x && x->p >= 1 && x->n >= 0 && x->n <= HS_LAYERS_SIDE && x->cycle_times &&
           x->link_costs && (x->disk == 0 || x->disk == 1);
}

/* ---- counts and order ------------------------------------------------------------------------ */

/* Finds the counts and the order of the messages [p]. *exact: 1 if they are proven optimal, for all
 * orders with HS_LAYERS_BEST, else for this order. */
static hs_status choose_layers(const hs_layers *x, hs_layers_method method, const int *cancel,
                               int32_t *order, int64_t *counts, int *exact)
{
    *exact = 0;
    if (method == HS_LAYERS_BEST)
        return hs_layers_best(x, SEARCH_WORK, cancel, order, counts, exact);
    for (int32_t i = 0; i < x->p; i++) order[i] = i;
    return method == HS_LAYERS_PAPER ? hs_layers_paper(x, NULL, NULL, counts)
                                     : hs_layers_exact(x, NULL, cancel, counts, exact);
}

/* Certifies counts with their makespan and bound. exact: of choose_layers. */
static hs_status certify_layers(const hs_layers *x, hs_layers_method method, int exact,
                                double makespan, double bound, hs_certificate *certificate)
{
    hs_status status = hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
    if (status || method == HS_LAYERS_GIVEN) return status;
    const bool any_order = method == HS_LAYERS_BEST || !hs__layers_sequential(x);
    if (certificate->optimal || (exact && any_order)) {
        status = hs_certificate_of("makespan", HS_MINIMISED, makespan, makespan, certificate);
        certificate->scope = "all orders and counts";
    } else if (exact) certificate->scope = "plans with messages in this order";
    return status;
}

/* Plans the layers x of one product, or evaluates given ones.
 *   order   [p] the workers in the order of their messages; in: with HS_LAYERS_GIVEN
 *   counts  [p]
 *   times   [3 p] out: of hs_layers_schedule */
static hs_status plan_layers(const hs_layers *x, hs_layers_method method, const int *cancel,
                             int32_t *order, int64_t *counts, double *times,
                             hs_certificate *certificate)
{
    const int32_t p = x->p;
    int exact = 0;
    double makespan, bound;
    hs_status status =
        method == HS_LAYERS_GIVEN ? HS_OK : choose_layers(x, method, cancel, order, counts, &exact);
    if (!status)
        status = hs_layers_schedule(x, order, counts, times, times + p, times + 2 * (size_t)p,
                                    &makespan);
    if (!status) status = hs_layers_bound(x, cancel, &bound);
    if (status) return status;
    return certify_layers(x, method, exact, makespan, bound, certificate);
}

/* ---- one product ----------------------------------------------------------------------------- */

/* Completes a given order by the workers that are not in it, by index. */
static hs_status complete_order(const hs_layers *x, const hs_layers_result *given, int32_t *order)
{
    if (given->served < 0 || given->served > x->p) return HS_ERROR_VALUE;
    const hs_status status = hs__check_order(x->p, given->served, given->order, NULL);
    if (status) return status;
    char *listed = calloc((size_t)x->p, 1);
    if (!listed) return HS_ERROR_MEMORY;
    int32_t next = given->served;
    memcpy(order, given->order, (size_t)given->served * sizeof *order);
    for (int32_t d = 0; d < given->served; d++) listed[order[d]] = 1;
    for (int32_t i = 0; i < x->p; i++)
        if (!listed[i]) order[next++] = i;
    free(listed);
    return HS_OK;
}

/* Computes the fractional layers, and the makespan with them. In the closed form all workers end
 * together, so the first of them tells the makespan. */
static hs_status relax_layers(const hs_layers *x, hs_layers_method method, const int32_t *order,
                              hs_layers_result *result)
{
    if (method != HS_LAYERS_PAPER)
        return hs_layers_relaxed(x, order, result->shares, &result->relaxed);
    hs__layer_worker *workers = malloc((size_t)x->p * sizeof *workers);
    int64_t *counts = malloc((size_t)x->p * sizeof *counts);
    hs_status status =
        workers && counts ? hs_layers_paper(x, NULL, result->shares, counts) : HS_ERROR_MEMORY;
    if (!status) {
        hs__layers_open(x, NULL, workers);
        result->relaxed = result->shares[workers[0].index] * workers[0].hold;
    }
    free(workers);
    free(counts);
    return status;
}

/* Writes the workers with layers in the order of their messages; by index if all messages go out at
 * once. */
static void list_served(const hs_layers *x, const int32_t *order, hs_layers_result *result)
{
    result->served = 0;
    for (int32_t d = 0; d < x->p; d++) {
        const int32_t i = hs__layers_sequential(x) ? order[d] : d;
        if (result->counts[i] > 0) result->order[result->served++] = i;
    }
}

/* Writes when each worker receives and computes. times: of plan_layers. */
static void write_times(const hs_layers *x, const double *times, hs_layers_result *result)
{
    const bool overlap = x->mode == HS_SCSS || x->mode == HS_PCSS;
    const double *start = times;
    const double *received = times + x->p;
    const double *end = received + x->p;
    for (size_t i = 0; i < (size_t)x->p; i++) {
        result->receive[2 * i] = start[i];
        result->receive[2 * i + 1] = received[i];
        result->compute[2 * i] = overlap ? start[i] : received[i];
        result->compute[2 * i + 1] = end[i];
    }
}

hs_status hs_layers_plan(const hs_layers_product *product, hs_layers_method method,
                         const int *cancel, hs_layers_result *result, hs_certificate *certificate)
{
    if (!is_valid(product) || !result || !certificate) return HS_ERROR_VALUE;
    if ((int)method < HS_LAYERS_EXACT || method > HS_LAYERS_GIVEN) return HS_ERROR_VALUE;
    if (!result->counts || !result->order || !result->receive || !result->compute ||
        !result->shares)
        return HS_ERROR_VALUE;
    space s;
    hs_layers x;
    hs_status status = open_space(product->p, &s);
    if (!status) status = describe_layers(product, &s, &x);
    if (!status && method == HS_LAYERS_GIVEN) status = complete_order(&x, result, s.order);
    double *times = s.times + 2 * (size_t)product->p;
    if (!status)
        status = plan_layers(&x, method, cancel, s.order, result->counts, times, certificate);
    if (!status) status = relax_layers(&x, method, s.order, result);
    if (!status) {
        list_served(&x, s.order, result);
        write_times(&x, times, result);
    }
    close_space(&s);
    return status;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

hs_status hs_layers_batch(hs_layers_method method, int64_t rows, const hs_layers_product *products,
                          const int *cancel, int64_t *counts, double *makespans, double *bounds,
                          int32_t *optimal)
{
    if (!products || rows < 0 || (int)method < HS_LAYERS_EXACT || method > HS_LAYERS_PAPER)
        return HS_ERROR_VALUE;
    if (rows == 0) return products->p < 1 ? HS_ERROR_VALUE : HS_OK;
    if (!is_valid(products) || !counts || !makespans || !bounds || !optimal) return HS_ERROR_VALUE;
    const int32_t p = products->p;
    space s;
    hs_layers x;
    hs_status status = open_space(p, &s);
    hs_layers_product one = *products;
    for (int64_t row = 0; row < rows && !status; row++) {
        hs_certificate certificate;
        status = hs__check_cancel(cancel);
        if (!status) status = describe_layers(&one, &s, &x);
        if (!status)
            status = plan_layers(&x, method, cancel, s.order, counts + row * p,
                                 s.times + 2 * (size_t)p, &certificate);
        if (status) break;
        makespans[row] = certificate.value;
        bounds[row] = certificate.bound;
        optimal[row] = certificate.optimal;
        one.cycle_times += p;
        one.link_costs += p;
        if (one.memory) one.memory += p;
    }
    close_space(&s);
    return status;
}
