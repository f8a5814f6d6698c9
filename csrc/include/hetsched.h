/* hetsched: plan, certify, simulate and run dense linear algebra on unequal workers.
 *
 * Planners: allocate, assign, partition, ring, star, star_lu, layers, schedule. The quality of their
 * plans, and how long a planner searches: certificate. Runners: pool, blocking, run, product,
 * stencil, factor, stack, tall, measure. boxes.h turns plans into the boxes that hs_run_product
 * takes. examples/c has three programs.
 *
 * Contracts that hold everywhere
 *
 * Results. Every fallible function returns an hs_status; HS_OK is 0. Invalid input is refused
 * before anything is changed. Outputs are written only on HS_OK, unless said otherwise; after
 * HS_ERROR_CANCELLED they are undefined. No function prints, aborts or exits.
 *
 * Memory. Inputs are const, and no function keeps a pointer to them after it returns; outputs are
 * owned by the caller. "[p]" after a parameter is the length of the array. Each function frees what
 * it allocates; only hs_pool_create makes an object that the caller must destroy.
 *
 * NULL. A pointer may be NULL where its description says so, and where it is an array of length 0;
 * any other NULL gives HS_ERROR_VALUE. Functions that return no status do nothing if they are given
 * NULL.
 *
 * Threads. Planners are pure functions: any number of threads may call them at the same time.
 * Several threads may use one pool. Products, factorisations, systems and stacks that all workers
 * share run at the same time: each calling thread works on its own call, and the other workers join
 * the calls of those threads. Runs that need each worker, such as emulated ones, plans by zones and
 * sweeps, have the pool for themselves; other threads wait. A struct that a run fills belongs to
 * that call until it returns. hs_kernel_select holds for later runs; a run that
 * has begun keeps its kernel.
 *
 * Cancelling. Every planner that may take longer than 50 ms for 100000 workers has a parameter
 * `cancel`: NULL, or a pointer to an int that is 0. Another thread or a signal handler sets this
 * int to a non-zero value, with __atomic_store_n or as a volatile int, and the call ends with
 * HS_ERROR_CANCELLED. A planner reads the int, by a relaxed atomic load, between steps that take a
 * few milliseconds for 100000 workers. Planners without this parameter sort once, or pass over
 * their arrays a few times. Runs have no `cancel`: they call their poll function, on the calling
 * thread.
 *
 * Structs. Initialise a struct that you fill as a whole, with the function hs_x_default if there is
 * one, else with = {0}; then set fields by name. Zero is the default of every field that
 * hs_x_default does not set. New fields are added at the end, and zero in a new field means the
 * library's previous behaviour, so that existing programs compile and run unchanged. Structs that
 * the caller allocates, and the elements of arrays, grow only when the number in the SONAME
 * (libhetsched.so.0) changes: a program never meets a library with larger structs than it was
 * compiled with. No struct begins with its size.
 *
 * Strides are counted in elements of the array's type and may be zero (inputs only) or negative. */
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
#include "hetsched/star_lu.h"
#include "hetsched/layers.h"
#include "hetsched/schedule.h"
#include "hetsched/pool.h"
#include "hetsched/blocking.h"
#include "hetsched/run.h"
#include "hetsched/product.h"
#include "hetsched/boxes.h"
#include "hetsched/stencil.h"
#include "hetsched/factor.h"
#include "hetsched/stack.h"
#include "hetsched/tall.h"
#include "hetsched/spectral.h"
#include "hetsched/measure.h"

#endif
