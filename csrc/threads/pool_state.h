/* What a pool and its leases consist of: for pool.c and lease.c alone. */
#ifndef HS_THREADS_POOL_STATE_H
#define HS_THREADS_POOL_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "threads/arena.h"
#include "threads/crowd.h"
#include "threads/migrate.h"
#include "threads/pool.h"
#include "threads/sites.h"

/* A persistent thread. */
typedef struct hs__helper {
    hs_pool *pool;
    int32_t worker;
    int started, pinned;
    pthread_t thread;
    hs__signal wake;
    atomic_uint ticket;       /* changes when there may be a part to do */
    hs__lease *_Atomic lease; /* the job that it has a part in, or NULL */
    hs__placement placement;
} __attribute__((aligned(64))) hs__helper;

/* Whether a worker's part of the job is offered to its helper. The thread that clears it does the
 * part, or withdraws it. */
typedef struct hs__offer {
    atomic_int open;
} __attribute__((aligned(64))) hs__offer;

struct hs__lease {
    hs_pool *pool;
    hs__lease *next;  /* in the list of the pool */
    hs__lease *outer; /* lease in whose job the same thread took this one, or NULL */
    atomic_int in_use;
    atomic_int exclusive; /* read by helpers that looked at an earlier job of the lease */
    int is_first;         /* no other caller was there at the start */
    unsigned entry;       /* value of pool->entries then */
    hs__work *work;
    void *job;
    atomic_int own;       /* worker that the caller stands in for, or -1 */
    atomic_int remaining; /* workers that have not ended their parts */
    atomic_int present;   /* helpers that do a part now */
    hs__signal done;
    hs__placement placement; /* of the caller */
    hs__arena scratch;       /* [2 p] panels of each worker, then blocks of each worker */
    hs__offer *offers;       /* [p] */
};

struct hs_pool {
    int32_t p;
    int32_t *cores;  /* NULL: not pinned */
    hs__sites sites; /* of a pool that is bound; count 0: none */
    atomic_int spin; /* each worker has its own core */
    atomic_int deterministic, elastic;
    pid_t pid;
    hs__domains domains;
    hs__drift drift;
    hs__crowd crowd;
    hs__spares spares;

    hs__lease *_Atomic leases; /* newest first; freed with the pool */
    atomic_int callers;        /* threads that wait for a lease or have one */
    atomic_int turns;          /* leases in use, or EXCLUSIVE: one, which has the pool for itself */
    atomic_int exclusives;     /* threads that wait for the whole pool */
    atomic_int sharers;        /* threads that wait for another lease */
    atomic_int favours;        /* one of the sharers is let in before the next exclusive lease */
    atomic_uint entries;       /* leases taken so far */
    atomic_int busy;           /* callers and helpers that work: no more helpers join if it is p */
    atomic_int closing;        /* threads inside hs__pool_lock must leave */
    hs__signal left;           /* sent when a lease ends, and when waiting threads must leave */
    /* identifies the only thread that may run jobs (lease.c); 0: any thread may */
    _Atomic uint64_t owner;
    atomic_int stop;      /* helpers must end */
    hs__helper helpers[]; /* [p] */
};

/* The pool of which this thread is a helper, or NULL. */
extern _Thread_local const hs_pool *hs__helper_of;

/* Lets a helper look for a part of a job. */
static inline void hs__wake_helper(hs__helper *helper)
{
    atomic_fetch_add(&helper->ticket, 1);
    hs__signal_send(&helper->wake);
}

/* Moves the workers of a domain to a better site, if it is time to look for one. */
void hs__review_sites(hs_pool *pool);

/* Makes the first lease, so that a single caller needs no memory for one; 0 if there is no memory.
 * hs__leases_close frees all leases, when no thread uses the pool. */
int hs__leases_open(hs_pool *pool);
void hs__leases_close(hs_pool *pool);

#endif
