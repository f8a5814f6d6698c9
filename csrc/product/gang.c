/* How the members of a gang compute a box together.
 *
 * The columns of C are cut into groups of panel_cols columns, and the inner dimension into slabs. A
 * panel is the part of B in one slab and one group of columns; panels are computed in order, all
 * slabs of a group before the next group. The rows and columns of C in a group are cut into tiles,
 * planned for the members in proportion to their speeds (deal_tiles). For each panel a member does
 * the following (hs__gang_work):
 *
 *   1. It waits until the panel that the buffer held before is finished.
 *   2. It packs chunks of B, which all members take from one counter, and waits until all chunks
 *      are packed.
 *   3. It computes tiles from the front of its own queue, then steals tiles from the back of the
 *      other members' queues.
 *
 * There is no barrier: members wait for three counters only, the packed chunks of a panel, its
 * finished tiles, and the panels that have been added to a tile. With two buffers a member that
 * finishes early packs the next panel while the other members still compute this one.
 *
 * Example: two members with speeds 2 and 1 and a panel of 9 tiles. Member 0 gets tiles 0 to 5,
 * member 1 tiles 6 to 8. If member 1 is late and still computes tile 6 when member 0 has done tile
 * 5, member 0 steals tile 8. It leaves tile 7 to its owner, which is likely to reach it before a
 * thief would finish it, unless this is the last panel. */
#include "product/gang.h"

#include <math.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/tuning.h"
#include "threads/wait.h"

enum { MOST_TILES = (1 << 24) - 1 }; /* in one panel: its queues can count no more */

/* ---- layout ---------------------------------------------------------------------------------- */

/* Returns the rows of the next tile where `left` rows of a part are left. Tiles are equal, but in
 * the last panel they become shorter and shorter, so that members end together. */
static int64_t next_rows(const hs__panel_product *x, int64_t left, int last)
{
    const int64_t equal = hs__even_parts(left, x->block_rows, hs__row_unit(x));
    const int64_t half = hs__round_up(hs__ceil_div(left, 2), hs__row_unit(x));
    return last && half < equal && half >= HS__TILE_ROWS ? half : equal;
}

/* A position among the units (micro-tiles) of a panel's columns, counted row by row, and the number
 * of computed units before it. col 0: no unit of this row lies before it. */
typedef struct {
    int64_t row, col;
    double units;
} unit_position;

/* Finds the units *from .. *to - 1 of `rows` rows of units, beginning at row `row`, that meet the
 * triangle within the columns of a panel. */
static void units_of_row(const hs__panel_product *x, int64_t panel_col, int64_t cols, int64_t row,
                         int64_t rows, int64_t *from, int64_t *to)
{
    const int64_t mu = hs__row_unit(x);
    const int64_t nu = hs__col_unit(x);
    const int64_t end = panel_col + cols;
    hs__triangle_columns(&x->triangle, row * mu, hs__min(rows * mu, x->c.rows - row * mu), end,
                         from, to);
    *from = hs__max(*from - panel_col, 0) / nu;
    *to = hs__max(hs__ceil_div(*to - panel_col, nu), *from);
}

/* Returns the first row of units that has such a unit. */
static int64_t first_row(const hs__panel_product *x, int64_t panel_col)
{
    if (x->triangle.which != HS_TRIANGLE_LOWER) return 0;
    return hs__max(panel_col + x->triangle.diagonal, 0) / hs__row_unit(x);
}

/* Returns the position with `units` computed units before it; it is not before `at`. */
static unit_position advance_position(const hs__panel_product *x, int64_t panel_col, int64_t cols,
                                      unit_position at, double units)
{
    const int64_t col_units = hs__ceil_div(cols, hs__col_unit(x));
    const int64_t row_units = hs__ceil_div(x->c.rows, hs__row_unit(x));
    if (!x->triangle.which) {
        const int64_t row = (int64_t)floor(units / (double)col_units);
        if (row >= row_units) return (unit_position){row_units, 0, units};
        return (unit_position){row, (int64_t)(units - (double)row * (double)col_units), units};
    }
    while (at.units < units && at.row < row_units) {
        int64_t from, to;
        units_of_row(x, panel_col, cols, at.row, 1, &from, &to);
        from = hs__max(from, at.col);
        if (at.units + (double)(to - from) > units)
            return (unit_position){at.row, from + (int64_t)(units - at.units), units};
        at = (unit_position){at.row + 1, 0, at.units + (double)hs__max(to - from, 0)};
    }
    return at;
}

/* Lays out the tiles of one panel's columns and returns their number. The units, row by row, are
 * divided in proportion to speed, so that the parts are even to a fraction of a micro-row; whole
 * rows of units are then cut into blocks. With a triangle only units that meet it count, and a tile
 * is as wide as the triangle is there. Writes to tile and first unless they are NULL; the tiles of
 * member w are first[w] .. first[w + 1] - 1. */
static int32_t deal_tiles(const hs__panel_product *x, int64_t panel_col, int64_t cols, int last,
                          int32_t members, const double *speeds, hs__tile *tile, int32_t *first)
{
    const int64_t mu = hs__row_unit(x);
    const int64_t nu = hs__col_unit(x);
    const int64_t row_units = hs__ceil_div(x->c.rows, mu);
    const int64_t col_units = hs__ceil_div(cols, nu);
    unit_position at = {.row = first_row(x, panel_col)}; /* next unit to divide */
    double units = (double)row_units * (double)col_units;
    if (x->triangle.which) units = advance_position(x, panel_col, cols, at, INFINITY).units;
    double total = 0.0;
    double sum = 0.0;
    for (int32_t w = 0; w < members; w++) total += speeds ? speeds[w] : 1.0;

    int32_t count = 0;
    for (int32_t w = 0; w < members; w++) {
        if (first) first[w] = count;
        sum += speeds ? speeds[w] : 1.0;
        const unit_position end = advance_position(
            x, panel_col, cols, at, w + 1 == members ? units : floor(units * (sum / total) + 0.5));
        while (at.row < end.row || (at.row == end.row && at.col < end.col)) {
            int64_t rows = 1;
            int64_t from, to;
            if (at.row < end.row && at.col == 0)
                rows = next_rows(x, (end.row - at.row) * mu, last) / mu;
            units_of_row(x, panel_col, cols, at.row, rows, &from, &to);
            from = hs__max(from, at.col);
            const int ends = at.row < end.row;
            if (!ends) to = end.col;
            if (tile && from < to) {
                tile[count] = (hs__tile){.row = at.row * mu, .col = from * nu};
                tile[count].rows = hs__min(rows * mu, x->c.rows - at.row * mu);
                tile[count].cols = hs__min(to * nu, cols) - from * nu;
            }
            count += from < to;
            at = ends ? (unit_position){at.row + rows, 0, 0.0} : end;
        }
        at = end;
    }
    if (first) first[members] = count;
    return count;
}

/* Returns the number of slots for queues. Few slots keep the table small, but panels that use the
 * same slot must differ in a number of 16 bits. */
static int32_t slots_for(int64_t panels)
{
    enum { LEAST = 4, NUMBERS = UINT16_MAX - 1 };
    const int64_t needed = hs__ceil_div(panels, NUMBERS);
    return (int32_t)(needed > LEAST ? needed : LEAST);
}

/* Returns the rows of gang->first. Without a triangle there are two: all groups of columns are
 * divided alike, except the last, which ends the run. With a triangle each group differs. */
static int64_t deals_of(const hs__panel_product *x)
{
    return x->triangle.which ? hs__ceil_div(x->c.cols, x->panel_cols) : 2;
}
static int32_t *first_of(const hs__gang *gang, int64_t col)
{
    const int64_t j = col / gang->x.panel_cols;
    const int64_t last = col + gang->x.panel_cols >= gang->x.c.cols;
    return gang->first + (gang->members + 1) * (gang->x.triangle.which ? j : last);
}

/* Lays out the panels of one group of columns, slab by slab, and its tiles from *next on. */
static void lay_out_columns(hs__gang *gang, int64_t j, int last, const double *speeds,
                            int64_t *next)
{
    enum { UNITS_PER_CHUNK = 4 };
    const hs__panel_product *x = &gang->x;
    const int64_t slabs = hs__slab_count(x);
    const int64_t col = j * x->panel_cols;
    const int64_t cols = hs__min(x->panel_cols, x->c.cols - col);
    const int32_t count = deal_tiles(x, col, cols, last && gang->members > 1, gang->members, speeds,
                                     gang->tile + *next, first_of(gang, col));
    for (int64_t l = 0; l < slabs; l++) {
        hs__panel *panel = &gang->panel[j * slabs + l];
        *panel = (hs__panel){.col = col,
                             .cols = cols,
                             .before = (int32_t)l,
                             .tile_first = (int32_t)*next,
                             .tile_count = count,
                             .chunk_count = (int32_t)hs__ceil_div(
                                 hs__ceil_div(cols, hs__col_unit(x)), UNITS_PER_CHUNK)};
        hs__slab_at(x, l, &panel->depth, &panel->length);
    }
    *next += count;
}

/* Lays out the tables one after the other and returns where they end. The tiles come last, so that
 * their number does not matter to the other tables. */
static size_t lay_out_tables(hs__gang *gang, int64_t tiles, char *room)
{
    const size_t count = (size_t)gang->members;
    size_t at = 0;
#define LAY_OUT(WHICH, COUNT)                                  \
    do {                                                       \
        if (room) gang->WHICH = (void *)(room + at);           \
        at = (at + (COUNT) * sizeof *gang->WHICH + 7) / 8 * 8; \
    } while (0)
    LAY_OUT(panel, (size_t)gang->panel_count);
    LAY_OUT(queue, (size_t)gang->slots * count);
    LAY_OUT(first, (size_t)deals_of(&gang->x) * (count + 1));
    LAY_OUT(present, count);
    LAY_OUT(tile, (size_t)tiles);
#undef LAY_OUT
    return (at + 63) / 64 * 64;
}

/* Fills in the fields that need no tables. Returns 0 if there are too many panels. */
static int begin_layout(hs__gang *gang, const hs__panel_product *x, int32_t members)
{
    const int64_t col_panels = hs__ceil_div(x->c.cols, x->panel_cols);
    const int64_t slabs = hs__slab_count(x);
    *gang = (hs__gang){.x = *x, .members = members};
    if (col_panels > INT32_MAX / slabs) return 0;
    gang->panel_count = col_panels * slabs;
    gang->slots = slots_for(gang->panel_count);
    return 1;
}

/* Returns the number of tiles of all columns, each counted once for all slabs; -1: too many. It
 * counts for a gang that ends together, which has the most tiles. */
static int64_t count_tiles(const hs__panel_product *x, int32_t members, const double *speeds)
{
    const int64_t col_panels = hs__ceil_div(x->c.cols, x->panel_cols);
    const int64_t alike = x->triangle.which ? 1 : hs__max(col_panels - 1, 1);
    int64_t tiles = 0;
    int64_t most = 0;
    for (int64_t j = 0; j < col_panels; j += j + 1 < col_panels ? alike : 1) {
        const int64_t col = j * x->panel_cols;
        const int64_t cols = hs__min(x->panel_cols, x->c.cols - col);
        const int64_t last = j + 1 == col_panels;
        const int64_t count =
            deal_tiles(x, col, cols, last && members > 1, members, speeds, NULL, NULL);
        tiles += last ? count : alike * count;
        most = hs__max(most, count);
    }
    return tiles > INT32_MAX || most > MOST_TILES ? -1 : tiles;
}

hs_status hs__gang_measure(const hs__panel_product *x, int32_t members, const double *speeds,
                           size_t *bytes, int64_t *tiles)
{
    hs__gang gang;
    if (!begin_layout(&gang, x, members)) return HS_ERROR_VALUE;
    const int64_t count = count_tiles(x, members, speeds);
    if (count < 0) return HS_ERROR_MEMORY;
    *bytes = lay_out_tables(&gang, count, NULL);
    *tiles = count * hs__slab_count(x);
    return HS_OK;
}

/* Continues where an earlier gang of the same members ends: its last two panels must be finished
 * before their buffers are used again. */
static void follow_gang(hs__gang *gang, const hs__gang *after)
{
    const int64_t count = after->panel_count;
    gang->first_buffer = (int32_t)((after->first_buffer + count) & 1);
    gang->before[0] = count > 1 ? &after->panel[count - 2] : after->before[1];
    gang->before[1] = &after->panel[count - 1];
}

void hs__gang_place(hs__gang *gang, const hs__panel_product *x, int32_t members,
                    const double *speeds, int32_t ends, const hs__gang *after, void *room)
{
    begin_layout(gang, x, members);
    gang->ends = ends;
    if (after) follow_gang(gang, after);
    lay_out_tables(gang, 0, room);
    const int64_t col_panels = hs__ceil_div(x->c.cols, x->panel_cols);
    int64_t next = 0;
    for (int64_t j = 0; j < col_panels; j++)
        lay_out_columns(gang, j, ends && j + 1 == col_panels, speeds, &next);
}

hs_status hs__gang_init(hs__gang *gang, hs__run *run, const hs__panel_product *x, int32_t members,
                        const double *speeds)
{
    size_t bytes;
    int64_t tiles;
    const hs_status status = hs__gang_measure(x, members, speeds, &bytes, &tiles);
    if (status) return status;
    char *room = hs__run_zeros(run, bytes / 64, 64);
    if (!room) return HS_ERROR_MEMORY;
    hs__gang_place(gang, x, members, speeds, 1, NULL, room);
    run->total += tiles;
    return HS_OK;
}

/* ---- the member's loop ----------------------------------------------------------------------- */

typedef struct {
    const _Atomic int32_t *counter;
    int32_t value;
} counter_goal;

static int is_reached(const void *what)
{
    const counter_goal *goal = what;
    return atomic_load(goal->counter) >= goal->value;
}

/* Waits for a counter that other members raise. A tile that is done does not always wake the
 * members that wait for it, as a wake-up costs more than it gains: they look again after a
 * while. */
static void wait_until(hs__member *self, const _Atomic int32_t *counter, int32_t value)
{
    const counter_goal what = {counter, value};
    if (!is_reached(&what)) hs__await_others(self, is_reached, &what);
}

/* Counts one part of a panel. The last part wakes the members that wait for the panel. */
static void count_one(const hs__run *run, _Atomic int32_t *counter, int32_t all)
{
    if (atomic_fetch_add(counter, 1) + 1 == all && run->signals) hs__signal_send(run->signals);
}

void hs__gang_wait(const hs__gang *gang, hs__member *self)
{
    /* A panel is packed only when the last but one is finished, so these two are the last. */
    for (int64_t at = gang->panel_count > 2 ? gang->panel_count - 2 : 0; at < gang->panel_count;
         at++)
        wait_until(self, &gang->panel[at].finished, gang->panel[at].tile_count);
}

/* ---- queues ---------------------------------------------------------------------------------- */

enum { FIELD = 24 }; /* bits of a number of tiles; MOST_TILES fit */

static hs__queue *queues_of(const hs__gang *gang, int64_t at)
{
    return gang->queue + at % gang->slots * gang->members;
}

/* Returns the number of a panel within its slot, from 1 on; 0 stands for no panel. */
static uint64_t number_of(const hs__gang *gang, int64_t at)
{
    return (uint64_t)(at / gang->slots + 1);
}

static uint64_t queue_of(uint64_t number, int32_t next, int32_t end)
{
    return number << 2 * FIELD | (uint64_t)end << FIELD | (uint64_t)next;
}

/* Fills the members' queues for a panel. The queues of the panel before in this slot are empty, as
 * that panel is finished. */
static void fill_queues(hs__gang *gang, int64_t at)
{
    const int32_t *first = first_of(gang, gang->panel[at].col);
    hs__queue *queues = queues_of(gang, at);
    for (int32_t w = 0; w < gang->members; w++)
        atomic_store_explicit(&queues[w], queue_of(number_of(gang, at), first[w], first[w + 1]),
                              memory_order_relaxed);
}

/* Takes a tile: the owner takes from the front, other members from the back unless only `leave`
 * tiles are left. -1: none. */
static int32_t take_tile(hs__queue *queue, uint64_t number, int from_back, int32_t leave)
{
    const uint64_t field = ((uint64_t)1 << FIELD) - 1;
    uint64_t now = atomic_load_explicit(queue, memory_order_relaxed);
    for (;;) {
        const int32_t next = (int32_t)(now & field);
        const int32_t end = (int32_t)(now >> FIELD & field);
        if (now >> 2 * FIELD != number || end - next <= leave) return -1;
        const uint64_t then =
            from_back ? queue_of(number, next, end - 1) : queue_of(number, next + 1, end);
        if (atomic_compare_exchange_strong_explicit(queue, &now, then, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return from_back ? end - 1 : next;
    }
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Packs chunks of a panel until none is left. The member that packs the first chunk also fills the
 * queues: no member reads them before all chunks are packed. */
static void pack_panel(hs__gang *gang, const hs__run *run, int64_t at, char *packed)
{
    const hs__panel_product *x = &gang->x;
    hs__panel *panel = &gang->panel[at];
    const int64_t unit = hs__col_unit(x);
    const int64_t width = hs__ceil_div(hs__ceil_div(panel->cols, unit), panel->chunk_count) * unit;
    for (int32_t chunk; (chunk = atomic_fetch_add_explicit(
                             &panel->claimed, 1, memory_order_relaxed)) < panel->chunk_count;) {
        int64_t col = chunk * width;
        int64_t cols = hs__min(width, panel->cols - col);
        if (chunk == 0) fill_queues(gang, at);
        if (cols > 0) hs__pack_columns(x, panel, col, cols, packed);
        count_one(run, &panel->packed, panel->chunk_count);
    }
}

static void end_tile(hs__member *self, double flops, double tile_start)
{
    const hs__run *run = self->run;
    double start = tile_start - run->start;
    if (run->options.pace) {
        start = fmin(start, self->deadline);
        hs__keep_pace(self, flops);
    }
    hs__record(self, HS_COMPUTE, start, hs__since_start(run));
}

double hs__gang_work(hs__gang *gang, int32_t member, void *block, hs__member *self)
{
    hs__run *run = self->run;
    const int timed = hs__records(run) || run->options.pace;
    double done = 0.0;
    const hs__panel_product *x = &gang->x;
    const int32_t members = gang->members;
    const double flops_per_update = x->complex ? 8.0 : 2.0;
    hs__packed_block have = {.row = -1};
    atomic_store_explicit(&gang->present[member], 1, memory_order_relaxed);
    for (int64_t at = 0; at < gang->panel_count && !hs__stopped(self); at++) {
        hs__panel *panel = &gang->panel[at];
        char *packed = gang->panels[(at + gang->first_buffer) & 1];
        const int last = gang->ends && at + 1 == gang->panel_count;
        const hs__panel *old = at >= 2 ? panel - 2 : gang->before[at]; /* in this buffer */
        if (old) wait_until(self, &old->finished, old->tile_count);
        if (hs__stopped(self)) break; /* others may still read the buffer */
        pack_panel(gang, run, at, packed);
        wait_until(self, &panel->packed, panel->chunk_count);

        hs__queue *queues = queues_of(gang, at);
        const uint64_t number = number_of(gang, at);
        for (int32_t offset = 0; offset < members && !hs__stopped(self); offset++) {
            int32_t victim = (member + offset) % members;
            /* Stealing a tile pays if its owner is behind by more than that tile, or if nothing
             * else is left to do. An owner that has not begun may not begin for a long time,
             * because another program is on its core: all its tiles are taken. */
            const int all = offset == 0 || last ||
                            !atomic_load_explicit(&gang->present[victim], memory_order_relaxed);
            for (int32_t id; (id = take_tile(&queues[victim], number, offset > 0, !all)) >= 0 &&
                             !hs__stopped(self);) {
                hs__tile *t = &gang->tile[panel->tile_first + id];
                /* the earlier slabs of this tile, which another member may compute */
                const int32_t before = panel->before;
                wait_until(self, &t->done, before);
                if (hs__stopped(self)) break;
                const double start = timed ? hs_clock() : 0.0;
                hs__compute_tile(x, panel, t, &have, block, packed);
                atomic_store_explicit(&t->done, before + 1, memory_order_release);
                count_one(run, &panel->finished, panel->tile_count);
                hs__count_task(run);
                const double elements = hs__triangle_elements(&x->triangle, t->row, t->rows,
                                                              panel->col + t->col, t->cols);
                const double flops = flops_per_update * elements * (double)panel->length;
                done += flops;
                if (timed) end_tile(self, flops, start);
                hs__attend(self);
            }
        }
    }
    return done;
}
