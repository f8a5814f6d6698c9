/* The search of prices.c for one type of number and one set of instructions; prices.c includes it
 * once for each. Costs are weights with the other sign: the matchings minimise.
 *
 * Costs and tubes' prices are at most 2^BITS in absolute value, so that the entries of a matching
 * differ by at most 3 * 2^BITS. Its column prices then differ by at most twice as much, as the last
 * row that found its column prefers it to all other columns. So no difference reaches
 * 2^(BITS + 5). */

typedef struct {
    price_t prices[HS__MOST_CUBE]; /* of the columns */
    int32_t column[HS__MOST_CUBE]; /* of each row, or -1 */
} NAME(matching);

typedef struct {
    int32_t p;
    price_t limit;                   /* of the tubes' prices in absolute value */
    price_t *by_column;              /* [p^3] costs by worker, column and tube, scaled */
    price_t *by_tube;                /* [p^3] the same by worker, tube and column */
    price_t *matrix;                 /* [p^2] the cost of the best tube, with its price */
    price_t *tube;                   /* [p^2] the best tube of each worker and column */
    price_t prices[HS__MOST_CUBE];   /* of the tubes */
    int32_t demand[HS__MOST_CUBE];   /* workers more than one that want each tube */
    double direction[HS__MOST_CUBE]; /* in which the prices moved last */
    NAME(matching) relaxed, tubes, columns;
    /* the matching in progress */
    const price_t *row[HS__MOST_CUBE]; /* costs of each row */
    int32_t row_of[HS__MOST_CUBE];     /* of each column, or -1 */
    price_t dist[HS__MOST_CUBE];       /* distances of the columns in a search for a path */
    price_t done[HS__MOST_CUBE];       /* LARGEST where the distance is final, else 0 */
    price_t from[HS__MOST_CUBE];       /* the row before each column */
} NAME(market);

static hs_status NAME(open_market)(hs__bus *x, const int64_t *cube, int shift, NAME(market) * m)
{
    const size_t p = (size_t)x->p;
    const size_t plane = p * p;
    price_t *memory = hs__room_take(&x->prices, 2 * (plane * p + plane), sizeof *memory);
    if (!memory) return HS_ERROR_MEMORY;
    m->p = x->p;
    m->limit = (price_t)hs__min(INT64_C(1) << BITS, (INT64_C(1) << 61) / x->p);
    m->by_column = memory;
    m->by_tube = memory + plane * p;
    m->matrix = memory + 2 * plane * p;
    m->tube = memory + 2 * plane * p + plane;
    for (size_t i = 0; i < p; i++) {
        m->prices[i] = 0;
        m->direction[i] = 0.0;
        m->relaxed.prices[i] = 0;
        m->relaxed.column[i] = -1;
        for (size_t j = 0; j < p; j++)
            for (size_t k = 0; k < p; k++) {
                const int64_t cost = cube[(i * p + j) * p + k] * (INT64_C(1) << shift);
                m->by_column[(i * p + j) * p + k] = (price_t)cost;
                m->by_tube[(i * p + k) * p + j] = (price_t)cost;
            }
    }
    return HS_OK;
}

/* ---- matchings ---- */

static inline TARGET price_t NAME(least_cost)(int32_t p, const price_t *restrict c,
                                              const price_t *restrict v)
{
    price_t least = LARGEST;
    for (int32_t j = 0; j < p; j++) {
        const price_t here = c[j] - v[j];
        least = here < least ? here : least;
    }
    return least;
}

/* Lowers the distances of the columns by way of row i; returns the least one that is not final. */
static inline TARGET price_t NAME(relax_row)(NAME(market) * m, const price_t *restrict v, int32_t i,
                                             price_t base)
{
    const price_t *restrict c = m->row[i];
    const int32_t p = m->p;
    price_t lowest = LARGEST;
    for (int32_t j = 0; j < p; j++) {
        const price_t here = c[j] - v[j] - base;
        m->from[j] = here < m->dist[j] ? i : m->from[j];
        m->dist[j] = here < m->dist[j] ? here : m->dist[j];
        const price_t open = m->dist[j] | m->done[j];
        lowest = open < lowest ? open : lowest;
    }
    return lowest;
}

/* Returns a column at the least distance that is not final, a free one if there is any. */
static inline TARGET int32_t NAME(next_column)(const NAME(market) * m, price_t lowest)
{
    const int32_t p = m->p;
    int32_t found = -1;
    for (int32_t j = 0; j < p; j++) {
        const int32_t rank = m->row_of[j] < 0 ? p + j : j;
        const int32_t here = (m->dist[j] | m->done[j]) == lowest ? rank : -1;
        found = here > found ? here : found;
    }
    return found < p ? found : found - p;
}

/* Finds a shortest path from a free row, whose least cost is `least`, to a free column by Dijkstra's
 * algorithm, and reassigns along it. */
static TARGET void NAME(augment_path)(NAME(market) * m, NAME(matching) * x, int32_t row,
                                      price_t least)
{
    const int32_t p = m->p;
    int32_t i = row;
    int32_t end;
    price_t base = least;
    price_t lowest;
    for (int32_t j = 0; j < p; j++) {
        m->dist[j] = LARGEST;
        m->done[j] = 0;
    }
    for (;;) {
        lowest = NAME(relax_row)(m, x->prices, i, base);
        end = NAME(next_column)(m, lowest);
        i = m->row_of[end];
        if (i < 0) break;
        m->done[end] = LARGEST;
        base = m->row[i][end] - x->prices[end] - lowest;
    }
    for (int32_t j = 0; j < p; j++) x->prices[j] -= (lowest - m->dist[j]) & m->done[j];
    for (int32_t j = end; i != row;) {
        i = (int32_t)m->from[j];
        const int32_t next = x->column[i];
        m->row_of[j] = i;
        x->column[i] = j;
        j = next;
    }
}

/* Finds the least total cost of rows and columns, one each; returns it. It begins with the given
 * prices, and keeps the given columns where they are best at these prices. The closer both are to the
 * solution, the faster. */
static TARGET int64_t NAME(match)(NAME(market) * m, NAME(matching) * x)
{
    const int32_t p = m->p;
    price_t highest = x->prices[0];
    for (int32_t j = 0; j < p; j++) {
        m->row_of[j] = -1;
        highest = x->prices[j] > highest ? x->prices[j] : highest;
    }
    /* the same for all columns: no change, and prices do not drift away */
    for (int32_t j = 0; j < p; j++) x->prices[j] -= highest;
    for (int32_t i = 0; i < p; i++) {
        const int32_t j = x->column[i];
        if (j < 0) continue;
        const price_t least = NAME(least_cost)(p, m->row[i], x->prices);
        if (m->row_of[j] < 0 && m->row[i][j] - x->prices[j] == least) m->row_of[j] = i;
        else x->column[i] = -1;
    }
    for (int32_t i = 0; i < p; i++)
        if (x->column[i] < 0)
            NAME(augment_path)(m, x, i, NAME(least_cost)(p, m->row[i], x->prices));
    int64_t total = 0;
    for (int32_t i = 0; i < p; i++) total += m->row[i][x->column[i]];
    return total;
}

/* ---- the relaxation ---- */

/* Finds the best tube of each worker for each column, the first one of several, and its cost with
 * the price. The inner loop runs over the columns, so that it needs no branches. */
static TARGET void NAME(choose_tubes)(NAME(market) * m)
{
    const ptrdiff_t p = m->p;
    for (ptrdiff_t i = 0; i < p; i++) {
        price_t *restrict least = m->matrix + i * p;
        price_t *restrict tube = m->tube + i * p;
        const price_t *own = m->by_tube + i * p * p;
        for (ptrdiff_t j = 0; j < p; j++) {
            least[j] = own[j] + m->prices[0];
            tube[j] = 0;
        }
        for (ptrdiff_t k = 1; k < p; k++) {
            const price_t *restrict cost = own + k * p;
            const price_t price = m->prices[k];
            for (ptrdiff_t j = 0; j < p; j++) {
                const price_t here = cost[j] + price;
                tube[j] = here < least[j] ? (price_t)k : tube[j];
                least[j] = here < least[j] ? here : least[j];
            }
        }
    }
}

/* Computes the bound at these prices, scaled, and the demand for tubes. */
static TARGET int64_t NAME(relax_tubes)(NAME(market) * m)
{
    const int32_t p = m->p;
    NAME(choose_tubes)(m);
    for (int32_t i = 0; i < p; i++) m->row[i] = m->matrix + (ptrdiff_t)i * p;
    int64_t value = -NAME(match)(m, &m->relaxed);
    for (int32_t k = 0; k < p; k++) {
        value += m->prices[k];
        m->demand[k] = -1;
    }
    for (int32_t i = 0; i < p; i++) m->demand[m->tube[i * p + m->relaxed.column[i]]]++;
    return value;
}

/* Finds the best tubes for the columns of the relaxation, then the best columns for these tubes;
 * returns the total weight, scaled. The prices of the relaxation are good ones to begin with. */
static TARGET int64_t NAME(complete_solution)(NAME(market) * m)
{
    const int32_t p = m->p;
    const ptrdiff_t plane = (ptrdiff_t)p * p;
    for (int32_t k = 0; k < p; k++) {
        m->tubes.prices[k] = -m->prices[k];
        m->columns.prices[k] = m->relaxed.prices[k];
        m->columns.column[k] = m->relaxed.column[k];
    }
    for (int32_t i = 0; i < p; i++) {
        const ptrdiff_t j = m->relaxed.column[i];
        m->row[i] = m->by_column + i * plane + j * p;
        m->tubes.column[i] = (int32_t)m->tube[(ptrdiff_t)i * p + j];
    }
    NAME(match)(m, &m->tubes);
    for (int32_t i = 0; i < p; i++)
        m->row[i] = m->by_tube + i * plane + (ptrdiff_t)m->tubes.column[i] * p;
    return -NAME(match)(m, &m->columns);
}

/* Moves the prices along the demand and half of the last direction; the sum converges in fewer
 * rounds than the demand alone. The step would lower the bound by `reduction` if it fell at the same
 * rate all the way. Returns false if no tube is in demand: no prices give a lower bound. */
static bool NAME(move_prices)(NAME(market) * m, double reduction)
{
    const double limit = (double)m->limit;
    double demand = 0.0;
    double norm = 0.0;
    for (int32_t k = 0; k < m->p; k++) {
        m->direction[k] = m->demand[k] + m->direction[k] / 2;
        norm += m->direction[k] * m->direction[k];
        demand += (double)m->demand[k] * m->demand[k];
    }
    if (demand == 0.0) return false;
    /* a direction that nearly cancels the demand is not to become a large step */
    const double step = reduction / fmax(norm, demand);
    for (int32_t k = 0; k < m->p; k++) {
        const double price = (double)m->prices[k] + rint(step * m->direction[k]);
        m->prices[k] = (price_t)fmin(fmax(price, -limit), limit);
    }
    return true;
}

static TARGET hs_status NAME(find_prices)(hs__bus *x, const scaled_cube *cube, const question *q,
                                          answer *y)
{
    NAME(market) m;
    const hs_status status = NAME(open_market)(x, cube->costs, cube->shift, &m);
    if (status != HS_OK) return status;
    const int32_t p = m.p;
    int64_t least = INT64_MAX;
    int64_t best = -1;
    double step = 1.0;
    int stalled = 0;
    const int patience = (int)hs__max(PATIENCE, 3 + p / 4);
    for (int32_t round = 0; round < ROUNDS * (p <= FEW ? 3 : 1); round++) {
        if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
        const int64_t value = NAME(relax_tubes)(&m);
        stalled = value < least ? 0 : stalled + 1;
        least = hs__min(value, least);
        const int64_t found = NAME(complete_solution)(&m);
        if (found > best) {
            best = found;
            memcpy(y->columns, m.columns.column, (size_t)p * sizeof *y->columns);
            memcpy(y->tubes, m.tubes.column, (size_t)p * sizeof *y->tubes);
        }
        y->bound = (least >> cube->shift) + cube->sure;
        y->total = (best >> cube->shift) + cube->sure;
        const int64_t reached = hs__max(q->known, y->total);
        if (y->bound <= reached ||
            (q->wanted >= 0 && (y->bound < q->wanted || reached >= q->wanted)))
            break;
        if (isfinite(x->end) && hs_clock() > x->end) break;
        if (stalled == patience) {
            step /= 2;
            stalled = 0;
        }
        if (step < STEP_LEAST) break;
        if (!NAME(move_prices)(&m, step * (double)hs__max(value - best, 1))) break;
    }
    return HS_OK;
}
