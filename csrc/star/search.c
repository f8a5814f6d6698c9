/* hs_star_search: plans beyond the rules of the paper. It chooses together what each worker holds,
 * the shape of its chunks and its number of columns. A plan is a share for each worker. Its
 * makespan is simulated; the simulation stops as soon as the plan cannot be better. Plans by rows
 * are plans by columns of C^T = B^T A^T.
 *
 * Drafts come from a relaxation, for each operand that workers may hold; each draft is annealed,
 * and the best plan is annealed longer. Streamed chunks and chunks ahead are then tried in searches
 * of their own. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/sort.h"
#include "core/numbers.h"
#include "core/random.h"
#include "star/star.h"

enum {
    OPTIONS = 10,
    ORDERS = 3,
    FEW_PANELS = 64,
    TRIALS = 1000,
    OVERHEAD = 32,
    MANY = 32,
    FEW_MESSAGES = 1 << 16
};
enum { STREAMS = 1, AHEAD = 2 }; /* extras, each with a search of its own */
static const int32_t orders[ORDERS] = {HS_STAR_LAGGING, HS_STAR_STARVING, HS_STAR_DEMAND};

/* ---- shares and chunks ----------------------------------------------------------------------- */

/* Returns whether the largest chunk of a share fits, together with another chunk if it is loaded
 * ahead. */
static int share_fits(const hs_star *star, int32_t i, const hs_star_share *share)
{
    const hs_star_chunk largest = {.held = share->held,
                                   .buffers = share->buffers,
                                   .height = hs__ceil_div(star->r, share->rows),
                                   .width = hs__ceil_div(share->columns, share->panels),
                                   .depth = 1};
    const int two = share->ahead && (share->rows > 1 || share->panels > 1);
    return hs__star_fits(star->t, &largest,
                         star->memory[i] - (two ? largest.height * largest.width : 0));
}

static int valid_share(const hs_star *star, int32_t i, const hs_star_share *share)
{
    if (share->columns == 0) return 1;
    return share->columns > 0 && share->columns <= star->s && share->rows >= 1 &&
           share->rows <= star->r && share->panels >= 1 && share->panels <= share->columns &&
           share->held >= HS_STAR_HOLD_C && share->held <= HS_STAR_HOLD_B &&
           share->buffers >= HS_STAR_STREAM_A && share->buffers <= 2 &&
           (share->buffers > 0 || share->held == HS_STAR_HOLD_C) && share->ahead >= 0 &&
           share->ahead <= (share->held == HS_STAR_HOLD_C) && share_fits(star, i, share);
}

static int64_t count_chunks(int32_t p, const hs_star_share *shares)
{
    int64_t count = 0;
    for (int32_t i = 0; i < p; i++)
        if (shares[i].columns) count += shares[i].rows * shares[i].panels;
    return count;
}

/* Estimates the number of messages. */
static double count_messages(const hs_star *star, const hs_star_share *shares)
{
    double count = 0.0;
    for (int32_t i = 0; i < star->p; i++) {
        const hs_star_share *x = &shares[i];
        if (!x->columns) continue;
        const double rows = (double)x->rows;
        const double panels = (double)x->panels;
        if (x->buffers == HS_STAR_STREAM_A) count += panels * (double)star->r * (double)star->t;
        else if (x->held == HS_STAR_HOLD_C) count += rows * panels * (double)star->t;
        else
            count += 2.0 * (x->held == HS_STAR_HOLD_A ? rows * (double)x->columns
                                                      : panels * (double)star->r);
    }
    return count;
}

/* Returns where part k of `count` equal parts begins. */
static int64_t begin_of_part(int64_t whole, int64_t count, int64_t k)
{
    return whole / count * k + hs__min(k, whole % count);
}

/* Cuts shares into chunks. panels: the largest number of panels per chunk. */
static void cut_shares(const hs_star *star, const hs_star_share *shares, int64_t panels,
                       hs_star_chunk *chunks)
{
    int64_t left = 0;
    for (int32_t i = 0; i < star->p; left += shares[i++].columns) {
        const hs_star_share *x = &shares[i];
        for (int64_t k = 0; x->columns && k < x->rows * x->panels; k++) {
            const int64_t row = k % x->rows;
            const int64_t col = k / x->rows;
            const int64_t top = begin_of_part(star->r, x->rows, row);
            const int64_t from = begin_of_part(x->columns, x->panels, col);
            *chunks =
                (hs_star_chunk){.worker = i,
                                .held = x->held,
                                .buffers = x->buffers,
                                .row = top,
                                .col = left + from,
                                .height = begin_of_part(star->r, x->rows, row + 1) - top,
                                .width = begin_of_part(x->columns, x->panels, col + 1) - from};
            chunks->ahead = x->ahead && k;
            chunks->depth = x->buffers > 0
                                ? hs__ceil_div(hs__chunk_traffic_of(star->t, chunks).length, panels)
                                : 1;
            chunks++;
        }
    }
}

static hs_star transpose_star(const hs_star *star)
{
    hs_star other = *star;
    other.r = star->s;
    other.s = star->r;
    return other;
}

hs_status hs_star_cut(const hs_star *star, int32_t by_rows, const hs_star_share *shares,
                      int64_t *count, hs_star_chunk *chunks)
{
    if (!shares || !count) return HS_ERROR_VALUE;
    if (!hs__star_valid(star)) return HS_ERROR_VALUE;
    const hs_star upright = by_rows ? transpose_star(star) : *star;
    int64_t columns = 0;
    double total = 0.0;
    for (int32_t i = 0; i < star->p; i++) {
        if (!valid_share(&upright, i, &shares[i])) return HS_ERROR_VALUE;
        columns += shares[i].columns;
        if (shares[i].columns) total += (double)shares[i].rows * (double)shares[i].panels;
    }
    if (columns != upright.s || total > (double)PTRDIFF_MAX / sizeof *chunks) return HS_ERROR_VALUE;
    *count = count_chunks(star->p, shares);
    if (!chunks) return HS_OK;
    cut_shares(&upright, shares, INT32_MAX, chunks);
    for (int64_t k = 0; by_rows && k < *count; k++) {
        hs_star_chunk *x = &chunks[k];
        const int64_t row = x->col;
        const int64_t height = x->width;
        x->col = x->row;
        x->width = x->height;
        x->row = row;
        x->height = height;
        if (x->held == HS_STAR_HOLD_A) x->held = HS_STAR_HOLD_B;
        else if (x->held == HS_STAR_HOLD_B) x->held = HS_STAR_HOLD_A;
        if (x->buffers == HS_STAR_STREAM_A) x->buffers = HS_STAR_STREAM_B;
    }
    return HS_OK;
}

/* ---- options of a worker --------------------------------------------------------------------- */

/* A way to hold an operand and to cut: chunks of at most height x width. */
typedef struct option {
    int32_t held, buffers, ahead;
    int64_t rows, width;
    /* blocks on the port: once at the start, and per column, if there are many columns */
    double load, column;
} option;

typedef struct worker {
    int32_t count;
    option options[OPTIONS];
} worker;

typedef struct search {
    const hs_star *star; /* the star in the orientation that is searched, by columns */
    hs__port port;
    worker *workers;
    hs_star_chunk *chunks;
    int64_t room, effort;
    double bound; /* lower bound: no plan is better */
    /* largest number of panels per chunk: reduced to save time if plans have very many messages */
    int64_t panels;
    /* the extra that is among the options, or 0; each extra has a separate search */
    int extras;
    uint64_t random;
} search;

static void add_option(worker *w, const option *x)
{
    if (w->count < OPTIONS && x->width > 0) w->options[w->count++] = *x;
}

/* Returns the width of the widest chunk of C with so many rows, if a second one is loaded ahead
 * where `ahead` is set; 0: none fits. */
static int64_t widest_chunk(int64_t memory, int64_t height, int32_t buffers, int32_t ahead)
{
    if (buffers == HS_STAR_STREAM_A) return (memory - 1) / (height + 1);
    const int64_t left = memory - buffers * height;
    const int64_t column = (1 + ahead) * height + buffers;
    return left < column ? 0 : left / column;
}

/* Returns the side of the largest square chunk: with two panels as in the paper, with two panels
 * and a second chunk ahead, with one panel, or streamed. */
static int64_t largest_square(int64_t memory, int32_t buffers, int32_t ahead)
{
    int32_t layout = ahead ? HS_STAR_PAIR : HS_STAR_DOUBLE;
    if (buffers == HS_STAR_STREAM_A) layout = HS_STAR_SINGLE;
    int64_t side = hs_star_side(memory, layout);
    while (buffers == 1 && (side + 1) * (side + 3) <= memory) side++;
    return side;
}

/* Adds options that hold C: the two numbers of row parts with the least traffic. Returns 0 if no
 * chunk fits, or, for extras, if there are too many messages to try them. */
static int add_squarish(const hs_star *star, int64_t m, int32_t buffers, int32_t ahead, worker *w)
{
    const double r = (double)star->r;
    const double s = (double)star->s;
    const double t = (double)star->t;
    const int64_t side = largest_square(m, buffers, ahead);
    if (!side) return 0;
    const int streamed = buffers == HS_STAR_STREAM_A;
    if ((streamed || ahead) &&
        r * s * t > (double)FEW_MESSAGES * (double)side * (streamed ? 1.0 : (double)side))
        return 0;
    option best[2] = {{.column = INFINITY}, {.column = INFINITY}};
    const int64_t first = hs__ceil_div(star->r, side);
    for (int64_t rows = hs__max(first - 2, 1); rows <= star->r && rows <= first + 3; rows++) {
        const int64_t width = widest_chunk(m, hs__ceil_div(star->r, rows), buffers, ahead);
        if (!width) continue;
        const double column = t * ((double)rows + r / (double)hs__min(width, star->s));
        const int worse = column >= best[0].column;
        if (column >= best[worse].column) continue;
        if (!worse) best[1] = best[0];
        best[worse] = (option){.held = HS_STAR_HOLD_C,
                               .buffers = buffers,
                               .ahead = ahead,
                               .rows = rows,
                               .width = width,
                               .column = column};
    }
    for (int k = 0; k < 2; k++) {
        best[k].column += 2.0 * r;
        add_option(w, &best[k]);
    }
    return 1;
}

/* Lists the options of a worker; with `extras` also streamed chunks, or chunks loaded ahead. */
static void list_options(const hs_star *star, int32_t i, int extras, worker *w)
{
    const int64_t r = star->r;
    const int64_t s = star->s;
    const int64_t t = star->t;
    const int64_t m = star->memory[i];
    const double c_both = 2.0 * (double)r;
    w->count = 0;
    for (int32_t buffers = 2; buffers >= 1; buffers--) {
        if (!add_squarish(star, m, buffers, 0, w)) continue;
        /* chunks of A or B, with t on one side */
        const int64_t other = widest_chunk(m, t, buffers, 0);
        if (!other) continue;
        const int64_t rows = hs__ceil_div(r, hs__min(other, r));
        const int64_t width = hs__min(other, s);
        const double a = (double)r * (double)t;
        const double a_again = (double)rows * (double)t + c_both;
        const double b_again = a / (double)width + (double)t + c_both;
        add_option(w, &(option){.held = HS_STAR_HOLD_A,
                                .buffers = buffers,
                                .rows = rows,
                                .width = s,
                                .load = a,
                                .column = a_again});
        add_option(w, &(option){.held = HS_STAR_HOLD_B,
                                .buffers = buffers,
                                .rows = 1,
                                .width = width,
                                .column = b_again});
    }
    if (extras == STREAMS) add_squarish(star, m, HS_STAR_STREAM_A, 0, w);
    if (extras == AHEAD) add_squarish(star, m, 2, 1, w);
}

static void set_share(hs_star_share *share, const option *x, int64_t columns)
{
    *share = (hs_star_share){.columns = columns,
                             .rows = x->rows,
                             .panels = columns ? hs__ceil_div(columns, x->width) : 1,
                             .held = x->held,
                             .buffers = x->buffers,
                             .ahead = x->ahead};
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* Computes the makespan, or some value that is not below the limit; INFINITY for a plan with too
 * many messages. */
static hs_status evaluate_plan(search *x, const hs_star_share *shares, int32_t order, double limit,
                               double *makespan)
{
    *makespan = INFINITY;
    if (count_messages(x->star, shares) > HS_STAR_MESSAGES) return HS_OK;
    const int64_t count = count_chunks(x->star->p, shares);
    if (count > x->room) {
        free(x->chunks);
        x->room = count + count / 2;
        x->chunks = malloc((size_t)x->room * sizeof *x->chunks);
        if (!x->chunks) {
            x->room = 0;
            return HS_ERROR_MEMORY;
        }
    }
    cut_shares(x->star, shares, x->panels, x->chunks);
    hs_status status = hs__port_list(&x->port, count, x->chunks);
    if (status) return status;
    x->port.limit = limit;
    *makespan = x->port.coming;
    for (int32_t i = 0; i < x->star->p; i++) *makespan = fmax(*makespan, x->port.states[i].rest);
    x->effort -= count + x->star->p;
    if (*makespan >= limit) return HS_OK;
    status = hs__port_serve(&x->port, order, 0, NULL);
    x->effort -= x->port.message_count * (1 + x->star->p / 64);
    *makespan =
        x->port.coming > 0.0 && x->port.now + x->port.coming >= limit ? INFINITY : x->port.now;
    return status;
}

/* ---- starting points ------------------------------------------------------------------------- */

/* A draft: an option for each worker, -1 for none, and real numbers of columns. */
typedef struct draft {
    int32_t *choice, *by_cost; /* [p]; workers, by the time on the port for a column */
    double *columns, *cost;    /* [p] */
} draft;

/* Assigns columns that can be done by the time T, first to workers with the cheapest columns for
 * the port; returns the time on the port, infinite if columns are left. */
static double fill_draft(const search *x, draft *d, double time)
{
    const hs_star *star = x->star;
    double left = (double)star->s;
    double port = 0.0;
    for (int32_t k = 0; k < star->p; k++) {
        const int32_t i = d->by_cost[k];
        d->columns[i] = 0.0;
        if (d->choice[i] < 0 || left <= 0.0) continue;
        const double load = x->workers[i].options[d->choice[i]].load * star->link_costs[i];
        const double most =
            (time - load) / (star->cycle_times[i] * (double)star->r * (double)star->t);
        if (most <= 0.0) continue;
        d->columns[i] = fmin(most, left);
        left -= d->columns[i];
        port += load + d->columns[i] * d->cost[i];
    }
    return left > 0.0 ? INFINITY : port;
}

/* Computes the least time of the relaxation: a worker waits only for its load, the port never
 * waits. anew: the workers are not sorted by cost yet. */
static double relax_draft(const search *x, draft *d, int anew)
{
    const hs_star *star = x->star;
    double low = 0.0;
    double high = INFINITY;
    for (int32_t i = 0; i < star->p; i++) {
        d->cost[i] = INFINITY;
        if (d->choice[i] < 0) continue;
        const option *own = &x->workers[i].options[d->choice[i]];
        d->cost[i] = own->column * star->link_costs[i];
        const double alone = star->cycle_times[i] * (double)star->r * (double)star->t + d->cost[i];
        high = fmin(high, own->load * star->link_costs[i] + (double)star->s * alone);
    }
    if (anew && hs__sort(star->p, d->cost, d->by_cost) != HS_OK)
        for (int32_t i = 0; i < star->p; i++) d->by_cost[i] = i;
    /* insertion sort: the order is nearly the same as in the previous call */
    for (int32_t k = 1; k < star->p; k++) {
        const int32_t i = d->by_cost[k];
        int32_t at = k;
        for (; at && d->cost[d->by_cost[at - 1]] > d->cost[i]; at--)
            d->by_cost[at] = d->by_cost[at - 1];
        d->by_cost[at] = i;
    }
    while (fill_draft(x, d, high) > high) high *= 2.0;
    for (int step = 0; step < 50; step++) {
        const double middle = low + (high - low) / 2;
        if (fill_draft(x, d, middle) > middle) low = middle;
        else high = middle;
    }
    fill_draft(x, d, high);
    return high;
}

/* Returns the option with the least traffic for so many columns. With `held` or ONLY_AHEAD, only
 * options of that kind count, if there are any; ANY: all options. */
enum { ANY = -1, ONLY_AHEAD = 3 };
#define NEARLY 1.05 /* a search goes on from plans up to this factor above the best */
static int32_t cheapest_option(const worker *w, double columns, int32_t held)
{
    int32_t best = -1;
    for (int32_t k = 0; k < w->count; k++) {
        if (held != ANY && (held == ONLY_AHEAD ? !w->options[k].ahead : w->options[k].held != held))
            continue;
        if (best < 0 || w->options[k].load + w->options[k].column * columns <
                            w->options[best].load + w->options[best].column * columns)
            best = k;
    }
    return best < 0 && held != ANY ? cheapest_option(w, columns, ANY) : best;
}

/* Makes a draft by the relaxation: chooses options and columns, then options again for the columns
 * that each worker has. Then leaves workers out while that helps. */
static double make_draft(const search *x, int32_t held, draft *d)
{
    const hs_star *star = x->star;
    double best = INFINITY;
    int32_t able = 0;
    for (int32_t i = 0; i < star->p; i++) able += x->workers[i].count > 0;
    for (int round = 0; round < 3; round++) {
        for (int32_t i = 0; i < star->p; i++)
            if (round == 0 || d->columns[i] > 0.0)
                d->choice[i] = cheapest_option(
                    &x->workers[i], round ? d->columns[i] : (double)star->s / able, held);
        best = relax_draft(x, d, round == 0);
    }
    for (int32_t k = star->p, trials = 64;
         k-- > 0 && trials > 0 && !hs__cancelled(x->port.cancel);) {
        const int32_t i = d->by_cost[k];
        const int32_t kept = d->choice[i];
        if (kept < 0 || d->columns[i] == 0.0) continue;
        trials--;
        d->choice[i] = -1;
        const double other = able > 1 ? relax_draft(x, d, 0) : INFINITY;
        if (other < best) {
            best = other;
            able--;
        } else {
            d->choice[i] = kept;
        }
    }
    return relax_draft(x, d, 0);
}

/* Rounds the columns down and gives the rest to the largest fractions. */
static void round_draft(const search *x, const draft *d, hs_star_share *shares)
{
    const int32_t p = x->star->p;
    int64_t left = x->star->s;
    for (int32_t i = 0; i < p; i++) {
        int64_t columns = d->choice[i] < 0 ? 0 : (int64_t)d->columns[i];
        if (columns > left) columns = left;
        shares[i] = (hs_star_share){.columns = columns};
        left -= columns;
    }
    while (left) {
        int32_t best = -1;
        for (int32_t i = 0; i < p; i++)
            if (d->choice[i] >= 0 &&
                (best < 0 || d->columns[i] - (double)shares[i].columns >
                                 d->columns[best] - (double)shares[best].columns))
                best = i;
        shares[best].columns++;
        left--;
    }
    for (int32_t i = 0; i < p; i++)
        if (shares[i].columns)
            set_share(&shares[i], &x->workers[i].options[d->choice[i]], shares[i].columns);
}

/* ---- annealing ------------------------------------------------------------------------------- */

/* Changes shares or the order at random; returns 0 if the change is void. */
static int disturb_plan(search *x, hs_star_share *shares, int32_t *order)
{
    const int32_t p = x->star->p;
    const int32_t i = (int32_t)hs__random_below(&x->random, p);
    const int32_t j = (int32_t)hs__random_below(&x->random, p);
    const worker *w = &x->workers[i];
    hs_star_share *a = &shares[i];
    hs_star_share *b = &shares[j];
    const int64_t move = hs__random_below(&x->random, 16);
    if (move == 0) {
        const int32_t other = orders[hs__random_below(&x->random, ORDERS)];
        if (other == *order) return 0;
        *order = other;
        return 1;
    }
    if (!w->count) return 0;
    if (move < 4) { /* another option */
        if (!a->columns) return 0;
        set_share(a, &w->options[hs__random_below(&x->random, w->count)], a->columns);
        return 1;
    }
    if (move < 6) { /* smaller or larger chunks */
        if (!a->columns || a->held == HS_STAR_HOLD_A) return 0;
        a->panels += move == 4 ? 1 : -1;
        return a->panels >= 1 && a->panels <= a->columns && share_fits(x->star, i, a);
    }
    /* columns move from j to i */
    if (i == j || !b->columns) return 0;
    int64_t most = b->columns;
    if (move < 15 && most > 1) most = most / (move < 11 ? 16 : 3) + 1;
    const int64_t moved = move == 15 ? b->columns : 1 + hs__random_below(&x->random, most);
    if (!a->columns) {
        set_share(a, &w->options[cheapest_option(w, (double)moved, ANY)], moved);
    } else {
        const int64_t width = hs__ceil_div(a->columns, a->panels);
        a->columns += moved;
        if (a->held != HS_STAR_HOLD_A && hs__ceil_div(a->columns, a->panels) > width &&
            !share_fits(x->star, i, a))
            a->panels++;
        if (!share_fits(x->star, i, a)) return 0;
    }
    b->columns -= moved;
    if (b->panels > b->columns) b->panels = b->columns ? b->columns : 1;
    return 1;
}

typedef struct plan {
    hs_star_share *shares; /* [p] */
    int32_t by_rows, order;
    double makespan;
} plan;

static void copy_plan(int32_t p, plan *to, const plan *from)
{
    memcpy(to->shares, from->shares, (size_t)p * sizeof *to->shares);
    to->by_rows = from->by_rows;
    to->order = from->order;
    to->makespan = from->makespan;
}

static hs_status anneal_plan(search *x, double temperature, int64_t effort, plan *now, plan *trial,
                             plan *best)
{
    const int32_t p = x->star->p;
    const int64_t start = x->effort;
    while (start - x->effort < effort && best->makespan > x->bound) {
        if (hs__cancelled(x->port.cancel)) return HS_ERROR_CANCELLED;
        const double hot = temperature * (1.0 - (double)(start - x->effort) / (double)effort);
        const double limit = now->makespan * (1.0 - hot * log(1.0 - hs__random_unit(&x->random)));
        copy_plan(p, trial, now);
        x->effort -= OVERHEAD + p;
        if (!disturb_plan(x, trial->shares, &trial->order)) continue;
        const hs_status status = evaluate_plan(x, trial->shares, trial->order,
                                               nextafter(limit, INFINITY), &trial->makespan);
        if (status) return status;
        if (trial->makespan > limit) continue;
        copy_plan(p, now, trial);
        if (now->makespan < best->makespan) copy_plan(p, best, now);
    }
    return HS_OK;
}

/* ---- entry ----------------------------------------------------------------------------------- */

/* Sets the orientation to search from now on. */
static void set_orientation(search *x, const hs_star *star)
{
    x->star = star;
    x->port.r = star->r;
    x->port.s = star->s;
    for (int32_t i = 0; i < star->p; i++) list_options(star, i, x->extras, &x->workers[i]);
}

/* Finds the best plan of a draft, over the orders of the port; annealing starts from it. */
static hs_status begin_with(search *x, int32_t held, draft *d, plan *now, plan *trial)
{
    make_draft(x, held, d);
    round_draft(x, d, trial->shares);
    now->makespan = INFINITY;
    for (int32_t k = 0; k < ORDERS && (x->effort > 0 || now->makespan == INFINITY); k++) {
        trial->order = orders[k];
        const hs_status status =
            evaluate_plan(x, trial->shares, trial->order, now->makespan, &trial->makespan);
        if (status) return status;
        if (trial->makespan < now->makespan) copy_plan(x->star->p, now, trial);
    }
    return HS_OK;
}

/* Searches with extras among the options. This is a separate search, so that the search without
 * extras has the same result as before. */
static hs_status run_with(search *x, int extras, const hs_star orientations[2], int64_t effort,
                          draft *d, plan *now, plan *trial, plan *other, plan *best)
{
    const int32_t p = orientations[0].p;
    int any = 0;
    if (best->makespan <= x->bound) return HS_OK;
    x->extras = extras;
    x->effort = effort;
    other->makespan = INFINITY;
    for (int32_t by_rows = 0; by_rows < 2; by_rows++) {
        set_orientation(x, &orientations[by_rows]);
        for (int32_t i = 0; i < p; i++)
            for (int32_t k = 0; k < x->workers[i].count; k++)
                any |= x->workers[i].options[k].buffers == HS_STAR_STREAM_A ||
                       x->workers[i].options[k].ahead;
        if (!any) return HS_OK;
        trial->by_rows = by_rows;
        hs_status status = begin_with(x, extras == AHEAD ? ONLY_AHEAD : ANY, d, now, trial);
        if (status) return status;
        if (now->makespan < other->makespan) copy_plan(p, other, now);
        if (now->makespan < INFINITY) status = anneal_plan(x, 0.02, effort / 16, now, trial, other);
        if (status) return status;
    }
    if (other->makespan > best->makespan * NEARLY) return HS_OK;
    set_orientation(x, &orientations[other->by_rows]);
    copy_plan(p, now, other);
    const hs_status status = anneal_plan(x, 0.005, x->effort, now, trial, other);
    if (!status && other->makespan < best->makespan) copy_plan(p, best, other);
    return status;
}

static hs_status run_search(search *x, const hs_star *star, draft *d, plan *now, plan *trial,
                            plan *other, plan *best)
{
    const int32_t p = star->p;
    const int64_t effort = x->effort;
    const int32_t dearness = 1 + p / 64; /* simulations are expensive with many workers */
    const hs_star orientations[] = {*star, transpose_star(star)};
    double bounds[HS_STAR_BOUNDS];
    hs_status status = hs_star_bounds(star, HS_STAR_DOUBLE, x->port.cancel, bounds);
    if (status) return status;
    x->bound = fmax(bounds[HS_STAR_WORK], fmax(bounds[HS_STAR_TRANSFER], bounds[HS_STAR_LOOMIS])) *
               (1.0 + 1e-12);
    best->makespan = INFINITY;
    for (int32_t by_rows = 0; by_rows < 2; by_rows++) {
        set_orientation(x, &orientations[by_rows]);
        trial->by_rows = by_rows;
        for (int32_t held = ANY;
             held <= HS_STAR_HOLD_B && (x->effort > 0 || best->makespan == INFINITY); held++) {
            make_draft(x, held, d);
            round_draft(x, d, trial->shares);
            if (best->makespan == INFINITY &&
                count_messages(&orientations[0], trial->shares) * dearness >
                    (double)effort / TRIALS)
                x->panels = FEW_PANELS;
            now->makespan = INFINITY;
            for (int32_t k = 0; k < ORDERS && (x->effort > 0 || now->makespan == INFINITY); k++) {
                trial->order = orders[k];
                status =
                    evaluate_plan(x, trial->shares, trial->order, now->makespan, &trial->makespan);
                if (status) return status;
                if (trial->makespan < now->makespan) copy_plan(p, now, trial);
            }
            if (now->makespan < best->makespan) copy_plan(p, best, now);
            if (now->makespan == INFINITY) continue;
            status = anneal_plan(x, 0.02, effort / 16, now, trial, best);
            if (status) return status;
        }
    }
    if (best->makespan == INFINITY) return HS_ERROR_UNSUPPORTED;
    set_orientation(x, &orientations[best->by_rows]);
    copy_plan(p, now, best);
    status = anneal_plan(x, 0.005, x->effort, now, trial, best);
    if (!status && x->panels < INT32_MAX) {
        x->panels = INT32_MAX;
        status = evaluate_plan(x, best->shares, best->order, INFINITY, &best->makespan);
    }
    if (!status) status = run_with(x, STREAMS, orientations, effort, d, now, trial, other, best);
    if (status) return status;
    return run_with(x, AHEAD, orientations, effort / 2, d, now, trial, other, best);
}

static void end_search(search *x, draft *d)
{
    free(d->choice);
    free(d->by_cost);
    free(d->columns);
    free(d->cost);
    free(x->workers);
    free(x->chunks);
    hs__port_close(&x->port);
}

static hs_status begin_search(const hs_star *star, int32_t eager, const int *cancel, search *x,
                              draft *d)
{
    const size_t p = (size_t)star->p;
    hs_status status = hs__port_open(&x->port, star, star->p, eager, cancel);
    if (status) return status;
    *d = (draft){.choice = malloc(p * sizeof *d->choice),
                 .by_cost = malloc(p * sizeof *d->by_cost),
                 .columns = malloc(p * sizeof *d->columns),
                 .cost = malloc(p * sizeof *d->cost)};
    x->workers = malloc(p * sizeof *x->workers);
    if (!d->choice || !d->by_cost || !d->columns || !d->cost || !x->workers) {
        end_search(x, d);
        return HS_ERROR_MEMORY;
    }
    return HS_OK;
}

static hs_status search_all(const hs_star *star, int32_t eager, uint64_t seed, int64_t effort,
                            const int *cancel, plan *best)
{
    search x = {.effort = effort, .panels = INT32_MAX, .random = seed};
    draft d;
    hs_status status = begin_search(star, eager, cancel, &x, &d);
    if (status) return status;
    hs_star_share *work = malloc(3 * (size_t)star->p * sizeof *work);
    status = HS_ERROR_MEMORY;
    if (work) {
        plan now = {.shares = work};
        plan trial = {.shares = work + star->p};
        plan other = {.shares = work + 2 * (size_t)star->p};
        status = run_search(&x, star, &d, &now, &trial, &other, best);
    }
    free(work);
    end_search(&x, &d);
    return status;
}

/* Chooses the workers that have columns in some draft, and further workers with the cheapest
 * columns for the port, up to 2 MANY in all or twice the former. chosen: ascending. */
static hs_status choose_some(const hs_star *star, const int *cancel, int32_t *chosen,
                             int32_t *count)
{
    const hs_star orientations[] = {*star, transpose_star(star)};
    search x = {.panels = INT32_MAX};
    draft d;
    hs_status status = begin_search(star, 0, cancel, &x, &d);
    if (status) return status;
    int32_t wanted = 0;
    memset(chosen, 0, (size_t)star->p * sizeof *chosen);
    for (int32_t by_rows = 0; by_rows < 2 && !status; by_rows++) {
        set_orientation(&x, &orientations[by_rows]);
        for (int32_t held = ANY; held <= HS_STAR_HOLD_B && !status; held++) {
            make_draft(&x, held, &d);
            for (int32_t i = 0; i < star->p; i++)
                if (d.columns[i] > 0.0 && !chosen[i]) {
                    chosen[i] = 1;
                    wanted++;
                }
            if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        }
    }
    int32_t extra = (int32_t)hs__max(wanted, 2 * MANY - wanted);
    for (int32_t k = 0; k < star->p && extra; k++) {
        const int32_t i = d.by_cost[k];
        if (!chosen[i] && x.workers[i].count) {
            chosen[i] = 1;
            extra--;
        }
    }
    *count = 0;
    for (int32_t i = 0; i < star->p; i++)
        if (chosen[i]) chosen[(*count)++] = i;
    end_search(&x, &d);
    return status;
}

/* Searches with a subset of the workers. Of very many workers most cannot take part, and moves
 * among them would be wasted. */
static hs_status search_some(const hs_star *star, int32_t eager, uint64_t seed, int64_t effort,
                             const int *cancel, plan *best)
{
    int32_t *chosen = malloc((size_t)star->p * sizeof *chosen);
    int32_t count = 0;
    if (!chosen) return HS_ERROR_MEMORY;
    hs_status status = choose_some(star, cancel, chosen, &count);
    double *times = malloc(2 * (size_t)star->p * sizeof *times);
    double *costs = times + star->p;
    int64_t *memory = malloc((size_t)star->p * sizeof *memory);
    plan some = {.shares = malloc((size_t)star->p * sizeof *some.shares)};
    if (!status && !(times && memory && some.shares)) status = HS_ERROR_MEMORY;
    if (!status) {
        for (int32_t k = 0; k < count; k++) {
            times[k] = star->cycle_times[chosen[k]];
            costs[k] = star->link_costs[chosen[k]];
            memory[k] = star->memory[chosen[k]];
        }
        const hs_star smaller = {star->r, star->s, star->t, count, times, costs, memory};
        status = search_all(&smaller, eager, seed, effort, cancel, &some);
    }
    if (!status) {
        memset(best->shares, 0, (size_t)star->p * sizeof *best->shares);
        for (int32_t k = 0; k < count; k++) best->shares[chosen[k]] = some.shares[k];
        best->by_rows = some.by_rows;
        best->order = some.order;
        best->makespan = some.makespan;
    }
    free(chosen);
    free(times);
    free(memory);
    free(some.shares);
    return status;
}

hs_status hs_star_search(const hs_star *star, int32_t eager, uint64_t seed, int64_t effort,
                         const int *cancel, int32_t *by_rows, hs_star_share *shares, int32_t *order,
                         double *makespan)
{
    if (!by_rows || !shares || !order || !makespan) return HS_ERROR_VALUE;
    if (!hs__star_valid(star) || effort < 0) return HS_ERROR_VALUE;
    int32_t able = 0;
    for (int32_t i = 0; i < star->p; i++) able += star->memory[i] >= 3;
    if (!able) return HS_ERROR_INFEASIBLE;
    plan best = {.shares = shares};
    const hs_status status =
        (star->p > MANY ? search_some : search_all)(star, eager, seed, effort, cancel, &best);
    if (!status) {
        *by_rows = best.by_rows;
        *order = best.order;
        *makespan = best.makespan;
    }
    return status;
}
