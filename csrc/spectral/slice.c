/* Copies slices (spectral/slice.h). */
#include "spectral/slice.h"

#include <string.h>

#include "kernel/pack.h"

/* rows that are copied at a time: their cache lines of all columns stay in the L1 cache */
enum { ROWS = 16 };

void hs__transpose_elements(int32_t dtype, int64_t rows, int64_t cols, const char *from,
                            int64_t from_stride, char *to, int64_t to_stride)
{
    if (dtype < 2) {
        hs__transpose_reals(dtype, rows, cols, from, from_stride, to, to_stride);
        return;
    }
    const int64_t e = (int64_t)hs__element_bytes(dtype);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            char *const target = to + (i * to_stride + j) * e;
            const char *const source = from + (i + j * from_stride) * e;
            if (e == 8) memcpy(target, source, 8);
            else memcpy(target, source, 16);
        }
}

void hs__slice_load(int32_t dtype, int64_t rows, int64_t cols, const char *c, int64_t ld,
                    char *slice)
{
    const int64_t e = (int64_t)hs__element_bytes(dtype), step = hs__slice_step(dtype);
    const int64_t rest = hs__slice_length(dtype, cols) - cols;
    for (int64_t i = 0; i < rows; i += ROWS) {
        hs__prefetch_block(ROWS * e, i + ROWS < rows ? cols : 0, c + (i + ROWS) * e, ld * e);
        hs__transpose_elements(dtype, hs__min(ROWS, rows - i), cols, c + i * e, ld,
                               slice + i * HS__SLICE_STEP, step);
    }
    for (int64_t i = 0; i < rows && rest; i++)
        memset(slice + i * HS__SLICE_STEP + cols * e, 0, (size_t)(rest * e));
}

void hs__slice_store(int32_t dtype, int64_t rows, int64_t cols, const char *slice, char *c,
                     int64_t ld)
{
    const int64_t e = (int64_t)hs__element_bytes(dtype), step = hs__slice_step(dtype);
    for (int64_t i = 0; i < rows; i += ROWS) {
        hs__prefetch_block(ROWS * e, i + ROWS < rows ? cols : 0, c + (i + ROWS) * e, ld * e);
        hs__transpose_elements(dtype, cols, hs__min(ROWS, rows - i), slice + i * HS__SLICE_STEP,
                               step, c + i * e, ld);
    }
}
