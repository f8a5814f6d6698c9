#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../core/random.h"
#include "hetsched.h"

enum { MOST_PROVEN = 5 };

/* Per unit of load, in a unit of time in which the fastest worker alone needs 1. */
typedef struct {
    int32_t p;
    double unit;
    double *cycle, *send, *back; /* [p] each, in one block that starts at cycle */
} star;

static hs_status load(int32_t p, const double *cycle_times, const double *sends, const double *receives, star *x)
{
    double unit = INFINITY;
    if (p < 1) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < p; i++) {
        double alone = cycle_times[i] + sends[i] + receives[i];
        if (!(cycle_times[i] > 0.0) || !(sends[i] >= 0.0) || !(receives[i] >= 0.0) || isinf(alone)) return HS_ERROR_VALUE;
        unit = fmin(unit, alone);
    }
    *x = (star){.p = p, .unit = unit, .cycle = malloc(3 * (size_t)p * sizeof(double))};
    if (!x->cycle) return HS_ERROR_MEMORY;
    x->send = x->cycle + p, x->back = x->send + p;
    for (int32_t i = 0; i < p; i++) {
        x->cycle[i] = fmin(cycle_times[i] / unit, 0x1p300);
        x->send[i] = fmin(sends[i] / unit, 0x1p300), x->back[i] = fmin(receives[i] / unit, 0x1p300);
    }
    return HS_OK;
}

static bool is_order(int32_t p, const int32_t *order, char *seen)
{
    memset(seen, 0, (size_t)p);
    for (int32_t d = 0; d < p; d++) {
        if (order[d] < 0 || order[d] >= p || seen[order[d]]) return false;
        seen[order[d]] = 1;
    }
    return true;
}

/* ---- given orders: maximise the load done in time 1 ---- */

typedef struct {
    int32_t p;
    double *rows;    /* [(p + 2) * (p + 1)]: a row per constraint, its right hand side last; then the objective */
    int32_t *basic;  /* [p + 1] the variable of each row: the share of a worker below p, slack from p on */
    int32_t *others; /* [p] those of the columns */
} tableau;

static void fill(const star *x, const int32_t *send_order, const int32_t *receive_order, tableau *t)
{
    int32_t p = x->p, width = p + 1;
    memset(t->rows, 0, (size_t)(p + 2) * (size_t)width * sizeof *t->rows);
    for (int32_t a = 0; a < p; a++) {
        double *row = t->rows + (size_t)a * (size_t)width;
        for (int32_t d = 0; send_order[d] != a; d++) row[send_order[d]] += x->send[send_order[d]];
        for (int32_t d = p - 1; receive_order[d] != a; d--) row[receive_order[d]] += x->back[receive_order[d]];
        row[a] += x->send[a] + x->cycle[a] + x->back[a];
        row[p] = 1.0;
    }
    double *bus = t->rows + (size_t)p * (size_t)width, *gain = bus + width;
    for (int32_t i = 0; i < p; i++) bus[i] = x->send[i] + x->back[i], gain[i] = 1.0, t->others[i] = i;
    bus[p] = 1.0;
    for (int32_t r = 0; r <= p; r++) t->basic[r] = p + r;
}

static void pivot(tableau *t, int32_t row, int32_t column)
{
    int32_t width = t->p + 1;
    double *own = t->rows + (size_t)row * (size_t)width, factor = 1.0 / own[column];
    for (int32_t c = 0; c < width; c++) own[c] *= factor;
    own[column] = factor;
    for (int32_t r = 0; r < t->p + 2; r++) {
        double *other = t->rows + (size_t)r * (size_t)width, times = other[column];
        if (r == row || times == 0.0) continue;
        for (int32_t c = 0; c < width; c++) other[c] -= times * own[c];
        other[column] = -times * factor;
    }
    int32_t kept = t->basic[row];
    t->basic[row] = t->others[column], t->others[column] = kept;
}

/* The simplex method from no load at all: the column of the largest gain, after many pivots the first one (Bland), which cannot
 * cycle. Returns the load; shares sum to it. */
static double solve(const star *x, const int32_t *send_order, const int32_t *receive_order, tableau *t, double *shares)
{
    int32_t p = x->p, width = p + 1;
    const double *gain = t->rows + (size_t)(p + 1) * (size_t)width;
    fill(x, send_order, receive_order, t);
    for (int32_t round = 0; round < 100 + 50 * p; round++) {
        int32_t column = -1, row = -1;
        for (int32_t c = 0; c < p; c++) {
            if (gain[c] <= 1e-13) continue;
            if (column < 0 || (round < 10 * p ? gain[c] > gain[column] : t->others[c] < t->others[column])) column = c;
        }
        if (column < 0) break;
        double least = INFINITY;
        for (int32_t r = 0; r <= p; r++) {
            const double *line = t->rows + (size_t)r * (size_t)width;
            if (line[column] <= 1e-14) continue;
            double ratio = fmax(line[p], 0.0) / line[column];
            if (ratio < least || (ratio == least && t->basic[r] < t->basic[row])) least = ratio, row = r;
        }
        if (row < 0) break;
        pivot(t, row, column);
    }
    double sum = 0.0;
    memset(shares, 0, (size_t)p * sizeof *shares);
    for (int32_t r = 0; r <= p; r++)
        if (t->basic[r] < p) shares[t->basic[r]] = fmax(t->rows[(size_t)r * (size_t)width + (size_t)p], 0.0);
    for (int32_t i = 0; i < p; i++) {
        if (shares[i] < 1e-13) shares[i] = 0.0;
        sum += shares[i];
    }
    return sum;
}

static hs_status allocate(int32_t p, tableau *t)
{
    *t = (tableau){.p = p, .rows = malloc((size_t)(p + 2) * (size_t)(p + 1) * sizeof *t->rows),
                   .basic = malloc((2 * (size_t)p + 1) * sizeof *t->basic)};
    if (!t->rows || !t->basic) return HS_ERROR_MEMORY;
    t->others = t->basic + p + 1;
    return HS_OK;
}

/* When the work of shares with sum 1 ends, everything as early as the orders allow. */
static double ends(const star *x, const double *shares, const int32_t *send_order, const int32_t *receive_order, double *ready)
{
    double bus = 0.0, last = 0.0;
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

/* ---- orders ---- */

typedef struct {
    const star *x;
    tableau *t;
    double *shares; /* [p] */
    int64_t work;
} searcher;

static double loaded(searcher *s, const int32_t *out, const int32_t *in)
{
    s->work--;
    return solve(s->x, out, in, s->t, s->shares);
}

static void shift(int32_t *order, int32_t from, int32_t to)
{
    int32_t moved = order[from];
    if (from < to) memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
    else memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = moved;
}

/* Moves one worker at a time within one of the orders while the load grows; returns it. */
static double descend(searcher *s, int32_t *out, int32_t *in, double most, double enough)
{
    int32_t p = s->x->p;
    for (bool improved = true; improved && most < enough;) {
        improved = false;
        for (int32_t side = 0; side < 2; side++) {
            int32_t *order = side ? in : out;
            for (int32_t a = 0; a < p; a++)
                for (int32_t b = 0; b < p; b++) {
                    if (a == b || a == b + 1) continue; /* the exchange of neighbours is tried from the left one */
                    if (s->work <= 0) return most;
                    shift(order, a, b);
                    double found = loaded(s, out, in);
                    if (found > most * (1 + 1e-12)) most = found, improved = true;
                    else shift(order, b, a);
                }
        }
    }
    return most;
}

static bool next_order(int32_t *order, int32_t p)
{
    int32_t a = p - 2, b = p - 1;
    while (a >= 0 && order[a] > order[a + 1]) a--;
    if (a < 0) return false;
    while (order[b] < order[a]) b--;
    int32_t kept = order[a];
    order[a] = order[b], order[b] = kept;
    for (int32_t low = a + 1, high = p - 1; low < high; low++, high--) kept = order[low], order[low] = order[high], order[high] = kept;
    return true;
}

/* All pairs of orders. */
static void enumerate(searcher *s, int32_t *out, int32_t *in, double most, double enough)
{
    int32_t p = s->x->p, a[MOST_PROVEN], b[MOST_PROVEN];
    for (int32_t i = 0; i < p; i++) a[i] = i;
    do {
        for (int32_t i = 0; i < p; i++) b[i] = i;
        do {
            double found = loaded(s, a, b);
            if (found <= most * (1 + 1e-13)) continue;
            most = found;
            memcpy(out, a, (size_t)p * sizeof *a), memcpy(in, b, (size_t)p * sizeof *b);
        } while (most < enough && next_order(b, p));
    } while (most < enough && next_order(a, p));
}

hs_status hs_divisible_orders(int32_t p, const double *cycle_times, const double *sends, const double *receives, int64_t work,
                              uint64_t seed, double enough, int32_t *send_order, int32_t *receive_order, double *shares,
                              double *makespan, int *optimal)
{
    star x;
    if (!(enough >= 0.0) || work < 0) return HS_ERROR_VALUE;
    hs_status status = load(p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    tableau t = {0};
    int32_t *orders = malloc(4 * (size_t)p * sizeof *orders);
    double *own = malloc(2 * (size_t)p * sizeof *own);
    char *seen = malloc((size_t)p);
    status = orders && own && seen ? allocate(p, &t) : HS_ERROR_MEMORY;
    if (status == HS_OK && (!is_order(p, send_order, seen) || !is_order(p, receive_order, seen))) status = HS_ERROR_VALUE;
    if (status == HS_OK) {
        int32_t *out = orders, *in = out + p, *now[2] = {in + p, in + 2 * p};
        searcher s = {.x = &x, .t = &t, .shares = own, .work = work};
        memcpy(out, send_order, (size_t)p * sizeof *out), memcpy(in, receive_order, (size_t)p * sizeof *in);
        double most = loaded(&s, out, in), goal = enough > 0.0 ? x.unit / enough * (1 - 1e-13) : INFINITY;
        *optimal = work > 0 && p <= MOST_PROVEN;
        if (*optimal) enumerate(&s, out, in, most, goal);
        else if (work > 0) most = descend(&s, out, in, most, goal);
        while (!*optimal && s.work > 0 && most < goal && p > 1) {
            memcpy(now[0], out, 2 * (size_t)p * sizeof *out);
            for (int32_t kick = 0; kick < 3; kick++) {
                int32_t from = (int32_t)hs__random_below(&seed, p);
                shift(now[hs__random_below(&seed, 2)], from, (int32_t)hs__random_below(&seed, p));
            }
            double found = descend(&s, now[0], now[1], loaded(&s, now[0], now[1]), goal);
            if (found > most * (1 + 1e-12)) most = found, memcpy(out, now[0], 2 * (size_t)p * sizeof *out);
        }
        most = solve(&x, out, in, &t, own);
        for (int32_t i = 0; i < p; i++) shares[i] = own[i] / most;
        *makespan = ends(&x, shares, out, in, own + p) * x.unit;
        memcpy(send_order, out, (size_t)p * sizeof *out), memcpy(receive_order, in, (size_t)p * sizeof *in);
    }
    free(x.cycle), free(orders), free(own), free(seen), free(t.rows), free(t.basic);
    return status;
}

/* ---- bound ---- */

static int by_key(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0] ? 1 : -1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The most load in time 1 if only some messages wait for others; the cheapest of these come first. */
static double most_relaxed(const star *x, int way, double *keys)
{
    for (int32_t i = 0; i < x->p; i++) {
        keys[2 * i] = (way == 1 ? 0.0 : x->send[i]) + (way == 0 ? 0.0 : x->back[i]);
        keys[2 * i + 1] = i;
    }
    qsort(keys, (size_t)x->p, 2 * sizeof *keys, by_key);
    double most = 0.0, left = 1.0;
    for (int32_t d = 0; d < x->p; d++) {
        int32_t i = (int32_t)keys[2 * d + 1];
        double alone = x->send[i] + x->cycle[i] + x->back[i];
        double share = way < 2 ? left / alone : fmin(1.0 / alone, keys[2 * d] > 0.0 ? left / keys[2 * d] : INFINITY);
        most += share, left = fmax(left - share * keys[2 * d], 0.0);
    }
    return most;
}

/* Each worker's constraint, times its share: whatever the orders, of two workers at least the cheaper message comes before the other's
 * work, so makespan >= sum_i alone_i a_i^2 + sum_{i<j} (min(send_i, send_j) + min(back_i, back_j)) a_i a_j, convex in the shares a.
 * Its minimum over all shares is approached by moving load between two workers; every tangent is a bound. */
static double least_product(const star *x, double *share, double *slope)
{
    int32_t p = x->p;
    double best = 0.0;
    for (int32_t i = 0; i < p; i++) share[i] = 1.0 / p, slope[i] = 0.0;
    for (int32_t i = 0; i < p; i++)
        for (int32_t j = 0; j < p; j++)
            slope[i] += share[j] * (fmin(x->send[i], x->send[j]) + fmin(x->back[i], x->back[j]) + (i == j ? 2 * x->cycle[i] + x->send[i] + x->back[i] : 0.0));
    for (int32_t round = 0; round < 100 + 20 * p; round++) {
        int32_t low = 0, high = -1;
        double value = 0.0;
        for (int32_t i = 0; i < p; i++) {
            value += share[i] * slope[i] / 2;
            if (slope[i] < slope[low]) low = i;
            if (share[i] > 0.0 && (high < 0 || slope[i] > slope[high])) high = i;
        }
        best = fmax(best, slope[low] - value);
        double fall = slope[high] - slope[low];
        if (fall <= 1e-9 * value) break;
        double both = fmin(x->send[low], x->send[high]) + fmin(x->back[low], x->back[high]);
        double curve = x->send[low] + x->cycle[low] + x->back[low] + x->send[high] + x->cycle[high] + x->back[high] - both;
        double step = fmin(share[high], fall / (2 * curve));
        share[low] += step, share[high] = step < share[high] ? share[high] - step : 0.0;
        for (int32_t i = 0; i < p; i++) {
            slope[i] += step * (fmin(x->send[i], x->send[low]) + fmin(x->back[i], x->back[low]));
            slope[i] -= step * (fmin(x->send[i], x->send[high]) + fmin(x->back[i], x->back[high]));
        }
        slope[low] += step * (2 * x->cycle[low] + x->send[low] + x->back[low]);
        slope[high] -= step * (2 * x->cycle[high] + x->send[high] + x->back[high]);
    }
    return best * (1 - 1e-12);
}

hs_status hs_divisible_bound(int32_t p, const double *cycle_times, const double *sends, const double *receives, double *bound)
{
    star x;
    hs_status status = load(p, cycle_times, sends, receives, &x);
    if (status != HS_OK) return status;
    double *work = malloc(2 * (size_t)p * sizeof *work);
    if (!work) return free(x.cycle), HS_ERROR_MEMORY;
    double best = least_product(&x, work, work + p);
    for (int way = 0; way < 3; way++) best = fmax(best, (1 - 1e-15 * p) / most_relaxed(&x, way, work));
    *bound = x.unit * best;
    free(x.cycle), free(work);
    return HS_OK;
}
