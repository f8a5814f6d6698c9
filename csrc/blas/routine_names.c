/* Names of routines and drivers. */
#include "blas/drivers.h"

const char *const hs__routine_names[] = {
    "gemm",  "syrk",  "trsm",  "gemv",  "getrf", "getrs", "gesv",  "getri", "potrf", "potrs",
    "posv",  "trtrs", "geqrf", "orgqr", "ormqr", "gels",  "syev",  "heev",  "syevd", "heevd",
    "syevr", "heevr", "sygv",  "hegv",  "sygvd", "hegvd", "gesdd", "gesvd", "gelsd", "gelss"};
_Static_assert(sizeof hs__routine_names / sizeof *hs__routine_names == HS__ROUTINES,
               "a name for each");

#define NAME_OF(NAME, ...) #NAME,
static const char *const driver_names[] = {HS__DRIVERS(NAME_OF, NAME_OF, NAME_OF)};

const char *hs__name_of_routine(int32_t routine)
{
    return routine < HS__ROUTINES ? hs__routine_names[routine]
                                  : driver_names[routine - HS__ROUTINES];
}
