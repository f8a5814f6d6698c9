/* Packing of operands into micro-panels, including the conversion that turns a complex product into
 * a real one. */
#ifndef HS_KERNEL_PACK_H
#define HS_KERNEL_PACK_H

#include <stdint.h>

/* How a complex operand becomes real operands, so that a real kernel can multiply (the "1m" method
 * of Van Zee and Smith). On the side where C has unit stride, every element becomes the 2 x 2
 * matrix of its multiplication; on the other side, it is split into real and imaginary part along
 * the depth. C is then an ordinary real matrix with that dimension doubled. */
typedef enum hs__form { HS__REAL = 0, HS__EXPANDED = 1, HS__SPLIT = 2 } hs__form;

typedef struct hs__pack {
    int32_t real_type; /* 0 float, 1 double */
    hs__form form;
    int32_t tile;      /* width of a micro-panel in real elements */
    int32_t negative;  /* non-zero: the negative is packed */
    int32_t conjugate; /* non-zero: complex elements are conjugated */
} hs__pack;

/* Packs count x depth elements at source (element (i, l) at i * stride + l * depth_stride) into
 * micro-panels of `tile` real elements across and depth (complex: twice that) real steps each. The
 * last one is padded with zeros. */
void hs__pack_micro_panels(const hs__pack *how, int64_t count, int64_t depth, const void *source,
                           int64_t stride, int64_t depth_stride, void *target);

/* Multiplies micro-panels from hs__pack_micro_panels, not negative ones, by a factor, (real,
 * imaginary), rounded to the type. */
void hs__scale_micro_panels(const hs__pack *how, int64_t count, int64_t depth,
                            const double factor[2], void *micro_panels);

/* Computes to(j, i) <- from(i, j) for rows i and columns j of reals, or of complex elements of the
 * same size and alignment. In `from` consecutive i are adjacent in memory, in `to` consecutive
 * j. */
void hs__transpose_reals(int32_t real_type, int64_t rows, int64_t cols, const void *from,
                         int64_t from_stride, void *to, int64_t to_stride);

#endif
