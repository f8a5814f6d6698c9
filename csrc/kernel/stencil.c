/* hs_stencil_tile: the recurrence of Algorithm 1 of the 2001 paper on one tile. */
#include <math.h>

#include "hetsched.h"

typedef struct {
    int64_t row, col, step; /* step: elements from the updated element to the neighbour */
    double weight;
} tap;

/* Lists the neighbours that are used and have a column offset in [first, last]. */
static int taps_of_row(const hs_stencil *s, int64_t row, int first, int last, tap *taps)
{
    int count = 0;
    for (int k = 0; k < 9; k++) {
        const int64_t down = k / 3 - 1;
        const int64_t right = k % 3 - 1;
        if (s->weights[k] == (s->rule == HS_SUM ? 0.0 : INFINITY) || right < first ||
            right > last || row + down < 0 || row + down >= s->m)
            continue;
        taps[count++] =
            (tap){down, right, down * s->row_stride + right * s->col_stride, s->weights[k]};
    }
    return count;
}

#define TEMPLATE "kernel/stencil_template.h"
#define SET(x) x
#include "kernel/each_real.h"

void hs_stencil_tile(void *stencil, int64_t row, int64_t col, int64_t height, int64_t width)
{
    const hs_stencil *s = stencil;
    if (!s || !s->data || row < 0 || col < 0 || row > s->m || col > s->n || height > s->m - row ||
        width > s->n - col)
        return;
    void (*update_row)(const hs_stencil *, const tap *, int, int64_t, int64_t, int64_t) =
        s->dtype == HS_FLOAT32 ? float_update_row : double_update_row;
    const int64_t end = col + width;
    const int64_t last = s->n - 1;
    for (int64_t i = row; i < row + height; i++) {
        tap taps[9];
        int64_t j = col;
        /* the first and the last column have no neighbours on one side */
        if (j == 0 && j < end) {
            update_row(s, taps, taps_of_row(s, i, 0, last > 0, taps), i, 0, 1);
            j = 1;
        }
        if (j < end && j < last) {
            const int64_t until = end < last ? end : last;
            update_row(s, taps, taps_of_row(s, i, -1, 1, taps), i, j, until);
            j = until;
        }
        if (j < end) update_row(s, taps, taps_of_row(s, i, -1, 0, taps), i, j, end);
    }
}
