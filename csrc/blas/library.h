/* The libraries behind: how to ask one for its number of threads, and how to tell it another. */
#ifndef HS_BLAS_LIBRARY_H
#define HS_BLAS_LIBRARY_H

#include <stdatomic.h>
#include <stdint.h>

/* The calls that a number of threads is for. */
typedef enum hs__reach {
    HS__UNTOLD,     /* the library cannot be told: no setter is known, or it has no threads */
    HS__PROCESS,    /* calls from all threads of the process */
    HS__THREAD,     /* calls from the thread that tells it */
    HS__OMP_THREAD, /* the same, told to the OpenMP runtime that the library uses */
} hs__reach;

/* A library with a function for its number of threads. It is found once, and never freed. */
typedef struct hs__library {
    int (*get)(void); /* the number of threads that calls are to use; below 1: none was set */
    /* Tells it another number; of HS__THREAD, it returns the number to tell it later. BLIS takes 64
     * bits, all others an int. */
    int (*set)(intptr_t threads);
    int *number; /* where the library keeps the number; NULL: only `set` changes it */
    int (*get_omp)(void);
    void (*set_omp)(int threads);
    hs__reach reach;
    int is_openblas;
    struct hs__library *next;

    /* State of govern.c, for HS__PROCESS. */
    atomic_int calls; /* governed calls in flight */
    atomic_int taken; /* non-zero while a thread changes the number */
    atomic_int asked; /* the number that the program wants, while calls are in flight */
    atomic_int given; /* the number that it was told for these calls; 0: none */
} hs__library;

/* Finds the library with a function for the number of threads, among that of a handle and its
 * dependencies. Returns NULL without one. */
hs__library *hs__library_of(void *handle);

/* Calls visit with each library found so far. */
void hs__each_library(void (*visit)(hs__library *library));

#endif
