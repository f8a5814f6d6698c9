/* Output of the drop-in library in programs that are not ours. */
#ifndef HS_BLAS_OUTPUT_H
#define HS_BLAS_OUTPUT_H

#include <stddef.h>

/* Writes a text to a file, and returns whether all of it was written. It takes no locks, so a
 * signal handler may call it, and it changes nothing of the thread: not errno, and a pipe without a
 * reader gives no SIGPIPE, nor a file that is as long as allowed a SIGXFSZ. */
int hs__write(int file, const char *text, size_t bytes);

#endif
