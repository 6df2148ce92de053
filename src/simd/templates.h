/* All kernels that are templates over simd/vec.h, and the table's slots that they fill. */
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

#include "simd/tmpl_corner.h"
#include "simd/tmpl_sample.h"
#include "simd/tmpl_fast.h"
#include "simd/tmpl_gradient.h"
#include "simd/tmpl_hamming.h"
#include "simd/tmpl_pyramid.h"
#include "simd/tmpl_scratch.h"
#include "simd/tmpl_plan.h"
#include "simd/tmpl_project.h"
#include "simd/tmpl_resize.h"
#include "simd/tmpl_sift_bytes.h"
#ifndef KBI_VEC_WASM /* a small file matters more there */
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_sift_rows.h"
#endif

static void use_simd(kbi_kernels *table)
{
    table->image.shrink_half = shrink_half_simd;
    table->image.shrink_two_thirds = shrink_two_thirds_simd;
    table->image.plan = plan_simd;
    table->image.sample = sample_simd;
    table->describe.batch = KBI_BATCH;
    table->describe.scratch_bytes = scratch_bytes_simd;
    table->describe.boxes = boxes_simd;
    table->detect.blend_rows = blend_rows_simd;
    table->detect.resize_group = 8;
    table->detect.resize_row = resize_row_simd;
    table->detect.fast_row = fast_row_simd;
    table->detect.fast_scores = fast_scores_simd;
    table->detect.peaks_row = peaks_row_simd;
    table->detect.gradient_cells = gradient_cells_simd;
    table->detect.gradient_sums = gradient_sums_simd;
#ifndef KBI_VEC_WASM
    table->detect.blur_pairs = blur_pairs_simd;
    table->detect.extrema_row = extrema_row_simd;
    table->detect.direction_rows = direction_rows_simd;
#endif
#if VEC_LANES == 8
    table->detect.harris = harris_simd;
#endif
    table->match.hamming = hamming_simd;
    if (KB_BAD_ONLY) return;
    table->detect.gradient_histogram = gradient_histogram_simd;
    table->describe.sift = sift_simd;
    table->describe.sift_bytes = sift_bytes_simd;
    table->describe.project = project_simd;
}

#endif
