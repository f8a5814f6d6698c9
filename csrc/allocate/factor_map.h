/* Who owns which block of a factorisation, by columns or in both directions, and how an update is
 * divided between owners.
 *
 * Panel k is factored whole by the owner of its diagonal block. With a map of both directions
 * update k of block column j, unless all of its rows belong to one worker, has a head, of the owner
 * of block (k, j), and then for each worker with rows below block row k a part; of Cholesky, where
 * the rows are those from the diagonal of column j on, it has no head. By columns an update is one
 * task. */
#ifndef HS_ALLOCATE_FACTOR_MAP_H
#define HS_ALLOCATE_FACTOR_MAP_H

#include "allocate/factor.h"

typedef struct hs__factor_map {
    hs__factor_blocks blocks;
    int32_t p, grid, row_blocks;
    const int32_t *owner; /* [count], or grid: [row_blocks * count] row by row */
    /* [count] of each block column: of its diagonal block, beyond the panels of its last one */
    int32_t *column;
    int32_t *whole_from; /* grid: [count] the block row from which on a column has one owner */
    /* grid: [count * p] rows of each worker in a column that its next part changes */
    int64_t *rows;
} hs__factor_map;

/* HS_ERROR_VALUE for owners out of range, or for a map of more than 2^31 - 1 blocks.
 * hs__factor_map_end in any case. */
hs_status hs__factor_map_init(hs__factor_map *map, const hs__factor_blocks *blocks, int32_t p,
                              const int32_t *owner, int32_t grid);
void hs__factor_map_end(hs__factor_map *map);

/* First row of a block row, and the block row of a row. */
int64_t hs__row_first(const hs__factor_map *map, int32_t i);
int32_t hs__row_block(const hs__factor_map *map, int64_t row);

/* Rows of block row k change no more from step k on: those of a worker, of all with -1. */
void hs__factor_map_step(hs__factor_map *map, int32_t k, int32_t worker);

/* Whether update k of block column j is one task, and who does that, or the head. */
static inline int hs__is_whole(const hs__factor_map *map, int32_t k, int32_t j)
{
    return !map->grid || map->whole_from[j] <= (map->blocks.kind == HS_CHOLESKY ? j : k);
}

static inline int32_t hs__head_owner(const hs__factor_map *map, int32_t k, int32_t j)
{
    return map->grid && map->blocks.kind != HS_CHOLESKY
               ? map->owner[(int64_t)k * map->blocks.count + j]
               : map->column[j];
}

static inline int64_t hs__rows_of_part(const hs__factor_map *map, int32_t j, int32_t worker)
{
    return map->rows[(int64_t)j * map->p + worker];
}

/* Rows of all parts of update k of block column j. */
int64_t hs__rows_of_parts(const hs__factor_map *map, int32_t k, int32_t j);

/* Multiply-adds of a head; of a worker's part. With them all an update has hs__update_work. */
double hs__head_work(const hs__factor_map *map, int32_t k, int32_t j);
double hs__part_work(const hs__factor_map *map, int32_t k, int32_t j, int32_t worker);

#endif
