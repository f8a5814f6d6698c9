/* The joins of join.h: memory, the tree of parts, and tasks. */
#include "spectral/join.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/element.h"
#include "core/numbers.h"
#include "product/panels.h"

enum {
    /* Parts of at most so many rows are one task with all their joins: some hundred
     * microseconds. */
    SUBTREE_ROWS = 128,
    /* Tasks of the larger joins. */
    GATHER_ROWS = 128,
    ROOTS = 16,
    WEIGHTS = 64,
    /* Tiles: large ones read the old basis less often and compute fewer vectors twice; small ones
     * are dealt more evenly. Measured: at n = 3000 tiles of 1536 x 192 take 0.37 s of one core
     * (Intel Xeon family 6 model 167), of 768 x 128 0.42 s. A sixteenth of the columns, within
     * limits. */
    TILE_ROWS = 1536,
    TILE_COLS_LEAST = 96,
    TILE_COLS = 192,
    TILES = 16,
    /* Products with at most so many multiply-adds are computed by plain loops. */
    SMALL_UPDATES = 16384,
    ALIGNED = 64
};

/* Groups of columns: with zeros in the lower rows, without, with zeros in the upper rows. */
enum { UPPER, DENSE, LOWER };

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t align_bytes(size_t bytes) { return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED; }

static size_t real_bytes(const hs__tree *tree) { return hs__real_bytes(tree->dtype); }

/* Returns the columns of the packed area of a basis that a part has for each of its columns. */
static int64_t packed_height(const hs__tree *tree)
{
    return tree->values_only ? 2 : tree->n + tree->squares;
}

/* Takes the next bytes of the workspace; with work NULL it only counts them. */
static void *take_bytes(char *work, size_t *used, size_t bytes)
{
    char *at = work ? work + *used : NULL;
    *used += align_bytes(bytes);
    return at;
}

/* Divides the workspace and returns its size. */
static size_t divide_work(hs__tree *tree, char *work)
{
    const size_t n = (size_t)tree->n;
    const size_t reals = n * real_bytes(tree);
    size_t used = 0;
    double **const arrays[] = {&tree->pole,  &tree->weight,       &tree->base,
                               &tree->shift, &tree->grouped_pole, &tree->grouped_weight};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = take_bytes(work, &used, n * sizeof **arrays[i]);
    tree->dead = take_bytes(work, &used, reals);
    tree->scaled = take_bytes(work, &used, reals);
    int64_t **const indices[] = {&tree->order, &tree->column, &tree->place, &tree->dead_column,
                                 &tree->target};
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        *indices[i] = take_bytes(work, &used, n * sizeof **indices[i]);
    tree->exponent = take_bytes(work, &used, sizeof *tree->exponent);
    tree->group = take_bytes(work, &used, n);
    tree->turns = take_bytes(work, &used, n * sizeof *tree->turns);
    tree->joins = take_bytes(work, &used, sizeof *tree->joins << tree->levels);
    for (int32_t i = 0; i < tree->bases; i++)
        tree->basis[i].packed = take_bytes(work, &used, reals * (size_t)packed_height(tree));
    if (tree->values_only) {
        tree->basis[0].q = take_bytes(work, &used, 2 * (reals + real_bytes(tree)));
        tree->basis[0].ld = 2;
    }
    return used;
}

void hs__tree_init(hs__tree *tree, const hs__kernel *kernel, int32_t dtype, int squares,
                   int values_only, int64_t n)
{
    *tree = (hs__tree){.dtype = dtype,
                       .squares = squares != 0,
                       .values_only = values_only != 0,
                       .bases = squares && !values_only ? 2 : 1,
                       .n = n,
                       .kernel = kernel,
                       .loops = hs__secular_for()};
    while ((n + tree->squares) >> tree->levels > 1) tree->levels++;
    tree->basis[0].kind = HS__EIGENVECTOR;
    if (squares) tree->basis[0].kind = values_only ? HS__RIGHT_VECTOR : HS__LEFT_VECTOR;
    tree->basis[1].kind = HS__RIGHT_VECTOR;
}

size_t hs__tree_bytes(const hs__tree *tree)
{
    hs__tree copy = *tree;
    return divide_work(&copy, NULL);
}

void hs__tree_use(hs__tree *tree, void *work) { (void)divide_work(tree, work); }

/* The scratch memory of a worker. */
typedef struct {
    double *vector; /* of a root */
    char *vectors;  /* of all roots of a tile, with norm 1, in the type of the matrix */
    char *tile;     /* of the new basis */
    char *panel, *block;
} tile_scratch;

/* Divides the scratch memory and returns its size. The packed operands of a product of a tile are
 * at most as large as micro-panels of the kernel's depth for all its rows or columns. */
static size_t measure_scratch(const hs__tree *tree, char *memory, tile_scratch *scratch)
{
    const hs__blocking *kernel = &tree->kernel->real[tree->dtype];
    const size_t depth = (size_t)hs__max(kernel->depth, 4);
    const size_t lines = TILE_ROWS + (size_t)kernel->tile_rows + (size_t)kernel->tile_cols;
    const size_t packed = lines * depth * real_bytes(tree);
    size_t used = 0;
    scratch->vector = take_bytes(memory, &used, (size_t)tree->n * sizeof *scratch->vector);
    scratch->vectors = take_bytes(memory, &used, (size_t)tree->n * TILE_COLS * real_bytes(tree));
    scratch->tile = take_bytes(memory, &used, (size_t)TILE_ROWS * TILE_COLS * real_bytes(tree));
    scratch->panel = take_bytes(memory, &used, packed);
    scratch->block = take_bytes(memory, &used, packed);
    return used;
}

size_t hs__tree_scratch(const hs__tree *tree)
{
    tile_scratch scratch;
    return measure_scratch(tree, NULL, &scratch);
}

static tile_scratch divide_scratch(const hs__tree *tree, const hs__walk *walk)
{
    tile_scratch scratch;
    (void)measure_scratch(tree, hs__walk_scratch(walk), &scratch);
    return scratch;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static hs__join *join_at(const hs__tree *tree, int32_t level, int64_t index)
{
    return &tree->joins[((int64_t)1 << level) + index];
}

static int is_root(const hs__tree *tree, const hs__join *join) { return join == tree->joins + 1; }

/* Whether the rows of the part's bases are needed. */
static int needs_vectors(const hs__tree *tree, const hs__join *join)
{
    return !tree->values_only || !is_root(tree, join);
}

static void locate_join(const hs__tree *tree, int32_t level, int64_t index)
{
    hs__join *join = join_at(tree, level, index);
    const int64_t end = hs__tree_start(tree, level, index + 1);
    join->first = hs__tree_start(tree, level, index);
    join->cut = hs__tree_start(tree, level + 1, 2 * index + 1);
    join->last = end - tree->squares;
    join->end = hs__min(end, tree->n);
}

/* The rows of a part in a basis: the first one, and how many are upper and lower ones. */
typedef struct {
    int64_t first, upper, lower;
} part_rows;

static part_rows rows_of(const hs__tree *tree, const hs__join *join, const hs__basis *basis)
{
    if (tree->values_only) return (part_rows){0, 1, 1};
    const int64_t end = basis->kind == HS__LEFT_VECTOR ? join->last : join->end;
    return (part_rows){join->first, join->cut - join->first, end - join->cut};
}

/* Returns the rows of the largest part of a level, at most. */
static int64_t most_rows(const hs__tree *tree, int32_t level)
{
    return ((tree->n + tree->squares) >> level) + 1;
}

static int64_t most_basis_rows(const hs__tree *tree, int32_t level)
{
    return tree->values_only ? 2 : most_rows(tree, level);
}

/* The gathered columns of a part: those with upper rows, those with lower rows, the deflated
 * ones. */
typedef struct {
    char *upper, *lower, *dead;
} packed_columns;

static packed_columns locate_packed(const hs__tree *tree, const hs__join *join,
                                    const hs__basis *basis)
{
    const part_rows rows = rows_of(tree, join, basis);
    const int64_t bytes = (int64_t)real_bytes(tree);
    packed_columns packed;
    packed.upper = basis->packed + join->first * packed_height(tree) * bytes;
    packed.lower = packed.upper + rows.upper * (join->upper + join->dense) * bytes;
    packed.dead = packed.lower + rows.lower * (join->dense + join->lower) * bytes;
    return packed;
}

/* C <- A B (m x n, depth k). All have unit row stride. */
static void multiply_packed(const hs__tree *tree, hs__walk *walk, int64_t m, int64_t n, int64_t k,
                            const void *a, int64_t a_ld, const void *b, int64_t b_ld, void *c,
                            int64_t c_ld, const tile_scratch *scratch)
{
    hs_product product;
    hs_product_default(&product, tree->dtype, m, n, k, a, b, c);
    product.a_row_stride = 1;
    product.a_col_stride = a_ld;
    product.b_row_stride = 1;
    product.b_col_stride = b_ld;
    product.c_row_stride = 1;
    product.c_col_stride = c_ld;
    const hs_box box = {.height = m, .width = n, .length = k};
    hs__panel_product x;
    if (hs__panel_product_init(&x, tree->kernel, &product, &box, NULL, 1))
        hs__panel_product_run(&x, scratch->panel, scratch->block, &walk->self.run->cancel);
}

#define TEMPLATE "spectral/join_template.h"
#define SET(x) x
#include "kernel/each_real.h"

#define CALL(tree, function, ...)                                               \
    do {                                                                        \
        if ((tree)->dtype == HS_FLOAT32) float_##function((tree), __VA_ARGS__); \
        else double_##function((tree), __VA_ARGS__);                            \
    } while (0)

/* ---- tasks ----------------------------------------------------------------------------------- */

/* All joins of a part and of what it is divided in, by one worker. */
static void join_alone(const hs__tree *tree, hs__join *join, hs__walk *walk)
{
    const int64_t size = join->last - join->first;
    CALL(tree, deflate, join);
    for (int32_t i = 0; i < tree->bases && needs_vectors(tree, join); i++) {
        const part_rows rows = rows_of(tree, join, &tree->basis[i]);
        CALL(tree, gather, join, &tree->basis[i], 0, rows.upper + rows.lower);
    }
    CALL(tree, find_roots, join, 0, size);
    CALL(tree, set_weights, join, 0, size);
    for (int32_t i = 0; i < tree->bases && needs_vectors(tree, join); i++) {
        const part_rows rows = rows_of(tree, join, &tree->basis[i]);
        for (int64_t left = 0; left < size; left += TILE_COLS)
            CALL(tree, multiply, join, &tree->basis[i], 0, rows.upper + rows.lower, left,
                 hs__min(left + TILE_COLS, size), walk);
    }
}

typedef struct {
    const hs__tree *tree;
    int32_t level;
} join_level;

static void join_subtree(void *context, int32_t task, hs__walk *walk)
{
    const join_level *x = context;
    const hs__tree *tree = x->tree;
    int32_t deeper = tree->levels - x->level;
    for (int64_t i = 0; i < (int64_t)1 << deeper; i++)
        tree->leaf(tree, ((int64_t)task << deeper) + i);
    for (int32_t level = tree->levels - 1; level >= x->level; level--) {
        deeper = level - x->level;
        for (int64_t i = 0; i < (int64_t)1 << deeper; i++) {
            const int64_t index = ((int64_t)task << deeper) + i;
            locate_join(tree, level, index);
            join_alone(tree, join_at(tree, level, index), walk);
            if (hs__stopped(&walk->self)) return;
        }
    }
}

static void deflate_join(void *context, int32_t task, hs__walk *walk)
{
    const join_level *x = context;
    (void)walk;
    locate_join(x->tree, x->level, task);
    CALL(x->tree, deflate, join_at(x->tree, x->level, task));
}

/* Each join has the same number of tasks, as many as its largest possible size needs; some of them
 * may be empty. */
static int32_t count_tasks(int64_t size, int64_t each) { return (int32_t)hs__ceil_div(size, each); }

static int32_t gathers_of(const hs__tree *tree, int32_t level)
{
    return tree->bases * count_tasks(most_basis_rows(tree, level), GATHER_ROWS);
}

static void gather_rows(void *context, int32_t task, hs__walk *walk)
{
    const join_level *x = context;
    const hs__tree *tree = x->tree;
    const int32_t each = gathers_of(tree, x->level);
    const hs__join *join = join_at(tree, x->level, task / each);
    const hs__basis *basis = &tree->basis[task % each % tree->bases];
    const part_rows rows = rows_of(tree, join, basis);
    const int64_t from = (int64_t)(task % each / tree->bases) * GATHER_ROWS;
    const int64_t to = hs__min(from + GATHER_ROWS, rows.upper + rows.lower);
    (void)walk;
    if (from < to) CALL(tree, gather, join, basis, from, to);
}

static int32_t roots_of(const hs__tree *tree, int32_t level)
{
    return count_tasks(most_rows(tree, level), ROOTS);
}

static void find_roots(void *context, int32_t task, hs__walk *walk)
{
    const join_level *x = context;
    const int32_t each = roots_of(x->tree, x->level);
    const int64_t from = (int64_t)(task % each) * ROOTS;
    (void)walk;
    CALL(x->tree, find_roots, join_at(x->tree, x->level, task / each), from, from + ROOTS);
}

static int32_t weights_of(const hs__tree *tree, int32_t level)
{
    return count_tasks(most_rows(tree, level), WEIGHTS);
}

static void set_weights(void *context, int32_t task, hs__walk *walk)
{
    const join_level *x = context;
    const int32_t each = weights_of(x->tree, x->level);
    const int64_t from = (int64_t)(task % each) * WEIGHTS;
    (void)walk;
    CALL(x->tree, set_weights, join_at(x->tree, x->level, task / each), from, from + WEIGHTS);
}

/* Tiles of a level: equal numbers of rows, at most TILE_ROWS. */
typedef struct {
    int64_t width;      /* columns of a tile */
    int32_t rows, cols; /* tiles in each direction */
    int32_t all;        /* of a part, in all bases */
} tile_grid;

static tile_grid grid_of(const hs__tree *tree, int32_t level)
{
    tile_grid grid;
    grid.rows = count_tasks(most_basis_rows(tree, level), TILE_ROWS);
    const int64_t width = hs__round_up(hs__ceil_div(most_rows(tree, level), TILES), 32);
    grid.width = hs__min(hs__max(width, TILE_COLS_LEAST), TILE_COLS);
    grid.cols = count_tasks(most_rows(tree, level), grid.width);
    grid.all = grid.rows * grid.cols * tree->bases;
    return grid;
}

static void multiply_tile(void *context, int32_t task, hs__walk *walk)
{
    const join_level *x = context;
    const hs__tree *tree = x->tree;
    const tile_grid grid = grid_of(tree, x->level);
    const hs__join *join = join_at(tree, x->level, task / grid.all);
    const int32_t tile = task % grid.all;
    const hs__basis *basis = &tree->basis[tile / (grid.rows * grid.cols)];
    const part_rows rows = rows_of(tree, join, basis);
    const int64_t height = rows.upper + rows.lower;
    const int64_t row = tile % grid.rows;
    const int64_t left = (tile / grid.rows % grid.cols) * grid.width;
    const int64_t right = hs__min(left + grid.width, join->last - join->first);
    if (left < right)
        CALL(tree, multiply, join, basis, row * height / grid.rows, (row + 1) * height / grid.rows,
             left, right, walk);
}

static int join_parts(hs__walk *walk, const hs__tree *tree, int32_t level)
{
    join_level x = {tree, level};
    const int32_t joins = (int32_t)1 << level;
    const int vectors = !tree->values_only || level > 0;
    if (hs__phase(walk, joins, deflate_join, &x)) return 1;
    if (vectors && hs__phase(walk, joins * gathers_of(tree, level), gather_rows, &x)) return 1;
    if (hs__phase(walk, joins * roots_of(tree, level), find_roots, &x)) return 1;
    if (hs__phase(walk, joins * weights_of(tree, level), set_weights, &x)) return 1;
    return vectors && hs__phase(walk, joins * grid_of(tree, level).all, multiply_tile, &x);
}

static void prepare_matrix(void *context, int32_t task, hs__walk *walk)
{
    const hs__tree *tree = context;
    (void)task;
    (void)walk;
    *tree->failed = tree->dtype == HS_FLOAT32 ? float_prepare(tree) : double_prepare(tree);
}

static void restore_values(void *context, int32_t task, hs__walk *walk)
{
    const hs__tree *tree = context;
    (void)task;
    (void)walk;
    if (tree->dtype == HS_FLOAT32) float_restore(tree);
    else double_restore(tree);
}

int hs__tree_solve(hs__walk *walk, const hs__tree *tree)
{
    hs__tree copy = *tree; /* tasks take no pointers to constants */
    if (tree->n == 0) {
        *tree->failed = 0;
        return hs__stopped(&walk->self);
    }
    if (hs__phase(walk, 1, prepare_matrix, &copy)) return 1;
    int32_t level = 0;
    while (level < tree->levels && most_rows(tree, level) > SUBTREE_ROWS) level++;
    join_level x = {tree, level};
    if (hs__phase(walk, (int32_t)1 << level, join_subtree, &x)) return 1;
    while (level-- > 0)
        if (join_parts(walk, tree, level)) return 1;
    return hs__phase(walk, 1, restore_values, &copy);
}
