/* SPDX-License-Identifier: Apache-2.0 */
/* The plain C kernels of this module: one patch at a time. */
#include "describe/kernels.h"

static size_t boxes_scratch_c(const kb_model *model)
{
    (void)model;
    return 0;
}

static void boxes_c(const kbi_box_table *table, const uint8_t *grids, int32_t n, uint8_t *rows, void *scratch)
{
    (void)scratch;
    const int32_t side = table->grid.side;
    for (int32_t i = 0; i < n; i++, grids += side * side, rows += table->bit_count / 8)
        if (kbi_kind_built(KB_KIND_BAG) && kbi_has_octaves(table->grid)) kbi_bag_describe(table, grids, rows);
        else kbi_bad_describe(table, grids, rows);
}

const kbi_boxes_kernels kbi_boxes_kernels_c = {.boxes_scratch = boxes_scratch_c, .boxes = boxes_c};

static void sift_c(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++, patches += KBI_PATCH_BYTES, histograms += KB_SIFT_VALUES)
        kbi_sift_histogram(patches, histograms);
}

static void sift_bytes_c(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++, histograms += KB_SIFT_VALUES, rows += KB_SIFT_VALUES)
        kbi_sift_bytes(histograms, root, rows);
}

static void project_c(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++, values += KB_SIFT_VALUES, rows += model->row_bytes)
        kbi_hashsift_project(model, values, rows);
}

const kbi_sift_kernels kbi_sift_kernels_c = {
    .scratch_bytes = 0, .sift = sift_c, .sift_bytes = sift_bytes_c, .project = project_c};
