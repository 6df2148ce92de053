/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C of the comparison, without branches, so that compilers make vectors of it. */
#include "match/filter_block.h"

uint32_t kbi_filter_block(const kbi_filter_nodes *nodes, int32_t i, int32_t j, int32_t min)
{
    float *const *c = nodes->column;
    const float mx = c[KBI_FILTER_MX][i], my = c[KBI_FILTER_MY][i], norm2 = c[KBI_FILTER_NORM2][i];
    const float cosine2 = nodes->cosine2 * norm2, ratio2 = nodes->ratio2, most2 = ratio2 * norm2;
    const float slack = c[KBI_FILTER_SLACK][i], bound2 = nodes->bound2;
    const int32_t wants = nodes->support[i] < min;
    int32_t may[KBI_FILTER_BLOCK], any = 0;
    uint32_t bits = 0;
    for (int32_t l = 0; l < KBI_FILTER_BLOCK; l++) {
        int32_t k = j + l;
        float other2 = c[KBI_FILTER_NORM2][k], reach = slack + c[KBI_FILTER_SLACK][k];
        float dot = mx * c[KBI_FILTER_MX][k] + my * c[KBI_FILTER_MY][k];
        kbi_filter_error e = kbi_filter_compare(c, i, k);
        may[l] = ((nodes->support[k] < min) | wants) & (dot > 0) & (dot * dot >= cosine2 * other2) &
                 (norm2 <= ratio2 * other2) & (other2 <= most2) & (e.d2 <= bound2 * e.p2 + 2.0001f * reach * reach);
        any |= may[l];
    }
    for (int32_t l = 0; any && l < KBI_FILTER_BLOCK; l++) bits |= (uint32_t)may[l] << l;
    return bits;
}
