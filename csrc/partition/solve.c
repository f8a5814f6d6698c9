/* hs_partition_best: plans and zones that were given, with their certificates. */
#include <math.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/sum.h"
#include "partition/floorplan.h"
#include "partition/planner.h"
#include "partition/zones.h"

/* Allowance for zones that were given: of lengths in the unit square, and of areas relative to the
 * whole. */
static const double NEAR = 1e-9;

/* The sides and the area of the whole: a matrix, or the unit square. */
static double height_of(const hs_partition *x) { return hs__is_matrix(x) ? (double)x->m : 1.0; }
static double width_of(const hs_partition *x) { return hs__is_matrix(x) ? (double)x->n : 1.0; }
static double whole_of(const hs_partition *x) { return height_of(x) * width_of(x); }

/* ---- zones that were given ------------------------------------------------------------------- */

/* Reads the caller's rectangles that have an area. HS_ERROR_VALUE if one belongs to a worker
 * without area, or is not of whole cells in a matrix. */
static hs_status read_rects(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    s->pieces = 0;
    for (int32_t k = 0; k < x->each * x->p; k++) {
        const double *rect = x->rects + 4 * (size_t)k;
        for (int q = 0; q < 4; q++) {
            if (!(rect[q] >= 0.0 && isfinite(rect[q]))) return HS_ERROR_VALUE;
            if (hs__is_matrix(x) && rect[q] != floor(rect[q])) return HS_ERROR_VALUE;
        }
        if (!(rect[2] > 0.0 && rect[3] > 0.0)) continue;
        const int32_t worker = k / x->each;
        if (!(x->areas[worker] > 0.0)) return HS_ERROR_VALUE;
        memcpy(s->rects + 4 * (size_t)s->pieces, rect, 4 * sizeof *rect);
        s->workers[s->pieces++] = worker;
    }
    return HS_OK;
}

static hs_status certify_rects(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    int32_t flaw, at[2];
    hs_status status = read_rects(s);
    if (!status)
        status = hs_zones_flaw(height_of(x), width_of(x), hs__is_matrix(x) ? 0.0 : NEAR, s->pieces,
                               s->rects, s->cancel, &flaw, at);
    if (!status && flaw) status = HS_ERROR_VALUE;
    if (!status) hs__planner_measure(s);
    return status;
}

/* Returns whether the zones have the areas asked for, up to rounding, or within a cell. */
static bool are_as_asked(const hs__planner *s)
{
    const hs_partition *x = &s->problem;
    const double whole = whole_of(x);
    const double most = hs__is_matrix(x) ? 1.0 + NEAR * whole : NEAR;
    for (int32_t i = 0; i < x->p; i++)
        if (!(fabs(s->areas[i] - x->areas[i] / s->total * whole) < most)) return false;
    return true;
}

/* Leaves out workers that get nothing in a matrix, and columns without workers. */
static void drop_idle_workers(hs__planner *s)
{
    int32_t size = 0;
    int32_t columns = 0;
    for (int32_t j = 0; j < s->columns; j++) {
        const int32_t from = s->start[j];
        const int32_t end = s->start[j + 1];
        const int32_t before = size;
        for (int32_t k = from; k < end; k++)
            if (s->areas[s->order[k]] > 0.0) s->order[size++] = s->order[k];
        if (size > before) s->start[columns++] = before;
    }
    s->start[columns] = size;
    s->columns = columns;
}

/* ---- plans and their certificates ------------------------------------------------------------ */

static hs_status plan_given(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    s->method = HS_PARTITION_GIVEN;
    if (x->rects) return certify_rects(s);
    if (x->length < 1 || x->length >= 2 * x->p) return HS_ERROR_VALUE;
    memcpy(s->plan, x->plan, (size_t)x->length * sizeof *s->plan);
    s->length = x->length;
    const hs_status status = hs__planner_lay_out(s);
    if (!status) hs__planner_read_columns(s);
    return status;
}

/* Computes the lower bound on the cost of zones and groups with these areas. */
static hs_status find_bound(hs__planner *s, double *bound)
{
    const hs_partition *x = &s->problem;
    const hs_status status =
        hs_zones_bound(x->p, s->areas, x->weights, height_of(x), width_of(x), x->largest, bound);
    if (status || !x->groups) return status;
    int32_t groups = 0;
    memset(s->numbers, 0, (size_t)x->p * sizeof *s->numbers);
    for (int32_t i = 0; i < x->p; i++) {
        s->numbers[x->groups[i]] += s->areas[i];
        groups = (int32_t)hs__max(groups, x->groups[i] + 1);
    }
    for (int32_t g = 0; g < groups; g++) s->numbers[g] = sqrt(s->numbers[g]);
    *bound += x->group_cost * 2.0 * hs__sum(groups, s->numbers);
    return HS_OK;
}

static hs_status certify(hs__planner *s, hs_certificate *certificate)
{
    double bound;
    if (!isfinite(s->cost)) return HS_ERROR_VALUE;
    hs_status status = find_bound(s, &bound);
    if (!status) status = hs_certificate_of("cost", HS_MINIMISED, s->cost, bound, certificate);
    if (status) return status;
    certificate->scope = s->scope;
    if (s->problem.rects && certificate->optimal && !are_as_asked(s)) {
        certificate->optimal = 0;
        certificate->scope = "zones of the areas that they have";
    }
    return HS_OK;
}

static hs_status solve(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    if (x->method == HS_PARTITION_GIVEN) return plan_given(s);
    if (x->method == HS_PARTITION_CONTIGUOUS) return hs__planner_contiguous(s);
    if (x->method == HS_PARTITION_COLUMNS && !hs__is_matrix(x))
        return hs__planner_square_columns(s);
    const bool grouped = x->method == HS_PARTITION_BEST && x->groups;
    const hs_status status = hs__planner_find(s, grouped ? HS_PARTITION_INTERVAL : x->method);
    if (status) return status;
    return hs__planner_lay_out(s);
}

hs_status hs__planner_solve(hs__planner *s, const double *areas, const double *rects,
                            hs_certificate *certificate)
{
    hs_partition *x = &s->problem;
    x->areas = areas;
    x->rects = x->method == HS_PARTITION_GIVEN ? rects : NULL;
    s->total = hs__partition_total(x->p, areas, x->weights, s->aspect, &s->size);
    s->length = s->columns = 0;
    s->scope = "";
    if (!(s->total > 0.0)) return HS_ERROR_VALUE;
    if (hs__cancelled(s->cancel)) return HS_ERROR_CANCELLED;
    if (hs__is_matrix(x) && x->m < s->size && x->n < s->size && x->m * x->n < s->size)
        return HS_ERROR_INFEASIBLE;
    hs_status status = solve(s);
    if (!status) status = certify(s, certificate);
    if (!status && s->columns) drop_idle_workers(s);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Lets the planner work in the caller's arrays: for a million workers, copies would take a large
 * part of the time. */
static void use_arrays(hs__planner *s, const hs_partition_plan *plan)
{
    if (plan->plan) s->plan = plan->plan;
    if (plan->order) s->order = plan->order;
    if (plan->column_start) s->start = plan->column_start;
    if (plan->workers) s->workers = plan->workers;
    if (plan->rects) s->rects = plan->rects;
    if (plan->areas) s->areas = plan->areas;
}

static void write_result(const hs__planner *s, hs_partition_plan *plan)
{
    const size_t sides = 4 * (size_t)s->pieces;
    plan->method = s->method;
    plan->length = s->length;
    plan->columns = s->columns;
    plan->pieces = s->pieces;
    for (size_t k = 0; k < sides && plan->cells && hs__is_matrix(&s->problem); k++)
        plan->cells[k] = (int64_t)s->rects[k];
}

hs_status hs_partition_best(const hs_partition *problem, const hs_effort *effort, const int *cancel,
                            hs_partition_plan *plan, hs_certificate *certificate)
{
    if (!problem || !problem->areas || !plan || !certificate) return HS_ERROR_VALUE;
    hs__planner s;
    hs_certificate found;
    hs_status status = hs__planner_open(&s, problem, effort, cancel);
    if (!status) {
        use_arrays(&s, plan);
        status = hs__planner_solve(&s, problem->areas, problem->rects, &found);
    }
    if (!status) {
        write_result(&s, plan);
        *certificate = found;
    }
    hs__planner_close(&s);
    return status;
}
