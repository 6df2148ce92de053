/* SPDX-License-Identifier: Apache-2.0 */
/* The random numbers of NumPy's legacy generator, numpy.random.seed(n), so that task files drawn with it can be drawn
 * again: the Mersenne Twister MT19937, and the rules by which NumPy makes whole numbers and permutations of it. */
#ifndef EVAL_NUMPY_RANDOM_H
#define EVAL_NUMPY_RANDOM_H

#include <stdint.h>

typedef struct ev_numpy {
    uint32_t state[624];
    int at;
} ev_numpy;

void ev_numpy_seed(ev_numpy *random, uint32_t seed);
uint32_t ev_numpy_next(ev_numpy *random);
/* randint(n), and the index that choice(list of n) takes: 0 to n - 1. n > 0. */
uint32_t ev_numpy_below(ev_numpy *random, uint32_t n);
/* choice(arange(n), 2, replace=False): the first two of a permutation. scratch has room for n; n >= 2. */
void ev_numpy_two_of(ev_numpy *random, uint32_t n, uint32_t *scratch, uint32_t two[2]);

#endif
