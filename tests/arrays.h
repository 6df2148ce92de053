/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the library with plain arrays, as tests and benchmarks have them: each makes the kb_features of its arrays.
 * Keypoints are described as ORB's where no scale is given. Both C and C++. */
#ifndef TESTS_ARRAYS_H
#define TESTS_ARRAYS_H

#include <stdint.h>

#include "keybits/advanced.h"

static inline kb_features arrays_features(const kb_keypoint *keypoints, const void *rows, size_t n, size_t row_bytes)
{
    kb_features f;
    KB_INIT(f);
    f.keypoints = (kb_keypoint *)(uintptr_t)keypoints;
    f.rows = (void *)(uintptr_t)rows;
    f.rows_size = SIZE_MAX;
    f.row_bytes = row_bytes;
    f.n = f.capacity = n;
    f.detector = KB_DETECTOR_ORB;
    return f;
}

static inline kb_status detect_keypoints(const kb_image *image, const kb_detect_options *options,
                                         kb_workspace *workspace, kb_keypoint *keypoints, size_t capacity,
                                         size_t *count, kb_error *error)
{
    kb_features f = arrays_features(keypoints, NULL, 0, 0);
    f.capacity = capacity;
    kb_status status = kb_detect(image, options, workspace, &f, error);
    *count = status == KB_OK ? f.n : 0;
    return status;
}

static inline kb_status track_keypoints(const kb_image *a, const kb_image *b, const kb_keypoint *from, size_t n,
                                        const kb_track_options *options, kb_workspace *workspace, kb_keypoint *to,
                                        float *correlations)
{
    kb_features f = arrays_features(from, NULL, n, 0), g = arrays_features(to, NULL, n, 0);
    return kb_track_points(a, b, &f, options, workspace, &g, correlations, NULL);
}

static inline kb_status deviations_of(const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                      kb_detector detector, const kb_parallel *parallel, float *deviations)
{
    kb_features f = arrays_features(keypoints, NULL, n, 0);
    f.detector = detector;
    return kb_keypoint_deviations(image, &f, parallel, NULL, deviations, NULL);
}

static inline kb_status describe_keypoints(const kb_model *model, const kb_image *image, const kb_keypoint *keypoints,
                                           size_t n, const kb_describe_options *options, kb_workspace *workspace,
                                           uint8_t *rows, uint8_t *flags)
{
    kb_features f = arrays_features(keypoints, rows, n, 0);
    f.flags = flags;
    return kb_describe(model, image, options, workspace, &f, NULL);
}

static inline kb_status describe_keypoints_float(const kb_model *model, const kb_image *image,
                                                 const kb_keypoint *keypoints, size_t n,
                                                 const kb_describe_options *options, kb_workspace *workspace,
                                                 float *rows, uint8_t *flags)
{
    kb_features f = arrays_features(keypoints, rows, n, 0);
    f.flags = flags;
    f.floats = 1;
    return kb_describe(model, image, options, workspace, &f, NULL);
}

static inline kb_status describe_patches(const kb_model *model, const uint8_t *patches, size_t n, int32_t side,
                                         const kb_describe_options *options, kb_workspace *workspace, uint8_t *rows)
{
    kb_features f = arrays_features(NULL, rows, n, 0);
    return kb_describe_patches(model, patches, side, options, workspace, &f, NULL);
}

static inline kb_status describe_patches_float(const kb_model *model, const uint8_t *patches, size_t n, int32_t side,
                                               const kb_describe_options *options, kb_workspace *workspace, float *rows)
{
    kb_features f = arrays_features(NULL, rows, n, 0);
    f.floats = 1;
    return kb_describe_patches(model, patches, side, options, workspace, &f, NULL);
}

static inline kb_status sample_patches(const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                       const kb_describe_options *options, kb_workspace *workspace, uint8_t *patches,
                                       uint8_t *flags)
{
    kb_features f = arrays_features(keypoints, NULL, n, 0);
    f.flags = flags;
    return kb_sample(image, KB_SAMPLER_PATCH, options, workspace, &f, patches, NULL);
}

static inline kb_status sample_octaves(const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                       const kb_describe_options *options, kb_workspace *workspace, uint8_t *octaves,
                                       uint8_t *flags)
{
    kb_features f = arrays_features(keypoints, NULL, n, 0);
    f.flags = flags;
    return kb_sample(image, KB_SAMPLER_OCTAVES, options, workspace, &f, octaves, NULL);
}

static inline kb_status detect_and_describe(const kb_model *model, const kb_image *image,
                                            const kb_detect_options *detect, const kb_describe_options *describe,
                                            kb_workspace *workspace, kb_keypoint *keypoints, size_t capacity,
                                            uint8_t *rows, uint8_t *flags, size_t *count, kb_error *error)
{
    kb_features f = arrays_features(keypoints, rows, 0, 0);
    f.capacity = capacity;
    f.flags = flags;
    kb_status status = kb_detect_and_describe(model, image, detect, describe, workspace, &f, error);
    *count = status == KB_OK ? f.n : 0;
    return status;
}

static inline kb_status orient_keypoints(const kb_image *image, kb_keypoint *keypoints, size_t n,
                                         const kb_orient_options *options, kb_workspace *workspace, float *confidence)
{
    kb_features f = arrays_features(keypoints, NULL, n, 0);
    return kb_orient(image, options, workspace, &f, confidence, NULL);
}

static inline kb_status select_keypoints(kb_keypoint *keypoints, size_t total, int32_t width, int32_t height,
                                         kb_selection selection, size_t n, kb_workspace *workspace, size_t *count)
{
    kb_features f = arrays_features(keypoints, NULL, total, 0);
    f.width = width;
    f.height = height;
    kb_status status = kb_select(selection, n, workspace, &f, NULL);
    if (status == KB_OK) *count = f.n;
    return status;
}

static inline kb_status match_rows(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                   const kb_match_options *options, kb_workspace *workspace, kb_match *matches,
                                   size_t *count)
{
    kb_features fa = arrays_features(NULL, a, na, row_bytes), fb = arrays_features(NULL, b, nb, row_bytes);
    return kb_match_features(&fa, &fb, options, workspace, matches, count, NULL);
}

static inline kb_status match_floats(const float *a, size_t na, const float *b, size_t nb, size_t values,
                                     const kb_match_options *options, kb_workspace *workspace, kb_match *matches,
                                     size_t *count)
{
    kb_features fa = arrays_features(NULL, a, na, values * sizeof(float));
    kb_features fb = arrays_features(NULL, b, nb, values * sizeof(float));
    fa.floats = fb.floats = 1;
    return kb_match_features(&fa, &fb, options, workspace, matches, count, NULL);
}

static inline kb_status match_knn(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, int32_t k,
                                  const kb_match_options *options, kb_workspace *workspace, kb_neighbour *neighbours)
{
    kb_features fa = arrays_features(NULL, a, na, row_bytes), fb = arrays_features(NULL, b, nb, row_bytes);
    return kb_match_knn(&fa, &fb, k, options, workspace, neighbours, NULL);
}

static inline kb_status match_guided(const uint8_t *a, const kb_guide *guides, size_t na, const uint8_t *b,
                                     const kb_keypoint *keypoints, size_t nb, size_t row_bytes,
                                     const kb_guided_options *options, kb_workspace *workspace, kb_match *matches,
                                     size_t *count)
{
    kb_features fa = arrays_features(NULL, a, na, row_bytes), fb = arrays_features(keypoints, b, nb, row_bytes);
    return kb_match_guided(&fa, guides, &fb, options, workspace, matches, count, NULL);
}

static inline kb_status match_stereo(const uint8_t *a, const kb_keypoint *left, size_t na, const uint8_t *b,
                                     const kb_keypoint *right, size_t nb, size_t row_bytes,
                                     const kb_stereo_options *options, kb_workspace *workspace,
                                     kb_stereo_match *matches, size_t *count)
{
    kb_features fa = arrays_features(left, a, na, row_bytes), fb = arrays_features(right, b, nb, row_bytes);
    return kb_match_stereo(&fa, &fb, options, workspace, matches, count, NULL);
}

static inline kb_status filter_matches(const kb_keypoint *a, size_t na, const kb_keypoint *b, size_t nb,
                                       const kb_match *matches, size_t n, const kb_filter_options *options,
                                       kb_workspace *workspace, kb_match *out, size_t *count)
{
    kb_features fa = arrays_features(a, NULL, na, 0), fb = arrays_features(b, NULL, nb, 0);
    return kb_filter(&fa, &fb, matches, n, options, workspace, out, count, NULL);
}

static inline kb_status match_points(const kb_keypoint *a, size_t na, const kb_keypoint *b, size_t nb,
                                     const kb_match *matches, size_t n, kb_point_pair *pairs, float *quality)
{
    kb_features fa = arrays_features(a, NULL, na, 0), fb = arrays_features(b, NULL, nb, 0);
    return kb_match_points(&fa, &fb, matches, n, pairs, quality, NULL);
}

static inline kb_status match_refine(const kb_image *image_a, const kb_image *image_b, const kb_keypoint *a, size_t na,
                                     const kb_keypoint *b, size_t nb, const kb_match *matches, size_t n,
                                     const kb_refine_options *options, kb_workspace *workspace, kb_point_pair *pairs,
                                     float *correlations)
{
    kb_features fa = arrays_features(a, NULL, na, 0), fb = arrays_features(b, NULL, nb, 0);
    kb_image images[2];
    if (!image_a || !image_b) return KB_E_ARGUMENT;
    images[0] = *image_a;
    images[1] = *image_b;
    return kb_match_refine(images, &fa, &fb, matches, n, options, workspace, pairs, correlations, NULL);
}

#endif
