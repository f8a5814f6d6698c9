/* The vectors of templates that each_type.h includes: NAME(vector) of NAME(lanes) reals, at any
 * address. Complex elements have the same layout as in memory. */

typedef REAL NAME(vector) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
enum { NAME(lanes) = BYTES / sizeof(REAL) };

TARGET static inline __attribute__((always_inline)) NAME(vector) NAME(load)(const REAL *x)
{
    return *(const NAME(vector) *)x;
}
TARGET static inline __attribute__((always_inline)) void NAME(store)(REAL *x, NAME(vector) y)
{
    *(NAME(vector) *)x = y;
}

/* Multiplies complex elements by i. */
#if PARTS == 2
TARGET static inline __attribute__((always_inline)) NAME(vector) NAME(times_i)(NAME(vector) x)
{
#ifdef __clang__
    NAME(vector) y = x;
    for (int p = 0; p < NAME(lanes); p += 2) {
        y[p] = -x[p + 1];
        y[p + 1] = x[p];
    }
    return y;
#else
    typedef INTEGER integers __attribute__((vector_size(BYTES)));
    integers across = {0};
    NAME(vector) sign = {0};
    for (int p = 0; p < NAME(lanes); p++) {
        across[p] = p ^ 1;
        sign[p] = p % 2 ? 1 : -1;
    }
    return __builtin_shuffle(x, across) * sign;
#endif
}
#else
TARGET static inline __attribute__((always_inline)) NAME(vector) NAME(times_i)(NAME(vector) x)
{
    return x;
}
#endif
