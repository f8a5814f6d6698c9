/* hs_floorplan_tile: integer cuts on the tree of a floorplan.
 *
 * Consecutive cuts of the same kind are one node with many members, a chain. Between workers,
 * hs_distribute is optimal. Between sub-boxes, a dynamic program tries the integers around the
 * place of every cut. The best score of a node in a box of given sides is computed once. After a
 * limited number of boxes, as can happen deep below many cuts, a node is taken as evenly divided.
 *
 * The tree may be as deep as it is long, so the recursion is limited: beyond DEEP nodes a request
 * goes to a stack, is answered later, and then what needed it is solved again. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/numbers.h"
#include "core/status.h"
#include "partition/floorplan.h"

enum {
    NEAR = 2,         /* integers tried on each side of a cut */
    MOST_KNOWN = 256, /* boxes tried per node */
    DEEP = 12,        /* nodes solved recursively, one inside the other */
};

typedef struct {
    double load;   /* largest cells given / cells asked for */
    double spread; /* sum of (given - asked)^2 / asked */
} score;

typedef struct {
    int64_t height, width;
    score best;
} known;

/* A node in a box of some size; and at some place. */
typedef struct {
    int32_t node;
    int64_t height, width;
} request;

typedef struct {
    int32_t node;
    int64_t row, col, height, width;
} placement;

typedef struct {
    hs__node *nodes;
    /* the members of node i are members[first[i]] .. members[first[i] + count[i] - 1] */
    int32_t *members, *first, *count;
    bool *leaves; /* all members of node i are workers */
    known **memo;
    int32_t *memo_count;
    double cells;
    /* best cuts of the node solved last: the sizes of a chain, the four lines of a wheel, height
     * and width of each corner */
    int64_t *cuts;
    int64_t *sizes; /* sizes of a chain of workers */
    double *time;   /* workspace for a chain */
    /* workspace for the chains being solved, one inside the other; how much is in use */
    struct state *states;
    int32_t states_used;
    int32_t depth; /* number of nodes being solved */
    /* nodes were solved inside another one: `cuts` does not belong to the outer node */
    bool nested;
    request *asked; /* stack of requests; the first to solve is on top */
    int64_t asked_count, asked_room;
    /* asked_count when the outermost node began; a request since then makes its result invalid */
    int64_t asked_before;
    placement *placed; /* stack of placements; the first to place is on top */
    int64_t placed_count, placed_room;
    int32_t *workers;
    int64_t *rects;
    int32_t pieces;
    const int *cancel;
    hs_status status;
} tiler;

static bool is_better(score a, score b)
{
    return a.load < b.load * (1.0 - 1e-12) ||
           (a.load <= b.load * (1.0 + 1e-12) && a.spread < b.spread);
}
static score join_scores(score a, score b)
{
    return (score){fmax(a.load, b.load), a.spread + b.spread};
}

/* Returns the score of a worker with so many cells, or of any node without cells. */
static score score_of_cells(const tiler *t, int32_t i, double cells)
{
    const double asked = t->nodes[i].area * t->cells;
    if (cells == 0.0) return (score){0.0, asked};
    return (score){cells / asked, (cells - asked) * (cells - asked) / asked};
}

/* Makes room for one more entry on a stack. */
static bool grow_stack(tiler *t, void **stack, int64_t count, int64_t *room, size_t size)
{
    if (count < *room) return true;
    const int64_t wider = *room ? 2 * *room : 64;
    void *grown = realloc(*stack, (size_t)wider * size);
    if (!grown) t->status = HS_ERROR_MEMORY;
    else {
        *stack = grown;
        *room = wider;
    }
    return grown != NULL;
}

static void push_request(tiler *t, int32_t i, int64_t height, int64_t width)
{
    void *stack = t->asked;
    if (grow_stack(t, &stack, t->asked_count, &t->asked_room, sizeof *t->asked)) {
        t->asked = stack;
        t->asked[t->asked_count++] = (request){i, height, width};
    }
}

static void push_placement(tiler *t, int32_t i, int64_t row, int64_t col, int64_t height,
                           int64_t width)
{
    void *stack = t->placed;
    if (height == 0 || width == 0) return;
    if (grow_stack(t, &stack, t->placed_count, &t->placed_room, sizeof *t->placed)) {
        t->placed = stack;
        t->placed[t->placed_count++] = (placement){i, row, col, height, width};
    }
}

static bool is_known(const tiler *t, int32_t i, int64_t height, int64_t width, score *best)
{
    for (int32_t k = 0; k < t->memo_count[i]; k++)
        if (t->memo[i][k].height == height && t->memo[i][k].width == width) {
            *best = t->memo[i][k].best;
            return true;
        }
    return false;
}

static void remember_score(tiler *t, int32_t i, int64_t height, int64_t width, score best)
{
    /* the array is full at powers of two */
    if ((t->memo_count[i] & (t->memo_count[i] - 1)) == 0) {
        size_t capacity = t->memo_count[i] ? 2 * (size_t)t->memo_count[i] : 1;
        known *grown = realloc(t->memo[i], capacity * sizeof *grown);
        if (!grown) {
            t->status = HS_ERROR_MEMORY;
            return;
        }
        t->memo[i] = grown;
    }
    t->memo[i][t->memo_count[i]++] = (known){height, width, best};
}

/* Computes the sizes of the members of a chain of workers. */
static void share_out(tiler *t, int32_t i, int64_t along, int64_t *sizes)
{
    const int32_t count = t->count[i];
    const int32_t *member = t->members + t->first[i];
    for (int32_t k = 0; k < count; k++) t->time[k] = t->nodes[i].area / t->nodes[member[k]].area;
    const hs_status status = hs_distribute(along, count, t->time, t->cancel, sizes, NULL);
    if (status) t->status = status;
}

static bool is_row_of_workers(const tiler *t, int32_t i)
{
    return t->leaves[i] && (t->nodes[i].op == HS_BESIDE || t->nodes[i].op == HS_ABOVE);
}

/* Returns the score of a chain of workers. */
static score score_of_row(tiler *t, int32_t i, int64_t height, int64_t width)
{
    const bool beside = t->nodes[i].op == HS_BESIDE;
    score all = {0.0, 0.0};
    share_out(t, i, beside ? width : height, t->sizes);
    for (int32_t k = 0; k < t->count[i] && !t->status; k++)
        all = join_scores(all,
                          score_of_cells(t, t->members[t->first[i] + k],
                                         (double)t->sizes[k] * (double)(beside ? height : width)));
    return all;
}

static score solve_node(tiler *t, int32_t i, int64_t height, int64_t width);

/* Returns the best score of node i in a box. An unknown score is computed at once by recursion.
 * Below DEEP nodes, and from then on, it is put on the stack of requests instead, and the result is
 * an optimistic score that keeps all choices open. */
static score score_of(tiler *t, int32_t i, int64_t height, int64_t width)
{
    const bool is_worker = t->nodes[i].op >= 0;
    score best;
    if (height == 0 || width == 0) return score_of_cells(t, i, 0.0);
    if (!is_worker && is_known(t, i, height, width, &best)) return best;
    if (is_worker || t->memo_count[i] == MOST_KNOWN)
        return score_of_cells(t, i, (double)height * (double)width);
    if (is_row_of_workers(t, i)) {
        best = score_of_row(t, i, height, width);
        if (!t->status) remember_score(t, i, height, width, best);
        return best;
    }
    if (t->depth < DEEP && t->asked_count == t->asked_before) {
        best = solve_node(t, i, height, width);
        t->nested = true;
        if (t->asked_count == t->asked_before && !t->status)
            remember_score(t, i, height, width, best);
        return best;
    }
    push_request(t, i, height, width);
    return score_of_cells(t, i, (double)height * (double)width);
}

/* Returns the score of a part of a chain, from its size along the chain and its size across it. */
static score score_part(tiler *t, int32_t i, bool beside, int64_t along, int64_t across)
{
    return beside ? score_of(t, i, across, along) : score_of(t, i, along, across);
}

enum { STATES = 2 * NEAR };
typedef struct state {
    score best;
    int64_t at;   /* end of the member */
    int32_t from; /* state of the member before */
} state;

/* Chooses the sizes of the members of a chain by dynamic programming over the places of the
 * cuts. */
static void choose_cuts(tiler *t, int32_t i, int64_t along, int64_t across)
{
    const int32_t count = t->count[i];
    const int32_t *member = t->members + t->first[i];
    const bool beside = t->nodes[i].op == HS_BESIDE;
    state(*s)[STATES] = (state(*)[STATES])t->states + t->states_used;
    double sum = 0.0;
    t->states_used += count;
    for (int32_t k = 0; k < count; k++) {
        sum += t->nodes[member[k]].area;
        const double ideal = floor((double)along * fmin(sum / t->nodes[i].area, 1.0));
        for (int32_t c = 0; c < STATES; c++) {
            int64_t at = (int64_t)ideal + c - (NEAR - 1);
            if (k + 1 == count) at = along;
            at = hs__min(hs__max(at, 0), along);
            state *here = &s[k][c];
            *here = (state){.best = {INFINITY, INFINITY}, .at = at};
            for (int32_t b = 0; b < (k ? STATES : 1); b++) {
                const int64_t start = k ? s[k - 1][b].at : 0;
                const int64_t size = at - start;
                if (start > at || (k && s[k - 1][b].best.load == INFINITY)) continue;
                const score own = score_part(t, member[k], beside, size, across);
                const score all = k ? join_scores(s[k - 1][b].best, own) : own;
                if (is_better(all, here->best)) {
                    here->best = all;
                    here->from = b;
                }
            }
        }
    }
    for (int32_t k = count, c = 0; k-- > 0;) {
        const int32_t from = s[k][c].from;
        t->cuts[k] = s[k][c].at - (k ? s[k - 1][from].at : 0);
        c = from;
    }
    t->states_used -= count;
}

static score solve_chain(tiler *t, int32_t i, int64_t height, int64_t width)
{
    const bool beside = t->nodes[i].op == HS_BESIDE;
    const int64_t along = beside ? width : height;
    const int64_t across = beside ? height : width;
    const int64_t asked = t->asked_count;
    const int32_t count = t->count[i];
    const int32_t *member = t->members + t->first[i];
    score all = {0.0, 0.0};
    if (t->leaves[i]) share_out(t, i, along, t->cuts);
    else choose_cuts(t, i, along, across);
    for (int32_t k = 0; k < count && !t->status && t->asked_count == asked; k++)
        all = join_scores(all, score_part(t, member[k], beside, t->cuts[k], across));
    return all;
}

/* Computes the boxes of a wheel with these lines. */
static void wheel_boxes(const int64_t line[4], int64_t height, int64_t width, int64_t box[5][4])
{
    const int64_t x0 = line[0];
    const int64_t x1 = line[1];
    const int64_t y0 = line[2];
    const int64_t y1 = line[3];
    const int64_t boxes[5][4] = {{0, 0, y0, x1},
                                 {0, x1, y1, width - x1},
                                 {y1, x0, height - y1, width - x0},
                                 {y0, 0, height - y0, x0},
                                 {y0, x0, y1 - y0, x1 - x0}};
    memcpy(box, boxes, sizeof boxes);
}

static score solve_wheel(tiler *t, int32_t i, int64_t height, int64_t width)
{
    const int32_t *part = t->members + t->first[i];
    double area[5], w[5], h[5];
    for (int c = 0; c < 5; c++) area[c] = t->nodes[part[c]].area / t->nodes[i].area;
    hs__wheel_of(area, w, h);
    score best = {INFINITY, INFINITY};
    memset(t->cuts, 0, 4 * sizeof *t->cuts);
    /* each line is rounded down or up */
    for (int up = 0; up < 16; up++) {
        const int64_t line[4] = {(int64_t)(w[3] * (double)width) + (up & 1),
                                 (int64_t)(w[0] * (double)width) + (up >> 1 & 1),
                                 (int64_t)(h[0] * (double)height) + (up >> 2 & 1),
                                 (int64_t)(h[1] * (double)height) + (up >> 3 & 1)};
        if (line[0] > line[1] || line[1] > width || line[2] > line[3] || line[3] > height) continue;
        int64_t box[5][4];
        wheel_boxes(line, height, width, box);
        score all = {0.0, 0.0};
        for (int c = 0; c < 5; c++)
            all = join_scores(all, score_of(t, part[c], box[c][2], box[c][3]));
        if (is_better(all, best)) {
            best = all;
            memcpy(t->cuts, line, sizeof line);
        }
    }
    return best;
}

static score solve_around(tiler *t, int32_t i, int64_t height, int64_t width)
{
    const int32_t inside = t->members[t->first[i]];
    const int32_t owner = t->members[t->first[i] + 1];
    const double wanted = t->nodes[inside].area * t->cells;
    const double ideal = hs__corner_width(&t->nodes[inside]) * sqrt(t->cells);
    score best = {INFINITY, INFINITY};
    t->cuts[0] = t->cuts[1] = 0;
    for (int c = 0; c <= 2 * NEAR; c++) {
        int64_t w = (int64_t)fmin(ideal, (double)width) + c - NEAR;
        /* c == 0: no corner at all */
        w = c == 0 ? 0 : hs__min(hs__max(w, 0), width);
        for (int up = 0; up < 2; up++) {
            int64_t h = w ? (int64_t)fmin(wanted / (double)w, (double)height) + up : 0;
            h = hs__min(h, height);
            if ((w == 0) != (h == 0)) continue;
            const double left = (double)height * (double)width - (double)h * (double)w;
            const score all =
                join_scores(score_of_cells(t, owner, left), score_of(t, inside, h, w));
            if (is_better(all, best)) {
                best = all;
                t->cuts[0] = h;
                t->cuts[1] = w;
            }
        }
    }
    return best;
}

/* Tries the integers around the best sides of two corners, and no corners. */
static score solve_corners(tiler *t, int32_t i, int64_t height, int64_t width)
{
    const int32_t *const member = t->members + t->first[i];
    const hs__node *const contents[2] = {&t->nodes[member[0]], &t->nodes[member[1]]};
    const double unit = sqrt(t->cells);
    int64_t tried[2][4 * NEAR][2]; /* height and width of each corner */
    int count[2] = {0, 0};
    double sides[2][2];
    hs__corner_sides(2, contents, (double)height / unit, (double)width / unit, sides);
    for (int c = 0; c < 2; c++) {
        memset(tried[c][count[c]++], 0, sizeof tried[c][0]);
        for (int step = 1 - NEAR; step < NEAR; step++) {
            const int64_t w = (int64_t)(sides[c][1] * unit) + step;
            if (w < 1 || w > width) continue;
            const double h = fmin(contents[c]->area * t->cells / (double)w, (double)height);
            for (int up = 0; up < 2; up++) {
                tried[c][count[c]][0] = hs__min((int64_t)h + up, height);
                tried[c][count[c]][1] = w;
                count[c] += tried[c][count[c]][0] > 0;
            }
        }
    }
    score best = {INFINITY, INFINITY};
    for (int a = 0; a < count[0]; a++)
        for (int b = 0; b < count[1]; b++) {
            const int64_t *const first = tried[0][a];
            const int64_t *const second = tried[1][b];
            if (first[0] + second[0] > height && first[1] + second[1] > width) continue;
            const double left = (double)height * (double)width -
                                (double)first[0] * (double)first[1] -
                                (double)second[0] * (double)second[1];
            const score corners = join_scores(score_of(t, member[0], first[0], first[1]),
                                              score_of(t, member[1], second[0], second[1]));
            const score all = join_scores(corners, score_of_cells(t, member[2], left));
            if (!is_better(all, best)) continue;
            best = all;
            memcpy(t->cuts, first, sizeof tried[0][0]);
            memcpy(t->cuts + 2, second, sizeof tried[0][0]);
        }
    return best;
}

/* Returns the best score of an operator in a box, and sets its cuts; if a needed score is unknown,
 * it has been put on the stack of requests. */
static score solve_node(tiler *t, int32_t i, int64_t height, int64_t width)
{
    if (hs__cancelled(t->cancel)) {
        t->status = HS_ERROR_CANCELLED;
        return score_of_cells(t, i, 0.0);
    }
    const int32_t op = t->nodes[i].op;
    t->depth++;
    score best;
    switch (op) {
    case HS_WHEEL: best = solve_wheel(t, i, height, width); break;
    case HS_AROUND: best = solve_around(t, i, height, width); break;
    case HS_CORNERS: best = solve_corners(t, i, height, width); break;
    default: best = solve_chain(t, i, height, width);
    }
    t->depth--;
    return best;
}

/* Does the same for a node that is not inside another node being solved. */
static score solve_outermost(tiler *t, int32_t i, int64_t height, int64_t width)
{
    t->asked_before = t->asked_count;
    t->nested = false;
    return solve_node(t, i, height, width);
}

/* Reverses the requests from `from` on, so that the first one is on top. */
static void first_on_top(tiler *t, int64_t from)
{
    for (int64_t low = from, high = t->asked_count - 1; low < high; low++, high--) {
        const request swapped = t->asked[low];
        t->asked[low] = t->asked[high];
        t->asked[high] = swapped;
    }
}

/* Solves all requests and what they need. A request that finds something unknown is solved again
 * when that is known. */
static void solve_requests(tiler *t)
{
    first_on_top(t, 0);
    while (t->asked_count && !t->status) {
        const int64_t before = t->asked_count;
        const request top = t->asked[before - 1];
        score best;
        if (is_known(t, top.node, top.height, top.width, &best) ||
            t->memo_count[top.node] == MOST_KNOWN) {
            t->asked_count--;
            continue;
        }
        best = solve_outermost(t, top.node, top.height, top.width);
        if (t->asked_count > before) {
            first_on_top(t, before);
        } else {
            t->asked_count--;
            remember_score(t, top.node, top.height, top.width, best);
        }
    }
}

/* Finds the cuts of node i in a box. */
static void find_cuts(tiler *t, int32_t i, int64_t height, int64_t width)
{
    do {
        solve_requests(t);
        if (!t->status) solve_outermost(t, i, height, width);
    } while ((t->asked_count || t->nested) && !t->status);
}

static void write_rect(tiler *t, int32_t worker, const placement *x)
{
    int64_t *rect = t->rects + 4 * (size_t)t->pieces;
    rect[0] = x->row;
    rect[1] = x->col;
    rect[2] = x->height;
    rect[3] = x->width;
    t->workers[t->pieces++] = worker;
}

/* Puts the members of a zone around two corners into its box: the zone in three pieces, from the
 * top down if no row has both corners, else from left to right. */
static void place_corners(tiler *t, const placement *x)
{
    const int32_t *const member = t->members + t->first[x->node];
    const int64_t h1 = t->cuts[0];
    const int64_t w1 = t->cuts[1];
    const int64_t h2 = t->cuts[2];
    const int64_t w2 = t->cuts[3];
    const int64_t lower = x->height - h2;
    const int64_t right = x->width - w2;
    const int64_t down[3][4] = {
        {0, w1, h1, x->width - w1}, {h1, 0, lower - h1, x->width}, {lower, 0, h2, right}};
    const int64_t across[3][4] = {
        {h1, 0, x->height - h1, w1}, {0, w1, x->height, right - w1}, {0, right, lower, w2}};
    for (int c = 3; c-- > 0;) {
        const int64_t *const piece = h1 + h2 <= x->height ? down[c] : across[c];
        push_placement(t, member[2], x->row + piece[0], x->col + piece[1], piece[2], piece[3]);
    }
    push_placement(t, member[1], x->row + lower, x->col + right, h2, w2);
    push_placement(t, member[0], x->row, x->col, h1, w1);
}

/* Puts the members of a node into its box. On the stack they are in the order of the floorplan, the
 * first on top. */
static void place_members(tiler *t, const placement *x)
{
    const int32_t count = t->count[x->node];
    const int32_t *member = t->members + t->first[x->node];
    const int64_t *cut = t->cuts;
    if (t->nodes[x->node].op == HS_WHEEL) {
        int64_t box[5][4];
        wheel_boxes(cut, x->height, x->width, box);
        for (int c = 5; c-- > 0;)
            push_placement(t, member[c], x->row + box[c][0], x->col + box[c][1], box[c][2],
                           box[c][3]);
    } else if (t->nodes[x->node].op == HS_AROUND) {
        const int64_t upper = x->height - cut[0];
        const int64_t left = x->width - cut[1];
        push_placement(t, member[1], x->row + upper, x->col, cut[0], left);
        push_placement(t, member[1], x->row, x->col, upper, x->width);
        push_placement(t, member[0], x->row + upper, x->col + left, cut[0], cut[1]);
    } else if (t->nodes[x->node].op == HS_CORNERS) {
        place_corners(t, x);
    } else {
        const bool beside = t->nodes[x->node].op == HS_BESIDE;
        int64_t at = beside ? x->width : x->height;
        for (int32_t k = count; k-- > 0;) {
            at -= cut[k];
            if (beside) push_placement(t, member[k], x->row, x->col + at, x->height, cut[k]);
            else push_placement(t, member[k], x->row + at, x->col, cut[k], x->width);
        }
    }
}

static hs_status tile_floorplan(tiler *t, int32_t root, int64_t m, int64_t n)
{
    push_placement(t, root, 0, 0, m, n);
    while (t->placed_count && !t->status) {
        const placement x = t->placed[--t->placed_count];
        const int32_t op = t->nodes[x.node].op;
        if (op >= 0) write_rect(t, op, &x);
        else find_cuts(t, x.node, x.height, x.width);
        if (op < 0 && !t->status) place_members(t, &x);
    }
    return t->status;
}

/* Lists the members of every node in members[], with consecutive cuts of the same kind as one node;
 * nodes with a higher index come first. Returns the largest number of members of a node. */
static int32_t list_members(tiler *t, int32_t length, int32_t *stack)
{
    int32_t used = 0;
    int32_t most = 0;
    /* from the root down */
    for (int32_t i = length - 1; i >= 0; i--) {
        const int32_t op = t->nodes[i].op;
        int32_t child_of[5];
        int32_t top = 0;
        if (op >= 0 || t->count[i] < 0) continue; /* a worker, or a part of a chain */
        t->first[i] = used;
        t->leaves[i] = true;
        stack[top++] = i;
        while (top > 0) {
            const int32_t at = stack[--top];
            const bool chain = t->nodes[at].op == op && (op == HS_BESIDE || op == HS_ABOVE);
            if (at != i && !chain) {
                t->members[used++] = at;
                t->leaves[i] = t->leaves[i] && t->nodes[at].op >= 0;
                continue;
            }
            if (at != i) t->count[at] = -1;
            for (int32_t c = hs__children(t->nodes, at, child_of); c-- > 0;)
                stack[top++] = child_of[c];
        }
        t->count[i] = used - t->first[i];
        if (t->count[i] > most) most = t->count[i];
    }
    return most;
}

hs_status hs_floorplan_tile(int64_t m, int64_t n, int32_t p, const double *areas,
                            const int32_t *plan, int32_t length, const int *cancel,
                            int32_t *workers, int64_t *rects, int32_t *pieces)
{
    if (!areas || !plan || !workers || !rects || !pieces) return HS_ERROR_VALUE;
    const int64_t most = HS__SIZE_MOST;
    int32_t size;
    if (m < 1 || n < 1 || m > most || n > most) return HS_ERROR_VALUE;
    if (!(hs__partition_total(p, areas, NULL, 1.0, &size) > 0.0) || length < 1 ||
        length >= 2 * (int64_t)p)
        return HS_ERROR_VALUE;
    const size_t nodes = (size_t)length;
    tiler t = {.cells = (double)m * (double)n, .cancel = cancel};
    t.nodes = malloc(nodes * sizeof *t.nodes);
    t.members = malloc(3 * nodes * sizeof *t.members);
    t.first = calloc(nodes, sizeof *t.first);
    t.count = calloc(nodes, sizeof *t.count);
    t.leaves = calloc(nodes, sizeof *t.leaves);
    t.memo = calloc(nodes, sizeof(known *));
    t.memo_count = calloc(nodes, sizeof *t.memo_count);
    t.workers = malloc(2 * (size_t)p * sizeof *t.workers);
    t.rects = malloc(8 * (size_t)p * sizeof *t.rects);
    hs_status status = hs__check_memory(t.workers && t.rects && t.nodes && t.members && t.first &&
                                        t.count && t.leaves && t.memo && t.memo_count);
    if (!status) status = hs__floorplan_parse(p, areas, NULL, plan, length, t.nodes);
    if (!status) {
        const size_t members = (size_t)list_members(&t, length, t.members + length);
        const size_t widest = hs__larger(members, 4);
        t.cuts = malloc(widest * sizeof *t.cuts);
        t.sizes = malloc(widest * sizeof *t.sizes);
        t.time = malloc(widest * sizeof *t.time);
        t.states = malloc(nodes * STATES * sizeof *t.states);
        status = t.cuts && t.sizes && t.time && t.states ? tile_floorplan(&t, length - 1, m, n)
                                                         : HS_ERROR_MEMORY;
    }
    if (!status) {
        memcpy(workers, t.workers, (size_t)t.pieces * sizeof *workers);
        memcpy(rects, t.rects, 4 * (size_t)t.pieces * sizeof *rects);
        *pieces = t.pieces;
    }
    for (size_t i = 0; t.memo && i < nodes; i++) free(t.memo[i]);
    free(t.nodes);
    free(t.members);
    free(t.first);
    free(t.count);
    free(t.leaves);
    free(t.memo);
    free(t.memo_count);
    free(t.workers);
    free(t.rects);
    free(t.cuts);
    free(t.sizes);
    free(t.time);
    free(t.states);
    free(t.asked);
    free(t.placed);
    return status;
}
