/* What a plan is worth: its value, and what no plan can beat. */
#ifndef HETSCHED_CERTIFICATE_H
#define HETSCHED_CERTIFICATE_H

#include "hetsched/status.h"

HS_C_BEGIN

typedef enum hs_sense { HS_MINIMISED = 0, HS_MAXIMISED = 1 } hs_sense;

/* The same for every kind of plan. The functions hs_x_certificate of the planners fill it, also for
 * plans that users made themselves.
 *   objective  what is measured: a static English word, e.g. "makespan"
 *   sense      hs_sense
 *   optimal    1: proven to be the best, as value and bound are equal up to a relative 1e-12
 *   value      of the plan
 *   bound      minimised: no plan is below; maximised: none is above. In the units of the value,
 *              and never on its wrong side
 *   gap        what may be left to gain: |value - bound| / bound; 0 where they are equal, infinite
 *              where the bound alone is 0 */
typedef struct hs_certificate {
    const char *objective;
    int32_t sense;
    int32_t optimal;
    double value, bound, gap;
} hs_certificate;

/* Fills in a certificate from a value and a bound that are known: value >= 0 and bound >= 0, finite
 * but for the bound; objective is kept as it is given. A bound that rounding put on the wrong side
 * is taken for the value. O(1). */
HS_API hs_status hs_certificate_of(const char *objective, int32_t sense, double value, double bound,
                                   hs_certificate *certificate);

HS_C_END
#endif
