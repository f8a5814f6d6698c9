/* What the environment says of the drop-in library, read when it is loaded.
 *   HETSCHED_BLAS=off            every call goes to the library behind
 *   HETSCHED_BLAS_LEAST=...      multiply-adds from which calls are the engine's: a number for all,
 *                                or "gemm=1e6,dgetrf=3e5", where a name with a letter is for one
 *                                type
 *   HETSCHED_BLAS_CORES=0,2      the cpus of the workers, of which those count that the program
 *                                may use (places.h); else one of each core that it may use
 *   HETSCHED_BLAS_SPEEDS=1,0.5   their relative speeds
 *   HETSCHED_BLAS_DOMAINS=0,1    the domain of each; with
 *   HETSCHED_BLAS_BLOCKS=0,0,0,0,0,0;avx2:256,192,...   of each domain depth, rows and cols as of
 *                                                       hs_domain, the kernel before a colon
 *   HETSCHED_NUM_THREADS=2, or OMP_NUM_THREADS   how many workers at most
 *   HETSCHED_DETERMINISTIC=1     the same bits with any of them
 *   HETSCHED_BLAS_REPORT=1       a table on stderr at the end of the process
 * What cannot be read is as if it were not there: nothing is printed, for the program is not
 * ours. */
#ifndef HS_BLAS_SETTINGS_H
#define HS_BLAS_SETTINGS_H

#include <stdatomic.h>
#include <stdint.h>

#include "blas/places.h"

typedef struct hs__settings {
    int report, deterministic;
    atomic_int limit; /* workers at most, at least 1, as the program has told; at first `most` */
    int32_t most;     /* the same, as the environment says */
    hs__cpus start;   /* the mask when the library was loaded; none if OpenMP was there */
    hs__places named; /* count 0: none */
    hs_domain domain[HS__MOST_DOMAINS]; /* that places are in */
} hs__settings;

extern hs__settings hs__set;

/* Names of the routines, without the type's letter, as of hs__routine. */
extern const char *const hs__routine_names[];

#endif
