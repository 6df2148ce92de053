/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The id of a model: FNV-1a over everything that decides the bits of its descriptors. */
#include "common/bytes.h"
#include "model/model.h"

static uint64_t hash_word(uint64_t hash, uint32_t w)
{
    const uint8_t bytes[4] = {(uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16), (uint8_t)(w >> 24)};
    return kbi_sum_bytes(hash, bytes, sizeof bytes);
}

uint64_t kbi_model_id(const kb_model_spec *spec, uint32_t revision)
{
    uint64_t hash = KBI_SUM_START;
    uint32_t support;
    memcpy(&support, &spec->support, sizeof support);
    hash = hash_word(hash, (uint32_t)spec->kind);
    hash = hash_word(hash, (uint32_t)spec->sampler);
    hash = hash_word(hash, (uint32_t)spec->bits);
    hash = hash_word(hash, support);
    hash = hash_word(hash, (uint32_t)spec->root);
    for (int32_t i = 0; i < spec->bits; i++) {
        uint8_t row[KBI_TABLE_ROW_MAX];
        hash = kbi_sum_bytes(hash, row, kbi_table_row_write(spec, i, row));
    }
    if (spec->sift_support != 0) { /* what belongs to keypoints of SIFT detectors; ids from before it stay */
        memcpy(&support, &spec->sift_support, sizeof support);
        hash = hash_word(hash, support);
    }
    return revision ? hash_word(hash, revision) : hash; /* ids from before there were revisions stay */
}
