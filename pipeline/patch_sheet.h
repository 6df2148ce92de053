/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of keypoints, kept so that matched keypoints can be aligned to a fraction of a pixel when the image is no longer
 * at hand. A patch has 24 x 24 samples around its keypoint, one step apart, which is in proportion to the keypoint's size.
 * All are upright: how far two images are turned against each other is known better than the angle of a keypoint. The
 * patches of an image lie on a sheet, 64 in a row, which is an image itself: kb_match_refine aligns two sheets. */
#ifndef PIPELINE_PATCH_SHEET_H
#define PIPELINE_PATCH_SHEET_H

#include "pipeline/pipeline.h"

/* The bytes of a sheet of n patches; a multiple of 8. */
size_t patch_sheet_size(size_t n);
/* The patches of features whose keypoints are in pixels of this image; allocated. NULL with a sentence on failure. */
uint8_t *patch_sheet_make(const pipeline *p, const kb_image *image, const features *f, io_error *error);

/* A point of a patch, in steps from the keypoint, right and down. Steps are integers / PATCH_SHEET_STEP; PATCH_SHEET_NONE: not known. */
typedef struct patch_shift {
    int16_t x, y;
} patch_shift;
#define PATCH_SHEET_STEP 256
#define PATCH_SHEET_NONE ((patch_shift){INT16_MIN, INT16_MIN})
static inline bool patch_shift_known(patch_shift s) { return s.x != INT16_MIN; }

/* The patches of one image. */
typedef struct patch_side {
    const uint8_t *patches;
    size_t count;
} patch_side;

/* How far the keypoint of b should move to show what a's keypoint shows, for n matches of images of which b is turned
 * against a by so many degrees clockwise, 0 to 360. Aligned both ways, the mean; NONE where neither could be aligned. */
kb_status patch_sheet_align(const patch_side sides[2], const kb_match *matches, size_t n, double degrees, kb_workspace *ws,
                            patch_shift *shifts);
/* Moves a keypoint by so many steps; not further than an alignment can go. */
void patch_sheet_move(const pipeline *p, kb_keypoint *k, const float steps[2]);

#endif
