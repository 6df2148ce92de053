/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two images show one scene, by features that were kept. Shared with the index. */
#ifndef KBI_PAIR_VERIFY_H
#define KBI_PAIR_VERIFY_H

#include "common/common.h"
#include "keybits/index.h"

/* What verification says of a match. */
enum { KBI_MATCH_DROPPED, KBI_MATCH_KEPT, KBI_MATCH_INLIER };

/* kb_pair_verify without compacting. With `plane` above 0 a homography must have at least that many places, whatever
 * the geometry: an epipolar geometry constrains a point to a line only, and parts of one building look alike. matches
 * gets all *n mutual nearest neighbours, and marks a KBI_MATCH_ value for each. Features and options have been read;
 * matches and marks have room for a->n. */
kb_status kbi_pair_verify(const kb_features *a, const kb_features *b, const kb_verify_options *options, int32_t plane,
                          kb_workspace *ws, kb_match *matches, uint8_t *marks, size_t *n, kb_verification *out);

/* The workspace of kbi_pair_verify for two images of n rows; `upright`: of kb_pair_verify with upright rows. */
kb_status kbi_pair_verify_measure(size_t n, size_t row_bytes, bool upright, kb_workspace *ws);

/* distinct.c: whether the inliers of a geometry can be told from other places of their images. *distinct receives
 * how many of those looked at can. */
bool kbi_pair_distinct(const kb_features *a, const kb_features *b, const kb_match *matches, const uint8_t *inliers,
                       size_t n, int32_t *distinct);

#endif
