/* hs_partition_search: local search over guillotine floorplans. Two leaves or two sub-boxes are
 * exchanged, a cut turns, or a sub-box moves elsewhere. The cost of a floorplan follows bottom-up
 * from the sub-boxes' costs per width and per height, without any lengths. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cancel.h"
#include "core/random.h"
#include "partition/floorplan.h"

typedef struct {
    int32_t op; /* a worker, HS_BESIDE or HS_ABOVE */
    int32_t child[2], parent;
    double area, across, down;
} node;

typedef struct {
    node *nodes;
    int32_t count, root;
} tree;

static void add_up(tree *t, int32_t i)
{
    node *self = &t->nodes[i];
    const node *a = &t->nodes[self->child[0]];
    const node *b = &t->nodes[self->child[1]];
    self->area = a->area + b->area;
    const double share = a->area / self->area;
    const double rest = b->area / self->area;
    const bool beside = self->op == HS_BESIDE;
    self->across = beside ? a->across * share + b->across * rest : a->across + b->across;
    self->down = beside ? a->down + b->down : a->down * share + b->down * rest;
}

/* Recomputes from node i up to the root. */
static void update_costs(tree *t, int32_t i)
{
    for (; i >= 0; i = t->nodes[i].parent)
        if (t->nodes[i].op < 0) add_up(t, i);
}

static void put_in_place(tree *t, int32_t parent, int32_t old, int32_t new)
{
    t->nodes[new].parent = parent;
    if (parent < 0) t->root = new;
    else t->nodes[parent].child[t->nodes[parent].child[1] == old] = new;
}

static bool contains_node(const tree *t, int32_t above, int32_t i)
{
    for (; i >= 0; i = t->nodes[i].parent)
        if (i == above) return true;
    return false;
}

/* Changes the tree at random; returns false if the change is void. */
static bool disturb_tree(tree *t, uint64_t *state)
{
    const int32_t i = hs__pick(state, t->count);
    const int32_t j = hs__pick(state, t->count);
    const int32_t move = hs__pick(state, 4);
    node *x = &t->nodes[i];
    node *y = &t->nodes[j];
    if (move == 0) { /* a cut turns */
        if (x->op >= 0) return false;
        x->op = hs__cut_op(x->op == HS_BESIDE);
        update_costs(t, i);
        return true;
    }
    if (contains_node(t, i, j) || contains_node(t, j, i)) return false;
    if (move < 3) { /* two nodes are exchanged */
        const int32_t p = x->parent;
        const int32_t q = y->parent;
        if (p == q || (move == 1 && (x->op < 0 || y->op < 0))) return false;
        put_in_place(t, p, i, j);
        put_in_place(t, q, j, i);
        update_costs(t, p);
        update_costs(t, q);
        return true;
    }
    /* x moves to y's side; its former parent becomes the cut between them */
    const int32_t cut = x->parent;
    const int32_t other = t->nodes[cut].child[t->nodes[cut].child[0] == i];
    const int32_t up = t->nodes[cut].parent;
    if (other == j) return false;
    put_in_place(t, up, cut, other);
    put_in_place(t, y->parent, j, cut);
    t->nodes[cut].op = hs__cut_op(!hs__pick(state, 2));
    t->nodes[cut].child[0] = i;
    t->nodes[cut].child[1] = j;
    x->parent = y->parent = cut;
    if (up >= 0) update_costs(t, up);
    update_costs(t, cut);
    return true;
}

static void read_nodes(tree *t, const hs__node *parsed, int32_t length)
{
    t->count = length;
    t->root = length - 1;
    for (int32_t i = 0; i < length; i++) {
        int32_t child[5];
        t->nodes[i] = (node){.op = parsed[i].op,
                             .parent = -1,
                             .area = parsed[i].area,
                             .across = parsed[i].across,
                             .down = parsed[i].down};
        for (int32_t c = hs__children(parsed, i, child); c-- > 0;) {
            t->nodes[i].child[c] = child[c];
            t->nodes[child[c]].parent = i;
        }
    }
}

/* Writes the tree in postfix order, by walking down and up again. */
static void write_plan(const tree *t, int32_t *plan)
{
    int32_t length = 0;
    for (int32_t i = t->root, from = t->nodes[t->root].parent; i >= 0;) {
        const node *self = &t->nodes[i];
        int32_t next;
        if (self->op < 0 && from == self->parent) next = self->child[0];
        else if (self->op < 0 && from == self->child[0]) next = self->child[1];
        else {
            plan[length++] = self->op;
            next = self->parent;
        }
        from = i;
        i = next;
    }
}

hs_status hs_partition_search(int32_t p, const double *areas, const double *weights, double aspect,
                              int64_t evaluations, double temperature, const int *cancel,
                              int32_t *plan, int32_t length, uint64_t *state, double *cost)
{
    if (!areas || !plan || !state || !cost) return HS_ERROR_VALUE;
    int32_t size;
    if (!(hs__partition_total(p, areas, weights, aspect, &size) > 0.0) || length < 1 ||
        length >= 2 * (int64_t)p || evaluations < 0 ||
        !(temperature >= 0.0 && isfinite(temperature)))
        return HS_ERROR_VALUE;
    const size_t bytes = (size_t)length * sizeof(node);
    hs__node *parsed = malloc((size_t)length * sizeof *parsed);
    tree now = {.nodes = malloc(bytes)};
    tree old = {.nodes = malloc(bytes)};
    tree best = {.nodes = malloc(bytes)};
    hs_status status = parsed && now.nodes && old.nodes && best.nodes
                           ? hs__floorplan_parse(p, areas, weights, plan, length, parsed)
                           : HS_ERROR_MEMORY;
    for (int32_t i = 0; i < length && !status; i++)
        if (plan[i] < HS_ABOVE) status = HS_ERROR_UNSUPPORTED;
    if (!status) {
        const double width = sqrt(aspect);
        const double height = 1.0 / width;
        uint64_t random = *state;
        read_nodes(&now, parsed, length);
        memcpy(best.nodes, now.nodes, bytes);
        best.count = now.count;
        best.root = now.root;
        double current = now.nodes[now.root].across * width + now.nodes[now.root].down * height;
        double least = current;
        const double first = current;
        for (int64_t k = 0; k < evaluations && size > 1; k++) {
            if (k % 256 == 0 && hs__cancelled(cancel)) {
                status = HS_ERROR_CANCELLED;
                break;
            }
            memcpy(old.nodes, now.nodes, bytes);
            old.root = now.root;
            if (!disturb_tree(&now, &random)) continue;
            const double found =
                now.nodes[now.root].across * width + now.nodes[now.root].down * height;
            const double heat = temperature * first * (1.0 - (double)k / (double)evaluations);
            const double chance = hs__random_unit(&random);
            if (found <= current || chance < exp((current - found) / heat)) {
                current = found;
                if (found < least) {
                    least = found;
                    memcpy(best.nodes, now.nodes, bytes);
                    best.root = now.root;
                }
            } else {
                memcpy(now.nodes, old.nodes, bytes);
                now.root = old.root;
            }
        }
        if (!status) {
            write_plan(&best, plan);
            *state = random;
            *cost = least;
        }
    }
    free(parsed);
    free(now.nodes);
    free(old.nodes);
    free(best.nodes);
    return status;
}
