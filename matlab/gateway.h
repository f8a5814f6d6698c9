/* What the gateways share: the checks of arguments, matrices to the engine and back, the workers, errors.
 *
 * The host frees mxMalloc's memory and the arrays when a gateway ends, by an error too; so all memory is of that kind, but for
 * the pool, which is kept for the next call and given back when the host unloads the gateway.
 *
 * Octave 7 allocates too little for interleaved complex arrays. So the two parts are apart here, as hosts have them without
 * -R2018a, and are copied on their way; real matrices are not. */
#ifndef HETSCHED_GATEWAY_H
#define HETSCHED_GATEWAY_H

#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include <complex.h>
#include <hetsched.h>
#include <limits.h>
#include <math.h>
#include <mex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#if defined(MX_HAS_INTERLEAVED_COMPLEX) && MX_HAS_INTERLEAVED_COMPLEX
#error "build without -R2018a: the gateways take complex numbers with their parts apart"
#endif

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

/* Ends the gateway for any status but HS_OK. The host names the gateway in its messages. */
static inline void gateway_check(hs_status status)
{
    static const char *const ids[] = {"", "value", "memory", "infeasible", "cancelled", "thread", "unsupported", "busy"};
    if (status == HS_OK) return;
    char id[32];
    snprintf(id, sizeof id, "hetsched:%s", (size_t)status < sizeof ids / sizeof *ids ? ids[status] : "unknown");
    mexErrMsgIdAndTxt(id, "%s", hs_status_string(status));
}

static inline void gateway_count(int given, int least, int most, int wanted, int most_wanted, const char *usage)
{
    if (given < least || given > most || wanted > most_wanted) mexErrMsgIdAndTxt("hetsched:usage", "Usage: %s", usage);
}

/* ---- matrices ---------------------------------------------------------------------------------------------------------- */

static inline int gateway_is_complex(hs_dtype dtype) { return dtype == HS_COMPLEX64 || dtype == HS_COMPLEX128; }

static inline int gateway_is_single(hs_dtype dtype) { return dtype == HS_FLOAT32 || dtype == HS_COMPLEX64; }

static inline hs_dtype gateway_dtype(int single, int is_complex)
{
    return single ? (is_complex ? HS_COMPLEX64 : HS_FLOAT32) : is_complex ? HS_COMPLEX128 : HS_FLOAT64;
}

static inline size_t gateway_bytes(hs_dtype dtype)
{
    return (gateway_is_single(dtype) ? 4 : 8) * (gateway_is_complex(dtype) ? 2 : 1);
}

/* The type of an argument, which is a full matrix of floating-point numbers or there is an error. */
static inline hs_dtype gateway_type(const mxArray *x, const char *name)
{
    if (mxIsSparse(x) || !(mxIsDouble(x) || mxIsSingle(x)))
        mexErrMsgIdAndTxt("hetsched:type", "%s must be a full matrix of class double or single, got %s%s", name,
                          mxIsSparse(x) ? "sparse " : "", mxGetClassName(x));
    if (mxGetNumberOfDimensions(x) != 2)
        mexErrMsgIdAndTxt("hetsched:size", "%s must be a matrix, got %d dimensions", name, (int)mxGetNumberOfDimensions(x));
    return gateway_dtype(mxIsSingle(x), mxIsComplex(x));
}

/* What the host makes of two types: single if one is, complex if one is. */
static inline hs_dtype gateway_common(hs_dtype a, hs_dtype b)
{
    return gateway_dtype(gateway_is_single(a) || gateway_is_single(b), gateway_is_complex(a) || gateway_is_complex(b));
}

static inline double complex gateway_get(hs_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case HS_FLOAT32: return ((const float *)x)[i];
    case HS_FLOAT64: return ((const double *)x)[i];
    case HS_COMPLEX64: return ((const float complex *)x)[i];
    default: return ((const double complex *)x)[i];
    }
}

static inline void gateway_put(hs_dtype dtype, void *x, int64_t i, double complex value)
{
    switch (dtype) {
    case HS_FLOAT32: ((float *)x)[i] = (float)creal(value); break;
    case HS_FLOAT64: ((double *)x)[i] = creal(value); break;
    case HS_COMPLEX64: ((float complex *)x)[i] = (float complex)value; break;
    default: ((double complex *)x)[i] = value;
    }
}

/* Copies count elements, from place j of y on to place i of x on. */
static inline void gateway_move(hs_dtype dtype, void *x, int64_t i, const void *y, int64_t j, int64_t count)
{
    const size_t bytes = gateway_bytes(dtype);
    if (count > 0) memcpy((char *)x + (size_t)i * bytes, (const char *)y + (size_t)j * bytes, (size_t)count * bytes);
}

/* x by its columns as numbers of dtype: the host's own memory where that has them, which must not be written, else a copy. */
static inline void *gateway_data(const mxArray *x, hs_dtype dtype)
{
    const hs_dtype own = gateway_dtype(mxIsSingle(x), 0);
    if (own == dtype && !mxIsComplex(x)) return mxGetData(x);
    const int64_t count = (int64_t)mxGetNumberOfElements(x);
    const void *real = mxGetData(x), *imaginary = mxIsComplex(x) ? mxGetImagData(x) : NULL;
    const hs_dtype part = gateway_dtype(gateway_is_single(dtype), 0);
    const int64_t step = gateway_is_complex(dtype) ? 2 : 1;
    void *copy = mxMalloc((size_t)count * gateway_bytes(dtype));
    /* By parts: i * infinity would be no infinity. */
    for (int64_t i = 0; i < count; i++) {
        gateway_put(part, copy, step * i, gateway_get(own, real, i));
        if (step == 2) gateway_put(part, copy, step * i + 1, imaginary ? gateway_get(own, imaginary, i) : 0.0);
    }
    return copy;
}

/* The same in memory that may be written. */
static inline void *gateway_copy(const mxArray *x, hs_dtype dtype)
{
    void *data = gateway_data(x, dtype);
    if (data != mxGetData(x)) return data;
    const size_t bytes = mxGetNumberOfElements(x) * gateway_bytes(dtype);
    return bytes ? memcpy(mxMalloc(bytes), data, bytes) : NULL;
}

/* A matrix to be returned: data, by its columns, is filled in before gateway_result. */
typedef struct gateway_output {
    mxArray *array;
    hs_dtype dtype;
    int64_t m, n;
    void *data;
} gateway_output;

static inline gateway_output gateway_create(hs_dtype dtype, int64_t m, int64_t n)
{
    gateway_output x = {NULL, dtype, m, n, NULL};
    x.array = mxCreateNumericMatrix((mwSize)m, (mwSize)n, gateway_is_single(dtype) ? mxSINGLE_CLASS : mxDOUBLE_CLASS,
                                    gateway_is_complex(dtype) ? mxCOMPLEX : mxREAL);
    x.data = gateway_is_complex(dtype) ? mxCalloc((size_t)(m * n), gateway_bytes(dtype)) : mxGetData(x.array);
    return x;
}

/* The array of an output, of the conjugate if that is asked for. */
static inline mxArray *gateway_result(const gateway_output *x, int conjugate)
{
    if (!gateway_is_complex(x->dtype)) return x->array;
    const hs_dtype part = gateway_dtype(gateway_is_single(x->dtype), 0);
    void *real = mxGetData(x->array), *imaginary = mxGetImagData(x->array);
    for (int64_t i = 0; i < x->m * x->n; i++) {
        gateway_put(part, real, i, gateway_get(part, x->data, 2 * i));
        const double complex b = gateway_get(part, x->data, 2 * i + 1);
        gateway_put(part, imaginary, i, conjugate ? -b : b);
    }
    mxFree(x->data);
    return x->array;
}

/* A real vector of class double, whose length is put in *length. */
static inline const double *gateway_vector(const mxArray *x, const char *name, int64_t *length)
{
    if (gateway_type(x, name) != HS_FLOAT64)
        mexErrMsgIdAndTxt("hetsched:type", "%s must be real and of class double", name);
    const int64_t m = (int64_t)mxGetM(x), n = (int64_t)mxGetN(x);
    if ((m != 1 && n != 1) || m * n < 1 || m * n > INT32_MAX / 16)
        mexErrMsgIdAndTxt("hetsched:size", "%s must be a vector with at least one element, got %lld x %lld", name,
                          (long long)m, (long long)n);
    *length = m * n;
    return (const double *)mxGetData(x);
}

/* A real scalar of any floating-point class that is a whole number from least to most. */
static inline int64_t gateway_integer(const mxArray *x, const char *name, double least, double most)
{
    const hs_dtype dtype = gateway_type(x, name);
    const double value = mxGetNumberOfElements(x) == 1 && !gateway_is_complex(dtype) ? mxGetScalar(x) : NAN;
    if (!(value >= least && value <= most && value == floor(value)))
        mexErrMsgIdAndTxt("hetsched:value", "%s must be a whole number from %.0f to %.0f", name, least, most);
    return (int64_t)value;
}

/* ---- options and workers ----------------------------------------------------------------------------------------------- */

/* What follows the operands, in any order: a word, which stays as it is where none is given, and the number of workers. */
typedef struct gateway_options {
    char word[32];
    int32_t workers; /* 0: not given */
} gateway_options;

enum { GATEWAY_MOST_WORKERS = 1024 };

static inline void gateway_word(const mxArray *x, const char *name, char word[32])
{
    if (mxGetString(x, word, 32)) mexErrMsgIdAndTxt("hetsched:value", "%s must be a short word", name);
}

static inline gateway_options gateway_parse(int count, const mxArray *const *given, const char *name, const char *word)
{
    gateway_options options = {"", 0};
    snprintf(options.word, sizeof options.word, "%s", word);
    int words = 0;
    for (int i = 0; i < count; i++) {
        if (mxIsChar(given[i]) && !words++) gateway_word(given[i], name, options.word);
        else if (!mxIsChar(given[i]) && !options.workers)
            options.workers = (int32_t)gateway_integer(given[i], "workers", 1.0, GATEWAY_MOST_WORKERS);
        else mexErrMsgIdAndTxt("hetsched:usage", "%s and workers can each be given once", name);
    }
    return options;
}

/* One for each core that the process may use: a core's second hardware thread adds little to a product. */
static inline int32_t gateway_cores(void)
{
    int32_t cores = 0;
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        FILE *file = fopen(path, "re");
        int first = cpu;
        if (file && fscanf(file, "%d", &first) != 1) first = cpu;
        if (file) fclose(file);
        cores += first == cpu || first < 0 || first >= CPU_SETSIZE || !CPU_ISSET(first, &allowed);
    }
#else
    cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
#endif
    const char *text = getenv("HETSCHED_NUM_THREADS");
    const long most = text ? strtol(text, NULL, 10) : 0;
    if (most > 0 && most < cores) cores = (int32_t)most;
    return cores < 1 ? 1 : cores > GATEWAY_MOST_WORKERS ? GATEWAY_MOST_WORKERS : cores;
}

static hs_pool *gateway_kept;
static int32_t gateway_kept_workers;

static inline void gateway_close(void)
{
    hs_pool_destroy(gateway_kept);
    gateway_kept = NULL;
}

/* The pool of this gateway, with that many workers. */
static inline hs_pool *gateway_pool(int32_t workers)
{
    if (!workers) workers = gateway_cores();
    if (gateway_kept && gateway_kept_workers == workers) return gateway_kept;
    gateway_close();
    gateway_check(hs_pool_create(workers, NULL, &gateway_kept));
    gateway_kept_workers = workers;
    mexAtExit(gateway_close);
    return gateway_kept;
}

#endif
