/* Real multi-view patches: keypoints of several photographs that show the same point of a reconstruction. */
#ifndef KBI_COLMAP_PATCHES_H
#define KBI_COLMAP_PATCHES_H

#include "learn/associate.h"
#include "learn/colmap_model.h"
#include "learn/patch_set.h"

typedef struct kbi_colmap_options {
    const char *images;    /* the folder that the names in the model are relative to */
    const char *database;  /* take COLMAP's own keypoints out of it; NULL: detect */
    int32_t detectors;     /* bit 0: orb, bit 1: sift; when detecting */
    int32_t keypoints;     /* that a detector may find in an image */
    size_t max_points;     /* 0: all */
    double max_error;      /* px: 3D points with a larger mean reprojection error are left out */
    kbi_tolerance tolerance;
    uint64_t seed;
    const kb_parallel *parallel;
} kbi_colmap_options;
/* Detecting orb and sift, 8000 keypoints, all points, 2 px. */
void kbi_colmap_defaults(kbi_colmap_options *options);

typedef struct kbi_colmap_report {
    size_t points, patches;
    size_t skipped; /* images that could not be read or have another size than their camera */
} kbi_colmap_report;

/* Writes 32x32 patches; writer k cuts at support[k]. warn (may be NULL) is told about every image that is skipped, tick
 * (may be NULL) about the steps done, two an image. Fails when no point is seen twice. */
bool kbi_colmap_convert(const kbi_colmap_model *model, const kbi_colmap_options *options, int32_t supports,
                       const float *support, kbi_patch_writer *const *writers, void (*warn)(void *, const char *),
                       void (*tick)(void *, size_t), void *context, kbi_colmap_report *report, io_error *error);

#endif
