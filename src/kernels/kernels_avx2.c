/* The kernels for AVX2. */
#include "kernels/kernels.h"

#ifdef KB_X86

#    define KB_VEC_AVX2
#    include "kernels/lanes.h"

void kb_kernels_avx2(kb_kernels *table)
{
    use_lanes(table);
    /* Harris's response works on 8 pixels and gains nothing by wider vectors. */
    table->disc_angle = disc_angle;
    table->blur_pairs = blur_pairs;
    table->difference_row = difference_row;
    table->extrema_row = extrema_row;
}

#endif
