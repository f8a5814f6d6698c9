/* Eigenvalues of symmetric and Hermitian matrices and of pairs of them, singular values, and least
 * squares by them, computed by the engine (hetsched/spectral.h). A tall or wide matrix is made square
 * by a QR factorisation first.
 *
 * The functions of LAPACK differ in the places of their arguments. These are numbered from 1, as in
 * LAPACK's documentation. */
#include "blas/spectral.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/drivers.h"
#include "blas/gate.h"
#include "blas/generalised.h"
#include "blas/names.h"
#include "blas/operand.h"
#include "blas/orthogonal.h"
#include "core/numbers.h"
#include "core/tuning.h"
#include "hetsched/spectral.h"

typedef struct {
    hs__entry *entry;
    const void *const *at;
} arguments;

static int64_t read_integer(const arguments *given, int place)
{
    return hs__integer_at(given->at[place - 1], given->entry->bits == 64);
}

/* Returns a letter of `known`, or 0. */
static char read_letter(const arguments *given, int place, const char *known)
{
    return hs__letter(*(const char *)given->at[place - 1], known);
}

static void *find_array(const arguments *given, int place)
{
    return (void *)(uintptr_t)given->at[place - 1];
}

static void set_integer(const arguments *given, int place, int64_t index, int64_t value)
{
    const int wide = given->entry->bits == 64;
    char *array = find_array(given, place);
    hs__set_integer(array + index * (wide ? 8 : 4), wide, value);
}

static double cube(int64_t n) { return (double)n * (double)n * (double)n; }

/* Ends a call. A matrix with NaN or infinities, for which the engine finds nothing, is left to the
 * library behind. So is a pair of which the second matrix is not definite: info tells its minor. */
static int end_decomposition(hs__call *call, hs_status status, int failed)
{
    return hs__end_call(call, !status && failed ? HS_ERROR_VALUE : status);
}

/* Multiply-adds from which one worker is faster for values alone: at order 1000. Below, it took
 * up to 1.7 times as long as OpenBLAS. The sizes of settings.c are for calls with vectors. */
static const double values_alone = 1e9;

/* ---- workspaces ------------------------------------------------------------------------------ */

/* Sizes of work, rwork and iwork, as far as the function has arguments for them. The engine uses
 * none of these arrays. */
typedef struct {
    int64_t of[3];
    int count;
} sizes;

/* Reads sizes, the first of them at `place`, with an array between each two. */
static sizes read_sizes(const arguments *given, int place, int count)
{
    sizes found = {.count = count};
    for (int i = 0; i < count; i++) found.of[i] = read_integer(given, place + 2 * i);
    return found;
}

/* Returns whether one of the sizes asks for the optimal sizes, which the library behind knows. */
static int is_query(const sizes *given)
{
    for (int i = 0; i < given->count; i++)
        if (given->of[i] == -1) return 1;
    return 0;
}

static int have_room(const sizes *given, sizes least)
{
    for (int i = 0; i < given->count; i++)
        if (given->of[i] < least.of[i]) return 0;
    return 1;
}

/* Returns how many sizes an eigenproblem has as arguments. */
static int count_eigen_sizes(int32_t routine)
{
    switch (routine) {
    case HS__SYEV:
    case HS__HEEV:
    case HS__SYGV:
    case HS__HEGV: return 1;
    case HS__SYEVD:
    case HS__SYEVR:
    case HS__SYGVD: return 2;
    default: return 3;
    }
}

/* Squares of larger numbers overflow. No matrix is so large. */
enum { MOST_SIDE = 1 << 30 };

/* Returns the sizes that LAPACK needs for an eigenproblem of order n > 1. */
static sizes eigen_sizes(int32_t routine, int vectors, int64_t n)
{
    n = hs__min(n, MOST_SIDE);
    switch (routine) {
    case HS__SYEV:
    case HS__SYGV: return (sizes){.of = {3 * n - 1}};
    case HS__HEEV:
    case HS__HEGV: return (sizes){.of = {2 * n - 1}};
    case HS__SYEVD:
    case HS__SYGVD:
        if (!vectors) return (sizes){.of = {2 * n + 1, 1}};
        return (sizes){.of = {1 + 6 * n + 2 * n * n, 3 + 5 * n}};
    case HS__HEEVD:
    case HS__HEGVD:
        if (!vectors) return (sizes){.of = {n + 1, n, 1}};
        return (sizes){.of = {2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n}};
    case HS__SYEVR: return (sizes){.of = {26 * n, 10 * n}};
    default: return (sizes){.of = {2 * n, 24 * n, 10 * n}};
    }
}

/* Returns the smallest workspace with which any of LAPACK's algorithms for singular values runs.
 * k: the smaller side */
static sizes singular_sizes(const hs__entry *entry, int vectors, int64_t k)
{
    k = hs__min(k, MOST_SIDE);
    if (entry->dtype >= HS_COMPLEX64) return (sizes){.of = {3 * k}};
    if (entry->routine == HS__GESVD) return (sizes){.of = {5 * k}};
    return (sizes){.of = {vectors ? 3 * k * k + 7 * k : 8 * k}};
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* Places of the arguments of syev and syevd, and of syevr, and of the functions for complex types.
 * z is a where the eigenvectors replace the matrix. */
typedef struct {
    int triangle, n, a, lda, w, z, ldz, lwork;
} eigen_places;
static const eigen_places replaced = {2, 3, 4, 5, 6, 4, 5, 8};
static const eigen_places separate = {3, 4, 5, 6, 13, 14, 15, 18};
enum { RANGE = 2, LOW = 7, HIGH, FIRST, LAST, COUNT = 12, SUPPORT = 16 };

static double read_real(const arguments *given, int place)
{
    const void *at = given->at[place - 1];
    return given->entry->dtype & 1 ? *(const double *)at : *(const float *)at;
}

/* Reads which eigenvalues syevr is to find. Returns 0 if the arguments are wrong. */
static int read_range(const arguments *given, hs_eigh *x)
{
    x->by_value = read_letter(given, RANGE, "V") != 0;
    if (x->by_value) {
        x->low = read_real(given, LOW);
        x->high = read_real(given, HIGH);
        return x->low < x->high;
    }
    if (read_letter(given, RANGE, "A")) return 1;
    const int64_t first = read_integer(given, FIRST), last = read_integer(given, LAST);
    x->first = first - 1;
    x->count = last - x->first;
    return read_letter(given, RANGE, "I") && 1 <= first && first <= last && last <= x->n;
}

/* Moves the wanted values to the front of all values, and sets their number. If all vectors are
 * wanted, it also sets isuppz: every row of each vector may be non-zero. For a part of the vectors,
 * and for a range of values, LAPACK does not use isuppz, which may then be empty. */
static void describe_range(const arguments *given, const hs_eigh *found)
{
    const int64_t n = found->n, count = found->count;
    const size_t real = hs__real_bytes(found->dtype);
    memmove(found->values, (char *)found->values + (size_t)found->first * real,
            (size_t)count * real);
    set_integer(given, COUNT, 0, count);
    if (count < n || found->by_value || !found->vectors) return;
    for (int64_t i = 0; i < n; i++) {
        set_integer(given, SUPPORT, 2 * i, 1);
        set_integer(given, SUPPORT, 2 * i + 1, n);
    }
}

/* Returns the multiply-adds that decide about a call on one thread (gate.h). By syevd, one worker
 * took up to 1.5 times as long for real eigenvectors as OpenBLAS, at order 1000 still 1.1 times,
 * and by sygvd 0.9 to 1.1 times. */
static double alone_eigh(int32_t routine, int vectors, int64_t n)
{
    if (!vectors) return cube(n) < values_alone ? -1.0 : cube(n);
    return routine == HS__SYEVD || routine == HS__SYGVD ? -1.0 : cube(n);
}

/* Takes a call of syev, heev, syevd, heevd, syevr or heevr. Returns whether the engine has computed
 * it. */
static int take_eigh(const arguments *given)
{
    hs__entry *entry = given->entry;
    const int32_t routine = entry->routine;
    const int is_separate = routine == HS__SYEVR || routine == HS__HEEVR;
    const eigen_places *place = is_separate ? &separate : &replaced;
    const char job = read_letter(given, 1, "NV");
    const char triangle = read_letter(given, place->triangle, "LU");
    const int64_t n = read_integer(given, place->n), lda = read_integer(given, place->lda);
    const int64_t ldz = read_integer(given, place->ldz);
    const int vectors = job == 'V';
    const sizes room = read_sizes(given, place->lwork, count_eigen_sizes(routine));
    if (is_query(&room) || !hs__is_large(entry, cube(n))) return 0;
    hs_eigh eigh = {.dtype = entry->dtype,
                    .n = n,
                    .a = find_array(given, place->a),
                    .a_row_stride = 1,
                    .a_col_stride = lda,
                    .upper = triangle == 'U',
                    .values = find_array(given, place->w),
                    .vectors = vectors ? find_array(given, place->z) : NULL,
                    .row_stride = 1,
                    .col_stride = ldz,
                    .count = n};
    if (!job || !triangle || n < 2 || n > INT32_MAX || !hs__lead_fits(lda, n) ||
        !hs__lead_fits(ldz, vectors ? n : 1) ||
        !have_room(&room, eigen_sizes(routine, vectors, n)) ||
        (is_separate && !read_range(given, &eigh)))
        return hs__refuse_call(entry, cube(n));
    hs__call call;
    if (!hs__begin_shaped_call(&call, entry, cube(n), cube(n), alone_eigh(routine, vectors, n)))
        return 0;
    const hs_status status = hs_run_eigh(call.pool, &eigh, NULL, NULL);
    if (!status && !eigh.failed && is_separate) describe_range(given, &eigh);
    return end_decomposition(&call, status, eigh.failed);
}

/* Takes a call of sygv, hegv, sygvd or hegvd. Returns whether the engine has computed it. */
static int take_pair(const arguments *given)
{
    enum { KIND = 1, JOB, TRIANGLE, N, A, LDA, B, LDB, W, WORK, LWORK };
    hs__entry *entry = given->entry;
    const int64_t kind = read_integer(given, KIND), n = read_integer(given, N);
    const char job = read_letter(given, JOB, "NV");
    const char triangle = read_letter(given, TRIANGLE, "LU");
    const int64_t lda = read_integer(given, LDA), ldb = read_integer(given, LDB);
    const int vectors = job == 'V';
    const sizes room = read_sizes(given, LWORK, count_eigen_sizes(entry->routine));
    if (is_query(&room) || !hs__is_large(entry, cube(n))) return 0;
    if (kind < 1 || kind > 3 || !job || !triangle || n < 2 || n > INT32_MAX ||
        !hs__lead_fits(lda, n) || !hs__lead_fits(ldb, n) ||
        !have_room(&room, eigen_sizes(entry->routine, vectors, n)))
        return hs__refuse_call(entry, cube(n));
    hs__call call;
    if (!hs__begin_shaped_call(&call, entry, cube(n), cube(n),
                               alone_eigh(entry->routine, vectors, n)))
        return 0;
    hs__pair pair = {.dtype = entry->dtype,
                     .kind = (int)kind,
                     .upper = triangle == 'U',
                     .vectors = vectors,
                     .a = hs__stored(entry->dtype, find_array(given, A), n, n, lda),
                     .b = hs__stored(entry->dtype, find_array(given, B), n, n, ldb),
                     .values = find_array(given, W)};
    const hs_status status = hs__solve_pair(call.pool, call.speeds, &pair);
    return end_decomposition(&call, status, pair.failed);
}

/* ---- singular values ------------------------------------------------------------------------- */

/* Returns whether the decomposition is faster with a QR factorisation first. That is not so where
 * the vectors of the longer side are to be completed to a basis. Columns with very large or very
 * small numbers have norms out of range; the decomposition itself scales them. */
static int is_tall(const hs_svd *svd)
{
    const int64_t longer = hs__max(svd->m, svd->n), shorter = hs__min(svd->m, svd->n);
    const hs__matrix a = hs__stored(svd->dtype, svd->a, svd->m, svd->n, svd->a_col_stride);
    if (100 * longer < HS__SVD_TALL_PERCENT * shorter) return 0;
    if (svd->m > svd->n ? svd->u && svd->u_cols > shorter : svd->vh && svd->vh_rows > shorter)
        return 0;
    return !hs__is_extreme(svd->dtype, &a);
}

/* Copies R, and zeros below it, from the factors. */
static void copy_triangle(const hs_factor *qr, char *to)
{
    const size_t e = hs__element_bytes(qr->dtype), n = (size_t)qr->n;
    const char *from = qr->matrix;
    memset(to, 0, n * n * e);
    for (size_t j = 0; j < n; j++)
        memcpy(to + j * n * e, from + j * (size_t)qr->m * e, (j + 1) * e);
}

/* Turns the vectors of R into the vectors of Q R: they are multiplied by Q from the left. */
static hs_status multiply_by_q(hs_pool *pool, const hs_factor *qr, const hs__matrix *vectors)
{
    const hs__matrix below = hs__part(vectors, qr->n, 0, vectors->rows - qr->n, vectors->cols);
    hs__scale(qr->dtype, &below, (const double[2]){0.0, 0.0});
    return hs_qr_multiply(pool, qr, 0, 0, vectors->cols, vectors->data, vectors->row_stride,
                          vectors->col_stride, NULL, NULL);
}

/* Decomposes a tall matrix A = Q R by the decomposition of R. For a wide matrix, A^T = Q R: then
 * A = R^T Q^T, and from R^T = U S W the right vectors of A are the rows of W Q^T, whose transpose is
 * Q W^T. Nothing has to be conjugated. */
static hs_status decompose_tall(hs_pool *pool, hs_svd *svd)
{
    const int is_replaced = svd->u == svd->a || svd->vh == svd->a;
    const int is_wide = svd->m < svd->n;
    const int64_t rows = hs__max(svd->m, svd->n), cols = hs__min(svd->m, svd->n);
    const int32_t dtype = svd->dtype;
    const size_t column = hs__element_bytes(dtype) * (size_t)cols;
    char *factors = malloc(column * (size_t)((is_replaced ? 2 : 1) * rows + cols + 1));
    if (!factors) return HS_ERROR_MEMORY;
    char *triangle = factors + column * (size_t)rows;
    /* The matrix as it was, for the library behind: the vectors of R may replace it before the last
     * step turns out to have no memory. */
    const hs__matrix given = hs__stored(dtype, svd->a, svd->m, svd->n, svd->a_col_stride);
    const hs__matrix kept =
        hs__stored(dtype, triangle + column * (size_t)(cols + 1), svd->m, svd->n, svd->m);
    if (is_replaced) hs__copy(NULL, kept, given);
    hs_factor qr;
    hs_factor_default(&qr, HS_QR, dtype, rows, cols, factors);
    qr.cooperative = 1;
    qr.tau = triangle + column * (size_t)cols;
    qr.a = svd->a;
    qr.a_row_stride = is_wide ? svd->a_col_stride : 1;
    qr.a_col_stride = is_wide ? 1 : svd->a_col_stride;
    hs_status status = hs_run_factor(pool, &qr, NULL, NULL);
    if (!status) {
        hs_svd small = *svd;
        copy_triangle(&qr, triangle);
        small.m = cols;
        small.n = cols;
        small.a = triangle;
        small.a_row_stride = is_wide ? cols : 1;
        small.a_col_stride = is_wide ? 1 : cols;
        status = hs_run_svd(pool, &small, NULL, NULL);
        svd->failed = small.failed;
    }
    const hs__matrix left = hs__stored(dtype, svd->u, rows, cols, svd->u_col_stride);
    const hs__matrix right =
        hs__transposed(hs__stored(dtype, svd->vh, cols, rows, svd->vh_col_stride));
    const hs__matrix *vectors = is_wide ? &right : &left;
    if (!status && !svd->failed && vectors->data) status = multiply_by_q(pool, &qr, vectors);
    if (status && is_replaced) hs__copy(NULL, given, kept);
    free(factors);
    return status;
}

/* Returns the multiply-adds that decide about a call on one thread (gate.h); k is the smaller side.
 * gesdd with vectors is not taken: one worker needed up to 1.5 times OpenBLAS's time, up to 1.2 times
 * for tall matrices of order 1000. gesvd with vectors is: OpenBLAS needed at least twice the time of
 * one worker. */
static double alone_svd(int32_t routine, int vectors, int64_t k)
{
    if (routine == HS__GESDD) return vectors ? -1.0 : cube(k);
    return vectors || cube(k) >= values_alone ? cube(k) : -1.0;
}

/* The vectors of one side: where they go, and how many there are. They replace the matrix for the
 * job 'O', and are not wanted for 'N'. */
typedef struct {
    void *at;
    int64_t lead, count;
} vectors_side;

static vectors_side find_side(const arguments *given, char job, int64_t all, int64_t fewest,
                              int place, int place_a)
{
    const int from = job == 'O' ? place_a : place;
    return (vectors_side){.at = job == 'N' ? NULL : find_array(given, from),
                          .lead = read_integer(given, from + 1),
                          .count = job == 'A' ? all : fewest};
}

/* Functions with one job for both sides have one argument less. Their 'O' is for the vectors of the
 * longer side; the other ones are a square. */
static int take_svd(const arguments *given)
{
    static const char jobs[] = "NSAO";
    enum { M, N, A, LDA, S, U, LDU, VT, LDVT, WORK, LWORK }; /* places after the jobs */
    hs__entry *entry = given->entry;
    const int first = entry->routine == HS__GESVD ? 3 : 2; /* place of m */
    char job_u = read_letter(given, 1, jobs), job_vt = read_letter(given, first - 1, jobs);
    const int64_t m = read_integer(given, first + M), n = read_integer(given, first + N);
    const int64_t lda = read_integer(given, first + LDA), k = hs__min(m, n);
    if (entry->routine == HS__GESDD && job_u == 'O') {
        if (m >= n) job_vt = 'S';
        else job_u = 'S';
    }
    const vectors_side u = find_side(given, job_u, m, k, first + U, first + A);
    const vectors_side vt = find_side(given, job_vt, n, k, first + VT, first + A);
    const int vectors = job_u != 'N' || job_vt != 'N';
    const double volume = (double)m * (double)n * (double)k;
    const sizes room = read_sizes(given, first + LWORK, 1);
    /* The numbers of settings.c are for square matrices. */
    if (is_query(&room) || !hs__is_large(entry, cube(k))) return 0;
    if (!job_u || !job_vt || (job_u == 'O' && job_vt == 'O') || k < 1 ||
        hs__max(m, n) > INT32_MAX || !hs__lead_fits(lda, m) ||
        !hs__lead_fits(read_integer(given, first + LDU), strchr("SA", job_u) ? m : 1) ||
        !hs__lead_fits(read_integer(given, first + LDVT), strchr("SA", job_vt) ? vt.count : 1) ||
        !have_room(&room, singular_sizes(entry, vectors, k)))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_shaped_call(&call, entry, volume, cube(k),
                               alone_svd(entry->routine, vectors, k)))
        return 0;
    hs_svd svd = {.dtype = entry->dtype,
                  .m = m,
                  .n = n,
                  .a = find_array(given, first + A),
                  .a_row_stride = 1,
                  .a_col_stride = lda,
                  .values = find_array(given, first + S),
                  .u = u.at,
                  .u_cols = u.count,
                  .u_row_stride = 1,
                  .u_col_stride = u.lead,
                  .vh = vt.at,
                  .vh_rows = vt.count,
                  .vh_row_stride = 1,
                  .vh_col_stride = vt.lead};
    const hs_status status =
        is_tall(&svd) ? decompose_tall(call.pool, &svd) : hs_run_svd(call.pool, &svd, NULL, NULL);
    return end_decomposition(&call, status, svd.failed);
}

/* ---- least squares ---------------------------------------------------------------------------- */

/* Returns the size that gelsd or gelss needs for an m x n matrix and so many right-hand sides. The
 * divide and conquer of gelsd ends at problems of order 25, as all versions of LAPACK set it; a
 * version that needs less computes a call with less room itself. */
static sizes squares_sizes(const hs__entry *entry, int64_t m, int64_t n, int64_t cols)
{
    enum { SMALLEST = 25 };
    const int64_t k = hs__min(m, n), longer = hs__max(m, n);
    const int64_t deep = hs__max((int64_t)log2((double)k / (SMALLEST + 1)) + 1, 0);
    const int is_complex = entry->dtype >= HS_COMPLEX64;
    if (entry->routine == HS__GELSS && is_complex)
        return (sizes){.of = {2 * k + hs__max(longer, cols)}};
    if (entry->routine == HS__GELSS)
        return (sizes){.of = {3 * k + hs__max(2 * k, hs__max(longer, cols))}};
    if (is_complex) return (sizes){.of = {2 * k + hs__max(k, k * cols)}};
    return (sizes){
        .of = {(12 + 2 * SMALLEST + 8 * deep + cols) * k + (SMALLEST + 1) * (SMALLEST + 1)}};
}

/* Returns rcond as the engine takes it. For gelsd it is eps / 2 unless 0 < rcond < 1; for gelss it
 * is unchanged, as the engine too replaces a negative one by eps. The engine refuses NaN, so that
 * the library behind computes that call. */
static double read_rcond(const arguments *given, int place)
{
    const double rcond = read_real(given, place);
    const double eps = given->entry->dtype & 1 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (given->entry->routine == HS__GELSS) return rcond;
    return rcond <= 0.0 || rcond >= 1.0 ? eps / 2 : rcond;
}

/* On one thread, one worker took 0.4 to 0.5 of OpenBLAS's CPU time for gelsd of order 1000, 0.7 for
 * order 500, and about as much for 200 and 300; for gelss 0.3 to 0.7 from order 200 on.
 *
 * gelss replaces the first rows of the matrix by its right singular vectors. gelsd destroys it; here
 * it stays as it was. */
static int take_squares(const arguments *given)
{
    enum { M = 1, N, COLS, A, LDA, B, LDB, S, RCOND, RANK, WORK, LWORK };
    hs__entry *entry = given->entry;
    const int64_t m = read_integer(given, M), n = read_integer(given, N);
    const int64_t cols = read_integer(given, COLS), k = hs__min(m, n);
    const int64_t lda = read_integer(given, LDA), ldb = read_integer(given, LDB);
    const double volume = (double)m * (double)n * (double)k;
    const sizes room = read_sizes(given, LWORK, 1);
    if (is_query(&room) || !hs__is_large(entry, cube(k))) return 0;
    if (k < 1 || hs__max(m, n) > INT32_MAX || cols < 1 || cols > INT32_MAX ||
        !hs__lead_fits(lda, m) || !hs__lead_fits(ldb, hs__max(m, n)) ||
        !have_room(&room, squares_sizes(entry, m, n, cols)))
        return hs__refuse_call(entry, volume);
    hs__call call;
    if (!hs__begin_shaped_call(&call, entry, volume, cube(k), cube(k))) return 0;
    hs_least_squares squares = {.dtype = entry->dtype,
                                .m = m,
                                .n = n,
                                .a = find_array(given, A),
                                .a_row_stride = 1,
                                .a_col_stride = lda,
                                .values = find_array(given, S),
                                .cols = cols,
                                .b = find_array(given, B),
                                .b_row_stride = 1,
                                .b_col_stride = ldb,
                                .vh = entry->routine == HS__GELSS ? find_array(given, A) : NULL,
                                .vh_row_stride = 1,
                                .vh_col_stride = lda,
                                .rcond = read_rcond(given, RCOND)};
    const hs_status status = hs_run_least_squares(call.pool, &squares, NULL, NULL);
    if (!status && !squares.failed) set_integer(given, RANK, 0, squares.rank);
    return end_decomposition(&call, status, squares.failed);
}

int hs__take_spectral(hs__entry *entry, const void *const *at)
{
    const arguments given = {entry, at};
    switch (entry->routine) {
    case HS__GESDD:
    case HS__GESVD: return take_svd(&given);
    case HS__GELSD:
    case HS__GELSS: return take_squares(&given);
    case HS__SYGV:
    case HS__HEGV:
    case HS__SYGVD:
    case HS__HEGVD: return take_pair(&given);
    default: return take_eigh(&given);
    }
}
