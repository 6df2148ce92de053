/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* HashSIFT (section III-B of the paper): D(x) = sgn(B [f(x), 1]), where f(x) are the 128 values of SIFT and B is
 * learned. Here f(x) are bytes and B is integers: 128 weights and a bias per bit. sgn is stored as 1 and 0
 * (docs/hashsift.md). */
#include "describe/describe.h"

void kbi_hashsift_project(const kb_model *model, const uint8_t *f, uint8_t *row)
{
    const int8_t *b = model->spec.weights;
    for (int32_t i = 0; i < model->spec.bits; i += 8) {
        uint32_t byte = 0;
        for (int32_t k = 0; k < 8; k++, b += KB_SIFT_VALUES) {
            int32_t sum = model->spec.bias[i + k];
            for (int32_t j = 0; j < KB_SIFT_VALUES; j++) sum += b[j] * f[j];
            byte = byte << 1 | (sum > 0);
        }
        row[i / 8] = (uint8_t)byte;
    }
}
