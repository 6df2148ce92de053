/* The kernels for AVX2. */
#include "kernels/kernels.h"

#ifdef KB_X86

#define KB_VEC_AVX2
#include "kernels/lanes_boxes.h"
#include "kernels/lanes_cut.h"
#include "kernels/lanes_hamming.h"
#include "kernels/lanes_levels.h"
#include "kernels/lanes_plan.h"
#include "kernels/lanes_project.h"
#include "kernels/lanes_sift.h"
#include "kernels/lanes_sift_bytes.h"

_Static_assert(sizeof(boxes_scratch) <= KB_KERNEL_SCRATCH && sizeof(sift_scratch) <= KB_KERNEL_SCRATCH, "scratch");

void kb_kernels_avx2(kb_kernels *table)
{
    table->shrink_half = shrink_half_lanes;
    table->shrink_two_thirds = shrink_two_thirds_lanes;
    table->plan = plan_lanes;
    table->cut = cut_lanes;
    table->boxes = boxes_lanes;
    table->sift = sift_lanes;
    table->sift_bytes = sift_bytes_lanes;
    table->project = project_lanes;
    table->hamming = hamming_lanes;
}

#endif
