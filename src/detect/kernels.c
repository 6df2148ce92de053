/* The plain C kernels of this module. */
#include "detect/kernels.h"

void kbi_detect_kernels_c(kbi_detect_kernels *kernels)
{
    *kernels = (kbi_detect_kernels){.blend_rows = kbi_blend_rows,
                                    .resize_row = kbi_resize_row,
                                    .fast_row = kbi_fast_row,
                                    .peaks_row = kbi_peaks_row,
                                    .harris = kbi_harris,
                                    .disc_angle = kbi_disc_angle,
                                    .blur_pairs = kbi_blur_pairs,
                                    .difference_row = kbi_difference_row,
                                    .extrema_row = kbi_extrema_row};
}
