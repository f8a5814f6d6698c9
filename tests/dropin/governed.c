/* A LAPACK whose only function computes nothing but notes how many threads it would use. KIND is the
 * library that it claims to be: it has the functions of that one for its number of threads. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OPENBLAS 1
#define SERIAL 2
#define OPENMP 3
#define MKL 4
#define BLIS 5
#define FLEXIBLAS 6
#define FLEXIBLAS_OPENMP 7
#define UNTOLD 8

int noted; /* threads of the last call */
static int threads = 8;

#if KIND == OPENBLAS || KIND == SERIAL || KIND == OPENMP
#ifndef OPEN
#define OPEN(x) openblas_##x
#endif
int OPEN(get_num_threads)(void) { return threads; }
void OPEN(set_num_threads)(int count) { threads = count; }
int OPEN(get_parallel)(void) { return KIND == OPENBLAS ? 1 : KIND == OPENMP ? 2 : 0; }
#elif KIND == MKL
static _Thread_local int local;
int MKL_Get_Max_Threads(void) { return local ? local : threads; }
int MKL_Set_Num_Threads_Local(int count)
{
    const int before = local;
    local = count;
    return before;
}
#elif KIND == BLIS
int64_t bli_thread_get_num_threads(void) { return threads; }
void bli_thread_set_num_threads(int64_t count) { threads = (int)count; }
#elif KIND == FLEXIBLAS || KIND == FLEXIBLAS_OPENMP
int flexiblas_get_num_threads(void) { return threads; }
void flexiblas_set_num_threads(int count) { threads = count; }
int flexiblas_current_backend(char *name, size_t most)
{
    strncpy(name, KIND == FLEXIBLAS ? "OPENBLAS-THREADS" : "OpenBLAS-OpenMP", most);
    return 1;
}
#else
int openblas_get_num_threads(void) { return threads; }
#endif

#if KIND == OPENMP
static _Thread_local int omp = 8;
int omp_get_max_threads(void) { return omp; }
void omp_set_num_threads(int count) { omp = count; }
#endif

int threads_now(void)
{
#if KIND == OPENMP
    return omp;
#elif KIND == MKL
    return MKL_Get_Max_Threads();
#else
    return threads;
#endif
}

void tell(int count) { threads = count; }

/* info: 0 if the lengths of both characters are passed on */
void dsyevd_(const char *vectors, const char *triangle, const int *n, double *a, const int *lda,
             double *w, double *work, const int *lwork, int *iwork, const int *liwork, int *info,
             size_t length, size_t other_length)
{
    noted = threads_now();
    *info = *vectors == 'V' && *triangle == 'L' && *liwork == 11 && length == 1 && other_length == 1
                ? 0
                : -1;
}
