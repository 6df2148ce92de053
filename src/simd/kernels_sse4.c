/* SPDX-License-Identifier: Apache-2.0 */
/* -Os on x86: for old processors. */
/* The kernels for SSE4.2 with POPCNT, for CPUs before AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_SSE4
#    include "simd/templates.h"

VEC_KERNEL size_t KERNEL(hamming_near)(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max,
                                       int32_t *found)
{
    return hamming_near_words(query, words, n, max, found, true);
}

#    include "simd/tables_128.h"

#endif
