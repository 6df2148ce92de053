/* The kernels for SSE4.1, for CPUs before AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_SSE4
#    include "simd/templates.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_filter.h"

static void hamming_sse4(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                         uint32_t *second, uint32_t *best_b)
{
    (hamming_worth_tiles(na, row_bytes) ? hamming_tiles : kbi_hamming_block)(a, na, b, nb, row_bytes, best, second,
                                                                             best_b);
}

void kbi_kernels_sse4(kbi_kernels *table)
{
    use_simd(table);
    table->match.hamming = hamming_sse4;
    table->match.list_circle = list_circle_simd;
    if (!KB_BAD_ONLY) table->match.filter_block = filter_block_simd;
}

/* The first CPUs with SSE4.1 have no POPCNT. */
void kbi_kernels_sse4_popcnt(kbi_kernels *table) { table->match.hamming = hamming_simd; }

#endif
