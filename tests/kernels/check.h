/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of the kernels share: memory with forbidden pages around it, random and extreme data, comparison.
 * No test framework, so that the program also runs where only a cross compiler and an emulator are. */
#ifndef CHECK_H
#define CHECK_H

#include "simd/kernels.h"

/* `size` bytes that end right before a page that must not be touched, and begin less than a page after another one.
 * They live until the next call of guard_reset. */
uint8_t *guarded(size_t size);
void guard_reset(void);

extern uint64_t check_random; /* state */
static inline uint32_t below(uint32_t n) { return kbi_random_below(&check_random, n); }

/* Fills with one of several sorts of data: noise, flat, black and white in blocks and stripes, a ramp, a lone spike. */
#define SORTS 8
void fill_bytes(uint8_t *p, size_t size, size_t width, uint32_t sort);

/* Compares a result with that of plain C; says what differs, once a case. */
void same(const char *what, const void *expected, const void *found, size_t size);

/* The checks, each for all tiers: `c` is plain C, `t` another tier. */
#define CHECKS(CHECK)                                                                                                  \
    CHECK(shrink)                                                                                                      \
    CHECK(plan) CHECK(cut) CHECK(warp) CHECK(boxes) CHECK(sift) CHECK(sift_bytes) CHECK(project) CHECK(resize)         \
    CHECK(fast)                                                                                                        \
        CHECK(fast_scores) CHECK(corners) CHECK(gradient) CHECK(blur) CHECK(hessian) CHECK(extrema)                    \
        CHECK(directions) CHECK(hamming) CHECK(hamming_many) CHECK(hamming_listed) CHECK(hamming_nearest)              \
        CHECK(hamming_near) CHECK(list_circle)                                                                         \
        CHECK(filter_block) CHECK(transfer_sums) CHECK(align_samples)
#define DECLARE_CHECK(name) void check_##name(const kbi_kernels *c, const kbi_kernels *t);
CHECKS(DECLARE_CHECK)

#endif
