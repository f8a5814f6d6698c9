/* Certificates: the value of a plan, and a bound that no plan can beat. Efforts: how long a search
 * goes on. */
#ifndef HETSCHED_CERTIFICATE_H
#define HETSCHED_CERTIFICATE_H

#include "hetsched/status.h"

HS_C_BEGIN

/* Values that differ by less than this, relative, are equal up to rounding: a plan is optimal if its
 * value equals its bound, and a search goes on only from plans that are better by more. */
#define HS_EQUAL 1e-12

typedef enum hs_sense { HS_MINIMISED = 0, HS_MAXIMISED = 1 } hs_sense;

/* The quality of a plan, in the same form for all kinds of plans. The planners' functions
 * hs_x_certificate fill it, also for plans that users made themselves.
 *   objective  what is measured: a static English word, e.g. "makespan"
 *   sense      hs_sense
 *   optimal    1: the plan is proven optimal, as value and bound are equal up to HS_EQUAL
 *   value      of the plan
 *   bound      if minimised, no plan has a smaller value; if maximised, none has a larger one. In
 *              the units of the value, and never on the wrong side of it
 *   gap        possible improvement at most: |value - bound| / bound; 0 if they are equal, infinite
 *              if only the bound is 0
 *   scope      the class of plans within which this one is proven optimal, as static English words
 *              ("guillotine partitions"); "" if there is no such proof, and from the functions
 *              hs_x_certificate, which know the plan but not how it was found */
typedef struct hs_certificate {
    const char *objective;
    int32_t sense;
    int32_t optimal;
    double value, bound, gap;
    const char *scope;
} hs_certificate;

/* Fills a certificate from a known value and a known bound. Both are >= 0; the value is finite, the
 * bound may be infinite. The pointer objective is stored, not copied. If rounding put the bound on
 * the wrong side of the value, the value is taken as the bound. The scope is "". O(1). */
HS_API hs_status hs_certificate_of(const char *objective, int32_t sense, double value, double bound,
                                   hs_certificate *certificate);

/* How long a search goes on. NULL and {0} stand for the default: a fixed amount of work from seed
 * 0, so that the same arguments give the same plan on every machine.
 *   seed     of the random numbers
 *   timed    0: a fixed amount of work; 1: about `seconds`, but at least one short round
 *   seconds  >= 0; not read if timed is 0 */
typedef struct hs_effort {
    uint64_t seed;
    int32_t timed;
    double seconds;
} hs_effort;

HS_C_END
#endif
