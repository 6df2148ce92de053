/* All kernels that are templates over kernels/vec.h, and the table's slots that they fill. */
#ifndef KB_LANES_H
#define KB_LANES_H

#include "kernels/lanes_boxes.h"
#include "kernels/lanes_cut.h"
#include "kernels/lanes_hamming.h"
#include "kernels/lanes_levels.h"
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
    table->cut = cut_lanes;
    table->boxes = boxes_lanes;
    table->sift = sift_lanes;
    table->sift_bytes = sift_bytes_lanes;
    table->project = project_lanes;
    table->resize_row = resize_row_lanes;
    table->hamming = hamming_lanes;
}

#endif
