/* What a gang keeps of its panels: its size, and which tiles the queues give. Includes gang.c,
 * because the queues are private. */
#include "product/gang.c"

#include "check.h"
#include "hetsched.h"
#include "scarce.h"

static int open_gang(hs__gang *gang, hs__run *run, int64_t n, int32_t members)
{
    const hs_product product = {.dtype = HS_FLOAT64,
                                .m = n,
                                .n = n,
                                .k = n,
                                .a_row_stride = n,
                                .a_col_stride = 1,
                                .b_row_stride = n,
                                .b_col_stride = 1,
                                .c_row_stride = n,
                                .c_col_stride = 1,
                                .alpha = {1}};
    const hs_box whole = {.height = n, .width = n, .length = n};
    hs__panel_product x;
    return CHECK(
               hs__panel_product_init(&x, hs__kernel_current(), &product, &whole, NULL, members)) &&
           CHECK(hs__gang_init(gang, run, &x, members, NULL) == HS_OK);
}

/* What 64 workers need besides the packed operands is little compared with 320 GB of each
 * matrix. */
static void state_is_small(void)
{
    enum { MEMBERS = 64 };
    hs__gang gang;
    hs__run run = {.workers = 1};
    scarce_asked();
    if (!open_gang(&gang, &run, 200000, MEMBERS)) return;
    CHECK(scarce_asked() < (size_t)64 << 20);
    CHECK((size_t)gang.slots * MEMBERS * sizeof *gang.queue < (size_t)64 << 10);
    CHECK(number_of(&gang, gang.panel_count - 1) < 1 << 16);
    hs__run_free(&run);
}

/* All tiles of a panel are taken once each, from both ends. If a worker comes late to a slot and
 * another panel has the slot by then, it takes no tile of that panel. */
static void queues(void)
{
    hs__gang gang;
    hs__run run = {.workers = 1};
    if (!open_gang(&gang, &run, 3000, 2)) return;
    const int64_t later = gang.slots;
    if (!CHECK(gang.panel_count > later)) return;
    CHECK(take_tile(queues_of(&gang, 0), number_of(&gang, 0), 0, 0) == -1);
    fill_queues(&gang, 0);
    const int32_t count = gang.panel[0].tile_count;
    int32_t taken = 0;
    int32_t sum = 0;
    for (int32_t w = 0; w < 2; w++)
        for (int32_t id, k = 0;
             (id = take_tile(&queues_of(&gang, 0)[w], number_of(&gang, 0), k % 2, 0)) >= 0; k++) {
            taken++;
            sum += id;
        }
    CHECK(taken == count && sum == count * (count - 1) / 2);
    fill_queues(&gang, later);
    CHECK(queues_of(&gang, later) == queues_of(&gang, 0) && gang.panel[later].tile_count > 0);
    CHECK(take_tile(queues_of(&gang, 0), number_of(&gang, 0), 0, 0) == -1);
    CHECK(take_tile(queues_of(&gang, later), number_of(&gang, later), 0, 0) == 0);
    hs__run_free(&run);
}

int main(void)
{
    hs_kernel_init();
    state_is_small();
    queues();
    return check_result();
}
