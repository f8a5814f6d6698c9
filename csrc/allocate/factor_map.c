/* Owner maps of a factorisation: rows of each worker in a block column, and the work of heads and
 * parts. */
#include "allocate/factor_map.h"

#include <stdlib.h>

#include "core/numbers.h"

static int64_t rank_of(const hs__factor_map *map) { return hs__min(map->blocks.m, map->blocks.n); }

int64_t hs__row_first(const hs__factor_map *map, int32_t i)
{
    const hs__factor_blocks *b = &map->blocks;
    if (i >= map->row_blocks) return b->m;
    return i < b->panels ? i * b->block : rank_of(map) + (i - b->panels) * b->block;
}

int32_t hs__row_block(const hs__factor_map *map, int64_t row)
{
    const int64_t rank = rank_of(map);
    const int64_t block = map->blocks.block;
    return (int32_t)(row < rank ? row / block : map->blocks.panels + (row - rank) / block);
}

static int are_workers(int64_t count, int32_t p, const int32_t *owner)
{
    for (int64_t i = 0; i < count; i++)
        if (owner[i] < 0 || owner[i] >= p) return 0;
    return 1;
}

static void count_rows(hs__factor_map *map, int32_t j)
{
    const hs__factor_blocks *b = &map->blocks;
    const int32_t last = map->owner[(int64_t)(map->row_blocks - 1) * b->count + j];
    map->whole_from[j] = map->row_blocks;
    while (map->whole_from[j] > 0 &&
           map->owner[(int64_t)(map->whole_from[j] - 1) * b->count + j] == last)
        map->whole_from[j]--;
    for (int32_t i = b->kind == HS_CHOLESKY ? j : 0; i < map->row_blocks; i++)
        map->rows[(int64_t)j * map->p + map->owner[(int64_t)i * b->count + j]] +=
            hs__row_first(map, i + 1) - hs__row_first(map, i);
}

hs_status hs__factor_map_init(hs__factor_map *map, const hs__factor_blocks *b, int32_t p,
                              const int32_t *owner, int32_t grid)
{
    *map = (hs__factor_map){.blocks = *b, .p = p, .grid = grid != 0, .owner = owner};
    const int64_t rank = rank_of(map);
    const int64_t row_blocks = b->panels + hs__ceil_div(b->m - rank, b->block);
    const int64_t count = b->count;
    if ((grid != 0 && grid != 1) || row_blocks * count > INT32_MAX) return HS_ERROR_VALUE;
    map->row_blocks = (int32_t)row_blocks;
    const int64_t all = grid ? row_blocks * count : count;
    if ((all && !owner) || !are_workers(all, p, owner)) return HS_ERROR_VALUE;
    const size_t columns = count ? (size_t)count : 1;
    map->column = calloc(columns, sizeof *map->column);
    if (grid) {
        map->whole_from = calloc(columns, sizeof *map->whole_from);
        map->rows = calloc(columns * (size_t)p, sizeof *map->rows);
    }
    if (!map->column || (grid && (!map->whole_from || !map->rows))) return HS_ERROR_MEMORY;
    for (int32_t j = 0; j < b->count && all; j++) {
        map->column[j] = grid ? owner[hs__min(j, row_blocks - 1) * count + j] : owner[j];
        if (grid) count_rows(map, j);
    }
    return HS_OK;
}

void hs__factor_map_end(hs__factor_map *map)
{
    free(map->column);
    free(map->whole_from);
    free(map->rows);
}

void hs__factor_map_step(hs__factor_map *map, int32_t k, int32_t worker)
{
    const int64_t height = hs__row_first(map, k + 1) - hs__row_first(map, k);
    if (!map->grid || map->blocks.kind == HS_CHOLESKY) return;
    for (int64_t j = k + 1; j < map->blocks.count; j++) {
        const int32_t owner = map->owner[(int64_t)k * map->blocks.count + j];
        if (worker < 0 || owner == worker) map->rows[j * map->p + owner] -= height;
    }
}

int64_t hs__rows_of_parts(const hs__factor_map *map, int32_t k, int32_t j)
{
    return map->blocks.m - hs__row_first(map, map->blocks.kind == HS_CHOLESKY ? j : k + 1);
}

double hs__head_work(const hs__factor_map *map, int32_t k, int32_t j)
{
    const hs__factor_blocks *b = &map->blocks;
    const double width = (double)hs__block_width(b, k);
    const double cols = (double)hs__block_width(b, j);
    const double rows = (double)(b->m - hs__block_first(b, k));
    if (b->kind == HS_CHOLESKY) return 0.0;
    return b->kind == HS_LU ? width * width / 2.0 * cols : width * (rows + width / 2.0) * cols;
}

double hs__part_work(const hs__factor_map *map, int32_t k, int32_t j, int32_t worker)
{
    const hs__factor_blocks *b = &map->blocks;
    const double cols = (double)hs__block_width(b, j);
    const double rows = (double)hs__rows_of_part(map, j, worker);
    return (double)hs__block_width(b, k) * cols *
           (b->kind == HS_CHOLESKY && worker == map->column[j] ? rows - cols / 2.0 : rows);
}
