/* Floorplans among which the best is chosen. */
#ifndef HS_PARTITION_CANDIDATES_H
#define HS_PARTITION_CANDIDATES_H

#include <stdbool.h>

#include "hetsched.h"

/* A floorplan, who found it, and what decides between floorplans.
 *   method  hs_partition_method that found it
 *   scope   that of a certificate
 *   full    whether it is one of full columns
 *   cost    of its zones
 *   load    largest (cells given / cells asked for) in a matrix; 1 in the unit square */
typedef struct {
    int32_t method;
    const char *scope;
    bool full;
    double cost, load;
    int32_t *plan, length;
} hs__candidate;

/* Initialise with = {0}. */
typedef struct {
    hs__candidate *at;
    int32_t count, capacity;
} hs__candidates;

/* Adds a candidate, with a copy of its plan. Candidates that can no longer be chosen are dropped,
 * so that a long search keeps few. */
hs_status hs__candidates_add(hs__candidates *list, const hs__candidate *candidate);

/* Returns the candidate of least cost up to 1e-12, the first of equals, among those with a load
 * within 5 % of the least load. The list must not be empty. */
const hs__candidate *hs__candidates_best(const hs__candidates *list);

void hs__candidates_free(hs__candidates *list);

#endif
