/* The best bandwidths of the messages of a ring.
 *
 * With the bandwidth B_r of each message r, member i pays F_i = fixed_i + 1 / B_next + 1 / B_before,
 * and a step takes the larger one of F_0 = (1 + sum of speed_i F_i) / sum of speed_i, the time if
 * all members end together, and of the largest F_i. All of these are convex in B, and each link
 * asks for sum of cost B_r <= 1, which is linear: a convex problem. A barrier method solves it:
 * Newton's method minimises
 *   s t - sum of log(t - F_c) - sum of log(1 - sum of cost B_r)
 * for larger and larger s. The reciprocals of s times the logarithms' arguments are then prices of
 * the members and links. Whatever they are, they prove a bound: see hs__shared.all_prices, and
 * "Rings over shared links" in docs/theory.md.
 *
 * Only links that the messages would overload, if each had its route alone, take part, and only
 * messages that use such a link: so without contention nothing is left to solve, and the ring has
 * exactly the time of hs__ring_value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ring/shared.h"

enum { NEWTON_STEPS = 60, HALVINGS = 40 };
static const double GROWTH = 20.0;        /* of s */
static const double FINAL = 1e8;          /* s for each logarithm, where t is at most 1 */
static const double START = 0.9;          /* part of the fair bandwidths to start from */
static const double CENTRED = 1e-8;       /* square of Newton's decrement, before a last step */
static const double SAFE = 1.0 - 0x1p-44; /* margin for the rounding of sums */

typedef struct hs__sharing {
    int32_t size, messages; /* of member k, message 2 k to the next and 2 k + 1 to the one before */
    const int32_t **route, **end; /* [messages] the links of its route */
    double *alone;                /* [messages] what it pays with its route alone */
    double *part;                 /* [messages] speed of its sender / speed of all members */
    double *payment;              /* [messages] first payment, then the best one */
    int32_t *variable;            /* [messages] its variable, or -1 */
    double *load;                 /* [all links] */
    int32_t *busy;                /* [all links] its number among the overloaded links, or -1 */
    /* the convex problem; times are in units of `unit`, the time of the first payments */
    double unit, speed;    /* speed of all members */
    int32_t count;         /* variables: messages over overloaded links */
    int32_t *message;      /* [count] */
    double *pay;           /* [count] first payment */
    double *cap;           /* [count] part of the slowest link at beta = 1 */
    double *fixed;         /* [size + 1] F_c without the variables; F_0 is last */
    int32_t links;         /* overloaded links */
    int32_t *link;         /* [links] */
    int32_t *first, *user; /* [links + 1] the variables of link l are user[first[l]] .. */
    double *use;           /* ... and their parts of it at beta = 1 */
    double *beta, *trial;  /* [count + 1] bandwidths, in units of the first ones; the time t */
    double *gap;           /* [size + 1] t - F_c */
    double *room, *open;   /* [links], [count] what is left of links, and of slowest links */
    double *gradient;      /* [count + 1] */
    double *matrix;        /* [(count + 1)^2] second derivatives; the lower half is read */
} sharing;

hs_status hs__sharing_open(hs__shared *s)
{
    const size_t p = (size_t)s->x.p;
    const size_t m = 2 * p + 1;
    const size_t links = (size_t)s->links + 1;
    size_t longest = 0;
    for (size_t k = 0; k < p * p; k++) {
        const size_t length = (size_t)(s->first[k + 1] - s->first[k]);
        if (length > longest) longest = length;
    }
    sharing *w = calloc(1, sizeof *w);
    s->own = w;
    if (!w) return HS_ERROR_MEMORY;
    w->route = malloc(2 * m * sizeof *w->route);
    w->variable = malloc((2 * m + 3 * links + m * longest) * sizeof *w->variable);
    w->alone = malloc((11 * m + 2 * links + m * longest) * sizeof *w->alone);
    w->matrix = malloc(m * m * sizeof *w->matrix);
    if (!w->route || !w->variable || !w->alone || !w->matrix) return HS_ERROR_MEMORY;
    w->end = w->route + m;
    w->message = w->variable + m;
    w->busy = w->message + m;
    w->link = w->busy + links;
    w->first = w->link + links;
    w->user = w->first + links;
    double **const vectors[] = {&w->part, &w->payment, &w->pay, &w->cap,  &w->fixed,
                                &w->beta, &w->trial,   &w->gap, &w->open, &w->gradient};
    const size_t count = sizeof vectors / sizeof *vectors;
    for (size_t k = 0; k < count; k++) *vectors[k] = w->alone + (k + 1) * m;
    w->load = w->alone + (count + 1) * m;
    w->room = w->load + links;
    w->use = w->room + links;
    return HS_OK;
}

void hs__sharing_close(sharing *own)
{
    if (!own) return;
    free(own->route);
    free(own->variable);
    free(own->alone);
    free(own->matrix);
    free(own);
}

double hs__shared_alone(const hs__shared *s, int32_t i, int32_t j)
{
    const size_t pair = (size_t)i * (size_t)s->x.p + (size_t)j;
    double cost = 0.0;
    for (int64_t h = s->first[pair]; h < s->first[pair + 1]; h++)
        cost = fmax(cost, s->cost[s->hops[h]]);
    return cost;
}

/* Finds the routes of all messages, and what they pay with them alone. */
static void begin_ring(hs__shared *s, int32_t size, const int32_t *ring)
{
    sharing *w = s->own;
    const size_t p = (size_t)s->x.p;
    w->size = size;
    w->messages = size > 1 ? 2 * size : 0;
    w->speed = 0.0;
    for (int32_t k = 0; k < size; k++) w->speed += s->x.speed[ring[k]];
    for (int32_t r = 0; r < w->messages; r++) {
        const int32_t k = r / 2;
        const int32_t j = ring[(k + (r % 2 ? size - 1 : 1)) % size];
        const size_t pair = (size_t)ring[k] * p + (size_t)j;
        w->route[r] = s->hops + s->first[pair];
        w->end[r] = s->hops + s->first[pair + 1];
        w->part[r] = s->x.speed[ring[k]] / w->speed;
        w->alone[r] = hs__shared_alone(s, ring[k], j);
    }
}

/* Divides each link among its messages by the square roots of the senders' speeds, as is best on one
 * link alone. */
static void divide_links(hs__shared *s)
{
    sharing *w = s->own;
    for (int32_t r = 0; r < w->messages; r++)
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++) w->load[*l] = 0.0;
    for (int32_t r = 0; r < w->messages; r++)
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++) w->load[*l] += sqrt(w->part[r]);
    for (int32_t r = 0; r < w->messages; r++) {
        w->payment[r] = w->alone[r];
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++)
            w->payment[r] = fmax(w->payment[r], s->cost[*l] * (w->load[*l] / sqrt(w->part[r])));
    }
}

/* Returns what the k-th member pays besides the bandwidths of its messages. */
static double fixed_payment(const hs__shared *s, int32_t size, const int32_t *ring, int32_t k)
{
    const double *own = s->fixed + (size_t)ring[k] * (size_t)s->x.p;
    return own[ring[(k + 1) % size]] + own[ring[(k + size - 1) % size]];
}

/* Returns the time of a step with the present payments. */
static double step_time(const hs__shared *s, int32_t size, const int32_t *ring)
{
    const sharing *w = s->own;
    double most = 0.0;
    double all = 1.0;
    for (int32_t k = 0; k < size; k++) {
        double paid = fixed_payment(s, size, ring, k);
        const double *own = w->payment + 2 * (ptrdiff_t)k;
        if (size > 1) paid += own[0] + own[1];
        all += paid * s->x.speed[ring[k]];
        most = fmax(most, paid);
    }
    return size > 1 ? fmax(all / w->speed, most) : all / w->speed;
}

double hs__shared_estimate(hs__shared *s, int32_t size, const int32_t *ring)
{
    begin_ring(s, size, ring);
    divide_links(s);
    return step_time(s, size, ring);
}

double hs__shared_least(const hs__shared *s, int32_t size, const int32_t *ring)
{
    const size_t p = (size_t)s->x.p;
    double most;
    double speed = 0.0;
    double priced = 1.0 - s->all_prices;
    const double alone = hs__ring_balanced(&s->x, size, ring, &most);
    for (int32_t k = 0; k < size; k++) {
        speed += s->x.speed[ring[k]];
        priced += s->priced[(size_t)ring[k] * p + (size_t)ring[hs__place_after(k, size)]];
    }
    return size > 1 ? fmax(fmax(alone, most), priced / speed) : alone;
}

void hs__shared_price(hs__shared *s)
{
    const size_t p = (size_t)s->x.p;
    s->all_prices = 0.0;
    for (int32_t l = 0; l < s->links; l++) s->all_prices += s->price[l];
    /* what a sender pays, times its speed, at the bandwidth that is best for it at these prices,
     * together with the price of that bandwidth */
    for (size_t k = 0; k < p * p; k++) {
        double price = 0.0;
        for (int64_t h = s->first[k]; h < s->first[k + 1]; h++)
            price += s->price[s->hops[h]] * s->cost[s->hops[h]];
        const double speed = s->x.speed[k / p];
        s->priced[k] = speed * s->fixed[k] + 2.0 * sqrt(speed * price);
    }
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            const double edge = s->priced[i * p + j] + s->priced[j * p + i];
            s->priced[i * p + j] = edge;
            s->priced[j * p + i] = edge;
        }
}

/* ---- the convex problem ---------------------------------------------------------------------- */

/* Chooses the links that the messages would overload, and the messages over such links. */
static void choose_links(hs__shared *s)
{
    sharing *w = s->own;
    w->links = 0;
    w->count = 0;
    for (int32_t r = 0; r < w->messages; r++)
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++) {
            w->load[*l] = 0.0;
            w->busy[*l] = -1;
        }
    for (int32_t r = 0; r < w->messages; r++)
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++)
            if (s->cost[*l] > 0.0) w->load[*l] += s->cost[*l] / w->alone[r];
    for (int32_t r = 0; r < w->messages; r++) {
        w->variable[r] = -1;
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++) {
            if (!(w->load[*l] > 1.0)) continue;
            if (w->busy[*l] < 0) {
                w->link[w->links] = *l;
                w->busy[*l] = w->links++;
            }
            if (w->variable[r] < 0) {
                w->message[w->count] = r;
                w->variable[r] = w->count++;
            }
        }
    }
}

/* Lists the variables of each overloaded link. */
static void list_users(hs__shared *s)
{
    sharing *w = s->own;
    for (int32_t l = 0; l <= w->links; l++) w->first[l] = 0;
    for (int32_t c = 0; c < w->count; c++) {
        const int32_t r = w->message[c];
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++)
            if (w->busy[*l] >= 0) w->first[w->busy[*l] + 1]++;
    }
    for (int32_t l = 0; l < w->links; l++) w->first[l + 1] += w->first[l];
    for (int32_t c = 0; c < w->count; c++) {
        const int32_t r = w->message[c];
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++) {
            if (w->busy[*l] < 0) continue;
            const int32_t at = w->first[w->busy[*l]]++;
            w->user[at] = c;
            w->use[at] = s->cost[*l] / w->payment[r];
        }
    }
    /* now each list ends where the next one should begin */
    for (int32_t l = w->links; l > 0; l--) w->first[l] = w->first[l - 1];
    w->first[0] = 0;
}

/* Writes the numbers of the problem, from first bandwidths that leave a part of each link. */
static void write_problem(hs__shared *s, int32_t size, const int32_t *ring)
{
    sharing *w = s->own;
    divide_links(s);
    for (int32_t r = 0; r < w->messages; r++)
        w->payment[r] = w->variable[r] < 0 ? w->alone[r] : w->payment[r] / START;
    w->unit = step_time(s, size, ring);
    w->fixed[size] = 1.0 / (w->speed * w->unit);
    for (int32_t k = 0; k < size; k++) {
        double paid = fixed_payment(s, size, ring, k);
        for (int32_t r = 2 * k; r < 2 * k + 2; r++)
            if (w->variable[r] < 0) paid += w->alone[r];
        w->fixed[k] = paid / w->unit;
        w->fixed[size] += s->x.speed[ring[k]] / w->speed * w->fixed[k];
    }
    for (int32_t c = 0; c < w->count; c++) {
        const int32_t r = w->message[c];
        w->pay[c] = w->payment[r] / w->unit;
        w->cap[c] = w->alone[r] / w->payment[r];
        w->beta[c] = 1.0;
    }
    w->beta[w->count] = 1.5;
    list_users(s);
}

/* Computes the arguments of all logarithms at x; returns whether all are positive. */
static bool find_rooms(sharing *w, const double *x)
{
    for (int32_t k = 0; k <= w->size; k++) w->gap[k] = x[w->count] - w->fixed[k];
    bool inside = true;
    for (int32_t c = 0; c < w->count; c++) {
        if (!(x[c] > 0.0)) return false;
        const int32_t r = w->message[c];
        const double paid = w->pay[c] / x[c];
        w->gap[r / 2] -= paid;
        w->gap[w->size] -= w->part[r] * paid;
        w->open[c] = 1.0 - w->cap[c] * x[c];
        inside = inside && w->open[c] > 0.0;
    }
    for (int32_t k = 0; k <= w->size; k++) inside = inside && w->gap[k] > 0.0;
    for (int32_t l = 0; l < w->links; l++) {
        w->room[l] = 1.0;
        for (int32_t a = w->first[l]; a < w->first[l + 1]; a++)
            w->room[l] -= w->use[a] * x[w->user[a]];
        inside = inside && w->room[l] > 0.0;
    }
    return inside;
}

/* Returns the function that Newton's method minimises, after find_rooms; t counts from `since`, so
 * that differences are exact. */
static double barrier(const sharing *w, double s, const double *x, double since)
{
    double value = s * (x[w->count] - since);
    for (int32_t k = 0; k <= w->size; k++) value -= log(w->gap[k]);
    for (int32_t l = 0; l < w->links; l++) value -= log(w->room[l]);
    for (int32_t c = 0; c < w->count; c++) value -= log(w->open[c]);
    return value;
}

/* Computes its first and second derivatives at beta, after find_rooms. */
static void differentiate(sharing *w, double s)
{
    const size_t t = (size_t)w->count;
    const size_t n = t + 1;
    double *h = w->matrix;
    double *g = w->gradient;
    memset(h, 0, n * n * sizeof *h);
    g[t] = s;
    for (int32_t k = 0; k <= w->size; k++) {
        g[t] -= 1.0 / w->gap[k];
        h[t * n + t] += 1.0 / (w->gap[k] * w->gap[k]);
    }
    const double all = w->gap[w->size];
    for (size_t c = 0; c < t; c++) {
        const int32_t r = w->message[c];
        const int32_t other = w->variable[r ^ 1];
        const double own = w->gap[r / 2];
        const double open = w->cap[c] / w->open[c];
        const double slope = w->pay[c] / (w->beta[c] * w->beta[c]);
        const double part = w->part[r];
        g[c] = open - slope * (part / all + 1.0 / own);
        h[c * n + c] += open * open + 2.0 * slope / w->beta[c] * (part / all + 1.0 / own) +
                        slope / own * (slope / own);
        h[t * n + c] += slope / own / own + part * slope / all / all;
        if (other >= 0 && (size_t)other < c) {
            const double beside = w->pay[other] / (w->beta[other] * w->beta[other]);
            h[c * n + (size_t)other] += slope / own * (beside / own);
        }
        for (size_t d = 0; d <= c; d++)
            h[c * n + d] += part * slope / all *
                            (w->part[w->message[d]] * w->pay[d] / (w->beta[d] * w->beta[d]) / all);
    }
    for (int32_t l = 0; l < w->links; l++)
        for (int32_t a = w->first[l]; a < w->first[l + 1]; a++) {
            const size_t c = (size_t)w->user[a];
            const double own = w->use[a] / w->room[l];
            g[c] += own;
            /* the users of a link are in ascending order */
            for (int32_t b = w->first[l]; b <= a; b++)
                h[c * n + (size_t)w->user[b]] += own * (w->use[b] / w->room[l]);
        }
}

/* Solves matrix step = -gradient by Cholesky's method, in place; returns the square of Newton's
 * decrement, or -1 if rounding left no positive matrix. */
static double find_step(sharing *w, double *step)
{
    const size_t n = (size_t)w->count + 1;
    double *h = w->matrix;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = h[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= h[i * n + k] * h[j * n + k];
            if (i == j && !(sum > 0.0)) return -1.0;
            h[i * n + j] = i == j ? sqrt(sum) : sum / h[j * n + j];
        }
    double decrement = 0.0;
    for (size_t i = 0; i < n; i++) {
        double sum = -w->gradient[i];
        for (size_t k = 0; k < i; k++) sum -= h[i * n + k] * step[k];
        step[i] = sum / h[i * n + i];
        decrement += step[i] * step[i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) step[i] -= h[k * n + i] * step[k];
        step[i] /= h[i * n + i];
    }
    return decrement;
}

/* Moves beta to the least barrier for s; returns whether it could be found. */
static bool centre(sharing *w, double s)
{
    const size_t n = (size_t)w->count + 1;
    for (int32_t steps = 0; steps < NEWTON_STEPS; steps++) {
        find_rooms(w, w->beta);
        const double since = w->beta[n - 1];
        const double value = barrier(w, s, w->beta, since);
        differentiate(w, s);
        const double decrement = find_step(w, w->gradient);
        if (!(decrement >= 0.0)) return false;
        const bool last = decrement < CENTRED;
        double length = 1.0;
        for (int32_t k = 0;; k++, length *= 0.5) {
            if (k == HALVINGS) return false;
            for (size_t i = 0; i < n; i++) w->trial[i] = w->beta[i] + length * w->gradient[i];
            if (!find_rooms(w, w->trial)) continue;
            if (last || barrier(w, s, w->trial, since) <= value - 0.1 * length * decrement) break;
        }
        memcpy(w->beta, w->trial, n * sizeof *w->beta);
        if (last) return true;
    }
    return false;
}

/* Returns the price of a constraint, up to the factor s: 0 if it is not met closely. */
static double price_of(double left, double close) { return left < close ? 1.0 / left : 0.0; }

/* Computes the bound that the prices of members and links prove, after find_rooms.
 *   close   what is left of constraints that have a price
 *   prices  [all links] out: the links' prices for hs__shared_price; only written for links of
 *           variables */
static double prove_bound(hs__shared *s, double close, double *prices)
{
    sharing *w = s->own;
    double all = 0.0;
    double bound = 0.0;
    for (int32_t k = 0; k <= w->size; k++) {
        all += price_of(w->gap[k], close);
        bound += w->fixed[k] * price_of(w->gap[k], close);
    }
    if (!(all > 0.0)) return 0.0;
    double *price = w->gradient; /* of the route of each variable */
    const double scale = w->unit * w->speed / all;
    for (int32_t c = 0; c < w->count; c++) {
        const int32_t r = w->message[c];
        price[c] = w->cap[c] * price_of(w->open[c], close);
        for (const int32_t *l = w->route[r]; l < w->end[r]; l++) prices[*l] = 0.0;
    }
    for (int32_t l = 0; l < w->links; l++) {
        const double own = price_of(w->room[l], close);
        bound -= own;
        prices[w->link[l]] = scale * own;
        for (int32_t a = w->first[l]; a < w->first[l + 1]; a++)
            price[w->user[a]] += w->use[a] * own;
    }
    for (int32_t c = 0; c < w->count; c++) {
        const int32_t r = w->message[c];
        const double weight =
            w->part[r] * price_of(w->gap[w->size], close) + price_of(w->gap[r / 2], close);
        const double own = price_of(w->open[c], close);
        bound += 2.0 * sqrt(weight * w->pay[c] * price[c]) - own;
        const int32_t *slowest = w->route[r];
        while (s->cost[*slowest] < w->alone[r]) slowest++;
        prices[*slowest] += scale * own;
    }
    return bound / all * w->unit * SAFE;
}

/* Computes the better one of two bounds: with all prices, and with the prices of the constraints
 * that are met closely. The latter is far sharper if these are the constraints that bind. */
static double prove_best(hs__shared *s)
{
    static const double CLOSE = 1e-4;
    find_rooms(s->own, s->own->beta);
    const double sharp = prove_bound(s, CLOSE, s->price);
    const double safe = prove_bound(s, INFINITY, s->own->load);
    if (sharp >= safe) return sharp;
    return prove_bound(s, INFINITY, s->price);
}

/* Gives what is left of the links to messages that can still use it, in proportion to what they
 * have; so often that what is left no longer counts. */
static void fill_links(sharing *w)
{
    enum { PASSES = 4 };
    double *more = w->trial;
    for (int pass = 0; pass < PASSES; pass++) {
        find_rooms(w, w->beta);
        for (int32_t c = 0; c < w->count; c++) more[c] = w->open[c] / w->cap[c];
        for (int32_t l = 0; l < w->links; l++)
            for (int32_t a = w->first[l]; a < w->first[l + 1]; a++) {
                const double own = w->beta[w->user[a]];
                more[w->user[a]] = fmin(more[w->user[a]], w->room[l] / (1.0 - w->room[l]) * own);
            }
        for (int32_t c = 0; c < w->count; c++) w->beta[c] += more[c];
    }
    for (int32_t c = 0; c < w->count; c++)
        w->payment[w->message[c]] = w->pay[c] * w->unit / w->beta[c];
}

void hs__shared_solve(hs__shared *s, int32_t size, const int32_t *ring, double enough,
                      double *payments, double *value, double *bound)
{
    sharing *w = s->own;
    begin_ring(s, size, ring);
    choose_links(s);
    for (int32_t l = 0; l < s->links; l++) s->price[l] = 0.0;
    double least = 0.0;
    if (w->count) {
        write_problem(s, size, ring);
        const double logarithms = size + 1 + w->links + w->count;
        double weight = logarithms;
        while (centre(w, weight) && weight < FINAL * logarithms && least < enough) {
            weight *= GROWTH;
            least = enough < INFINITY ? prove_best(s) : 0.0;
        }
        least = prove_best(s);
        fill_links(w);
    } else memcpy(w->payment, w->alone, (size_t)w->messages * sizeof *w->payment);
    *value = step_time(s, size, ring);
    if (bound) *bound = w->count ? fmin(least, *value) : *value;
    if (payments) memcpy(payments, w->payment, (size_t)w->messages * sizeof *payments);
}
