/* hs_certificate_of: the gap of a known value and a known bound. */
#include <math.h>

#include "hetsched/certificate.h"

hs_status hs_certificate_of(const char *objective, int32_t sense, double value, double bound,
                            hs_certificate *certificate)
{
    if (!objective || !certificate || (sense != HS_MINIMISED && sense != HS_MAXIMISED))
        return HS_ERROR_VALUE;
    if (!(value >= 0.0) || isinf(value) || !(bound >= 0.0)) return HS_ERROR_VALUE;
    bound = sense == HS_MINIMISED ? fmin(bound, value) : fmax(bound, value);
    const double low = fmin(value, bound);
    const double high = fmax(value, bound);
    *certificate = (hs_certificate){.objective = objective,
                                    .sense = sense,
                                    .optimal = high <= low * (1.0 + HS_EQUAL),
                                    .value = value,
                                    .bound = bound,
                                    .gap = high == low   ? 0.0
                                           : isinf(high) ? INFINITY
                                                         : (high - low) / bound,
                                    .scope = ""};
    return HS_OK;
}
