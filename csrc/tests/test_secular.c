/* Roots of secular equations, evaluated in long double: small residuals, strict interlacing, and
 * vectors that are orthogonal for poles and weights of all magnitudes. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "hetsched.h"
#include "sets.h"
#include "spectral/secular.h"

enum { MOST = 80 };

typedef struct {
    int dtype; /* the poles and weights have passed its deflation */
    int squares;
    int64_t n;
    double pole[MOST], weight[MOST]; /* as rounded to the type */
    double base[MOST], shift[MOST];  /* what the loops return */
    double exact[MOST];              /* weights */
    double vectors[2][MOST][MOST];   /* eigenvectors, or left and right ones */
} equation;

static double unit_random(void) { return check_random(1u << 30) / (double)(1u << 30); }

/* Random poles in [0, 1] and weights whose squares have a sum of at most 1; at least the limits of
 * the deflation apart from each other and from 0. */
static int make_equation(equation *x, int dtype, int squares, int64_t n, int kind)
{
    const double limit = 8 * (dtype == HS_FLOAT32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2);
    x->dtype = dtype;
    x->squares = squares;
    x->n = n;
    double at = squares ? 0 : -unit_random() / 2;
    for (int64_t i = 0; i < n; i++) {
        double gap = 1 / (double)n;
        if (kind == 1) gap *= unit_random();
        if (kind == 2) gap *= pow(limit, unit_random());
        if (kind == 3 && i % 4) gap = limit * (1 + unit_random());
        if (gap < limit) gap = limit;
        if (i) at += gap * (1 + limit);
        double weight = unit_random() / sqrt((double)n);
        if (kind == 1) weight *= pow(limit, unit_random());
        if (kind == 2 && check_random(2)) weight = 2 * limit;
        if (kind == 3 && check_random(3)) weight = limit * (1 + unit_random());
        if (weight < limit) weight = limit;
        if (check_random(2)) weight = -weight;
        x->pole[i] = dtype == HS_FLOAT32 ? (double)(float)at : at;
        x->weight[i] = dtype == HS_FLOAT32 ? (double)(float)weight : weight;
        if (i && x->pole[i] <= x->pole[i - 1]) return 0;
    }
    return 1;
}

static void solve(equation *x)
{
    const hs__secular_loops loops = hs__secular_for();
    const hs__secular secular = {x->n, x->pole, x->weight, x->squares};
    for (int64_t j = 0; j < x->n; j++) loops.root(&secular, j, x->base, x->shift);
    for (int64_t i = 0; i < x->n; i++) x->exact[i] = loops.weight(&secular, i, x->base, x->shift);
    for (int64_t j = 0; j < x->n; j++)
        for (int side = 0; side <= x->squares; side++) {
            const hs__vector_kind kind =
                !x->squares ? HS__EIGENVECTOR : (side ? HS__RIGHT_VECTOR : HS__LEFT_VECTOR);
            double *out = x->vectors[side][j];
            const double factor =
                loops.vector(kind, x->n, x->pole, x->exact, 0, x->base[j], x->shift[j], out);
            for (int64_t i = 0; i < x->n; i++) out[i] *= factor;
        }
}

static void check_equation(const equation *x)
{
    const double rounding = DBL_EPSILON / 2;
    const int64_t n = x->n;
    for (int64_t j = 0; j < n; j++) {
        long double f = 1;
        long double size = 1;
        long double slope = 0;
        const long double base = x->base[j];
        const long double shift = x->shift[j];
        for (int64_t i = 0; i < n; i++) {
            const long double d = x->pole[i];
            long double p = (d - base) - shift;
            if (x->squares) p *= (d + base) + shift;
            const long double term = x->weight[i] * (long double)x->weight[i] / p;
            f += term;
            size += fabsl(term);
            slope += term / p;
            CHECK(i <= j ? p < 0 : p > 0);
        }
        if (x->squares) slope *= 2 * (base + shift);
        CHECK(fabsl(f) <= 40 * rounding * (size + slope * fabsl(shift)));
    }
    const double allowed = 4 * (10 + (double)n) * rounding;
    for (int side = 0; side <= x->squares; side++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k <= j; k++) {
                double sum = -(j == k);
                for (int64_t i = 0; i < n; i++)
                    sum += x->vectors[side][j][i] * x->vectors[side][k][i];
                CHECK(fabs(sum) <= allowed);
            }
    for (int64_t i = 0; i < n; i++) CHECK((x->exact[i] < 0) == (x->weight[i] < 0));
}

static void check_equations(int dtype, int squares, int kind)
{
    static equation x;
    const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 16, 17, 33, MOST};
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
        for (int round = 0; round < CHECK_MANY(30, 5); round++)
            if (make_equation(&x, dtype, squares, sizes[s], kind)) {
                solve(&x);
                check_equation(&x);
            }
}

int main(void)
{
    for (sets = LEAST_SET; sets < 3; sets++)
        for (int dtype = HS_FLOAT32; dtype <= HS_FLOAT64; dtype++)
            for (int squares = 0; squares < 2; squares++)
                for (int kind = 0; kind < 4; kind++) check_equations(dtype, squares, kind);
    return check_result();
}
