/* The loops of qr_vector.h, included once for each instruction set and type: NAME(x) names things, TARGET is the attribute of the
 * instruction set, BYTES the size of a vector of REAL, of which an element has PARTS; INTEGER is as large. All but TARGET and BYTES
 * end with the file. */

typedef REAL NAME(vector) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
typedef INTEGER NAME(integers) __attribute__((vector_size(BYTES)));
#if PARTS == 1
typedef REAL NAME(element);
#else
typedef REAL _Complex NAME(element);
#endif
#define INLINE TARGET static inline __attribute__((always_inline))
enum { NAME(lanes) = BYTES / sizeof(REAL) };

INLINE NAME(vector) NAME(load)(const REAL *from) { return *(const NAME(vector) *)from; }

/* The first `count` reals of a vector, zeros behind them. */
INLINE NAME(vector) NAME(load_some)(const REAL *from, int64_t count)
{
    NAME(vector) x = {0};
    memcpy(&x, from, (size_t)count * sizeof(REAL));
    return x;
}

/* The lanes behind the first `skipped`. */
INLINE NAME(integers) NAME(behind)(int64_t skipped)
{
    NAME(integers) lane;
    for (int l = 0; l < (int)NAME(lanes); l++) lane[l] = l;
    return lane >= (INTEGER)skipped;
}

/* The last `some` reals of a column: of a vector that ends with them, zeros before them; where there are not that many, as load_some. */
INLINE NAME(vector) NAME(load_end)(const REAL *from, int64_t some, int enough)
{
    if (!enough) return NAME(load_some)(from, some);
    const int64_t skipped = NAME(lanes) - some;
    return (NAME(vector))((NAME(integers))NAME(load)(from - skipped) & NAME(behind)(skipped));
}

INLINE void NAME(store_end)(REAL *to, NAME(vector) x, int64_t some, int enough)
{
    if (!enough) {
        memcpy(to, &x, (size_t)some * sizeof(REAL));
        return;
    }
    const int64_t skipped = NAME(lanes) - some;
    const NAME(integers) own = NAME(behind)(skipped);
    *(NAME(vector) *)(to - skipped) = (NAME(vector))(((NAME(integers))x & own) | ((NAME(integers))NAME(load)(to - skipped) & ~own));
}

/* Lane l from lane l ^ bits. */
INLINE NAME(vector) NAME(exchange)(NAME(vector) x, const int bits)
{
#ifdef __clang__
    NAME(vector) y;
    for (int l = 0; l < (int)NAME(lanes); l++) y[l] = x[l ^ bits];
    return y;
#else
    NAME(integers) from;
    for (int l = 0; l < (int)NAME(lanes); l++) from[l] = l ^ bits;
    return __builtin_shuffle(x, from);
#endif
}

/* The sums of every PARTS-th lane, in the first ones. */
INLINE NAME(vector) NAME(total)(NAME(vector) x)
{
    for (int half = NAME(lanes) / 2; half >= PARTS; half /= 2) x += NAME(exchange)(x, half);
    return x;
}

/* sum: of x * y, turned: of x * (y with its parts exchanged); the sum of conj(x) y. */
INLINE NAME(element) NAME(inner)(NAME(vector) sum, NAME(vector) turned)
{
    const NAME(vector) first = NAME(total)(sum);
#if PARTS == 1
    (void)turned;
    return first[0];
#else
    const NAME(vector) second = NAME(total)(turned);
    NAME(element) found;
    memcpy(&found, (REAL[2]){first[0] + first[1], second[0] - second[1]}, sizeof found);
    return found;
#endif
}

TARGET static inline NAME(element) NAME(conj)(NAME(element) x)
{
#if PARTS == 1
    return x;
#else
    return (NAME(element))conj(x);
#endif
}

#include "kernel/qr_products.h"
#include "kernel/qr_leaf.h"

#undef INLINE
#undef NAME
#undef REAL
#undef INTEGER
#undef PARTS
