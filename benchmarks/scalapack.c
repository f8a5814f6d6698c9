/* pdgemm or pdgetrf of random matrices n x n in square blocks on a grid of processes: product|lu, n, block, rows, columns, rounds,
 * from_root. Prints the seconds of each round, and then a residual that should be about 1 or less, relative to rounding.
 * from_root 0: the matrices are distributed before and after. 1: they are at process 0 and so is the result; the time has both ways.
 * BLACS does all that MPI would be asked for, so that no MPI header is needed.
 * cc scalapack.c -lscalapack-openmpi -lm -o scalapack && mpirun -n 4 scalapack lu 1000 64 2 2 3 0 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void Cblacs_pinfo(int *rank, int *size);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_barrier(int context, const char *scope);
void Cblacs_gridexit(int context);
void Cblacs_exit(int go_on);
void Cdgamx2d(int context, const char *scope, const char *topology, int m, int n, double *a, int lda, int *rows, int *cols, int ldia, int row, int col);
void Cpdgemr2d(int m, int n, const double *a, int ia, int ja, const int *a_desc, double *b, int ib, int jb, const int *b_desc, int context);
int numroc_(const int *n, const int *block, const int *at, const int *source, const int *count);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *col, const int *context, const int *lld, int *info);
void pdgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha, const double *a, const int *ia, const int *ja, const int *a_desc,
             const double *b, const int *ib, const int *jb, const int *b_desc, const double *beta, double *c, const int *ic, const int *jc, const int *c_desc);
void pdgetrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc, int *pivots, int *info);
void pdgetrs_(const char *trans, const int *n, const int *count, const double *a, const int *ia, const int *ja, const int *a_desc, const int *pivots,
              double *b, const int *ib, const int *jb, const int *b_desc, int *info);
void dgemv_(const char *trans, const int *m, const int *n, const double *alpha, const double *a, const int *lda, const double *x, const int *one, const double *beta, double *y, const int *step);

static const int zero = 0, one = 1;
static const double d_zero = 0, d_one = 1, minus_one = -1;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A grid and the distribution on it; a process that is not in the grid has context -1. */
typedef struct {
    int context, rows, cols, row, col, height, width, desc[9];
} layout;

static layout laid(int rows, int cols, int n, int width, int block)
{
    layout l = {0};
    int info;
    Cblacs_get(-1, 0, &l.context);
    Cblacs_gridinit(&l.context, "Row", rows, cols);
    l.desc[1] = -1;
    if (l.context < 0) return l;
    Cblacs_gridinfo(l.context, &l.rows, &l.cols, &l.row, &l.col);
    l.height = numroc_(&n, &block, &l.row, &zero, &rows), l.width = numroc_(&width, &block, &l.col, &zero, &cols);
    const int lld = l.height > 1 ? l.height : 1;
    descinit_(l.desc, &n, &width, &block, &block, &zero, &zero, &l.context, &lld, &info);
    return l;
}

static double *matrix(layout l)
{
    return calloc((size_t)l.height * (size_t)l.width + 1, sizeof(double));
}

static void fill(double *a, size_t count, unsigned long long state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        a[i] = (double)(state >> 11) * 0x1p-53 - 0.5;
    }
}

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    return most;
}

/* C x against A (B x), at process 0, where all three are. */
static double product_residual(int n, const double *a, const double *b, const double *c)
{
    double *x = malloc(3 * (size_t)n * sizeof *x), *y = x + n, *z = y + n;
    if (!x) return NAN;
    fill(x, (size_t)n, 77);
    dgemv_("N", &n, &n, &d_one, b, &n, x, &one, &d_zero, y, &one);
    dgemv_("N", &n, &n, &d_one, a, &n, y, &one, &d_zero, z, &one);
    const double size = largest(z, n);
    dgemv_("N", &n, &n, &minus_one, c, &n, x, &one, &d_one, z, &one);
    const double found = largest(z, n) / (size * n * DBL_EPSILON);
    free(x);
    return found;
}

/* ||A x - b|| of the solution by the factors; A is at process 0, the factors are distributed. */
static double lu_residual(int n, const double *a, layout whole, const double *lu, const int *pivots, layout grid, int block)
{
    layout thin = laid(grid.rows, grid.cols, n, 1, block), column = laid(1, 1, n, 1, n);
    double *x = matrix(thin), *all = matrix(column), *b = matrix(column), found = NAN;
    int info;
    thin.desc[1] = grid.context;
    fill(b, (size_t)column.height, 78);
    Cpdgemr2d(n, 1, b, 1, 1, column.desc, x, 1, 1, thin.desc, grid.context);
    pdgetrs_("N", &n, &one, lu, &one, &one, grid.desc, pivots, x, &one, &one, thin.desc, &info);
    Cpdgemr2d(n, 1, x, 1, 1, thin.desc, all, 1, 1, column.desc, grid.context);
    if (whole.context >= 0) {
        const double size = largest(all, n);
        dgemv_("N", &n, &n, &minus_one, a, &n, all, &one, &d_one, b, &one);
        found = largest(b, n) / (size * n * DBL_EPSILON);
    }
    free(x), free(all), free(b);
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 8) return 2;
    const int lu = strcmp(argv[1], "lu") == 0, n = atoi(argv[2]), block = atoi(argv[3]), rows = atoi(argv[4]), cols = atoi(argv[5]);
    const int rounds = atoi(argv[6]), from_root = atoi(argv[7]);
    int rank, size, info = 0;
    Cblacs_pinfo(&rank, &size);
    if (rows * cols != size) return 2;
    const layout grid = laid(rows, cols, n, n, block), whole = laid(1, 1, n, n, n);
    double *local[3], *full[3];
    for (int i = 0; i < 3; i++) {
        local[i] = matrix(grid), full[i] = matrix(whole);
        if (!local[i] || !full[i]) return 1;
        if (whole.context >= 0) fill(full[i], (size_t)n * (size_t)n, 1 + (unsigned long long)i);
        Cpdgemr2d(n, n, full[i], 1, 1, whole.desc, local[i], 1, 1, grid.desc, grid.context);
    }
    int *pivots = malloc(((size_t)grid.height + (size_t)block) * sizeof *pivots);
    if (!pivots) return 1;
    double *result = local[lu ? 0 : 2];
    const size_t count = (size_t)grid.height * (size_t)grid.width;
    if (lu) memcpy(local[1], local[0], count * sizeof *result);
    for (int round = 0; round < rounds; round++) {
        if (lu) memcpy(local[0], local[1], count * sizeof *result);
        Cblacs_barrier(grid.context, "All");
        const double start = now();
        for (int i = 0; from_root && i < (lu ? 1 : 2); i++) Cpdgemr2d(n, n, full[i], 1, 1, whole.desc, local[i], 1, 1, grid.desc, grid.context);
        if (lu)
            pdgetrf_(&n, &n, result, &one, &one, grid.desc, pivots, &info);
        else
            pdgemm_("N", "N", &n, &n, &n, &d_one, local[0], &one, &one, grid.desc, local[1], &one, &one, grid.desc, &d_zero, result, &one, &one, grid.desc);
        if (from_root) Cpdgemr2d(n, n, result, 1, 1, grid.desc, full[2], 1, 1, whole.desc, grid.context);
        double seconds = now() - start;
        int at_row, at_col;
        Cdgamx2d(grid.context, "All", " ", 1, 1, &seconds, 1, &at_row, &at_col, 1, -1, -1); /* of the slowest process */
        if (rank == 0) printf("%.6f\n", info == 0 ? seconds : -1.0);
    }
    Cpdgemr2d(n, n, result, 1, 1, grid.desc, full[2], 1, 1, whole.desc, grid.context);
    const double residual = lu ? lu_residual(n, full[0], whole, result, pivots, grid, block) : whole.context >= 0 ? product_residual(n, full[0], full[1], full[2]) : 0;
    if (rank == 0) printf("%.3g\n", residual);
    for (int i = 0; i < 3; i++) free(local[i]), free(full[i]);
    free(pivots);
    Cblacs_gridexit(grid.context);
    Cblacs_exit(0);
    return 0;
}
