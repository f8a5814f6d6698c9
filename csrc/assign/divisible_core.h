/* The search for orders of a divisible load, with a time limit. */
#ifndef HS_ASSIGN_DIVISIBLE_CORE_H
#define HS_ASSIGN_DIVISIBLE_CORE_H

#include "hetsched.h"

/* hs_divisible_orders without checks for NULL. The search of more than HS_DIVISIBLE_PROVEN workers
 * also ends at `end` by hs_clock; infinite for no limit. */
hs_status hs__search_orders(int32_t p, const double *cycle_times, const double *sends,
                            const double *receives, int64_t work, double end, uint64_t seed,
                            double enough, const int *cancel, int32_t *send_order,
                            int32_t *receive_order, double *shares, double *makespan, int *optimal);

#endif
