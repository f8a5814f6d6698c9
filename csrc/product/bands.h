/* A box of a product that all workers of a pool share, a gang in each domain. Each domain has a
 * share of C by its speed, as square as may be, cut into bands of columns or rows; it computes one
 * after the other, and takes over bands of others when its own are done. In one domain the box is
 * one band. */
#ifndef HS_PRODUCT_BANDS_H
#define HS_PRODUCT_BANDS_H

#include <pthread.h>

#include "product/gang.h"

typedef struct hs__band {
    hs_box box;
    double work;                     /* elements of C */
    hs__gang gang;                   /* of the crew that has taken it */
    void *room;                      /* for that of any */
    _Atomic(struct hs__band *) next; /* which the same crew has taken after it */
} hs__band;

/* The workers of a domain at the box. */
typedef struct hs__crew {
    const hs__kernel *kernel;
    int32_t members;
    double *speeds;  /* [members] */
    double speed;    /* their sum */
    int32_t lead;    /* the worker whose scratch holds the panels */
    int32_t buffers; /* of that, each as large as the largest panel */
    size_t panel_space;
    size_t block; /* bytes of each member's scratch */
    /* those that it is to do, from the front; others take from the back. What follows is under the
     * lock */
    hs__band *own;
    int32_t front, back;
    double rest;    /* work of those between */
    hs__band *last; /* that it has taken */
    _Atomic(hs__band *) first;
} hs__crew;

typedef struct hs__bands {
    hs__run *run;
    const hs_product *product;
    const hs__in_layers *layers;
    hs__crew *crew; /* [crews] */
    int32_t crews, workers;
    const int32_t *crew_of; /* [workers], and which of its members each is */
    const int32_t *member;
    hs__band *band; /* [count] */
    int32_t count;
    int opened;
    pthread_mutex_t lock; /* for who takes a band */
    _Atomic int32_t left; /* bands that nobody has taken */
} hs__bands;

/* Cuts the box and asks for all memory, of the run and the pool's scratch. left is 0 where there is
 * nothing to multiply. Ended by hs__bands_close, also if it has failed.
 *   layers  of a box with the whole of the depth, or NULL
 *   kernel  [domains of the pool]
 *   speeds  [workers], of a positive sum
 *   alone   only worker 0 works, on all of it */
hs_status hs__bands_open(hs__bands *bands, hs__run *run, const hs_product *product,
                         const hs_box *box, const hs__in_layers *layers, const hs__kernel *kernel,
                         const double *speeds, int alone);
void hs__bands_close(hs__bands *bands);

/* The part of a worker, until no band is left and its last one leaves it nothing to do; returns its
 * flops. As hs__gang_work. */
double hs__bands_work(hs__bands *bands, int32_t worker, void *block, hs__member *self);

/* Waits until all of it is done. */
void hs__bands_wait(const hs__bands *bands, hs__member *self);

#endif
