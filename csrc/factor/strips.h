/* A panel while it is factored. It is held in strips: a few rows of all its columns, column by
 * column, in the form in which the kernel reads its other operand. So the panel's own updates,
 * which are most of its work, need no packing of L. */
#ifndef HS_FACTOR_STRIPS_H
#define HS_FACTOR_STRIPS_H

#include "factor/columns.h"

typedef struct hs__panel_strips {
    const hs__column_type *type;
    int64_t first, width, rows; /* see hs__packed_panel */
    int64_t strip_bytes, count;
    char *strips, *packed, *tile, *scratch;
    hs__member *self;
} hs__panel_strips;

/* Returns the bytes of `work` for a panel. */
size_t hs__panel_strips_bytes(const hs__column_type *type, int64_t rows, int64_t width);

/* Lays out a panel in `work` and copies it there from its block. Returns non-zero after a
 * cancel. */
int hs__strips_open(hs__panel_strips *strips, const hs__column_type *type,
                    const hs__packed_panel *panel, const hs__columns *block, char *work,
                    hs__member *self);

/* Copies the panel back to the block, and packs it for updates. Returns non-zero after a cancel. */
int hs__strips_close(const hs__panel_strips *strips, const hs__packed_panel *panel,
                     const hs__columns *block);

/* Packs the panel again, for another kernel. Returns non-zero after a cancel. */
int hs__strips_repack(const hs__column_type *type, const hs__packed_panel *panel,
                      const hs__column_type *from, const hs__columns *block, hs__member *self);

/* Returns the reals of one column of a strip; for complex elements including the product with i. */
static inline int64_t hs__column_step(const hs__column_type *t)
{
    return (int64_t)t->parts * t->panel.l.tile;
}

static inline char *hs__in_strip(const hs__panel_strips *f, int64_t strip, int64_t col)
{
    return f->strips + strip * f->strip_bytes +
           col * hs__column_step(f->type) * (int64_t)f->type->real;
}

static inline char *hs__in_panel(const hs__panel_strips *f, int64_t row, int64_t col)
{
    return hs__in_strip(f, row / f->type->panel.rows, col) +
           (size_t)(row % f->type->panel.rows) * f->type->element;
}

/* Subtracts from columns at + half .. at + width - 1 what columns at .. at + half - 1 contribute,
 * in all rows from at + half on. strips->packed holds minus the rows of U for these columns. */
void hs__strips_update(hs__panel_strips *strips, int64_t at, int64_t half, int64_t width);

/* Factors a panel recursively (Toledo, SIAM J. Matrix Anal. Appl. 18, 1997): the left half, the
 * update of the right half, the right half.
 *   base       factors columns at .. at + width - 1, at most HS__BASE_COLUMNS and no more than a
 *              strip has rows
 *   rows_of_u  packs minus the rows at .. at + half - 1 of U, in columns at + half .. at + width -
 *              1, to strips->packed
 * Returns non-zero after a cancel. A half is made of whole strips, so that a range of columns
 * narrower than a strip has its diagonal block in a single strip. */
typedef struct hs__halving {
    hs__panel_strips *strips;
    void (*base)(const struct hs__halving *x, int64_t at, int32_t width);
    void (*rows_of_u)(const struct hs__halving *x, int64_t at, int64_t half, int64_t width);
} hs__halving;

int hs__strips_factor(const hs__halving *x, int64_t at, int64_t width);

#endif
