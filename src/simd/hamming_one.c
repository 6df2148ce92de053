/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The distance of two rows, which chooses by itself: a table of kernels would take longer than the distance. */
#include "match/hamming_rows.h"
#include "simd/cpu.h"

static int32_t hamming_plain(const uint8_t *a, const uint8_t *b, size_t row_bytes)
{
    (void)kbi_cpu_flags(); /* the next call knows the features */
    return (int32_t)hamming_distance(a, b, row_bytes, KBI_COUNTS_BITS);
}

#ifdef KBI_X86
__attribute__((target("popcnt"))) static int32_t hamming_popcnt(const uint8_t *a, const uint8_t *b, size_t row_bytes)
{
    return (int32_t)(row_bytes == 32 ? hamming_distance(a, b, 32, true) : hamming_distance(a, b, row_bytes, true));
}
#else
#    define hamming_popcnt hamming_plain
#endif

int32_t kb_hamming(const uint8_t *a, const uint8_t *b, size_t row_bytes)
{
    if (row_bytes > 0 && (!a || !b)) return -1;
    if (atomic_load_explicit(&kbi_cpu_state, memory_order_relaxed) & KBI_CPU_SSE42)
        return hamming_popcnt(a, b, row_bytes);
    return hamming_plain(a, b, row_bytes);
}
