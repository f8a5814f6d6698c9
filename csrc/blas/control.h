/* What programs may ask of the drop-in library, and tell it, while they run: functions that
 * libhetsched_blas.so exports beside the names of the BLAS. From any thread; what is told holds for
 * calls that begin later. */
#ifndef HS_BLAS_CONTROL_H
#define HS_BLAS_CONTROL_H

#include "blas/names.h"

/* How many workers a call of this thread has at most, at least 1: as many as it may use cpus now,
 * of those that were named, or fewer if told so; with 1 every call goes to the library behind. Told
 * as many as there are, or more: all, also those that a wider mask brings later. */
HS__BLAS int hetsched_blas_get_num_threads(void);
HS__BLAS void hetsched_blas_set_num_threads(int threads);

/* Domains of those workers: 1 unless their cpus were named and HETSCHED_BLAS_DOMAINS and
 * HETSCHED_BLAS_BLOCKS say more. */
HS__BLAS int hetsched_blas_get_num_domains(void);

/* The multiply-adds from which calls of a function, such as "dgemm", are the engine's; NaN of a
 * name that is none. And what sets them: as HETSCHED_BLAS_LEAST, such as "1e6" for all,
 * "gemm=1e6,dgetrf=inf". */
HS__BLAS double hetsched_blas_get_least(const char *name);
HS__BLAS void hetsched_blas_set_least(const char *text);

#endif
