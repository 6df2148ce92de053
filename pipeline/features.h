/* SPDX-License-Identifier: Apache-2.0 */
/* The features of one image: what the program, the benchmarks and the exporters hand to each other. */
#ifndef PIPELINE_FEATURES_H
#define PIPELINE_FEATURES_H

#include "io/features.h"
#include "io/image_io.h"
#include "keybits/index.h"

typedef struct features {
    int32_t width, height;  /* of the image, px; 0: not known */
    kb_detector detector;   /* of the keypoints, its revision, whether they are upright and the size limit of the image, as */
    int32_t revision, upright, max_size; /* kb_features has them; detector 0: not known */
    io_keypoints keypoints;
    io_rows rows;           /* descriptors, one per keypoint */
    uint8_t *flags;         /* KB_KP_*, one per keypoint, owned; NULL: not known, as for rows from a file */
    uint64_t model_id;      /* of the model that computed the rows; 0: not known */
    double focal;           /* by EXIF, as a multiple of the image's longer side; 0: not known */
    uint8_t *upright_rows;  /* of the same keypoints without their angles, as wide as rows, owned; NULL: not kept */
    uint8_t *patches;       /* a sheet of them (pipeline/patch_sheet.h), owned; NULL: not kept */
} features;

void features_free(features *f);
/* As the library wants them; borrowed. */
kb_features features_view(const features *f);
/* Keypoints of an image that was shrunk when it was read, in pixels of its file; sets the size. */
void features_to_file(features *f, const io_grid *file);
/* The standard deviation of every place (kb_keypoint_deviations) as an .npy, in pixels of the image's file. Keypoints
 * are in pixels of the image, as before features_to_file. parallel and workspace may be NULL. */
bool features_write_deviations(const features *f, const io_image *image, const kb_parallel *parallel,
                               kb_workspace *workspace, const char *path, io_error *error);

/* Rows that were computed before (.npy, .hex) and their keypoints (.csv). There must be as many of each. */
bool features_read(const char *rows, const char *keypoints, features *out, io_error *error);
/* Whether a file holds rows rather than an image, by its suffix. */
bool features_is_rows_file(const char *path);
/* The name of a detector, also of one that this library does not know. */
const char *features_detector_name(kb_detector detector);
/* How keypoints were found, such as "hessian 3, upright, up to 1000 px". */
#define FEATURES_ORIGIN 80
void features_origin(const features *f, char text[FEATURES_ORIGIN]);
/* False with a sentence when the rows cannot be compared: floats and bits, other widths, models or keypoints. */
bool features_comparable(const features *a, const features *b, const char *name_a, const char *name_b,
                         io_error *error);

/* How well the patches fit the image. Patches below KB_SMALL_PATCH px say little, and so do patches wider than half of
 * the shorter side of the image: both mean that the scale does not belong to the detector of the keypoints. Of octaves
 * both are asked of octave 2, the middle quarter of the region, as KB_KP_SMALL is: limits are four times as wide. */
typedef struct features_fit {
    size_t keypoints, border, small, large, outside, invalid;
    double median_width; /* px, of the patches that can be described; NaN when there is none */
    double least_width;  /* px: narrower ones are small */
    double most_width;   /* px: wider ones are large; infinite when the size of the image is not known */
} features_fit;
features_fit features_measure(const features *f, const kb_model *model, float scale);

#endif
