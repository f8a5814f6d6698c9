/* Candidates of boxes that divide the inner dimension: Cannon's algorithm, layers and cuboids. */
#include <stdlib.h>

#include "schedule/planner.h"

hs_status hs__plan_cannon(hs__matmul_planner *s)
{
    hs__matmul_candidate *x = &s->now;
    const int64_t grid = hs__grid_side(s->product.p);
    if (!grid || !s->step) return HS_ERROR_VALUE;
    const int64_t room = hs__min(grid * s->product.p, HS_MATMUL_MOST_BOXES);
    hs_status status = hs__begin_candidate(x, HS_MATMUL_CANNON, "", room);
    if (!status)
        status = hs_matmul_cannon(&s->product, s->block, room, x->boxes, x->sent, &x->box_count);
    if (!status) status = hs__require_room(s, room);
    if (!status && s->product.links) {
        status = hs__reserve_messages(x, 2 * x->box_count);
        if (!status)
            status = hs_matmul_torus(&s->product, x->box_count, x->boxes, 2 * x->box_count, x->sent,
                                     x->messages, &x->message_count);
    }
    if (status) return status;
    return hs__keep_faster(s);
}

/* Cuts the iterations into one box for each worker. The boxes are written in place of the zones. */
static hs_status cut_cuboids(hs__matmul_planner *s, int64_t orders)
{
    const int32_t p = s->product.p;
    const hs_cuboids problem = {.p = p,
                                .volumes = s->areas,
                                .alpha = 1.0,
                                .beta = 1.0,
                                .gamma = 1.0,
                                .m = s->blocks[0],
                                .n = s->blocks[1],
                                .k = s->blocks[2]};
    hs_cuboids_method method;
    hs_certificate certificate;
    return hs_cuboids_best(&problem, HS_CUBOIDS_BEST, orders, NULL, s->cancel, &method, NULL,
                           s->rects, &certificate);
}

static hs_status plan_cuboids(hs__matmul_planner *s)
{
    hs__matmul_candidate *x = &s->now;
    const int32_t p = s->product.p;
    /* only a caller who asks for cuboids waits for the search over orders */
    hs_status status = cut_cuboids(s, s->options.method == HS_MATMUL_CUBOIDS ? 0 : -1);
    if (status) return status;
    hs_box *given = calloc((size_t)p, sizeof *given);
    if (!given) return HS_ERROR_MEMORY;
    for (int32_t i = 0; i < p; i++) {
        const int64_t *cell = s->rects + 6 * (size_t)i;
        given[i] = (hs_box){.worker = i,
                            .row = s->block * cell[0],
                            .col = s->block * cell[1],
                            .depth = s->block * cell[2],
                            .height = s->block * cell[3],
                            .width = s->block * cell[4],
                            .length = s->block * cell[5]};
    }
    status = hs_matmul_layers(&s->product, p, given, s->cancel, x->boxes, x->sent, &x->box_count,
                              &x->sum, &x->layered);
    free(given);
    return status;
}

hs_status hs__plan_layers(hs__matmul_planner *s, int32_t method)
{
    hs__matmul_candidate *x = &s->now;
    if (s->step) return HS_ERROR_VALUE;
    hs_status status = hs__begin_candidate(x, method, "", s->product.p);
    if (status) return status;
    status = method == HS_MATMUL_CUBOIDS
                 ? plan_cuboids(s)
                 : hs_matmul_layers_best(&s->product, s->block, s->cancel, x->boxes, x->sent,
                                         &x->box_count, &x->sum, &x->layered);
    if (status) return status;
    return hs__keep_faster(s);
}
