/* hs_assign_axial: the axial assignment problem in three indices, by dynamic programming over pairs
 * of sets. */
#include <stdint.h>
#include <stdlib.h>

#include "core/cancel.h"
#include "hetsched.h"

enum { SETS = 1 << HS_ASSIGN_AXIAL_MOST };

static const int64_t LARGEST = INT64_C(1) << 58;

/* best[size][a * sets[size] + b]: the largest weight of the first `size` rows with the a-th set of
 * columns and the b-th set of tubes. */
typedef struct {
    int32_t p;
    const int64_t *weights;
    int32_t sets[HS_ASSIGN_AXIAL_MOST + 1];
    int64_t *best[HS_ASSIGN_AXIAL_MOST + 1];
    int16_t rank[SETS], member[HS_ASSIGN_AXIAL_MOST + 1][924]; /* 12! / (6! 6!) */
} table;

static void rank_sets(table *x)
{
    for (int32_t set = 0; set < 1 << x->p; set++) {
        int32_t size = 0;
        for (int32_t rest = set; rest; rest &= rest - 1) size++;
        x->rank[set] = (int16_t)x->sets[size];
        x->member[size][x->sets[size]++] = (int16_t)set;
    }
}

/* Finds the best pair (j, k) for row size - 1 within the sets of columns and tubes; returns its
 * value. */
static int64_t last_pair(const table *x, int32_t size, int32_t columns, int32_t tubes, int32_t *j,
                         int32_t *k)
{
    int32_t before[HS_ASSIGN_AXIAL_MOST], tube[HS_ASSIGN_AXIAL_MOST];
    int32_t count = 0;
    for (int32_t b = 0; b < x->p; b++)
        if (tubes >> b & 1) {
            before[count] = x->rank[tubes & ~(1 << b)];
            tube[count++] = b;
        }
    int64_t most = -1;
    for (int32_t a = 0; a < x->p; a++) {
        if (!(columns >> a & 1)) continue;
        const int64_t *row =
            x->best[size - 1] + (ptrdiff_t)x->rank[columns & ~(1 << a)] * x->sets[size - 1];
        const int64_t *weights = x->weights + ((ptrdiff_t)(size - 1) * x->p + a) * x->p;
        for (int32_t c = 0; c < count; c++)
            if (row[before[c]] + weights[tube[c]] > most) {
                most = row[before[c]] + weights[tube[c]];
                *j = a;
                *k = tube[c];
            }
    }
    return most;
}

hs_status hs_assign_axial(int32_t p, const int64_t *weights, const int *cancel, int32_t *columns,
                          int32_t *tubes, int64_t *total)
{
    if (!weights || !columns || !tubes || !total) return HS_ERROR_VALUE;
    if (p < 1 || p > HS_ASSIGN_AXIAL_MOST) return HS_ERROR_VALUE;
    for (int32_t e = 0; e < p * p * p; e++)
        if (weights[e] < 0 || weights[e] > LARGEST) return HS_ERROR_VALUE;
    table *x = calloc(1, sizeof *x);
    if (!x) return HS_ERROR_MEMORY;
    x->p = p;
    x->weights = weights;
    rank_sets(x);
    size_t sizes = 0;
    for (int32_t i = 0; i <= p; i++) sizes += (size_t)x->sets[i] * (size_t)x->sets[i];
    int64_t *values = malloc(sizes * sizeof *values);
    int64_t *next = values;
    if (!values) {
        free(x);
        return HS_ERROR_MEMORY;
    }
    for (int32_t i = 0; i <= p; i++) {
        x->best[i] = next;
        next += (size_t)x->sets[i] * (size_t)x->sets[i];
    }
    int32_t j = 0;
    int32_t k = 0;
    int32_t left = (1 << p) - 1;
    int32_t behind = left;
    x->best[0][0] = 0;
    for (int32_t i = 1; i <= p; i++)
        for (int32_t a = 0; a < x->sets[i] && !hs__cancelled(cancel); a++)
            for (int32_t b = 0; b < x->sets[i]; b++)
                x->best[i][a * x->sets[i] + b] =
                    last_pair(x, i, x->member[i][a], x->member[i][b], &j, &k);
    const bool stopped = hs__cancelled(cancel);
    if (!stopped) *total = x->best[p][0];
    for (int32_t i = p; i > 0 && !stopped; i--) {
        last_pair(x, i, left, behind, &j, &k);
        columns[i - 1] = j;
        tubes[i - 1] = k;
        left &= ~(1 << j);
        behind &= ~(1 << k);
    }
    free(values);
    free(x);
    return stopped ? HS_ERROR_CANCELLED : HS_OK;
}
