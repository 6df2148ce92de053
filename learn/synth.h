/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of known correspondence out of single photographs: views rendered by random homographies and changes of
 * light, keypoints detected anew in every view, associated by the known geometry. So the detector's own noise in
 * position, scale and angle is in the data, as it will be in use. */
#ifndef KBI_SYNTH_H
#define KBI_SYNTH_H

#include "learn/associate.h"
#include "learn/photometric.h"
#include "learn/warp.h"

/* How much light, lens and codec change: largest values; each change happens to a part of the views. */
typedef struct kbi_light_range {
    double blur;    /* sigma, px */
    double gain;    /* deviation of the logarithm */
    double gamma;   /* the same */
    double offset;  /* deviation, gray levels */
    double shading; /* relative change from the middle to the border */
    double shadow;  /* how much of the light a shadow takes, up to 1 */
    double noise;   /* deviation, gray levels */
    int32_t jpeg;   /* the lowest quality, 1 to 100; 0: no JPEG */
    /* JPEG: compresses gray pixels at a quality and brings them back, in place; false when it failed. NULL: no JPEG.
     * May be called from several threads. */
    bool (*codec)(uint8_t *pixels, int32_t width, int32_t height, int quality);
} kbi_light_range;
extern const kbi_light_range kbi_light_range_default;
/* One random change within the range, in place: lens, light, sensor, codec, in this order. KB_E_MEMORY, or KB_E_IMAGE
 * when the codec failed. */
kb_status kbi_light_change(const kbi_light_range *range, uint8_t *pixels, int32_t width, int32_t height,
                           uint64_t *state);

#define KBI_SYNTH_MAX_VIEWS 32
#define KBI_SYNTH_MAX_SUPPORTS 8

typedef struct kbi_synth_options {
    int32_t views;            /* 2 to KBI_SYNTH_MAX_VIEWS; the first is the photograph as it is */
    int32_t detectors;        /* bit 0: orb, 1: sift, 2: hessian; at least one */
    int32_t keypoints;        /* that a detector may find in a view */
    int32_t max_points;       /* of an image, shared evenly by the detectors */
    int32_t supports;
    float support[KBI_SYNTH_MAX_SUPPORTS]; /* the same patches are cut at each */
    bool octaves; /* octaves instead of 32x32 patches */
    bool upright; /* angles are the rotation of the view, as a pair of images has one, instead of each keypoint's own */
    kbi_view_range geometry;
    kbi_light_range light;
    kbi_association association;
} kbi_synth_options;
/* 5 views, orb and sift, 2000 keypoints, 400 points, support 1, all ranges at their defaults. */
void kbi_synth_defaults(kbi_synth_options *options);

/* The 32x32 patches, or octaves, which take as many bytes, of one image, ordered by point, then view. */
typedef struct kbi_synth_patches {
    size_t patches, points;
    uint32_t *point, *view;
    uint8_t *pixels[KBI_SYNTH_MAX_SUPPORTS];
} kbi_synth_patches;

/* photo: 8-bit gray. The same seed gives the same patches. An image without repeated keypoints gives none. On failure
 * *out is empty. */
kb_status kbi_synth_image(const kb_image *photo, const kbi_synth_options *options, uint64_t seed,
                          kbi_synth_patches *out, kb_error *error);
void kbi_synth_patches_free(kbi_synth_patches *patches);

#endif
