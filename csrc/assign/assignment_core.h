/* The solver for one type of cost and one width of vectors; assignment_type.h includes it once for
 * each. rows <= cols, minimised; a cost of LARGEST is a forbidden pair.
 *
 * Shortest augmenting paths after Jonker and Volgenant (1987): column reduction, augmenting row
 * reduction, then a shortest path from each row that is still free. Only column prices v are kept.
 * Invariants: along row i, c[i][j] - v[j] is least at the column assigned to the row; free columns
 * still have their initial price, which is 0 if there are more columns than rows.
 *
 * The scans go over whole rows without branches, LANES columns at a time. They keep the least value
 * of each block of BLOCK columns, so that its column is found without a second pass over the
 * row. */

typedef cost_t NAME(lanes)
    __attribute__((vector_size(LANES * sizeof(cost_t)), aligned(sizeof(cost_t)), may_alias));

typedef int64_t NAME(indices)
    __attribute__((vector_size(LANES * sizeof(int64_t)), aligned(sizeof(int64_t)), may_alias));

static inline TARGET cost_t NAME(least_lane)(const NAME(lanes) * values)
{
    cost_t least = (*values)[0];
    for (int l = 1; l < LANES; l++) least = (*values)[l] < least ? (*values)[l] : least;
    return least;
}

/* a where the mask is set, b elsewhere. */
#undef CHOOSE
#define CHOOSE(mask, a, b) \
    ((NAME(lanes))(((mask) & (NAME(indices))(a)) | (~(mask) & (NAME(indices))(b))))

/* Finds the least and the second least value of c - v along a row, and the least value of each
 * block. */
static inline TARGET void NAME(two_least)(const PROBLEM *x, int32_t i, cost_t *first,
                                          cost_t *second)
{
    const cost_t *restrict c = x->costs + i * x->stride;
    const cost_t *restrict v = x->v;
    NAME(lanes) low = (NAME(lanes)){0} + LARGEST;
    NAME(lanes) next = low;
    int32_t whole = x->cols / LANES * LANES;
    for (int32_t start = 0; start < whole; start += BLOCK) {
        NAME(lanes) here = (NAME(lanes)){0} + LARGEST;
        int32_t end = whole - start < BLOCK ? whole : start + BLOCK;
        for (int32_t j = start; j < end; j += LANES) {
            NAME(lanes) h = *(const NAME(lanes) *)(c + j) - *(const NAME(lanes) *)(v + j);
            NAME(indices) lower = h < low;
            NAME(lanes) high = CHOOSE(lower, low, h);
            next = CHOOSE(high < next, high, next);
            low = CHOOSE(lower, h, low);
            here = CHOOSE(h < here, h, here);
        }
        x->least[start / BLOCK] = NAME(least_lane)(&here);
    }
    cost_t one = LARGEST;
    cost_t two = LARGEST;
    cost_t least = LARGEST;
    for (int32_t j = whole; j < x->cols; j++) {
        cost_t h = c[j] - v[j];
        least = h < least ? h : least;
        if (h < one) {
            two = one;
            one = h;
        } else if (h < two) two = h;
    }
    if (whole < x->cols)
        x->least[whole / BLOCK] =
            whole % BLOCK && x->least[whole / BLOCK] < least ? x->least[whole / BLOCK] : least;
    for (int l = 0; l < LANES; l++) {
        if (low[l] < one) {
            two = one < next[l] ? one : next[l];
            one = low[l];
        } else if (low[l] < two) two = low[l];
    }
    *first = one;
    *second = two;
}

/* Returns a column at which c - v is `value` along row i, a free one if there is any. */
static inline TARGET int32_t NAME(column_with)(const PROBLEM *x, int32_t i, cost_t value,
                                               bool several)
{
    const cost_t *c = x->costs + i * x->stride;
    int32_t found = -1;
    for (int32_t start = 0; start < x->cols; start += BLOCK) {
        if (x->least[start / BLOCK] != value) continue;
        int32_t end = start + BLOCK < x->cols ? start + BLOCK : x->cols;
        for (int32_t j = start; j < end; j++)
            if (c[j] - x->v[j] == value) {
                if (x->row_of[j] < 0 || !several) return j;
                if (found < 0) found = j;
            }
    }
    return found;
}

/* Gives each free row its best column and lowers the price of that column until the second best is
 * as good. The row that had the column becomes free; it is processed at once if the price fell,
 * else it stays free for the next pass. Returns the number of rows that are still free. */
static inline TARGET int32_t NAME(reduce_rows)(const PROBLEM *x, int32_t unassigned,
                                               int64_t *effort)
{
    int32_t left = 0;
    int32_t *rows = x->free_rows;
    for (int32_t k = 0; k < unassigned;) {
        int32_t i = rows[k++];
        if (--*effort < 0 || hs__cancelled(x->cancel)) {
            rows[left++] = i;
            continue;
        }
        cost_t first, second;
        NAME(two_least)(x, i, &first, &second);
        if (first == LARGEST) {
            rows[left++] = i;
            continue;
        }
        int32_t j = NAME(column_with)(x, i, first, first == second);
        int32_t before = x->row_of[j];
        bool lower = false;
        /* a row with only one possible column: no price is low enough */
        if (second != LARGEST && first < second) {
            cost_t price = x->v[j] - (second - first);
            lower = price < x->v[j]; /* not always true, as doubles are rounded */
            x->v[j] = price;
        } else if (before >= 0) { /* nothing is gained by displacing another row */
            rows[left++] = i;
            continue;
        }
        x->row_of[j] = i;
        x->col_of[i] = j;
        if (before < 0) continue;
        x->col_of[before] = -1;
        if (lower) rows[--k] = before;
        else rows[left++] = before;
    }
    return left;
}

/* dist[j] = min(dist[j], c[i][j] - v[j] - base), with from[j] = i where it decreased; returns the
 * least dist. Columns that are done have the price DONE, so that their dist stays LARGEST
 * (integers: at least above the dist of every column that is not done). */
static inline TARGET cost_t NAME(relax_row)(const PROBLEM *x, int32_t i, cost_t base)
{
    const cost_t *restrict c = x->costs + i * x->stride;
    const cost_t *restrict v = x->v;
    cost_t *restrict dist = x->dist;
    cost_t lowest = LARGEST;
    int64_t *restrict from = x->from;
    int32_t whole = x->cols / LANES * LANES;
    NAME(lanes) bases = (NAME(lanes)){0} + base;
    NAME(indices) own = (NAME(indices)){0} + (int64_t)i;
    for (int32_t start = 0; start < whole; start += BLOCK) {
        NAME(lanes) low = (NAME(lanes)){0} + LARGEST;
        int32_t end = whole - start < BLOCK ? whole : start + BLOCK;
        for (int32_t j = start; j < end; j += LANES) {
            NAME(lanes) d = *(NAME(lanes) *)(dist + j);
            NAME(lanes) h = *(const NAME(lanes) *)(c + j) - *(const NAME(lanes) *)(v + j) - bases;
            NAME(indices) *predecessors = (NAME(indices) *)(from + j);
            NAME(indices) closer = h < d;
            *predecessors = (closer & own) | (~closer & *predecessors);
            d = CHOOSE(closer, h, d);
            *(NAME(lanes) *)(dist + j) = d;
            low = CHOOSE(d < low, d, low);
        }
        cost_t least = NAME(least_lane)(&low);
        x->least[start / BLOCK] = least;
        lowest = least < lowest ? least : lowest;
    }
    if (whole < x->cols) {
        cost_t least = whole % BLOCK ? x->least[whole / BLOCK] : LARGEST;
        for (int32_t j = whole; j < x->cols; j++) {
            cost_t h = c[j] - v[j] - base;
            if (h < dist[j]) {
                dist[j] = h;
                from[j] = i;
            }
            if (dist[j] < least) least = dist[j];
        }
        x->least[whole / BLOCK] = least;
        lowest = least < lowest ? least : lowest;
    }
    return lowest;
}

/* Finds a shortest path from a free row to a free column, by Dijkstra, and reassigns along it;
 * returns false if there is no path. */
static inline TARGET bool NAME(augment_path)(const PROBLEM *x, int32_t row)
{
    for (int32_t j = 0; j < x->cols; j++) x->dist[j] = LARGEST;
    int32_t i = row;
    int32_t ready = 0;
    int32_t end = -1;
    cost_t base = 0;
    cost_t lowest;
    for (;;) {
        lowest = NAME(relax_row)(x, i, base);
        if (lowest == LARGEST || hs__cancelled(x->cancel)) break;
        int32_t j = -1;
        for (int32_t start = 0; start < x->cols && end < 0; start += BLOCK) {
            if (x->least[start / BLOCK] != lowest) continue;
            int32_t stop = start + BLOCK < x->cols ? start + BLOCK : x->cols;
            for (int32_t k = start; k < stop; k++)
                if (x->dist[k] == lowest) {
                    if (j < 0) j = k;
                    if (x->row_of[k] < 0) {
                        end = k;
                        break;
                    }
                }
        }
        if (end >= 0) break;
        i = x->row_of[j];
        base = x->costs[i * x->stride + j] - x->v[j] - lowest;
        x->done[ready] = j;
        cost_t *kept = x->kept + 2 * (ptrdiff_t)ready;
        kept[0] = x->v[j];
        kept[1] = lowest;
        x->kept_from[ready++] = (int32_t)x->from[j];
        x->dist[j] = LARGEST;
        x->v[j] = DONE;
    }
    for (int32_t k = 0; k < ready; k++) {
        /* rounding may have let the distances fall: prices never rise */
        const cost_t *kept = x->kept + 2 * (ptrdiff_t)k;
        const cost_t fall = lowest - kept[1];
        x->v[x->done[k]] = kept[0] - (fall > 0 ? fall : 0);
        x->from[x->done[k]] = x->kept_from[k];
    }
    if (end < 0) return false;
    for (int32_t j = end;;) {
        i = (int32_t)x->from[j];
        int32_t next = x->col_of[i];
        x->row_of[j] = i;
        x->col_of[i] = j;
        if (i == row) return true;
        j = next;
    }
}

/* Returns whether c - v, as real numbers, is below u somewhere along row i, where u is the least of
 * the rounded differences. Call it after two_least. */
static inline TARGET bool NAME(rounded_up)(const PROBLEM *x, int32_t i)
{
    const cost_t *c = x->costs + i * x->stride;
    const cost_t *v = x->v;
    const cost_t u = x->u[i];
    NAME(indices) above = {0};
    for (int32_t start = 0; start < x->cols; start += BLOCK) {
        if (x->least[start / BLOCK] != u) continue;
        int32_t end = x->cols - start < BLOCK ? x->cols : start + BLOCK;
        int32_t j = start;
        for (; j + LANES <= end; j += LANES) {
            NAME(lanes) cost = *(const NAME(lanes) *)(c + j);
            NAME(lanes) price = *(const NAME(lanes) *)(v + j);
            NAME(lanes) h = cost - price;
            NAME(lanes) part = h - cost;
            /* Knuth's two-sum: the error of the rounding */
            above |= (h == u) & ((cost - (h - part)) - (price + part) < 0);
        }
        for (; j < end; j++) {
            cost_t h = c[j] - v[j];
            cost_t part = h - c[j];
            above[0] |= h == u && (c[j] - (h - part)) - (v[j] + part) < 0;
        }
    }
    int64_t any = 0;
    for (int l = 0; l < LANES; l++) any |= above[l];
    return any != 0;
}

/* Returns whether all costs are in range, as far as it comes before a cancellation; the least cost
 * of each column goes to v. */
static inline TARGET bool NAME(column_least)(const PROBLEM *x)
{
    const cost_t limit = LIMIT;
    NAME(indices) good = ~(NAME(indices)){0};
    int32_t whole = x->cols / LANES * LANES;
    for (int32_t i = 0; i < x->rows && !hs__cancelled(x->cancel); i++) {
        const cost_t *restrict c = x->costs + i * x->stride;
        cost_t *restrict v = x->v;
        for (int32_t j = 0; j < whole; j += LANES) {
            NAME(lanes) cost = *(const NAME(lanes) *)(c + j);
            NAME(lanes) least = *(NAME(lanes) *)(v + j);
            good &= ((cost <= limit) & (cost >= -limit)) | (cost == FORBIDDEN);
            *(NAME(lanes) *)(v + j) = CHOOSE(cost < least, cost, least);
        }
        for (int32_t j = whole; j < x->cols; j++) {
            if (!((c[j] <= limit && c[j] >= -limit) || c[j] == FORBIDDEN)) good[0] = 0;
            if (c[j] < v[j]) v[j] = c[j];
        }
    }
    int64_t all = -1;
    for (int l = 0; l < LANES; l++) all &= good[l];
    return all == -1;
}

static TARGET hs_status NAME(solve)(const PROBLEM *x)
{
    int32_t rows = x->rows;
    int32_t cols = x->cols;
    for (int32_t j = 0; j < cols; j++) {
        x->v[j] = LARGEST;
        x->row_of[j] = -1;
    }
    if (!NAME(column_least)(x)) return HS_ERROR_VALUE;
    if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
    for (int32_t j = 0; j < cols; j++) {
        if (rows < cols) x->v[j] = 0;
        else if (x->v[j] == LARGEST) return HS_ERROR_INFEASIBLE;
    }
    for (int32_t i = 0; i < rows; i++) {
        x->col_of[i] = -1;
        x->free_rows[i] = i;
    }
    int32_t left = rows;
    /* price wars between rows can be long if costs are nearly structured */
    int64_t effort = EFFORT * (int64_t)rows;
    for (int pass = 0; pass < PASSES && left > 0; pass++)
        left = NAME(reduce_rows)(x, left, &effort);
    for (int32_t k = 0; k < left; k++)
        if (!NAME(augment_path)(x, x->free_rows[k]))
            return hs__cancelled(x->cancel) ? HS_ERROR_CANCELLED : HS_ERROR_INFEASIBLE;
    for (int32_t i = 0; i < rows && x->u; i++) {
        cost_t second;
        if (hs__cancelled(x->cancel)) return HS_ERROR_CANCELLED;
        NAME(two_least)(x, i, &x->u[i], &second);
        if (ROUNDS && NAME(rounded_up)(x, i)) x->u[i] = BELOW(x->u[i]);
    }
    return HS_OK;
}
