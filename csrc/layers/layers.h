/* Layers on a star in a given order of the workers: what the closed forms, the exact programmes and the search share. */
#ifndef HS_LAYERS_LAYERS_H
#define HS_LAYERS_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hetsched.h"

/* A worker that can work. It ends k layers at the earliest k hold after its message starts, and k tail after that has come, with
 * hold = send + tail. A worker that is busy until the end of the time t leaves t keep for those after it. */
typedef struct hs__layer_worker {
    int32_t index;
    double send, hold, tail;
    double rate, keep; /* 1 / hold, tail / hold */
} hs__layer_worker;

bool hs__layers_sequential(const hs_layers *problem);

/* HS_ERROR_VALUE for what the header does not allow; order may be NULL, else it must be a permutation. */
hs_status hs__layers_check(const hs_layers *problem, const int32_t *order);

/* The workers with a finite time in this order (NULL: by index); returns how many. */
int32_t hs__layers_open(const hs_layers *problem, const int32_t *order, hs__layer_worker *workers);

/* The fastest links first; those with the same link by hold, then by index. */
void hs__layers_sort(int32_t q, hs__layer_worker *workers);

/* The layers that one worker after the other can end in the unit of time, if layers can be divided: each is busy to the end or, with
 * `skip`, left out where its link is better used by those after it.
 *   shares  [q] out: of each worker; or NULL */
double hs__layers_rate(int32_t q, const hs__layer_worker *workers, bool skip, double *shares);

/* When the last one ends. */
double hs__layers_end(int32_t q, const hs__layer_worker *workers, const int64_t *counts);

#endif
