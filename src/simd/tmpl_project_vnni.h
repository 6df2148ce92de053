/* SPDX-License-Identifier: Apache-2.0 */
/* The signs of a linear map of 128 bytes with the instruction VPDPBUSD, which multiplies four bytes by four weights and
 * adds them to a 32-bit lane: the results of kbi_hashsift_project (src/describe/hashsift.c).
 *
 * model->packed holds the weights of 8 bits together (a group), 4 values at a time. A 512-bit vector is two such steps
 * of a group: the sums of its halves are added at the end. PROJECT_ROWS rows of values go through PROJECT_GROUPS groups
 * together, so that 16 sums stay in registers and every vector of weights or values that is loaded serves four
 * products. Loads would be the bottleneck otherwise: the weights of 256 bits just fill the first-level cache. */
#ifndef KBI_TMPL_PROJECT_VNNI_H
#define KBI_TMPL_PROJECT_VNNI_H

#include "describe/describe.h"
#include "simd/vec.h"

#define PROJECT_ROWS   4
#define PROJECT_GROUPS 4
#define PROJECT_STEPS  (KB_SIFT_VALUES / 8) /* of 8 values */
#define GROUP_BYTES    (8 * KB_SIFT_VALUES)

/* The 128 values of a row, each four repeated for the 8 bits of a group. */
VEC_TARGET static void project_expand(const uint8_t *values, vec out[PROJECT_STEPS])
{
    const vec first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1), two = v_set32(2);
    const vec second = _mm512_add_epi32(first, two);
    for (int i = 0; i < PROJECT_STEPS; i += 2) {
        vec four = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(values + 8 * i)));
        v_store(&out[i], _mm512_permutexvar_epi32(first, four));
        v_store(&out[i + 1], _mm512_permutexvar_epi32(second, four));
    }
}

VEC_INLINE vec v_dot_bytes(vec sums, vec values, vec weights)
{
#if defined(__clang__) || defined(KB_EMULATE_AVX512)
    return _mm512_dpbusd_epi32(sums, values, weights);
#else /* with the intrinsic, gcc 12 moves every sum twice, from register to register */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(values), "v"(weights));
    return sums;
#endif
}

/* The bits of a group, the last one highest, from the sums of the products. */
VEC_INLINE uint8_t project_signs(vec sums, const int32_t *bias)
{
    __m256i both = _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
    both = _mm256_add_epi32(both, _mm256_loadu_si256((const __m256i *)(const void *)bias));
    return (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(both, _mm256_setzero_si256())));
}

/* `count` groups from `group` on, for all rows of the block. */
VEC_INLINE void project_block(const kb_model *model, int32_t group, int count, vec values[][PROJECT_STEPS],
                              uint8_t *const rows[PROJECT_ROWS])
{
    const int8_t *weights = model->packed + (size_t)group * GROUP_BYTES;
    vec sums[PROJECT_ROWS][PROJECT_GROUPS];
    VEC_UNROLL
    for (int i = 0; i < PROJECT_ROWS; i++) {
        VEC_UNROLL
        for (int g = 0; g < count; g++) sums[i][g] = v_zero();
    }
    for (int step = 0; step < PROJECT_STEPS; step++, weights += sizeof(vec)) {
        vec w[PROJECT_GROUPS];
        VEC_UNROLL
        for (int g = 0; g < count; g++) w[g] = v_loadu(weights + g * GROUP_BYTES);
        VEC_UNROLL
        for (int i = 0; i < PROJECT_ROWS; i++) {
            vec v = v_load(&values[i][step]);
            VEC_UNROLL
            for (int g = 0; g < count; g++) sums[i][g] = v_dot_bytes(sums[i][g], v, w[g]);
        }
    }
    VEC_UNROLL
    for (int i = 0; i < PROJECT_ROWS; i++) {
        VEC_UNROLL
        for (int g = 0; g < count; g++)
            rows[i][group + g] = project_signs(sums[i][g], model->packed_bias + (size_t)(group + g) * 8);
    }
}

VEC_KERNEL void KERNEL(project)(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    int32_t groups = model->row_bytes, whole = groups / PROJECT_GROUPS * PROJECT_GROUPS;
    for (int32_t k = 0; k < n; k += PROJECT_ROWS) {
        vec expanded[PROJECT_ROWS][PROJECT_STEPS];
        uint8_t *out[PROJECT_ROWS], unused[KB_MAX_BITS / 8];
        for (int32_t i = 0; i < PROJECT_ROWS; i++) { /* rows beyond the last repeat it */
            project_expand(values + (size_t)kbi_min_i(k + i, n - 1) * KB_SIFT_VALUES, expanded[i]);
            out[i] = k + i < n ? rows + (size_t)(k + i) * (size_t)groups : unused;
        }
        for (int32_t g = 0; g < whole; g += PROJECT_GROUPS) project_block(model, g, PROJECT_GROUPS, expanded, out);
        for (int32_t g = whole; g < groups; g++) project_block(model, g, 1, expanded, out);
    }
}

#endif
