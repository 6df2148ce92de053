/* The parts of the ORB detector: its pyramid, the corners of every level, and what the tasks of a step share. */
#ifndef KBI_DETECT_ORB_H
#define KBI_DETECT_ORB_H

#include "detect/detect.h"
#include "common/cpu.h"
#include "detect/kernels.h"

#define KBI_ORB_EDGE 31 /* px of a level without keypoints: there is no room for a region */
#define KBI_ORB_SMALLEST_LEVEL 70

typedef struct kbi_orb_level {
    const uint8_t *data;
    int32_t width, height;
    ptrdiff_t stride;
    double factor;   /* px of the image a pixel */
    size_t share;    /* keypoints wanted */
    size_t corners;  /* found, and gone on with */
} kbi_orb_level;

typedef struct kbi_orb_corner {
    uint16_t x, y;
    uint8_t score, level;
} kbi_orb_corner;

/* The rows of one level that one task searches. */
typedef struct kbi_orb_band {
    int32_t level, top, bottom;
    kbi_orb_corner *corners; /* has room for all that can be there */
    size_t count;
    uint8_t *scratch;
} kbi_orb_band;

typedef struct kbi_orb {
    const kbi_detect_job *job;
    kbi_detect_kernels kernels;
    kbi_orb_level level[KB_PYRAMID_MAX_LEVELS];
    int32_t levels;
    int32_t threads;
    /* resize: the level being made */
    int32_t target;
    uint8_t *target_data;
    kbi_resize_map columns, rows;
    uint8_t *blended; /* a row of the level above for each task */
    /* corners */
    kbi_orb_band *bands;
    int32_t band_count;
    kbi_orb_corner *corners;
    kb_keypoint *keypoints; /* one each corner */
    size_t count;
} kbi_orb;

/* Pixel `place` of a level in the image. */
static inline float kbi_orb_to_image(double factor, int32_t place) { return (float)((place + 0.5) * factor - 0.5); }

/* Sizes of the levels; none is built. */
void kbi_orb_plan_levels(kbi_orb *o);
/* Builds them in the workspace, or takes those of job->options.pyramid. */
kb_status kbi_orb_build_levels(kbi_orb *o);
/* The corners that go on to be measured, level by level, and the levels' shares of `wanted` keypoints. */
kb_status kbi_orb_find_corners(kbi_orb *o, size_t wanted);

#endif
