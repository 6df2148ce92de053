/* Distances that mean for a model what 50 and 100 mean for ORB: they accept as large a share of the pairs that show
 * different points. Measured by `keybits train thresholds` on training scenes that were kept back (docs/slam.md). They
 * belong to the bits of a model, so the id is their key, and they are no part of it. */
#include "model/model.h"

static const struct threshold_row {
    uint64_t id;
    int32_t low, high;
} threshold_table[] = {
    {0xc1b9aedb1273e848u, 55, 96},   /* bad256 */
    {0xbbafad610ba730c5u, 114, 192}, /* bad512 */
    {0xf6239f1841faee69u, 32, 53},   /* bag128 */
    {0xeabd38320273c772u, 71, 110},  /* bag256 */
    {0x315b93417edad46du, 150, 223}, /* bag512 */
    {0xbef8b0a74cdae2a7u, 71, 110},  /* hashsift256 */
    {0xb77169b45e9643a0u, 147, 224}, /* hashsift512 */
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
