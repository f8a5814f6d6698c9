/* A BLAS and LAPACK of a few functions, for INT int32_t or int64_t, with the names that FORTRAN and C
 * make. WITHOUT_ISAMAX, WITHOUT_ILAVER, WITHOUT_BLAS, WITHOUT_LAPACK: it has no such functions.
 * PLACE: what isamax says if not what is right. THREADS: how many it says it is to use. */
#include <math.h>
#include <stdint.h>

#ifndef FORTRAN
#define FORTRAN(x) x##_
#define C(x) cblas_##x
#endif
#ifndef THREADS
#define THREADS 2
#endif

int tiny_calls; /* of all functions but isamax and ilaver */
int tiny_asked; /* of these */

int openblas_get_num_threads(void) { return THREADS; }

#ifndef WITHOUT_ISAMAX
static INT find_largest(INT n, const float *x, INT step)
{
    INT place = n > 0;
    tiny_asked++;
    for (INT i = 1; i < n; i++)
        if (fabsf(x[i * step]) > fabsf(x[(place - 1) * step])) place = i + 1;
#ifdef PLACE
    place = PLACE;
#endif
    return place;
}
INT FORTRAN(isamax)(const INT *n, const float *x, const INT *step)
{
    return find_largest(*n, x, *step);
}
uintptr_t C(isamax)(INT n, const float *x, INT step)
{
    const INT place = find_largest(n, x, step);
    return place ? (uintptr_t)place - 1 : 0;
}
#endif

#ifndef WITHOUT_ILAVER
void FORTRAN(ilaver)(INT *major, INT *minor, INT *patch)
{
    tiny_asked++;
    *major = 3;
    *minor = 11;
    *patch = 0;
}
#endif

#ifndef WITHOUT_BLAS
static void multiply(int a_turned, int b_turned, INT m, INT n, INT k, double alpha, const double *a,
                     INT lda, const double *b, INT ldb, double beta, double *c, INT ldc)
{
    tiny_calls++;
    for (INT j = 0; j < n; j++)
        for (INT i = 0; i < m; i++) {
            double sum = 0;
            for (INT l = 0; l < k; l++)
                sum += a[a_turned ? l + i * lda : i + l * lda] *
                       b[b_turned ? j + l * ldb : l + j * ldb];
            c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]);
        }
}
void FORTRAN(dgemm)(const char *x, const char *y, const INT *m, const INT *n, const INT *k,
                    const double *alpha, const double *a, const INT *lda, const double *b,
                    const INT *ldb, const double *beta, double *c, const INT *ldc)
{
    multiply(*x != 'N', *y != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}
void C(dgemm)(int order, int x, int y, INT m, INT n, INT k, double alpha, const double *a, INT lda,
              const double *b, INT ldb, double beta, double *c, INT ldc)
{
    if (order == 102) multiply(x != 111, y != 111, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    else multiply(y != 111, x != 111, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}
#endif

#ifndef WITHOUT_LAPACK
void FORTRAN(dgesv)(const INT *n, const INT *cols, double *a, const INT *lda, INT *pivots, double *b,
                    const INT *ldb, INT *info)
{
    tiny_calls++;
    *info = 0;
    for (INT j = 0; j < *n; j++) {
        INT p = j;
        for (INT i = j + 1; i < *n; i++)
            if (fabs(a[i + j * *lda]) > fabs(a[p + j * *lda])) p = i;
        pivots[j] = p + 1;
        for (INT l = 0; l < *n + *cols; l++) {
            double *column = l < *n ? a + l * *lda : b + (l - *n) * *ldb;
            const double kept = column[j];
            column[j] = column[p];
            column[p] = kept;
            for (INT i = j + 1; i < *n && l > j; i++)
                column[i] -= a[i + j * *lda] / a[j + j * *lda] * column[j];
        }
        for (INT i = j + 1; i < *n; i++) a[i + j * *lda] /= a[j + j * *lda];
    }
    for (INT l = 0; l < *cols; l++)
        for (INT j = *n - 1; j >= 0; j--) {
            b[j + l * *ldb] /= a[j + j * *lda];
            for (INT i = 0; i < j; i++) b[i + l * *ldb] -= a[i + j * *lda] * b[j + l * *ldb];
        }
}
void FORTRAN(dpotrf)(const char *triangle, const INT *n, double *a, const INT *lda, INT *info)
{
    tiny_calls++;
    *info = 0;
    for (INT j = 0; j < *n; j++) { /* the lower triangle */
        for (INT k = 0; k < j; k++)
            for (INT i = j; i < *n; i++) a[i + j * *lda] -= a[i + k * *lda] * a[j + k * *lda];
        if (!(a[j + j * *lda] > 0) || *triangle != 'L') {
            *info = j + 1;
            return;
        }
        const double root = sqrt(a[j + j * *lda]);
        for (INT i = j; i < *n; i++) a[i + j * *lda] /= root;
    }
}
#endif
