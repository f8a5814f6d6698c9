#define _GNU_SOURCE
#include "blas/settings.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/control.h"
#include "blas/gate.h"
#include "threads/cpus.h"

hs__settings hs__set;
int hs__counting;

const char *const hs__routine_names[] = {"gemm", "syrk", "trsm", "gemv", "getrf", "getrs", "gesv", "getri",
                                         "potrf", "potrs", "posv", "trtrs", "geqrf", "orgqr", "ormqr", "gels"};
_Static_assert(sizeof hs__routine_names / sizeof *hs__routine_names == HS__ROUTINES, "a name for each");

/* From where on the engine was no later than OpenBLAS on two idle cores with AVX-512; `hetsched measure --blas` finds it out elsewhere. */
#define FOR(REAL, COMPLEX) {REAL, REAL, COMPLEX, COMPLEX}
double hs__least[HS__ROUTINES][4] = {
    [HS__GEMM] = FOR(2e6, 2e6), [HS__SYRK] = FOR(5e5, 5e5), [HS__TRSM] = FOR(2e5, 9e6), [HS__GEMV] = FOR(1.6e7, 1.6e7),
    [HS__GETRF] = FOR(5e5, 6e6), [HS__GETRS] = FOR(4e6, 2e7), [HS__GESV] = FOR(5e5, 6e6), [HS__GETRI] = FOR(6e6, 1.2e7),
    [HS__POTRF] = FOR(1e5, 1e5), [HS__POTRS] = FOR(3e6, 2e7), [HS__POSV] = FOR(1e5, 1e5), [HS__TRTRS] = FOR(2e5, 9e6),
    [HS__GEQRF] = FOR(2e6, 1e6), [HS__ORGQR] = FOR(2e6, 1e6), [HS__ORMQR] = FOR(2e6, 3e7), [HS__GELS] = FOR(2e6, 1e6)};

/* Whether a name of so many letters is that of a routine, "gemm", or of it for a type, "dgemm". */
static int is_named(const char *name, size_t length, int routine, int dtype)
{
    const char *own = hs__routine_names[routine];
    if (length == strlen(own) + 1 && name[0] == "sdcz"[dtype]) name++, length--;
    return strlen(own) == length && strncmp(own, name, length) == 0;
}

static void set_least(double least, const char *name, size_t length)
{
    for (int r = 0; r < HS__ROUTINES; r++)
        for (int t = 0; t < 4; t++)
            if (!name || is_named(name, length, r, t)) hs__least[r][t] = least;
}

void hetsched_blas_set_least(const char *text)
{
    while (text && *text) {
        const char *equals = strpbrk(text, "=,"), *name = NULL;
        size_t length = 0;
        if (equals && *equals == '=') name = text, length = (size_t)(equals - text), text = equals + 1;
        char *end;
        const double least = strtod(text, &end);
        if (end > text && least >= 0.0) set_least(least, name, length);
        text = strchr(text, ',');
        if (text) text++;
    }
}

double hetsched_blas_get_least(const char *name)
{
    for (int r = 0; name && r < HS__ROUTINES; r++)
        for (int t = 0; t < 4; t++)
            if (strlen(name) > strlen(hs__routine_names[r]) && is_named(name, strlen(name), r, t)) return hs__least[r][t];
    return NAN;
}

int hetsched_blas_get_num_threads(void) { return hs__set.workers; }

void hetsched_blas_set_num_threads(int threads) { hs__set.workers = threads < 1 ? 1 : threads < hs__set.most ? threads : hs__set.most; }

int32_t hs__domains_of(int32_t workers, hs_domain *domain, int32_t *of)
{
    int32_t place[HS__MOST_DOMAINS] = {0}, count = 0; /* place: one more, 0 for none */
    for (int32_t w = 0; w < workers && hs__set.domains; w++) {
        const int32_t d = hs__set.domain_of[w];
        if (!place[d]) domain[count] = hs__set.domain[d], place[d] = ++count;
        of[w] = place[d] - 1;
    }
    return count;
}

int hetsched_blas_get_num_domains(void)
{
    hs_domain domain[HS__MOST_DOMAINS];
    int32_t of[HS__MOST_WORKERS];
    const int32_t count = hs__domains_of(hs__set.workers, domain, of);
    return count ? count : 1;
}

/* Whether a cpu is the first of its core among those allowed; true where the system does not say. */
static int is_first(int cpu, const hs__cpus *allowed)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "re");
    if (!file) return 1;
    int first = 1, from, to;
    while (first && fscanf(file, "%d", &from) == 1) {
        to = from;
        int mark = fgetc(file);
        if (mark == '-') mark = fscanf(file, "%d", &to) == 1 ? fgetc(file) : EOF;
        for (int other = from; other <= to && other < cpu; other++) first = first && !hs__cpus_have(allowed, other);
        if (mark != ',') break;
    }
    fclose(file);
    return first;
}

static void find_cores(void)
{
    hs__cpus allowed;
    if (!hs__cpus_of(pthread_self(), &allowed)) {
        hs__set.workers = 1;
        return;
    }
    for (int32_t cpu = 0; cpu < hs__cpus_end(&allowed) && hs__set.workers < HS__MOST_WORKERS; cpu++)
        if (hs__cpus_have(&allowed, cpu) && is_first(cpu, &allowed)) hs__set.cores[hs__set.workers++] = cpu;
    free(allowed.set);
}

/* Numbers between commas, at most so many; how many. */
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

/* A domain's kernel, if it has one of its own, and blocks; 0 for what is none. */
static int read_domain(const char *text, hs_domain *to)
{
    static const char *const kernels[] = {"avx512", "avx2", "neon", "plain"};
    const char *colon = memchr(text, ':', strcspn(text, ";"));
    double sizes[7];
    *to = (hs_domain){0};
    for (size_t i = 0; colon && i < sizeof kernels / sizeof *kernels; i++)
        if (strlen(kernels[i]) == (size_t)(colon - text) && !strncmp(kernels[i], text, (size_t)(colon - text))) to->kernel = kernels[i];
    if ((colon && !to->kernel) || read_numbers(colon ? colon + 1 : text, sizes, 7) != 6) return 0;
    for (int i = 0; i < 6; i++) {
        if (sizes[i] > 1 << 20) return 0;
        (i < 2 ? to->depth : i < 4 ? to->rows : to->cols)[i % 2] = (int32_t)sizes[i];
    }
    return 1;
}

/* All of it or nothing: a number for each worker, of a domain that has blocks. */
static void read_domains(const char *of, const char *blocks)
{
    double numbers[HS__MOST_WORKERS];
    int32_t count = 0;
    if (!of || !blocks || read_numbers(of, numbers, HS__MOST_WORKERS) < hs__set.workers) return;
    for (const char *text = blocks; text && count < HS__MOST_DOMAINS; count++) {
        if (!read_domain(text, &hs__set.domain[count])) return;
        text = strchr(text, ';');
        if (text) text++;
    }
    for (int32_t w = 0; w < hs__set.workers; w++) {
        if (!(numbers[w] < count)) return;
        hs__set.domain_of[w] = (int32_t)numbers[w];
    }
    hs__set.domains = count;
}

static void limit(const char *name)
{
    const char *text = getenv(name);
    const long most = text ? strtol(text, NULL, 10) : 0;
    if (most > 0 && most < hs__set.workers) hs__set.workers = (int32_t)most;
}

__attribute__((constructor)) static void read_all(void)
{
    const char *on = getenv("HETSCHED_BLAS"), *report = getenv("HETSCHED_BLAS_REPORT"), *deterministic = getenv("HETSCHED_DETERMINISTIC");
    double numbers[HS__MOST_WORKERS];
    const int32_t cores = read_numbers(getenv("HETSCHED_BLAS_CORES"), numbers, HS__MOST_WORKERS);
    for (int32_t i = 0; i < cores; i++) hs__set.cores[i] = numbers[i] < 1 << 20 ? (int32_t)numbers[i] : 1 << 20;
    hs__set.workers = cores;
    if (!cores) find_cores();
    hs__set.has_speeds = read_numbers(getenv("HETSCHED_BLAS_SPEEDS"), hs__set.speeds, HS__MOST_WORKERS) >= hs__set.workers;
    read_domains(getenv("HETSCHED_BLAS_DOMAINS"), getenv("HETSCHED_BLAS_BLOCKS"));
    limit(getenv("HETSCHED_NUM_THREADS") ? "HETSCHED_NUM_THREADS" : "OMP_NUM_THREADS");
    hs__set.most = hs__set.workers;
    hs__set.deterministic = deterministic && *deterministic && strcmp(deterministic, "0") != 0;
    hs__set.report = hs__counting = report && *report && strcmp(report, "0") != 0;
    hetsched_blas_set_least(getenv("HETSCHED_BLAS_LEAST"));
    if (on && (strcmp(on, "off") == 0 || strcmp(on, "0") == 0)) set_least(INFINITY, NULL, 0);
}
