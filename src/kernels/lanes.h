/* All kernels that are templates over kernels/vec.h, and the table's slots that they fill. */
#ifndef KB_LANES_H
#define KB_LANES_H

#include "kernels/vec.h"

/* The row functions of the detectors, of which compilers make vector code by themselves; for these tiers' narrow
 * rests and, where wider vectors help, instead of the plain ones. */
#define KB_ROWS            __attribute__((unused)) VEC_TARGET static
#define KB_ROWS_HELPER     VEC_TARGET static
#define KB_ROWS_NAME(name) name
#include "detect/blur_rows.h"
#include "detect/corner_rows.h"
#include "detect/dog_rows.h"
#include "detect/fast_rows.h"

#include "kernels/lanes_boxes.h"
#include "kernels/lanes_corner.h"
#include "kernels/lanes_cut.h"
#include "kernels/lanes_fast.h"
#include "kernels/lanes_hamming.h"
#include "kernels/lanes_levels.h"
#include "kernels/lanes_pairs.h"
#include "kernels/lanes_plan.h"
#include "kernels/lanes_project.h"
#include "kernels/lanes_resize.h"
#include "kernels/lanes_sift.h"
#include "kernels/lanes_sift_bytes.h"

_Static_assert(sizeof(boxes_scratch) <= KB_KERNEL_SCRATCH && sizeof(sift_scratch) <= KB_KERNEL_SCRATCH, "scratch");

static void use_lanes(kb_kernels *table)
{
    table->shrink_half = shrink_half_lanes;
    table->shrink_two_thirds = shrink_two_thirds_lanes;
    table->plan = plan_lanes;
    table->cut_pairs = cut_pairs_lanes;
    table->boxes = boxes_lanes;
    table->blend_rows = blend_rows_lanes;
    table->resize_row = resize_row_lanes;
    table->fast_row = fast_row_lanes;
    table->peaks_row = peaks_row_lanes;
#if VEC_LANES == 8
    table->harris = harris_lanes;
#endif
    table->hamming = hamming_lanes;
    if (KB_BAD_ONLY) return; /* its models take pairs */
    table->cut = cut_lanes;
    table->sift = sift_lanes;
    table->sift_bytes = sift_bytes_lanes;
    table->project = project_lanes;
}

#endif
