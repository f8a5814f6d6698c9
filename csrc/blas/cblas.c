/* The BLAS functions of the C interface, under four families of names (names.h). */
#include "blas/gate.h"
#include "blas/govern.h"
#include "blas/names.h"
#include "blas/products.h"
#include "blas/systems.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { ROWS = 101, COLUMNS = 102 };

/* Returns Fortran's letter for a CBLAS constant; '?' for any other number. */
static char letter_of(int number)
{
    switch (number) {
    case 111:
    case 131: return 'N';
    case 112: return 'T';
    case 113: return 'C';
    case 121:
    case 132: return 'U';
    case 122:
    case 141: return 'L';
    case 142: return 'R';
    default: return '?';
    }
}

static char other_side(char side)
{
    if (side == 'L') return 'R';
    if (side == 'R') return 'L';
    return side;
}

static char other_triangle(char triangle)
{
    if (triangle == 'L') return 'U';
    if (triangle == 'U') return 'L';
    return triangle;
}

/* Returns the op for the transposed matrix: 'N' becomes 'T', or 'C' with hermitian, and that op
 * becomes 'N'. For real types 'C' is the same as 'T'. Any other op stays, so that it is refused. */
static char transposed_op(char op, int32_t dtype, int hermitian)
{
    if (op == 'N') return hermitian ? 'C' : 'T';
    if (op == (hermitian ? 'C' : 'T') || (op == 'C' && !(dtype >> 1))) return 'N';
    return op;
}

#define NAME(x) cblas_##x
#define BITS 0
#define INT intptr_t
#include "blas/cblas_template.h"

#define NAME(x) cblas_##x##64_
#define BITS 64
#define INT int64_t
#include "blas/cblas_template.h"

#define NAME(x) scipy_cblas_##x
#define BITS 32
#define INT intptr_t
#include "blas/cblas_template.h"

#define NAME(x) scipy_cblas_##x##64_
#define BITS 64
#define INT int64_t
#include "blas/cblas_template.h"
