/* The plain C kernels: the arithmetic of src/image and src/describe, patch by patch. */
#include "describe/describe.h"
#include "simd/kernels.h"
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

static void plan_c(const kb_keypoint *keypoints, int32_t n, double width_scale, const kbi_pyramid *levels,
                   kbi_sampling *samplings, uint8_t *flags)
{
    for (int32_t i = 0; i < n; i++)
        flags[i] = kbi_sampling_plan(&samplings[i], &keypoints[i], width_scale * (double)keypoints[i].size, levels);
}

static void sample_c(const kbi_sampling *samplings, int32_t n, const kbi_pyramid *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) kbi_sample_patch(&samplings[i], levels, patches + (size_t)i * KBI_PATCH_BYTES);
}

static void sample_two_tap_c(const kbi_sampling *samplings, int32_t n, const kbi_pyramid *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) kbi_sample_patch_two_tap(&samplings[i], levels, patches + (size_t)i * KBI_PATCH_BYTES);
}

static void boxes_c(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++)
        kbi_boxes_describe(model, patches + (size_t)i * KBI_PATCH_BYTES, rows + (size_t)i * (size_t)model->row_bytes);
}

static void sift_c(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < n; i++)
        kbi_sift_histogram(patches + (size_t)i * KBI_PATCH_BYTES, histograms + (size_t)i * KB_SIFT_VALUES);
}

static void sift_bytes_c(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++)
        kbi_sift_bytes(histograms + (size_t)i * KB_SIFT_VALUES, root, rows + (size_t)i * KB_SIFT_VALUES);
}

static void project_c(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows)
{
    for (int32_t i = 0; i < n; i++)
        kbi_hashsift_project(model, values + (size_t)i * KB_SIFT_VALUES, rows + (size_t)i * (size_t)model->row_bytes);
}

void kbi_kernels_c(kbi_kernels *table)
{
    *table = (kbi_kernels){
        .shrink_half = shrink_half_c, .shrink_two_thirds = shrink_two_thirds_c, .plan = plan_c, .sample = sample_c,
        .sample_two_tap = sample_two_tap_c, .boxes = boxes_c, .blend_rows = kbi_blend_rows, .resize_row = kbi_resize_row,
        .fast_row = kbi_fast_row, .peaks_row = kbi_peaks_row, .harris = kbi_harris, .disc_angle = kbi_disc_angle,
        .blur_pairs = kbi_blur_pairs, .difference_row = kbi_difference_row, .extrema_row = kbi_extrema_row,
        .hamming = kbi_hamming_block};
    if (KB_BAD_ONLY) return;
    table->sift = sift_c;
    table->sift_bytes = sift_bytes_c;
    table->project = project_c;
}
