/* What the environment says of the drop-in library, read when it is loaded.
 *   HETSCHED_BLAS=off            every call goes to the library behind
 *   HETSCHED_BLAS_LEAST=...      multiply-adds from which calls are the engine's: a number for all, or "gemm=1e6,dgetrf=3e5", where a
 *                                name with a letter is for one type
 *   HETSCHED_BLAS_CORES=0,2      the cpus of the workers; else one of each core that the process may run on
 *   HETSCHED_BLAS_SPEEDS=1,0.5   their relative speeds
 *   HETSCHED_NUM_THREADS=2, or OMP_NUM_THREADS   how many workers at most
 *   HETSCHED_BLAS_REPORT=1       a table on stderr at the end of the process
 * What cannot be read is as if it were not there: nothing is printed, for the program is not ours. */
#ifndef HS_BLAS_SETTINGS_H
#define HS_BLAS_SETTINGS_H

#include <stdatomic.h>
#include <stdint.h>

enum { HS__MOST_WORKERS = 1024 };

typedef struct hs__settings {
    int report;
    atomic_int workers;               /* those in use, at least 1 */
    int32_t most;                     /* all there are */
    int32_t cores[HS__MOST_WORKERS];  /* [most] */
    double speeds[HS__MOST_WORKERS];  /* [most] */
    int has_speeds;
} hs__settings;

extern hs__settings hs__set;

/* Names of the routines, without the type's letter, as of hs__routine. */
extern const char *const hs__routine_names[];

#endif
