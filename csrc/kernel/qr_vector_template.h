/* The loops of qr_vector.h, included by each_type.h. */

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

/* Loads the first `count` reals of a vector, followed by zeros. */
INLINE NAME(vector) NAME(load_some)(const REAL *from, int64_t count)
{
    NAME(vector) x = {0};
    memcpy(&x, from, (size_t)count * sizeof(REAL));
    return x;
}

/* Returns a mask of the lanes after the first `skipped`. */
INLINE NAME(integers) NAME(behind)(int64_t skipped)
{
    NAME(integers) lane = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) lane[l] = l;
    return lane >= (INTEGER)skipped;
}

/* Loads the last `some` reals of a column: a vector that ends with them, with zeros before them. If
 * the column is shorter than a vector, it loads like load_some. */
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
    *(NAME(vector) *)(to - skipped) = (NAME(vector))(
        ((NAME(integers))x & own) | ((NAME(integers))NAME(load)(to - skipped) & ~own));
}

/* Returns a vector with lane l taken from lane l ^ bits. */
INLINE NAME(vector) NAME(exchange)(NAME(vector) x, const int bits)
{
#ifdef __clang__
    NAME(vector) y;
    for (int l = 0; l < (int)NAME(lanes); l++) y[l] = x[l ^ bits];
    return y;
#else
    NAME(integers) from = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) from[l] = l ^ bits;
    return __builtin_shuffle(x, from);
#endif
}

/* Returns a vector with the sum of lanes l and l ^ bit in lane l: of y if the bit is set in l, else
 * of x. */
INLINE NAME(vector) NAME(fold)(NAME(vector) x, NAME(vector) y, const int bit)
{
#ifdef __clang__
    NAME(vector) z;
    for (int l = 0; l < (int)NAME(lanes); l++)
        z[l] = l & bit ? y[l] + y[l ^ bit] : x[l] + x[l ^ bit];
    return z;
#else
    NAME(integers) own = {0};
    NAME(integers) other = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) {
        own[l] = l & bit ? l + NAME(lanes) : l;
        other[l] = own[l] ^ bit;
    }
    return __builtin_shuffle(x, y, own) + __builtin_shuffle(x, y, other);
#endif
}

/* Folds pairs of vectors, which leaves half as many. */
INLINE void NAME(fold_all)(const int half, NAME(vector) * x, const int bit)
{
    if (bit >= (int)NAME(lanes)) return;
    for (int i = 0; i < half; i++) x[i] = NAME(fold)(x[2 * i], x[2 * i + 1], bit);
}

/* Computes the sums of the lanes of `count` vectors, a multiple of the lanes; the vectors are
 * overwritten. */
INLINE void NAME(sums)(const int count, NAME(vector) * x, REAL *to)
{
    /* written out: with constant bits the permutations are constants, too */
    NAME(fold_all)(count / 2, x, 1);
    NAME(fold_all)(count / 4, x, 2);
    NAME(fold_all)(count / 8, x, 4);
    NAME(fold_all)(count / 16, x, 8);
    for (int i = 0; i < count / (int)NAME(lanes); i++)
        *(NAME(vector) *)(to + i * NAME(lanes)) = x[i];
}

/* Returns -1 and 1 in alternation: i x is this times x with exchanged parts. */
INLINE NAME(vector) NAME(signs)(void)
{
    NAME(vector) sign = {0};
    for (int l = 0; l < (int)NAME(lanes); l++) sign[l] = l % 2 ? 1 : -1;
    return sign;
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
#include "kernel/qr_two_sided.h"

#undef INLINE
