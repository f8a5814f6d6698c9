/* The OpenMP runtimes of the process, of which there may be several: each wheel of Python brings
 * its own. */
#ifndef HS_BLAS_OPENMP_H
#define HS_BLAS_OPENMP_H

#include "threads/cpus.h"

enum { HS__MOST_RUNTIMES = 8 };

/* Functions of a runtime: in_parallel has each, the others are NULL before OpenMP 4.5. */
typedef struct hs__runtime {
    int (*in_parallel)(void);
    int (*proc_bind)(void);
    int (*num_places)(void);
    int (*place_num_procs)(int place);
    void (*place_proc_ids)(int place, int *ids);
} hs__runtime;

/* Those that are known; zeros at first. Of one thread at a time. */
typedef struct hs__openmp {
    hs__runtime runtime[HS__MOST_RUNTIMES];
    int count;
    unsigned long long loads; /* hs__loads when they were looked for */
} hs__openmp;

/* Whether there is a runtime in the process, and whether the calling thread is in a parallel region
 * of one. */
int hs__has_openmp(hs__openmp *known);
int hs__is_in_parallel(hs__openmp *known);

/* Where a runtime binds threads (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY) and the mask of the
 * calling thread is just one of its places, the mask becomes that of all its places. These are what
 * the process had when the runtime was loaded, so that one cpu by `taskset -c 0` remains one. Any
 * other mask was set by something else, and stays. An explicit list of places may have more cpus
 * than the process:
 *   start   the mask before there was a runtime, whose other cpus are left out; none: not known */
void hs__unbind(hs__openmp *known, const hs__cpus *start, hs__cpus *mask);

#endif
