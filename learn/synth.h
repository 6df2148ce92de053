/* Patches of known correspondence out of single photographs: views rendered by random homographies and changes of
 * light, keypoints detected anew in every view, associated by the known geometry. So the detector's own noise in
 * position, scale and angle is in the data, as it will be in use. */
#ifndef KB_SYNTH_H
#define KB_SYNTH_H

#include "learn/associate.h"
#include "learn/photometric.h"
#include "learn/warp.h"

/* How much light, lens and codec change: largest values; each change happens to a part of the views. */
typedef struct kb_light_range {
    double blur;    /* sigma, px */
    double gain;    /* deviation of the logarithm */
    double gamma;   /* the same */
    double offset;  /* deviation, gray levels */
    double shading; /* relative change from the middle to the border */
    double shadow;  /* how much of the light a shadow takes, up to 1 */
    double noise;   /* deviation, gray levels */
    int32_t jpeg;   /* the lowest quality, 1 to 100; 0: no JPEG */
} kb_light_range;
extern const kb_light_range kb_light_range_default;

#define KB_SYNTH_MAX_VIEWS 32
#define KB_SYNTH_MAX_SUPPORTS 8

typedef struct kb_synth_options {
    int32_t views;            /* 2 to KB_SYNTH_MAX_VIEWS; the first is the photograph as it is */
    int32_t detectors;        /* bit 0: orb, bit 1: sift */
    int32_t keypoints;        /* that a detector may find in a view */
    int32_t max_points;       /* of an image, shared evenly by the detectors */
    int32_t supports;
    float support[KB_SYNTH_MAX_SUPPORTS]; /* the same patches are cut at each */
    kb_view_range geometry;
    kb_light_range light;
    kb_tolerance tolerance;
} kb_synth_options;
/* 5 views, orb and sift, 2000 keypoints, 400 points, support 1, all ranges at their defaults. */
void kb_synth_defaults(kb_synth_options *options);

/* The 32x32 patches of one image, ordered by point, then view. */
typedef struct kb_synth_patches {
    size_t patches, points;
    uint32_t *point, *view;
    uint8_t *pixels[KB_SYNTH_MAX_SUPPORTS];
} kb_synth_patches;

/* photo: 8-bit gray. The same seed gives the same patches. An image without repeated keypoints gives none. */
bool kb_synth_image(const kb_image *photo, const kb_synth_options *options, uint64_t seed, kb_synth_patches *out,
                    io_error *error);
void kb_synth_patches_free(kb_synth_patches *patches);

#endif
