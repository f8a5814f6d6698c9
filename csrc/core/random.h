/* Random numbers for searches: splitmix64 (Steele, Lea, Flood 2014), 2^64 states, any seed. */
#ifndef HS_CORE_RANDOM_H
#define HS_CORE_RANDOM_H

#include <stdint.h>

static inline uint64_t hs__random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 .. limit - 1 */
static inline int64_t hs__random_below(uint64_t *state, int64_t limit)
{
    return (int64_t)(hs__random(state) % (uint64_t)limit);
}

static inline int32_t hs__pick(uint64_t *state, int32_t limit)
{
    return (int32_t)hs__random_below(state, limit);
}

/* [0, 1) */
static inline double hs__random_unit(uint64_t *state)
{
    return (double)(hs__random(state) >> 11) * 0x1p-53;
}

#endif
