/* Prices on the slots of the answers: a bound on the axial assignment problem, and good solutions.
 *
 * The bound is a Lagrangian relaxation. Every worker has one column and one tube. Without the rule
 * that no two workers share a tube, each worker would take its best tube for each column, and what is
 * left is a matching of workers and columns. So each tube has a price, which the worker pays and the
 * bound gets back; any prices give a bound. Tubes in demand become dearer (subgradients, Held and
 * Karp). All numbers are integers of 1 / scale of a task, so the bound is exact.
 *
 * Solutions come from the columns found: the best tubes for them, then the best columns for these
 * tubes. Each of the three matchings of a round begins with prices and columns near its solution: the
 * first with the prices of the last round, the second with the tubes' prices and the tubes in
 * demand, the third with the prices of the first. */
#include <math.h>
#include <string.h>

#include "assign/tasks_core.h"
#include "core/cancel.h"
#include "core/numbers.h"

/* By hand: rounds, three times as many up to FEW workers; the step is halved after PATIENCE rounds
 * without a better bound, or more for many workers, and the search ends at the least step. */
enum { ROUNDS = 300, FEW = 40, PATIENCE = 6 };
static const double STEP_LEAST = 1e-3;

/* Costs and prices have 24 bits if these leave at least SCALE_LEAST of them for parts of a task, else
 * 56. Matchings with 32-bit numbers are three times as fast. */
enum { SHORT_BITS = 24, LONG_BITS = 56, SCALE_LEAST = 8, SCALE_MOST = 16 };

typedef struct {
    const int64_t *costs; /* [p^3], not scaled */
    int shift;            /* the exponent of the scale */
    int64_t sure;         /* added to all totals */
} scaled_cube;

typedef struct {
    int64_t known, wanted;
} question;

typedef struct {
    int64_t bound, total;
    int32_t *columns, *tubes; /* [p] each */
} answer;

#define price_t int32_t
#define LARGEST INT32_MAX
#define BITS SHORT_BITS
#define NAME(x) short_##x##_plain
#define TARGET
#include "assign/prices_core.h"
#undef NAME
#undef TARGET
#if defined(__x86_64__) && defined(__GNUC__)
#define HS_X86
#define NAME(x) short_##x##_avx2
#define TARGET __attribute__((target("avx2")))
#include "assign/prices_core.h"
#undef NAME
#undef TARGET
#endif
#undef price_t
#undef LARGEST
#undef BITS

#define price_t int64_t
#define LARGEST INT64_MAX
#define BITS LONG_BITS
#define NAME(x) long_##x##_plain
#define TARGET
#include "assign/prices_core.h"
#undef NAME
#undef TARGET
#ifdef HS_X86
#define NAME(x) long_##x##_avx2
#define TARGET __attribute__((target("avx2")))
#include "assign/prices_core.h"
#undef NAME
#undef TARGET
#endif

/* Turns weights into costs: subtracts each worker's least weight, which lowers all solutions
 * equally. Returns the number of bits of the largest possible total. */
static int turn_weights(size_t p, int64_t *cube, int64_t *sure)
{
    int64_t largest = 0;
    *sure = 0;
    for (size_t i = 0; i < p; i++) {
        int64_t *own = cube + i * p * p;
        int64_t least = own[0];
        for (size_t e = 0; e < p * p; e++) least = own[e] < least ? own[e] : least;
        for (size_t e = 0; e < p * p; e++) {
            own[e] = least - own[e];
            largest = own[e] < -largest ? -own[e] : largest;
        }
        *sure += least;
    }
    int bits = 0;
    while ((int64_t)p * (largest + 1) >> bits) bits++;
    return bits;
}

hs_status hs__price_tubes(hs__bus *x, int64_t *cube, int64_t known, int64_t wanted, int64_t *bound,
                          int64_t *total, int32_t *columns, int32_t *tubes)
{
    if (x->p > HS__MOST_CUBE) return HS_ERROR_VALUE;
    scaled_cube scaled = {.costs = cube};
    const question q = {known, wanted};
    answer y = {.columns = columns, .tubes = tubes};
    const int bits = turn_weights((size_t)x->p, cube, &scaled.sure);
    const bool small = bits + SCALE_LEAST <= SHORT_BITS;
    const int room = (small ? SHORT_BITS : LONG_BITS) - bits;
    scaled.shift = (int)hs__max(0, hs__min(SCALE_MOST, room));
    hs_status (*find)(hs__bus *, const scaled_cube *, const question *, answer *) =
        small ? short_find_prices_plain : long_find_prices_plain;
#ifdef HS_X86
    if (__builtin_cpu_supports("avx2"))
        find = small ? short_find_prices_avx2 : long_find_prices_avx2;
#endif
    const hs_status status = find(x, &scaled, &q, &y);
    *bound = y.bound;
    *total = y.total;
    return status;
}
