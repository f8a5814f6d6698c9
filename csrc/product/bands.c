/* How the domains of a machine share one box.
 *
 *   1. man      The workers of each domain form a crew.
 *   2. divide   The box is halved again and again over the crews, by their speeds; each crew's
 *               share is cut into bands.
 *   3. provide  Each band gets memory for the tables of the gang of any crew, because any crew may
 *               take it.
 *   4. work     The members of a crew follow one list of bands (crew->first, then band->next), so
 *               that all of them compute the same bands in the same order. The member that first
 *               reaches the end of the list takes the lock and appends a band: the next own one,
 *               else one stolen from the crew that would end last (choose).
 *
 * Bands of other crews are stolen from the back. A part of the last band of a share is cut off, so
 * that another crew can still take some of the work when the rest has begun. */
#include "product/bands.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "product/triangle.h"
#include "threads/wait.h"

/* ---- crews ----------------------------------------------------------------------------------- */

/* Assigns each worker to the crew of its domain and adds up the speeds. */
static hs_status man(hs__bands *x, const hs__kernel *kernel, const double *speeds, int alone)
{
    const hs__domains *domains = hs__pool_domains(x->run->pool);
    x->workers = alone ? 1 : x->run->workers;
    x->crews = domains->count;
    const size_t workers = (size_t)x->workers;
    /* the second half is for the two arrays that follow */
    double *all = hs__run_zeros(x->run, 2 * workers, sizeof *all);
    x->crew = hs__run_zeros(x->run, (size_t)x->crews, sizeof *x->crew);
    if (!all || !x->crew) return HS_ERROR_MEMORY;
    int32_t *of = (int32_t *)(all + workers);
    int32_t *member = of + workers;
    for (int32_t w = 0; w < x->workers; w++) {
        hs__crew *crew = &x->crew[of[w] = hs__domain_of(domains, w)];
        if (crew->members == 0) crew->lead = w;
        member[w] = crew->members++;
        crew->speed += alone ? 1.0 : speeds[w];
    }
    for (int32_t c = 0; c < x->crews; all += x->crew[c++].members) {
        x->crew[c].speeds = all;
        x->crew[c].kernel = &kernel[c];
    }
    for (int32_t w = 0; w < x->workers; w++) {
        hs__crew *crew = &x->crew[of[w]];
        crew->speeds[member[w]] = alone || !(crew->speed > 0.0) ? 1.0 : speeds[w];
    }
    x->crew_of = of;
    x->member = member;
    return HS_OK;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/* In columns or rows. LEAST: of half of a box that is divided further. TAIL: of the small last band
 * of a share. */
enum { LEAST = 128, TAIL = 192 };

/* Returns the part of a box with lines (columns, or rows) first .. first + count - 1. */
static hs_box part_of(const hs_box *box, int by_rows, int64_t first, int64_t count)
{
    hs_box part = *box;
    if (by_rows) {
        part.row += first;
        part.height = count;
    } else {
        part.col += first;
        part.width = count;
    }
    return part;
}

static double work_of(const hs__bands *x, const hs_box *box)
{
    const hs__triangle triangle = hs__triangle_of(x->product, box->row, box->col);
    return hs__triangle_elements(&triangle, 0, box->height, 0, box->width);
}

/* Returns the least number of lines that have at least that much work. */
static int64_t lines_for(const hs__bands *x, const hs_box *box, int by_rows, int64_t lines,
                         double work)
{
    int64_t low = 0;
    int64_t high = lines;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const hs_box part = part_of(box, by_rows, 0, middle);
        if (work_of(x, &part) < work) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Cuts a share of `lines` lines into bands of at most `most` lines, and returns their number. A
 * part of the last band is cut off so that another crew can take it. Writes the end of each band to
 * `end` unless that is NULL. */
static int32_t cut_share(int64_t lines, int64_t most, int64_t unit, int several, int64_t *end)
{
    const int64_t each = several ? hs__even_parts(lines, most, unit) : lines;
    int32_t count = 0;
    for (int64_t at = 0; at < lines; count++) {
        int64_t size = hs__min(each, lines - at);
        if (several && at + size == lines && size / 4 >= TAIL) size -= size / 4 / unit * unit;
        at += size;
        if (end) end[count] = at;
    }
    return count;
}

/* Divides a box over crews, recursively: half of the crews get half of the box, in proportion to
 * their speeds, along its longer side. Nearly square shares need little packing of A and B. A box
 * too small to divide goes to the fastest of its crews. turned: which side of a square counts as
 * the longer one. */
static void deal(const hs__bands *x, hs_box box, const int32_t *crews, int32_t count, int turned,
                 const hs__panel_product *seen, hs_box *share)
{
    const int by_rows = box.height == box.width ? turned : box.height > box.width;
    const int64_t lines = by_rows ? box.height : box.width;
    const int64_t unit = by_rows == turned ? hs__col_unit(seen) : hs__row_unit(seen);
    if (count == 1 || lines < 2 * LEAST) {
        int32_t best = crews[0];
        for (int32_t i = 1; i < count; i++)
            if (x->crew[crews[i]].speed > x->crew[best].speed) best = crews[i];
        share[best] = box;
        return;
    }
    double total = 0.0;
    double sum = x->crew[crews[0]].speed;
    for (int32_t i = 0; i < count; i++) total += x->crew[crews[i]].speed;
    int32_t first = 1;
    for (; first + 1 < count && sum + x->crew[crews[first]].speed / 2 < total / 2; first++)
        sum += x->crew[crews[first]].speed;
    const int64_t exact = lines_for(x, &box, by_rows, lines, work_of(x, &box) * (sum / total));
    const int64_t at = hs__min((exact + unit / 2) / unit * unit, lines);
    deal(x, part_of(&box, by_rows, 0, at), crews, first, turned, seen, share);
    deal(x, part_of(&box, by_rows, at, lines - at), crews + first, count - first, turned, seen,
         share);
}

/* How a share is cut into bands: its `lines` are the rows or columns that are divided. They are the
 * columns of C as the kernel sees it, since then each operand is packed as often as without a cut;
 * but they are the rows if that dimension is much longer. */
typedef struct {
    int by_rows, several; /* several: other crews may take bands */
    int64_t lines, most, unit;
} cut;

static cut cut_of(const hs__bands *x, const hs__panel_product *seen)
{
    const int across = seen->c.rows > 2 * seen->c.cols;
    const int64_t most = seen->kernel->cols / (1 + seen->complex);
    const int64_t unit = across ? hs__row_unit(seen) : hs__col_unit(seen);
    return (cut){.by_rows = seen->turned != across,
                 .several = x->crews > 1,
                 .lines = across ? seen->c.rows : seen->c.cols,
                 .most = hs__max(most, unit),
                 .unit = unit};
}

/* Returns the cut of a crew's share, with 0 lines if it has no share or nothing to multiply. */
static cut cut_share_of(const hs__bands *x, const hs__crew *crew, const hs_box *share)
{
    hs__panel_product seen;
    if (!crew->members ||
        !hs__panel_product_init(&seen, crew->kernel, x->product, share, x->layers, crew->members))
        return (cut){0};
    return cut_of(x, &seen);
}

/* Makes the bands of one crew, stored from x->band[x->count] on. */
static void fill_share(hs__bands *x, hs__crew *crew, const hs_box *share, const cut *cuts,
                       int64_t *end)
{
    const int32_t bands = cut_share(cuts->lines, cuts->most, cuts->unit, cuts->several, end);
    crew->own = x->band + x->count;
    for (int32_t i = 0; i < bands; i++) {
        const int64_t first = i ? end[i - 1] : 0;
        hs__band *band = &x->band[x->count];
        band->box = part_of(share, cuts->by_rows, first, end[i] - first);
        band->work = work_of(x, &band->box);
        if (!(band->work > 0.0)) continue; /* outside of the triangle */
        crew->rest += band->work;
        x->count++;
        crew->back++;
    }
}

static hs_status make_bands(hs__bands *x, const hs_box *share)
{
    int64_t count = 0;
    int64_t most = 0;
    for (int32_t c = 0; c < x->crews; c++) {
        const cut cuts = cut_share_of(x, &x->crew[c], &share[c]);
        if (!cuts.lines) continue;
        if (cuts.lines / cuts.most > INT32_MAX / 4) return HS_ERROR_MEMORY;
        const int32_t bands = cut_share(cuts.lines, cuts.most, cuts.unit, cuts.several, NULL);
        count += bands;
        most = hs__max(most, bands);
    }
    if (count > INT32_MAX) return HS_ERROR_MEMORY;
    int64_t one;
    int64_t *end = most > 1 ? hs__run_zeros(x->run, (size_t)most, sizeof *end) : &one;
    x->band = hs__run_zeros(x->run, (size_t)count, sizeof *x->band);
    if (!x->band || !end) return HS_ERROR_MEMORY;
    for (int32_t c = 0; c < x->crews; c++) {
        const cut cuts = cut_share_of(x, &x->crew[c], &share[c]);
        x->crew[c].own = x->band;
        if (cuts.lines) fill_share(x, &x->crew[c], &share[c], &cuts, end);
    }
    atomic_store(&x->left, x->count);
    return HS_OK;
}

/* Divides the box over the crews that have a speed, then makes their bands. */
static hs_status divide(hs__bands *x, const hs_box *box, const hs__panel_product *seen)
{
    if (x->crews == 1) return make_bands(x, box);
    int32_t *crews = hs__run_zeros(x->run, (size_t)x->crews, sizeof *crews);
    int32_t count = 0;
    hs_box *share = hs__run_zeros(x->run, (size_t)x->crews, sizeof *share);
    if (!crews || !share) return HS_ERROR_MEMORY;
    for (int32_t c = 0; c < x->crews; c++)
        if (x->crew[c].speed > 0.0) crews[count++] = c;
    deal(x, *box, crews, count, seen->turned, seen, share);
    return make_bands(x, share);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t panel_space(const hs__panel_product *x)
{
    return (hs__panel_bytes(x) + 4095) / 4096 * 4096;
}

static size_t larger(size_t x, size_t y) { return x > y ? x : y; }

/* Raises *tables to the bytes of a band's tables, and the crew's needs to what it takes for the
 * band. */
static hs_status need(const hs__bands *x, hs__crew *crew, const hs__band *band, size_t *tables,
                      int64_t *tiles)
{
    hs__panel_product product;
    size_t bytes;
    if (!hs__panel_product_init(&product, crew->kernel, x->product, &band->box, x->layers,
                                crew->members))
        return HS_OK;
    const hs_status status = hs__gang_measure(&product, crew->members, crew->speeds, &bytes, tiles);
    if (status) return status;
    const int64_t panels =
        hs__ceil_div(product.c.cols, product.panel_cols) * hs__level_count(&product);
    if (product.buffers > 1 && (x->count > 1 || panels > 1)) crew->buffers = 2;
    *tables = larger(*tables, bytes);
    crew->panel_space = larger(crew->panel_space, panel_space(&product));
    crew->block = larger(crew->block, hs__block_bytes(&product));
    return HS_OK;
}

static int are_equal(const hs__band *x, const hs__band *y)
{
    return x->box.height == y->box.height && x->box.width == y->box.width;
}

/* Does so for all bands, as a crew may take any of them. The bands of a share have two or three
 * sizes, but with a triangle each is different. */
static hs_status need_all(hs__bands *x, hs__crew *crew, size_t *tables)
{
    int64_t tiles = 0;
    for (int32_t i = 0; i < x->count; i++) {
        const hs__band *band = &x->band[i];
        if (i == 0 || x->product->triangle || !are_equal(band, band - 1)) {
            const hs_status status = need(x, crew, band, tables, &tiles);
            if (status) return status;
        }
        if (band >= crew->own && band < crew->own + crew->back) x->run->total += tiles;
    }
    return HS_OK;
}

/* Takes memory for the gang of each band, for any crew, and scratch for the packed operands. */
static hs_status provide(hs__bands *x)
{
    size_t tables = 0;
    for (int32_t c = 0; c < x->crews; c++) {
        hs__crew *crew = &x->crew[c];
        if (!crew->members) continue;
        crew->buffers = 1;
        const hs_status status = need_all(x, crew, &tables);
        if (status) return status;
        if (!hs__pool_scratch(x->run->pool, HS__PANELS, crew->lead,
                              crew->panel_space * (size_t)crew->buffers))
            return HS_ERROR_MEMORY;
    }
    char *room = hs__run_zeros(x->run, (size_t)x->count * (tables / 64), 64);
    if (!room) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < x->count; i++) x->band[i].room = room + (size_t)i * tables;
    for (int32_t w = 0; w < x->workers; w++)
        if (!hs__pool_scratch(x->run->pool, HS__BLOCKS, w, x->crew[x->crew_of[w]].block))
            return HS_ERROR_MEMORY;
    return HS_OK;
}

hs_status hs__bands_open(hs__bands *x, hs__run *run, const hs_product *product, const hs_box *box,
                         const hs__in_layers *layers, const hs__kernel *kernel,
                         const double *speeds, int alone)
{
    *x = (hs__bands){.run = run, .product = product, .layers = layers};
    if (pthread_mutex_init(&x->lock, NULL)) return HS_ERROR_MEMORY;
    x->opened = 1;
    hs_status status = man(x, kernel, speeds, alone);
    if (status) return status;
    hs__panel_product seen;
    if (!hs__panel_product_init(&seen, x->crew[0].kernel, product, box, layers, x->crew[0].members))
        return HS_OK;
    status = divide(x, box, &seen);
    return status ? status : provide(x);
}

void hs__bands_close(hs__bands *x)
{
    if (x->opened) pthread_mutex_destroy(&x->lock);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Returns the crew that needs the longest to end, and how long: for its own bands that are not
 * taken, and for half of the band that it has begun. NULL: all bands are taken. */
static hs__crew *latest(const hs__bands *x, double *seconds)
{
    hs__crew *found = NULL;
    for (int32_t c = 0; c < x->crews; c++) {
        hs__crew *crew = &x->crew[c];
        if (crew->front == crew->back) continue;
        const double rest = crew->rest + (crew->last ? crew->last->work / 2 : 0.0);
        const double time = crew->last && crew->speed > 0.0 ? rest / crew->speed : INFINITY;
        if (!found || time > *seconds) {
            found = crew;
            *seconds = time;
        }
    }
    return found;
}

/* Chooses the next band of a crew: its own next one from the front. Else it steals from the back of
 * the crew that would end last, if that crew needs longer for its work than this one for the stolen
 * band. NULL: neither. */
static hs__band *choose(hs__bands *x, hs__crew *crew)
{
    double seconds = 0.0;
    hs__crew *from = crew->front < crew->back ? crew : latest(x, &seconds);
    if (!from) return NULL;
    /* a crew without a speed steals only from a crew that has not begun */
    if (from != crew && seconds < from->own[from->back - 1].work / crew->speed) return NULL;
    hs__band *band = from == crew ? &crew->own[crew->front++] : &from->own[--from->back];
    from->rest -= band->work;
    return band;
}

static void take(hs__bands *x, hs__crew *crew, hs__band *band)
{
    hs__panel_product product;
    /* sized before the run */
    char *panels = hs__pool_scratch(x->run->pool, HS__PANELS, crew->lead, 0);
    hs__panel_product_init(&product, crew->kernel, x->product, &band->box, x->layers,
                           crew->members);
    hs__gang_place(&band->gang, &product, crew->members, crew->speeds, crew->front == crew->back,
                   crew->last ? &crew->last->gang : NULL, band->room);
    band->gang.panels[0] = panels;
    band->gang.panels[1] = panels + (size_t)(crew->buffers - 1) * crew->panel_space;
    crew->last = band;
}

typedef struct {
    const hs__bands *bands;
    _Atomic(hs__band *) *next;
} turn;

static int is_decided(const void *what)
{
    const turn *x = what;
    return atomic_load(x->next) || !atomic_load(&x->bands->left);
}

/* Takes the lock. Returns 0, without the lock, after a cancel. It does not block: the worker that
 * holds the lock may have lost its core and need help. */
static int lock_bands(hs__bands *x, hs__member *self)
{
    for (unsigned rounds = 0; pthread_mutex_trylock(&x->lock); hs__relax(&rounds)) {
        if (rounds % 1024 == 0) hs__help_along(self);
        if (hs__stopped(self)) return 0;
    }
    return 1;
}

/* Returns the band that the crew computes after `now`; with NULL, its first one. NULL: none is
 * left. A worker that finds no profitable steal stays until every band is taken, so that the bands
 * of a crew that never starts are still computed. */
static hs__band *next_band(hs__bands *x, hs__crew *crew, hs__band *now, hs__member *self)
{
    const turn what = {x, now ? &now->next : &crew->first};
    while (!hs__stopped(self)) {
        /* Read before the band, which is stored before `left` is lowered. */
        const int32_t left = atomic_load(&x->left);
        hs__band *next = atomic_load(what.next);
        if (next || !left) return next;
        if (!lock_bands(x, self)) return NULL;
        if (!(next = atomic_load(what.next)) && (next = choose(x, crew))) {
            take(x, crew, next);
            atomic_store(what.next, next);
            atomic_fetch_sub(&x->left, 1);
        }
        pthread_mutex_unlock(&x->lock);
        if (next) {
            if (self->run->signals) hs__signal_send(self->run->signals);
            return next;
        }
        hs__await_others(self, is_decided, &what);
    }
    return NULL;
}

double hs__bands_work(hs__bands *x, int32_t worker, void *block, hs__member *self)
{
    hs__crew *crew = &x->crew[x->crew_of[worker]];
    double done = 0.0;
    for (hs__band *band = NULL; (band = next_band(x, crew, band, self));)
        done += hs__gang_work(&band->gang, x->member[worker], block, self);
    return done;
}

void hs__bands_wait(const hs__bands *x, hs__member *self)
{
    /* after a cancel some gangs may be incomplete */
    for (int32_t i = 0; i < x->count && !hs__stopped(self); i++)
        hs__gang_wait(&x->band[i].gang, self);
}
