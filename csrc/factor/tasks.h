/* The tasks of factorisations and triangular systems on a matrix in slices, and the executor, which
 * decides which worker does which task, and when (tasks.c tells how). */
#ifndef HS_FACTOR_TASKS_H
#define HS_FACTOR_TASKS_H

#include <stdatomic.h>

#include "allocate/factor_map.h"
#include "core/tuning.h"
#include "factor/columns.h"

/* The matrix of a run, as the tasks of one domain see it. A block belongs to the domain of its
 * owner, and so do its slices and the panels that update it.
 *   type       of the domain
 *   types      [blocks.count] the type of each block's slices
 *   given      where the columns come from
 *   wanted     where the columns go
 *   pivots     of an LU factorisation
 *   tau        of a QR factorisation
 *   failed     the first column without a pivot; INT64_MAX: none */
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
    /* Triangular systems: the lower triangle. unit: it has ones on its diagonal. identity: the
     * right-hand sides are columns of the identity. */
    hs__matrix triangle;
    int unit, identity;
    int64_t width;        /* of the panels */
    const double *factor; /* [2] multiplies the columns before all else; NULL: 1 */
    /* Reflectors: the matrix that contains them. adjoint: of Q^H rather than Q. */
    hs__matrix reflectors;
    int adjoint, backwards; /* backwards: panels come in the opposite order */
    /* [blocks.count] what heads leave for the parts, if the kind needs that */
    char **held;
} hs__task_data;

/* The functions of one kind of tasks. They look for a cancel; factor and repack return non-zero if
 * they ended early for one. Sizes in bytes are for a panel of `rows` rows and `width` columns.
 *   panel_bytes   of the packed panel
 *   make_bytes    of the memory needed to make it
 *   work_bytes    of a worker's memory, for a block of `cols` columns and m rows
 *   load          copies a block to its slices
 *   factor        factors panel k, or packs it
 *   repack        packs panel k, which another domain has factored, for x; NULL if panels are not
 *                 made of columns
 *   update        does update k of a block
 *   store         copies a block to the result
 *   begin         returns the first step that changes the block; NULL: 0
 * With owners in both directions an update has a head, if the kind has one, and parts.
 *   held_bytes    of what a head leaves for the parts; NULL: nothing
 *   head          does the head of update k
 *   prepare       prepares `work` for `rows`; NULL: nothing to do
 *   rows          updates strips first .. end - 1 of the panel, which lie below the head's
 *                 strips */
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
    int32_t (*begin)(const hs__task_data *x, int32_t block);
    size_t (*held_bytes)(const hs__column_type *type, int64_t width, int64_t cols);
    void (*head)(const hs__task_data *x, int32_t k, int32_t block, char *work, hs__member *self);
    void (*prepare)(const hs__task_data *x, int32_t k, int32_t block, char *work);
    void (*rows)(const hs__task_data *x, int32_t k, int32_t block, int64_t first, int64_t end,
                 char *work, hs__member *self);
    int32_t widest; /* columns of a panel in a run that applies, at most */
} hs__task_kind;

extern const hs__task_kind hs__lu_tasks, hs__cholesky_tasks, hs__qr_tasks;

/* Returns the columns of a block, of a matrix that has all columns. */
static inline hs__matrix hs__block_of(const hs__task_data *x, const hs__matrix *whole,
                                      int32_t block)
{
    return hs__part(whole, 0, hs__block_first(&x->blocks, block), whole->rows,
                    hs__block_width(&x->blocks, block));
}

/* Reports a column without a pivot. */
static inline void hs__fail(hs__task_data *x, int64_t column)
{
    int64_t least = atomic_load(x->failed);
    while (column < least && !atomic_compare_exchange_weak(x->failed, &least, column)) {}
}

/* Functions that several kinds share.
 *   hs__repack_strips      packs a panel of strips again, for another domain
 *   hs__load_all           copies all rows of a block to its slices
 *   hs__load_or_identity   does the same, or sets the slices to columns of the identity
 *   hs__store_all          copies all rows of a block back
 *   hs__lower_bytes        returns the bytes of `work` for the functions here
 *   hs__lower_update       solves (diagonal block of the panel) X = (the block's rows beside it),
 *                          and subtracts L X from the rows below. pivots: the exchanges of rows
 *                          that come first; NULL: none. scales: (power, re, im) of each row, the
 *                          inverse of the diagonal as hs__invert computes it; NULL: ones */
int hs__repack_strips(const hs__task_data *x, const hs__task_data *from, int32_t k, char *memory,
                      hs__member *self);
void hs__load_or_identity(const hs__task_data *x, int32_t block, char *work, hs__member *self);
void hs__load_all(const hs__task_data *x, int32_t block, char *work, hs__member *self);
void hs__store_all(const hs__task_data *x, int32_t block, char *work, hs__member *self);
size_t hs__lower_bytes(const hs__column_type *type, int64_t m, int64_t width, int64_t cols);
void hs__lower_update(const hs__column_type *type, const hs__packed_panel *panel,
                      const hs__columns *block, const int32_t *pivots, const double (*scales)[3],
                      char *work, hs__member *self);

/* The same update in two phases, for different workers. hs__lower_solve computes X. hs__lower_rows
 * subtracts L X in strips s .. end - 1 below X; a worker that calls it first packs the operands
 * that it needs, with hs__lower_prepare. */
void hs__lower_solve(const hs__column_type *type, const hs__packed_panel *panel,
                     const hs__columns *block, const int32_t *pivots, const double (*scales)[3],
                     char *work, hs__member *self);
void hs__lower_prepare(const hs__column_type *type, const hs__packed_panel *panel,
                       const hs__columns *block, char *work);
void hs__lower_rows(const hs__column_type *type, const hs__packed_panel *panel,
                    const hs__columns *block, int64_t s, int64_t end, char *work, hs__member *self);

/* Computes 1 / pivot as (power, re, im): power * (re + i im). power is a power of two if the pivot
 * is too small to be inverted, else 1. The result is 1 for a zero pivot: then nothing is scaled. */
void hs__invert(const hs__column_type *type, const char *pivot, double scale[3]);

/* ---- the executor: which worker does which task, and when it may ----------------------------- */

/* What a domain has in a run: the panels that are packed for it, and memory for the one that is
 * being made. packed: panels that are; taken: panels that a worker has taken to pack. */
typedef struct hs__task_domain {
    hs__task_data x;
    char *make;
    int32_t members; /* number of workers */
    int32_t needs;   /* panels that update its blocks: the first ones */
    _Atomic int32_t packed, taken;
} hs__task_domain;

/* A run of tasks. Its maker fills in the fields up to `steps`, and of x all but the arrays.
 *   applies       panels are packed from another matrix than the columns, and update all columns;
 *                 not for paced runs
 *   steps         blocks, the first of which are the panels: x.blocks, or the blocks of that other
 *                 matrix
 *   volume        multiply-adds: the caller does everything in a small run that is dynamic
 *   given_owner   [x.blocks.count] or NULL
 *   grid          see hs_factor; only for runs that are not dynamic
 *   dynamic       a worker that would wait takes over tasks of other workers */
typedef struct hs__tasks {
    hs__run run;
    const hs__task_kind *kind;
    hs__task_data x;
    double volume;
    int32_t workers, dynamic, applies;
    const int32_t *given_owner;
    int32_t grid;
    const hs_factor_costs *costs;
    hs__factor_blocks steps;

    /* [domains] of the pool, if workers of several domains run at full speed; else one of all
     * workers, with one kernel */
    hs__task_domain *domain;
    int32_t domains;
    int32_t *domain_of, *place; /* [workers] the domain of each worker, and its index there */
    _Atomic int64_t failed;
    struct hs__task_block *block; /* [count] */
    _Atomic int32_t *finished;    /* [panels] blocks that the panel has updated */
    int32_t *updates;             /* [panels] blocks that it has to update */
    /* [panels] when the panel is ready on the clock of the emulated platform; with links [panels *
     * p] when it arrives */
    double *due;
    double *sent; /* with links [panels * p] when its messages begin */
    hs__factor_ports ports;
    int32_t *owner;           /* [count] */
    hs__factor_map map;       /* with grid */
    double *done_by;          /* [workers] */
    _Atomic int32_t factored; /* panels made of columns */
    _Atomic int32_t taken;    /* the same and the one that is being made */
    _Atomic int32_t stored;   /* blocks taken to be copied back */
    /* with pace: memory of panels that are not needed any more, for other panels */
    char *spare[3];
    int32_t spares;
    /* with pace: the first panel that may still be needed; for the worker that factors */
    int32_t oldest;
    /* copies, updates and panels that have ended; workers without cores of their own sleep at the
     * run's signal until another one has */
    _Atomic int64_t ended;
} hs__tasks;

/* Returns a run of tasks on the pool. options and trace may be NULL. */
hs__tasks hs__tasks_of(const hs__task_kind *kind, hs_pool *pool, const hs_options *options,
                       hs_trace *trace);

/* Whether the caller does so many multiply-adds alone, since waking the other workers takes as
 * long. */
static inline int hs__is_small(double updates) { return updates <= HS__ALONE_FACTOR_UPDATES; }

/* Cuts the matrix of m rows and `rank` columns from which panels are packed, and the `cols` columns
 * that all panels update, and calls `run`, one of the two functions below. Does nothing if rank is
 * 0. */
hs_status hs__tasks_apply(hs__tasks *tasks, int64_t m, int64_t rank, int64_t cols,
                          hs_status (*run)(hs__tasks *tasks));

/* hs__tasks_do does the whole run; hs__tasks_locked is for a thread that holds the pool. */
hs_status hs__tasks_do(hs__tasks *tasks);
hs_status hs__tasks_locked(hs__tasks *tasks);

#endif
