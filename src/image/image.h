/* Images as the rooms behind see them: 8-bit gray, the pyramid of the patch sampler, the integral image. */
#ifndef KB_IMAGE_H
#define KB_IMAGE_H

#include "common/common.h"

/* An 8-bit view of any valid image: the image itself, or a converted copy in KB_SLOT_GRAY. */
kb_status kb_gray8(const kb_image *image, kb_workspace *workspace, kb_image *out);

/* ---- pyramid ----
 * Level 0 is the image; level 1 is 1.5 times coarser, level 2 twice, level 3 three times, level 4 four times ...:
 * factor(2k) = 2^k, factor(2k - 1) = 1.5 * 2^(k-1). Steps this small keep a sampled region within 22 % of the
 * resolution it wants. Every level is made by exact area averaging, so nothing aliases (docs/sampling.md). */
#define KB_LEVELS 32
typedef struct kb_levels {
    const uint8_t *data[KB_LEVELS]; /* NULL: not built, since nobody needs it */
    int32_t width[KB_LEVELS], height[KB_LEVELS];
    ptrdiff_t stride[KB_LEVELS];
    int32_t count; /* levels that exist for this image: the last has a side of 1 or is KB_LEVELS - 1 */
    /* while building */
    uint8_t *made[KB_LEVELS]; /* the same as data, to be written */
    uint32_t wanted;
    int32_t bands;
} kb_levels;

/* The factor of a level: 1, 1.5, 2, 3, 4, 6 ... Put together as an IEEE number: 2^k or 1.5 * 2^k. */
static inline double kb_level_factor(int32_t level)
{
    uint64_t bits = (uint64_t)(1023 + level / 2) << 52 | (uint64_t)(level & 1) << 51;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return factor;
}
/* The level for regions that want `step` image pixels a sample: the one whose factor is nearest in ratio. The
 * geometric means between neighbouring factors are sqrt(1 * 1.5) and sqrt(1.5 * 2), times a power of two, which is
 * the exponent of step. */
static inline int32_t kb_level_for(double step, int32_t count)
{
    const uint64_t fraction = ((uint64_t)1 << 52) - 1, one = (uint64_t)1023 << 52;
    uint64_t bits, mantissa_bits;
    double mantissa;
    memcpy(&bits, &step, sizeof bits);
    mantissa_bits = (bits & fraction) | one; /* 1 to 2 */
    memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
    int32_t above = (mantissa >= 1.2247448713915890) + (mantissa >= 1.7320508075688772);
    int32_t level = 2 * ((int32_t)(bits >> 52) - 1023) + above;
    return step < 1 ? 0 : kb_min_i(level, count - 1);
}
/* Sizes of all levels; builds none. */
void kb_levels_plan(kb_levels *levels, const kb_image *gray);
/* Builds the levels whose bit is set in `wanted`, and those they are made of; gray is 8-bit. In steps, so that others
 * can work at the same time: start, then bands 0 to levels->bands - 1 in any order and on any thread, then finish. */
kb_status kb_levels_start(kb_levels *levels, const kb_image *gray, uint32_t wanted, kb_workspace *workspace);
struct kb_kernels;
void kb_levels_band(const kb_levels *levels, const struct kb_kernels *kernels, int32_t band);
void kb_levels_finish(const kb_levels *levels, const struct kb_kernels *kernels);
/* All of it, on this thread. */
kb_status kb_levels_build(kb_levels *levels, const kb_image *gray, uint32_t wanted, kb_workspace *workspace);

/* ---- integral image ---- (width + 1) x (height + 1) sums modulo 2^32: a box's sum is exact whenever it is below
 * 2^32, whatever the image's size. */
typedef struct kb_integral {
    const uint32_t *sums;
    int32_t width, height; /* of the image */
    ptrdiff_t stride;      /* in elements */
} kb_integral;
kb_status kb_integral_build(kb_integral *integral, const kb_image *gray, kb_workspace *workspace);

/* ---- patch sampler ---- */
/* Where the 32x32 samples of one keypoint lie in a level, in 1/65536 of its pixels: sample (row i, column j), both from
 * -16 to 15, is at (x + j a - i b, y + j b + i a) with the integer part of (x, y) in (px, py). */
typedef struct kb_sampling {
    int32_t level;
    int32_t px, py; /* whole pixels */
    int32_t x, y;   /* the rest, 0..65535 */
    int32_t a, b;   /* step: cosine and sine part */
    int32_t inside; /* 1: no sample touches the border */
} kb_sampling;

#define KB_WIDEST_REGION 1048576.0 /* px; a wider region is refused */
/* Set-up for a region `width` px wide. Returns the keypoint's KB_KP_ flags; with OUTSIDE or INVALID only level is
 * set, to -1. */
uint8_t kb_sampling_plan(kb_sampling *sampling, const kb_keypoint *keypoint, double width, const kb_levels *levels);
/* Cuts out one patch, 1024 bytes, by bilinear interpolation. */
void kb_sampling_cut(const kb_sampling *sampling, const kb_levels *levels, uint8_t *patch);
/* The same with means of two pixels, on positions rounded to 1/32 px. */
void kb_sampling_cut_pairs(const kb_sampling *sampling, const kb_levels *levels, uint8_t *patch);
/* There, sample (i, j) of a tile of 4x4 is at an offset from the tile's corner that is made of steps in 1/1024 px and
 * comes out in 1/32 px, to the nearest: all of it in 16 bits. */
typedef struct kb_tile_step {
    int32_t a, b;
} kb_tile_step;
static inline kb_tile_step kb_tile_step_of(const kb_sampling *s)
{
    return (kb_tile_step){(s->a + 32) >> 6, (s->b + 32) >> 6};
}
static inline int32_t kb_tile_offset(int32_t i, int32_t j, int32_t down, int32_t right)
{
    return (i * down + j * right + 16) >> 5;
}

/* Brings a side x side patch (32 <= side <= 1024) to 32x32 by exact area averaging. */
void kb_patch_shrink(const uint8_t *in, int32_t side, uint8_t *patch);

#endif
