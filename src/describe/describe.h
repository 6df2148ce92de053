/* The arithmetic of the descriptors on one grid of samples, as specified in docs/bad.md, docs/bag.md and
 * docs/hashsift.md. */
#ifndef KBI_DESCRIBE_H
#define KBI_DESCRIBE_H

#include "image/image.h"
#include "model/model.h"

/* ---- channels.c: the gradient channels of BAG, of one octave ---- */
typedef struct kbi_channels {
    uint16_t cells[KB_CHANNELS - 1][KBI_OCTAVE_CELLS]; /* of channels 1 to 8: the sum of four samples, up to 1020 */
    int16_t contrast;                                  /* the mean gradient, in 1/128 gray level */
} kbi_channels;
void kbi_channels_of(const uint8_t *samples, kbi_channels *channels);
/* The mean gradient of an octave whose gradients sum up to `sum`, at least 2 gray levels: below that there is little but
 * noise. */
static inline int16_t kbi_contrast(uint32_t sum)
{
    const uint32_t least = 2 * KBI_OCTAVE_BYTES;
    return (int16_t)((sum > least ? sum : least) * 128 / KBI_OCTAVE_BYTES);
}
/* The threshold of a bit, in 1/16384 of the mean gradient, for differences of means of a patch: in 1/64 gray
 * level. As v_mul_q15 of simd/vec.h. */
static inline int32_t kbi_threshold_at(int32_t threshold, int32_t contrast)
{
    return (threshold * contrast + 16384) >> 15;
}

/* ---- boxes.c: BAD and BAG ---- */
static inline int32_t kbi_grid_bytes(int32_t side) { return side * side; }
/* The bits of a table on one grid of table->side^2 samples, bit_count / 8 bytes. */
void kbi_boxes_describe(const kbi_box_table *table, const uint8_t *grid, uint8_t *row);

/* ---- boxes_image.c: BAD in the image, OpenCV's TEBLID bit for bit ---- */
/* Returns KB_KP_ flags; writes row unless the keypoint is outside or invalid. */
uint8_t kbi_boxes_describe_image(const kb_model *model, const kbi_integral *integral, const kb_keypoint *keypoint,
                                float scale, uint8_t *row);

/* ---- describe.c ---- */
/* The workspace of describing n keypoints of an image of this size, whatever the output (kbi_workspace_measure). */
kb_status kbi_describe_measure(const kb_model *model, const kb_image *image, size_t n, const kb_parallel *parallel,
                               kb_workspace *workspace);

/* ---- sift.c ---- */
/* Weight of a sample along one axis for each of the four cells along it. */
extern const uint8_t kbi_sift_pool[4][KB_PATCH_SIDE];
void kbi_sift_histogram(const uint8_t *patch, uint32_t histogram[KB_SIFT_VALUES]);
/* 128 bytes, or 128 floats of unit length; root: RootSIFT. */
void kbi_sift_bytes(const uint32_t histogram[KB_SIFT_VALUES], bool root, uint8_t *row);
void kbi_sift_floats(const uint32_t histogram[KB_SIFT_VALUES], bool root, float *row);

/* ---- hashsift.c ---- */
void kbi_hashsift_project(const kb_model *model, const uint8_t *values, uint8_t *row);

#endif
