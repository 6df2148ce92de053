/* The kernels for NEON. Rows of the detectors that compilers make fast are not among them: plain C is NEON already. */
#include "simd/kernels.h"

#ifdef KBI_AARCH64

#    define KBI_VEC_NEON
#    include "simd/templates.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_filter.h"

static void hamming_listed_neon(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n,
                                size_t row_bytes, size_t stride, uint32_t *distances)
{
    hamming_listed_rows(query, rows, listed, n, row_bytes, stride, distances, true);
}

static uint32_t hamming_nearest_neon(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes)
{
    return hamming_nearest_row(query, rows, n, row_bytes, true);
}

/* 16 words at a time; few of them are near, so a branch for each of those costs less than a store for each word. */
static size_t hamming_near_neon(const uint8_t *query, const uint8_t *words, size_t n, uint32_t most, int32_t *found)
{
    const uint64_t word = load64(query);
    const vec limit = v_set((int)(most < 64 ? most : 64) * 257);
    size_t count = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        vec beyond = v_subs8(v_hamming_words(word, words + 8 * i), limit);
        for (uint64_t near = v_mask8(v_zero8(beyond)); near; near &= near - 1)
            found[count++] = (int32_t)i + __builtin_ctzll(near) / VEC_MASK_BITS;
    }
    for (; i < n; i++) {
        found[count] = (int32_t)i;
        count += count_bits(word ^ load64(words + 8 * i), true) <= most;
    }
    return count;
}

void kbi_kernels_neon(kbi_kernels *table)
{
    use_simd(table);
    table->match.hamming_listed = hamming_listed_neon;
    table->match.hamming_nearest = hamming_nearest_neon;
    table->match.hamming_near = hamming_near_neon;
    table->match.list_circle = list_circle_simd;
    if (!KB_BAD_ONLY) table->match.filter_block = filter_block_simd;
}

#endif
