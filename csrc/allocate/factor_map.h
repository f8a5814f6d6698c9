/* The owner map of a factorisation, by columns or in both directions, and how an update is divided
 * between owners.
 *
 * The owner of the diagonal block factors the whole panel k. With a map by columns an update is one
 * task. With a map in both directions, update k of block column j is one task only if one worker
 * owns all of its rows. Else it has a head, by the owner of block (k, j), and then a part for each
 * worker with rows below block row k. In Cholesky it has no head, and its rows are the rows from
 * the diagonal of column j on. */
#ifndef HS_ALLOCATE_FACTOR_MAP_H
#define HS_ALLOCATE_FACTOR_MAP_H

#include "allocate/factor.h"

typedef struct hs__factor_map {
    hs__factor_blocks blocks;
    int32_t p, grid, row_blocks;
    const int32_t *owner; /* [count], or grid: [row_blocks * count] row by row */
    /* [count] owner of each block column: of its diagonal block, beyond the panels of its last
     * block */
    int32_t *column;
    int32_t *whole_from; /* grid: [count] the block row from which on a column has one owner */
    /* grid: [count * p] number of rows of each worker in a column that its next part changes */
    int64_t *rows;
} hs__factor_map;

/* HS_ERROR_VALUE for owners out of range, or for a map of more than 2^31 - 1 blocks. Call
 * hs__factor_map_end in any case. */
hs_status hs__factor_map_init(hs__factor_map *map, const hs__factor_blocks *blocks, int32_t p,
                              const int32_t *owner, int32_t grid);
void hs__factor_map_end(hs__factor_map *map);

/* Returns the first row of a block row; the next function returns the block row of a row. */
int64_t hs__row_first(const hs__factor_map *map, int32_t i);
int32_t hs__row_block(const hs__factor_map *map, int64_t row);

/* Removes block row k from the rows to be updated, because it does not change from step k on: for
 * one worker, or for all with -1. */
void hs__factor_map_step(hs__factor_map *map, int32_t k, int32_t worker);

/* Returns whether update k of block column j is one task; the next function returns the worker that
 * does the task, or the head. */
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

/* Returns the number of rows of all parts of update k of block column j. */
int64_t hs__rows_of_parts(const hs__factor_map *map, int32_t k, int32_t j);

/* Returns the multiply-adds of a head; the next function the multiply-adds of a worker's part. The
 * head and all parts of an update add up to hs__update_work. */
double hs__head_work(const hs__factor_map *map, int32_t k, int32_t j);
double hs__part_work(const hs__factor_map *map, int32_t k, int32_t j, int32_t worker);

#endif
