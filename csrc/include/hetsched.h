/* hetsched: plan, certify, simulate and run dense linear algebra on unequal workers.
 *
 * The planners: allocate, assign, partition, ring, star, layers. The runners: pool, run, product, stencil, lu, measure.
 *
 * Contracts that hold everywhere
 *  - Every fallible function returns an hs_status; HS_OK is 0. Outputs are written only on HS_OK, unless said otherwise.
 *  - Inputs are const and never kept; outputs are owned by the caller. "[p]" after a parameter is the length of the array.
 *  - Nothing prints, aborts or exits. Planners are pure functions: they may be called from any number of threads.
 *  - Strides are counted in elements of the array's type and may be zero (inputs only) or negative.
 */
#ifndef HETSCHED_H
#define HETSCHED_H

#include "hetsched/status.h"
#include "hetsched/allocate.h"
#include "hetsched/assign.h"
#include "hetsched/partition.h"
#include "hetsched/ring.h"
#include "hetsched/star.h"
#include "hetsched/layers.h"
#include "hetsched/pool.h"
#include "hetsched/run.h"
#include "hetsched/product.h"
#include "hetsched/stencil.h"
#include "hetsched/lu.h"
#include "hetsched/measure.h"

#endif
