/* The thresholds that decide which way a call takes, and into how many parts it is cut.
 *
 * Each has its unit in its name: UPDATES are multiply-adds, counted once for complex numbers, too.
 * Each says what happens on either side of it and how it was found; "by hand" means chosen by hand
 * and not measured. All are for any processor. A change of a threshold under "Parts" changes how
 * results are rounded.
 *
 * Other numbers stand in the tables that they belong to:
 *   kernel/blocks.h      register tiles and block sizes of the kernels, for each instruction set
 *   factor/blocks.c      widths of the blocks of factorisations
 *   blas/settings.c      the least calls that the drop-in library takes from the library behind
 *   blas/govern.c        the least calls that have several threads in the library behind
 *   include/hetsched/    the most workers for which a planner's search is exact
 *
 * Enumerators only: hetsched/_engine/tuning.py reads them by name. */
#ifndef HS_CORE_TUNING_H
#define HS_CORE_TUNING_H

/* ---- NumPy or the engine (the Python package) ------------------------------------------------ */
enum {
    /* Products with at most so many, for a stack in total, go to NumPy; larger ones to the engine.
     * By hand; benchmarks/bench_small.py shows what small calls cost. */
    HS__NUMPY_UPDATES = 100 * 100 * 100,
    /* Products with a side below this go to NumPy if neither rows nor columns of the large operand
     * are contiguous: they are bound by memory, and packing would double the traffic. By hand. */
    HS__NUMPY_SIDE = 6,
    /* LAPACK calls with less work than one matrix of so many rows go to NumPy. By hand. */
    HS__NUMPY_LAPACK_ROWS = 256,
    /* Items of a stack with more are multiplied one after the other, each by all workers; smaller
     * items each by one worker. By hand. */
    HS__STACK_ITEM_UPDATES = 1000 * 1000 * 1000,
    /* So are the items of a stack with fewer items than this for each worker: some workers would
     * have none, or the last one would be waited for. By hand. */
    HS__STACK_ITEMS_PER_WORKER = 4,
    /* In a deterministic pool the number of workers must not count. There, with items of at most
     * HS__STACK_MEDIUM_UPDATES a stack of fewer than HS__STACK_MEDIUM_ITEMS is multiplied in that
     * way, with larger items one of fewer than HS__STACK_LARGE_ITEMS. By hand. */
    HS__STACK_MEDIUM_UPDATES = 30 * 1000 * 1000,
    HS__STACK_MEDIUM_ITEMS = 8,
    HS__STACK_LARGE_ITEMS = 64,
    /* Matrices with at least HS__TALL_RATIO times as many rows as columns are factored by a tree
     * (factor/tall.c), others by panels. With more columns than HS__TALL_COLS the ratio is
     * HS__TALL_WIDE_RATIO: a leaf has four times as many rows as columns, and one worker factors it.
     * Measured with two workers, R with and without Q, all types: the tree takes 0.94 to 0.10 of the
     * time of panels at 100 columns, 1.17 to 0.63 at 150 and a ratio below 20, 0.73 to 3 at 200 to
     * 1000 and a ratio below 40, and 0.65 to 1.1 at 40. */
    HS__TALL_RATIO = 4,
    HS__TALL_COLS = 160,
    HS__TALL_WIDE_RATIO = 40
};

/* ---- The caller alone, or all workers --------------------------------------------------------
 * Waking a worker takes tens of microseconds. Up to the threshold the caller does everything, which
 * takes no longer than that; above it all workers share the call. */
enum {
    HS__ALONE_PRODUCT_UPDATES = 500 * 1000,   /* by hand */
    HS__ALONE_THIN_UPDATES = 500 * 1000,      /* by hand, as for other products */
    HS__ALONE_STACK_FLOPS = 1000 * 1000,      /* of all items; by hand, as for products */
    HS__ALONE_TALL_UPDATES = 2 * 1000 * 1000, /* by hand */
    /* m n min(m, n) of LU and QR, multiply-adds of systems and of products with Q; by hand. A small
     * square LU is done by the loops of stacks, which need no slices. */
    HS__ALONE_FACTOR_UPDATES = 8 * 1000 * 1000,
    /* n^3 of a Cholesky factorisation: up to it the caller does everything by the loops of stacks,
     * which are then faster. Measured with two workers. */
    HS__ALONE_CHOLESKY_UPDATES = 40 * 1000 * 1000,
    /* With AVX2 only, this divided by the square of the number of workers, if that is more. Measured on
     * an AMD EPYC (family 25), time of tasks / time of loops, at orders 350, 500, 580: one worker 1.8,
     * 1.6, 1.5 in float32, 1.7, 1.3, 1.3 in float64, 1.4, 1.2, 1.25 in complex128; two workers 2.1, 1.9,
     * 1.5, then 1.8, 1.3, 1.1, then 1.4, 1.0, 0.7. In float64 one worker has 1.25 at 800, 1.0 at 1000. */
    HS__AVX2_CHOLESKY_UPDATES = 400 * 1000 * 1000,
    /* n^3 of an eigenproblem, m n min(m, n) of singular values. By hand. */
    HS__ALONE_SPECTRAL_UPDATES = 1000 * 1000,
    /* In a crowded pool (threads/crowd.h) the caller does everything up to these. Measured beside two
     * busy programs on two cores, float64, time of two workers / time of one: products of order
     * 300 1.34, 1000 0.84; LU 300 1.61, 1000 0.98, 2000 0.66; Cholesky 600 1.14, 2000 0.90; QR of
     * 2000 x 400 1.16; eigh 300 1.39, 600 1.06, 1000 0.87; svd 300 2.01, 500 1.67, 1000 1.05;
     * singular values 600 2.41. The last number is also that of the largest call that the drop-in
     * library leaves to the library behind because the load leaves one cpu (blas/gate.c). */
    HS__BRIEF_PRODUCT_UPDATES = 300 * 1000 * 1000,
    HS__BRIEF_STACK_FLOPS = 600 * 1000 * 1000, /* by hand, as for products */
    HS__BRIEF_FACTOR_UPDATES = 500 * 1000 * 1000,
    HS__BRIEF_SPECTRAL_UPDATES = 1000 * 1000 * 1000,
    /* In a crowded pool the caller alone does up to so many times this work if it has enough of the
     * cores. In float64 that takes a core about a second. Longer runs have all workers, as the load
     * may change meanwhile. By hand. */
    HS__BRIEFS_OF_MEDIUM = 64,
    HS__BRIEFS_OF_MEDIUM_SPECTRAL = 2,
    /* NumPy's decompositions from this order on are told to use one thread. Measured: below it
     * OpenBLAS 0.3.31 uses one by itself, for eigh and svd of all types. */
    HS__ONE_THREAD_ORDER = 28,
    /* Matrices with fewer rows or columns are decomposed by NumPy. Measured with one worker. */
    HS__SPECTRAL_ORDER = 300,
    /* The same for the eigenvalues of real matrices, without vectors. Measured: NumPy's CPU time
     * over that of one worker was 0.93, 1.01, 1.09 in float32 and 0.81, 0.84, 0.96 in float64 at
     * 300, 400, 500. By the clock it was 0.83 and 1.12 with two workers at 300 and 400. */
    HS__EIGENVALUES_ORDER = 400,
    /* Matrices of a stack are decomposed several at a time (kernel/lanes.h) if each has at most
     * HS__LANES_BYTES, where a complex element counts as a real one; for eigenvalues alone,
     * HS__LANES_VALUES_BYTES. That is 150 and 250 rows of float64. Larger ones leave the L2 cache
     * there, and go to NumPy. Measured: NumPy's CPU time over that of one worker for eigh, eigvalsh,
     * svd and svdvals was 1.4, 2.0, 1.2 and 1.5 at 150 rows of float64, 1.0, 1.7, 1.0 and 1.3 at
     * 200; 1.4, 3.1, 1.1 and 1.7 at 150 rows of complex128. eigvalsh had 1.8 at 256. */
    HS__LANES_BYTES = 150 * 150 * 8,
    HS__LANES_VALUES_BYTES = 250 * 250 * 8,
    /* The stack has at least so many matrices, and so many rows (or columns, if these are fewer) in
     * all of them. NumPy takes smaller ones, for which lanes without a matrix, or the call, would
     * cost more. Measured as above: 1.6, 1.3, 1.4 and 1.2 with 4 matrices of 50 rows of float64, 0.8,
     * 0.7, 0.8 and 0.6 with 2; 1.6, 1.0, 1.9 and 1.2 with 4 of 20 rows; 1.5, 1.0, 2.4 and 1.6 with
     * 12 of 8 rows, 1.1, 0.7, 1.4 and 0.9 with 6. */
    HS__LANES_ITEMS = 4,
    HS__LANES_ROWS = 80,
    /* Items times m n min(m, n) of stacks that are decomposed in lanes (kernel/lanes.h): a hundred
     * thousand take 30 to 100 microseconds. By hand. */
    HS__ALONE_LANES_UPDATES = 200 * 1000,
    /* Matrices of which one side is at least so many hundredths of the other are made square by a QR
     * factorisation before their singular values are computed. By hand: LAPACK's is 11 / 6. */
    HS__SVD_TALL_PERCENT = 160,
    /* Systems with more rows than this and at least so many right-hand sides are solved by packed
     * products, shared if they are large enough; others by loops of the caller. By hand. */
    HS__SYSTEM_ROWS = 48,
    HS__SYSTEM_COLS = 6
};

/* ---- One loop or another --------------------------------------------------------------------- */
enum {
    /* Products with a side of at most so many columns (half for complex rows) are computed unpacked
     * (product/thin.c) if the large operand is contiguous; others by packed panels. By hand. */
    HS__THIN = 8,
    /* Stacks of small contiguous products with at least so many bytes of results are written past
     * the caches; smaller ones to the caches. Measured: with 8 x 8 float64, 82 ns for each product
     * instead of 118, even if the caller reads the results at once. */
    HS__STREAM_BYTES_FROM = 16 << 20,
    /* Products of a stack with operands of HS__AHEAD_BYTES_FROM .. HS__AHEAD_BYTES_TO prefetch the
     * operands of the next one. Below, that costs more than it saves; above, the operands leave the
     * L2 cache. By hand. */
    HS__AHEAD_BYTES_FROM = 6 << 10,
    HS__AHEAD_BYTES_TO = 1 << 20
};

/* ---- Parts of a product ---------------------------------------------------------------------- */
enum {
    /* Packed panels, and the layers of all workers, take at most 1 / HS__PACKED_SHARE of the
     * operands. By hand. */
    HS__PACKED_SHARE = 20,
    /* But the packed panels have together at least so many columns, to hide the packing of A. By
     * hand. */
    HS__PANEL_COLS = 1024,
    /* The last panel is cut into tiles of decreasing height, so that members end together, but not
     * below so many rows. By hand. */
    HS__TILE_ROWS = 48,
    /* A box is divided between the domains if each half has at least so many rows or columns; else
     * the fastest domain has all of it. By hand. */
    HS__BAND_LINES = 128,
    /* A quarter of a share's last band is a band of its own, which another domain can take, if it
     * has at least so many rows or columns. By hand. */
    HS__TAIL_LINES = 192,
    /* Layers of a long inner dimension. If it is below 2 HS__LAYER_DEPTH_LEAST, or HS__LAYERS_LEAST
     * layers would take more than a tenth of the operands, there is one layer. Otherwise there are
     * HS__LAYERS_LEAST .. HS__LAYERS_MOST as far as layers of HS__LAYER_DEPTH allow, of which each
     * takes about a hundredth of its time to be added to C; or HS__LAYERS_LEAST as far as layers of
     * HS__LAYER_DEPTH_LEAST allow. Depths are multiples of HS__LAYER_DEPTH_STEP, that of usual
     * panels. By hand. */
    HS__LAYER_DEPTH = 1024,
    HS__LAYER_DEPTH_LEAST = 512,
    HS__LAYER_DEPTH_STEP = 256,
    HS__LAYERS_LEAST = 4,
    HS__LAYERS_MOST = 64,
    /* If the layers cannot be dealt evenly, the last ones are cut into bands of at least so many
     * rows. By hand. */
    HS__LAYER_ROWS = 32,
    /* Pieces of the large operand of a thin product. By rows: at most HS__THIN_DEPTH columns, and
     * HS__THIN_PIECE_BYTES, which stay in the L2 cache. By columns: rows for HS__THIN_NEAR_BYTES of
     * C, which stay in the L1 cache. With fewer than HS__THIN_PIECES pieces the depth is divided
     * further, down to HS__THIN_DEPTH_LEAST. By hand. */
    HS__THIN_DEPTH = 8192,
    HS__THIN_DEPTH_LEAST = 128,
    HS__THIN_PIECE_BYTES = 512 << 10,
    HS__THIN_NEAR_BYTES = 32 << 10,
    HS__THIN_PIECES = 32,
    /* Items of a stack that a worker takes at a time: some ten microseconds. With less, workers
     * meet at the counter; with more, they end at different times. By hand. */
    HS__STACK_TAKEN_FLOPS = 2 * 1000 * 1000,
    /* The same for decompositions in lanes: m n min(m, n) of the items that are taken together, which
     * is some tenths of a millisecond. By hand. */
    HS__LANES_TAKEN_UPDATES = 500 * 1000,
    /* Groups of such items are computed two at a time if that makes at least so many pairs; with
     * fewer, some workers would have none. By hand. A pair takes 0.65 to 0.95 of the time of two
     * groups, as measured. */
    HS__LANES_BATCHES = 8
};

/* ---- Parts of a factorisation ---------------------------------------------------------------- */
enum {
    /* Columns of right-hand sides, or of C in products with Q, are cut into blocks: at most so many
     * columns in each, and at least HS__BLOCKS_PER_WORKER blocks for each worker. By hand. */
    HS__BLOCK_COLS = 192,
    HS__BLOCKS_PER_WORKER = 4,
    /* At most so many blocks in one direction: wider ones are made of more columns. By hand. */
    HS__BLOCKS_MOST = 40 * 1000,
    /* Blocks of rows of a tall matrix: HS__TALL_BLOCK_BYTES, about the L2 cache, in at least
     * HS__TALL_BLOCKS blocks. But at least HS__TALL_BLOCK_RATIO_LEAST times as many rows as
     * columns, and HS__TALL_BLOCK_ELEMENTS elements, so that a block is worth a call; of wide
     * blocks up to HS__TALL_BLOCK_RATIO times as many rows, so that the tree above has little to
     * do. By hand. */
    HS__TALL_BLOCK_BYTES = 1 << 20,
    HS__TALL_BLOCKS = 16,
    HS__TALL_BLOCK_RATIO = 8,
    HS__TALL_BLOCK_RATIO_LEAST = 4,
    HS__TALL_BLOCK_ELEMENTS = 4096,
    /* Triangles that a node of the tree stacks at a time. By hand. */
    HS__TALL_CHILDREN = 8
};

/* ---- Searches of planners -------------------------------------------------------------------- */
enum {
    /* Rings of at most so many workers try every place and exchange, and begin anew after rounds
     * without a gain. With more workers they try the nearest ones only. By hand. */
    HS__RING_WORKERS = 64
};

#endif
