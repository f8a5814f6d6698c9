/* The place of a worker in a job: which thread has it, a helper of the pool or the caller, and whether that thread has a core. */
#ifndef HS_EXEC_SEAT_H
#define HS_EXEC_SEAT_H

#include <pthread.h>
#include <sched.h>

typedef struct hs__seat {
    pthread_t thread;
    int taken;         /* atomic */
    int watched;       /* atomic: a lock of what follows while the seat is taken */
    int away;          /* the thread has been moved */
    double since, had; /* when it was looked at, and its CPU time then */
#if defined(__linux__)
    cpu_set_t home;
#endif
} hs__seat;

/* The calling thread begins and ends its part of a job. */
void hs__seat_take(hs__seat *seat);
void hs__seat_leave(hs__seat *seat);

/* It goes back to where it was before it was moved, once it has left; this takes as long as another program keeps that core. */
void hs__seat_go_home(hs__seat *seat);

/* Looked at again and again: if its thread has hardly had a core for 10 ms, which is more than the turn of another program under a
 * fair scheduler, it is moved to that of the calling thread. Returns whether it has been moved. */
int hs__seat_watch(hs__seat *seat);

#endif
