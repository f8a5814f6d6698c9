/* With HETSCHED_BLAS_EXPLAIN=1: a line on stderr for each kind of call, when the first such call
 * happens. It says where the call went, and why. Calls are of one kind if they have the same
 * routine, type, number of multiply-adds in two digits, and fate. After 512 kinds a last line says
 * that more are not shown. A forked process does not repeat what its parent has shown. */
#ifndef HS_BLAS_EXPLAIN_H
#define HS_BLAS_EXPLAIN_H

#include "blas/gate.h"

/* Reasons in words: [HS__FATES]. */
extern const char *const hs__reasons[];

void hs__explain_taken(const hs__entry *entry, double volume, int32_t workers);

/* Explains a call that goes to the library behind. If the call is governed, the line is left to
 * hs__explain_governed, which knows the number of threads. */
void hs__explain_left(const hs__entry *entry, hs__fate fate, double volume);

/* In the place of a number of threads: the call is inside another one, and has its threads. */
enum { HS__INSIDE = -1 };

/* threads: of the library behind for this call; 0: not known */
void hs__explain_governed(const hs__entry *entry, double volume, int threads);

#endif
