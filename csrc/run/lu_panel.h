/* The parts of an LU factorisation with partial pivoting.
 *
 * The matrix is held in slices: all rows of a few columns, as many as the micro-kernel has on its fast side, row by row. To
 * exchange two rows of a slice moves whole cache lines, the update of a slice goes straight through the memory, and the rows of U
 * in it are what the kernel wants as a packed operand.
 *
 * While it is factored a panel is held in strips: a few rows of all its columns, column by column, as the kernel wants its other
 * operand. So its own updates, which are most of its work, need no packing either. */
#ifndef HS_RUN_LU_PANEL_H
#define HS_RUN_LU_PANEL_H

#include "kernel/kernel.h"
#include "kernel/lu_vector.h"
#include "kernel/pack.h"
#include "run/matrix.h"

/* One way to multiply: C += L U, C with unit stride along `unit`, L packed in strips of rows, U in columns side by side. Sizes in
 * reals count the elements of the kernel's type; in a complex operand on the side of C's unit stride every element takes two
 * by two of them (HS__EXPANDED), in the other one after the other (HS__SPLIT). */
typedef struct hs__lu_form {
    int32_t turned;       /* the kernel computes the transposed product */
    hs__pack l, u;
    int32_t rows, across; /* of the matrix: rows of a strip of L, columns of a packed U */
} hs__lu_form;

typedef struct hs__lu_type {
    const hs__blocking *kernel;
    hs__lu_vector vector;
    hs__lu_form panel, slice; /* C in strips, C in slices */
    int32_t parts;            /* 1 real, 2 complex */
    int32_t lanes;            /* panel.u.tile, rounded up to whole vectors */
    size_t real, element;     /* bytes */
} hs__lu_type;

void hs__lu_type_init(hs__lu_type *type, const hs__kernel *kernel, int32_t dtype);

/* A block of columns in slices; the last one, if it is not full, may lie elsewhere. Its missing columns are zeros. */
typedef struct hs__lu_columns {
    char *slices, *last;
    int64_t m, cols;
} hs__lu_columns;

size_t hs__lu_slice_bytes(const hs__lu_type *type, int64_t m);

/* Columns first .. first + width - 1 from the diagonal on down, factored: minus L packed for updates, in strips; those of the
 * rows below the diagonal block begin a strip. */
typedef struct hs__lu_panel {
    int64_t first, width, rows;
    char *strips;
} hs__lu_panel;

size_t hs__lu_panel_bytes(const hs__lu_type *type, int64_t rows, int64_t width);
size_t hs__lu_factor_bytes(const hs__lu_type *type, int64_t rows, int64_t width);           /* for hs__lu_factor */
size_t hs__lu_work_bytes(const hs__lu_type *type, int64_t m, int64_t width, int64_t cols); /* for the others */

/* Factors a block in place, and packs L.
 *   pivots  [of the matrix] out: those of the panel, rows of the matrix
 *   zero    lowered to the first column whose pivot is zero
 * Returns non-zero if the run was cancelled. */
int hs__lu_factor(const hs__lu_type *type, const hs__lu_panel *panel, const hs__lu_columns *block, int32_t *pivots, int64_t *zero,
                  char *work, hs__member *self);

/* A block to the right of the panel: exchange of rows, triangular solve, update. */
void hs__lu_update(const hs__lu_type *type, const hs__lu_panel *panel, const hs__lu_columns *block, const int32_t *pivots, char *work,
                   hs__member *self);

/* The columns of a block to slices, which may be their own memory. After a cancel, as of all these functions, the content is undefined. */
void hs__lu_load(const hs__lu_type *type, hs__matrix from, const hs__lu_columns *block, char *work, hs__member *self);

/* Back, with the exchanges of rows first .. first + count - 1 with pivots[.], one after the other. */
void hs__lu_store(const hs__lu_type *type, const hs__lu_columns *block, hs__matrix to, int64_t first, int64_t count,
                  const int32_t *pivots, char *work, hs__member *self);

#endif
