/* The triangles T of block reflectors; see each_type.h for the parameters. */

#if PARTS == 1
typedef REAL NAME(element);
#else
typedef REAL _Complex NAME(element);
#endif

/* Computes T (size x size, upper, zeros below) from V^H V, which `t` holds at first, and tau, whose
 * elements are `step` apart. Column j is -tau_j T (V^H v_j) above its diagonal element tau_j. */
static void NAME(form_t)(int64_t size, const void *tau_, int64_t step, void *t_)
{
    const NAME(element) *tau = tau_;
    NAME(element) *t = t_;
    for (int64_t j = 0; j < size; j++) {
        NAME(element) *own = t + j * size;
        NAME(element) sum[GROUP_MOST] = {0};
        for (int64_t l = 0; l < j; l++) {
            const NAME(element) factor = -tau[j * step] * own[l];
            for (int64_t i = 0; i <= l; i++) sum[i] += t[i + l * size] * factor;
        }
        for (int64_t i = 0; i < j; i++) own[i] = sum[i];
        own[j] = tau[j * step];
        for (int64_t i = j + 1; i < size; i++) own[i] = 0;
    }
}
