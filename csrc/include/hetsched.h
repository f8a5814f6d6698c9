/* hetsched: plan, certify, simulate and run dense linear algebra on unequal workers.
 *
 * The planners: allocate, assign, partition, ring, star, layers. What their plans are worth:
 * certificate. The runners: pool, blocking, run, product, stencil, factor, stack, tall, measure;
 * boxes lead from the ones to the others. examples/c has three programs.
 *
 * Contracts that hold everywhere
 *
 * Results. Every fallible function returns an hs_status; HS_OK is 0. Bad input is refused before
 * anything is changed. Outputs are written only on HS_OK, unless said otherwise; after
 * HS_ERROR_CANCELLED they are undefined. Nothing prints, aborts or exits.
 *
 * Memory. Inputs are const and never kept; outputs are owned by the caller. "[p]" after a parameter
 * is the length of the array. What a function allocates it frees; only hs_pool_create makes
 * something that the caller must destroy.
 *
 * NULL. A pointer may be NULL where its description says so, and where it is an array of length 0;
 * all others give HS_ERROR_VALUE. Functions that return no status do nothing for NULL.
 *
 * Threads. Planners are pure functions: any number of threads may call them at the same time. A
 * pool may be used from several threads, its runs are one after the other. Structs that a run fills
 * belong to that call until it returns. hs_kernel_select holds for later runs; one that has begun
 * keeps its kernel.
 *
 * Cancelling. Every planner that may take longer than 50 ms for 100000 workers has a parameter
 * `cancel`: NULL, or an int that is 0 and that another thread, or a signal handler, sets to
 * something else to make the call end with HS_ERROR_CANCELLED. Planners look at it between steps
 * that take some milliseconds for so many workers, by a relaxed atomic load; it is set by
 * __atomic_store_n, or as a volatile int. The others sort once, or pass over their arrays a few
 * times. Runs ask their poll function instead, on the calling thread.
 *
 * Structs. Those that a caller fills are initialised as a whole, by a function hs_x_default where
 * there is one, else by = {0}: zero is the default of every field that such a function does not
 * set. Fields are then set by name. New fields come at the end, and there zero means what the
 * library did before, so that a program compiles and runs as it was. A struct that the caller
 * allocates grows only with the number in the SONAME (libhetsched.so.0), as does an array's
 * element: a program never meets a library whose structs are larger than those it was compiled
 * with, and none begins with its size.
 *
 * Strides are counted in elements of the array's type and may be zero (inputs only) or negative.
 * */
#ifndef HETSCHED_H
#define HETSCHED_H

#include "hetsched/version.h"
#include "hetsched/status.h"
#include "hetsched/certificate.h"
#include "hetsched/allocate.h"
#include "hetsched/assign.h"
#include "hetsched/partition.h"
#include "hetsched/ring.h"
#include "hetsched/star.h"
#include "hetsched/layers.h"
#include "hetsched/pool.h"
#include "hetsched/blocking.h"
#include "hetsched/run.h"
#include "hetsched/product.h"
#include "hetsched/boxes.h"
#include "hetsched/stencil.h"
#include "hetsched/factor.h"
#include "hetsched/stack.h"
#include "hetsched/tall.h"
#include "hetsched/measure.h"

#endif
