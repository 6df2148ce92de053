/* SPDX-License-Identifier: Apache-2.0 */
/* The normalisation of SIFT histograms to bytes: the results of kbi_sift_bytes (src/describe/sift_patch.c) by
 * arithmetic that compilers turn into vectors, namely doubles instead of 64-bit divisions. Template over simd/vec.h.
 *
 * Why the doubles are exact. A histogram value v is below 2^24 and a norm below 2^28.
 *
 * floor((512 v + h) / norm), h = floor(norm / 2): the numerator n = 512 v + h is an integer below 2^34, and (n +
 * 1/2) / norm is never closer to an integer than 1 / (2 norm), a relative distance of 2^-36 or more; a few roundings
 * of 2^-53 cannot cross that.
 *
 * floor(2^20 v / sum): below an integer the number stays away from it by 1 / sum or more, a relative distance of at
 * least 1 / (2^20 v) > 2^-44; so it may be made larger by 2^-48, which lifts integers above what rounding takes
 * away.
 *
 * The root of such an integer m, at most 2^20, is taken in floats, and (floor(sqrt(m)) + 1) / 2 is floor((sqrt(m) +
 * 1) / 2): below a square k^2 the root stays away from k by 1 / (2 k) or more, 2^-21 of it, and floats round by
 * 2^-24. tests/kernels tries all m. */
#ifndef KBI_TMPL_SIFT_BYTES_H
#define KBI_TMPL_SIFT_BYTES_H

#include "describe/describe.h"
#include "simd/vec.h"

#define BYTES_BLOCK 16 /* histograms that take each step together, so that none waits for its own roots and quotients */

/* Sums of the values clipped at a limit. */
VEC_TARGET static uint64_t sum_of_squares(const uint32_t *values, uint32_t limit)
{
    uint64_t sum = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        uint64_t v = values[i] < limit ? values[i] : limit;
        sum += v * v;
    }
    return sum;
}

VEC_TARGET static uint32_t sum_of_values(const uint32_t *values, uint32_t limit)
{
    uint32_t sum = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) sum += values[i] < limit ? values[i] : limit;
    return sum;
}

/* A clipped value times `scale` plus `half`, truncated, is the byte or, of RootSIFT, the number whose root it is. All
 * are 0 where there is no gradient. */
typedef struct bytes_rule {
    uint32_t limit;
    double scale, half;
} bytes_rule;

VEC_TARGET static void scale_bytes(const uint32_t *histogram, bool root, bytes_rule *rule)
{
    rule->scale = rule->half = 0;
    if (root) {
        uint32_t sum = sum_of_values(histogram, rule->limit);
        if (sum > 0) rule->scale = 1048576.0 / sum * (1 + 0x1p-48);
    } else {
        uint32_t norm = kbi_isqrt(sum_of_squares(histogram, rule->limit));
        if (norm > 0) rule->scale = 512.0 / norm, rule->half = (norm / 2 + 0.5) / norm;
    }
}

VEC_TARGET VEC_EXACT static void write_bytes(const uint32_t *restrict histogram, bool root, const bytes_rule *rule,
                                   uint8_t *restrict row)
{
    const bytes_rule r = *rule;
    int32_t bytes[KB_SIFT_VALUES];
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        uint32_t v = histogram[i] < r.limit ? histogram[i] : r.limit;
        bytes[i] = (int32_t)((int32_t)v * r.scale + r.half);
    }
    for (int i = 0; root && i < KB_SIFT_VALUES; i += VEC_ROOTS) v_roots(bytes + i, bytes + i);
    for (int i = 0; i < KB_SIFT_VALUES; i++) row[i] = (uint8_t)(bytes[i] > 255 ? 255 : bytes[i]);
}

VEC_KERNEL void KERNEL(sift_bytes)(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    bytes_rule rules[BYTES_BLOCK];
    for (int32_t first = 0; first < n; first += BYTES_BLOCK) {
        const int32_t count = kbi_min_i(n - first, BYTES_BLOCK);
        const uint32_t *block = histograms + (size_t)first * KB_SIFT_VALUES;
        uint8_t *row = rows + (size_t)first * KB_SIFT_VALUES;
        for (int32_t k = 0; k < count; k++)
            rules[k].limit = kbi_isqrt(sum_of_squares(block + k * KB_SIFT_VALUES, UINT32_MAX)) / 5;
        for (int32_t k = 0; k < count; k++) scale_bytes(block + k * KB_SIFT_VALUES, root, &rules[k]);
        for (int32_t k = 0; k < count; k++)
            write_bytes(block + k * KB_SIFT_VALUES, root, &rules[k], row + k * KB_SIFT_VALUES);
    }
}

#endif
