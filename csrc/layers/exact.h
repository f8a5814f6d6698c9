/* Whole layers, one link after the other: exact programmes over the number of layers that are left.
 *
 * The least time in which the workers from place d on can do m layers follows from that of those
 * from place d + 1 on. Only numbers m are looked at that a schedule better than the best one known
 * can leave, if layers could be divided. */
#ifndef HS_LAYERS_EXACT_H
#define HS_LAYERS_EXACT_H

#include "layers/layers.h"

enum { HS__LAYERS_NARROW = 8, HS__LAYERS_STATES = 1 << 25 };

/* least[m - low]: when m layers can be ended; low .. high. It never falls as m grows: one more
 * layer for somebody. */
typedef struct hs__layer_table {
    int64_t low, high;
    double *least;
} hs__layer_table;

static inline bool hs__table_empty(const hs__layer_table *x) { return x->low > x->high; }
static inline int64_t hs__table_size(const hs__layer_table *x)
{
    return hs__table_empty(x) ? 0 : x->high - x->low + 1;
}

/* The layers that may be left to those of the curve `after` by those of `before`, if all end by the
 * time. */
hs__layer_table hs__table_window(int64_t n, double time, const hs__layer_curve *before,
                                 const hs__layer_curve *after);

/* All numbers of its window: not possible yet. */
void hs__table_start(hs__layer_table *x);

/* Lowers `now` to what is possible with this worker before those of `next`, O(1) a number. queue:
 * [size of next] */
void hs__table_prepend(const hs__layer_worker *worker, const hs__layer_table *next,
                       hs__layer_table *now, int64_t *queue);

/* The best number of layers for this worker if m are to do, and what that leaves: out. Returns the
 * time. */
double hs__table_choose(const hs__layer_worker *worker, const hs__layer_table *next, int64_t m,
                        int64_t *left);

typedef struct hs__layer_solver {
    int64_t n;
    const int *cancel;
    hs__layer_worker *sorted; /* [p] scratch */
    double *shares, *key;     /* [p] real shares; scratch */
    int32_t *pool;            /* [p] scratch */
    hs__layer_curve room[2];  /* of 2 p + 1 points */
    hs__layer_table *tables;  /* [p + 1] of the workers from each place on */
    double *numbers;          /* [states] of the tables; NULL at first */
    int64_t *queue;           /* [widest] */
    int64_t states, widest;
} hs__layer_solver;

/* Room for the tables of these windows. */
hs_status hs__layer_reserve(hs__layer_solver *s, int64_t count, const hs__layer_table *tables);

/* The real shares of this order; returns their time. */
double hs__layer_relax(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers);

/* Windows of this width around whole numbers near the real shares: a way that all limits allow is
 * in them. */
void hs__layer_around(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                      int64_t width);

/* The tables of all places within their windows; out: the time of all layers, infinite if the
 * windows leave no way. */
hs_status hs__layer_fill(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                         double *time);

/* Fewer layers never take longer: those of the last ones go. */
void hs__layer_drop(int64_t excess, int32_t q, int64_t *counts);

/* The best counts for this order, and when they end; *optimal says whether that is proven. */
hs_status hs__layer_solve(hs__layer_solver *s, int32_t q, const hs__layer_worker *workers,
                          int64_t *counts, double *end, bool *optimal);

#endif
