/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The kernels of this module in plain C. */
#include "common/cpu.h"
#include "match/hamming_rows.h"
#include "match/kernels.h"

/* Whether every CPU that this code is compiled for counts bits by an instruction. */
#if defined(__POPCNT__) || defined(__aarch64__) || defined(__wasm__)
#  define COUNTS true
#else
#  define COUNTS false
#endif

void kbi_hamming_block(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                      uint32_t *second, uint32_t *best_b)
{
    hamming_rows(a, na, b, nb, row_bytes, best, second, best_b, COUNTS);
}

void kbi_hamming_listed(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n, size_t row_bytes,
                           size_t stride, uint32_t *distances)
{
    hamming_listed_rows(query, rows, listed, n, row_bytes, stride, distances, COUNTS);
}

uint32_t kbi_hamming_nearest(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes)
{
    return hamming_nearest_row(query, rows, n, row_bytes, COUNTS);
}

size_t kbi_hamming_near(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max, int32_t *found)
{
    return hamming_near_words(query, words, n, max, found, COUNTS);
}

/* Without branches, since whether a point is inside cannot be foreseen. */
size_t kbi_list_circle(const float *x, const float *y, const int32_t *level, int32_t from, int32_t to,
                          const kbi_circle *circle, int32_t *listed)
{
    size_t n = 0;
    for (int32_t k = from; k < to; k++) {
        float dx = x[k] - circle->x, dy = y[k] - circle->y;
        listed[n] = k;
        n += (size_t)((dx * dx + dy * dy <= circle->radius2) & (level[k] >= circle->min_level) &
                      (level[k] <= circle->max_level));
    }
    return n;
}

static int32_t hamming_plain(const uint8_t *a, const uint8_t *b, size_t row_bytes)
{
    (void)kbi_cpu_flags(); /* the next call knows the features */
    return (int32_t)hamming_distance(a, b, row_bytes, COUNTS);
}

#ifdef KBI_X86
__attribute__((target("popcnt"))) static int32_t hamming_popcnt(const uint8_t *a, const uint8_t *b, size_t row_bytes)
{
    return (int32_t)(row_bytes == 32 ? hamming_distance(a, b, 32, true) : hamming_distance(a, b, row_bytes, true));
}
#else
#    define hamming_popcnt hamming_plain
#endif

/* A table of kernels would take longer than the distance of a row. */
int32_t kb_hamming(const uint8_t *a, const uint8_t *b, size_t row_bytes)
{
    if (row_bytes > 0 && (!a || !b)) return -1;
    if (atomic_load_explicit(&kbi_cpu_state, memory_order_relaxed) & KBI_CPU_SSE42)
        return hamming_popcnt(a, b, row_bytes);
    return hamming_plain(a, b, row_bytes);
}

const kbi_match_kernels kbi_match_kernels_c = {.least_rows = 96,
                                               .hamming = kbi_hamming_block,
                                               .hamming_listed = kbi_hamming_listed,
                                               .hamming_nearest = kbi_hamming_nearest,
                                               .hamming_near = kbi_hamming_near,
                                               .list_circle = kbi_list_circle,
                                               .filter_block = kbi_filter_block};
