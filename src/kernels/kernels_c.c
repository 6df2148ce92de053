/* The plain C kernels: the arithmetic of src/image and src/describe, patch by patch. */
#include "describe/describe.h"
#include "kernels/kernels_c.h"

void kb_cut_c(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) kb_sampling_cut(&samplings[i], levels, patches + (size_t)i * KB_PATCH_BYTES);
}

void kb_boxes_c(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++)
        kb_boxes_describe(model, patches + (size_t)i * KB_PATCH_BYTES, rows + (size_t)i * (size_t)model->row_bytes);
}

void kb_sift_c(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++)
        kb_sift_histogram(patches + (size_t)i * KB_PATCH_BYTES, histograms + (size_t)i * KB_SIFT_VALUES);
}

void kb_project_c(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++)
        kb_hashsift_project(model, values + (size_t)i * KB_SIFT_VALUES, rows + (size_t)i * (size_t)model->row_bytes);
}
