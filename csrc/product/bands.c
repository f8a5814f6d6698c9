/* How the domains of a machine share one box.
 *
 *   1. Form teams   The workers of each domain form a team.
 *   2. Make shares  The box is halved again and again over the teams, by their speeds
 *                   (schedule/domains.c); each team's share is cut into bands.
 *   3. Take memory  Each band gets memory for the tables of the gang of any team, because any team
 *                   may take it.
 *   4. Compute      The members of a team follow one list of bands (team->first, then band->next),
 *                   so that all of them compute the same bands in the same order. The member that
 *                   first reaches the end of the list takes the lock and appends a band: the next
 *                   own one, else one stolen from the team that would end last (choose_band).
 *
 * Bands of other teams are stolen from the back. A part of the last band of a share is cut off, so
 * that another team can still take some of the work when the rest has begun. */
#include "product/bands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/status.h"
#include "core/tuning.h"
#include "product/triangle.h"
#include "schedule/domains.h"
#include "threads/wait.h"

/* ---- teams ----------------------------------------------------------------------------------- */

/* Assigns each worker to the team of its domain and adds up the speeds. */
static hs_status form_teams(hs__bands *x, const hs__kernel *kernel, const double *speeds, int alone)
{
    const hs__domains *domains = hs__pool_domains(x->run->pool);
    x->workers = alone ? 1 : x->run->workers;
    x->teams = domains->count;
    const size_t workers = (size_t)x->workers;
    /* the second half is for the two arrays that follow */
    double *all = hs__run_zeros(x->run, 2 * workers, sizeof *all);
    x->team = hs__run_zeros(x->run, (size_t)x->teams, sizeof *x->team);
    if (!all || !x->team) return HS_ERROR_MEMORY;
    int32_t *of = (int32_t *)(all + workers);
    int32_t *member = of + workers;
    for (int32_t w = 0; w < x->workers; w++) {
        hs__team *team = &x->team[of[w] = hs__domain_of(domains, w)];
        if (team->members == 0) team->lead = w;
        member[w] = team->members++;
        team->speed += alone ? 1.0 : speeds[w];
    }
    for (int32_t c = 0; c < x->teams; all += x->team[c++].members) {
        x->team[c].speeds = all;
        x->team[c].kernel = &kernel[c];
    }
    for (int32_t w = 0; w < x->workers; w++) {
        hs__team *team = &x->team[of[w]];
        team->speeds[member[w]] = alone || !(team->speed > 0.0) ? 1.0 : speeds[w];
    }
    x->team_of = of;
    x->member = member;
    return HS_OK;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static double work_of(const void *bands, const hs_box *box)
{
    const hs__bands *x = bands;
    const hs__triangle triangle = hs__triangle_of(x->product, box->row, box->col);
    return hs__triangle_elements(&triangle, 0, box->height, 0, box->width);
}

/* Cuts a share of `lines` lines into bands of at most `most` lines, and returns their number. A
 * part of the last band is cut off so that another team can take it. Writes the end of each band to
 * `end` unless that is NULL. */
static int32_t cut_share(int64_t lines, int64_t most, int64_t unit, int several, int64_t *end)
{
    const int64_t each = several ? hs__even_parts(lines, most, unit) : lines;
    int32_t count = 0;
    for (int64_t at = 0; at < lines; count++) {
        int64_t size = hs__min(each, lines - at);
        if (several && at + size == lines && size / 4 >= HS__TAIL_LINES)
            size -= size / 4 / unit * unit;
        at += size;
        if (end) end[count] = at;
    }
    return count;
}

/* How a share is cut into bands: its `lines` are the rows or columns that are divided. They are the
 * columns of C as the kernel sees it, since then each operand is packed as often as without a cut;
 * but they are the rows if that dimension is much longer. */
typedef struct {
    int by_rows, several; /* several: other teams may take bands */
    int64_t lines, most, unit;
} cut;

static cut cut_of(const hs__bands *x, const hs__panel_product *seen)
{
    const int across = seen->c.rows > 2 * seen->c.cols;
    const int64_t most = seen->kernel->cols / (1 + seen->complex);
    const int64_t unit = across ? hs__row_unit(seen) : hs__col_unit(seen);
    return (cut){.by_rows = seen->turned != across,
                 .several = x->teams > 1,
                 .lines = across ? seen->c.rows : seen->c.cols,
                 .most = hs__max(most, unit),
                 .unit = unit};
}

/* Returns the cut of a team's share, with 0 lines if it has no share or nothing to multiply. */
static cut cut_share_of(const hs__bands *x, const hs__team *team, const hs_box *share)
{
    hs__panel_product seen;
    if (!team->members ||
        !hs__panel_product_init(&seen, team->kernel, x->product, share, x->layers, team->members))
        return (cut){0};
    return cut_of(x, &seen);
}

/* Makes the bands of one team, stored from x->band[x->count] on. */
static void fill_share(hs__bands *x, hs__team *team, const hs_box *share, const cut *cuts,
                       int64_t *end)
{
    const int32_t bands = cut_share(cuts->lines, cuts->most, cuts->unit, cuts->several, end);
    team->own = x->band + x->count;
    for (int32_t i = 0; i < bands; i++) {
        const int64_t first = i ? end[i - 1] : 0;
        hs__band *band = &x->band[x->count];
        band->box = hs__part_of_box(share, cuts->by_rows, first, end[i] - first);
        band->work = work_of(x, &band->box);
        if (!(band->work > 0.0)) continue; /* outside of the triangle */
        team->rest += band->work;
        x->count++;
        team->back++;
    }
}

static hs_status make_bands(hs__bands *x, const hs_box *share)
{
    int64_t count = 0;
    int64_t most = 0;
    for (int32_t c = 0; c < x->teams; c++) {
        const cut cuts = cut_share_of(x, &x->team[c], &share[c]);
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
    for (int32_t c = 0; c < x->teams; c++) {
        const cut cuts = cut_share_of(x, &x->team[c], &share[c]);
        x->team[c].own = x->band;
        if (cuts.lines) fill_share(x, &x->team[c], &share[c], &cuts, end);
    }
    atomic_store(&x->left, x->count);
    return HS_OK;
}

/* Divides a box over the teams that have a speed: able [teams] is workspace. */
static void divide_box(const hs__bands *x, const hs_box *box, const hs__panel_product *seen,
                       const double *speeds, int32_t *able, hs_box *share)
{
    int32_t count = 0;
    for (int32_t c = 0; c < x->teams; c++)
        if (speeds[c] > 0.0) able[count++] = c;
    const int64_t row_unit = hs__row_unit(seen);
    const int64_t col_unit = hs__col_unit(seen);
    const hs__division how = {.speeds = speeds,
                              .row_unit = seen->turned ? col_unit : row_unit,
                              .col_unit = seen->turned ? row_unit : col_unit,
                              .least = HS__BAND_LINES,
                              .by_rows = seen->turned,
                              .work = work_of,
                              .context = x};
    hs__divide_box(&how, *box, able, count, share);
}

hs_status hs__bands_zones(const hs__domains *domains, const hs_product *product, int32_t workers,
                          const double *speeds, int64_t *rects)
{
    const size_t teams = (size_t)domains->count;
    hs__kernel *kernel = malloc(teams * sizeof *kernel);
    hs_box *share = calloc(teams, sizeof *share + sizeof(double) + sizeof(int32_t));
    const hs_status status = hs__check_memory(kernel && share);
    if (!status) {
        const hs__bands bands = {.product = product, .teams = domains->count};
        const hs_box whole = {.height = product->m, .width = product->n, .length = product->k};
        double *sums = (double *)(share + teams);
        int32_t members = 0; /* of the first team */
        for (int32_t w = 0; w < workers; w++) {
            const int32_t team = hs__domain_of(domains, w);
            sums[team] += speeds ? speeds[w] : 1.0;
            members += team == 0;
        }
        hs__panel_product seen;
        hs__domain_kernels(domains, kernel);
        if (hs__panel_product_init(&seen, kernel, product, &whole, NULL, members))
            divide_box(&bands, &whole, &seen, sums, (int32_t *)(sums + teams), share);
        hs__write_zones(domains->count, share, rects);
    }
    free(kernel);
    free(share);
    return status;
}

/* Divides the box over the teams that have a speed, then makes their bands. */
static hs_status make_shares(hs__bands *x, const hs_box *box, const hs__panel_product *seen)
{
    if (x->teams == 1) return make_bands(x, box);
    const size_t teams = (size_t)x->teams;
    int32_t *able = hs__run_zeros(x->run, teams, sizeof *able);
    double *speeds = hs__run_zeros(x->run, teams, sizeof *speeds);
    hs_box *share = hs__run_zeros(x->run, teams, sizeof *share);
    if (!able || !speeds || !share) return HS_ERROR_MEMORY;
    for (int32_t c = 0; c < x->teams; c++) speeds[c] = x->team[c].speed;
    divide_box(x, box, seen, speeds, able, share);
    return make_bands(x, share);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t panel_space(const hs__panel_product *x)
{
    return (hs__panel_bytes(x) + 4095) / 4096 * 4096;
}

/* Raises *tables to the bytes of a band's tables, and the team's needs to what it takes for the
 * band. */
static hs_status measure_band(const hs__bands *x, hs__team *team, const hs__band *band,
                              size_t *tables, int64_t *tiles)
{
    hs__panel_product product;
    size_t bytes;
    if (!hs__panel_product_init(&product, team->kernel, x->product, &band->box, x->layers,
                                team->members))
        return HS_OK;
    const hs_status status = hs__gang_measure(&product, team->members, team->speeds, &bytes, tiles);
    if (status) return status;
    const int64_t panels =
        hs__ceil_div(product.c.cols, product.panel_cols) * hs__slab_count(&product);
    if (product.buffers > 1 && (x->count > 1 || panels > 1)) team->buffers = 2;
    *tables = hs__larger(*tables, bytes);
    team->panel_space = hs__larger(team->panel_space, panel_space(&product));
    team->block = hs__larger(team->block, hs__block_bytes(&product));
    return HS_OK;
}

static int are_equal(const hs__band *x, const hs__band *y)
{
    return x->box.height == y->box.height && x->box.width == y->box.width;
}

/* Does so for all bands, as a team may take any of them. The bands of a share have two or three
 * sizes, but with a triangle each is different. */
static hs_status measure_bands(hs__bands *x, hs__team *team, size_t *tables)
{
    int64_t tiles = 0;
    for (int32_t i = 0; i < x->count; i++) {
        const hs__band *band = &x->band[i];
        if (i == 0 || x->product->triangle || !are_equal(band, band - 1)) {
            const hs_status status = measure_band(x, team, band, tables, &tiles);
            if (status) return status;
        }
        if (band >= team->own && band < team->own + team->back) x->run->total += tiles;
    }
    return HS_OK;
}

/* Takes memory for the gang of each band, for any team, and scratch for the packed operands. */
static hs_status take_memory(hs__bands *x)
{
    size_t tables = 0;
    for (int32_t c = 0; c < x->teams; c++) {
        hs__team *team = &x->team[c];
        if (!team->members) continue;
        team->buffers = 1;
        const hs_status status = measure_bands(x, team, &tables);
        if (status) return status;
        if (!hs__pool_scratch(x->run->lease, HS__PANELS, team->lead,
                              team->panel_space * (size_t)team->buffers))
            return HS_ERROR_MEMORY;
    }
    char *room = hs__run_zeros(x->run, (size_t)x->count * (tables / 64), 64);
    if (!room) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < x->count; i++) x->band[i].room = room + (size_t)i * tables;
    for (int32_t w = 0; w < x->workers; w++)
        if (!hs__pool_scratch(x->run->lease, HS__BLOCKS, w, x->team[x->team_of[w]].block))
            return HS_ERROR_MEMORY;
    return HS_OK;
}

hs_status hs__bands_open(hs__bands *bands, hs__run *run, const hs_product *product,
                         const hs_box *box, const hs__in_layers *layers, const hs__kernel *kernel,
                         const double *speeds, int alone)
{
    *bands = (hs__bands){.run = run, .product = product, .layers = layers};
    if (pthread_mutex_init(&bands->lock, NULL)) return HS_ERROR_MEMORY;
    bands->opened = 1;
    hs_status status = form_teams(bands, kernel, speeds, alone);
    if (status) return status;
    hs__panel_product seen;
    if (!hs__panel_product_init(&seen, bands->team[0].kernel, product, box, layers,
                                bands->team[0].members))
        return HS_OK;
    status = make_shares(bands, box, &seen);
    if (status) return status;
    return take_memory(bands);
}

void hs__bands_close(hs__bands *bands)
{
    if (bands->opened) pthread_mutex_destroy(&bands->lock);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Returns the team that needs the longest to end, and how long: for its own bands that are not
 * taken, and for half of the band that it has begun. NULL: all bands are taken. */
static hs__team *find_last_team(const hs__bands *x, double *seconds)
{
    hs__team *found = NULL;
    for (int32_t c = 0; c < x->teams; c++) {
        hs__team *team = &x->team[c];
        if (team->front == team->back) continue;
        const double rest = team->rest + (team->last ? team->last->work / 2 : 0.0);
        const double time = team->last && team->speed > 0.0 ? rest / team->speed : INFINITY;
        if (!found || time > *seconds) {
            found = team;
            *seconds = time;
        }
    }
    return found;
}

/* Chooses the next band of a team: its own next one from the front. Else it steals from the back of
 * the team that would end last, if that team needs longer for its work than this one for the stolen
 * band. NULL: neither. */
static hs__band *choose_band(hs__bands *x, hs__team *team)
{
    double seconds = 0.0;
    hs__team *from = team->front < team->back ? team : find_last_team(x, &seconds);
    if (!from) return NULL;
    /* a team without a speed steals only from a team that has not begun */
    if (from != team && seconds < from->own[from->back - 1].work / team->speed) return NULL;
    hs__band *band = from == team ? &team->own[team->front++] : &from->own[--from->back];
    from->rest -= band->work;
    return band;
}

static void take_band(hs__bands *x, hs__team *team, hs__band *band)
{
    hs__panel_product product;
    /* sized before the run */
    char *panels = hs__pool_scratch(x->run->lease, HS__PANELS, team->lead, 0);
    hs__panel_product_init(&product, team->kernel, x->product, &band->box, x->layers,
                           team->members);
    hs__gang_place(&band->gang, &product, team->members, team->speeds, team->front == team->back,
                   team->last ? &team->last->gang : NULL, band->room);
    band->gang.panels[0] = panels;
    band->gang.panels[1] = panels + (size_t)(team->buffers - 1) * team->panel_space;
    team->last = band;
}

typedef struct {
    const hs__bands *bands;
    _Atomic(hs__band *) *next;
} awaited_band;

static int is_decided(const void *what)
{
    const awaited_band *x = what;
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

/* Returns the band that the team computes after `now`; with NULL, its first one. NULL: none is
 * left. A worker that finds no profitable steal stays until every band is taken, so that the bands
 * of a team that never starts are still computed. */
static hs__band *next_band(hs__bands *x, hs__team *team, hs__band *now, hs__member *self)
{
    const awaited_band what = {x, now ? &now->next : &team->first};
    while (!hs__stopped(self)) {
        /* Read before the band, which is stored before `left` is lowered. */
        const int32_t left = atomic_load(&x->left);
        hs__band *next = atomic_load(what.next);
        if (next || !left) return next;
        if (!lock_bands(x, self)) return NULL;
        if (!(next = atomic_load(what.next)) && (next = choose_band(x, team))) {
            take_band(x, team, next);
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

double hs__bands_work(hs__bands *bands, int32_t worker, void *block, hs__member *self)
{
    hs__team *team = &bands->team[bands->team_of[worker]];
    double done = 0.0;
    for (hs__band *band = NULL; (band = next_band(bands, team, band, self));)
        done += hs__gang_work(&band->gang, bands->member[worker], block, self);
    return done;
}

void hs__bands_wait(const hs__bands *bands, hs__member *self)
{
    /* after a cancel some gangs may be incomplete */
    for (int32_t i = 0; i < bands->count && !hs__stopped(self); i++)
        hs__gang_wait(&bands->band[i].gang, self);
}
