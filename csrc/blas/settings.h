/* What the environment says of the drop-in library, read when it is loaded.
 *   HETSCHED_BLAS=off            every call goes to the library behind
 *   HETSCHED_BLAS_LEAST=...      multiply-adds from which calls are the engine's: a number for all, or "gemm=1e6,dgetrf=3e5", where a
 *                                name with a letter is for one type
 *   HETSCHED_BLAS_CORES=0,2      the cpus of the workers; else one of each core that the process may run on
 *   HETSCHED_BLAS_SPEEDS=1,0.5   their relative speeds
 *   HETSCHED_BLAS_DOMAINS=0,1    the domain of each; with
 *   HETSCHED_BLAS_BLOCKS=0,0,0,0,0,0;avx2:256,192,...   of each domain depth, rows and cols as of hs_domain, the kernel before a colon
 *   HETSCHED_NUM_THREADS=2, or OMP_NUM_THREADS   how many workers at most
 *   HETSCHED_DETERMINISTIC=1     the same bits with any of them
 *   HETSCHED_BLAS_REPORT=1       a table on stderr at the end of the process
 * What cannot be read is as if it were not there: nothing is printed, for the program is not ours. */
#ifndef HS_BLAS_SETTINGS_H
#define HS_BLAS_SETTINGS_H

#include <stdatomic.h>
#include <stdint.h>

#include "hetsched.h"

enum { HS__MOST_WORKERS = 1024, HS__MOST_DOMAINS = 256 };

typedef struct hs__settings {
    int report, deterministic;
    atomic_int workers;               /* those in use, at least 1 */
    int32_t most;                     /* all there are */
    int32_t cores[HS__MOST_WORKERS];  /* [most] */
    double speeds[HS__MOST_WORKERS];  /* [most] */
    int has_speeds;
    int32_t domains;                       /* 0: all are one */
    int32_t domain_of[HS__MOST_WORKERS];   /* [most], with domains */
    hs_domain domain[HS__MOST_DOMAINS];    /* [domains] */
} hs__settings;

extern hs__settings hs__set;

/* The domains that the first workers are in, and which of these each is in: domain [HS__MOST_DOMAINS], of [workers]. Returns how many, 0
 * where all are one. */
int32_t hs__domains_of(int32_t workers, hs_domain *domain, int32_t *of);

/* Names of the routines, without the type's letter, as of hs__routine. */
extern const char *const hs__routine_names[];

#endif
