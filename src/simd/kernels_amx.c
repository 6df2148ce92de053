/* The kernel that gains by AMX, whose tiles multiply matrices of bytes. */
#include "simd/kernels.h"

#ifdef KBI_X86_AMX

#    define KBI_VEC_AVX512
#    define VEC_WITH_AMX
#    include "simd/tmpl_hamming_amx.h"

void kbi_kernels_amx(kbi_kernels *table)
{
    table->match.least_rows = 1024;
    table->match.hamming = hamming_amx;
}

#endif
