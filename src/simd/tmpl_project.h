/* SPDX-License-Identifier: Apache-2.0 */
/* The signs of a linear map of 128 bytes: the results of kbi_hashsift_project (src/describe/hashsift.c). Template over
 * simd/vec.h.
 *
 * model->packed holds the weights of 8 bits together, 4 values at a time, the last bit first: a 32-bit lane belongs to
 * a bit, where 4 values, broadcast, are multiplied by 4 weights. These sets have no instruction for that (see
 * simd/tmpl_project_vnni.h): byte products are summed in pairs of 16 bits, which holds for values up to 127
 * (2 x 127 x 128 < 2^15). Larger ones are rare in SIFT: a row that has some is processed a second time, with the
 * highest bits of its values, which count 128. */
#ifndef KBI_TMPL_PROJECT_H
#define KBI_TMPL_PROJECT_H

#include "describe/describe.h"
#include "simd/vec.h"

#define QUADS (KB_SIFT_VALUES / 4)
#define PARTS (8 / VEC_FLOATS) /* vecs that hold the sums of 8 bits */

/* Adds the products of one row of values to the sums of `count` groups of 8 bits. */
VEC_INLINE void project_block(const int8_t *weights, const uint8_t *values, int count, vec *sums)
{
    for (int q = 0; q < QUADS; q++, values += 4) {
        uint32_t four;
        memcpy(&four, values, sizeof four);
        vec v = v_set32(four);
        VEC_UNROLL
        for (int p = 0; p < count * PARTS; p++) {
            const int8_t *quad = weights + ((size_t)(p / PARTS) * QUADS + (size_t)q) * 32;
            sums[p] = v_dot_bytes(sums[p], v, v_loadu(quad + p % PARTS * 4 * VEC_FLOATS));
        }
    }
}

/* The values of a row as project_block takes them: low 7 bits and highest bits. PROJECT_BLOCK: groups of 8 bits whose
 * sums stay in registers. */
#define PROJECT_BLOCK 4

typedef struct project_values {
    uint8_t low[KB_SIFT_VALUES], high[KB_SIFT_VALUES], any_high;
} project_values;

/* Splits the values into their low 7 bits and their highest bit. */
VEC_TARGET static void project_split_values(project_values *restrict v, const uint8_t *restrict values)
{
    uint8_t any = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        v->low[i] = values[i] & 127;
        v->high[i] = values[i] >> 7;
        any |= values[i];
    }
    v->any_high = any >> 7;
}

VEC_INLINE void project_groups(const kb_model *model, int32_t group, int count, const project_values *v, uint8_t *row)
{
    const int8_t *weights = model->packed + (size_t)group * QUADS * 32;
    const int32_t *bias = model->packed_bias + (size_t)group * 8;
    vec sums[PROJECT_BLOCK * PARTS];
    VEC_UNROLL
    for (int p = 0; p < count * PARTS; p++) sums[p] = v_zero();
    if (v->any_high) project_block(weights, v->high, count, sums);
    VEC_UNROLL
    for (int p = 0; p < count * PARTS; p++)
        sums[p] = v_add32((vec)((vec_u32)sums[p] << 7), v_loadu(bias + p * VEC_FLOATS));
    project_block(weights, v->low, count, sums);
    for (int g = 0; g < count; g++) { /* the last sum has the highest bit */
        uint32_t bits = 0;
        VEC_UNROLL
        for (int p = 0; p < PARTS; p++) bits |= v_bits_floats((vec_ints)sums[g * PARTS + p] > 0) << p * VEC_FLOATS;
        row[group + g] = (uint8_t)bits;
    }
}

VEC_KERNEL void KERNEL(project)(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    int32_t groups = model->row_bytes, whole = groups / PROJECT_BLOCK * PROJECT_BLOCK;
    for (int32_t k = 0; k < n; k++, values += KB_SIFT_VALUES, rows += model->row_bytes) {
        project_values v;
        project_split_values(&v, values);
        for (int32_t g = 0; g < whole; g += PROJECT_BLOCK) project_groups(model, g, PROJECT_BLOCK, &v, rows);
        for (int32_t g = whole; g < groups; g++) project_groups(model, g, 1, &v, rows);
    }
}

#endif
