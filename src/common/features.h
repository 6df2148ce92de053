/* SPDX-License-Identifier: Apache-2.0 */
/* The features of an image as functions read and fill them. */
#ifndef KBI_FEATURES_H
#define KBI_FEATURES_H

#include "common/common.h"

/* What a call needs of features; packed bits are rows too. */
enum { KBI_KEYPOINTS = 1, KBI_ROWS = 2, KBI_PACKED_BITS = 6 };

/* Copies the caller's features and checks what the call needs. `name` is the name of the parameter, for sentences;
 * n_max limits n. A row_stride of 0 becomes row_bytes. */
kb_status kbi_features_read(kb_features *f, const kb_features *given, const char *name, uint32_t needs, size_t n_max,
                            kb_error *error);
/* Whether the rows of two sets can be compared. */
kb_status kbi_features_comparable(const kb_features *a, const kb_features *b, kb_error *error);
/* Whether the keypoints of two sets were found in the same way, as far as both sets tell: by the same detector,
 * revision and size limit, and both with angles or both without. */
kb_status kbi_features_alike(const kb_features *a, const char *name_a, const kb_features *b, const char *name_b,
                             kb_error *error);

/* Whether the indices of n matches lie inside the sets a and b. */
kb_status kbi_matches_check(const kb_match *matches, size_t n, const kb_features *a, const kb_features *b,
                            kb_error *error);

/* The scale that a call works with: the option, or the preset of the detector of the features. */
kb_status kbi_features_scale(const kb_features *f, float *scale, kb_error *error);
/* The name of a detector's preset; NULL for another value. */
const char *kbi_preset_of(kb_detector detector);

/* Fills the caller's struct. */
void kbi_features_write(kb_features *destination, const kb_features *f);

#endif
