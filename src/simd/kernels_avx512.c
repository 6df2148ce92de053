/* The kernels that gain by AVX-512: wider vectors, masks, counts of bits, lookups in 64 bytes, and products of bytes that
 * are summed as 32-bit numbers. */
#include "simd/kernels.h"

#ifdef KBI_X86_512

#    define KBI_VEC_AVX512
#    include "simd/tmpl_rows.h"
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_extrema_masks.h"
#    include "simd/tmpl_hamming.h"
#    include "simd/tmpl_hessian.h"
#    include "simd/tmpl_hamming_words.h"
#    include "simd/tmpl_project_vnni.h"
#    include "simd/tmpl_resize_vbmi.h"
#    include "simd/tmpl_sample.h"
#    include "simd/tmpl_scratch.h"

void kbi_hamming_avx512(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                        uint32_t *second, uint32_t *best_b)
{
    hamming_simd(a, na, b, nb, row_bytes, best, second, best_b);
}

void kbi_kernels_avx512(kbi_kernels *table)
{
    table->match.hamming = kbi_hamming_avx512;
    table->match.hamming_nearest = hamming_nearest_simd;
    table->match.hamming_near = hamming_near_simd;
    if (KB_BAD_ONLY) return; /* a small library describes by AVX2 */
    table->describe.boxes = boxes_simd;
    table->describe.scratch_bytes = scratch_bytes_simd;
    table->detect.resize_group = RESIZE_GROUP;
    table->detect.resize_row = resize_row_simd;
    table->detect.blur_pairs = blur_pairs_simd;
    table->detect.extrema_row = extrema_row_masks;
    table->detect.blur_bytes = blur_bytes_simd;
    table->detect.hessian_row = hessian_row_simd;
    table->detect.hessian_peaks = hessian_peaks_simd;
    table->image.sample = sample_simd;
    table->describe.sift = sift_simd;
    table->describe.project = project_simd;
}

#endif
