/* A panel while it is factored: in strips, a few rows of all its columns, column by column, as the
 * kernel wants its other operand. So its own updates, which are most of its work, need no packing
 * of L. */
#ifndef HS_FACTOR_STRIPS_H
#define HS_FACTOR_STRIPS_H

#include "factor/columns.h"

typedef struct hs__panel_strips {
    const hs__column_type *type;
    int64_t first, width, rows; /* as of hs__packed_panel */
    int64_t strip_bytes, count;
    char *strips, *packed, *tile, *aside;
    hs__member *self;
} hs__panel_strips;

/* Bytes of `work` for a panel. */
size_t hs__panel_strips_bytes(const hs__column_type *type, int64_t rows, int64_t width);

/* Lays out a panel in `work` and copies it there from its block; non-zero after a cancel. */
int hs__strips_open(hs__panel_strips *strips, const hs__column_type *type,
                    const hs__packed_panel *panel, const hs__columns *block, char *work,
                    hs__member *self);

/* Back to the block, and packed for updates; non-zero after a cancel. */
int hs__strips_close(const hs__panel_strips *strips, const hs__packed_panel *panel,
                     const hs__columns *block);

/* The panel again, packed for another kernel; non-zero after a cancel. */
int hs__strips_repack(const hs__column_type *type, const hs__packed_panel *panel,
                      const hs__column_type *from, const hs__columns *block, hs__member *self);

/* Reals of one column of a strip, of complex ones with its product with i. */
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

/* Columns at + half .. at + width - 1 minus what columns at .. at + half - 1 give, all rows from at
 * + half on, with the rows of U for these columns packed, negative, at strips->packed. */
void hs__strips_update(hs__panel_strips *strips, int64_t at, int64_t half, int64_t width);

/* Factors a panel by halves (Toledo, SIAM J. Matrix Anal. Appl. 18, 1997): the left one, what it
 * does to the right one, the right one.
 *   base   factors columns at .. at + width - 1, at most HS__BASE_COLUMNS and no more than rows of
 *          a strip
 *   rows_of_u  packs, negative, the rows at .. at + half - 1 of U in columns at + half .. at +
 *              width - 1 to strips->packed
 * Non-zero after a cancel. Halves are whole strips, so that no range of columns that is narrower
 * than a strip has its diagonal block in two. */
typedef struct hs__halving {
    hs__panel_strips *strips;
    void (*base)(const struct hs__halving *x, int64_t at, int32_t width);
    void (*rows_of_u)(const struct hs__halving *x, int64_t at, int64_t half, int64_t width);
} hs__halving;

int hs__strips_factor(const hs__halving *x, int64_t at, int64_t width);

#endif
