/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the detectors: the job as the public calls hand it on, the row functions that do the work, and the order of
 * keypoints. The row functions are pure: they use nothing but their arguments, so that kernels can take their place. */
#ifndef KBI_DETECT_H
#define KBI_DETECT_H

#include "common/common.h"

typedef struct kbi_measure kbi_measure; /* corners.h */
typedef struct kbi_detector kbi_detector; /* detectors.h */
struct kbi_detect_kernels;

/* The rule that KB_SELECTION_DEFAULT stands for. */
#define KBI_SELECTION_OF_DEFAULT KB_SELECTION_BEST

/* Options checked, every field set; max_keypoints is at most what the caller has room for. The image is 8-bit. */
typedef struct kbi_detect_job {
    kb_image image, grown; /* the mask with its margin */
    kb_detect_options options;
    const kbi_detector *detector;
    const struct kbi_detect_kernels *kernels;
    int32_t threads;
    kb_workspace *workspace;
} kbi_detect_job;

/* The caller's options, with defaults filled in (detect_options.c): a copy in their ranges, which is then settled with
 * the detector that it names; or both at once. */
kb_status kbi_detect_options_copy(kb_detect_options *o, const kb_detect_options *given, kb_error *error);
kb_status kbi_detect_options_settle(kb_detect_options *o, const kb_detect_options *given, kb_error *error);
kb_status kbi_detect_options_read(kb_detect_options *o, const kb_detect_options *given, kb_error *error);

/* The workspace of kb_detect for images up to this size (kbi_workspace_measure). *max_keypoints receives the
 * options'. */
kb_status kbi_detect_measure(const kb_image *image, const kb_detect_options *options, const kb_parallel *parallel,
                             kb_workspace *workspace, size_t *max_keypoints);

/* The angles that kb_detect, with these options, gives keypoints that it found without. *oriented becomes false where a
 * detector finds other keypoints then. */
kb_status kbi_detect_orient(const kb_image *gray, const kb_detect_options *options, kb_workspace *workspace,
                            kb_keypoint *keypoints, size_t n, bool *oriented);

/* ---- the mask (mask.c) ---- */
/* Whether a mask can be the image's. */
bool kbi_mask_fits(const kb_image *mask, const kb_image *image);
/* True when a keypoint at (x, y) is wanted. */
bool kbi_mask_allows(const kb_image *mask, float x, float y);
/* *grown receives the mask without the pixels that lie within `margin` px, in x and in y, of one that it hides. */
kb_status kbi_mask_grow(const kb_image *mask, int32_t margin, kb_workspace *workspace, kb_image *grown);

/* ---- order and selection (keypoint_order.c, select.c) ---- */
/* Total order: strongest first, then by y, x, size, angle. */
bool kbi_keypoint_before(const kb_keypoint *a, const kb_keypoint *b);

/* Whether there is a selection rule of this number. */
bool kbi_select_knows(kb_selection rule);
/* Keeps the n best keypoints by a rule, in place; *count receives their number. */
kb_status kbi_select(kb_keypoint *keypoints, size_t total, int32_t width, int32_t height, kb_selection rule, size_t n,
                     kb_workspace *workspace, size_t *count);
/* The workspace of kb_select, which picks up to n of up to `total` keypoints (kbi_workspace_measure). */
kb_status kbi_select_measure(size_t total, size_t n, int32_t width, int32_t height, kb_selection rule,
                             kb_workspace *workspace);

/* A key for sorting: the inverted response in the upper half, so that the strongest comes first; the index below. */
uint64_t kbi_keypoint_entry(const kb_keypoint *keypoints, size_t index);
/* Sorts n entries by the total order of the keypoints at their indices; equal ones keep their order. spare holds n
 * more. */
void kbi_sort_keypoints(uint64_t *entries, uint64_t *spare, size_t n, const kb_keypoint *keypoints);

/* ---- pyramid (resize.c) ---- */
/* Where each pixel of a row (or column) of the smaller image lies in the larger: between pixel index and index + 1,
 * at weight / 128 of the way. */
#define KBI_RESIZE_BITS 7
#define KBI_RESIZE_ONE (1 << KBI_RESIZE_BITS)
typedef struct kbi_resize_map {
    int32_t *index;
    uint8_t *weight;
    /* For vectors, or NULL. Two numbers per pixel: how far its two places are from the index of the first of its group,
     * and their weights, both below 128. A pixel that hits one of the larger image exactly would have the weight 128;
     * its two places are that pixel, with weights of 64. */
    uint8_t *pair, *mix;
    int32_t group; /* pixels per group: resize_group of the kernels (kernels.h) */
} kbi_resize_map;
/* Fills the map from pixel `from` to n - 1, `factor` px of the larger image apart, centre i at (i + 0.5) factor - 0.5;
 * kept inside 0..larger - 1. The pixels before `from` are planned. */
void kbi_resize_plan(kbi_resize_map map, int32_t from, int32_t n, double factor, int32_t larger);
/* One entry of the map: returns the index; *weight receives the weight. */
int32_t kbi_resize_place(int32_t i, double factor, int32_t larger, uint8_t *weight);
/* out[i] = (a[i] (128 - weight) + b[i] weight + 64) / 128 */
void kbi_blend_rows(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out);
/* out[i] = the same blend of in[index[i]] and in[index[i] + 1] by weight[i]; in has in_width pixels */
void kbi_resize_row(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out);

/* ---- FAST corners (fast.c) ---- */
#define KBI_FAST_RADIUS 3
#define KBI_FAST_CIRCLE 16
/* The circle around p, clockwise on the screen from below; s is the stride. */
/* clang-format off */
#define KBI_FAST_AROUND(p, s)                                                                                       \
    {(p) + 3 * (s), (p) + 3 * (s) - 1, (p) + 2 * (s) - 2, (p) + (s) - 3, (p) - 3, (p) - (s) - 3, (p) - 2 * (s) - 2, \
     (p) - 3 * (s) - 1, (p) - 3 * (s), (p) - 3 * (s) + 1, (p) - 2 * (s) + 2, (p) - (s) + 3, (p) + 3, (p) + (s) + 3, \
     (p) + 2 * (s) + 2, (p) + 3 * (s) + 1}
/* clang-format on */
/* score[i] of the pixel row[i], for width of them: how much brighter or darker than it the best arc of 9 of the 16
 * pixels around it is, or 0 when that is not above threshold. Reads KBI_FAST_RADIUS pixels around every one. */
void kbi_fast_row(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score);
/* Pixels from anywhere side by side: row k has the k-th pixel of the circle of each, the last row the pixels. */
#define KBI_FAST_BATCH 64
typedef uint8_t kbi_fast_circles[KBI_FAST_CIRCLE + 1][KBI_FAST_BATCH];
/* The scores of n <= KBI_FAST_BATCH of them with threshold 1. score has room for KBI_FAST_BATCH. */
void kbi_fast_scores(const kbi_fast_circles circles, int32_t n, uint8_t *score);
/* Where a score of the middle row is the largest of its 3x3 neighbourhood (of equal ones the first in reading order):
 * writes the positions to x, ascending, and returns how many. Looks at 1..width - 2, so at most width / 2 of them; x
 * has room for (width + 1) / 2. */
int32_t kbi_peaks_row(const uint8_t *above, const uint8_t *middle, const uint8_t *below, int32_t width, uint16_t *x);

/* These, kbi_blend_rows, kbi_resize_row and kbi_disc_angle for cores without vectors (fast_scalar.c); the blur of
 * hessian.c for them is in hessian_scalar.c. */
void kbi_fast_row_scalar(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score);
void kbi_fast_scores_scalar(const kbi_fast_circles circles, int32_t n, uint8_t *score);
int32_t kbi_peaks_row_scalar(const uint8_t *above, const uint8_t *middle, const uint8_t *below, int32_t width,
                             uint16_t *x);
void kbi_blend_rows_scalar(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out);
void kbi_resize_row_scalar(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out);
float kbi_disc_angle_scalar(const uint8_t *centre, ptrdiff_t stride);
void kbi_hessian_blur_scalar(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                             uint16_t *const out[2]);

/* ---- the determinant of the Hessian (hessian.c) ---- */
#define KBI_HESSIAN_BLUR 4 /* pixels on both sides */
/* Their weights, of 128; variance 2.81 px^2. */
#define KBI_HESSIAN_W0 30
#define KBI_HESSIAN_W1 25
#define KBI_HESSIAN_W2 15
#define KBI_HESSIAN_W3 7
#define KBI_HESSIAN_W4 2
/* Rows of numbers have room for so many more behind the last one: kernels may read and write them, and they mean
 * nothing. */
#define KBI_HESSIAN_MARGIN 64
/* Two rows, which share what they read: out[0][i] = 128 times the pixel row[i], blurred, and out[1][i] of the row below
 * it. Reads KBI_HESSIAN_BLUR pixels more on every side; columns is room for two times width + 2 KBI_HESSIAN_BLUR,
 * rounded up, numbers, and no part of out. */
void kbi_hessian_blur(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns, uint16_t *const out[2]);
/* The determinant xx yy - xy^2 at middle[i], from differences that wrap to 16 bits: xx is middle[i - 1] + middle[i + 1]
 * - 2 middle[i], yy the same across rows, and xy a quarter, rounded down, of above[i - 1] + below[i + 1] - above[i + 1]
 * - below[i - 1]. Reads one more on both sides. */
void kbi_hessian_row(const uint16_t *above, const uint16_t *middle, const uint16_t *below, int32_t width, int32_t *out);
/* The response of a determinant above 0, and the smallest determinant with at least this response. */
float kbi_hessian_response(int32_t determinant);
int32_t kbi_hessian_limit(float response);
/* As kbi_peaks_row for determinants of at least `limit`, which is above 0; x has room for one more. */
int32_t kbi_hessian_peaks(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t width,
                          int32_t limit, uint16_t *x);

/* ---- corner measures (corner.c) ---- */
#define KBI_HARRIS_BLOCK 7
#define KBI_HARRIS_REACH 4 /* pixels read around the centre, and one more to the right */
/* Harris's response times 25 (k = 0.04) of the 7x7 block around a pixel, with sums of integer gradients. */
int64_t kbi_harris(const uint8_t *centre, ptrdiff_t stride);
/* The same response in OpenCV's unit. */
float kbi_harris_response(int64_t harris);

/* The direction of (x, y) in degrees as a float below 360. */
float kbi_direction(double y, double x);
#define KBI_DISC_RADIUS 15
/* Half the width of the disc at each distance from its middle row: the circle's, rounded, and made the same after a
 * quarter turn. These are the rows of OpenCV's disc too. */
extern const uint8_t kbi_disc_half_width[KBI_DISC_RADIUS + 1];
/* Direction in degrees of the centre of mass of the disc of radius 15 around a pixel. Reads 15 px up, down and left,
 * 16 to the right. */
float kbi_disc_angle(const uint8_t *centre, ptrdiff_t stride);

/* What kb_orient takes for n keypoints, on a workspace that measures. */
kb_status kbi_orient_measure(const kb_image *image, size_t n, const kb_parallel *parallel, kb_workspace *workspace);

/* ---- direction by gradients (gradient.c) ---- */
#define KBI_GRADIENT_BLOCKS 10 /* a side, of 4x4 px each */
#define KBI_GRADIENT_SIDE 8    /* blocks with a gradient per side: the outer ring has none */
#define KBI_GRADIENT_STRIDE 12 /* of rows of blocks: the border is repeated on both sides */
#define KBI_GRADIENT_ROOM (KBI_GRADIENT_BLOCKS * KBI_GRADIENT_STRIDE + 4) /* of blocks; the last four are not used */
#define KBI_GRADIENT_REACH 20  /* px up and left of the centre; one less down and right */
#define KBI_GRADIENT_REGION (64.0f / 31.0f) /* width of 32 samples 2 px of the level apart, in keypoint sizes */
#define KBI_GRADIENT_SUMS 6
#define KBI_GRADIENT_DIRECTIONS 32
/* Sums of 4x4 px around a pixel: block (i, j) is blocks[i STRIDE + j + 1]. */
void kbi_gradient_blocks(const uint8_t *centre, ptrdiff_t stride, uint16_t *blocks);
/* The first three circular harmonics of the directions of the gradients: x and y of each. */
void kbi_gradient_sums(const uint16_t *blocks, float *sums);
/* Their smoothed histogram in 32 directions, from 0 degrees on, clockwise on screen. Returns which is the highest, of
 * equal ones the first. */
int32_t kbi_gradient_histogram(const float *sums, float *histogram);

/* The place of the peak at `highest`, degrees, 0 to below 360; 0 for a flat histogram. */
float kbi_gradient_angle(const float histogram[KBI_GRADIENT_DIRECTIONS], int32_t highest);

typedef struct kbi_gradient_direction {
    float angle, second; /* degrees, 0 to below 360; second is the next peak, or the angle if there is none */
    float confidence;    /* 0 to 1: how much higher the peak is than the second, as part of it; 0 where it is flat */
} kbi_gradient_direction;
void kbi_gradient_peaks(const float histogram[KBI_GRADIENT_DIRECTIONS], int32_t highest, kbi_gradient_direction *out);

/* Names of values, for kb_name; NULL when there is none. */
const char *kbi_detector_name(int32_t detector);
const char *kbi_selection_name(int32_t rule);
const char *kbi_orientation_name(int32_t orientation);

#endif
