/* What the tasks of factorisations and systems do to a matrix in slices, and the executor that
 * decides who does them, and when. */
#ifndef HS_FACTOR_TASKS_H
#define HS_FACTOR_TASKS_H

#include <stdatomic.h>

#include "allocate/factor_map.h"
#include "factor/columns.h"

/* The matrix of a run, as the tasks of a domain see it: a block is of the domain of its owner, and
 * so are its slices and the panels that update it.
 *   type           of the domain
 *   types          [blocks.count] of the slices of each block
 *   given, wanted  where columns come from and where they go
 *   pivots, tau    of an LU and a QR factorisation
 *   failed         the first column without a pivot; INT64_MAX: none */
typedef struct hs__task_data {
    hs__column_type type;
    const hs__column_type **types;
    hs__factor_blocks blocks; /* of the columns */
    hs__matrix given, wanted;
    hs__packed_panel *panel; /* [panels] */
    hs__columns *columns;    /* [blocks.count] */
    int32_t panels;
    hs__kept kept;
    int32_t *pivots;
    char *tau;
    _Atomic int64_t *failed;
    /* Triangular systems: the lower triangle; unit: with ones on its diagonal. identity: the
     * right-hand sides are the columns of the identity. */
    hs__matrix triangle;
    int unit, identity;
    int64_t width;        /* of the panels */
    const double *factor; /* [2] of the columns, before all else; NULL: 1 */
    /* Reflectors: of the matrix with them; adjoint: of Q^H rather than Q. */
    hs__matrix reflectors;
    int adjoint, backwards; /* backwards: panels come in the opposite order */
    /* [blocks.count] what heads leave for the parts, where a kind has that */
    char **held;
} hs__task_data;

/* Bytes are of a panel of `rows` rows and `width` columns: of what it is packed to; of the memory
 * that is needed to make it; of what each worker has for a block of `cols` of m rows. The functions
 * look for a cancel; factor and repack return non-zero if they ended for one. repack: panel k,
 * which another domain has factored, packed for x; NULL of a kind whose panels are not made of
 * columns. With owners in both directions an update is made of a head, if the kind has one, and
 * rows: after `prepare` in the same work, strips `first` .. end - 1 of the panel, which are below
 * those of the head. */
typedef struct hs__task_kind {
    size_t (*panel_bytes)(const hs__column_type *type, int64_t rows, int64_t width);
    size_t (*make_bytes)(const hs__column_type *type, int64_t rows, int64_t width);
    size_t (*work_bytes)(const hs__column_type *type, int64_t m, int64_t width, int64_t cols);
    void (*load)(const hs__task_data *x, int32_t block, char *work, hs__member *self);
    int (*factor)(hs__task_data *x, int32_t k, char *memory, hs__member *self);
    int (*repack)(const hs__task_data *x, const hs__task_data *from, int32_t k, char *memory,
                  hs__member *self);
    void (*update)(const hs__task_data *x, int32_t k, int32_t block, char *work, hs__member *self);
    void (*store)(const hs__task_data *x, int32_t block, char *work, hs__member *self);
    /* the first step that changes the block; NULL: 0 */
    int32_t (*begin)(const hs__task_data *x, int32_t block);
    /* NULL: nothing is held */
    size_t (*held_bytes)(const hs__column_type *type, int64_t width, int64_t cols);
    void (*head)(const hs__task_data *x, int32_t k, int32_t block, char *work, hs__member *self);
    /* NULL: nothing to do */
    void (*prepare)(const hs__task_data *x, int32_t k, int32_t block, char *work);
    void (*rows)(const hs__task_data *x, int32_t k, int32_t block, int64_t first, int64_t end,
                 char *work, hs__member *self);
    int32_t widest; /* columns of a panel of what applies to others */
} hs__task_kind;

extern const hs__task_kind hs__lu_tasks, hs__cholesky_tasks, hs__qr_tasks;

/* Columns of a block, of a matrix that has them all. */
static inline hs__matrix hs__block_of(const hs__task_data *x, const hs__matrix *whole,
                                      int32_t block)
{
    return hs__part(whole, 0, hs__block_first(&x->blocks, block), whole->rows,
                    hs__block_width(&x->blocks, block));
}

/* A column without a pivot. */
static inline void hs__fail(hs__task_data *x, int64_t column)
{
    int64_t least = atomic_load(x->failed);
    while (column < least && !atomic_compare_exchange_weak(x->failed, &least, column)) {}
}

/* What kinds share: all rows there and back; a block minus L times its solution X of (diagonal
 * block) X = its own rows of the panel, with the exchanges of rows in front if there are pivots,
 * and divided by the scales (power, re, im) of each row if there are those; a panel in strips
 * packed again. */
int hs__repack_strips(const hs__task_data *x, const hs__task_data *from, int32_t k, char *memory,
                      hs__member *self);
void hs__load_or_identity(const hs__task_data *x, int32_t block, char *work, hs__member *self);
void hs__load_all(const hs__task_data *x, int32_t block, char *work, hs__member *self);
void hs__store_all(const hs__task_data *x, int32_t block, char *work, hs__member *self);
size_t hs__lower_bytes(const hs__column_type *type, int64_t m, int64_t width, int64_t cols);
void hs__lower_update(const hs__column_type *type, const hs__packed_panel *panel,
                      const hs__columns *block, const int32_t *pivots, const double (*scales)[3],
                      char *work, hs__member *self);

/* The same in two: the solution, and strips s .. end - 1 below it, of which another worker prepares
 * what it needs. */
void hs__lower_solve(const hs__column_type *type, const hs__packed_panel *panel,
                     const hs__columns *block, const int32_t *pivots, const double (*scales)[3],
                     char *work, hs__member *self);
void hs__lower_prepare(const hs__column_type *type, const hs__packed_panel *panel,
                       const hs__columns *block, char *work);
void hs__lower_rows(const hs__column_type *type, const hs__packed_panel *panel,
                    const hs__columns *block, int64_t s, int64_t end, char *work, hs__member *self);

/* 1 / pivot as (power, re, im): of one too small for that with a power of two before. 1 for zero:
 * nothing is scaled then. */
void hs__invert(const hs__column_type *type, const char *pivot, double scale[3]);

/* ---- the executor: which worker does which task, and when it may ----------------------------- */

/* What a domain has of a run: the panels that are packed for it, and how many somebody has taken to
 * pack; memory for the one that is being made. */
typedef struct hs__task_side {
    hs__task_data x;
    char *make;
    int32_t members; /* workers */
    int32_t needs;   /* panels that its blocks are updated by: the first ones */
    _Atomic int32_t packed, taken;
} hs__task_side;

/* A run of tasks. Who makes one fills in what is up to `steps`, of x but for its arrays.
 *   applies      the panels are packed from something else than the columns and update all of them;
 *                not for paced runs
 *   steps        the blocks whose first ones are panels: x.blocks, or those of what they are packed
 *                from
 *   alone        the caller does all
 *   given_owner  [x.blocks.count] or NULL; grid: of hs_factor, for runs that are not dynamic
 *   dynamic      who would wait takes over tasks of others */
typedef struct hs__tasks {
    hs__run run;
    const hs__task_kind *kind;
    hs__task_data x;
    int32_t workers, dynamic, alone, applies;
    const int32_t *given_owner;
    int32_t grid;
    const hs_factor_costs *costs;
    hs__factor_blocks steps;

    /* [sides] with workers of several domains at full speed; else one, with one kernel */
    hs__task_side *side;
    int32_t sides;
    int32_t *side_of, *place; /* [workers] the side of each, and which of its members it is */
    _Atomic int64_t failed;
    struct hs__task_block *block; /* [count] */
    _Atomic int32_t *finished;    /* [panels] blocks that the panel has updated */
    int32_t *updates;             /* [panels] and those that it is to update */
    /* [panels] when it is ready on the clock of the emulated platform; with links [panels * p] when
     * it has arrived */
    double *due;
    double *sent; /* with links [panels * p] when its messages begin */
    hs__factor_ports ports;
    int32_t *owner;           /* [count] */
    hs__factor_map map;       /* with grid */
    double *done_by;          /* [workers] */
    _Atomic int32_t factored; /* panels made of columns */
    _Atomic int32_t taken;    /* and those that are being made */
    _Atomic int32_t stored;   /* blocks taken to be copied back */
    /* with pace: memory of panels that are needed no more, for others */
    char *spare[3];
    int32_t spares;
    /* with pace: the first panel that may still be needed; of who factors */
    int32_t oldest;
    /* copies, updates and panels; workers without cores of their own sleep at the run's signal
     * until one has */
    _Atomic int64_t ended;
} hs__tasks;

hs__tasks hs__tasks_of(const hs__task_kind *kind, hs_pool *pool, const hs_options *options,
                       hs_trace *trace);

/* Whether so many multiply-adds are done by the caller alone: waking the others takes as long. */
static inline int hs__is_small(double updates) { return updates <= 8e6; }

/* Cuts `rank` columns of what panels are packed from, of m rows, and `cols` that they all update,
 * and runs that in one of the two ways below: nothing is done if rank is 0. */
hs_status hs__tasks_apply(hs__tasks *tasks, int64_t m, int64_t rank, int64_t cols,
                          hs_status (*run)(hs__tasks *tasks));

/* All of it, and the part of who holds the pool. */
hs_status hs__tasks_do(hs__tasks *tasks);
hs_status hs__tasks_held(hs__tasks *tasks);

#endif
