/* The loops of qr_vector.h for any processor. */
#include "kernel/qr_vector.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#define TABLE hs__qr_plain
#include "kernel/qr_vector_set.h"
