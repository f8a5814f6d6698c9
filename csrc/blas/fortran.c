#include "blas/gate.h"
#include "blas/names.h"
#include "blas/orthogonal.h"
#include "blas/products.h"
#include "blas/systems.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define INT int32_t
#define NAME(x) x##_
#include "blas/fortran_template.h"

#define INT int64_t
#define NAME(x) x##_64_
#include "blas/fortran_template.h"

#define INT int32_t
#define NAME(x) scipy_##x##_
#include "blas/fortran_template.h"

#define INT int64_t
#define NAME(x) scipy_##x##_64_
#include "blas/fortran_template.h"
