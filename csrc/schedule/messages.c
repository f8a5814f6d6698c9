/* Messages of a product between workers: from the owners of zones of A and B, and from neighbours on
 * a torus. */
#include <stdlib.h>

#include "core/cancel.h"
#include "core/status.h"
#include "core/sum.h"
#include "schedule/schedule.h"

/* ---- the list -------------------------------------------------------------------------------- */

/* The messages so far: as many as fit, and the bytes that each box waits for. */
typedef struct {
    int64_t capacity, count;
    hs_message *messages;
    double *sent;
} message_list;

static void add_message(message_list *list, hs_message one)
{
    list->sent[one.box] += one.bytes;
    if (list->count < list->capacity) list->messages[list->count] = one;
    list->count++;
}

static void start_list(message_list *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++) list->sent[i] = 0.0;
    list->count = 0;
}

/* ---- from owners ----------------------------------------------------------------------------- */

/* Who has zones, and how many lines of them the workers need. A team is the workers of a group, or
 * one worker. Rows and columns of a need: [count * zones] for each worker, or team, and each zone,
 * how many rows, and columns, of the zone it needs. */
typedef struct {
    double *rows, *cols;
} line_needs;

typedef struct {
    const hs_matmul *product;
    const hs_box *boxes;
    int32_t workers, teams, zones; /* workers with zones */
    int64_t steps;
    int32_t *worker;        /* [workers] */
    int32_t *start;         /* [workers + 1] the first zone of each worker */
    int32_t *team, *leader; /* [workers] team, and index of the team's first worker */
    line_needs own, whole;  /* of each worker, of each team */
    double *owned[2];       /* [zones] columns of A, and rows of B, of a step that the zone owns */
    double *part;           /* [zones] workspace */
    double *need, *shared;  /* [workers * workers], [teams * workers] bytes from each worker */
    double *amount, *far;   /* [workers] bytes of messages to one worker; workspace */
} owners;

/* Returns whether each step has the same zones, sorted by worker, and sets zones and steps. */
static bool read_steps(owners *x, int64_t count)
{
    const hs_box *boxes = x->boxes;
    int64_t zones = 0;
    while (zones < count && boxes[zones].depth == boxes[0].depth) zones++;
    if (zones > INT32_MAX || count % zones) return false;
    for (int64_t i = 0; i < count; i++) {
        const hs_box *box = &boxes[i];
        const hs_box *zone = &boxes[i % zones];
        const hs_box *head = &boxes[i - i % zones];
        if (box->worker != zone->worker || box->row != zone->row || box->col != zone->col ||
            box->height != zone->height || box->width != zone->width)
            return false;
        if (box->depth != head->depth || box->length != head->length) return false;
        if (i % zones && box->worker < box[-1].worker) return false;
        if (box->row + box->height > x->product->m || box->col + box->width > x->product->n ||
            box->depth + box->length > x->product->k)
            return false;
    }
    x->zones = (int32_t)zones;
    x->steps = count / zones;
    return true;
}

static void list_workers(owners *x)
{
    x->workers = 0;
    for (int32_t z = 0; z < x->zones; z++) {
        if (z && x->boxes[z].worker == x->boxes[z - 1].worker) continue;
        x->worker[x->workers] = x->boxes[z].worker;
        x->start[x->workers++] = z;
    }
    x->start[x->workers] = x->zones;
}

static void form_teams(owners *x, const int64_t *groups)
{
    x->teams = 0;
    for (int32_t i = 0; i < x->workers; i++) {
        int32_t first = groups ? 0 : i;
        while (first < i && groups[x->worker[first]] != groups[x->worker[i]]) first++;
        x->leader[i] = first;
        x->team[i] = first < i ? x->team[first] : x->teams++;
    }
}

/* Adds to lines [zones] how many rows (axis 0) or columns (axis 1) of each zone lie in the union of
 * the spans; these are sorted here. */
static void add_lines(const owners *x, int axis, int32_t count, hs__span *spans, const int *cancel,
                      double *lines)
{
    qsort(spans, (size_t)count, sizeof *spans, hs__compare_spans);
    for (int32_t i = 0, next; i < count && !hs__cancelled(cancel); i = next) {
        hs__span whole = spans[i];
        for (next = i + 1; next < count && spans[next].from <= whole.to; next++)
            whole.to = hs__max(whole.to, spans[next].to);
        for (int32_t z = 0; z < x->zones; z++) {
            const hs__span own = hs__span_of(&x->boxes[z], axis);
            lines[z] +=
                (double)hs__max(hs__min(own.to, whole.to) - hs__max(own.from, whole.from), 0);
        }
    }
}

/* Finds the lines that each of `count` workers or teams needs. of [workers]: the team of each worker;
 * NULL: each worker for itself. spans [zones] is workspace. */
static hs_status find_needs(const owners *x, int32_t count, const int32_t *of, hs__span *spans,
                            const int *cancel, line_needs *found)
{
    for (int32_t one = 0; one < count; one++)
        for (int axis = 0; axis < 2; axis++) {
            int32_t size = 0;
            for (int32_t i = 0; i < x->workers; i++) {
                if ((of ? of[i] : i) != one) continue;
                for (int32_t z = x->start[i]; z < x->start[i + 1]; z++)
                    spans[size++] = hs__span_of(&x->boxes[z], axis);
            }
            double *lines = (axis ? found->cols : found->rows) + (size_t)one * (size_t)x->zones;
            add_lines(x, axis, size, spans, cancel, lines);
            if (hs__cancelled(cancel)) return HS_ERROR_CANCELLED;
        }
    return HS_OK;
}

/* Returns how many of the lines begin .. end - 1 of the inner dimension a zone owns. Its span is
 * counted along a side of C, which is stretched to the length of the inner dimension. */
static double count_owned(hs__span own, int64_t begin, int64_t end, int64_t side, int64_t k)
{
    const double to = fmin((double)own.to * (double)k, (double)end * (double)side);
    const double from = fmax((double)own.from * (double)k, (double)begin * (double)side);
    return fmax(to - from, 0.0) / (double)side;
}

/* Finds how many bytes each of `count` workers or teams needs from each worker in a step. */
static void count_bytes(const owners *x, int32_t count, const line_needs *needs, double *bytes)
{
    for (int32_t one = 0; one < count; one++) {
        const double *rows = needs->rows + (size_t)one * (size_t)x->zones;
        const double *cols = needs->cols + (size_t)one * (size_t)x->zones;
        for (int32_t z = 0; z < x->zones; z++)
            x->part[z] = rows[z] * x->owned[0][z] + cols[z] * x->owned[1][z];
        for (int32_t j = 0; j < x->workers; j++) {
            const int32_t first = x->start[j];
            const double rest = hs__sum(x->start[j + 1] - first - 1, x->part + first + 1);
            *bytes++ = x->product->itemsize * (x->part[first] + rest);
        }
    }
}

/* Finds the bytes that worker i waits for from each worker. Returns how many of them the leader of
 * its team passes on from other teams. */
static double find_amounts(const owners *x, int32_t i)
{
    const size_t workers = (size_t)x->workers;
    const int32_t leader = x->leader[i];
    const double *need = x->need + (size_t)i * workers;
    const double *shared = x->shared + (size_t)x->team[i] * workers;
    int32_t outside = 0;
    for (int32_t j = 0; j < x->workers; j++) {
        const bool inside = x->team[j] == x->team[i];
        if (!inside) x->far[outside++] = need[j];
        x->amount[j] = inside ? need[j] : leader == i ? shared[j] : 0.0;
    }
    const double passed_on = leader == i ? 0.0 : hs__sum(outside, x->far);
    x->amount[leader] += passed_on;
    x->amount[i] = 0.0;
    return passed_on;
}

static void list_step(const owners *x, int64_t step, message_list *list)
{
    const int64_t first = step * x->zones;
    const int64_t begin = x->boxes[first].depth;
    const int64_t end = begin + x->boxes[first].length;
    for (int32_t z = 0; z < x->zones; z++) {
        const hs_box *box = &x->boxes[z];
        const hs_matmul *product = x->product;
        x->owned[0][z] = count_owned(hs__span_of(box, 1), begin, end, product->n, product->k);
        x->owned[1][z] = count_owned(hs__span_of(box, 0), begin, end, product->m, product->k);
    }
    count_bytes(x, x->workers, &x->own, x->need);
    if (x->teams < x->workers) count_bytes(x, x->teams, &x->whole, x->shared);
    for (int32_t i = 0; i < x->workers; i++) {
        const double passed_on = find_amounts(x, i);
        for (int32_t j = 0; j < x->workers; j++) {
            if (x->amount[j] == 0.0) continue;
            const bool later = passed_on != 0.0 && j == x->leader[i];
            add_message(list, (hs_message){.box = first + x->start[i],
                                           .sender = x->worker[j],
                                           .bytes = x->amount[j],
                                           .after = later ? first + x->start[j] : -1});
        }
    }
}

/* Takes memory for the needs: the lists of workers and teams are known. */
static double *take_needs(owners *x)
{
    const size_t workers = (size_t)x->workers;
    const size_t teams = x->teams < x->workers ? (size_t)x->teams : 0;
    const size_t zones = (size_t)x->zones;
    if (zones > SIZE_MAX / 64 / (workers + 1)) return NULL;
    double *room =
        calloc((workers + teams) * (2 * zones + workers) + 3 * zones + 2 * workers, sizeof *room);
    if (!room) return NULL;
    x->own.rows = room;
    x->own.cols = x->own.rows + workers * zones;
    x->whole.rows = x->own.cols + workers * zones;
    x->whole.cols = x->whole.rows + teams * zones;
    x->need = x->whole.cols + teams * zones;
    /* teams of one worker share what it needs itself */
    x->shared = teams ? x->need + workers * workers : x->need;
    x->owned[0] = x->need + (workers + teams) * workers;
    x->owned[1] = x->owned[0] + zones;
    x->part = x->owned[1] + zones;
    x->amount = x->part + zones;
    x->far = x->amount + workers;
    return room;
}

static hs_status list_owners(owners *x, const int64_t *groups, const int *cancel,
                             message_list *list)
{
    const size_t zones = (size_t)x->zones;
    hs__span *spans = malloc(zones * (sizeof *spans + 4 * sizeof(int32_t)) + sizeof(int32_t));
    if (!spans) return HS_ERROR_MEMORY;
    x->worker = (int32_t *)(spans + zones);
    x->team = x->worker + zones;
    x->leader = x->team + zones;
    x->start = x->leader + zones;
    list_workers(x);
    form_teams(x, groups);
    double *room = take_needs(x);
    hs_status status = hs__check_memory(room);
    if (!status) {
        start_list(list, x->steps * x->zones);
        status = find_needs(x, x->workers, NULL, spans, cancel, &x->own);
        if (!status && x->teams < x->workers)
            status = find_needs(x, x->teams, x->team, spans, cancel, &x->whole);
    }
    for (int64_t step = 0; step < x->steps && !status; step++) {
        if (hs__cancelled(cancel)) status = HS_ERROR_CANCELLED;
        else list_step(x, step, list);
    }
    free(room);
    free(spans);
    return status;
}

static bool valid_lists(const hs_matmul *x, int64_t count, const hs_box *boxes, int64_t capacity,
                        const double *sent, const hs_message *messages)
{
    return hs__matmul_valid(x) && hs__boxes_valid(x, count, boxes) && (!count || sent) &&
           capacity >= 0 && (!capacity || messages);
}

hs_status hs_matmul_owners(const hs_matmul *product, int64_t count, const hs_box *boxes,
                           const int64_t *groups, const int *cancel, int64_t capacity, double *sent,
                           hs_message *messages, int64_t *message_count)
{
    if (!valid_lists(product, count, boxes, capacity, sent, messages) || !message_count)
        return HS_ERROR_VALUE;
    owners x = {.product = product, .boxes = boxes};
    if (count && !read_steps(&x, count)) return HS_ERROR_VALUE;
    message_list list = {.capacity = capacity, .messages = messages, .sent = sent};
    hs_status status = HS_OK;
    const bool some = count && product->m && product->n && product->k;
    if (some) status = list_owners(&x, groups, cancel, &list);
    else start_list(&list, count);
    if (!status) *message_count = list.count;
    return status;
}

/* ---- on a torus ------------------------------------------------------------------------------ */

static void add_neighbours(const hs_matmul *x, int64_t grid, int64_t at, const hs_box *box,
                           message_list *list)
{
    const int64_t step = at / x->p;
    const int64_t i = box->worker / grid;
    const int64_t j = box->worker % grid;
    /* the first step skews A along the rows and B along the columns */
    const int64_t right = i * grid + (step ? j + 1 : i + j) % grid;
    const int64_t below = (step ? i + 1 : i + j) % grid * grid + j;
    const int64_t senders[] = {right, below};
    const int64_t lines[] = {box->height, box->width};
    for (int side = 0; side < 2; side++) {
        if (senders[side] == box->worker || !lines[side] || !box->length) continue;
        add_message(list,
                    (hs_message){.box = at,
                                 .sender = senders[side],
                                 .bytes = hs__operand_bytes(x, box->length, (double)lines[side]),
                                 .after = step ? (step - 1) * x->p + senders[side] : -1});
    }
}

hs_status hs_matmul_torus(const hs_matmul *product, int64_t count, const hs_box *boxes,
                          int64_t capacity, double *sent, hs_message *messages,
                          int64_t *message_count)
{
    if (!valid_lists(product, count, boxes, capacity, sent, messages) || !message_count)
        return HS_ERROR_VALUE;
    const int64_t grid = hs__grid_side(product->p);
    if (!grid || count != grid * product->p) return HS_ERROR_VALUE;
    for (int64_t i = 0; i < count; i++)
        if (boxes[i].worker != i % product->p) return HS_ERROR_VALUE;
    message_list list = {.capacity = capacity, .messages = messages, .sent = sent};
    start_list(&list, count);
    for (int64_t i = 0; i < count; i++) add_neighbours(product, grid, i, &boxes[i], &list);
    *message_count = list.count;
    return HS_OK;
}
