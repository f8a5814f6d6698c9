/* Exact programs for whole layers, one message after the other, by dynamic programming over the
 * number of layers that are left.
 *
 * The least time in which the workers from place d on can do m layers follows from the least times
 * of the workers from place d + 1 on. Only those m are considered that a schedule better than the
 * best one known could leave if layers could be divided. */
#ifndef HS_LAYERS_EXACT_H
#define HS_LAYERS_EXACT_H

#include "layers/layers.h"

enum { HS__LAYERS_NARROW = 8, HS__LAYERS_STATES = 1 << 25 };

/* least[m - low]: the earliest end of m layers, for m in low .. high. It never falls as m grows,
 * because one more layer never makes a schedule shorter. */
typedef struct hs__layer_table {
    int64_t low, high;
    double *least;
} hs__layer_table;

static inline bool hs__table_empty(const hs__layer_table *x) { return x->low > x->high; }
static inline int64_t hs__table_size(const hs__layer_table *x)
{
    return hs__table_empty(x) ? 0 : x->high - x->low + 1;
}

/* Returns the range of numbers of layers that the workers of the curve `before` may leave to the
 * workers of `after` if all end by the time. */
hs__layer_table hs__table_window(int64_t n, double time, const hs__layer_curve *before,
                                 const hs__layer_curve *after);

/* Marks all numbers of its window as not possible yet. */
void hs__table_start(hs__layer_table *x);

/* Lowers `now` to the times that are possible with this worker before the workers of `next`; O(1)
 * per number. queue: [size of next] */
void hs__table_prepend(const hs__layer_worker *worker, const hs__layer_table *next,
                       hs__layer_table *now, int64_t *queue);

/* Finds the best number of layers for this worker if m remain, and stores how many it leaves.
 * Returns the time. */
double hs__table_choose(const hs__layer_worker *worker, const hs__layer_table *next, int64_t m,
                        int64_t *left);

typedef struct hs__layer_solver {
    int64_t n;
    const int *cancel;
    hs__layer_worker *sorted; /* [p] workspace */
    double *shares, *key;     /* [p] relaxed shares; workspace */
    int32_t *pool;            /* [p] workspace */
    hs__layer_curve room[2];  /* two curves of 2 p + 1 points */
    hs__layer_table *tables;  /* [p + 1] for the workers from each place on */
    double *numbers;          /* [states] memory of the tables; NULL at first */
    int64_t *queue;           /* [widest] */
    int64_t states, widest;
} hs__layer_solver;

/* Makes room for the tables of these windows. */
hs_status hs__layer_reserve(hs__layer_solver *s, int64_t count, const hs__layer_table *tables);

/* Computes the relaxed shares of this order; returns their time. */
double hs__layer_relax(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers);

/* Sets windows of this width around whole numbers near the relaxed shares. They contain a schedule
 * that respects all limits. */
void hs__layer_around(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                      int64_t width);

/* Fills the tables of all places within their windows. time, out: the time of all layers, infinite
 * if no schedule is within the windows. */
hs_status hs__layer_fill(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                         double *time);

/* Removes layers that are too many, from the last workers on: fewer layers never take longer. */
void hs__layer_drop(int64_t excess, int32_t q, int64_t *counts);

/* Finds the best counts for this order, and when they end; *optimal says whether they are proven
 * optimal. */
hs_status hs__layer_solve(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                          int64_t *counts, double *end, bool *optimal);

#endif
