/* The OpenMP runtimes of the process. There may be several, because each Python wheel brings its
 * own. */
#ifndef HS_BLAS_OPENMP_H
#define HS_BLAS_OPENMP_H

#include "threads/cpus.h"

enum { HS__MOST_RUNTIMES = 8 };

/* Functions of a runtime. Every runtime has in_parallel; the other members are NULL before OpenMP
 * 4.5. */
typedef struct hs__runtime {
    int (*in_parallel)(void);
    int (*proc_bind)(void);
    int (*num_places)(void);
    int (*place_num_procs)(int place);
    void (*place_proc_ids)(int place, int *ids);
} hs__runtime;

/* The runtimes found so far, initially all zero. Only one thread at a time may use it. */
typedef struct hs__openmp {
    hs__runtime runtime[HS__MOST_RUNTIMES];
    int count;
    unsigned long long loads; /* hs__load_count at the last search */
} hs__openmp;

/* Return whether the process has a runtime, and whether the calling thread is in a parallel region
 * of one. */
int hs__has_openmp(hs__openmp *known);
int hs__is_in_parallel(hs__openmp *known);

/* Widens a mask that an OpenMP runtime has narrowed. If a runtime binds threads (OMP_PROC_BIND,
 * OMP_PLACES, GOMP_CPU_AFFINITY) and the mask of the calling thread is exactly one of its places,
 * the mask becomes the union of its places. The places are those that the process had when the
 * runtime was loaded, so the single cpu of `taskset -c 0` remains a single cpu. Any other mask was
 * set by something else and is kept.
 *   start   the mask before there was a runtime. An explicit list of places may have more cpus than
 *           the process; cpus outside start are left out. No set: not known
 * LLVM's and Intel's runtimes bind a thread that asks for their places. Therefore they are not
 * asked while the mask is the same as at the start, and afterwards the thread gets its own mask
 * back. */
void hs__unbind(hs__openmp *known, const hs__cpus *start, hs__cpus *mask);

#endif
