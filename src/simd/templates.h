/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that all instruction sets but AVX-512 have as templates over simd/vec.h, and the tables that are the same
 * for all of them. */
#ifndef KBI_TMPL_H
#define KBI_TMPL_H

#include "simd/tmpl_rows.h"

#include "detect/blur_rows.h"
#include "detect/corner_rows.h"
#include "detect/dog_rows.h"
#include "detect/fast_rows.h"
#include "detect/gradient_rows.h"
#include "detect/hessian_rows.h"
#include "detect/histogram_rows.h"

#include "simd/tmpl_boxes.h"
#include "simd/tmpl_fast.h"
#include "simd/tmpl_gradient.h"
#include "simd/tmpl_hamming.h"
#include "simd/tmpl_plan.h"
#include "simd/tmpl_project.h"
#include "simd/tmpl_pyramid.h"
#include "simd/tmpl_resize.h"
#include "simd/tmpl_sample.h"
#include "simd/tmpl_sift.h"

#ifndef KBI_VEC_WASM
#    include "simd/tmpl_sift_bytes.h"
#else /* every byte is downloaded */
VEC_KERNEL void KERNEL(sift_bytes)(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++) kbi_sift_bytes(histograms + i * KB_SIFT_VALUES, root, rows + i * KB_SIFT_VALUES);
}
#endif

#ifdef KBI_VEC_AVX2 /* whose vectors are wider than the ones of plain C */
#    include "image/warp_rows.h"
VEC_KERNEL void KERNEL(warp_row)(const kbi_warp *warp, int32_t y, uint8_t *out) { warp_row(warp, y, out); }
#    define WARP_ROW KERNEL(warp_row)
#else
#    define WARP_ROW kbi_warp_row
#endif

KBI_STATIC const kbi_image_kernels KERNEL(image_kernels) = {
    .batch = KBI_BATCH, .margin = GRID_REACH, OWN(shrink_half), OWN(shrink_two_thirds), OWN(plan), OWN(sample),
    .warp_row = WARP_ROW
};

KBI_STATIC const kbi_boxes_kernels KERNEL(boxes_kernels) = {OWN(boxes_scratch), OWN(boxes)};

KBI_STATIC const kbi_sift_kernels KERNEL(sift_kernels) = {
    .scratch_bytes = sizeof(sift_scratch), OWN(sift), OWN(sift_bytes), OWN(project)
};

#endif
