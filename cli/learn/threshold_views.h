/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of images whose geometry is known, and how near the rows of a descriptor are for right and for wrong pairs of
 * keypoints: what `keybits train thresholds` counts. */
#ifndef THRESHOLD_VIEWS_H
#define THRESHOLD_VIEWS_H

#include "io/image_io.h"
#include "io/rows.h"
#include "learn/associate.h"

#define RATIO_STEPS 100

typedef struct threshold_counts {
    /* Hamming distances of keypoints of both images that show the same point, and of a keypoint and others in its
     * window. */
    uint64_t right[KB_MAX_BITS + 1], wrong[KB_MAX_BITS + 1];
    /* Nearest neighbours in the whole image by the first max_ratio, in hundredths, that keeps them; the last: none. */
    uint64_t ratio_right[RATIO_STEPS + 2], ratio_wrong[RATIO_STEPS + 2];
} threshold_counts;

/* A photograph and a rendered view of it. */
typedef struct view_pair {
    kb_image image[2];
    kb_features features[2]; /* keypoints, and where they come from */
    kbi_region *regions[2];  /* in the photograph */
    uint8_t *pixels, *mask; /* of the view */
    kb_workspace *workspace;
} view_pair;

/* The next frame of a camera that moves; another photograph, as `patches synth` renders them. */
typedef enum view_kind { VIEW_FRAME, VIEW_PHOTOGRAPH } view_kind;

/* Renders the view that the seed says and detects in both. Release with view_pair_free, also on failure. */
kb_status view_pair_make(view_pair *pair, const kb_image *photo, view_kind kind, const kb_detect_options *detection,
                         uint64_t seed);
void view_pair_free(view_pair *pair);

/* The rows of a descriptor for the keypoints of both. A window is `window` keypoint sizes wide to each side. */
void count_windows(const view_pair *pair, const uint8_t *const rows[2], size_t row_bytes, double window,
                   threshold_counts *counts);
kb_status count_ratios(const view_pair *pair, const uint8_t *const rows[2], size_t row_bytes, threshold_counts *counts);

#endif
