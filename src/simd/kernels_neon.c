/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for NEON. */
#include "simd/kernels.h"

#ifdef KBI_AARCH64

#    define KBI_VEC_NEON
#    include "simd/templates.h"
#    include "simd/tmpl_transfer.h"

/* 16 words at a time; few of them are near, so a branch for each of those costs less than a store for each word. */
VEC_KERNEL size_t KERNEL(hamming_near)(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max,
                                       int32_t *found)
{
    const uint64_t word = kbi_load64(query);
    const vec limit = v_set((int)(max < 64 ? max : 64) * 257);
    size_t count = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        vec beyond = v_subs8(v_hamming_words(word, words + 8 * i), limit);
        for (uint64_t near = v_mask8(v_zero8(beyond)); near; near &= near - 1)
            found[count++] = (int32_t)i + __builtin_ctzll(near) / VEC_MASK_BITS;
    }
    for (; i < n; i++) {
        found[count] = (int32_t)i;
        count += kbi_count_bits(word ^ kbi_load64(words + 8 * i), true) <= max;
    }
    return count;
}

#    include "simd/tables_128.h"

const kbi_fit_kernels kbi_fit_kernels_neon = {.transfer_sums = KERNEL(transfer_sums)};

#endif
