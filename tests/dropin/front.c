/* A library with the function of a BLAS, which calls that of a library chosen while the program
 * runs, as FlexiBLAS does: by a pointer into it. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int front_calls;

void dpotrf_(const char *triangle, const INT *n, double *a, const INT *lda, INT *info, size_t length)
{
    static void (*there)(const char *, const INT *, double *, const INT *, INT *, size_t);
    if (!there) *(void **)&there = dlsym(dlopen(getenv("FRONT"), RTLD_NOW | RTLD_LOCAL), "dpotrf_");
    there(triangle, n, a, lda, info, length);
    front_calls++;
}
