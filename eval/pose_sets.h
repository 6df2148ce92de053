/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of photographs whose cameras are known, as the sets of the field list them.
 *
 *   Strecha         DIR/images and DIR/gt_dense_cameras/NAME.camera: K, three zeros, the rotation from camera to world,
 *                   the centre, the size. Pairs of images up to 3 apart in the order of names.
 *   cameras.txt     DIR/cameras.txt: a line per image "name fx fy cx cy R(9) T(3)" with x = K (R X + T). All pairs.
 *   MegaDepth-1500  DIR/megadepth_1500.json, the list of XFeat's repository: an array of pairs with pair_names, K0, K1,
 *                   T_0to1, size0_hw and size1_hw. Images are resized to these sizes and lie in DIR or in
 *                   DIR/megadepth_test_1500. Cameras and threshold count the pixels of the files.
 *   ScanNet-1500    DIR/scannet_test_pairs_with_gt.txt or scannet_sample_pairs_with_gt.txt, the lists of SuperGlue's
 *                   repository: a line per pair "name1 name2 turn1 turn2 K1(9) K2(9) T(16)". Images are resized to
 *                   640x480, and the threshold counts pixels of that size.
 *   COLMAP          DIR/sparse/0 (or DIR itself) with COLMAP's sparse model, text or binary, and DIR/images. Pairs that
 *                   see 30 points and more in common, with a median angle of 4 degrees and more between their rays:
 *                   with less the direction of the translation is not known well enough to be the truth.
 * MegaDepth's and ScanNet's lists score a translation without its sign, as their programs do. */
#ifndef EVAL_POSE_SETS_H
#define EVAL_POSE_SETS_H

#include "io/file.h"
#include "keybits/keybits.h"

typedef struct ev_pose_protocol {
    const char *name;
    double threshold;    /* px, of the error of an inlier */
    bool resized_pixels; /* the threshold counts pixels of the resized image; else of the file */
    bool either_sign;    /* of the translation */
} ev_pose_protocol;

typedef struct ev_posed_image {
    char *path;
    int32_t width, height; /* to be resized to; 0: as it is */
} ev_posed_image;

typedef struct ev_posed_pair {
    size_t image[2];
    kb_camera camera[2];                /* of the pixels of the files */
    double rotation[9], translation[3]; /* x2 ~ rotation x1 + translation for rays */
} ev_posed_pair;

typedef struct ev_pose_set {
    const ev_pose_protocol *protocol;
    ev_posed_image *images;
    ev_posed_pair *pairs;
    size_t image_count, pair_count;
} ev_pose_set;

/* path: the folder, or the list in it. apart: pairs of images up to this far apart, for sets that list images and not
 * pairs; 0: as above. On failure `out` holds nothing. */
bool ev_pose_set_open(const char *path, size_t apart, ev_pose_set *out, io_error *error);
void ev_pose_set_free(ev_pose_set *set);

#endif
