/* Where the zones of C lie: the search for places in which workers with dear links exchange
 * little. */
#ifndef HS_SCHEDULE_PLACEMENT_H
#define HS_SCHEDULE_PLACEMENT_H

#include "schedule/schedule.h"

/* What a placement costs: the makespan, and of equal makespans the time of all messages. */
typedef struct hs__price {
    double makespan, messages;
} hs__price;

/* Zones of C that tile it. Those without height or width are not moved.
 *   workers  [pieces] worker of each zone
 *   rects    [4 pieces] row, col, height, width of each zone
 *   price    finds what the zones cost */
typedef struct hs__placement {
    int32_t pieces, *workers;
    int64_t *rects;
    hs_status (*price)(void *context, hs__price *price);
    void *context;
} hs__placement;

/* Moves the zones to places that cost less, or leaves them. Two workers of equal speed exchange
 * their zones, or two parts of C that a straight cut divides exchange their places; so no worker
 * gets another speed's area. Tries at most that many moves from a fixed seed: threshold accepting, in which
 * a move that costs a little more is accepted, too, and ever less as the search goes on (Dueck,
 * Scheuer, Journal of Computational Physics 90, 1990). Takes the best placement that it met. */
hs_status hs__place_zones(const hs_matmul *product, int64_t moves, const int *cancel,
                          const hs__placement *zones);

#endif
