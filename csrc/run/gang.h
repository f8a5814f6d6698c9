/* A gang: workers that compute one box of a product together. Panels of B are packed once and shared; blocks of A and tiles of
 * C belong to one worker at a time. A gang of one is a worker on its own. */
#ifndef HS_RUN_GANG_H
#define HS_RUN_GANG_H

#include <stdatomic.h>
#include <stddef.h>

#include "run/member.h"
#include "run/panels.h"

/* A member's tiles in a panel that nobody has taken: a number of the panel's, so that who comes late to a slot finds nothing, then how
 * many were taken from the front and how many are left up to the back. */
typedef _Atomic uint64_t hs__queue;

typedef struct hs__gang {
    hs__panel_product x;
    int32_t members;
    void *panels[2];    /* packed B, in turns; the same twice with one buffer */
    hs__panel *panel;   /* [panel_count] */
    int64_t panel_count;
    hs__tile *tile;     /* all columns' tiles */
    int64_t tile_total; /* of all panels */
    hs__queue *queue;   /* [slots * members] those of a panel are in slot panel % slots */
    int32_t slots;
    int32_t *first;     /* [deals * (members + 1)] tiles of a panel that are the member's, for panels that are dealt alike */
    _Atomic int32_t *present; /* [members] who has begun */
} hs__gang;

/* Splits the box over the members by speed and lays out all state in memory of the run; panels[] are the caller's. */
hs_status hs__gang_init(hs__gang *gang, hs__run *run, const hs__panel_product *x, int32_t members, const double *speeds);

/* The part of one member, until nothing is left for it to take; returns its flops. block is its buffer for A. Meanwhile self keeps its
 * pace, records, attends to its run and ends with it. Members wait for each other at the run's first signal, where it has signals: as its
 * workers have no cores of their own; else they look all the time. */
double hs__gang_work(hs__gang *gang, int32_t member, void *block, hs__member *self);

/* Waits until the others have finished theirs: then the buffers and C are free for the next box. */
void hs__gang_wait(const hs__gang *gang, hs__member *self);

#endif
