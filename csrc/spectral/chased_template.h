/* The triangles T of block reflectors, and single reflectors; see each_type.h for the parameters. */

#if PARTS == 1
typedef REAL NAME(element);
#else
typedef REAL _Complex NAME(element);
#endif

/* Returns the sum of conj(x) y. Four sums, so that their additions do not wait for each other. */
static NAME(element) NAME(dot)(int64_t count, const NAME(element) * x, const NAME(element) * y)
{
    NAME(element) sum[4] = {0};
    int64_t i = 0;
#if PARTS == 1
#define TERM(i) (x[i] * y[i])
#else
#define TERM(i) ((NAME(element))conj(x[i]) * y[i])
#endif
    for (; i + 4 <= count; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += TERM(i + k);
    for (; i < count; i++) sum[0] += TERM(i);
#undef TERM
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Computes T (size x size, upper, zeros below) for V (rows x size, lower trapezium, columns v_ld
 * apart) and tau, with elements `step` apart. Column j is -tau_j T (V^H v_j) above its diagonal
 * element tau_j. */
static void NAME(form_t)(int64_t rows, int64_t size, const void *v_, int64_t v_ld, const void *tau_,
                         int64_t step, void *t_)
{
    const NAME(element) *v = v_;
    const NAME(element) *tau = tau_;
    NAME(element) *t = t_;
    for (int64_t j = 0; j < size; j++) {
        NAME(element) *own = t + j * size;
        NAME(element) sum[GROUP_MOST] = {0};
        for (int64_t l = 0; l < j; l++) {
            const NAME(element) factor =
                -tau[j * step] * NAME(dot)(rows - j, v + j + l * v_ld, v + j + j * v_ld);
            for (int64_t i = 0; i <= l; i++) sum[i] += t[i + l * size] * factor;
        }
        for (int64_t i = 0; i < size; i++) own[i] = i < j ? sum[i] : 0;
        own[j] = tau[j * step];
    }
}

/* c <- (I - tau v v^H) c, with conj(tau) for the adjoint, for c of rows x cols elements, columns ld
 * apart, cols <= FEW_TOGETHER. */
static void NAME(apply_reflector)(const hs__qr_vector *vector, int64_t rows, int64_t cols,
                                  const void *v, const void *tau_, int adjoint, void *c, int64_t ld)
{
    static const NAME(element) none[FEW_TOGETHER];
    NAME(element) z[FEW_TOGETHER];
    NAME(element) tau = *(const NAME(element) *)tau_;
#if PARTS == 2
    if (adjoint) tau = (NAME(element))conj(tau);
#else
    (void)adjoint;
#endif
    vector->row(rows, v, cols, c, ld, z);
    for (int64_t j = 0; j < cols; j++) z[j] *= tau;
    vector->rank_two(rows, cols, c, ld, v, z, v, none);
}
