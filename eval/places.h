/* SPDX-License-Identifier: Apache-2.0 */
/* How many different places there are. Detectors that search each level on its own find one corner several times, and a
 * count of matches or keypoints then counts a place several times. Two points are one place when they are closer than
 * 2 px; two matches are one place when their points are, in both images. */
#ifndef EVAL_PLACES_H
#define EVAL_PLACES_H

#include "keybits/keybits.h"

#define EV_PLACE_PX 2.0

/* The places among the n pairs, of which right[i] (NULL: all) takes part. Pairs are gone through by distance (NULL: in
 * the given order), and each is counted unless it is one place with a counted one. Linear in n but for the sorting, as
 * long as few pairs share a point of image 1. */
size_t ev_places(const kb_point_pair *pairs, const float *distances, const uint8_t *right, size_t n);

/* The same for keypoints of one image, strongest first. */
size_t ev_spots(const kb_keypoint *keypoints, size_t n);

#endif
