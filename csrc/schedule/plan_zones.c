/* Candidates of zones: the zones are placed where dear links carry little, and written as boxes
 * with the messages between their owners. */
#include <math.h>
#include <string.h>

#include "schedule/planner.h"

/* MOVES: most moves of a search for the places of zones. PLACING: most moves * steps * zones^2, which
 * limits the time of a search. */
enum { MOVES = 2000, PLACING = 4000000 };

/* Adds the messages between the owners of the zones. */
static hs_status add_messages(hs__matmul_planner *s, const int64_t *groups)
{
    hs__matmul_candidate *x = &s->now;
    int64_t workers = 0;
    for (int64_t i = 0; i < x->box_count / s->steps; i++)
        workers += i == 0 || x->boxes[i].worker != x->boxes[i - 1].worker;
    const int64_t each = hs__max(workers * workers, 1);
    const int64_t room =
        s->steps > HS_MATMUL_MOST_MESSAGES / each ? HS_MATMUL_MOST_MESSAGES : s->steps * each;
    hs_status status = hs__reserve_messages(x, room);
    if (!status)
        status = hs_matmul_owners(&s->product, x->box_count, x->boxes, groups, s->cancel, room,
                                  x->sent, x->messages, &x->message_count);
    if (status || x->message_count <= room) return status;
    s->found->message_count = x->message_count;
    return HS_ERROR_VALUE;
}

static const char *scope_of_slices(const hs__matmul_planner *s, int32_t method)
{
    const hs_matmul *x = &s->product;
    for (int32_t i = 0; x->link_costs && i < x->p; i++)
        if (x->link_costs[i] > 0.0) return "";
    if (x->links) return "";
    /* with ragged blocks it matters which worker has the smaller one */
    if (method == HS_MATMUL_COLUMNS) return x->n % s->block ? "" : "slices into block columns";
    if (method == HS_MATMUL_ROWS) return x->m % s->block ? "" : "slices into block rows";
    return "";
}

/* Writes the boxes of the placed zones, and their messages. */
static hs_status write_zones(hs__matmul_planner *s)
{
    hs__matmul_candidate *x = &s->now;
    const int64_t room = x->box_room;
    hs_status status = hs_matmul_zones(&s->product, s->step, s->pieces, s->placed.workers,
                                       s->placed.rects, room, x->boxes, x->sent, &x->box_count);
    if (!status) status = hs__require_room(s, room);
    if (!status && s->product.links) status = add_messages(s, s->sharing);
    return status;
}

static hs_status price_zones(void *context, hs__price *price)
{
    hs__matmul_planner *s = context;
    hs_schedule schedule = {0};
    hs_status status = write_zones(s);
    if (!status) status = hs__schedule_candidate(s, &s->now, &schedule);
    if (status) return status;
    price->makespan = schedule.makespan;
    price->messages = 0.0;
    for (int64_t i = 0; i < s->now.message_count; i++) {
        const hs_message *one = &s->now.messages[i];
        const int32_t to = s->now.boxes[one->box].worker;
        price->messages += one->bytes * s->product.links[(int64_t)one->sender * s->product.p + to];
    }
    price->messages /= HS__GIGA;
    return HS_OK;
}

/* Moves the zones to where the messages take less time. */
static hs_status place_zones(hs__matmul_planner *s)
{
    const size_t pieces = (size_t)s->pieces;
    const double work = (double)s->steps * fmax((double)s->pieces * s->pieces, 1.0);
    memcpy(s->placed.workers, s->workers, pieces * sizeof *s->workers);
    memcpy(s->placed.rects, s->rects, 4 * pieces * sizeof *s->rects);
    const int64_t moves = (int64_t)fmin(MOVES, PLACING / work);
    if (!s->product.links || s->product.p > HS_MATMUL_FEW || !moves) return HS_OK;
    s->placed.pieces = s->pieces;
    s->placed.price = price_zones;
    s->placed.context = s;
    return hs__place_zones(&s->product, moves, s->cancel, &s->placed);
}

hs_status hs__plan_zones(hs__matmul_planner *s, int32_t method, const int64_t *groups)
{
    const int64_t pieces = hs__max(s->pieces, 1);
    const int64_t room =
        s->steps > HS_MATMUL_MOST_BOXES / pieces ? HS_MATMUL_MOST_BOXES : s->steps * pieces;
    s->sharing = groups;
    hs_status status = hs__begin_candidate(&s->now, method, scope_of_slices(s, method), room);
    if (!status) status = place_zones(s);
    if (!status) status = write_zones(s);
    if (status) return status;
    return hs__keep_faster(s);
}

hs_status hs__plan_nodes(hs__matmul_planner *s)
{
    static const double costs[] = {1.0, 10.0, 100.0};
    if (!s->product.links) return HS_ERROR_VALUE;
    for (int32_t i = 0; i < s->product.p; i++) s->groups[i] = s->nodes[i];
    for (int i = 0; i < 3; i++) {
        hs_status status =
            hs__cut_partition(s, (hs_partition){.groups = s->nodes, .group_cost = costs[i]});
        if (status) return status;
        hs__scale_zones(s);
        status = hs__plan_zones(s, HS_MATMUL_NODES, NULL);
        if (!status) status = hs__plan_zones(s, HS_MATMUL_NODES, s->groups);
        if (status) return status;
    }
    return HS_OK;
}
