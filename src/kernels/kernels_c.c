/* The plain C kernels: the arithmetic of src/image and src/describe, patch by patch. */
#include "describe/describe.h"
#include "kernels/kernels.h"
#include "match/hamming_block.h"

static void shrink_half_c(const uint8_t *upper, const uint8_t *lower, int32_t n, uint8_t *out)
{
    for (int32_t x = 0; x < n; x++)
        out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
}

static void shrink_two_thirds_c(const uint8_t *heavy, const uint8_t *light, int32_t n, uint8_t *out)
{
    for (int32_t x = 0; x < n; x++, heavy += 3, light += 3, out += 2) {
        out[0] = (uint8_t)((4 * heavy[0] + 2 * heavy[1] + 2 * light[0] + light[1] + 4) / 9);
        out[1] = (uint8_t)((4 * heavy[2] + 2 * heavy[1] + 2 * light[2] + light[1] + 4) / 9);
    }
}

static void plan_c(const kb_keypoint *keypoints, int32_t n, double width_scale, const kb_levels *levels,
                   kb_sampling *samplings, uint8_t *flags)
{
    for (int32_t i = 0; i < n; i++)
        flags[i] = kb_sampling_plan(&samplings[i], &keypoints[i], width_scale * (double)keypoints[i].size, levels);
}

static void cut_c(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) kb_sampling_cut(&samplings[i], levels, patches + (size_t)i * KB_PATCH_BYTES);
}

static void cut_pairs_c(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) kb_sampling_cut_pairs(&samplings[i], levels, patches + (size_t)i * KB_PATCH_BYTES);
}

static void boxes_c(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++)
        kb_boxes_describe(model, patches + (size_t)i * KB_PATCH_BYTES, rows + (size_t)i * (size_t)model->row_bytes);
}

static void sift_c(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++)
        kb_sift_histogram(patches + (size_t)i * KB_PATCH_BYTES, histograms + (size_t)i * KB_SIFT_VALUES);
}

static void sift_bytes_c(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++)
        kb_sift_bytes(histograms + (size_t)i * KB_SIFT_VALUES, root, rows + (size_t)i * KB_SIFT_VALUES);
}

static void project_c(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++)
        kb_hashsift_project(model, values + (size_t)i * KB_SIFT_VALUES, rows + (size_t)i * (size_t)model->row_bytes);
}

void kb_kernels_c(kb_kernels *table)
{
    *table = (kb_kernels){
        .shrink_half = shrink_half_c, .shrink_two_thirds = shrink_two_thirds_c, .plan = plan_c, .cut = cut_c,
        .cut_pairs = cut_pairs_c, .boxes = boxes_c, .blend_rows = kb_blend_rows, .resize_row = kb_resize_row,
        .fast_row = kb_fast_row, .peaks_row = kb_peaks_row, .harris = kb_harris, .disc_angle = kb_disc_angle,
        .blur_pairs = kb_blur_pairs, .difference_row = kb_difference_row, .extrema_row = kb_extrema_row,
        .hamming = kb_hamming_block};
    if (KB_BAD_ONLY) return;
    table->sift = sift_c;
    table->sift_bytes = sift_bytes_c;
    table->project = project_c;
}
