/* SPDX-License-Identifier: Apache-2.0 */
/* Images as the other modules see them: 8-bit gray, the pyramid that regions are sampled from, the integral image. */
#ifndef KBI_IMAGE_H
#define KBI_IMAGE_H

#include "image/grid.h"

/* KB_OK for a valid view, KB_E_ARGUMENT for NULL, else KB_E_IMAGE. */
kb_status kbi_image_check(const kb_image *image);
/* An 8-bit view of any valid image: the image itself, or a converted copy in the workspace. */
kb_status kbi_gray8(const kb_image *image, kb_workspace *workspace, kb_image *out);

/* ---- pyramid ----
 * Level 0 is the image; level 1 is 1.5 times coarser, level 2 twice, level 3 three times, level 4 four times ...:
 * factor(2k) = 2^k, factor(2k - 1) = 1.5 * 2^(k-1). Steps this small keep a sampled region within 22 % of the
 * resolution it wants. Every level is made by exact area averaging, so nothing aliases (docs/sampling.md). */
#define KBI_PYRAMID_LEVELS 32
typedef struct kbi_pyramid {
    const uint8_t *data[KBI_PYRAMID_LEVELS]; /* made when wanted; level 0 is the image */
    int32_t width[KBI_PYRAMID_LEVELS], height[KBI_PYRAMID_LEVELS];
    ptrdiff_t stride[KBI_PYRAMID_LEVELS];
    int32_t margin[KBI_PYRAMID_LEVELS]; /* pixels on all sides of a level that repeat its border */
    int32_t count; /* levels that exist for this image: the last has a side of 1 or is KBI_PYRAMID_LEVELS - 1 */
    /* while building */
    uint8_t *made[KBI_PYRAMID_LEVELS]; /* the same as data, to be written */
    uint32_t wanted; /* levels to be made, as bits */
} kbi_pyramid;

/* The factor of a level: 1, 1.5, 2, 3, 4, 6 ... Built from the bits of an IEEE number: 2^k or 1.5 * 2^k. */
static inline double kbi_pyramid_factor(int32_t level)
{
    uint64_t bits = (uint64_t)(1023 + level / 2) << 52 | (uint64_t)(level & 1) << 51;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return factor;
}
/* The level for regions that want `step` image pixels per sample: the one whose factor is nearest in ratio. The
 * geometric means between neighbouring factors are sqrt(1 * 1.5) and sqrt(1.5 * 2), times a power of two, which is
 * the exponent of step. */
static inline int32_t kbi_pyramid_level_for(double step, int32_t count)
{
    const int64_t first = 0x3988e1409212e, second = 0xbb67ae8584caa; /* 1.2247 and 1.7321 less 1, in 1/2^52 */
    int64_t bits;
    memcpy(&bits, &step, sizeof bits);
    int64_t mantissa = bits & (((int64_t)1 << 52) - 1), exponent = (int64_t)((uint64_t)bits >> 52) - 1023;
    return kbi_clamp_i((int32_t)(2 * exponent + (mantissa >= first) + (mantissa >= second)), 0, count - 1);
}
/* The share of the step between a grid's samples that chooses its level. Cells are to be as sharp as means of 2x2
 * samples, so theirs is finer: interpolating in a level of their own width would blur them. They are at most 1.4 of its
 * pixels apart, so that a tile of 4x4 cells still lies in a window of 8x8. */
static inline double kbi_grid_share(kbi_grid grid) { return kbi_on_cells(grid) && !kbi_has_octaves(grid) ? 0.875 : 1; }
/* Sizes of all levels; builds none. */
void kbi_pyramid_plan(kbi_pyramid *levels, const kb_image *gray);

struct kbi_image_kernels;
/* Takes memory for all levels. The image and the smallest levels have no margin. */
kb_status kbi_pyramid_get(kbi_pyramid *levels, const kb_image *gray, int32_t margin, kb_workspace *workspace);
/* Makes the wanted levels, a bit each, and the levels that they are made of. */
void kbi_pyramid_make(kbi_pyramid *levels, const struct kbi_image_kernels *kernels, uint32_t wanted,
                      const kb_parallel *parallel);

/* Gets and makes levels on this thread. */
kb_status kbi_pyramid_build(kbi_pyramid *levels, const kb_image *gray, uint32_t wanted, kb_workspace *workspace);

/* ---- integral image ---- (width + 1) x (height + 1) sums modulo 2^32: a box's sum is exact whenever it is below
 * 2^32, for images of any size. */
typedef struct kbi_integral {
    const uint32_t *sums;
    int32_t width, height; /* of the image */
    ptrdiff_t stride;      /* in elements */
} kbi_integral;
kb_status kbi_integral_build(kbi_integral *integral, const kb_image *gray, kb_workspace *workspace);

/* ---- sampling ---- */
/* Where the samples of a region lie in a level, in 1/65536 of its pixels: sample (row i, column j), both from -side / 2
 * to side / 2 - 1, is at (x + j a - i b, y + j b + i a) with the whole pixels of (x, y) in (px, py). */
typedef struct kbi_sampling {
    int32_t level;
    int32_t px, py; /* whole pixels */
    int32_t x, y;   /* the fraction, and from the keypoint to the grid's sample (0, 0) */
    int32_t a, b;   /* step: cosine and sine part */
    int32_t inside; /* 1: no sample touches the border */
} kbi_sampling;

#define KBI_WIDEST_REGION 1048576.0 /* px; a wider region is refused */
#define KBI_SMALL_OCTAVE 2 /* that KB_KP_SMALL is about: about as wide as the regions of descriptors with one grid */
/* KB_KP_INVALID, KB_KP_OUTSIDE or 0 for a keypoint of an image of this size whose region is `region` px wide. */
uint8_t kbi_keypoint_check(const kb_keypoint *keypoint, double region, int32_t width, int32_t height);
/* Set-up for a grid over a region `width` px wide, one octave where there are several. Returns the keypoint's KB_KP_
 * flags; with OUTSIDE or INVALID only level is set, to -1. */
uint8_t kbi_sampling_plan(kbi_sampling *sampling, const kb_keypoint *keypoint, double width, kbi_grid grid,
                          const kbi_pyramid *levels);
/* The offset from the keypoint, which is the middle of 32x32 samples, to the middle of the 16x16 cells: half a sample
 * along both axes, that is a quarter of a cell. a and b are the steps from cell to cell. */
static inline int32_t kbi_cells_offset_x(int32_t a, int32_t b) { return (a - b) >> 2; }
static inline int32_t kbi_cells_offset_y(int32_t a, int32_t b) { return (a + b) >> 2; }
/* Samples one patch, side x side bytes, by bilinear interpolation. */
void kbi_sample_patch(const kbi_sampling *sampling, int32_t side, const kbi_pyramid *levels, uint8_t *patch);

/* The cells of a patch of 32x32: the rounded mean of 2x2. */
void kbi_patch_cells(const uint8_t *patch, uint8_t *cells);
/* Brings a side x side patch (32 <= side <= 1024) to 32x32 by exact area averaging. */
void kbi_patch_shrink(const uint8_t *in, int32_t side, uint8_t *patch);
/* The octaves of such a patch, which is octave 1 of a region. What octave 0 would show is not known, so it is the patch
 * too: the gradients of a repeated border would be none. */
void kbi_patch_octaves(const uint8_t *in, int32_t side, uint8_t *octaves);

#endif
