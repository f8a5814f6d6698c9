/* The loops of qr_vector.h for any processor. */
#include "kernel/qr_vector_set.h"

#define SET(x) plain_##x
#define TARGET
#define BYTES HS__PLAIN_BYTES
#include "kernel/each_type.h"

const hs__qr_vector hs__qr_plain[4] = TYPES(plain);
