/* The kernels for AVX2. */
#include "kernels/kernels.h"

#ifdef KB_X86

#define KB_VEC_AVX2
#include "kernels/lanes.h"

/* Rows that compilers make fast by themselves, once they may use wider vectors. */
#define KB_ROWS VEC_TARGET static
#define KB_ROWS_HELPER VEC_TARGET static
#define KB_ROWS_NAME(name) name##_avx2
#include "detect/blur_rows.h"
#include "detect/corner_rows.h"
#include "detect/dog_rows.h"
#include "detect/fast_rows.h"

void kb_kernels_avx2(kb_kernels *table)
{
    use_lanes(table);
    table->fast_row = fast_row_avx2;
    table->peaks_row = peaks_row_avx2;
    table->harris = harris_avx2;
    table->disc_angle = disc_angle_avx2;
    table->blur_pairs = blur_pairs_avx2;
    table->difference_row = difference_row_avx2;
    table->extrema_row = extrema_row_avx2;
}

#endif
