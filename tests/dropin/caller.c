/* A module that calls a BLAS and LAPACK with integers INT: of each function, whether its results are
 * right. Integers have neighbours, which nothing may change. With MAIN it is a program. */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef FORTRAN
#define FORTRAN(x) x##_
#define C(x) cblas_##x
#endif
enum { MOST = 200, MARK = -77 };

extern void FORTRAN(dgemm)(const char *, const char *, const INT *, const INT *, const INT *,
                           const double *, const double *, const INT *, const double *, const INT *,
                           const double *, double *, const INT *);
extern void C(dgemm)(int, int, int, INT, INT, INT, double, const double *, INT, const double *, INT,
                     double, double *, INT);
extern void FORTRAN(dgesv)(const INT *, const INT *, double *, const INT *, INT *, double *,
                           const INT *, INT *);
extern void FORTRAN(dpotrf)(const char *, const INT *, double *, const INT *, INT *, size_t);

/* Not symmetric, and with pivots that are not on the diagonal: a cyclic shift and a little more. */
static double element(INT i, INT j, INT n)
{
    return (i == (j + 1) % n ? 4.0 : 0.0) + 1.0 / (double)(n + i + 2 * j);
}

static int is_product_wrong(const double *a, const double *c, INT n)
{
    for (INT j = 0; j < n; j++)
        for (INT i = 0; i < n; i++) {
            double sum = 0;
            for (INT l = 0; l < n; l++) sum += a[i + l * n] * a[l + j * n];
            if (!(fabs(c[i + j * n] - sum) < 1e-9 * n)) return 1;
        }
    return 0;
}

int wrong_products(int size)
{
    const INT n = size;
    const double one = 1, zero = 0;
    double *a = malloc(sizeof *a * n * n);
    double *c = calloc(n * n, sizeof *c), *d = calloc(n * n, sizeof *d);
    for (INT i = 0; i < n * n; i++) a[i] = element(i % n, i / n, n);
    FORTRAN(dgemm)("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    C(dgemm)(102, 111, 111, n, n, n, 1.0, a, n, a, n, 0.0, d, n);
    const int wrong = is_product_wrong(a, c, n) | is_product_wrong(a, d, n) << 1;
    free(a), free(c), free(d);
    return wrong;
}

int wrong_systems(int size)
{
    const INT n = size, one = 1;
    double *a = malloc(sizeof *a * n * n), *b = calloc(n, sizeof *b);
    INT pivots[MOST + 2], info[3] = {MARK, MARK, MARK};
    for (INT i = 0; i < n + 2; i++) pivots[i] = MARK;
    for (INT i = 0; i < n * n; i++) a[i] = element(i % n, i / n, n);
    for (INT i = 0; i < n * n; i++) b[i % n] += a[i] * (double)(i / n + 1);
    FORTRAN(dgesv)(&n, &one, a, &n, pivots + 1, b, &n, info + 1);
    int wrong = 0;
    for (INT i = 0; i < n; i++) {
        wrong |= !(fabs(b[i] - (double)(i + 1)) < 1e-8 * n);
        wrong |= (pivots[i + 1] != (i + 2 > n ? n : i + 2)) << 1;
    }
    wrong |= (info[1] != 0 || info[0] != MARK || info[2] != MARK) << 2;
    wrong |= (pivots[0] != MARK || pivots[n + 1] != MARK) << 3;
    free(a), free(b);
    return wrong;
}

typedef void potrf(const char *, const INT *, double *, const INT *, INT *, size_t);

/* By a function that is handed over: all of a matrix, and one that is not positive definite. */
static int wrong_cholesky_by(potrf *call, int size, INT last)
{
    const INT n = size;
    double *a = calloc(n * n, sizeof *a);
    INT info[3] = {MARK, MARK, MARK};
    for (INT i = 0; i < n; i++) a[i + i * n] = i == last ? -1 : 4;
    call("L", &n, a, &n, info + 1, 1);
    int wrong = (info[1] != last + 1) | (info[0] != MARK || info[2] != MARK) << 1;
    for (INT i = 0; i < n && last < 0; i++) wrong |= (a[i + i * n] != 2) << 2;
    free(a);
    return wrong;
}

int wrong_cholesky(int size)
{
    return wrong_cholesky_by(FORTRAN(dpotrf), size, -1) |
           wrong_cholesky_by(FORTRAN(dpotrf), size, size - 3) << 3;
}

int wrong_cholesky_at(void *function, int size)
{
    return wrong_cholesky_by((potrf *)function, size, -1) |
           wrong_cholesky_by((potrf *)function, size, size - 3) << 3;
}

int wrong(int size)
{
    return wrong_products(size) | wrong_systems(size) << 4 | wrong_cholesky(size) << 8;
}

/* What a compiler makes of such a function is a jump: we are called by its caller. */
void hand_on(const char *triangle, const INT *n, double *a, const INT *lda, INT *info, size_t length)
{
    FORTRAN(dpotrf)(triangle, n, a, lda, info, length);
}

/* Calls from `count` addresses that are in no object, as of code that is compiled at run time: 32
 * bytes for each, which call what is handed over. -1 where there is no such code for the processor. */
int wrong_from_nowhere(void *function, int size, int count)
{
#if defined __x86_64__
    static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0,    0,    0, 0,
                                         0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
    unsigned char *page = mmap(NULL, (size_t)count * 32, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        unsigned char *at = page + 32 * i;
        __builtin_memcpy(at, code, sizeof code);
        __builtin_memcpy(at + 6, &function, sizeof function);
        wrong |= wrong_cholesky_by((potrf *)(void *)at, size, i % 3 ? -1 : size - 2);
    }
    munmap(page, (size_t)count * 32);
    return wrong;
#else
    (void)function, (void)size, (void)count;
    return -1;
#endif
}

#ifdef MAIN
int main(void)
{
    printf("%d %d\n", wrong(8), wrong(120));
    return 0;
}
#endif
