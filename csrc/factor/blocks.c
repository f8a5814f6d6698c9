/* Chooses the width of the blocks of a factorisation. */
#include "core/numbers.h"
#include "factor/columns.h"

int64_t hs_factor_block(int32_t kind, int64_t m, int64_t n, int32_t dtype, int32_t workers)
{
    enum { CHOICES = 5 };
    static const int64_t blocks[CHOICES] = {128, 96, 48, 32, 16};
    /* QR: the work for T grows with the cube of the width. */
    static const int64_t from[3][CHOICES] = {
        {2500, 768, 300, 96}, {2500, 1500, 700, 96}, {INT64_MAX, 768, 400, 96}};
    if (kind < HS_LU || kind > HS_QR || dtype < 0 || dtype > 3) return 0;
    hs__column_type type;
    hs__column_type_init(&type, hs__kernel_current(), dtype);
    const int64_t rank = hs__min(m, n);
    const int64_t across = type.slice.across;
    int choice = 0;
    /* Each worker needs some blocks, and must not wait long for a panel: with more than two workers
     * the blocks are narrower. The width also decides how results are rounded, as so many terms are
     * subtracted at a time. */
    while (choice + 1 < CHOICES && (rank < from[kind][choice] ||
                                    (workers > 2 && rank < 3 * (int64_t)workers * blocks[choice])))
        choice++;
    /* whole slices can be in place */
    return across > 96 ? blocks[choice] : hs__round_up(blocks[choice], across);
}
