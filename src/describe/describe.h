/* The arithmetic of the descriptors on one 32x32 patch, as specified in docs/bad.md, docs/bag.md and
 * docs/hashsift.md. */
#ifndef KBI_DESCRIBE_H
#define KBI_DESCRIBE_H

#include "image/image.h"
#include "model/model.h"

/* ---- planes.c: the gradient planes of BAG ---- */
#define KBI_PLANE_MEAN 24              /* the mean gradient of a patch after scaling */
#define KBI_ROOT_TWO_MINUS_1 27146u    /* (sqrt(2) - 1) * 65536 */
/* What all planes of a patch share: gradients already brought to the patch's own contrast. */
typedef struct kbi_gradients {
    int16_t x[KBI_PATCH_BYTES], y[KBI_PATCH_BYTES];
} kbi_gradients;
void kbi_gradients_of(const uint8_t *patch, kbi_gradients *gradients);
/* The gain in 1/65536 that brings a patch, whose octagonal gradient norms add up to sum, to KBI_PLANE_MEAN. */
uint32_t kbi_plane_gain(uint32_t sum);
/* Plane of channel 1 to 8, 1024 bytes. */
void kbi_plane_of(const kbi_gradients *gradients, int32_t channel, uint8_t *plane);

/* ---- boxes.c: BAD and BAG ---- */
/* The mean of a box in 1/128 gray level, out of its sum: (sum << shift) * factor >> 16 by the rule of its radius. */
typedef struct kbi_mean_rule {
    uint8_t shift;
    uint16_t factor;
} kbi_mean_rule;
extern const kbi_mean_rule kbi_mean_rules[KB_MAX_RADIUS + 1];
uint32_t kbi_box_mean(uint32_t sum, int32_t radius);
/* The bits of one patch, model->row_bytes bytes. */
void kbi_boxes_describe(const kb_model *model, const uint8_t *patch, uint8_t *row);

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
