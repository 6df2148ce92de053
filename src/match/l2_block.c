/* SPDX-License-Identifier: Apache-2.0 */
#include "match/kernels.h"

#include "common/common.h"

static float squared_distance(const float *a, const float *b, size_t values)
{
    float sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= values; i += 8) {
        for (size_t k = 0; k < 8; k++) {
            float d = a[i + k] - b[i + k];
            sum[k] += d * d;
        }
    }
    for (size_t k = 0; i + k < values; k++) {
        float d = a[i + k] - b[i + k];
        sum[k] += d * d;
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

void kbi_l2_block(const float *a, size_t na, int32_t first_a, const float *b, size_t nb, int32_t first_b, size_t values,
                 const kbi_neighbours *of_a, const kbi_neighbours *of_b)
{
    for (size_t i = 0; i < na; i++) {
        for (size_t j = 0; j < nb; j++) {
            float d = squared_distance(a + i * values, b + j * values, values);
            if (d < of_a->distance[i]) { /* false for NaN, and for an infinite distance */
                of_a->second[i] = of_a->distance[i];
                of_a->distance[i] = d;
                of_a->index[i] = first_b + (int32_t)j;
            } else if (d < of_a->second[i]) {
                of_a->second[i] = d;
            }
            if (of_b && d < of_b->distance[j]) {
                of_b->distance[j] = d;
                of_b->index[j] = first_a + (int32_t)i;
            }
        }
    }
}
