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
#include "kernels/lanes_resize.h"
#include "kernels/lanes_sift.h"
#include "kernels/lanes_sift_bytes.h"

/* Rows that compilers make fast by themselves, once they may use wider vectors. */
#define KB_ROWS VEC_TARGET static
#define KB_ROWS_HELPER VEC_TARGET static
#define KB_ROWS_NAME(name) name##_avx2
#include "detect/blur_rows.h"
#include "detect/corner_rows.h"
#include "detect/dog_rows.h"
#include "detect/fast_rows.h"

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
    table->resize_row = resize_row_lanes;
    table->fast_row = fast_row_avx2;
    table->peaks_row = peaks_row_avx2;
    table->harris = harris_avx2;
    table->disc_angle = disc_angle_avx2;
    table->blur_pairs = blur_pairs_avx2;
    table->difference_row = difference_row_avx2;
    table->extrema_row = extrema_row_avx2;
    table->hamming = hamming_lanes;
}

#endif
