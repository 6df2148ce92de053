/* The kernels that gain by POPCNT alone. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    include "match/hamming_rows.h"

__attribute__((target("popcnt"))) void kbi_hamming_popcnt(const uint8_t *a, size_t na, const uint8_t *b, size_t nb,
                                                         size_t row_bytes, uint32_t *best, uint32_t *second,
                                                         uint32_t *best_b)
{
    hamming_rows(a, na, b, nb, row_bytes, best, second, best_b, true);
}

__attribute__((target("popcnt"))) static void hamming_listed_popcnt(const uint8_t *query, const uint8_t *rows,
                                                                    const int32_t *listed, size_t n, size_t row_bytes,
                                                                    size_t stride, uint32_t *distances)
{
    hamming_listed_rows(query, rows, listed, n, row_bytes, stride, distances, true);
}

__attribute__((target("popcnt"))) static uint32_t hamming_nearest_popcnt(const uint8_t *query, const uint8_t *rows,
                                                                         size_t n, size_t row_bytes)
{
    return hamming_nearest_row(query, rows, n, row_bytes, true);
}

__attribute__((target("popcnt"))) static size_t hamming_near_popcnt(const uint8_t *query, const uint8_t *words,
                                                                    size_t n, uint32_t most, int32_t *found)
{
    return hamming_near_words(query, words, n, most, found, true);
}

void kbi_kernels_popcnt(kbi_kernels *table)
{
    table->match.hamming_nearest = hamming_nearest_popcnt;
    table->match.hamming_near = hamming_near_popcnt;
    table->match.hamming = kbi_hamming_popcnt;
    table->match.hamming_listed = hamming_listed_popcnt;
}

#endif
