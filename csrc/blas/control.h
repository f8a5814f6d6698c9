/* Functions that libhetsched_blas.so exports beside the BLAS names, so that programs can query and
 * set it while they run. They may be called from any thread. Settings apply to calls that begin
 * later. */
#ifndef HS_BLAS_CONTROL_H
#define HS_BLAS_CONTROL_H

#include "blas/names.h"

/* Return and set the largest number of workers of a call from this thread, at least 1. It is the
 * number of named cpus that the thread may use now, or less if the program has set a limit. With 1,
 * the engine starts no threads: it computes a call on the calling thread, or leaves it to the
 * library behind. A limit of all cpus or more removes the limit, so that
 * cpus of a wider mask count later, too. */
HS__BLAS int hetsched_blas_get_num_threads(void);
HS__BLAS void hetsched_blas_set_num_threads(int threads);

/* Returns the number of domains of these workers: 1, unless their cpus were named and
 * HETSCHED_BLAS_DOMAINS and HETSCHED_BLAS_BLOCKS define more. */
HS__BLAS int hetsched_blas_get_num_domains(void);

/* Return and set the number of multiply-adds from which the engine computes calls of a function.
 *   name  such as "dgemm", or "alone:dgemm" for calls on one thread; NaN is returned for an unknown
 *         name
 *   text  as in HETSCHED_BLAS_LEAST: "1e6" for all functions, or "gemm=1e6,alone:dgetrf=inf" */
HS__BLAS double hetsched_blas_get_least(const char *name);
HS__BLAS void hetsched_blas_set_least(const char *text);

/* Writes the report of the records of several processes (record.h) to an open file. The text has a
 * line for each file that is not a record. Returns 0 if there is no memory or the text cannot be
 * written.
 *   paths  [count] of the records */
HS__BLAS int hetsched_blas_write_report(const char *const *paths, int count, int file);

#endif
