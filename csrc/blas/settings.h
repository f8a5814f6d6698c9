/* Settings of the drop-in library, read from the environment when the library is loaded.
 *   HETSCHED_BLAS=off            every call goes to the library behind
 *   HETSCHED_BLAS_LEAST=...      multiply-adds from which the engine computes a call: a number for
 *                                all routines, or "gemm=1e6,dgetrf=3e5", where a name with the
 *                                letter of a type is for this type only. After these numbers,
 *                                "alone:getrf=1e6" is for calls on one thread only, and "alone=inf"
 *                                for all calls on one thread
 *   HETSCHED_BLAS_CORES=0,2      a cpu of each core that may get a worker; those that the program
 *                                may use count (places.h). Default: all that it may use
 *   HETSCHED_BLAS_WORKERS=2      the largest number of workers. If it is smaller than the number of
 *                                cores, the workers run where cores are free (threads/sites.h)
 *   HETSCHED_BLAS_SPEEDS=1,0.5   relative speeds of the cores
 *   HETSCHED_BLAS_DOMAINS=0,1    the domain of each core; needs
 *   HETSCHED_BLAS_BLOCKS=0,0,0,0,0,0;avx2:256,192,...   for each domain depth, rows and cols as in
 *                                                       hs_domain, after the kernel and a colon
 *   HETSCHED_NUM_THREADS=2, or else OMP_NUM_THREADS   the largest number of workers, too
 *   HETSCHED_BLAS_BEHIND=auto    how many threads the library behind uses for a call: as many as
 *                                are good (govern.h); own: as it was told; 2: at most so many
 *   HETSCHED_DETERMINISTIC=1     the same bits for any number of workers
 *   HETSCHED_BLAS_REPORT=1       a table on stderr at the end of the process; a folder, with a
 *                                slash in its path: the record of each process as a file (record.h)
 *   HETSCHED_BLAS_EXPLAIN=1      a line on stderr for each kind of call (explain.h)
 * A value that cannot be read is ignored without a message, because the program is not ours. */
#ifndef HS_BLAS_SETTINGS_H
#define HS_BLAS_SETTINGS_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "blas/places.h"

typedef enum hs__report { HS__REPORT_NONE, HS__REPORT_AT_END, HS__REPORT_IN_FILES } hs__report;

typedef struct hs__settings {
    hs__report report;
    int explain, deterministic;
    atomic_int limit; /* largest number of workers, >= 1, set by the program; initially `most` */
    int32_t behind;   /* threads of the library behind (govern.h) */
    int32_t most;     /* the largest number that the environment allows */
    hs__cpus start;   /* mask when the library was loaded; none if OpenMP was there */
    hs__places named; /* count 0: none */
    hs_domain domain[HS__MOST_DOMAINS]; /* the domains of the places */
    char directory[PATH_MAX];           /* for records, if the report is in files */
} hs__settings;

extern hs__settings hs__blas_settings;

#endif
