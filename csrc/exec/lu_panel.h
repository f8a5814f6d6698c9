/* LU with partial pivoting of a panel of columns, and what a panel does to the columns to its right.
 *
 * While it is factored a panel is held in strips, as the micro-kernels want the left operand: `strip` rows of all its columns
 * side by side. So its own updates, which are most of its work, need no packing, and when it is done its part below the
 * diagonal is the packed left operand of the update of all other columns. */
#ifndef HS_EXEC_LU_PANEL_H
#define HS_EXEC_LU_PANEL_H

#include <stddef.h>

#include "kernel.h"
#include "lu_vector.h"
#include "member.h"
#include "pack.h"

/* How the matrices of a dtype are cut for a kernel. "Real" sizes count the elements of the kernel's type: a complex number has
 * `parts` = 2, and in a strip another two, those of its product with i (the form HS__EXPANDED). */
typedef struct hs__lu_type {
    const hs__blocking *kernel;
    hs__lu_vector vector;
    hs__pack pack;         /* of a strip */
    int32_t parts;         /* 1 real, 2 complex */
    int32_t turned;        /* the kernel computes the transposed product: it prefers rows, the matrix has columns */
    int32_t strip, across; /* rows of a strip of L, columns of a packed panel of U */
    int32_t u_tile;        /* reals across a packed panel of U */
    int32_t lanes;         /* the same, rounded up to whole vectors */
    size_t real, element;  /* bytes */
} hs__lu_type;

void hs__lu_type_init(hs__lu_type *type, const hs__kernel *kernel, int32_t dtype);

/* A matrix or a part of it, and its strides in elements. */
typedef struct hs__lu_matrix {
    char *data;
    int64_t row_stride, col_stride;
} hs__lu_matrix;

/* Columns first .. first + width - 1 from the diagonal on down. The diagonal block fills whole strips: rows `width` and more of
 * its last one are zeros, as are those below the matrix. */
typedef struct hs__lu_panel {
    int64_t first, width, rows;
    char *strips;
} hs__lu_panel;

size_t hs__lu_panel_bytes(const hs__lu_type *type, int64_t rows, int64_t width);

/* Bytes of a worker's own memory for panels of up to `width` columns and updates of up to `cols`. */
size_t hs__lu_work_bytes(const hs__lu_type *type, int64_t width, int64_t cols);

/* Factors the panel, whose strips are the caller's, in place in the matrix.
 *   pivots  [width of the panel, within the matrix's] out: rows of the matrix
 *   zero    lowered to the first column whose pivot is zero
 * Returns non-zero if the run was cancelled. */
int hs__lu_panel_factor(const hs__lu_type *type, const hs__lu_panel *panel, hs__lu_matrix matrix, int32_t *pivots, int64_t *zero,
                        char *work, hs__member *self);

/* Columns col .. col + cols - 1 of the matrix, to the right of the panel: exchange of rows, triangular solve, update. */
void hs__lu_update(const hs__lu_type *type, const hs__lu_panel *panel, hs__lu_matrix matrix, int64_t col, int64_t cols,
                   const int32_t *pivots, char *work, hs__member *self);

/* Copies rows x cols elements. */
void hs__lu_copy(const hs__lu_type *type, int64_t rows, int64_t cols, hs__lu_matrix from, hs__lu_matrix to);

/* Exchanges row first + i with pivots[first + i], for i = 0 .. count - 1 in this order, in some columns. */
void hs__lu_exchange(const hs__lu_type *type, hs__lu_matrix matrix, int64_t col, int64_t cols, int64_t first, int64_t count,
                     const int32_t *pivots);

#endif
