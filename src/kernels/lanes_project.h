/* The signs of a linear map of 128 bytes: the results of kb_hashsift_project (src/describe/hashsift.c). Template over
 * kernels/vec.h.
 *
 * model->packed holds the weights of 8 bits together, 4 values at a time, the last bit first: a 32-bit lane belongs to
 * a bit, and 4 values, broadcast, meet 4 weights in it. Byte products are summed in pairs of 16 bits, which holds for
 * values up to 127 (2 x 127 x 128 < 2^15). Larger ones are rare in SIFT: a row that has some goes through once more,
 * with the highest bits of its values, which count 128. */
#ifndef KB_LANES_PROJECT_H
#define KB_LANES_PROJECT_H

#include "describe/describe.h"
#include "kernels/vec.h"

#define QUADS         (KB_SIFT_VALUES / 4)
#define PROJECT_BLOCK 4 /* groups of 8 bits whose sums stay in registers */

/* Adds the products of one row of values, each at most 127, to the sums of `count` groups of 8 bits. */
VEC_INLINE void project_block(const int8_t *weights, const uint8_t *values, int count, vec_eight *sums)
{
    for (int q = 0; q < QUADS; q++, values += 4) {
        uint32_t four;
        memcpy(&four, values, sizeof four);
        vec v = v_set32(four);
        for (int g = 0; g < count; g++) v_dot_eight(&sums[g], v, weights + ((size_t)g * QUADS + (size_t)q) * 32);
    }
}

/* Takes the highest bits of the values apart. True when one is set. */
VEC_TARGET static bool split_values(const uint8_t *values, uint8_t low[KB_SIFT_VALUES], uint8_t high[KB_SIFT_VALUES])
{
    uint8_t any = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        low[i] = values[i] & 127;
        high[i] = values[i] >> 7;
        any |= high[i];
    }
    return any != 0;
}

VEC_INLINE void project_groups(const kb_model *model, int32_t group, int count, const uint8_t *low, const uint8_t *high,
                               uint8_t *row)
{
    const int8_t *weights = model->packed + (size_t)group * QUADS * 32;
    vec_eight sums[PROJECT_BLOCK];
    for (int g = 0; g < count; g++) sums[g] = v_eight_zero();
    if (high) {
        project_block(weights, high, count, sums);
        for (int g = 0; g < count; g++) v_eight_times128(&sums[g]);
    }
    for (int g = 0; g < count; g++) v_eight_add(&sums[g], model->packed_bias + (size_t)(group + g) * 8);
    project_block(weights, low, count, sums);
    for (int g = 0; g < count; g++) row[group + g] = v_eight_signs(&sums[g]);
}

VEC_TARGET static void project_lanes(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    int32_t groups = model->row_bytes, whole = groups / PROJECT_BLOCK * PROJECT_BLOCK;
    for (int32_t k = 0; k < n; k++, values += KB_SIFT_VALUES, rows += model->row_bytes) {
        uint8_t low[KB_SIFT_VALUES], high[KB_SIFT_VALUES];
        bool rest = split_values(values, low, high);
        for (int32_t g = 0; g < whole; g += PROJECT_BLOCK)
            project_groups(model, g, PROJECT_BLOCK, low, rest ? high : NULL, rows);
        for (int32_t g = whole; g < groups; g++) project_groups(model, g, 1, low, rest ? high : NULL, rows);
    }
}

#endif
