/* Distances that mean for a model what 50 and 100 mean for ORB: they accept as large a share of the pairs that show
 * different points. Measured by `keybits train thresholds` on training scenes that were kept back (docs/slam.md). They
 * belong to the bits of a model, so the id is their key, and they are no part of it. */
#include "model/model.h"

static const struct threshold_row {
    uint64_t id;
    int32_t low, high;
} threshold_table[] = {
    {0x107f937fad7a96b3u, 57, 98},   /* bad256 */
    {0xc6bb4f827c6b3e0bu, 119, 194}, /* bad512 */
    {0x4a53eaba6677db0cu, 34, 54},   /* bag128 */
    {0xc81df372223d666bu, 75, 111},  /* bag256 */
    {0x87b2646cef2f4492u, 157, 225}, /* bag512 */
    {0x7c72dde12e8fa8fcu, 76, 111},  /* hashsift256 */
    {0xdd7f4bcd01df82fau, 157, 226}, /* hashsift512 */
};

void kbi_model_thresholds(uint64_t id, int32_t *low, int32_t *high)
{
    *low = *high = 0;
    for (size_t i = 0; i < KBI_COUNT(threshold_table); i++) {
        if (threshold_table[i].id != id) continue;
        *low = threshold_table[i].low;
        *high = threshold_table[i].high;
    }
}
