/* The choice between floorplans. */
#include "partition/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* EQUAL: costs that differ less, relative to the cost, are a tie. LOADED: of a load within this
 * factor of the least load, the cost decides */
static const double EQUAL = 1e-12, LOADED = 1.05;

/* Returns whether b is never chosen, because a counts whenever b does, and a is then taken. */
static bool excludes(const hs__candidate *a, const hs__candidate *b, bool a_is_first)
{
    if (!(a->load <= b->load)) return false;
    return a_is_first ? a->cost <= b->cost : b->cost > a->cost * (1.0 + EQUAL);
}

hs_status hs__candidates_add(hs__candidates *list, const hs__candidate *candidate)
{
    for (int32_t k = 0; k < list->count; k++)
        if (excludes(&list->at[k], candidate, true)) return HS_OK;
    if (list->count == list->capacity) {
        const int32_t capacity = 2 * list->capacity + 8;
        hs__candidate *grown = realloc(list->at, (size_t)capacity * sizeof *grown);
        if (!grown) return HS_ERROR_MEMORY;
        list->at = grown;
        list->capacity = capacity;
    }
    const size_t bytes = (size_t)candidate->length * sizeof *candidate->plan;
    int32_t *plan = malloc(bytes);
    if (!plan) return HS_ERROR_MEMORY;
    memcpy(plan, candidate->plan, bytes);
    int32_t kept = 0;
    for (int32_t k = 0; k < list->count; k++) {
        if (excludes(candidate, &list->at[k], false)) free(list->at[k].plan);
        else list->at[kept++] = list->at[k];
    }
    list->at[kept] = *candidate;
    list->at[kept].plan = plan;
    list->count = kept + 1;
    return HS_OK;
}

const hs__candidate *hs__candidates_best(const hs__candidates *list)
{
    double lightest = INFINITY;
    double least = INFINITY;
    for (int32_t k = 0; k < list->count; k++) lightest = fmin(lightest, list->at[k].load);
    for (int32_t k = 0; k < list->count; k++)
        if (list->at[k].load <= LOADED * lightest) least = fmin(least, list->at[k].cost);
    const hs__candidate *best = list->at;
    while (!(best->load <= LOADED * lightest && best->cost <= least * (1.0 + EQUAL))) best++;
    return best;
}

void hs__candidates_free(hs__candidates *list)
{
    for (int32_t k = 0; k < list->count; k++) free(list->at[k].plan);
    free(list->at);
}
