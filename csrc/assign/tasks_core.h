/* What the drivers hs_max_tasks and hs_min_time share.
 *
 * A driver opens one hs__bus for its number of workers and sets it to the workers of each platform,
 * without those that cannot work. Then it asks for plans and for bounds at any number of times T.
 * Memory grows when it is first needed and is kept: a bisection, or a stack of platforms, allocates
 * as much as one plan. */
#ifndef HS_ASSIGN_TASKS_CORE_H
#define HS_ASSIGN_TASKS_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "assign/matching.h"
#include "assign/slots.h"
#include "hetsched.h"

/* Most workers for which weights by worker and both slots are stored. */
enum { HS__MOST_CUBE = 128 };

/* More tasks than this are refused, so that no sum of tasks or bounds overflows. */
static const double HS__MOST_SUM = 0x1p62;

/* Tasks and slots of a plan. Slots count from 1, receive slots from the last answer; they mean
 * nothing for workers without tasks. */
typedef struct hs__found {
    int32_t method; /* hs_task_method */
    int64_t tasks, bound;
    int64_t *counts;           /* [p] */
    int32_t *sends, *receives; /* [p] slots */
} hs__found;

/* Memory that grows. */
typedef struct hs__room {
    void *at;
    size_t bytes;
} hs__room;

typedef struct hs__bus {
    int32_t p;                        /* able workers */
    int32_t *worker;                  /* [p] their indices in the platform */
    double *times;                    /* [p] */
    double *sends;                    /* [p] */
    double *receives;                 /* [p] */
    bool sends_equal, receives_equal; /* for all workers of the platform */
    bool linked;                      /* messages in one direction differ between workers */
    double send, receive;             /* otherwise: the messages of all workers */
    bool sending, returning;          /* there are messages out, and back */
    bool answering; /* some worker of the platform, able or not, has a message back */
    const int *cancel;
    uint64_t seed;
    double end; /* of the search, by hs_clock; infinite if its work is fixed */
    void *own;  /* the arrays above */
    hs__room tried, slots, weights, cube, keys, prices;
    hs__matching matching;
    int32_t shorter, longer; /* sides of the largest problem for which `matching` has memory */
} hs__bus;

/* Return whether no pointer is missing that must not be. */
bool hs__workers_given(const hs_task_workers *workers);
bool hs__plan_given(const hs_task_plan *plan);

hs_status hs__bus_open(int32_t p, const hs_effort *effort, const int *cancel, hs__bus *x);
void hs__bus_close(hs__bus *x);

/* Takes the workers of a platform [p] with finite cycle-times; p as in hs__bus_open. sends and
 * receives may be NULL. Returns false if a number is out of its range. */
bool hs__bus_set(hs__bus *x, int32_t p, const double *cycle_times, const double *sends,
                 const double *receives);

/* Returns whether no worker, nor all together, do too many tasks in this time. */
bool hs__bus_fits(const hs__bus *x, double bound);

/* Turns the platform around in time: answers become messages out, and messages out answers. */
static inline void hs__bus_turn(hs__bus *x)
{
    double *const sends = x->sends;
    const double send = x->send;
    const bool sending = x->sending;
    const bool equal = x->sends_equal;
    x->sends = x->receives;
    x->send = x->receive;
    x->sending = x->returning;
    x->sends_equal = x->receives_equal;
    x->receives = sends;
    x->receive = send;
    x->returning = sending;
    x->receives_equal = equal;
}

/* Returns room for `count` entries of `size`, NULL if there is no memory. Earlier contents are
 * lost. */
void *hs__room_take(hs__room *room, size_t count, size_t size);
void hs__room_free(hs__room *room);

static inline int64_t hs__sum_tasks(int32_t p, const int64_t *counts)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < p; i++) sum += counts[i];
    return sum;
}

/* Finds the tasks that can be done in time `bound`, by a method that can be asked for. With wanted
 * >= 0 it returns as soon as it is known whether so many tasks can be reached, if that can be
 * known. */
hs_status hs__solve_tasks(hs__bus *x, double bound, int32_t method, int64_t wanted,
                          hs__found *found);

/* Computes an upper bound on the tasks in time `bound`, as if all messages in one direction had the
 * best slot. Exact for equal messages in one direction. */
hs_status hs__bound_tasks(hs__bus *x, double bound, int64_t *most);

/* Messages that are equal for all workers, and messages that differ (or are treated as if). */
hs_status hs__solve_equal(hs__bus *x, double bound, int32_t method, int64_t wanted,
                          hs__found *found);
hs_status hs__bound_equal(hs__bus *x, double bound, int64_t *most);
hs_status hs__solve_linked(hs__bus *x, double bound, int32_t method, int64_t wanted,
                           hs__found *found);
hs_status hs__bound_linked(hs__bus *x, double bound, int64_t *most);

/* Whether hs__solve_linked proves its orders optimal. */
static inline bool hs__links_proven(const hs__bus *x)
{
    return x->p <= (x->sending && x->returning ? HS_TASK_LINKS_BOTH : HS_TASK_LINKS_SENT);
}

/* Computes the largest total weight of rows and columns, one each; col_of_row [rows] out.
 * total: out, or NULL */
hs_status hs__match(hs__bus *x, int32_t rows, int32_t cols, const int64_t *weights,
                    int32_t *col_of_row, int64_t *total);

/* Computes an upper bound on the tasks that are served, and done, in part. */
hs_status hs__bound_fractions(hs__bus *x, double bound, int64_t *most);

/* Finds an upper bound on the axial assignment of `cube` [p^3], and columns [p] and tubes [p] of a
 * good one, by prices on the tubes. It ends when `known` tasks, or its own, meet the bound, or with
 * `wanted` >= 0 when it is known on which side these are. cube is overwritten. */
hs_status hs__price_tubes(hs__bus *x, int64_t *cube, int64_t known, int64_t wanted, int64_t *bound,
                          int64_t *total, int32_t *columns, int32_t *tubes);

/* hs_task_links with a time limit: the search ends at `end` by hs_clock, but not before some work is
 * done; infinite for none. The arguments are not checked for NULL. */
hs_status hs__search_links(double bound, int32_t p, const double *cycle_times, const double *sends,
                           const double *receives, int64_t work, double end, uint64_t seed,
                           const int *cancel, int32_t *enrolled, int32_t *send_order,
                           int32_t *receive_order, int *optimal);

/* Computes how many workers of an order [p] can be served: the longest prefix whose messages
 * together fit into the bound. receives may be NULL. */
hs_status hs__task_prefix(double bound, int32_t p, const double *cycle_times, const double *sends,
                          const double *receives, const int32_t *order, int32_t *size);

/* Sorts the workers with tasks by their slots, or from the last slot to the first: order [p],
 * keys [p] workspace. */
hs_status hs__order_by_slots(int32_t p, const int64_t *counts, const int32_t *slots, bool from_last,
                             double *keys, int32_t *order, int32_t *size);

/* Fills the plan of a platform with p workers from tasks and slots. */
hs_status hs__bus_plan(hs__bus *x, int32_t p, const hs__found *found, hs_task_plan *plan);

/* Makes one or two plans without contents in the memory of `room`; the second may be NULL. */
hs_status hs__found_open(int32_t p, hs__room *room, hs__found *one, hs__found *other);
void hs__found_copy(int32_t p, const hs__found *from, hs__found *to);

#endif
