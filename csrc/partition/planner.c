/* hs_partition_best: a problem, its methods, the zones of a plan, and the certificate. The choice
 * between methods is in best.c. */
#include "partition/planner.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "partition/columns.h"
#include "partition/floorplan.h"
#include "partition/zones.h"

static const char *const GUILLOTINE = "guillotine partitions";

/* Allowance for zones that were given: of lengths in the unit square, and of areas relative to the
 * whole. */
static const double NEAR = 1e-9;

/* ---- problems -------------------------------------------------------------------------------- */

static bool is_matrix(const hs_partition *x) { return x->m > 0; }

/* Returns the area of the whole. */
static double whole_of(const hs_partition *x)
{
    return is_matrix(x) ? (double)x->m * (double)x->n : 1.0;
}

static bool are_groups(const hs_partition *x)
{
    if (!x->groups) return true;
    if (x->method != HS_PARTITION_BEST && x->method != HS_PARTITION_INTERVAL &&
        x->method != HS_PARTITION_GIVEN)
        return false;
    for (int32_t i = 0; i < x->p; i++)
        if (x->groups[i] < 0 || x->groups[i] >= x->p) return false;
    return !x->largest && hs__valid_costs(1, &x->group_cost);
}

/* Returns whether the options of a problem are valid; those of the areas, weights and zones are
 * checked where they are read. */
static bool are_options(const hs_partition *x)
{
    const int64_t side = INT64_C(1) << 53;
    const bool given = x->method == HS_PARTITION_GIVEN;
    if (x->p < 1 || x->p > INT32_C(1) << 29 || (x->largest != 0 && x->largest != 1)) return false;
    if (x->method < HS_PARTITION_BEST || x->method > HS_PARTITION_GIVEN ||
        x->method == HS_PARTITION_SEARCH)
        return false;
    if (x->m < 0 || x->n < 0 || x->m > side || x->n > side || (x->m > 0) != (x->n > 0))
        return false;
    if (x->method == HS_PARTITION_CONTIGUOUS && (!is_matrix(x) || x->m > side / x->n)) return false;
    if (x->columns < 0 || (x->columns > 0 && x->method != HS_PARTITION_COLUMNS)) return false;
    if (given && (x->rects ? x->each < 1 || x->each > INT32_MAX / x->p : !x->plan)) return false;
    return are_groups(x);
}

/* Takes the next `bytes` of a block of memory; bytes are multiples of 8 until integers follow. */
static void *take_memory(char **memory, size_t bytes)
{
    void *taken = *memory;
    *memory += bytes;
    return taken;
}

hs_status hs__planner_open(hs__planner *s, const hs_partition *problem, const hs_effort *effort,
                           const int *cancel)
{
    *s = (hs__planner){
        .effort = effort, .cancel = cancel, .most = 3, .scope = "", .writes_plan = true};
    if (!are_options(problem) || !hs__effort_valid(effort)) return HS_ERROR_VALUE;
    s->problem = *problem;
    s->aspect = is_matrix(problem) ? (double)problem->n / (double)problem->m : 1.0;
    if (problem->method == HS_PARTITION_GIVEN && problem->rects && problem->each > s->most)
        s->most = problem->each;
    const size_t p = (size_t)problem->p, pieces = (size_t)s->most * p;
    const size_t eights = 4 * pieces, doubles = 4 * pieces + 5 * p;
    const size_t integers = 2 * pieces + (2 * p + 1) + 2 * p + p + (p + 1);
    s->memory = malloc(8 * eights + doubles * sizeof(double) + integers * sizeof(int32_t));
    if (!s->memory) return HS_ERROR_MEMORY;
    char *free_memory = s->memory;
    s->raw = take_memory(&free_memory, 8 * eights);
    s->rects = take_memory(&free_memory, 4 * pieces * sizeof(double));
    s->spans = take_memory(&free_memory, 2 * p * sizeof(double));
    s->areas = take_memory(&free_memory, p * sizeof(double));
    s->numbers = take_memory(&free_memory, 2 * p * sizeof(double));
    s->workers = take_memory(&free_memory, pieces * sizeof(int32_t));
    s->raw_workers = take_memory(&free_memory, pieces * sizeof(int32_t));
    s->marks = take_memory(&free_memory, (2 * p + 1) * sizeof(int32_t));
    s->plan = take_memory(&free_memory, 2 * p * sizeof(int32_t));
    s->order = take_memory(&free_memory, p * sizeof(int32_t));
    s->start = take_memory(&free_memory, (p + 1) * sizeof(int32_t));
    return HS_OK;
}

void hs__planner_close(hs__planner *s) { free(s->memory); }

/* ---- zones ----------------------------------------------------------------------------------- */

/* Computes the costs of the zones, added up or the largest, and those of the groups' boxes. */
static double cost_of_zones(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    const double *spans = s->spans;
    double *costs = s->numbers;
    double most = 0.0;
    for (int32_t i = 0; i < x->p; i++) costs[i] = spans[2 * (size_t)i] + spans[2 * (size_t)i + 1];
    for (int32_t i = 0; i < x->p && x->weights; i++) costs[i] *= x->weights[i];
    for (int32_t i = 0; i < x->p && x->largest; i++) most = costs[i] > most ? costs[i] : most;
    if (x->largest) return most;
    const double sum = hs__sum(x->p, costs);
    if (!x->groups) return sum;
    int32_t groups = 0;
    for (int32_t i = 0; i < x->p; i++) groups = x->groups[i] >= groups ? x->groups[i] + 1 : groups;
    for (int32_t k = 0; k < s->pieces; k++) s->raw_workers[k] = x->groups[s->workers[k]];
    hs__zone_spans(groups, s->pieces, s->raw_workers, s->rects, s->raw, s->marks, s->numbers);
    return sum + x->group_cost * hs__sum(2 * (int64_t)groups, s->numbers);
}

/* Measures the pieces. */
static void measure_zones(hs__planner *s)
{
    const int32_t p = s->problem.p;
    hs__zone_areas(p, s->pieces, s->workers, s->rects, s->areas);
    hs__zone_spans(p, s->pieces, s->workers, s->rects, s->raw, s->marks, s->spans);
    s->cost = cost_of_zones(s);
}

/* Takes over pieces of s->raw and s->raw_workers by ascending worker; the pieces of a worker keep
 * their order. */
static void sort_pieces(hs__planner *s, int32_t pieces)
{
    const int32_t p = s->problem.p;
    int32_t *next = s->marks; /* the place of each worker's next piece */
    memset(next, 0, ((size_t)p + 1) * sizeof *next);
    for (int32_t k = 0; k < pieces; k++) next[s->raw_workers[k] + 1]++;
    for (int32_t i = 0; i < p; i++) next[i + 1] += next[i];
    for (int32_t k = 0; k < pieces; k++) {
        const int32_t worker = s->raw_workers[k];
        const int32_t at = next[worker]++;
        double *rect = s->rects + 4 * (size_t)at;
        s->workers[at] = worker;
        if (is_matrix(&s->problem)) {
            const int64_t *cells = (const int64_t *)s->raw + 4 * (size_t)k;
            for (int q = 0; q < 4; q++) rect[q] = (double)cells[q];
        } else memcpy(rect, (const double *)s->raw + 4 * (size_t)k, 4 * sizeof *rect);
    }
    s->pieces = pieces;
    measure_zones(s);
}

/* Computes and measures the zones of full columns in the unit square, without a tree of the
 * floorplan: stacks have these zones most often. */
static void lay_out_columns(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    hs__column_rects(x->p, x->areas, s->total, s->order, s->start, s->columns, s->raw, s->rects);
    int32_t pieces = 0;
    for (int32_t i = 0; i < x->p; i++) {
        const double *own = s->rects + 4 * (size_t)i;
        s->spans[2 * (size_t)i] = own[2];
        s->spans[2 * (size_t)i + 1] = own[3];
        s->areas[i] = own[2] * own[3];
        if (!(x->areas[i] > 0.0)) continue;
        if (pieces < i) memcpy(s->rects + 4 * (size_t)pieces, own, 4 * sizeof *own);
        s->workers[pieces++] = i;
    }
    s->pieces = pieces;
    s->cost = cost_of_zones(s);
}

hs_status hs__planner_lay_out(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    int32_t pieces;
    const hs_status status =
        is_matrix(x) ? hs_floorplan_tile(x->m, x->n, x->p, x->areas, s->plan, s->length, s->cancel,
                                         s->raw_workers, s->raw, &pieces)
                     : hs_floorplan_rects(x->p, x->areas, x->weights, 1.0, s->plan, s->length,
                                          s->raw_workers, s->raw, &pieces, NULL);
    if (!status) sort_pieces(s, pieces);
    return status;
}

double hs__planner_load(const hs__planner *s)
{
    const hs_partition *x = &s->problem;
    double load = 0.0;
    if (!is_matrix(x)) return 1.0;
    const double whole = hs__sum(x->p, s->areas);
    for (int32_t i = 0; i < x->p; i++)
        if (x->areas[i] > 0.0)
            load = fmax(load, s->areas[i] / whole / hs__share(x->areas[i], s->total));
    return load;
}

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
            if (is_matrix(x) && rect[q] != floor(rect[q])) return HS_ERROR_VALUE;
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
        status =
            hs_zones_flaw(is_matrix(x) ? (double)x->m : 1.0, is_matrix(x) ? (double)x->n : 1.0,
                          is_matrix(x) ? 0.0 : NEAR, s->pieces, s->rects, s->cancel, &flaw, at);
    if (!status && flaw) status = HS_ERROR_VALUE;
    if (!status) measure_zones(s);
    return status;
}

/* Returns whether the zones have the areas asked for, up to rounding; in a matrix, within a cell. */
static bool are_as_asked(const hs__planner *s)
{
    const hs_partition *x = &s->problem;
    const double whole = whole_of(x);
    const double most = is_matrix(x) ? 1.0 + NEAR * whole : NEAR;
    for (int32_t i = 0; i < x->p; i++)
        if (!(fabs(s->areas[i] - x->areas[i] / s->total * whole) < most)) return false;
    return true;
}

/* ---- methods --------------------------------------------------------------------------------- */

void hs__planner_write_columns(hs__planner *s)
{
    s->length = 0;
    for (int32_t j = 0; j < s->columns; j++) {
        for (int32_t k = s->start[j]; k < s->start[j + 1]; k++) {
            s->plan[s->length++] = s->order[k];
            if (k > s->start[j]) s->plan[s->length++] = HS_ABOVE;
        }
        if (j > 0) s->plan[s->length++] = HS_BESIDE;
    }
}

static hs_status plan_columns(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    const int32_t p = x->p;
    const int32_t columns_of_matrix = is_matrix(x) && x->n < p ? (int32_t)x->n : p;
    const int32_t rows = is_matrix(x) && x->m < p ? (int32_t)x->m : p;
    const int32_t least = x->columns ? x->columns : 1;
    const int32_t most = x->columns ? x->columns : columns_of_matrix;
    double cost;
    if (least > columns_of_matrix) return HS_ERROR_INFEASIBLE;
    const hs_status status =
        hs__columns(p, x->areas, s->total, s->size, s->aspect, least, most, rows, s->cancel, s->raw,
                    s->order, s->start, &s->columns, &cost);
    if (!status && s->writes_plan) hs__planner_write_columns(s);
    return status;
}

/* The columns of a part are those of its first operand, then of its second; HS_ABOVE joins the
 * column where they meet. */
void hs__planner_read_columns(hs__planner *s)
{
    int32_t *joined = s->marks;               /* [size] whether a worker continues a column */
    int32_t *first = s->marks + s->problem.p; /* the first worker of each part */
    int32_t parts = 0;
    int32_t size = 0;
    s->columns = 0;
    for (int32_t k = 0; k < s->length; k++) {
        if (s->plan[k] < HS_ABOVE) return;
        if (s->plan[k] >= 0) {
            joined[size] = 0;
            s->order[size] = s->plan[k];
            first[parts++] = size++;
        } else if (s->plan[k] == HS_ABOVE) joined[first[--parts]] = 1;
        else parts--;
    }
    for (int32_t k = 0; k < size; k++)
        if (!joined[k]) s->start[s->columns++] = k;
    s->start[s->columns] = size;
}

/* Leaves out workers that get nothing in a matrix, and columns without workers. */
static void drop_idle_workers(hs__planner *s)
{
    int32_t size = 0;
    int32_t columns = 0;
    for (int32_t j = 0; j < s->columns; j++) {
        const int32_t from = s->start[j], end = s->start[j + 1];
        const int32_t before = size;
        for (int32_t k = from; k < end; k++)
            if (s->areas[s->order[k]] > 0.0) s->order[size++] = s->order[k];
        if (size > before) s->start[columns++] = before;
    }
    s->start[columns] = size;
    s->columns = columns;
}

static hs_status plan_interval(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    double cost;
    if (x->largest) {
        int32_t size;
        const hs_status status = hs__sort_positive(x->p, x->areas, s->order, &size);
        return status ? status
                      : hs_partition_largest(x->p, x->areas, x->weights, s->aspect, s->order,
                                             s->cancel, s->plan, &s->length, &cost);
    }
    s->scope = x->groups
                   ? "guillotine partitions of the list of each group and of the groups sorted by"
                     " area"
                   : "guillotine partitions of the list sorted by area";
    return hs_partition_interval(x->p, x->areas, x->weights, s->aspect, NULL, x->groups,
                                 x->group_cost, 0, s->cancel, s->plan, &s->length, &cost);
}

static hs_status plan_guillotine(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    /* up to six workers, a tiling without a straight cut is a pinwheel */
    enum { PINWHEELS_ARE_ALL = 6 };
    const bool wheels = s->size <= HS_WHEELS_MOST;
    double cost;
    s->scope = GUILLOTINE;
    if (x->largest)
        return s->size > HS_LARGEST_EXACT
                   ? HS_ERROR_UNSUPPORTED
                   : hs_partition_largest(x->p, x->areas, x->weights, s->aspect, NULL, s->cancel,
                                          s->plan, &s->length, &cost);
    if (wheels)
        s->scope = s->size <= PINWHEELS_ARE_ALL ? "partitions into rectangles"
                                                : "guillotine and pinwheel partitions";
    return hs_partition_guillotine(x->p, x->areas, x->weights, s->aspect, wheels, s->cancel,
                                   s->plan, &s->length, &cost);
}

static hs_status plan_by_rule(hs__planner *s, int32_t method)
{
    const hs_partition *x = &s->problem;
    const hs_rule rule = (hs_rule)(method - HS_PARTITION_ROWS);
    double cost;
    const hs_status status =
        hs_partition_rule(rule, x->p, x->areas, s->aspect, s->cancel, s->plan, &s->length, &cost);
    if (!status && (rule == HS_RULE_ROWS || rule == HS_RULE_KALINOV_LASTOVETSKY))
        hs__planner_read_columns(s);
    return status;
}

static const char *scope_of_columns(const hs_partition *x)
{
    if (x->weights || x->largest) return "";
    return x->columns ? "partitions into this number of full columns"
                      : "partitions into full columns";
}

hs_status hs__planner_follow(hs__planner *s, int32_t method)
{
    hs_status status;
    s->method = method;
    s->columns = 0;
    s->scope = "";
    switch (method) {
    case HS_PARTITION_COLUMNS:
        status = plan_columns(s);
        s->scope = scope_of_columns(&s->problem);
        break;
    case HS_PARTITION_INTERVAL: status = plan_interval(s); break;
    case HS_PARTITION_GUILLOTINE: status = plan_guillotine(s); break;
    case HS_PARTITION_NONRECTANGULAR: status = hs__planner_around(s); break;
    default: status = plan_by_rule(s, method); break;
    }
    if (is_matrix(&s->problem)) s->scope = "";
    return status;
}

/* ---- plans and their certificates ------------------------------------------------------------ */

static hs_status plan_contiguous(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    int32_t pieces;
    s->method = HS_PARTITION_CONTIGUOUS;
    const hs_status status = hs_partition_contiguous(x->m, x->n, x->p, x->areas, s->cancel,
                                                     s->raw_workers, s->raw, &pieces);
    if (!status) sort_pieces(s, pieces);
    return status;
}

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

/* Does the same for columns in the unit square. */
static hs_status plan_square_columns(hs__planner *s)
{
    const hs_status status = plan_columns(s);
    if (status) return status;
    s->method = HS_PARTITION_COLUMNS;
    s->scope = scope_of_columns(&s->problem);
    lay_out_columns(s);
    return HS_OK;
}

/* Computes the lower bound on the cost of zones and groups with these areas. */
static hs_status find_bound(hs__planner *s, double *bound)
{
    const hs_partition *x = &s->problem;
    const hs_status status =
        hs_zones_bound(x->p, s->areas, x->weights, is_matrix(x) ? (double)x->m : 1.0,
                       is_matrix(x) ? (double)x->n : 1.0, x->largest, bound);
    if (status || !x->groups) return status;
    int32_t groups = 0;
    memset(s->numbers, 0, (size_t)x->p * sizeof *s->numbers);
    for (int32_t i = 0; i < x->p; i++) {
        s->numbers[x->groups[i]] += s->areas[i];
        groups = x->groups[i] >= groups ? x->groups[i] + 1 : groups;
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
    if (x->method == HS_PARTITION_CONTIGUOUS) return plan_contiguous(s);
    if (x->method == HS_PARTITION_COLUMNS && !is_matrix(x)) return plan_square_columns(s);
    const hs_status status = x->method != HS_PARTITION_BEST ? hs__planner_follow(s, x->method)
                             : x->groups ? hs__planner_follow(s, HS_PARTITION_INTERVAL)
                                         : hs__planner_best(s);
    return status ? status : hs__planner_lay_out(s);
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
    if (is_matrix(x) && x->m < s->size && x->n < s->size && x->m * x->n < s->size)
        return HS_ERROR_INFEASIBLE;
    hs_status status = solve(s);
    if (!status) status = certify(s, certificate);
    if (!status && s->columns) drop_idle_workers(s);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Lets the planner work in the caller's arrays: for a million workers, copies would take a large part
 * of the time. */
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
    for (size_t k = 0; k < sides && plan->cells && is_matrix(&s->problem); k++)
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
