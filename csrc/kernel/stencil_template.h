/* The update of a stencil for one real type; see each_real.h for the parameters. */

/* Updates columns from .. to - 1 of a row, one after the other, because each uses those before
 * it. */
static void NAME(update_row)(const hs_stencil *s, const tap *taps, int count, int64_t row,
                             int64_t from, int64_t to)
{
    REAL *x = (REAL *)s->data + row * s->row_stride + from * s->col_stride;
    for (int64_t j = from; j < to; j++, x += s->col_stride) {
        REAL value = s->rule == HS_SUM ? 0 : (REAL)INFINITY;
        if (s->rule == HS_SUM)
            for (int k = 0; k < count; k++) value += (REAL)taps[k].weight * x[taps[k].step];
        else
            for (int k = 0; k < count; k++) {
                const REAL other = x[taps[k].step] + (REAL)taps[k].weight;
                if (other < value) value = other;
            }
        *x = value;
    }
}
