/* HashSIFT: the signs of a linear map of the 128 SIFT bytes (docs/hashsift.md). */
#include "describe/describe.h"

void kbi_hashsift_project(const kb_model *model, const uint8_t *values, uint8_t *row)
{
    const int8_t *weights = model->spec.weights;
    for (int32_t i = 0; i < model->spec.bits; i += 8) {
        uint32_t byte = 0;
        for (int32_t k = 0; k < 8; k++, weights += KB_SIFT_VALUES) {
            int32_t sum = model->spec.bias[i + k];
            for (int32_t j = 0; j < KB_SIFT_VALUES; j++) sum += weights[j] * values[j];
            byte = byte << 1 | (sum > 0);
        }
        row[i / 8] = (uint8_t)byte;
    }
}
