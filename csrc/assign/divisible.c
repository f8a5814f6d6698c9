/* Divisible loads over one bus with results that come back. For given orders a simplex method finds
 * the shares, and dual prices bound what other shares can do; a search or an enumeration finds the
 * orders. The second part computes a lower bound for all orders. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "assign/divisible_core.h"
#include "core/cancel.h"
#include "core/numbers.h"
#include "core/order.h"
#include "core/random.h"
#include "core/sort.h"
#include "hetsched.h"

enum { MOST_PROVEN = HS_DIVISIBLE_PROVEN };

/* below this a load, a share or a pivot counts as zero: all are of the order of 1 */
static const double NEGLIGIBLE = 1e-14;

/* The platform, scaled by powers of two, which loses no bit. Each worker has its own unit of load,
 * such that it does one unit alone in about (1/2, 1] units of time; the unit of time is such that
 * the fastest worker's unit of load is about the given one. So all entries of the programs are in
 * [0, 1]. Bits lost below 2^-1074 change a makespan by less than a rounding error. */
typedef struct {
    int32_t p;
    int unit; /* of time, as a power of two */
    /* [p] each, in one block that starts at cycle: time per own unit of load */
    double *cycle, *send, *back;
    double *gain; /* [p] size of the own unit in units of load, <= 1 */
} star;

static hs_status open_star(int32_t p, const double *cycle_times, const double *sends,
                           const double *receives, star *x)
{
    int unit = INT_MAX;
    int own;
    if (p < 1) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        double alone = cycle_times[i] + sends[i] + receives[i];
        if (!(cycle_times[i] > 0.0) || !(sends[i] >= 0.0) || !(receives[i] >= 0.0) || isinf(alone))
            return HS_ERROR_VALUE;
        frexp(alone, &own);
        if (own < unit) unit = own;
    }
    *x = (star){.p = p, .unit = unit, .cycle = malloc(4 * (size_t)p * sizeof(double))};
    if (!x->cycle) return HS_ERROR_MEMORY;
    x->send = x->cycle + p;
    x->back = x->send + p;
    x->gain = x->back + p;
    for (int32_t i = 0; i < p; i++) {
        frexp(cycle_times[i] + sends[i] + receives[i], &own);
        x->cycle[i] = ldexp(cycle_times[i], -own);
        x->send[i] = ldexp(sends[i], -own);
        x->back[i] = ldexp(receives[i], -own);
        x->gain[i] = ldexp(1.0, unit - own);
    }
    return HS_OK;
}

static double time_alone(const star *x, int32_t i) { return x->send[i] + x->cycle[i] + x->back[i]; }

/* Returns the largest load that counts as equal to `load`: it allows for the roundings and the
 * negligible parts of p workers, less than 1e-12 of the load for six workers. */
static double largest_equal_load(int32_t p, double load) { return load * (1 + 5e-13 + p * 5e-14); }

/* ---- given orders: maximise the load done in time 1 ---- */

typedef struct {
    int32_t p;
    /* [(p + 2) * (p + 1)]: a row for each constraint, its right hand side last; then the
     * objective */
    double *rows;
    double *price; /* [p + 1] dual prices: of the time in each constraint */
    double *ends;  /* [p] */
    /* [p + 1] the basic variable of each row: below p the share of a worker, from p on slack */
    int32_t *basic;
    int32_t *others; /* [p] the non-basic variables of the columns */
    char *is_basic;  /* [2 p + 1] */
    const int *cancel;
} tableau;

static void fill_tableau(const star *x, const int32_t *send_order, const int32_t *receive_order,
                         tableau *t)
{
    int32_t p = x->p;
    int32_t width = p + 1;
    memset(t->rows, 0, (size_t)(p + 2) * (size_t)width * sizeof *t->rows);
    for (int32_t a = 0; a < p; a++) {
        double *row = t->rows + (size_t)a * (size_t)width;
        for (int32_t d = 0; send_order[d] != a; d++) row[send_order[d]] += x->send[send_order[d]];
        for (int32_t d = p - 1; receive_order[d] != a; d--)
            row[receive_order[d]] += x->back[receive_order[d]];
        row[a] += time_alone(x, a);
        row[p] = 1.0;
    }
    double *bus = t->rows + (size_t)p * (size_t)width;
    double *gain = bus + width;
    for (int32_t i = 0; i < p; i++) {
        bus[i] = x->send[i] + x->back[i];
        gain[i] = x->gain[i];
        t->others[i] = i;
    }
    bus[p] = 1.0;
    for (int32_t r = 0; r <= p; r++) t->basic[r] = p + r;
}

static void pivot_tableau(tableau *t, int32_t row, int32_t column)
{
    int32_t width = t->p + 1;
    double *own = t->rows + (size_t)row * (size_t)width;
    double factor = 1.0 / own[column];
    for (int32_t c = 0; c < width; c++) own[c] *= factor;
    own[column] = factor;
    for (int32_t r = 0; r < t->p + 2; r++) {
        double *other = t->rows + (size_t)r * (size_t)width;
        double times = other[column];
        if (r == row || times == 0.0) continue;
        for (int32_t c = 0; c < width; c++) other[c] -= times * own[c];
        other[column] = -times * factor;
    }
    int32_t kept = t->basic[row];
    t->basic[row] = t->others[column];
    t->others[column] = kept;
}

/* Computes the tableau of the same basis afresh. Taking the largest pivots first keeps the rounding
 * errors small, whatever path the simplex method took to this basis. */
static void rebuild_tableau(const star *x, const int32_t *send_order, const int32_t *receive_order,
                            tableau *t)
{
    int32_t p = t->p;
    int32_t width = p + 1;
    int32_t pivots = 0;
    memset(t->is_basic, 0, 2 * (size_t)p + 1);
    for (int32_t r = 0; r <= p; r++) {
        t->is_basic[t->basic[r]] = 1;
        pivots += t->basic[r] < p;
    }
    fill_tableau(x, send_order, receive_order, t);
    for (; pivots > 0 && !hs__cancelled(t->cancel); pivots--) {
        int32_t row = -1;
        int32_t column = -1;
        double largest = 0.0;
        for (int32_t r = 0; r <= p; r++)
            for (int32_t c = 0; c < p && !t->is_basic[t->basic[r]]; c++) {
                double size = fabs(t->rows[(size_t)r * (size_t)width + (size_t)c]);
                if (t->is_basic[t->others[c]] && size > largest) {
                    largest = size;
                    row = r;
                    column = c;
                }
            }
        if (row < 0) return;
        pivot_tableau(t, row, column);
    }
}

/* Runs the simplex method. It takes the column of the largest gain, and after many pivots the first
 * one (Bland's rule), which cannot cycle in exact arithmetic. */
static void run_simplex(tableau *t)
{
    int32_t p = t->p;
    int32_t width = p + 1;
    const double *gain = t->rows + (size_t)(p + 1) * (size_t)width;
    for (int32_t round = 0; round < 100 + 50 * p && !hs__cancelled(t->cancel); round++) {
        int32_t column = -1;
        int32_t row = -1;
        for (int32_t c = 0; c < p; c++) {
            if (gain[c] <= NEGLIGIBLE) continue;
            if (column < 0 ||
                (round < 10 * p ? gain[c] > gain[column] : t->others[c] < t->others[column]))
                column = c;
        }
        if (column < 0) break;
        double least = INFINITY;
        for (int32_t r = 0; r <= p; r++) {
            const double *line = t->rows + (size_t)r * (size_t)width;
            if (line[column] <= NEGLIGIBLE) continue;
            double ratio = fmax(line[p], 0.0) / line[column];
            if (row < 0 || ratio < least || (ratio == least && t->basic[r] < t->basic[row])) {
                least = ratio;
                row = r;
            }
        }
        if (row < 0) break;
        pivot_tableau(t, row, column);
    }
}

/* Returns the time at which the work of these shares ends, with everything as early as the orders
 * allow. */
static double end_of_work(const star *x, const double *shares, const int32_t *send_order,
                          const int32_t *receive_order, double *ready)
{
    double bus = 0.0;
    double last = 0.0;
    for (int32_t d = 0; d < x->p; d++) {
        int32_t i = send_order[d];
        if (shares[i] == 0.0) continue;
        bus += shares[i] * x->send[i];
        ready[i] = bus + shares[i] * x->cycle[i];
        last = fmax(last, ready[i]);
    }
    for (int32_t d = 0; d < x->p; d++) {
        int32_t i = receive_order[d];
        if (shares[i] == 0.0 || x->back[i] == 0.0) continue;
        bus = fmax(bus, ready[i]) + shares[i] * x->back[i];
        last = fmax(last, bus);
    }
    return last;
}

/* Returns the load that the tableau's shares do in time 1. It is computed from the shares, not
 * taken from the objective of the tableau: all sums have terms of one sign, so the error is p
 * roundings. */
static double load_of_shares(const star *x, const int32_t *send_order, const int32_t *receive_order,
                             tableau *t, double *shares)
{
    double sum = 0.0;
    memset(shares, 0, (size_t)x->p * sizeof *shares);
    for (int32_t r = 0; r <= x->p; r++) {
        double share = t->rows[(size_t)r * (size_t)(x->p + 1) + (size_t)x->p];
        if (t->basic[r] < x->p && share > NEGLIGIBLE) shares[t->basic[r]] = share;
    }
    for (int32_t i = 0; i < x->p; i++) sum += shares[i] * x->gain[i];
    return sum > 0.0 ? sum / end_of_work(x, shares, send_order, receive_order, t->ends) : 0.0;
}

/* Returns an upper bound on the load in time 1 for these orders, valid for any prices >= 0 (weak
 * duality). A unit of load of worker i uses constraints that are worth worth[i] at these prices;
 * any gain beyond that counts in full, as the share is at most 1 / time_alone. So errors in the
 * prices do not matter, and all sums have terms of one sign; `safe` covers their roundings. */
static double most_at_prices(const star *x, const int32_t *send_order, const int32_t *receive_order,
                             const tableau *t, double *worth)
{
    int32_t p = x->p;
    double safe = 1 + (p + 10) * 0x1p-51;
    double after = t->price[p];
    double sum = t->price[p];
    double beyond = 0.0;
    /* a worker's message out is in the rows of all workers that are served at the same time or
     * later */
    for (int32_t d = p - 1; d >= 0; d--) {
        int32_t i = send_order[d];
        after += t->price[i];
        sum += t->price[i];
        worth[i] = after * x->send[i] + t->price[i] * x->cycle[i];
    }
    after = t->price[p];
    for (int32_t d = 0; d < p; d++) {
        int32_t i = receive_order[d];
        after += t->price[i];
        worth[i] += after * x->back[i];
        if (worth[i] < x->gain[i]) beyond += (x->gain[i] - worth[i]) / time_alone(x, i);
    }
    return (sum + beyond) * safe;
}

static void take_prices(tableau *t)
{
    const double *gain = t->rows + (size_t)(t->p + 1) * (size_t)(t->p + 1);
    memset(t->price, 0, ((size_t)t->p + 1) * sizeof *t->price);
    for (int32_t c = 0; c < t->p; c++)
        if (t->others[c] >= t->p) t->price[t->others[c] - t->p] = fmax(-gain[c], 0.0);
}

/* Solves the program for given orders. Returns the load of the best shares found, and in *most an
 * upper bound for all shares. While the two differ, and the difference matters to a search that
 * already has orders for the load `known`, the tableau is computed afresh. */
static double solve_orders(const star *x, const int32_t *send_order, const int32_t *receive_order,
                           double known, tableau *t, double *shares, double *most)
{
    double best = 0.0;
    double *tried = t->ends + x->p;
    double *worth = tried + x->p;
    *most = INFINITY;
    fill_tableau(x, send_order, receive_order, t);
    for (int32_t attempt = 0; attempt < 4 && !hs__cancelled(t->cancel); attempt++) {
        if (attempt > 0) rebuild_tableau(x, send_order, receive_order, t);
        run_simplex(t);
        double found = load_of_shares(x, send_order, receive_order, t, tried);
        if (found > best) {
            best = found;
            memcpy(shares, tried, (size_t)x->p * sizeof *shares);
        }
        take_prices(t);
        *most = fmin(*most, most_at_prices(x, send_order, receive_order, t, worth));
        if (*most <= largest_equal_load(x->p, fmax(best, known))) break;
    }
    return best;
}

static hs_status allocate_tableau(int32_t p, const int *cancel, tableau *t)
{
    size_t size = (size_t)p;
    *t = (tableau){.p = p,
                   .rows = malloc((size + 2) * (size + 1) * sizeof *t->rows),
                   .price = malloc((4 * size + 1) * sizeof *t->price),
                   .basic = malloc((2 * size + 1) * sizeof *t->basic),
                   .is_basic = malloc(2 * size + 1),
                   .cancel = cancel};
    if (!t->rows || !t->price || !t->basic || !t->is_basic) return HS_ERROR_MEMORY;
    t->ends = t->price + p + 1;
    t->others = t->basic + p + 1;
    return HS_OK;
}

/* ---- orders ---- */

typedef struct {
    const star *x;
    tableau *t;
    double *shares; /* [p] */
    double most;    /* upper bound of the load for the orders tried last */
    int64_t work;   /* programs that may still be solved */
    double end;     /* of the search, by hs_clock */
} searcher;

static double load_of_orders(searcher *s, const int32_t *out, const int32_t *in, double known)
{
    s->work--;
    if (isfinite(s->end) && hs_clock() > s->end) s->work = 0;
    return solve_orders(s->x, out, in, known, s->t, s->shares, &s->most);
}

/* Descends: moves one worker at a time within one of the orders while the load grows. Returns the
 * load. */
static double move_workers(searcher *s, int32_t *out, int32_t *in, double most, double enough)
{
    int32_t p = s->x->p;
    for (bool improved = true; improved && most < enough;) {
        improved = false;
        for (int32_t inward = 0; inward < 2; inward++) {
            int32_t *order = inward ? in : out;
            for (int32_t a = 0; a < p; a++)
                for (int32_t b = 0; b < p; b++) {
                    /* the exchange of two neighbours is tried once, from the left one */
                    if (a == b || a == b + 1) continue;
                    if (s->work <= 0 || hs__cancelled(s->t->cancel)) return most;
                    hs__shift(order, a, b);
                    double found = load_of_orders(s, out, in, most);
                    if (found > most * (1 + HS_EQUAL)) {
                        most = found;
                        improved = true;
                    } else hs__shift(order, b, a);
                }
        }
    }
    return most;
}

static bool next_order(int32_t *order, int32_t p)
{
    int32_t a = p - 2;
    int32_t b = p - 1;
    while (a >= 0 && order[a] > order[a + 1]) a--;
    if (a < 0) return false;
    while (order[b] < order[a]) b--;
    hs__swap(order, a, b);
    hs__reverse(p - a - 1, order + a + 1);
    return true;
}

/* Enumerates all pairs of orders. The prices of the pair before often prove that the next pair is
 * no better, without solving its program. Returns whether it is proven that no pair is better: the
 * load found meets the bound of every pair. */
static bool enumerate_orders(searcher *s, int32_t *out, int32_t *in, double most, double enough)
{
    int32_t p = s->x->p;
    int32_t a[MOST_PROVEN], b[MOST_PROVEN];
    double bound = 0.0;
    double worth[MOST_PROVEN];
    for (int32_t i = 0; i < p; i++) a[i] = i;
    do {
        for (int32_t i = 0; i < p; i++) b[i] = i;
        do {
            if (hs__cancelled(s->t->cancel)) return false;
            double here = most_at_prices(s->x, a, b, s->t, worth);
            if (here > largest_equal_load(p, most)) {
                double found = load_of_orders(s, a, b, most);
                here = fmin(here, s->most);
                if (found > most * (1 + 1e-13)) {
                    most = found;
                    memcpy(out, a, (size_t)p * sizeof *a);
                    memcpy(in, b, (size_t)p * sizeof *b);
                }
            }
            bound = fmax(bound, here);
        } while (most < enough && next_order(b, p));
    } while (most < enough && next_order(a, p));
    return most >= enough || bound <= largest_equal_load(p, most);
}

hs_status hs__search_orders(int32_t p, const double *cycle_times, const double *sends,
                            const double *receives, int64_t work, double end, uint64_t seed,
                            double enough, const int *cancel, int32_t *send_order,
                            int32_t *receive_order, double *shares, double *makespan, int *optimal)
{
    star x;
    if (!(enough >= 0.0) || work < 0) return HS_ERROR_VALUE;
    hs_status status = open_star(p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    tableau t = {0};
    int32_t *orders = malloc(4 * (size_t)p * sizeof *orders);
    double *own = malloc((size_t)p * sizeof *own);
    status = orders && own ? allocate_tableau(p, cancel, &t) : HS_ERROR_MEMORY;
    if (status == HS_OK) status = hs__check_order(p, p, send_order, NULL);
    if (status == HS_OK) status = hs__check_order(p, p, receive_order, NULL);
    if (status == HS_OK) {
        int32_t *out = orders;
        int32_t *in = out + p;
        int32_t *now[2] = {in + p, in + 2 * (ptrdiff_t)p};
        searcher s = {.x = &x, .t = &t, .shares = own, .work = work, .end = end};
        memcpy(out, send_order, (size_t)p * sizeof *out);
        memcpy(in, receive_order, (size_t)p * sizeof *in);
        double most = load_of_orders(&s, out, in, 0.0);
        double goal = enough > 0.0 ? ldexp(1 / enough, x.unit) * (1 - 1e-13) : INFINITY;
        bool proves = work > 0 && p <= MOST_PROVEN;
        bool proven = proves && enumerate_orders(&s, out, in, most, goal);
        if (work > 0 && !proves) most = move_workers(&s, out, in, most, goal);
        while (!proves && s.work > 0 && most < goal && p > 1 && !hs__cancelled(cancel)) {
            memcpy(now[0], out, 2 * (size_t)p * sizeof *out);
            for (int32_t kick = 0; kick < 3; kick++) {
                int32_t from = hs__pick(&seed, p);
                hs__shift(now[hs__random_below(&seed, 2)], from, hs__pick(&seed, p));
            }
            double found =
                move_workers(&s, now[0], now[1], load_of_orders(&s, now[0], now[1], most), goal);
            if (found > most * (1 + HS_EQUAL)) {
                most = found;
                memcpy(out, now[0], 2 * (size_t)p * sizeof *out);
            }
        }
        most = load_of_orders(&s, out, in, 0.0);
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        else {
            double sum = 0.0;
            for (int32_t i = 0; i < p; i++) sum += own[i] * x.gain[i];
            for (int32_t i = 0; i < p; i++) shares[i] = own[i] * x.gain[i] / sum;
            *makespan = ldexp(1 / most, x.unit);
            *optimal = proven;
            memcpy(send_order, out, (size_t)p * sizeof *out);
            memcpy(receive_order, in, (size_t)p * sizeof *in);
        }
    }
    free(x.cycle);
    free(orders);
    free(own);
    free(t.rows);
    free(t.price);
    free(t.basic);
    free(t.is_basic);
    return status;
}

hs_status hs_divisible_orders(int32_t p, const double *cycle_times, const double *sends,
                              const double *receives, int64_t work, uint64_t seed, double enough,
                              const int *cancel, int32_t *send_order, int32_t *receive_order,
                              double *shares, double *makespan, int *optimal)
{
    if (!cycle_times || !sends || !receives || !send_order || !receive_order || !shares ||
        !makespan || !optimal)
        return HS_ERROR_VALUE;
    return hs__search_orders(p, cycle_times, sends, receives, work, INFINITY, seed, enough, cancel,
                             send_order, receive_order, shares, makespan, optimal);
}

/* ---- bound ---- */

/* Keeps the workers that matter to a bound, in one common unit of load. Workers that are more than
 * 2^300 times slower than the fastest are left out: they do less than a rounding error. */
static void in_one_unit(star *x)
{
    int32_t q = 0;
    for (int32_t i = 0; i < x->p; i++) {
        double gain = x->gain[i];
        if (gain < 0x1p-300) continue;
        x->cycle[q] = x->cycle[i] / gain;
        x->send[q] = x->send[i] / gain;
        x->back[q] = x->back[i] / gain;
        x->gain[q++] = 1.0;
    }
    x->p = q;
}

/* Computes the largest load in time 1 if only some messages wait for each other; the cheapest of
 * these come first. An error in `left` shrinks with it, so the roundings of p workers add up to p
 * roundings of the load. */
static hs_status most_relaxed(const star *x, int way, double *messages, int32_t *order,
                              double *most)
{
    for (int32_t i = 0; i < x->p; i++)
        messages[i] = (way == 1 ? 0.0 : x->send[i]) + (way == 0 ? 0.0 : x->back[i]);
    const hs_status status = hs__sort(x->p, messages, order);
    double left = 1.0;
    *most = 0.0;
    for (int32_t d = 0; d < x->p && !status; d++) {
        const double own = time_alone(x, order[d]);
        const double message = messages[order[d]];
        const double share =
            way < 2 ? left / own : fmin(1.0 / own, message > 0.0 ? left / message : INFINITY);
        *most += share;
        left = fmax(left - share * message, 0.0);
    }
    return status;
}

static double second_derivative(const star *x, int32_t i, int32_t j)
{
    return i == j ? 2 * x->cycle[i] + 2 * x->send[i] + 2 * x->back[i]
                  : fmin(x->send[i], x->send[j]) + fmin(x->back[i], x->back[j]);
}

/* Computes a bound from each worker's constraint times its share. In any order, for each pair of
 * workers, at least the cheaper of their messages comes before the work of the other one. So
 * makespan >= f(a) = sum_i alone_i a_i^2 + sum_{i<j} (min(send_i, send_j) + min(back_i, back_j))
 * a_i a_j, which is convex in the shares a.
 *
 * The minimum over all shares is approached by moving load between two workers. Every tangent is a
 * bound: f(b) >= sum_i slope_i b_i - f(a) for any a, also one that does not sum to 1. Moves leave
 * errors in the slopes as large as the roundings of the largest slope; so only slopes that are
 * computed afresh, from terms of one sign, are used for a bound. */
static double least_product(const star *x, const int *cancel, double *share, double *slope)
{
    int32_t p = x->p;
    double best = 0.0;
    double sum = 0.0;
    double error = (p + 10) * 0x1p-51;
    for (int32_t i = 0; i < p; i++) sum += 1 / time_alone(x, i);
    for (int32_t i = 0; i < p; i++) share[i] = 1 / time_alone(x, i) / sum;
    for (int32_t left = 100 + 20 * p, before = left + 1; left < before && !hs__cancelled(cancel);) {
        double value = 0.0;
        double least = INFINITY;
        for (int32_t i = 0; i < p && !hs__cancelled(cancel); i++) {
            slope[i] = 0.0;
            for (int32_t j = 0; j < p; j++) slope[i] += share[j] * second_derivative(x, i, j);
            value += share[i] * slope[i] / 2;
            least = fmin(least, slope[i]);
        }
        best = fmax(best, least * (1 - error) - value * (1 + error));
        before = left;
        for (int32_t move = 0; move < 20 + p / 2 && left > 0 && !hs__cancelled(cancel);
             move++, left--) {
            int32_t low = 0;
            int32_t high = -1;
            for (int32_t i = 0; i < p; i++) {
                if (slope[i] < slope[low]) low = i;
                if (share[i] > 0.0 && (high < 0 || slope[i] > slope[high])) high = i;
            }
            double fall = slope[high] - slope[low];
            if (fall <= 1e-9 * value) break;
            double curve =
                time_alone(x, low) + time_alone(x, high) - second_derivative(x, low, high);
            double step = fmin(share[high], fall / (2 * curve));
            share[low] += step;
            share[high] = step < share[high] ? share[high] - step : 0.0;
            for (int32_t i = 0; i < p; i++)
                slope[i] += step * (second_derivative(x, i, low) - second_derivative(x, i, high));
        }
    }
    return best;
}

hs_status hs_divisible_bound(int32_t p, const double *cycle_times, const double *sends,
                             const double *receives, const int *cancel, double *bound)
{
    if (!cycle_times || !sends || !receives || !bound) return HS_ERROR_VALUE;
    star x;
    hs_status status = open_star(p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    double *work = malloc(2 * (size_t)p * sizeof *work);
    if (!work) {
        free(x.cycle);
        return HS_ERROR_MEMORY;
    }
    in_one_unit(&x);
    double best = least_product(&x, cancel, work, work + p);
    double most;
    for (int way = 0; way < 3 && !status; way++) {
        status = most_relaxed(&x, way, work, (int32_t *)(work + p), &most);
        best = fmax(best, (1 - 1e-15 * (p + 1)) / most);
    }
    if (!status && hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
    if (!status) {
        *bound = ldexp(best, x.unit);
        /* this is the only scaling that rounds */
        if (*bound < DBL_MIN) *bound = nextafter(*bound, 0.0);
    }
    free(x.cycle);
    free(work);
    return status;
}

hs_status hs_divisible_certificate(int32_t p, const double *cycle_times, const double *sends,
                                   const double *receives, double makespan, const int *cancel,
                                   hs_certificate *certificate)
{
    double bound;
    if (!certificate) return HS_ERROR_VALUE;
    const hs_status status = hs_divisible_bound(p, cycle_times, sends, receives, cancel, &bound);
    if (status) return status;
    return hs_certificate_of("makespan", HS_MINIMISED, makespan, bound, certificate);
}
