/* Reflectors of a few columns, included by qr_vector_template.h. The first rows, as many as there
 * are columns, are processed element by element, the rows below in vectors. One pass over these
 * rows applies a reflector, and multiplies the next column with all columns after it: the inner
 * products of the next reflector follow from the inner products of the column that it is made
 * from. */

TARGET static inline REAL NAME(re)(NAME(element) x)
{
#if PARTS == 1
    return x;
#else
    return (REAL)creal(x);
#endif
}

TARGET static inline REAL NAME(im)(NAME(element) x)
{
#if PARTS == 1
    (void)x;
    return 0;
#else
    return (REAL)cimag(x);
#endif
}

TARGET static inline NAME(element) NAME(made_of)(double re, double im)
{
    NAME(element) x;
    memcpy(&x, (REAL[2]){(REAL)re, (REAL)im}, sizeof x);
    return x;
}

/* A reflector H = I - tau v vᴴ with Hᴴ x = beta e1. The elements of v below the first are the
 * elements of x times scale. */
typedef struct {
    NAME(element) tau, scale;
    REAL beta;
} NAME(reflector);

/* Makes a reflector from the first element and the norm of the other elements, both far from the
 * limits of the range; not all are zero. */
TARGET static inline NAME(reflector) NAME(reflect)(NAME(element) alpha, double norm)
{
    const double re = NAME(re)(alpha);
    const double im = NAME(im)(alpha);
    const double size = PARTS == 1 ? re : hypot(re, im);
    const double beta = -copysign(hypot(size, norm), re);
    const double below = re - beta;
    const double square = below * below + im * im;
    return (NAME(reflector)){
        .tau = NAME(made_of)((beta - re) / beta, -im / beta),
        .scale = NAME(made_of)(PARTS == 1 ? 1 / below : below / square, -im / square),
        .beta = (REAL)beta};
}

/* x <- x 2^power in two steps, so that no intermediate result leaves the range. */
TARGET static void NAME(scale_by_power)(int64_t reals, REAL *x, int power)
{
    const REAL first = (REAL)ldexp(1.0, power / 2);
    const REAL second = (REAL)ldexp(1.0, power - power / 2);
    for (int64_t i = 0; i < reals; i++) x[i] = x[i] * first * second;
}

/* Does the work of LAPACK's larfg near the limits of the range, for x[0 .. count - 1]. The first
 * element becomes beta, the other elements v; scale is then 1. */
TARGET static NAME(reflector) NAME(reflect_safely)(int64_t count, NAME(element) * x)
{
    REAL *real = (REAL *)x;
    REAL largest = 0;
    double square = 0;
    for (int64_t i = PARTS; i < count * PARTS; i++) {
        const REAL size = real[i] < 0 ? -real[i] : real[i];
        if (!(size <= largest)) largest = size;
        if (size != size) break;
    }
    if (largest == 0 && NAME(im)(x[0]) == 0) return (NAME(reflector)){0, 1, NAME(re)(x[0])};
    for (int part = 0; part < PARTS; part++)
        largest = fabs(real[part]) > largest ? (REAL)fabs(real[part]) : largest;
    int power = 0;
    if (largest <= (8 * sizeof(REAL) == 32 ? FLT_MAX : DBL_MAX)) frexp(largest, &power);
    NAME(scale_by_power)(count * PARTS, real, -power);
    for (int64_t i = PARTS; i < count * PARTS; i++) square += (double)real[i] * real[i];
    NAME(reflector) found = NAME(reflect)(x[0], sqrt(square));
    for (int64_t i = 1; i < count; i++) x[i] *= found.scale;
    found.scale = 1;
    NAME(scale_by_power)(1, &found.beta, power);
    return found;
}

/* Returns whether the inner products of a column with itself, then with `rest` other columns, are
 * so far from the limits of the range that no accuracy was lost. */
TARGET static inline int NAME(is_safe)(NAME(element) alpha, int32_t rest,
                                       const NAME(element) * products)
{
    static const double near = sizeof(REAL) == 4 ? 0x1p-80 : 0x1p-300;
    static const double far = sizeof(REAL) == 4 ? 0x1p+80 : 0x1p+300;
    static const double least = sizeof(REAL) == 4 ? 0x1p-95 : 0x1p-900;
    static const double most = sizeof(REAL) == 4 ? 0x1p+95 : 0x1p+900;
    const double square = NAME(re)(products[0]);
    const double size = fabs(NAME(re)(alpha)) + fabs(NAME(im)(alpha));
    int safe = square > near && square < far && size < far;
    for (int32_t k = 1; k <= rest; k++) {
        const double product = fabs(NAME(re)(products[k])) + fabs(NAME(im)(products[k]));
        safe &= product > least && product < most;
    }
    return safe;
}

#define STEP_ROWS(LOAD, STORE)                                                         \
    do {                                                                               \
        NAME(vector) v = LOAD(x + l);                                                  \
        const NAME(vector) v_turned = PARTS == 2 ? NAME(exchange)(v, 1) : v;           \
        v = PARTS == 2 ? v * scale_re + v_turned * scale_im : v * scale_re;            \
        STORE(x + l, v);                                                               \
        const NAME(vector) turned = PARTS == 2 ? NAME(exchange)(v, 1) : v;             \
        NAME(vector) next = {0};                                                       \
        for (int k = 0; k < rest; k++) {                                               \
            REAL *const at = x + (k + 1) * step + l;                                   \
            NAME(vector) c = LOAD(at) - v * w_re[k];                                   \
            if (PARTS == 2) c -= turned * w_im[k];                                     \
            STORE(at, c);                                                              \
            if (k == 0) next = c;                                                      \
            sum[k * PARTS] += next * c;                                                \
            if (PARTS == 2) sum[k * PARTS + PARTS - 1] += next * NAME(exchange)(c, 1); \
        }                                                                              \
    } while (0)

#define STORE_ALL(at, value) (*(NAME(vector) *)(at) = (value))
#define STORE_SOME(at, value) NAME(store_end)(at, value, some, reals >= NAME(lanes))
#define LOAD_SOME(at) NAME(load_end)(at, some, reals >= NAME(lanes))

/* Updates the rows below: column x becomes v = scale x, and v w is subtracted from the `rest`
 * columns after it. products: the inner products of the next column with all these columns. */
INLINE void NAME(do_step_of)(const int rest, int64_t rows, REAL *x, int64_t ld, NAME(element) scale,
                             const NAME(element) * w, NAME(element) * products)
{
    const int64_t step = ld * PARTS;
    const int64_t reals = rows * PARTS;
    enum { SUMS = HS__QR_LEAF * PARTS < NAME(lanes) ? NAME(lanes) : HS__QR_LEAF * PARTS };
    const NAME(vector) scale_im = NAME(signs)() * NAME(im)(scale);
    NAME(vector) sum[SUMS] = {{0}};
    NAME(vector) w_im[HS__QR_LEAF];
    NAME(element) found[SUMS / PARTS];
    REAL w_re[HS__QR_LEAF];
    for (int k = 0; k < rest; k++) {
        w_re[k] = NAME(re)(w[k]);
        w_im[k] = NAME(signs)() * NAME(im)(w[k]);
    }
    const REAL scale_re = NAME(re)(scale);
    int64_t l = 0;
    for (; l + NAME(lanes) <= reals; l += NAME(lanes)) STEP_ROWS(NAME(load), STORE_ALL);
    const int64_t some = reals - l;
    if (some) STEP_ROWS(LOAD_SOME, STORE_SOME);
    for (int k = 0; k < rest && PARTS == 2; k++) sum[2 * k + 1] *= -NAME(signs)();
    NAME(sums)(SUMS, sum, (REAL *)found);
    for (int k = 0; k < rest; k++) products[k] = found[k];
}

TARGET static void NAME(do_step)(int rest, int64_t rows, REAL *x, int64_t ld, NAME(element) scale,
                                 const NAME(element) * w, NAME(element) * products)
{
    switch (rest) {
    case 0: NAME(do_step_of)(0, rows, x, ld, scale, w, products); break;
    case 1: NAME(do_step_of)(1, rows, x, ld, scale, w, products); break;
    case 2: NAME(do_step_of)(2, rows, x, ld, scale, w, products); break;
    case 3: NAME(do_step_of)(3, rows, x, ld, scale, w, products); break;
    case 4: NAME(do_step_of)(4, rows, x, ld, scale, w, products); break;
    case 5: NAME(do_step_of)(5, rows, x, ld, scale, w, products); break;
    case 6: NAME(do_step_of)(6, rows, x, ld, scale, w, products); break;
    default: NAME(do_step_of)(7, rows, x, ld, scale, w, products);
    }
}

/* Adds to products[k] the part of rows j + 1 .. cols - 1 of the inner product of column j with
 * column j + k. */
TARGET static void NAME(add_top)(int32_t j, int32_t cols, const NAME(element) * x, int64_t ld,
                                 NAME(element) * products)
{
    for (int32_t k = 0; j + k < cols; k++)
        for (int32_t i = j + 1; i < cols; i++)
            products[k] += NAME(conj)(x[i + j * ld]) * x[i + (j + k) * ld];
}

/* hs__qr_leaf. */
TARGET static void NAME(leaf)(int64_t rows, int32_t cols, void *x_, int64_t ld, void *tau_)
{
    NAME(element) *x = x_;
    NAME(element) *tau = tau_;
    NAME(element) products[HS__QR_LEAF] = {0};
    NAME(element) w[HS__QR_LEAF];
    const int64_t below = rows - cols;
    NAME(dots)(below, 1, x + cols, ld, cols, x + cols, ld, products, 1);
    for (int32_t j = 0; j < cols; j++) {
        NAME(element) *own = x + j + j * ld;
        const int32_t rest = cols - 1 - j;
        NAME(add_top)(j, cols, x, ld, products);
        NAME(reflector) h;
        if (NAME(is_safe)(*own, rest, products)) {
            h = NAME(reflect)(*own, sqrt((double)NAME(re)(products[0])));
        } else {
            h = NAME(reflect_safely)(rows - j, own);
            memset(products, 0, sizeof products);
            NAME(dots)(below, 1, x + cols + j * ld, ld, rest + 1, x + cols + j * ld, ld, products,
                       1);
            NAME(add_top)(j, cols, x, ld, products);
        }
        tau[j] = h.tau;
        *own = NAME(made_of)(h.beta, 0);
        for (int32_t i = j + 1; i < cols; i++) x[i + j * ld] *= h.scale;
        for (int32_t k = 1; k <= rest; k++) {
            NAME(element) *c = x + (j + k) * ld;
            w[k - 1] = NAME(conj)(h.tau) * (c[j] + NAME(conj)(h.scale) * products[k]);
            for (int32_t i = j + 1; i < cols; i++) c[i] -= x[i + j * ld] * w[k - 1];
            c[j] -= w[k - 1];
        }
        NAME(do_step)(rest, below, (REAL *)(x + cols + j * ld), ld, h.scale, w, products);
    }
}

/* hs__qr_leaf_t. */
TARGET static void NAME(leaf_t)(int64_t rows, int32_t cols, const void *v_, int64_t ld,
                                const void *tau_, void *t_, int64_t t_ld)
{
    const NAME(element) *v = v_;
    const NAME(element) *tau = tau_;
    NAME(element) *t = t_;
    NAME(element) gram[HS__QR_LEAF * HS__QR_LEAF] = {0};
    NAME(dots)(rows - cols, cols, v + cols, ld, cols, v + cols, ld, gram, HS__QR_LEAF);
    for (int32_t j = 0; j < cols; j++) {
        for (int32_t i = 0; i < j; i++) {
            NAME(element) sum = gram[i + j * HS__QR_LEAF] + NAME(conj)(v[j + i * ld]);
            for (int32_t l = j + 1; l < cols; l++) sum += NAME(conj)(v[l + i * ld]) * v[l + j * ld];
            gram[i + j * HS__QR_LEAF] = sum;
        }
        for (int32_t i = 0; i < cols; i++) t[i + j * t_ld] = 0;
        for (int32_t i = 0; i < j; i++) {
            NAME(element) sum = 0;
            for (int32_t l = i; l < j; l++) sum += t[i + l * t_ld] * gram[l + j * HS__QR_LEAF];
            t[i + j * t_ld] = -tau[j] * sum;
        }
        t[j + j * t_ld] = tau[j];
    }
}

/* hs__qr_lower. */
TARGET static void NAME(lower)(int64_t rows, int64_t k, const void *v_, int64_t ld, void *to_)
{
    const NAME(element) *v = v_;
    NAME(element) *to = to_;
    for (int64_t j = 0; j < k; j++, to += rows) {
        memset(to, 0, (size_t)(j < rows ? j : rows) * sizeof *to);
        if (j >= rows) continue;
        to[j] = 1;
        memcpy(to + j + 1, v + j + 1 + j * ld, (size_t)(rows - j - 1) * sizeof *to);
    }
}

#undef STEP_ROWS
#undef STORE_ALL
#undef STORE_SOME
#undef LOAD_SOME
