/* Integer cuts on the tree of a floorplan. Cuts of the same kind that follow each other are one node with many members: between
 * workers hs_distribute is optimal; between sub-boxes a dynamic program tries the integers around every cut's place. What is
 * best in a box of given sides is found once; beyond some boxes, as deep below many cuts, a node is taken for evenly divided. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "partition/floorplan.h"

enum { NEAR = 2 /* integers tried on each side of a cut */, MOST_KNOWN = 256 /* boxes tried of a node */, DEEPEST = 5000 };

typedef struct {
    double load;   /* largest cells given / cells asked for */
    double spread; /* sum of (given - asked)^2 / asked */
} score;

typedef struct {
    int64_t height, width;
    score best;
} known;

typedef struct {
    hs__node *nodes;
    int32_t *members, *first, *count; /* of node i: members[first[i]] .. members[first[i] + count[i] - 1] */
    bool *leaves;                     /* all members of node i are workers */
    known **memo;
    int32_t *memo_count;
    double cells;
    int32_t *workers;
    int64_t *rects;
    int32_t pieces;
    const int *cancel;
    hs_status status;
} tiler;

static bool better(score a, score b) { return a.load < b.load * (1.0 - 1e-12) || (a.load <= b.load * (1.0 + 1e-12) && a.spread < b.spread); }
static score join(score a, score b) { return (score){fmax(a.load, b.load), a.spread + b.spread}; }

/* The score of a worker with so many cells, or of any node without cells. */
static score given(const tiler *t, int32_t i, double cells)
{
    const double asked = t->nodes[i].area * t->cells;
    if (cells == 0.0) return (score){0.0, asked};
    return (score){cells / asked, (cells - asked) * (cells - asked) / asked};
}

/* The best score of node i in a box; with `place`, the rectangles as well. */
static score solve(tiler *t, int32_t i, int64_t row, int64_t col, int64_t height, int64_t width, bool place);

static void put(tiler *t, int32_t worker, int64_t row, int64_t col, int64_t height, int64_t width)
{
    if (height == 0 || width == 0) return;
    int64_t *rect = t->rects + 4 * (size_t)t->pieces;
    rect[0] = row, rect[1] = col, rect[2] = height, rect[3] = width;
    t->workers[t->pieces++] = worker;
}

static score child(tiler *t, int32_t i, bool beside, int64_t row, int64_t col, int64_t at, int64_t size, int64_t across, bool place)
{
    return beside ? solve(t, i, row, col + at, across, size, place) : solve(t, i, row + at, col, size, across, place);
}

/* Sizes of the members of a chain, as workers. */
static hs_status share_out(tiler *t, int32_t i, int64_t along, int64_t *size)
{
    const int32_t count = t->count[i], *member = t->members + t->first[i];
    double *time = malloc((size_t)count * sizeof *time);
    if (!time) return HS_ERROR_MEMORY;
    for (int32_t k = 0; k < count; k++) time[k] = t->nodes[i].area / t->nodes[member[k]].area;
    hs_status status = hs_distribute(along, count, time, t->cancel, size, NULL);
    free(time);
    return status;
}

typedef struct {
    score best;
    int64_t at;   /* end of the member */
    int32_t from; /* state of the member before */
} state;

/* Sizes of the members of a chain by dynamic programming over the places of the cuts. */
static hs_status choose_cuts(tiler *t, int32_t i, int64_t along, int64_t across, int64_t *size)
{
    enum { STATES = 2 * NEAR };
    const int32_t count = t->count[i], *member = t->members + t->first[i];
    const bool beside = t->nodes[i].op == HS_BESIDE;
    state(*s)[STATES] = malloc((size_t)count * sizeof *s);
    if (!s) return HS_ERROR_MEMORY;
    double sum = 0.0;
    for (int32_t k = 0; k < count; k++) {
        sum += t->nodes[member[k]].area;
        const double ideal = floor((double)along * fmin(sum / t->nodes[i].area, 1.0));
        for (int32_t c = 0; c < STATES; c++) {
            int64_t at = (int64_t)ideal + c - (NEAR - 1);
            at = k + 1 == count ? along : at < 0 ? 0 : at > along ? along : at;
            state *here = &s[k][c];
            *here = (state){.best = {INFINITY, INFINITY}, .at = at};
            for (int32_t b = 0; b < (k ? STATES : 1); b++) {
                const int64_t start = k ? s[k - 1][b].at : 0;
                if (start > at || (k && s[k - 1][b].best.load == INFINITY)) continue;
                const score own = child(t, member[k], beside, 0, 0, 0, at - start, across, false);
                const score all = k ? join(s[k - 1][b].best, own) : own;
                if (better(all, here->best)) here->best = all, here->from = b;
            }
        }
    }
    for (int32_t k = count, c = 0; k-- > 0;) {
        const int32_t from = s[k][c].from;
        size[k] = s[k][c].at - (k ? s[k - 1][from].at : 0);
        c = from;
    }
    free(s);
    return HS_OK;
}

static score solve_chain(tiler *t, int32_t i, int64_t row, int64_t col, int64_t height, int64_t width, bool place)
{
    const bool beside = t->nodes[i].op == HS_BESIDE;
    const int64_t along = beside ? width : height, across = beside ? height : width;
    const int32_t count = t->count[i], *member = t->members + t->first[i];
    score all = {0.0, 0.0};
    int64_t *size = malloc((size_t)count * sizeof *size), at = 0;
    hs_status status = !size ? HS_ERROR_MEMORY : t->leaves[i] ? share_out(t, i, along, size) : choose_cuts(t, i, along, across, size);
    if (status) t->status = status;
    for (int32_t k = 0; k < count && !t->status; at += size[k++]) all = join(all, child(t, member[k], beside, row, col, at, size[k], across, place));
    free(size);
    return all;
}

static score solve_wheel(tiler *t, int32_t i, int64_t row, int64_t col, int64_t height, int64_t width, bool place)
{
    const int32_t *part = t->members + t->first[i];
    double area[5], w[5], h[5];
    for (int c = 0; c < 5; c++) area[c] = t->nodes[part[c]].area / t->nodes[i].area;
    hs__wheel_of(area, w, h);
    score best = {INFINITY, INFINITY};
    int64_t line[4] = {0};
    for (int up = 0; up < 17; up++) { /* each line rounded down or up; at last the best once more, to place it */
        int64_t x0 = (int64_t)(w[3] * (double)width) + (up & 1), x1 = (int64_t)(w[0] * (double)width) + (up >> 1 & 1);
        int64_t y0 = (int64_t)(h[0] * (double)height) + (up >> 2 & 1), y1 = (int64_t)(h[1] * (double)height) + (up >> 3 & 1);
        if (up == 16) {
            if (!place) break;
            x0 = line[0], x1 = line[1], y0 = line[2], y1 = line[3];
        }
        if (x0 > x1 || x1 > width || y0 > y1 || y1 > height) continue;
        const int64_t box[5][4] = {{0, 0, y0, x1}, {0, x1, y1, width - x1}, {y1, x0, height - y1, width - x0}, {y0, 0, height - y0, x0}, {y0, x0, y1 - y0, x1 - x0}};
        score all = {0.0, 0.0};
        for (int c = 0; c < 5; c++) all = join(all, solve(t, part[c], row + box[c][0], col + box[c][1], box[c][2], box[c][3], up == 16));
        if (up < 16 && better(all, best)) best = all, line[0] = x0, line[1] = x1, line[2] = y0, line[3] = y1;
    }
    return best;
}

static score solve_around(tiler *t, int32_t i, int64_t row, int64_t col, int64_t height, int64_t width, bool place)
{
    const int32_t inside = t->members[t->first[i]], owner = t->members[t->first[i] + 1];
    const double wanted = t->nodes[inside].area * t->cells, ideal = hs__corner_width(&t->nodes[inside]) * sqrt(t->cells);
    score best = {INFINITY, INFINITY};
    int64_t found_width = 0, found_height = 0;
    for (int c = 0; c <= 2 * NEAR; c++) {
        int64_t w = (int64_t)fmin(ideal, (double)width) + c - NEAR;
        w = w < 0 || c == 0 ? 0 : w > width ? width : w; /* also no corner at all */
        for (int up = 0; up < 2; up++) {
            int64_t h = w ? (int64_t)fmin(wanted / (double)w, (double)height) + up : 0;
            h = h > height ? height : h;
            if ((w == 0) != (h == 0)) continue;
            const double left = (double)height * (double)width - (double)h * (double)w;
            score all = join(given(t, owner, left), solve(t, inside, 0, 0, h, w, false));
            if (better(all, best)) best = all, found_width = w, found_height = h;
        }
    }
    if (place) {
        const int64_t upper = height - found_height, left = width - found_width;
        solve(t, inside, row + upper, col + left, found_height, found_width, true);
        put(t, t->nodes[owner].op, row, col, upper, width);
        put(t, t->nodes[owner].op, row + upper, col, found_height, left);
    }
    return best;
}

static score solve(tiler *t, int32_t i, int64_t row, int64_t col, int64_t height, int64_t width, bool place)
{
    const hs__node *self = &t->nodes[i];
    if (!t->status && self->op < 0 && hs__cancelled(t->cancel)) t->status = HS_ERROR_CANCELLED;
    if (height == 0 || width == 0 || t->status) return given(t, i, 0.0);
    if (self->op >= 0) {
        if (place) put(t, self->op, row, col, height, width);
        return given(t, i, (double)height * (double)width);
    }
    for (int32_t k = 0; k < t->memo_count[i] && !place; k++)
        if (t->memo[i][k].height == height && t->memo[i][k].width == width) return t->memo[i][k].best;
    if (!place && t->memo_count[i] == MOST_KNOWN) return given(t, i, (double)height * (double)width);
    score best;
    switch (self->op) {
    case HS_WHEEL: best = solve_wheel(t, i, row, col, height, width, place); break;
    case HS_AROUND: best = solve_around(t, i, row, col, height, width, place); break;
    default: best = solve_chain(t, i, row, col, height, width, place);
    }
    if (place || t->status) return best;
    if ((t->memo_count[i] & (t->memo_count[i] - 1)) == 0) { /* full at powers of two */
        size_t capacity = t->memo_count[i] ? 2 * (size_t)t->memo_count[i] : 1;
        known *grown = realloc(t->memo[i], capacity * sizeof *grown);
        if (!grown) {
            t->status = HS_ERROR_MEMORY;
            return best;
        }
        t->memo[i] = grown;
    }
    t->memo[i][t->memo_count[i]++] = (known){height, width, best};
    return best;
}

/* Members of every node, cuts of the same kind taken together; they lie in members[], each node's after those of its first
 * member's subtree. Returns the depth of the tree so flattened. */
static int32_t flatten(tiler *t, int32_t length, int32_t *stack, int32_t *depth)
{
    int32_t used = 0, deepest = 0;
    for (int32_t i = length - 1; i >= 0; i--) { /* from the root down */
        const int32_t op = t->nodes[i].op;
        int32_t child_of[5], top = 0;
        if (op >= 0 || t->count[i] < 0) continue; /* a worker, or a part of a chain */
        t->first[i] = used, t->leaves[i] = true;
        stack[top++] = i;
        while (top > 0) {
            const int32_t at = stack[--top];
            const bool chain = t->nodes[at].op == op && (op == HS_BESIDE || op == HS_ABOVE);
            if (at != i && !chain) {
                t->members[used++] = at;
                t->leaves[i] = t->leaves[i] && t->nodes[at].op >= 0;
                depth[at] = depth[i] + 1;
                if (depth[at] > deepest) deepest = depth[at];
                continue;
            }
            if (at != i) t->count[at] = -1;
            for (int32_t c = hs__children(t->nodes, at, child_of); c-- > 0;) stack[top++] = child_of[c];
        }
        t->count[i] = used - t->first[i];
    }
    return deepest;
}

hs_status hs_floorplan_tile(int64_t m, int64_t n, int32_t p, const double *areas, const int32_t *plan, int32_t length,
                            const int *cancel, int32_t *workers, int64_t *rects, int32_t *pieces)
{
    if (!areas || !plan || !workers || !rects || !pieces) return HS_ERROR_VALUE;
    const int64_t most = INT64_C(1) << 53;
    int32_t size;
    if (m < 1 || n < 1 || m > most || n > most) return HS_ERROR_VALUE;
    if (!(hs__partition_total(p, areas, NULL, 1.0, &size) > 0.0) || length < 1 || length >= 2 * (int64_t)p) return HS_ERROR_VALUE;
    const size_t nodes = (size_t)length;
    tiler t = {.cells = (double)m * (double)n, .cancel = cancel};
    t.nodes = malloc(nodes * sizeof *t.nodes);
    t.members = malloc(3 * nodes * sizeof *t.members), t.first = calloc(nodes, sizeof *t.first), t.count = calloc(nodes, sizeof *t.count);
    t.leaves = calloc(nodes, sizeof *t.leaves), t.memo = calloc(nodes, sizeof(known *)), t.memo_count = calloc(nodes, sizeof *t.memo_count);
    t.workers = malloc((nodes + 1) * sizeof *t.workers), t.rects = malloc(4 * (nodes + 1) * sizeof *t.rects);
    int32_t *depth = calloc(nodes, sizeof *depth);
    hs_status status = t.workers && t.rects && t.nodes && t.members && t.first && t.count && t.leaves && t.memo && t.memo_count && depth ? HS_OK : HS_ERROR_MEMORY;
    if (!status) status = hs__floorplan_parse(p, areas, NULL, plan, length, t.nodes);
    if (!status && flatten(&t, length, t.members + length, depth) > DEEPEST) status = HS_ERROR_UNSUPPORTED;
    if (!status) {
        solve(&t, length - 1, 0, 0, m, n, true);
        status = t.status;
    }
    if (!status) {
        memcpy(workers, t.workers, (size_t)t.pieces * sizeof *workers);
        memcpy(rects, t.rects, 4 * (size_t)t.pieces * sizeof *rects);
        *pieces = t.pieces;
    }
    for (size_t i = 0; t.memo && i < nodes; i++) free(t.memo[i]);
    free(t.nodes), free(t.members), free(t.first), free(t.count), free(t.leaves), free(t.memo), free(t.memo_count), free(depth), free(t.workers), free(t.rects);
    return status;
}
