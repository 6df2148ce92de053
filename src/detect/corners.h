/* SPDX-License-Identifier: Apache-2.0 */
/* Detectors of corners on a pyramid: one way through the levels for every measure of what a corner is.
 *
 *   search    the peaks of the measure in every level (fast_corners.c, hessian.c), in one list (peaks.h)
 *   choose    which n of them (select.c), by one of two schemes: a corner is a peak on several levels and stays once,
 *             where it is strongest (maxima.c, places.c); or every level has a share (every_level.c)
 *   finish    places between pixels and angles (finish.c), while the pixels of a level are in memory */
#ifndef KBI_DETECT_CORNERS_H
#define KBI_DETECT_CORNERS_H

#include "detect/levels.h"
#include "detect/peaks.h"

#define KBI_CORNER_SIZE 31.0 /* diameter of a keypoint, px of its level: ORB's patch */

/* ---- measures ---- */

/* Rows top..bottom - 1 and columns left..right - 1 of a level, to be searched for peaks. The pixels within the
 * measure's reach of them are in memory. */
typedef struct kbi_search {
    const kb_detect_options *options;
    const kbi_detect_kernels *kernels;
    const kbi_level *level;
    uint8_t number; /* of the level */
    float weight;   /* of its responses */
    bool probe;     /* only responses count: places beside pixels are not needed */
    int32_t left, right, top, bottom;
    void *scratch;
    kbi_peaks *peaks;
} kbi_search;

/* Whether the mask does not hide a pixel of the level. */
bool kbi_search_allows(const kbi_search *search, int32_t x, int32_t y);

/* Takes a peak, unless the mask hides it. offset is its place beside the pixel, px. */
static inline void kbi_search_add(const kbi_search *s, int32_t x, int32_t y, float response, const double offset[2])
{
    kbi_peak peak = {.x = (uint16_t)x, .y = (uint16_t)y, .level = s->number, .response = response * s->weight};
    if (peak.response < s->peaks->min || (s->options->mask && !kbi_search_allows(s, x, y))) return;
    peak.dx = kbi_peak_steps(offset[0]);
    peak.dy = kbi_peak_steps(offset[1]);
    kbi_peaks_add(s->peaks, peak);
}

/* A pixel of a level. */
typedef struct kbi_place {
    const uint8_t *pixel;
    ptrdiff_t stride;
} kbi_place;

#define KBI_REFINE_BATCH 8

/* What a corner is. A measure knows nothing of levels, masks, borders, lists and threads. */
struct kbi_measure {
    int32_t reach; /* px around a pixel that decide whether it is a peak; no peak is nearer to the border */
    int32_t power; /* of the contrast that a response grows with */
    bool skips;    /* its search is faster when search->peaks->min is high */
    size_t (*scratch_bytes)(int32_t width); /* of a search */
    /* Calls kbi_search_add for every peak; peaks weaker than search->peaks->min may be left out. */
    void (*search)(const kbi_search *search);
    /* Places of n <= KBI_REFINE_BATCH peaks beside their pixels, px; NULL where the search gives them. */
    void (*refine)(const kbi_detect_kernels *kernels, const kbi_place *places, size_t n, double (*offset)[2]);
};

extern const kbi_measure kbi_measure_fast, kbi_measure_hessian;

/* A peak stays within its pixel. */
static inline double kbi_half_pixel(double offset)
{
    const double max = 0.49;
    return offset < -max ? -max : offset > max ? max : offset;
}

/* ---- one detection ---- */

typedef struct kbi_corners kbi_corners;

/* How levels share the keypoints. */
typedef struct kbi_scheme {
    int32_t border;      /* px of a level without keypoints; 0: the reach of the measure */
    bool weighs;         /* the responses of a level weigh the fourth root of its factor, per power of the contrast */
    bool per_level;      /* every level keeps its strongest peaks; else the strongest of all levels go on */
    kb_status (*choose)(kbi_corners *c);
} kbi_scheme;

/* A corner once, at its own scale (places.c); a corner on every level, as ORB has them (every_level.c). */
extern const kbi_scheme kbi_scheme_places, kbi_scheme_every_level;
static inline const kbi_scheme *kbi_scheme_of(const kb_detect_options *options)
{
    return options->every_level ? &kbi_scheme_every_level : &kbi_scheme_places;
}

struct kbi_corners {
    const kbi_detect_job *job;
    const kbi_measure *measure;
    const kbi_scheme *scheme;
    const kbi_detect_kernels *kernels;
    kbi_levels levels;
    float weight[KB_PYRAMID_MAX_LEVELS]; /* of the responses of a level */
    int32_t border;   /* px of a level without keypoints */
    kbi_peaks peaks;  /* of all levels; the peaks of a level stand together */
    kb_keypoint *keypoints; /* chosen; until they are finished, class_id is the index of the peak */
    size_t count, room; /* of keypoints */
};

/* Finds at most options.max_keypoints keypoints, in total order, in the memory of the workspace. */
kb_status kbi_detect_corners(const kbi_detect_job *job, kb_keypoint **found, size_t *count);
/* The angles of keypoints that it found without. */
kb_status kbi_corners_orient(const kbi_detect_job *job, kb_keypoint *keypoints, size_t n);

/* Plans the levels that are searched, and returns how many px of their borders have no keypoints. */
int32_t kbi_corners_levels(kbi_levels *levels, const kb_image *image, const kb_detect_options *options,
                           const kbi_measure *measure);
/* The keypoint of a peak, upright; its scale is `growth` times its level's. */
kb_keypoint kbi_corner_keypoint(const kbi_corners *c, size_t index, double growth);

/* ---- maxima over scale (maxima.c) ---- */
/* Finds the maxima over scale among peaks, which are grouped by level, and moves them to their places
 * between levels. An entry for each is at the head of `memory`: the order of its response, descending, and its number
 * in the list. They are in the order of levels, then of rows. Returns how many there are. */
size_t kbi_maxima_find(const kbi_levels *levels, kbi_peaks *peaks, void *memory);
size_t kbi_maxima_bytes(const kbi_levels *levels, size_t peaks);

/* ---- finish (finish.c) ---- */
/* Finishes the keypoints from..to - 1 that lie on a level; -1: on any. */
void kbi_corners_finish(const kbi_corners *c, size_t from, size_t to, int32_t level);
/* Returns keypoints with a second direction twice, as long as there is room for max_keypoints, in their order. */
void kbi_corners_spread(kbi_corners *c);

#endif
