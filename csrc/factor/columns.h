/* A matrix in the form in which factorisations hold it, and the operands with which they multiply
 * it.
 *
 * The matrix is held in slices: all rows of a few columns, as many columns as the micro-kernel has
 * on its fast side, row by row. Exchanging two rows of a slice moves whole cache lines, the update
 * of a slice passes straight through memory, and the rows of U in a slice are a packed operand as
 * they are. */
#ifndef HS_FACTOR_COLUMNS_H
#define HS_FACTOR_COLUMNS_H

#include "kernel/factor_vector.h"
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "run/matrix.h"

/* One way to multiply: C += L U, with C of unit stride in one direction, L packed in strips of
 * rows, and U in groups of adjacent columns. Sizes in reals count elements of the kernel's type. A
 * complex element of the operand on the side of C's unit stride takes two by two reals
 * (HS__EXPANDED); in the other operand it takes two, one after the other (HS__SPLIT). */
typedef struct hs__strip_form {
    int32_t turned;       /* non-zero: the kernel computes the transposed product */
    hs__pack l, u;        /* l is packed with its sign changed */
    int32_t rows, across; /* of the matrix: rows of a strip of L, columns of a packed U */
} hs__strip_form;

typedef struct hs__column_type {
    const hs__blocking *kernel;
    hs__factor_vector vector;
    hs__strip_form panel, slice; /* for C in strips, and for C in slices */
    int32_t dtype, parts;        /* 1 for real, 2 for complex elements */
    int32_t lanes;               /* panel.u.tile, rounded up to whole vectors */
    size_t real, element;        /* bytes */
} hs__column_type;

void hs__column_type_init(hs__column_type *type, const hs__kernel *kernel, int32_t dtype);

/* Return the bytes of a packed operand of that depth: of a strip of L, and of columns of U. */
int64_t hs__l_bytes(const hs__column_type *type, const hs__strip_form *form, int64_t depth);
int64_t hs__u_bytes(const hs__column_type *type, const hs__strip_form *form, int64_t depth);

/* Returns whether rows of a slice can be multiplied without packing them: if the elements are real
 * and the rows begin at a multiple of 64 bytes. */
static inline int hs__is_packed(const hs__column_type *type, const char *rows)
{
    return type->parts == 1 && (uintptr_t)rows % 64 == 0;
}

/* C += L U, `depth` deep, for a tile of C with its slow stride given in elements. Full tiles are
 * faster. */
void hs__strip_multiply(const hs__column_type *type, const hs__strip_form *form, int64_t rows,
                        int64_t cols, int64_t depth, const char *l, const char *u, char *c,
                        int64_t stride, const char *next_l, const char *next_u);

/* A block of columns in slices. The last slice may lie elsewhere if it is not full; its missing
 * columns are zeros. */
typedef struct hs__columns {
    char *slices, *last;
    int64_t m, cols;
} hs__columns;

/* Return the bytes of a slice, and the slice that holds a column. */
size_t hs__slice_bytes(const hs__column_type *type, int64_t m);
char *hs__slice_at(const hs__column_type *type, const hs__columns *block, int64_t col);

/* Returns the bytes of `work` for load and store. */
size_t hs__move_bytes(const hs__column_type *type, int64_t m);

/* to(l, i) <- from(i, l) for l < depth. Rows of `to` are slice.across elements apart; the strides
 * of `from` count elements. cols <= across, and the columns after them are set to zero. */
void hs__to_rows(const hs__column_type *type, int64_t cols, int64_t depth, const char *from,
                 int64_t stride, int64_t depth_stride, char *to);

/* Copies columns of a matrix to the slices of a block. After a cancel the target is undefined, also
 * of hs__columns_copy and hs__columns_store.
 *   first    rows before it are left as they are; all rows are copied if the slices are the
 *            matrix's own memory
 *   factor   (real, imaginary), multiplies the elements while they are in the cache; NULL: 1 */
void hs__columns_load(const hs__column_type *type, hs__matrix from, int64_t first,
                      const hs__columns *block, const double *factor, char *work, hs__member *self);

/* Copies rows from `first` on of a block in slices to a matrix of that many rows. square: memory
 * for across * across elements. */
void hs__columns_copy(const hs__column_type *type, const hs__columns *block, int64_t first,
                      hs__matrix to, char *square, hs__member *self);

/* Which elements are copied back: all; the lower triangle, where the block's columns begin at
 * column `diagonal`; or the lower triangle with zeros above it. */
typedef enum hs__kept { HS__ALL = 0, HS__LOWER = 1, HS__CLEARED = 2 } hs__kept;

/* Copies a block in slices back to a matrix. With HS__ALL rows first .. first + count - 1 are
 * exchanged with rows pivots[.], one after the other. */
void hs__columns_store(const hs__column_type *type, const hs__columns *block, hs__matrix to,
                       hs__kept kept, int64_t diagonal, int64_t first, int64_t count,
                       const int32_t *pivots, char *work, hs__member *self);

/* A panel: columns first .. first + width - 1 of the matrix, from the diagonal on down. It is
 * packed for updates: minus L in strips, where the first row below the diagonal block begins a new
 * strip. */
typedef struct hs__packed_panel {
    int64_t first, width, rows;
    char *strips;
} hs__packed_panel;

/* Return the strips of the diagonal block, and of the whole panel; the row of the panel at which
 * strip s begins, and its number of rows. */
int64_t hs__top_strips(const hs__strip_form *form, int64_t width);
int64_t hs__strip_count(const hs__strip_form *form, int64_t rows, int64_t width);
int64_t hs__row_of_strip(const hs__strip_form *form, int64_t width, int64_t s);
int64_t hs__rows_of_strip(const hs__strip_form *form, int64_t rows, int64_t width, int64_t s);

/* Returns the bytes of a panel's strips. */
size_t hs__strips_bytes(const hs__column_type *type, int64_t rows, int64_t width);

/* C -= L U for strips s0 .. end - 1, which lie below the diagonal block, in one slice.
 *   slice   at the panel's first row
 *   u       the packed rows of U, as many as the panel is wide */
void hs__subtract(const hs__column_type *type, const hs__packed_panel *panel, int64_t s0,
                  int64_t end, char *slice, const char *u);

/* Returns the number of strips that stay in the L2 cache while all slices pass. */
int64_t hs__strips_at_once(const hs__column_type *type, int64_t width);

#endif
