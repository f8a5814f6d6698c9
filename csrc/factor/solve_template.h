/* Triangular systems of one type. The file is included once for each type: NAME(x) gives the names,
 * TYPE is the type. Both are undefined at its end. */

/* y <- y - a x for n elements. */
static void NAME(axpy)(int64_t n, TYPE a, const TYPE *x, int64_t x_stride, TYPE *y,
                       int64_t y_stride)
{
    if (x_stride == -1 && y_stride == -1) {
        x -= n - 1;
        y -= n - 1;
        x_stride = y_stride = 1;
    }
    if (x_stride == 1 && y_stride == 1)
        for (int64_t i = 0; i < n; i++) y[i] -= a * x[i];
    else
        for (int64_t i = 0; i < n; i++) y[i * y_stride] -= a * x[i * x_stride];
}

static TYPE NAME(dot)(int64_t n, const TYPE *x, int64_t x_stride, const TYPE *y, int64_t y_stride)
{
    if (x_stride == -1 && y_stride == -1) {
        x -= n - 1;
        y -= n - 1;
        x_stride = y_stride = 1;
    }
    TYPE sum[8] = {0};
    int64_t i = 0;
    if (x_stride == 1 && y_stride == 1)
        for (; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++) sum[k] += x[i + k] * y[i + k];
    for (; i < n; i++) sum[0] += x[i * x_stride] * y[i * y_stride];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* Steps first .. end - 1 of x <- T^-1 x, one right-hand side after the other, along the columns of T
 * or along its rows, whichever are contiguous. */
static void NAME(substitute)(const triangle *a, const hs__matrix *b, int64_t first, int64_t end)
{
    const TYPE *t = (const TYPE *)(const void *)a->t.data;
    const int64_t n = a->t.rows;
    const int64_t rs = a->t.row_stride;
    const int64_t cs = a->t.col_stride;
    const int64_t s = b->row_stride;
    const int by_rows = cs == 1 || cs == -1;
    for (int64_t j = 0; j < b->cols; j++) {
        TYPE *x = (TYPE *)(void *)hs__at(b, 0, j);
        for (int64_t i = first; i < end; i++) {
            if (by_rows && i) x[i * s] -= NAME(dot)(i, t + i * rs, cs, x, s);
            if (!a->unit) x[i * s] /= t[i * (rs + cs)];
            if (!by_rows && i + 1 < n)
                NAME(axpy)(n - 1 - i, x[i * s], t + (i + 1) * rs + i * cs, rs, x + (i + 1) * s, s);
        }
    }
}

#undef NAME
#undef TYPE
