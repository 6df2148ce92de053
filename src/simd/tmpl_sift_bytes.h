/* The normalisation of SIFT histograms to bytes: the results of kbi_sift_bytes (src/describe/sift.c) by arithmetic
 * that compilers turn into vectors, namely doubles instead of 64-bit divisions. Template over simd/vec.h.
 *
 * Why the doubles are exact. A histogram value v is below 2^24 and a norm below 2^28.
 *
 * floor((512 v + h) / norm), h = floor(norm / 2): the numerator n = 512 v + h is an integer below 2^34, and
 * (n + 1/2) / norm is never closer to an integer than 1 / (2 norm), a relative distance of 2^-36 or more; a few
 * roundings of 2^-53 cannot cross that.
 *
 * floor(sqrt(floor(2^20 v / sum))) = floor(sqrt(2^20 v / sum)): below a square k^2 the number stays away from it by
 * 1 / sum or more, a relative distance of at least 1 / (2^20 v) > 2^-44; so it may be made larger by 2^-48, which lifts
 * exact squares above what rounding takes away. */
#ifndef KBI_TMPL_SIFT_BYTES_H
#define KBI_TMPL_SIFT_BYTES_H

#include "describe/describe.h"
#include "simd/vec.h"

/* The values clipped at a fifth of their norm; *squares and *sum are those of the clipped. */
VEC_TARGET static void clip_histogram(const uint32_t *histogram, int32_t *clipped, uint64_t *squares, uint32_t *sum)
{
    uint64_t before = 0, after = 0;
    uint32_t total = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) before += (uint64_t)histogram[i] * histogram[i];
    uint32_t limit = kbi_isqrt(before) / 5;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        uint32_t v = histogram[i] < limit ? histogram[i] : limit;
        clipped[i] = (int32_t)v;
        after += (uint64_t)v * v;
        total += v;
    }
    *squares = after;
    *sum = total;
}

VEC_TARGET static void sift_bytes_simd(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    for (int32_t k = 0; k < n; k++, histograms += KB_SIFT_VALUES, rows += KB_SIFT_VALUES) {
        int32_t clipped[KB_SIFT_VALUES], bytes[KB_SIFT_VALUES];
        uint64_t squares;
        uint32_t sum;
        clip_histogram(histograms, clipped, &squares, &sum);
        uint32_t norm = kbi_isqrt(squares);
        if (norm == 0) {
            memset(rows, 0, KB_SIFT_VALUES);
            continue;
        }
        if (root) {
            double scale = 1048576.0 / sum * (1 + 0x1p-48);
            for (int i = 0; i < KB_SIFT_VALUES; i += VEC_DOUBLES) v_roots(clipped + i, scale, bytes + i);
            for (int i = 0; i < KB_SIFT_VALUES; i++) bytes[i] = (bytes[i] + 1) / 2;
        } else {
            double scale = 512.0 / norm, half = (norm / 2 + 0.5) / norm;
            for (int i = 0; i < KB_SIFT_VALUES; i++) bytes[i] = (int32_t)(clipped[i] * scale + half);
        }
        for (int i = 0; i < KB_SIFT_VALUES; i++) rows[i] = (uint8_t)(bytes[i] > 255 ? 255 : bytes[i]);
    }
}

#endif
