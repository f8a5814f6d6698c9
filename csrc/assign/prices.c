/* Prices on the slots of the answers: a bound on the axial assignment problem, and good solutions.
 *
 * The bound is a Lagrangian relaxation. Every worker has one column and one tube. Without the rule
 * that no two workers share a tube, each worker would take its best tube for each column, and what is
 * left is a matching of workers and columns. So each tube has a price, which the worker pays and the
 * bound gets back; any prices give a bound. Tubes in demand become dearer (subgradients, Held and
 * Karp). All numbers are integers of 1 / scale of a task, so the bound is exact.
 *
 * Solutions come from the columns found: the best tubes for them, then the best columns for these
 * tubes. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/numbers.h"

/* By hand: rounds, three times as many up to FEW workers; the step is halved after so many rounds
 * without a better bound. */
enum { ROUNDS = 300, FEW = 40, PATIENCE = 10, SCALE_BITS = 57, SCALE_MOST = 16 };

/* Costs are weights with the other sign: the matchings minimise. */
typedef struct {
    int32_t p;
    int64_t *by_column;              /* [p^3] costs by worker, column and tube, scaled */
    int64_t *by_tube;                /* [p^3] the same by worker, tube and column */
    int64_t *matrix;                 /* [p^2] */
    int64_t *tube;                   /* [p^2] the best tube of each worker and column */
    int64_t *prices;                 /* [p] */
    int32_t *column, *back, *demand; /* [p] each */
    int64_t limit;                   /* of the prices' size, so that nothing overflows */
} market;

static hs_status open_market(hs__bus *x, int64_t *cube, market *m)
{
    const size_t p = (size_t)x->p;
    const size_t plane = p * p;
    if (p > HS__MOST_CUBE) return HS_ERROR_VALUE;
    int64_t *longs = hs__room_take(&x->prices, plane * p + 2 * plane + p, sizeof *longs);
    int32_t *ints = hs__room_take(&x->keys, 3 * p, sizeof *ints);
    if (!longs || !ints) return HS_ERROR_MEMORY;
    *m = (market){.p = x->p,
                  .by_column = cube,
                  .by_tube = longs,
                  .matrix = longs + plane * p,
                  .tube = longs + plane * p + plane,
                  .prices = longs + plane * p + 2 * plane,
                  .column = ints,
                  .back = ints + p,
                  .demand = ints + 2 * p,
                  .limit = hs__min(INT64_C(1) << SCALE_BITS, (INT64_C(1) << 61) / x->p)};
    memset(m->prices, 0, p * sizeof *m->prices);
    return HS_OK;
}

/* Turns weights into costs: subtracts each worker's least weight, which lowers all solutions
 * equally, and scales. Returns the sum of what was subtracted; *shift is the exponent of the
 * scale. */
static int64_t scale_weights(market *m, int *shift)
{
    const size_t p = (size_t)m->p;
    int64_t sure = 0;
    int64_t largest = 0;
    for (size_t i = 0; i < p; i++) {
        int64_t *own = m->by_column + i * p * p;
        int64_t least = own[0];
        for (size_t e = 0; e < p * p; e++) least = own[e] < least ? own[e] : least;
        for (size_t e = 0; e < p * p; e++) {
            own[e] = least - own[e];
            largest = own[e] < -largest ? -own[e] : largest;
        }
        sure += least;
    }
    int bits = 0;
    while (m->p * (largest + 1) >> bits) bits++;
    *shift = (int)hs__max(0, hs__min(SCALE_MOST, SCALE_BITS - bits));
    const int64_t scale = INT64_C(1) << *shift;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            for (size_t k = 0; k < p; k++) {
                const int64_t cost = m->by_column[(i * p + j) * p + k] * scale;
                m->by_column[(i * p + j) * p + k] = cost;
                m->by_tube[(i * p + k) * p + j] = cost;
            }
    return sure;
}

/* Finds the best tube of each worker for each column, the first one of several, and its cost with
 * the price. The inner loop runs over the columns, so that it needs no branches: it takes several
 * columns at a time if the processor can compare integers of 64 bits. */
static inline __attribute__((always_inline)) void compare_tubes(const market *m)
{
    const ptrdiff_t p = m->p;
    for (ptrdiff_t i = 0; i < p; i++) {
        int64_t *restrict least = m->matrix + i * p;
        int64_t *restrict tube = m->tube + i * p;
        const int64_t *own = m->by_tube + i * p * p;
        for (ptrdiff_t j = 0; j < p; j++) {
            least[j] = own[j] + m->prices[0];
            tube[j] = 0;
        }
        for (ptrdiff_t k = 1; k < p; k++) {
            const int64_t *restrict cost = own + k * p;
            const int64_t price = m->prices[k];
            for (ptrdiff_t j = 0; j < p; j++) {
                const int64_t here = cost[j] + price;
                tube[j] = here < least[j] ? k : tube[j];
                least[j] = here < least[j] ? here : least[j];
            }
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
static __attribute__((target("avx2"))) void compare_tubes_avx2(const market *m)
{
    compare_tubes(m);
}
#endif

static void choose_tubes(const market *m)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2")) {
        compare_tubes_avx2(m);
        return;
    }
#endif
    compare_tubes(m);
}

/* Finds the best tubes for the columns, then the best columns for these tubes. */
static hs_status complete_solution(hs__bus *x, market *m, int64_t *total)
{
    const size_t p = (size_t)m->p;
    for (size_t i = 0; i < p; i++)
        memcpy(m->matrix + i * p, m->by_column + (i * p + (size_t)m->column[i]) * p,
               p * sizeof *m->matrix);
    hs_status status = hs__match_costs(x, m->p, m->matrix, m->back, total);
    if (status != HS_OK) return status;
    for (size_t i = 0; i < p; i++)
        memcpy(m->matrix + i * p, m->by_tube + (i * p + (size_t)m->back[i]) * p,
               p * sizeof *m->matrix);
    status = hs__match_costs(x, m->p, m->matrix, m->column, total);
    *total = -*total;
    return status;
}

/* Moves the prices along the demand: how many workers more than one want each tube. */
static void move_prices(market *m, double move)
{
    for (int32_t k = 0; k < m->p; k++) {
        const double price = (double)m->prices[k] + rint(move * m->demand[k]);
        const double limit = (double)m->limit;
        if (fabs(price) < limit) m->prices[k] += (int64_t)rint(move * m->demand[k]);
        else m->prices[k] = price < 0.0 ? -m->limit : m->limit;
    }
}

hs_status hs__price_tubes(hs__bus *x, int64_t *cube, int64_t known, int64_t wanted, int64_t *bound,
                          int64_t *total, int32_t *columns, int32_t *tubes)
{
    market m;
    hs_status status = open_market(x, cube, &m);
    if (status != HS_OK) return status;
    int shift;
    const int32_t p = m.p;
    const int64_t sure = scale_weights(&m, &shift);
    int64_t least = INT64_MAX;
    int64_t best = -1;
    double step = 1.0;
    int stalled = 0;
    for (int32_t round = 0; round < ROUNDS * (p <= FEW ? 3 : 1); round++) {
        int64_t value;
        int64_t found;
        choose_tubes(&m);
        status = hs__match_costs(x, p, m.matrix, m.column, &value);
        if (status != HS_OK) return status;
        value = -value;
        for (int32_t k = 0; k < p; k++) {
            value += m.prices[k];
            m.demand[k] = -1;
        }
        for (int32_t i = 0; i < p; i++) m.demand[m.tube[i * p + m.column[i]]]++;
        stalled = value < least ? 0 : stalled + 1;
        least = hs__min(value, least);
        status = complete_solution(x, &m, &found);
        if (status != HS_OK) return status;
        if (found > best) {
            best = found;
            memcpy(columns, m.column, (size_t)p * sizeof *columns);
            memcpy(tubes, m.back, (size_t)p * sizeof *tubes);
        }
        *bound = (least >> shift) + sure;
        *total = (best >> shift) + sure;
        const int64_t reached = hs__max(known, *total);
        if (*bound <= reached || (wanted >= 0 && (*bound < wanted || reached >= wanted))) break;
        if (isfinite(x->end) && hs_clock() > x->end) break;
        if (stalled == PATIENCE) {
            step /= 2;
            stalled = 0;
        }
        int64_t norm = 0;
        for (int32_t k = 0; k < p; k++) norm += (int64_t)m.demand[k] * m.demand[k];
        if (norm == 0 || step < 1e-3) break;
        move_prices(&m, step * (double)hs__max(value - best, 1) / (double)norm);
    }
    return HS_OK;
}
