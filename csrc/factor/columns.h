/* A matrix as the factorisations hold it, and what they multiply it with.
 *
 * The matrix is held in slices: all rows of a few columns, as many as the micro-kernel has on its
 * fast side, row by row. To exchange two rows of a slice moves whole cache lines, the update of a
 * slice goes straight through the memory, and the rows of U in it are what the kernel wants as a
 * packed operand. */
#ifndef HS_FACTOR_COLUMNS_H
#define HS_FACTOR_COLUMNS_H

#include "kernel/factor_vector.h"
#include "kernel/kernel.h"
#include "kernel/pack.h"
#include "run/matrix.h"

/* One way to multiply: C += L U, C with unit stride along `unit`, L packed in strips of rows, U in
 * columns side by side. Sizes in reals count the elements of the kernel's type; in a complex
 * operand on the side of C's unit stride every element takes two by two of them (HS__EXPANDED), in
 * the other one after the other (HS__SPLIT). */
typedef struct hs__strip_form {
    int32_t turned;       /* the kernel computes the transposed product */
    hs__pack l, u;        /* l: the negative */
    int32_t rows, across; /* of the matrix: rows of a strip of L, columns of a packed U */
} hs__strip_form;

typedef struct hs__column_type {
    const hs__blocking *kernel;
    hs__factor_vector vector;
    hs__strip_form panel, slice; /* C in strips, C in slices */
    int32_t dtype, parts;        /* parts: 1 real, 2 complex */
    int32_t lanes;               /* panel.u.tile, rounded up to whole vectors */
    size_t real, element;        /* bytes */
} hs__column_type;

void hs__column_type_init(hs__column_type *type, const hs__kernel *kernel, int32_t dtype);

/* An element <- 1. */
void hs__set_one(const hs__column_type *type, char *at);

/* Bytes of a packed operand `depth` deep: of a strip of L, of columns of U. */
int64_t hs__l_bytes(const hs__column_type *type, const hs__strip_form *form, int64_t depth);
int64_t hs__u_bytes(const hs__column_type *type, const hs__strip_form *form, int64_t depth);

/* Whether rows of a slice are a packed operand as they are: not if they are complex, or not
 * aligned. */
static inline int hs__is_packed(const hs__column_type *type, const char *rows)
{
    return type->parts == 1 && (uintptr_t)rows % 64 == 0;
}

/* C += L U, `depth` deep, for a tile of C whose slow stride is given in elements. Full tiles are
 * the fast way. */
void hs__strip_multiply(const hs__column_type *type, const hs__strip_form *form, int64_t rows,
                        int64_t cols, int64_t depth, const char *l, const char *u, char *c,
                        int64_t stride, const char *next_l, const char *next_u);

/* A block of columns in slices; the last one, if it is not full, may lie elsewhere. Its missing
 * columns are zeros. */
typedef struct hs__columns {
    char *slices, *last;
    int64_t m, cols;
} hs__columns;

size_t hs__slice_bytes(const hs__column_type *type, int64_t m);
char *hs__slice_at(const hs__column_type *type, const hs__columns *block, int64_t col);

/* Bytes of `work` for load and store. */
size_t hs__move_bytes(const hs__column_type *type, int64_t m);

/* to(l, i) <- from(i, l) for l < depth rows slice.across apart; from has strides in elements. cols
 * <= across, the rest zero. */
void hs__to_rows(const hs__column_type *type, int64_t cols, int64_t depth, const char *from,
                 int64_t stride, int64_t depth_stride, char *to);

/* The columns of a block to slices, which may be their own memory; of others rows from `first` on,
 * those before are left as they are. factor: (real, imaginary), by which they are multiplied while
 * they are in the cache; NULL: 1. After a cancel, as of all these functions, the content is
 * undefined. */
void hs__columns_load(const hs__column_type *type, hs__matrix from, int64_t first,
                      const hs__columns *block, const double *factor, char *work, hs__member *self);

/* Rows from `first` on of a block in slices to a matrix of that many rows; square: across * across
 * elements. */
void hs__columns_copy(const hs__column_type *type, const hs__columns *block, int64_t first,
                      hs__matrix to, char *square, hs__member *self);

/* Which elements go back: all; those of the lower triangle, of which the block has columns diagonal
 * ..; the same, and zeros above. */
typedef enum hs__kept { HS__ALL = 0, HS__LOWER = 1, HS__CLEARED = 2 } hs__kept;

/* Back. All: with the exchanges of rows first .. first + count - 1 with pivots[.], one after the
 * other. */
void hs__columns_store(const hs__column_type *type, const hs__columns *block, hs__matrix to,
                       hs__kept kept, int64_t diagonal, int64_t first, int64_t count,
                       const int32_t *pivots, char *work, hs__member *self);

/* Columns first .. first + width - 1 of the matrix from the diagonal on down, as updates want them:
 * minus L in strips, those of the rows below the diagonal block begin a strip. */
typedef struct hs__packed_panel {
    int64_t first, width, rows;
    char *strips;
} hs__packed_panel;

/* Strips of the diagonal block, and of the whole panel; where strip s begins in the panel, and its
 * rows. */
int64_t hs__top_strips(const hs__strip_form *form, int64_t width);
int64_t hs__strip_count(const hs__strip_form *form, int64_t rows, int64_t width);
int64_t hs__row_of_strip(const hs__strip_form *form, int64_t width, int64_t s);
int64_t hs__rows_of_strip(const hs__strip_form *form, int64_t rows, int64_t width, int64_t s);

/* Bytes of a panel's strips. */
size_t hs__strips_bytes(const hs__column_type *type, int64_t rows, int64_t width);

/* Strips from s0 on, those below the diagonal block, of C -= L U for the slice with the panel's
 * first row at `slice`; u: all of the panel's width packed. Returns non-zero after a cancel, which
 * it looks for. */
void hs__subtract(const hs__column_type *type, const hs__packed_panel *panel, int64_t s0,
                  int64_t end, char *slice, const char *u);

/* Strips that stay in the second level cache while all slices pass. */
int64_t hs__strips_at_once(const hs__column_type *type, int64_t width);

#endif
