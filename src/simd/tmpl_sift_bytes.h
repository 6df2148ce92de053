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

VEC_TARGET static uint64_t sum_of_squares(const uint32_t *values)
{
    uint64_t sum = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) sum += (uint64_t)values[i] * values[i];
    return sum;
}

/* The values clipped at a fifth of their norm; returns the sum of the clipped. */
VEC_TARGET static uint32_t clip_histogram(const uint32_t *restrict histogram, uint32_t *restrict clipped)
{
    uint32_t sum = 0, limit = kbi_isqrt(sum_of_squares(histogram)) / 5;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        clipped[i] = histogram[i] < limit ? histogram[i] : limit;
        sum += clipped[i];
    }
    return sum;
}

VEC_KERNEL void KERNEL(sift_bytes)(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    for (int32_t k = 0; k < n; k++, histograms += KB_SIFT_VALUES, rows += KB_SIFT_VALUES) {
        uint32_t clipped[KB_SIFT_VALUES], sum = clip_histogram(histograms, clipped);
        int32_t bytes[KB_SIFT_VALUES];
        if (sum == 0) {
            memset(rows, 0, KB_SIFT_VALUES);
            continue;
        }
        if (root) {
            double scale = 1048576.0 / sum * (1 + 0x1p-48);
            for (int i = 0; i < KB_SIFT_VALUES; i++) bytes[i] = (int32_t)((int32_t)clipped[i] * scale);
            for (int i = 0; i < KB_SIFT_VALUES; i += VEC_ROOTS) v_roots(bytes + i, bytes + i);
        } else {
            uint32_t norm = kbi_isqrt(sum_of_squares(clipped));
            double scale = 512.0 / norm, half = (norm / 2 + 0.5) / norm;
            for (int i = 0; i < KB_SIFT_VALUES; i++) bytes[i] = (int32_t)((int32_t)clipped[i] * scale + half);
        }
        for (int i = 0; i < KB_SIFT_VALUES; i++) rows[i] = (uint8_t)(bytes[i] > 255 ? 255 : bytes[i]);
    }
}

#endif
