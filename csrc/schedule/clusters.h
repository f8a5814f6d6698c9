/* Clusters of workers that the costs of links show. */
#ifndef HS_SCHEDULE_CLUSTERS_H
#define HS_SCHEDULE_CLUSTERS_H

#include "hetsched.h"

/* Finds workers with cheap links between them and dear ones to the other workers: the components of
 * the minimum spanning tree without its dear edges. The dear edges are those above the largest step
 * between the sorted costs of its edges, if the cost at least doubles there; else all workers are
 * one cluster. A link costs as much as the dearer of its two directions.
 *   links     [p * p] >= 0
 *   clusters  [p] out: numbers from 0 on, in the order of their first workers
 * Time O(p^2), memory O(p). */
hs_status hs__link_clusters(int32_t p, const double *links, int32_t *clusters);

#endif
