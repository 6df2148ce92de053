/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the SIFT detector: a Gaussian scale space in 16-bit integers, extrema of its differences, directions. */
#ifndef KBI_DETECT_SIFT_H
#define KBI_DETECT_SIFT_H

#include "detect/detect.h"

#define KBI_SIFT_MAX_LAYERS 8
#define KBI_SIFT_ONE 128  /* a gray level; 255 of them, twice, fit in 16 bits */
#define KBI_SIFT_BORDER 5 /* px of an octave without keypoints */
#define KBI_SIFT_MAX_ANGLES 8

/* ---- blur (blur.c) ---- */
#define KBI_BLUR_MAX_TAPS 128

/* Half of a symmetric kernel: weight[0] is half the centre's, weight[k] the weight of both places k step px away; in
 * 1/65536. All together they are 32768, so that a pair sum of up to 65535 never leaves 16 bits. */
typedef struct kbi_blur {
    int32_t taps, step;
    int32_t reach; /* (taps - 1) step, below KBI_BLUR_MAX_TAPS */
    uint16_t weight[KBI_BLUR_MAX_TAPS];
} kbi_blur;

/* A blur by sigma of an image that is blurred by `before` already. */
void kbi_blur_plan(kbi_blur *blur, double sigma, double before);
/* out[i] = taps / 2 + sum over k of ((a[k][i] + b[k][i]) weight[k] >> 16): all sums are of 16 bits; taps / 2 makes
 * up for what the shifts cut off. a[k] and b[k] are rows k steps above and below, or one row shifted by so much left
 * and right; a[0] is b[0]. */
void kbi_blur_pairs(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur, int32_t width,
                   uint16_t *out);
/* The place that a place outside 0..n - 1 mirrors, with the border pixel itself as the mirror. */
static inline int32_t kbi_mirrored(int32_t i, int32_t n)
{
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

struct kbi_detect_kernels;
/* Blurs a row along itself; the border is mirrored, in the KBI_BLUR_MAX_TAPS places on both sides of the row. */
void kbi_blur_across(const struct kbi_detect_kernels *kernels, const kbi_blur *blur, int32_t width, uint16_t *row,
                     uint16_t *out);
/* An image, all of it: by columns, then along the rows. row is scratch of width + 2 KBI_BLUR_MAX_TAPS. */
void kbi_blur_image(const struct kbi_detect_kernels *kernels, const uint16_t *in, uint16_t *out, int32_t width,
                    int32_t height, ptrdiff_t stride, const kbi_blur *blur, uint16_t *row);

/* ---- differences of Gaussians (dog.c) ---- */
/* The layers of an octave, or that part of them which is in memory. */
typedef struct kbi_octave {
    int32_t width, height;
    ptrdiff_t stride; /* in elements */
    uint16_t *layer[KBI_SIFT_MAX_LAYERS + 3];
    int32_t ring[KBI_SIFT_MAX_LAYERS + 3]; /* row y takes the place of row y - ring; 0: there are all rows */
    int32_t left, top;                     /* the first pixel in memory */
    double pixel; /* px of the image per pixel */
    int32_t number; /* 0 is the image's own resolution, -1 twice that */
} kbi_octave;

/* Row y of a layer: its pixel x is [x]. */
static inline uint16_t *kbi_octave_row(const kbi_octave *o, int32_t layer, int32_t y)
{
    int32_t place = o->ring[layer] ? y % o->ring[layer] : y - o->top;
    return o->layer[layer] + place * o->stride - o->left;
}

/* n rows from y on, from pixel x on. */
static inline void kbi_octave_rows(const kbi_octave *o, int32_t layer, int32_t y, int32_t x, int32_t n,
                                   const uint16_t **rows)
{
    int32_t ring = o->ring[layer], place = ring ? y % ring : y - o->top;
    for (int32_t i = 0; i < n; i++) {
        rows[i] = o->layer[layer] + place * o->stride - o->left + x;
        if (++place == ring) place = 0;
    }
}

/* out[i] = larger[i] - smaller[i] */
void kbi_difference_row(const uint16_t *smaller, const uint16_t *larger, int32_t width, int16_t *out);
/* Where a value of the middle row is beyond +-limit and not less, or not more, than the eight around it and the ones at
 * the same place of the scales beside it: writes the positions to x, ascending, and returns how many. Looks at
 * KBI_SIFT_BORDER..width - KBI_SIFT_BORDER - 1. */
int32_t kbi_extrema_row(const int16_t *above, const int16_t *middle, const int16_t *below, const int16_t *finer,
                       const int16_t *coarser, int32_t width, int32_t limit, int32_t *x);

/* An extremum in an octave, as refinement leaves it. */
typedef struct kbi_extremum {
    int32_t x, y, layer;         /* the sample it belongs to */
    double dx, dy, dlayer;       /* and how far from it, each at most half */
    double contrast;             /* of 1 for black to white */
} kbi_extremum;

typedef struct kbi_extremum_limits {
    int32_t layers;
    double contrast; /* min */
    double edge;     /* largest ratio of curvatures */
} kbi_extremum_limits;

/* True when a value is not beaten by any of the 3x3 around x in the rows of differences of the scales beside it. */
bool kbi_extremum_in_scale(int16_t *const finer[3], int16_t *const coarser[3], int32_t x, int32_t value);
typedef enum kbi_refinement { KBI_REFINED, KBI_MOVED, KBI_GIVEN_UP } kbi_refinement;
/* A step from the sample e->x, y, layer to the extremum near it: KBI_REFINED when that belongs to the sample, KBI_MOVED
 * when it belongs to another one, which is then e's, KBI_GIVEN_UP when there is none, or it is too weak or lies on an
 * edge. The octave holds the rows beside the sample. */
kbi_refinement kbi_extremum_refine(const kbi_octave *octave, const kbi_extremum_limits *limits, kbi_extremum *e);

/* ---- orientation (histogram.c) ---- */
#define KBI_DIRECTION_BINS 36
#define KBI_DIRECTION_TURNS 4 /* histograms that take turns, so that neighbours, which share bins, do not wait */
#define KBI_DIRECTION_MOST 83 /* pixels of a row of a region */
/* The pixels of a region whose gradients are added up: n of each of `count` rows, `step`, 1 or 2, apart in both
 * directions. Row i is rows[i step + 1], with the rows above and below it before and behind it in the list; a pixel on
 * both sides of each row may be read too. */
typedef struct kbi_direction_region {
    const uint16_t *const *rows;
    int32_t step, count, n;
    const float *across, *along; /* weights of columns and of rows */
} kbi_direction_region;
/* Adds the gradients' lengths x along x across to the bins of their directions: pixel i of a row to
 * histogram[i % KBI_DIRECTION_TURNS], in order. */
void kbi_direction_rows(const kbi_direction_region *region, float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS]);
/* How far from the pixel its directions read. */
int32_t kbi_directions_reach(double sigma);
/* The main directions around pixel (x, y) of an octave's layer, `sigma` px wide: degrees, ascending, clockwise on
 * screen. Returns how many, up to KBI_SIFT_MAX_ANGLES; 0 where the layer is flat. */
int32_t kbi_directions(const struct kbi_detect_kernels *kernels, const kbi_octave *octave, int32_t layer, int32_t y,
                       int32_t x, double sigma, float *degrees);

#endif
