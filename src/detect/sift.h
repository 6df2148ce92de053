/* The parts of the SIFT detector: a Gaussian scale space in 16-bit integers, extrema of its differences, directions. */
#ifndef KB_DETECT_SIFT_H
#define KB_DETECT_SIFT_H

#include "detect/detect.h"

#define KB_SIFT_MAX_LAYERS 8
#define KB_SIFT_ONE 128  /* a gray level; 255 of them, twice, fit in 16 bits */
#define KB_SIFT_BORDER 5 /* px of an octave without keypoints */
#define KB_SIFT_MAX_ANGLES 8

/* ---- blur (blur.c) ---- */
#define KB_BLUR_MAX_TAPS 128

/* Half of a symmetric kernel: weight[0] is half the centre's, weight[k] that of both places k px away; in 1/65536.
 * All together they are 32768, so that a pair sum of up to 65535 never leaves 16 bits. */
typedef struct kb_blur {
    int32_t taps;
    uint16_t weight[KB_BLUR_MAX_TAPS];
} kb_blur;

void kb_blur_plan(kb_blur *blur, double sigma);
/* out[i] = taps / 2 + sum over k of ((a[k][i] + b[k][i]) weight[k] >> 16): all sums are of 16 bits; taps / 2 makes
 * up for what the shifts cut off. a[k] and b[k] are rows k above and below, or one row shifted by k left and right. */
void kb_blur_pairs(const uint16_t *const *a, const uint16_t *const *b, const kb_blur *blur, int32_t width,
                   uint16_t *out);
/* Blurs rows top..bottom - 1 of an image; the border is mirrored. row is scratch of width + 2 KB_BLUR_MAX_TAPS. */
struct kb_kernels;
void kb_blur_image(const struct kb_kernels *kernels, const uint16_t *in, uint16_t *out, int32_t width, int32_t height,
                   ptrdiff_t stride, const kb_blur *blur, int32_t top, int32_t bottom, uint16_t *row);

/* ---- differences of Gaussians (dog.c) ---- */
typedef struct kb_octave {
    int32_t width, height;
    ptrdiff_t stride; /* in elements */
    uint16_t *layer[KB_SIFT_MAX_LAYERS + 3];
    double pixel; /* px of the image a pixel */
    int32_t number; /* 0 is the image's own resolution, -1 twice that */
} kb_octave;

/* out[i] = larger[i] - smaller[i] */
void kb_difference_row(const uint16_t *smaller, const uint16_t *larger, int32_t width, int16_t *out);
/* Where a value of the middle row is beyond +-limit and not less, or not more, than the eight around it: writes the
 * positions to x, ascending, and returns how many. Looks at KB_SIFT_BORDER..width - KB_SIFT_BORDER - 1. */
int32_t kb_extrema_row(const int16_t *above, const int16_t *middle, const int16_t *below, int32_t width, int32_t limit,
                       int32_t *x);

/* An extremum in an octave, as refinement leaves it. */
typedef struct kb_extremum {
    int32_t x, y, layer;         /* the sample it belongs to */
    double dx, dy, dlayer;       /* and how far from it, each at most half */
    double contrast;             /* of 1 for black to white */
} kb_extremum;

typedef struct kb_extremum_limits {
    int32_t layers;
    double contrast; /* least */
    double edge;     /* largest ratio of curvatures */
} kb_extremum_limits;

/* True when a value is not beaten by any of the 3x3 around x in the rows of differences of the scales beside it. */
bool kb_extremum_in_scale(int16_t *const finer[3], int16_t *const coarser[3], int32_t x, int32_t value);
/* Moves from a sample to the extremum near it; false when there is none, or it is too weak or lies on an edge. */
bool kb_extremum_refine(const kb_octave *octave, int32_t layer, int32_t y, int32_t x, const kb_extremum_limits *limits,
                        kb_extremum *out);

/* ---- orientation (histogram.c) ---- */
/* The main directions around pixel (x, y) of an octave's layer, `sigma` px wide: degrees, ascending, clockwise on
 * screen. Returns how many, up to KB_SIFT_MAX_ANGLES; 0 where the layer is flat. */
int32_t kb_directions(const kb_octave *octave, int32_t layer, int32_t y, int32_t x, double sigma, float *degrees);

#endif
