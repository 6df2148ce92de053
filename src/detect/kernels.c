/* The plain C kernels of this module. */
#include "detect/kernels.h"

/* Compilers turn the row functions into vector code where the target has vectors; elsewhere others are quicker. */
#if !defined(__SSE2__) && !defined(_M_X64) && !defined(__ARM_NEON) && !defined(__wasm_simd128__) && \
    !defined(__ALTIVEC__) && !defined(__VX__) && !defined(__riscv_vector)
#    define KBI_SCALAR_CORE
#endif

void kbi_detect_kernels_c(kbi_detect_kernels *kernels)
{
    *kernels = (kbi_detect_kernels){.blend_rows = KBI_REPLACED(kbi_blend_rows),
                                    .resize_row = KBI_REPLACED(kbi_resize_row),
                                    .fast_row = KBI_REPLACED(kbi_fast_row),
                                    .peaks_row = KBI_REPLACED(kbi_peaks_row),
                                    .harris = KBI_REPLACED(kbi_harris),
                                    .disc_angle = kbi_disc_angle,
                                    .gradient_cells = KBI_REPLACED(kbi_gradient_cells),
                                    .gradient_sums = KBI_REPLACED(kbi_gradient_sums),
                                    .gradient_histogram = kbi_gradient_histogram,
                                    .blur_pairs = kbi_blur_pairs,
                                    .difference_row = kbi_difference_row,
                                    .extrema_row = kbi_extrema_row,
                                    .direction_row = kbi_direction_row};
#ifdef KBI_SCALAR_CORE
    kernels->blend_rows = kbi_blend_rows_scalar;
    kernels->resize_row = kbi_resize_row_scalar;
    kernels->disc_angle = kbi_disc_angle_scalar;
    kernels->fast_row = kbi_fast_row_scalar;
    kernels->peaks_row = kbi_peaks_row_scalar;
#endif
}
