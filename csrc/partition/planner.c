/* A partition being planned: its workspace, the zones of a plan, and most methods. */
#include "partition/planner.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/effort.h"
#include "core/numbers.h"
#include "core/sort.h"
#include "core/sum.h"
#include "partition/columns.h"
#include "partition/floorplan.h"
#include "partition/zones.h"

static const char *const GUILLOTINE = "guillotine partitions";

/* ---- problems -------------------------------------------------------------------------------- */

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

/* Returns whether the options of a problem are valid. Areas, weights and zones are checked where
 * they are read. */
static bool are_options(const hs_partition *x)
{
    const int64_t side = HS__SIZE_MOST;
    const bool given = x->method == HS_PARTITION_GIVEN;
    if (x->p < 1 || x->p > INT32_C(1) << 29 || (x->largest != 0 && x->largest != 1)) return false;
    if (x->method < HS_PARTITION_BEST || x->method > HS_PARTITION_GIVEN ||
        x->method == HS_PARTITION_SEARCH)
        return false;
    if (x->m < 0 || x->n < 0 || x->m > side || x->n > side || (x->m > 0) != (x->n > 0))
        return false;
    if (x->method == HS_PARTITION_CONTIGUOUS && (!hs__is_matrix(x) || x->m > side / x->n))
        return false;
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
    s->aspect = hs__is_matrix(problem) ? (double)problem->n / (double)problem->m : 1.0;
    if (problem->method == HS_PARTITION_GIVEN && problem->rects && problem->each > s->most)
        s->most = problem->each;
    const size_t p = (size_t)problem->p;
    const size_t pieces = (size_t)s->most * p;
    const size_t eights = 4 * pieces;
    const size_t doubles = 4 * pieces + 5 * p;
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

/* Computes the costs of the zones, added up or the largest, and the costs of the groups' boxes. */
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
    for (int32_t i = 0; i < x->p; i++) groups = (int32_t)hs__max(groups, x->groups[i] + 1);
    for (int32_t k = 0; k < s->pieces; k++) s->raw_workers[k] = x->groups[s->workers[k]];
    hs__zone_spans(groups, s->pieces, s->raw_workers, s->rects, s->raw, s->marks, s->numbers);
    return sum + x->group_cost * hs__sum(2 * (int64_t)groups, s->numbers);
}

void hs__planner_measure(hs__planner *s)
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
        if (hs__is_matrix(&s->problem)) {
            const int64_t *cells = (const int64_t *)s->raw + 4 * (size_t)k;
            for (int q = 0; q < 4; q++) rect[q] = (double)cells[q];
        } else memcpy(rect, (const double *)s->raw + 4 * (size_t)k, 4 * sizeof *rect);
    }
    s->pieces = pieces;
    hs__planner_measure(s);
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
        hs__is_matrix(x) ? hs_floorplan_tile(x->m, x->n, x->p, x->areas, s->plan, s->length,
                                             s->cancel, s->raw_workers, s->raw, &pieces)
                         : hs_floorplan_rects(x->p, x->areas, x->weights, 1.0, s->plan, s->length,
                                              s->raw_workers, s->raw, &pieces, NULL);
    if (!status) sort_pieces(s, pieces);
    return status;
}

double hs__planner_load(const hs__planner *s)
{
    const hs_partition *x = &s->problem;
    double load = 0.0;
    if (!hs__is_matrix(x)) return 1.0;
    const double whole = hs__sum(x->p, s->areas);
    for (int32_t i = 0; i < x->p; i++)
        if (x->areas[i] > 0.0)
            load = fmax(load, s->areas[i] / whole / hs__share(x->areas[i], s->total));
    return load;
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
    const int32_t columns_of_matrix = hs__is_matrix(x) && x->n < p ? (int32_t)x->n : p;
    const int32_t rows = hs__is_matrix(x) && x->m < p ? (int32_t)x->m : p;
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

/* A part has the columns of its first operand, then of its second; HS_ABOVE joins the
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

static hs_status plan_interval(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    double cost;
    if (x->largest) {
        int32_t size;
        const hs_status status = hs__sort_positive(x->p, x->areas, s->order, &size);
        if (status) return status;
        return hs_partition_largest(x->p, x->areas, x->weights, s->aspect, s->order, s->cancel,
                                    s->plan, &s->length, &cost);
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
    default: status = plan_by_rule(s, method); break;
    }
    if (hs__is_matrix(&s->problem)) s->scope = "";
    return status;
}

/* ---- plans with their zones ------------------------------------------------------------------ */

hs_status hs__planner_contiguous(hs__planner *s)
{
    const hs_partition *x = &s->problem;
    int32_t pieces;
    s->method = HS_PARTITION_CONTIGUOUS;
    const hs_status status = hs_partition_contiguous(x->m, x->n, x->p, x->areas, s->cancel,
                                                     s->raw_workers, s->raw, &pieces);
    if (!status) sort_pieces(s, pieces);
    return status;
}

hs_status hs__planner_square_columns(hs__planner *s)
{
    const hs_status status = plan_columns(s);
    if (status) return status;
    s->method = HS_PARTITION_COLUMNS;
    s->scope = scope_of_columns(&s->problem);
    lay_out_columns(s);
    return HS_OK;
}
