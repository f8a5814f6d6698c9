/* hs_blocking: block sizes of a product from the sizes and the associativity of the caches. */
#include "hetsched.h"

#include "core/numbers.h"

enum { WAYS = 8, DEPTH_STEP = 8, MOST_WORKERS = 1 << 16 };

static int are_caches(const hs_caches *x)
{
    for (int cache = 0; cache < 3; cache++)
        if (x->bytes[cache] < 0 || x->bytes[cache] > INT64_C(1) << 40 || x->ways[cache] < 0 ||
            x->sharing[cache] < 0 || x->sharing[cache] > MOST_WORKERS)
            return 0;
    return 1;
}

static int64_t ways_of(const hs_caches *x, int cache)
{
    return x->ways[cache] ? x->ways[cache] : WAYS;
}
static int64_t sharing_of(const hs_caches *x, int cache)
{
    return x->sharing[cache] ? x->sharing[cache] : 1;
}

/* Returns `wanted` rounded down to a multiple of step, at least `least`. */
static int32_t round_down(int64_t wanted, int64_t least, int64_t step)
{
    const int64_t whole = hs__min(wanted, HS_BLOCKING_MOST) / step * step;
    return (int32_t)(whole > least ? whole : hs__ceil_div(least, step) * step);
}

/* Returns the bytes of a cache for the data that stay in it, while `others` bytes pass through:
 * these take whole ways, and lines of C take one more way. */
static int64_t cache_room(const hs_caches *x, int cache, int64_t others, int64_t least_ways)
{
    const int64_t ways = ways_of(x, cache);
    const int64_t way = hs__ceil_div(x->bytes[cache], ways);
    const int64_t left = ways - 1 - hs__ceil_div(others, way);
    return x->bytes[cache] / ways * (left > least_ways ? left : least_ways);
}

/* Returns the depth. The micro-panels of A, the current one and the one that replaces it, use the
 * same ways: whole ways are reserved for A, and for B as many as its share needs. With too few ways
 * for that, the cache without one way for C is divided by size. */
static int64_t depth_of(const hs_caches *x, int32_t tile_rows, int32_t tile_cols,
                        int32_t element_bytes)
{
    const int64_t workers = sharing_of(x, 0);
    const int64_t ways = ways_of(x, 0);
    const int64_t both = (int64_t)tile_rows + tile_cols;
    const int64_t of_a = (ways - 1) * tile_rows / both;
    if (of_a > 0) return x->bytes[0] / ways * of_a / (workers * tile_rows * element_bytes);
    return (x->bytes[0] - x->bytes[0] / ways) / (workers * both * element_bytes);
}

hs_status hs_blocking(const hs_caches *caches, int32_t tile_rows, int32_t tile_cols,
                      int32_t element_bytes, int32_t *blocks)
{
    if (!caches || !blocks || !are_caches(caches)) return HS_ERROR_VALUE;
    if (tile_rows < 1 || tile_rows > 1024 || tile_cols < 1 || tile_cols > 1024 ||
        element_bytes < 1 || element_bytes > 64)
        return HS_ERROR_VALUE;
    int32_t depth = 0;
    int32_t rows = 0;
    int32_t cols = 0;
    if (caches->bytes[0])
        depth = round_down(depth_of(caches, tile_rows, tile_cols, element_bytes), HS_BLOCKING_DEPTH,
                           DEPTH_STEP);
    /* bytes of a column of a packed panel of A or B */
    const int64_t column = (int64_t)depth * element_bytes;
    if (depth && caches->bytes[1]) {
        const int64_t workers = sharing_of(caches, 1);
        rows =
            round_down(cache_room(caches, 1, workers * tile_cols * column, 1) / (workers * column),
                       tile_rows, tile_rows);
    }
    if (rows && caches->bytes[2]) {
        const int64_t blocks_of_a = sharing_of(caches, 2) * rows * column;
        cols = round_down(cache_room(caches, 2, blocks_of_a, hs__ceil_div(ways_of(caches, 2), 2)) /
                              column,
                          tile_cols, tile_cols);
    }
    blocks[0] = depth;
    blocks[1] = rows;
    blocks[2] = cols;
    return HS_OK;
}
