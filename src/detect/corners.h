/* Detectors of corners on a pyramid: one way through the levels for every measure of what a corner is.
 *
 *   search    the peaks of the measure in every level (fast_corners.c, hessian.c), in one list (peaks.h)
 *   maxima    a corner is a peak on several levels: it stays once, where it is strongest (maxima.c)
 *   choose    which n of them (choose.c, select.c)
 *   finish    places between pixels and angles (finish.c), while the pixels of a level are in memory */
#ifndef KBI_DETECT_CORNERS_H
#define KBI_DETECT_CORNERS_H

#include "detect/levels.h"
#include "detect/peaks.h"

#define KBI_CORNER_SIZE 31.0 /* diameter of a keypoint, px of its level: ORB's patch */
#define KBI_EVERY_LEVEL_BORDER 31

/* ---- measures ---- */

/* Rows top..bottom - 1 and columns left..right - 1 of a level, to be searched for peaks. The pixels within the measure's
 * reach of them are in memory. */
typedef struct kbi_search {
    const kb_detect_options *options;
    const kbi_detect_kernels *kernels;
    const kbi_level *level;
    uint8_t number; /* of the level */
    float weight;   /* of its responses */
    int32_t left, right, top, bottom;
    void *scratch;
    kbi_peaks *peaks;
} kbi_search;

/* Takes a peak, unless the mask hides it. offset is its place beside the pixel, px. */
void kbi_search_add(const kbi_search *search, int32_t x, int32_t y, float response, const double offset[2]);

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
    size_t (*scratch_bytes)(int32_t width); /* of a search */
    /* Calls kbi_search_add for every peak; it may leave out what is weaker than search->peaks->least. */
    void (*search)(const kbi_search *search);
    /* Places of n <= KBI_REFINE_BATCH peaks beside their pixels, px; NULL where the search gives them. */
    void (*refine)(const kbi_detect_kernels *kernels, const kbi_place *places, size_t n, double (*offset)[2]);
};

extern const kbi_measure kbi_measure_fast, kbi_measure_hessian;

/* A peak stays within its pixel. */
static inline double kbi_half_pixel(double offset)
{
    const double most = 0.49;
    return offset < -most ? -most : offset > most ? most : offset;
}

/* ---- one detection ---- */

typedef struct kbi_corners {
    const kbi_detect_job *job;
    const kbi_measure *measure;
    const kbi_detect_kernels *kernels;
    kbi_levels levels;
    int32_t border;   /* px of a level without keypoints */
    kbi_peaks peaks;  /* of all levels; the peaks of a level stand together */
    kb_keypoint *keypoints; /* chosen; until they are finished, class_id is the index of the peak */
    size_t count, room; /* of keypoints */
} kbi_corners;

/* Finds at most options.max_keypoints keypoints, in total order, in the memory of the workspace. */
kb_status kbi_detect_corners(const kbi_detect_job *job, const kbi_measure *measure, kb_keypoint **found, size_t *count);

/* Plans the levels that are searched, and returns how many px of their borders have no keypoints. */
int32_t kbi_corners_levels(kbi_levels *levels, const kb_image *image, const kb_detect_options *options,
                           const kbi_measure *measure);
/* The keypoint of a peak, upright. */
kb_keypoint kbi_corner_keypoint(const kbi_corners *c, size_t index);

/* ---- maxima over scale (maxima.c) ---- */
/* Bytes that kbi_maxima_keep needs. */
size_t kbi_maxima_bytes(const kbi_levels *levels);
/* Keeps the peaks that are maxima over scale, and sets their places between levels. */
void kbi_maxima_keep(const kbi_levels *levels, kbi_peaks *peaks, void *memory);

/* ---- choice (choose.c) ---- */
/* How many peaks go on, of all levels or, with every_level, of one: so many that what is dropped would hardly be
 * chosen. */
size_t kbi_corners_keep(const kbi_corners *c, int32_t level);
/* Whether the strongest are chosen, not places or shares of levels. */
bool kbi_corners_takes_strongest(const kb_detect_options *options);
kb_status kbi_corners_choose(kbi_corners *c);

/* ---- finish (finish.c) ---- */
/* Finishes those of the keypoints from..to - 1 that lie on a level; -1: on any. */
void kbi_corners_finish(const kbi_corners *c, size_t from, size_t to, int32_t level);
/* Returns keypoints with a second direction twice, as long as there is room for max_keypoints, in their order. */
void kbi_corners_spread(kbi_corners *c);

#endif
