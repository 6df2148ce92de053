/* The kernels that gain by what AVX-512 adds to wider vectors: counts of bits, and products of bytes that are summed as
 * 32-bit numbers. */
#include "kernels/kernels.h"

#ifdef KB_X86_512

#    define KB_VEC_AVX512
#    include "kernels/lanes_hamming.h"
#    include "kernels/lanes_project.h"

void kb_kernels_avx512(kb_kernels *table)
{
    table->hamming = hamming_lanes;
    if (KB_BAD_ONLY) return;
    table->project = project_lanes;
}

#endif
