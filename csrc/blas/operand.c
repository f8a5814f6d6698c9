#include "blas/operand.h"

#include <string.h>

char hs__letter(char given, const char *known)
{
    const char upper = given >= 'a' && given <= 'z' ? (char)(given - 'a' + 'A') : given;
    return upper && strchr(known, upper) ? upper : 0;
}

hs__operand hs__op(int32_t dtype, char op, const void *data, int64_t rows, int64_t cols, int64_t lead)
{
    if (op == 'N') return hs__stored(data, rows, cols, lead);
    hs__operand x = hs__turned(hs__stored(data, cols, rows, lead));
    x.conjugate = op == 'C' && dtype >> 1;
    return x;
}

void hs__factor_of(int32_t dtype, const void *factor, double to[2])
{
    const int parts = dtype >> 1 ? 2 : 1;
    to[1] = 0.0;
    for (int i = 0; i < parts; i++) to[i] = dtype & 1 ? ((const double *)factor)[i] : (double)((const float *)factor)[i];
}

void hs__set_size(int32_t dtype, void *work, int64_t size)
{
    if (dtype & 1) *(double *)work = (double)size;
    else *(float *)work = (float)size;
}

static int is_zero(const double x[2]) { return x[0] == 0.0 && x[1] == 0.0; }

/* Each for float and double: `parts` reals an element. */
#define LOOPS(REAL)                                                                                                         \
    static void scale_##REAL(const hs__operand *x, int parts, const double factor[2])                                       \
    {                                                                                                                       \
        const REAL re = (REAL)factor[0], im = (REAL)factor[1];                                                              \
        for (int64_t j = 0; j < x->cols; j++)                                                                               \
            for (int64_t i = 0; i < x->rows; i++) {                                                                         \
                REAL *e = (REAL *)(void *)x->data + parts * (i * x->row + j * x->col), first = e[0];                        \
                if (is_zero(factor)) memset(e, 0, (size_t)parts * sizeof *e);                                               \
                else if (parts == 1) e[0] *= re;                                                                            \
                else e[0] = re * first - im * e[1], e[1] = re * e[1] + im * first;                                          \
            }                                                                                                               \
    }                                                                                                                       \
    static double largest_##REAL(const hs__operand *x, int parts)                                                           \
    {                                                                                                                       \
        REAL largest = 0;                                                                                                   \
        for (int64_t j = 0; j < x->cols; j++)                                                                               \
            for (int64_t i = 0; i < x->rows; i++)                                                                           \
                for (int part = 0; part < parts; part++) {                                                                  \
                    const REAL e = ((const REAL *)(const void *)x->data)[parts * (i * x->row + j * x->col) + part];         \
                    const REAL size = e < 0 ? -e : e;                                                                       \
                    if (!(size <= largest)) largest = size;                                                                 \
                    if (size != size) return (double)size;                                                                  \
                }                                                                                                           \
        return (double)largest;                                                                                             \
    }                                                                                                                       \
    static void conjugate_##REAL(const hs__operand *x)                                                                      \
    {                                                                                                                       \
        for (int64_t j = 0; j < x->cols; j++)                                                                               \
            for (int64_t i = 0; i < x->rows; i++) {                                                                         \
                REAL *e = (REAL *)(void *)x->data + 2 * (i * x->row + j * x->col);                                          \
                e[1] = -e[1];                                                                                               \
            }                                                                                                               \
    }
LOOPS(float)
LOOPS(double)

/* With its columns as lines, as far as that goes. */
static hs__operand by_columns(const hs__operand *x) { return x->row <= x->col ? *x : hs__turned(*x); }

void hs__multiply_by(int32_t dtype, const hs__operand *x, const double factor[2])
{
    if (factor[0] == 1.0 && factor[1] == 0.0) return;
    const hs__operand lines = by_columns(x);
    if (dtype & 1) scale_double(&lines, 1 + (dtype >> 1), factor);
    else scale_float(&lines, 1 + (dtype >> 1), factor);
}

double hs__largest(int32_t dtype, const hs__operand *x)
{
    const hs__operand lines = by_columns(x);
    return dtype & 1 ? largest_double(&lines, 1 + (dtype >> 1)) : largest_float(&lines, 1 + (dtype >> 1));
}

void hs__conjugate(int32_t dtype, const hs__operand *x)
{
    if (!(dtype >> 1)) return;
    const hs__operand lines = by_columns(x);
    if (dtype & 1) conjugate_double(&lines);
    else conjugate_float(&lines);
}

enum { BLOCK = 64 }; /* of a matrix that is turned: its lines stay in the cache */

typedef struct { uint64_t part[2]; } pair;

#define COPY(TYPE)                                                                                                                     \
    static void copy_##TYPE(const hs__operand *x, const hs__operand *to)                                                               \
    {                                                                                                                                  \
        for (int64_t j = 0; j < x->cols; j++)                                                                                          \
            for (int64_t i = 0; i < x->rows; i++)                                                                                      \
                ((TYPE *)(void *)to->data)[i * to->row + j * to->col] = ((const TYPE *)(const void *)x->data)[i * x->row + j * x->col]; \
    }
COPY(uint32_t)
COPY(uint64_t)
COPY(pair)

void hs__duplicate(int32_t dtype, const hs__operand *x, const hs__operand *to)
{
    for (int64_t j = 0; j < x->cols; j += BLOCK)
        for (int64_t i = 0; i < x->rows; i += BLOCK) {
            const int64_t rows = x->rows - i < BLOCK ? x->rows - i : BLOCK, cols = x->cols - j < BLOCK ? x->cols - j : BLOCK;
            const hs__operand from = hs__piece(dtype, x, i, j, rows, cols), there = hs__piece(dtype, to, i, j, rows, cols);
            if (hs__element(dtype) == 4) copy_uint32_t(&from, &there);
            else if (hs__element(dtype) == 8) copy_uint64_t(&from, &there);
            else copy_pair(&from, &there);
            if (x->conjugate) hs__conjugate(dtype, &there);
        }
}
