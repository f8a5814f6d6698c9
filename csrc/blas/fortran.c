/* The BLAS and LAPACK functions of the Fortran interface, under four families of names
 * (names.h). */
#include "blas/gate.h"
#include "blas/govern.h"
#include "blas/names.h"
#include "blas/orthogonal.h"
#include "blas/products.h"
#include "blas/systems.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define NAME(x) x##_
#define BITS 0
#include "blas/fortran_template.h"

#define NAME(x) x##_64_
#define BITS 64
#include "blas/fortran_template.h"

#define NAME(x) scipy_##x##_
#define BITS 32
#include "blas/fortran_template.h"

#define NAME(x) scipy_##x##_64_
#define BITS 64
#include "blas/fortran_template.h"
