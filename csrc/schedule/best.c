/* hs_matmul_best: the methods that plan a product, and the fastest of their plans.
 *
 * A method divides C into zones (cut_zones.c, plan_zones.c), or the iterations into boxes
 * (plan_boxes.c). The schedule says how long the boxes take. The planner holds two candidates: the
 * one in work, and the best so far (planner.c). */
#include <string.h>

#include "core/cancel.h"
#include "schedule/planner.h"

/* ---- methods --------------------------------------------------------------------------------- */

/* The methods of hs_partition_best; -1: not one of them. */
static const int32_t partitions[HS_MATMUL_METHODS] = {
    [HS_MATMUL_AUTO] = -1,
    [HS_MATMUL_COLUMNS] = -1,
    [HS_MATMUL_ROWS] = -1,
    [HS_MATMUL_RECTANGLES] = HS_PARTITION_COLUMNS,
    [HS_MATMUL_PARTITION] = HS_PARTITION_BEST,
    [HS_MATMUL_CONTIGUOUS] = HS_PARTITION_CONTIGUOUS,
    [HS_MATMUL_LAYERS] = -1,
    [HS_MATMUL_CUBOIDS] = -1,
    [HS_MATMUL_NODES] = -1,
    [HS_MATMUL_CANNON] = -1,
    [HS_MATMUL_DOMAINS] = -1,
    [HS_MATMUL_INTERVAL] = HS_PARTITION_INTERVAL,
    [HS_MATMUL_GUILLOTINE] = HS_PARTITION_GUILLOTINE,
    [HS_MATMUL_NONRECTANGULAR] = HS_PARTITION_NONRECTANGULAR,
    [HS_MATMUL_KALINOV_LASTOVETSKY] = HS_PARTITION_KALINOV_LASTOVETSKY,
    [HS_MATMUL_RECURSIVE] = HS_PARTITION_RECURSIVE,
    [HS_MATMUL_NAGAMOCHI_ABE] = HS_PARTITION_NAGAMOCHI_ABE,
    [HS_MATMUL_SNRPP] = HS_PARTITION_SNRPP,
    [HS_MATMUL_KADDOURA] = HS_PARTITION_KADDOURA,
    [HS_MATMUL_MOHAMMADI_BEHROOZI] = HS_PARTITION_MOHAMMADI_BEHROOZI,
};

static bool divides_depth(int32_t method)
{
    return method == HS_MATMUL_LAYERS || method == HS_MATMUL_CUBOIDS || method == HS_MATMUL_CANNON;
}

/* Plans by one method. */
static hs_status try_method(hs__matmul_planner *s, int32_t method)
{
    if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
    if (method == HS_MATMUL_NODES) return hs__plan_nodes(s);
    if (divides_depth(method)) {
        if (s->step && method != HS_MATMUL_CANNON) return HS_ERROR_VALUE;
        const bool some = s->product.m && s->product.n && s->product.k;
        if (some)
            return method == HS_MATMUL_CANNON ? hs__plan_cannon(s) : hs__plan_layers(s, method);
        method = HS_MATMUL_COLUMNS; /* there is nothing to divide */
    }
    const hs_status status =
        method == HS_MATMUL_COLUMNS ? hs__cut_slices(s, 1)
        : method == HS_MATMUL_ROWS  ? hs__cut_slices(s, 0)
        : method == HS_MATMUL_DOMAINS
            ? hs__cut_domains(s)
            : hs__cut_by_method(s, partitions[method], method != HS_MATMUL_RECTANGLES);
    if (status) return status;
    hs__scale_zones(s);
    return hs__plan_zones(s, method, NULL);
}

/* Returns whether some nodes have several workers, and there are several nodes. */
static bool has_many_nodes(hs__matmul_planner *s)
{
    const int32_t p = s->product.p;
    int32_t count = 0;
    for (int32_t i = 0; i < p; i++) s->first[i] = 0;
    for (int32_t i = 0; i < p; i++) count += !s->first[s->nodes[i]]++;
    return count > 1 && count < p;
}

/* Lists the methods that AUTO tries. Returns their number. */
static int list_methods(hs__matmul_planner *s, int32_t methods[HS_MATMUL_METHODS])
{
    const hs_matmul *x = &s->product;
    const bool few = x->p <= HS_MATMUL_FEW;
    bool costly = false;
    for (int32_t i = 0; x->link_costs && i < x->p; i++) costly |= x->link_costs[i] > 0.0;
    int count = 0;
    methods[count++] = HS_MATMUL_COLUMNS;
    methods[count++] = HS_MATMUL_ROWS;
    methods[count++] = HS_MATMUL_RECTANGLES;
    if (!few) return count;
    if (x->links || costly) {
        methods[count++] = HS_MATMUL_PARTITION;
        methods[count++] = HS_MATMUL_CONTIGUOUS;
    }
    if (x->links) { /* owners of A and B are defined for zones only */
        if (has_many_nodes(s)) methods[count++] = HS_MATMUL_NODES;
        return count;
    }
    if (s->step || s->options.zones_only) return count;
    methods[count++] = HS_MATMUL_LAYERS;
    if (costly) methods[count++] = HS_MATMUL_CUBOIDS;
    return count;
}

/* Tries the methods. Of several, one with too little to divide, or too much, is left out, and so is
 * one whose times overflow if another one has a plan. */
static hs_status try_methods(hs__matmul_planner *s)
{
    if (s->options.method) return try_method(s, s->options.method);
    int32_t methods[HS_MATMUL_METHODS];
    const int count = list_methods(s, methods);
    for (int i = 0; i < count; i++) {
        const hs_status status = try_method(s, methods[i]);
        if (status == HS_ERROR_VALUE && s->best.method) continue;
        if (status && status != HS_ERROR_INFEASIBLE && status != HS_ERROR_UNSUPPORTED)
            return status;
    }
    return HS_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool valid_places(int32_t p, const int32_t *of)
{
    for (int32_t i = 0; of && i < p; i++)
        if (of[i] < 0 || of[i] >= p) return false;
    return true;
}

static bool valid_options(const hs_matmul *x, const hs_matmul_options *options)
{
    if (options->method < HS_MATMUL_AUTO || options->method >= HS_MATMUL_METHODS) return false;
    if (options->block < 0 || options->block > HS__SIZE_MOST) return false;
    if ((options->stepwise | options->zones_only) & ~1) return false;
    if (options->zones_only && (options->stepwise || divides_depth(options->method))) return false;
    return valid_places(x->p, options->nodes) && valid_places(x->p, options->domains);
}

static bool valid_found(const hs_matmul_found *found)
{
    if (!found || found->box_capacity < 0 || found->message_capacity < 0) return false;
    if (found->box_capacity && (!found->boxes || !found->sent)) return false;
    return !found->message_capacity || found->messages;
}

static bool has_finite(int32_t p, const double *times)
{
    for (int32_t i = 0; i < p; i++)
        if (isfinite(times[i])) return true;
    return false;
}

static void copy(void *to, const void *from, size_t count, size_t size)
{
    if (to && count) memcpy(to, from, count * size);
}

/* Writes the best plan with its schedule; its arrays, if they have room. */
static hs_status write_best(hs__matmul_planner *s, hs_certificate *certificate)
{
    hs_matmul_found *found = s->found;
    const hs__matmul_candidate *x = &s->best;
    const size_t p = (size_t)s->product.p;
    const size_t boxes = (size_t)x->box_count;
    const bool fits =
        x->box_count <= found->box_capacity && x->message_count <= found->message_capacity;
    found->schedule.makespan = x->makespan;
    if (isinf(x->makespan)) return HS_ERROR_VALUE;
    hs_schedule schedule = fits ? found->schedule : (hs_schedule){0};
    hs_status status = hs__schedule_candidate(s, x, &schedule);
    if (!status)
        status =
            hs_certificate_of("makespan", HS_MINIMISED, x->makespan, schedule.bound, certificate);
    if (status) return status;
    found->schedule.start = schedule.start;
    found->schedule.bound = schedule.bound;
    certificate->scope = x->scope;
    found->method = x->method;
    found->box_count = x->box_count;
    found->message_count = x->message_count;
    found->layered = x->layered;
    if (!fits) return HS_OK;
    copy(found->boxes, x->boxes, boxes, sizeof *x->boxes);
    copy(found->sent, x->sent, boxes, sizeof *x->sent);
    if (x->message_count > 0)
        copy(found->messages, x->messages, (size_t)x->message_count, sizeof *x->messages);
    if (!x->layered) return HS_OK;
    copy(found->sum.rows, x->sum.rows, p + 1, sizeof *x->sum.rows);
    copy(found->sum.sent, x->sum.sent, p, sizeof *x->sum.sent);
    copy(found->sum.flops, x->sum.flops, p, sizeof *x->sum.flops);
    return HS_OK;
}

hs_status hs_matmul_best(const hs_matmul *product, const hs_matmul_options *options,
                         const int *cancel, hs_matmul_found *found, hs_certificate *certificate)
{
    hs__matmul_planner s = {.cancel = cancel, .found = found};
    if (options) s.options = *options;
    if (!hs__matmul_valid(product) || product->triangle || !valid_found(found) || !certificate)
        return HS_ERROR_VALUE;
    if (!valid_options(product, &s.options) || !has_finite(product->p, product->cycle_times))
        return HS_ERROR_VALUE;
    found->box_count = 0;
    found->message_count = -1;
    found->schedule.makespan = 0.0;
    for (int i = 0; found->tried && i < HS_MATMUL_METHODS; i++) found->tried[i] = -1.0;
    hs_status status = hs__open_planner(&s, product);
    if (!status) status = try_methods(&s);
    if (!status) status = write_best(&s, certificate);
    hs__close_planner(&s);
    return status;
}
