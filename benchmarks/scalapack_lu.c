/* pdgetrf of a random matrix on a grid of processes: n, block, rounds. Prints the seconds of the fastest round. BLACS does all that
 * MPI would be asked for, so that no MPI header is needed.
 * cc scalapack_lu.c -lscalapack-openmpi -o scalapack_lu && mpirun -n 2 scalapack_lu 1000 64 3 */
#define _GNU_SOURCE
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
int numroc_(const int *n, const int *block, const int *at, const int *source, const int *count);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *col, const int *context, const int *lld, int *info);
void pdgetrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc, int *pivots, int *info);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000, block = argc > 2 ? atoi(argv[2]) : 64, rounds = argc > 3 ? atoi(argv[3]) : 3;
    int rank, size, context, rows = 1, cols, row, col, info, desc[9];
    const int zero = 0, one = 1;
    Cblacs_pinfo(&rank, &size);
    for (int r = 2; r * r <= size; r++)
        if (size % r == 0) rows = r;
    cols = size / rows;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, cols);
    Cblacs_gridinfo(context, &rows, &cols, &row, &col);
    const int height = numroc_(&n, &block, &row, &zero, &rows), width = numroc_(&n, &block, &col, &zero, &cols), lld = height > 1 ? height : 1;
    const size_t count = (size_t)height * (size_t)width;
    double *a = malloc((count + 1) * sizeof *a), *work = malloc((count + 1) * sizeof *work), best = 1e300;
    int *pivots = malloc(((size_t)height + (size_t)block) * sizeof *pivots);
    if (!a || !work || !pivots) return 1;
    unsigned long long state = 1 + (unsigned long long)rank;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        a[i] = (double)(state >> 11) * 0x1p-53 - 0.5;
    }
    descinit_(desc, &n, &n, &block, &block, &zero, &zero, &context, &lld, &info);
    for (int round = 0; round < rounds; round++) {
        memcpy(work, a, count * sizeof *a);
        Cblacs_barrier(context, "All");
        const double start = now();
        pdgetrf_(&n, &n, work, &one, &one, desc, pivots, &info);
        double seconds = now() - start;
        int at_row, at_col;
        Cdgamx2d(context, "All", " ", 1, 1, &seconds, 1, &at_row, &at_col, 1, -1, -1); /* of the slowest process */
        if (seconds < best) best = seconds;
    }
    if (rank == 0) printf("%.6f\n", info == 0 ? best : -1.0);
    free(a), free(work), free(pivots);
    Cblacs_gridexit(context);
    Cblacs_exit(0);
    return 0;
}
