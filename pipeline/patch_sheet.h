/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of keypoints, kept so that matched keypoints can be aligned to a fraction of a pixel when the image is no longer
 * at hand. A patch has 24 x 24 samples one step apart in the frame of its keypoint (place, size, angle), and the patches of
 * an image lie on a sheet, 64 in a row, which is an image itself: kb_match_refine aligns two sheets. */
#ifndef PIPELINE_PATCH_SHEET_H
#define PIPELINE_PATCH_SHEET_H

#include "pipeline/pipeline.h"

/* The bytes of a sheet of n patches; a multiple of 8. */
size_t patch_sheet_size(size_t n);
/* The patches of features whose keypoints are in pixels of this image; allocated. NULL with a sentence on failure. */
uint8_t *patch_sheet_make(const pipeline *p, const kb_image *image, const features *f, io_error *error);

/* A point of a patch, in steps from the keypoint. Steps are integers / PATCH_SHEET_STEP; PATCH_SHEET_NONE: not known. */
typedef struct patch_shift {
    int16_t x, y;
} patch_shift;
#define PATCH_SHEET_STEP 256
#define PATCH_SHEET_NONE ((patch_shift){INT16_MIN, INT16_MIN})

/* How far the keypoint of b should move, in b's frame, to show what a's keypoint shows; for n matches of two sheets with
 * so many patches. Aligned both ways, the mean; NONE where neither could be aligned. */
kb_status patch_sheet_align(const uint8_t *const sheets[2], const size_t counts[2], const kb_match *matches, size_t n,
                            kb_workspace *ws, patch_shift *shifts);
/* Moves a keypoint by so many steps in its frame; not further than an alignment can go. */
void patch_sheet_move(const pipeline *p, kb_keypoint *k, const float steps[2]);

#endif
