/* Computes one box of a product with all workers of a pool.
 *
 * The workers of each domain form a team. Each team gets a share of C in proportion to its speed,
 * as square as possible. The share is cut into bands of columns or rows, and a gang of the team's
 * members computes one band after the other. A team that has finished its own bands steals bands of
 * other teams. With one domain the whole box is one band. */
#ifndef HS_PRODUCT_BANDS_H
#define HS_PRODUCT_BANDS_H

#include <pthread.h>

#include "product/gang.h"

typedef struct hs__band {
    hs_box box;
    double work;                     /* elements of C */
    hs__gang gang;                   /* of the team that has taken it */
    void *room;                      /* memory for the gang's tables, enough for any team */
    _Atomic(struct hs__band *) next; /* the band that the same team takes next */
} hs__band;

/* The workers of one domain at the box. */
typedef struct hs__team {
    const hs__kernel *kernel;
    int32_t members;
    double *speeds;  /* [members] */
    double speed;    /* sum of these */
    int32_t lead;    /* the worker with the panels in its scratch */
    int32_t buffers; /* panel buffers there, of panel_space bytes each */
    size_t panel_space;
    size_t block; /* bytes of each member's scratch for A */
    /* The team's own bands that are not taken: it takes from the front, other teams steal from the
     * back. The lock guards the fields from here on. */
    hs__band *own;
    int32_t front, back;
    double rest;               /* work of the bands from front to back */
    hs__band *last;            /* the band taken last */
    _Atomic(hs__band *) first; /* the band that the team takes first */
} hs__team;

typedef struct hs__bands {
    hs__run *run;
    const hs_product *product;
    const hs__in_layers *layers;
    hs__team *team; /* [teams] */
    int32_t teams, workers;
    const int32_t *team_of; /* [workers] the team of each worker, and its index among the members */
    const int32_t *member;
    hs__band *band; /* [count] */
    int32_t count;
    int opened;
    pthread_mutex_t lock; /* held while a band is taken */
    _Atomic int32_t left; /* bands that no team has taken */
} hs__bands;

/* Cuts the box into bands and takes all memory, from the run and from the pool's scratch.
 * bands->left is 0 if there is nothing to multiply. hs__bands_close must be called even after an
 * error.
 *   layers   layers that the box adds up one after the other, if it has the whole depth; or NULL
 *   kernel   [domains of the pool]
 *   speeds   [workers] with a positive sum
 *   alone    non-zero: worker 0 does everything */
hs_status hs__bands_open(hs__bands *bands, hs__run *run, const hs_product *product,
                         const hs_box *box, const hs__in_layers *layers, const hs__kernel *kernel,
                         const double *speeds, int alone);
void hs__bands_close(hs__bands *bands);

/* Writes rects [4 domains]: the zone of each domain in hs__bands_open of one box, the whole of C.
 * speeds [workers], or NULL. */
hs_status hs__bands_zones(const hs__domains *domains, const hs_product *product, int32_t workers,
                          const double *speeds, int64_t *rects);

/* Does the part of one worker: returns its flops when no band is left to take and its last band has
 * nothing left for it. block and self are as for hs__gang_work. */
double hs__bands_work(hs__bands *bands, int32_t worker, void *block, hs__member *self);

/* Waits until all bands are computed. */
void hs__bands_wait(const hs__bands *bands, hs__member *self);

#endif
