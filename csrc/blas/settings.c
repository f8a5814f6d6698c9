/* Reads the settings of the drop-in library from the environment, and implements control.h. */
#define _GNU_SOURCE
#include "blas/settings.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas/control.h"
#include "blas/drivers.h"
#include "blas/gate.h"
#include "blas/govern.h"
#include "blas/record.h"
#include "core/tuning.h"
#include "kernel/kernel.h"

hs__settings hs__blas_settings;
int hs__counting;

/* Multiply-adds from which the engine was faster than OpenBLAS.
 *   shared  on two threads, both with AVX-512; measured on two idle cores
 *   alone   on one thread, by CPU time; measured on an AMD EPYC (family 26) with BLIS 0.9.0,
 *           against OpenBLAS 0.3.31 with its kernels for SkylakeX and for Haswell: the larger
 *           number. NEVER: OpenBLAS was about as fast or faster, or, as in products, it is on other
 *           processors
 * `hetsched measure --blas` measures them on other machines. */
#define NEVER INFINITY
#define SAME(SIZE) {SIZE, SIZE, SIZE}
#define SIZES(SHARED, ALONE) {(SHARED) < (ALONE) ? (SHARED) : (ALONE), SHARED, ALONE}
/* For eigenvalues and singular values: cubes of the order, or of the smaller side, on one thread
 * measured on an Intel Xeon (family 6, model 167), at 200, 300, 500 and 1000, of pairs at 200, 300
 * and 500. See spectral.c, too. */
#define SPECTRAL(ALONE) SIZES(2.7e7, ALONE)
_Static_assert(HS__SPECTRAL_ORDER == 300, "2.7e7 is its cube");
hs__least hs__least_volumes[HS__ROUTINES][4] = {
    [HS__GEMM] = {SIZES(2e6, NEVER), SIZES(2e6, NEVER), SIZES(2e6, NEVER), SIZES(2e6, NEVER)},
    [HS__SYRK] = {SIZES(5e5, NEVER), SIZES(5e5, NEVER), SIZES(5e5, NEVER), SIZES(5e5, NEVER)},
    [HS__TRSM] = {SIZES(2e5, NEVER), SIZES(2e5, 5e5), SIZES(9e6, 6e4), SIZES(9e6, 5e5)},
    [HS__GEMV] = {SIZES(1.6e7, NEVER), SIZES(1.6e7, NEVER), SIZES(1.6e7, NEVER),
                  SIZES(1.6e7, NEVER)},
    [HS__GETRF] = {SIZES(5e5, 4e4), SIZES(5e5, 4e4), SIZES(6e6, 4e4), SIZES(6e6, 4e4)},
    [HS__GETRS] = {SIZES(4e6, NEVER), SIZES(4e6, 1e6), SIZES(2e7, 2.7e5), SIZES(2e7, 1e6)},
    [HS__GESV] = {SIZES(5e5, 4e4), SIZES(5e5, 4e4), SIZES(6e6, 4e4), SIZES(6e6, 4e4)},
    [HS__GETRI] = {SIZES(6e6, 1.2e7), SIZES(6e6, 1.2e7), SIZES(1.2e7, NEVER), SIZES(1.2e7, 4e7)},
    [HS__POTRF] = {SIZES(1e5, 3.7e5), SIZES(1e5, 1.7e5), SIZES(1e5, 4.5e4), SIZES(1e5, 4.5e4)},
    [HS__POTRS] = {SIZES(3e6, NEVER), SIZES(3e6, 1e6), SIZES(2e7, 2.7e5), SIZES(2e7, 1e6)},
    [HS__POSV] = {SIZES(1e5, 1.8e5), SIZES(1e5, 1.8e5), SIZES(1e5, 5e4), SIZES(1e5, 5e4)},
    [HS__TRTRS] = {SIZES(2e5, NEVER), SIZES(2e5, 5e5), SIZES(9e6, 6e4), SIZES(9e6, 5e5)},
    [HS__GEQRF] = {SIZES(1.7e6, 3.7e6), SIZES(1.7e6, 1.5e6), SIZES(8e5, 1.7e6), SIZES(8e5, 1.7e6)},
    [HS__ORGQR] = {SIZES(1.7e6, 2.9e7), SIZES(1.7e6, NEVER), SIZES(8e5, NEVER), SIZES(8e5, NEVER)},
    [HS__ORMQR] = {SIZES(1.5e6, 2.4e7), SIZES(1.5e6, NEVER), SIZES(2.2e7, 2.4e7),
                   SIZES(2.2e7, NEVER)},
    [HS__GELS] = {SIZES(1.7e6, NEVER), SIZES(1.7e6, NEVER), SIZES(8e5, NEVER), SIZES(8e5, 1.7e6)},
    [HS__SYEV] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__HEEV] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__SYEVD] = {SPECTRAL(1e9), SPECTRAL(1e9), SPECTRAL(1e9), SPECTRAL(1e9)},
    [HS__HEEVD] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__SYEVR] = {SPECTRAL(8e6), SAME(2.7e7), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__HEEVR] = {SPECTRAL(8e6), SAME(2.7e7), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__SYGV] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__HEGV] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__SYGVD] = {SPECTRAL(1e9), SPECTRAL(1e9), SPECTRAL(1e9), SPECTRAL(1e9)},
    [HS__HEGVD] = {SPECTRAL(8e6), SAME(2.7e7), SPECTRAL(8e6), SAME(2.7e7)},
    [HS__GESDD] = {SPECTRAL(1.25e8), SAME(2.7e7), SPECTRAL(1e9), SPECTRAL(1.25e8)},
    [HS__GESVD] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)},
    [HS__GELSD] = {SPECTRAL(1.25e8), SPECTRAL(1.25e8), SPECTRAL(1.25e8), SPECTRAL(1.25e8)},
    [HS__GELSS] = {SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6), SPECTRAL(8e6)}};

/* With AVX2 only. On an AMD EPYC (family 25), OpenBLAS 0.3.31, orders 200 to 800, one worker took 0.95
 * to 1.4 times as long for solves with a quarter as many right-hand sides as rows and more, and 0.9 to
 * 1.9 times for such systems; with one right-hand side about as long. Measured for trsm, getrs and
 * gesv; the other ones do the same work. */
static const char least_with_avx2[] =
    "alone:trsm=inf,alone:trtrs=inf,alone:getrs=inf,alone:potrs=inf,alone:gesv=inf,alone:posv=inf";

/* Numbers that a name of HETSCHED_BLAS_LEAST is for: "gemm" or "dgemm" for all calls, "alone:gemm"
 * for calls on one thread. */
typedef struct least_name {
    int is_alone;
    const char *name; /* NULL: all routines */
    size_t length;
} least_name;

static least_name read_name(const char *text, size_t length)
{
    static const char alone[] = "alone";
    const size_t prefix = sizeof alone - 1;
    if (length < prefix || strncmp(text, alone, prefix) != 0) return (least_name){0, text, length};
    if (length == prefix) return (least_name){1, NULL, 0};
    if (text[prefix] != ':') return (least_name){0, text, length};
    return (least_name){1, text + prefix + 1, length - prefix - 1};
}

/* Returns whether a name of so many letters is the name of a routine ("gemm"), or of a routine for
 * a type ("dgemm"). */
static int is_named(const char *name, size_t length, int routine, int dtype)
{
    const char *own = hs__routine_names[routine];
    if (length == strlen(own) + 1 && name[0] == "sdcz"[dtype]) {
        name++;
        length--;
    }
    return strlen(own) == length && strncmp(own, name, length) == 0;
}

static double number_of(const _Atomic double *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set_numbers(hs__least *numbers, int is_alone, double least)
{
    if (!is_alone) atomic_store_explicit(&numbers->shared, least, memory_order_relaxed);
    atomic_store_explicit(&numbers->alone, least, memory_order_relaxed);
    const double either = fmin(number_of(&numbers->shared), number_of(&numbers->alone));
    atomic_store_explicit(&numbers->either, either, memory_order_relaxed);
}

static void set_least(double least, least_name of)
{
    for (int r = 0; r < HS__ROUTINES; r++)
        for (int t = 0; t < 4; t++)
            if (!of.name || is_named(of.name, of.length, r, t))
                set_numbers(&hs__least_volumes[r][t], of.is_alone, least);
}

void hetsched_blas_set_least(const char *text)
{
    while (text && *text) {
        const char *equals = strpbrk(text, "=,");
        least_name of = {0, NULL, 0};
        if (equals && *equals == '=') {
            of = read_name(text, (size_t)(equals - text));
            text = equals + 1;
        }
        char *end;
        const double least = strtod(text, &end);
        if (end > text && least >= 0.0) set_least(least, of);
        text = strchr(text, ',');
        if (text) text++;
    }
}

double hetsched_blas_get_least(const char *name)
{
    if (!name) return NAN;
    const least_name of = read_name(name, strlen(name));
    for (int r = 0; of.name && r < HS__ROUTINES; r++)
        for (int t = 0; t < 4; t++)
            if (of.length > strlen(hs__routine_names[r]) && is_named(of.name, of.length, r, t))
                return number_of(of.is_alone ? &hs__least_volumes[r][t].alone
                                             : &hs__least_volumes[r][t].shared);
    return NAN;
}

/* Finds the places that the calling thread may use now. */
static void find_places(hs__places *found)
{
    hs__openmp openmp = {.count = 0};
    hs__cpus mask;
    if (hs__cpus_of(pthread_self(), &mask)) hs__unbind(&openmp, &hs__blas_settings.start, &mask);
    hs__places_within(&mask, found);
    free(mask.set);
}

static int32_t least(int32_t one, int32_t other) { return one < other ? one : other; }

static int32_t limit_workers(int32_t workers)
{
    return least(atomic_load(&hs__blas_settings.limit), workers);
}

int hetsched_blas_get_num_threads(void)
{
    hs__places places;
    find_places(&places);
    return limit_workers(places.count);
}

/* A limit of all cpus is no limit, because there may be more cpus later. */
void hetsched_blas_set_num_threads(int threads)
{
    hs__places places;
    find_places(&places);
    const int32_t all = least(places.count, hs__blas_settings.most);
    if (threads < 1) threads = 1;
    atomic_store(&hs__blas_settings.limit, threads < all ? threads : hs__blas_settings.most);
}

int hetsched_blas_get_num_domains(void)
{
    hs__places places;
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[HS__MOST_WORKERS];
    find_places(&places);
    const int32_t count = hs__domains_of(&places, limit_workers(places.count), domain, of);
    return count ? count : 1;
}

/* Reads numbers between commas, at most so many. Returns how many were read. */
static int32_t read_numbers(const char *text, double *to, int32_t most)
{
    int32_t count = 0;
    for (char *end; text && count < most; count++) {
        to[count] = strtod(text, &end);
        if (end == text || !(to[count] >= 0.0 && isfinite(to[count]))) break;
        text = *end == ',' ? end + 1 : NULL;
    }
    return count;
}

/* Reads the block sizes of a domain, and its kernel if it has one. Returns 0 if the text is
 * invalid. */
static int read_domain(const char *text, hs_domain *to)
{
    static const char *const kernels[] = {"avx512", "avx2", "neon", "plain"};
    const char *colon = memchr(text, ':', strcspn(text, ";"));
    double sizes[7];
    *to = (hs_domain){0};
    for (size_t i = 0; colon && i < sizeof kernels / sizeof *kernels; i++)
        if (strlen(kernels[i]) == (size_t)(colon - text) &&
            !strncmp(kernels[i], text, (size_t)(colon - text)))
            to->kernel = kernels[i];
    if ((colon && !to->kernel) || read_numbers(colon ? colon + 1 : text, sizes, 7) != 6) return 0;
    for (int i = 0; i < 6; i++) {
        if (sizes[i] > 1 << 20) return 0;
        (i < 2 ? to->depth : i < 4 ? to->rows : to->cols)[i % 2] = (int32_t)sizes[i];
    }
    return 1;
}

/* Reads all domains or none. There must be a number for each worker, of a domain that has
 * blocks. */
static void read_domains(const char *of, const char *blocks)
{
    double numbers[HS__MOST_WORKERS];
    int32_t count = 0;
    if (!of || !blocks ||
        read_numbers(of, numbers, HS__MOST_WORKERS) < hs__blas_settings.named.count)
        return;
    for (const char *text = blocks; text && count < HS__MOST_DOMAINS; count++) {
        if (!read_domain(text, &hs__blas_settings.domain[count])) return;
        text = strchr(text, ';');
        if (text) text++;
    }
    for (int32_t w = 0; w < hs__blas_settings.named.count; w++) {
        if (!(numbers[w] < count)) return;
        hs__blas_settings.named.domain_of[w] = (int32_t)numbers[w];
    }
    hs__blas_settings.named.domains = count;
}

/* Returns whether the variable has a number of workers. */
static int read_limit(const char *name)
{
    const char *text = getenv(name);
    const long most = text ? strtol(text, NULL, 10) : 0;
    if (most > 0 && most < hs__blas_settings.most) hs__blas_settings.most = (int32_t)most;
    return most > 0;
}

static void read_behind(const char *text)
{
    char *end;
    const long most = text ? strtol(text, &end, 10) : 0;
    hs__blas_settings.behind = HS__BEHIND_AUTO;
    if (text && strcmp(text, "own") == 0) hs__blas_settings.behind = HS__BEHIND_OWN;
    if (most > 0 && !*end) hs__blas_settings.behind = most < INT32_MAX ? (int32_t)most : INT32_MAX;
}

static int is_on(const char *text) { return text && *text && strcmp(text, "0") != 0; }

/* Returns whether text can be written to stderr. If the program starts without it, a file that the
 * program opens later gets its number, and must not get our text. */
static int has_stderr(void) { return fcntl(STDERR_FILENO, F_GETFD) >= 0; }

/* The path is made absolute, because the program may change its folder. A program that has more
 * rights than its user creates no files for that user. */
static void read_report(const char *text)
{
    if (!is_on(text)) return;
    const int is_path = strchr(text, '/') != NULL;
    if (!is_path && has_stderr()) hs__blas_settings.report = HS__REPORT_AT_END;
    else if (is_path && secure_getenv("HETSCHED_BLAS_REPORT") &&
             realpath(text, hs__blas_settings.directory))
        hs__blas_settings.report = HS__REPORT_IN_FILES;
    if (hs__blas_settings.report) hs__start_records();
}

__attribute__((constructor)) static void read_all(void)
{
    const char *on = getenv("HETSCHED_BLAS");
    double numbers[HS__MOST_WORKERS];
    hs__places *named = &hs__blas_settings.named;
    hs__openmp openmp = {.count = 0};
    if (!hs__has_openmp(&openmp)) hs__cpus_of(pthread_self(), &hs__blas_settings.start);
    named->count = read_numbers(getenv("HETSCHED_BLAS_CORES"), numbers, HS__MOST_WORKERS);
    for (int32_t i = 0; i < named->count; i++)
        named->cores[i] = numbers[i] < 1 << 20 ? (int32_t)numbers[i] : 1 << 20;
    named->has_speeds = read_numbers(getenv("HETSCHED_BLAS_SPEEDS"), named->speeds,
                                     HS__MOST_WORKERS) >= named->count;
    read_domains(getenv("HETSCHED_BLAS_DOMAINS"), getenv("HETSCHED_BLAS_BLOCKS"));
    hs__blas_settings.most = named->count ? named->count : HS__MOST_WORKERS;
    read_limit("HETSCHED_BLAS_WORKERS");
    if (!read_limit("HETSCHED_NUM_THREADS")) read_limit("OMP_NUM_THREADS");
    atomic_store(&hs__blas_settings.limit, hs__blas_settings.most);
    hs__blas_settings.deterministic = is_on(getenv("HETSCHED_DETERMINISTIC"));
    hs__blas_settings.explain = is_on(getenv("HETSCHED_BLAS_EXPLAIN")) && has_stderr();
    read_report(getenv("HETSCHED_BLAS_REPORT"));
    hs__counting = hs__blas_settings.report || hs__blas_settings.explain;
    read_behind(getenv("HETSCHED_BLAS_BEHIND"));
    hs_watch_load();
    if (hs__cpu_set() == 1) hetsched_blas_set_least(least_with_avx2);
    hetsched_blas_set_least(getenv("HETSCHED_BLAS_LEAST"));
    if (on && (strcmp(on, "off") == 0 || strcmp(on, "0") == 0)) hetsched_blas_set_least("inf");
}
