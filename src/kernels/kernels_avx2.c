/* The kernels for AVX2. */
#include "kernels/kernels.h"

#ifdef KB_X86

#    define KB_VEC_AVX2
#    include "kernels/lanes.h"

void kb_kernels_avx2(kb_kernels *table)
{
    use_lanes(table);
    /* Harris's response stays that of SSE4.1: 7 columns gain nothing by wider vectors. */
    table->disc_angle = disc_angle;
    table->blur_pairs = blur_pairs;
    table->difference_row = difference_row;
    table->extrema_row = extrema_row;
}

#endif
