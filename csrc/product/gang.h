/* A gang: workers that compute one box of a product together. Panels of B are packed once and
 * shared; blocks of A and tiles of C belong to one worker at a time. A gang of one is a worker on
 * its own. */
#ifndef HS_PRODUCT_GANG_H
#define HS_PRODUCT_GANG_H

#include <stdatomic.h>
#include <stddef.h>

#include "product/panels.h"
#include "run/member.h"

/* A member's tiles in a panel that nobody has taken: a number of the panel's, so that who comes
 * late to a slot finds nothing, then how many were taken from the front and how many are left up to
 * the back. */
typedef _Atomic uint64_t hs__queue;

typedef struct hs__gang {
    hs__panel_product x;
    int32_t members;
    void *panels[2];  /* packed B, in turns; the same twice with one buffer */
    hs__panel *panel; /* [panel_count] */
    int64_t panel_count;
    hs__tile *tile;   /* all columns' tiles */
    hs__queue *queue; /* [slots * members] those of a panel are in slot panel % slots */
    int32_t slots;
    /* [deals * (members + 1)] tiles of a panel that are the member's, for panels that are dealt
     * alike */
    int32_t *first;
    _Atomic int32_t *present; /* [members] who has begun */
    int32_t ends;             /* nothing comes after it: members are to end together */
    int32_t turn;             /* which of panels[] the first panel goes to */
    /* the last two panels that its members computed before, the one of that buffer first, or
     * NULL */
    const hs__panel *before[2];
} hs__gang;

/* Bytes of the tables of a gang, at most, and its tiles, to which all panels of a column count.
 * HS_ERROR_VALUE, HS_ERROR_MEMORY: too large. */
hs_status hs__gang_measure(const hs__panel_product *x, int32_t members, const double *speeds,
                           size_t *bytes, int64_t *tiles);

/* Splits the box over the members by speed and lays out all state in so many bytes, zero; panels[]
 * are the caller's, who has asked hs__gang_measure. after: the gang that these members were before,
 * or NULL. */
void hs__gang_place(hs__gang *gang, const hs__panel_product *x, int32_t members,
                    const double *speeds, int32_t ends, const hs__gang *after, void *room);

/* The same in memory of the run, for a gang with nothing before or after it. */
hs_status hs__gang_init(hs__gang *gang, hs__run *run, const hs__panel_product *x, int32_t members,
                        const double *speeds);

/* The part of one member, until nothing is left for it to take; returns its flops. block is its
 * buffer for A. Meanwhile self keeps its pace, records, attends to its run and ends with it.
 * Members wait for each other at the run's first signal, where it has signals: as its workers have
 * no cores of their own; else they look all the time. */
double hs__gang_work(hs__gang *gang, int32_t member, void *block, hs__member *self);

/* Waits until the others have finished theirs: then the buffers and C are free for the next box. */
void hs__gang_wait(const hs__gang *gang, hs__member *self);

#endif
