/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for learning, on top of kbi_random_next: the same on every machine, since no libm takes part. */
#ifndef KBI_LEARN_RANDOM_H
#define KBI_LEARN_RANDOM_H

#include "common/common.h"

/* A state of its own for item i of a stream: neighbouring items have nothing in common. */
static inline uint64_t kbi_random_fork(uint64_t seed, uint64_t i)
{
    uint64_t state = seed ^ (i * 0xd1342543de82ef95u + 0x632be59bd9b4e019u);
    return kbi_random_next(&state);
}

/* Evenly from 0 up to, not including, 1. */
static inline double kbi_random_unit(uint64_t *state)
{
    return (double)(kbi_random_next(state) >> 11) / 9007199254740992.0;
}

static inline double kbi_random_between(uint64_t *state, double low, double high)
{
    return low + (high - low) * kbi_random_unit(state);
}

/* The sum of the four 16-bit quarters of a random number: close to normal, mean 131070, deviation 37837.2. */
static inline int32_t kbi_random_bell(uint64_t *state)
{
    uint64_t z = kbi_random_next(state);
    return (int32_t)((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48));
}

/* Normal, mean 0 and deviation 1: twelve even draws; never beyond 6. */
static inline double kbi_random_normal(uint64_t *state)
{
    int32_t sum = kbi_random_bell(state) + kbi_random_bell(state) + kbi_random_bell(state);
    return (sum - 3 * 131070) / 65536.0;
}

#endif
