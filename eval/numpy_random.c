/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/numpy_random.h"

#define N 624
#define M 397

void ev_numpy_seed(ev_numpy *random, uint32_t seed)
{
    random->state[0] = seed;
    for (uint32_t i = 1; i < N; i++) {
        uint32_t before = random->state[i - 1];
        random->state[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    random->at = N;
}

static void refill(uint32_t *s)
{
    for (int i = 0; i < N; i++) {
        uint32_t y = (s[i] & 0x80000000u) | (s[(i + 1) % N] & 0x7fffffffu);
        s[i] = s[(i + M) % N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
}

uint32_t ev_numpy_next(ev_numpy *random)
{
    if (random->at == N) {
        refill(random->state);
        random->at = 0;
    }
    uint32_t y = random->state[random->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* The smallest 2^k - 1 that holds the largest value; draws beyond that value are thrown away. A range of one value
 * draws nothing. */
uint32_t ev_numpy_below(ev_numpy *random, uint32_t n)
{
    uint32_t largest = n - 1, mask = largest, value;
    if (largest == 0) return 0;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    do value = ev_numpy_next(random) & mask;
    while (value > largest);
    return value;
}

/* The shuffle goes from the last element to the second and swaps each with one at or before it. */
void ev_numpy_two_of(ev_numpy *random, uint32_t n, uint32_t *scratch, uint32_t two[2])
{
    for (uint32_t i = 0; i < n; i++) scratch[i] = i;
    for (uint32_t i = n - 1; i >= 1; i--) {
        uint32_t j = ev_numpy_below(random, i + 1), held = scratch[i];
        scratch[i] = scratch[j];
        scratch[j] = held;
    }
    two[0] = scratch[0];
    two[1] = scratch[1];
}
