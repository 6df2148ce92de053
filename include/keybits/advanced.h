/* SPDX-License-Identifier: Apache-2.0 */
/* keybits: what fewer programs need. Allocators, models from tables, patches and samples, the exactness of keypoints, the
 * detectors' pyramid, instruction sets. Part of libkeybits; the rules at the head of keybits.h hold here too. */
#ifndef KEYBITS_ADVANCED_H
#define KEYBITS_ADVANCED_H

#include "keybits/keybits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------- allocators */

/* Where the memory of an object comes from. The struct is copied; what self points to must outlive the object. allocate
 * returns memory aligned for any type, or NULL when there is none; it is called only by the thread that calls the
 * library. release receives what allocate returned, never NULL. */
struct kb_allocator {
    void *(*allocate)(void *self, size_t bytes);
    void (*release)(void *self, void *memory);
    void *self;
};

/* ----------------------------------------------------------------------------------------------- models from tables */

#define KB_PATCH_SIDE 32  /* samples along a side of a patch */
#define KB_OCTAVES 4      /* grids of KB_SAMPLER_OCTAVES */
#define KB_OCTAVE_SIDE 16 /* samples along a side of each */
#define KB_MAX_BITS 1024
#define KB_CHANNELS 9     /* channel 0: gray; 1 to 8: gradient towards 0, 45, ... 315 degrees clockwise on screen */
#define KB_MAX_RADIUS 7   /* of a box on samples, which has (2 radius + 1)^2 of them around one */
#define KB_MAX_CELL_RADIUS 8 /* of a box on cells of 2x2 samples, which has radius^2 of them */
#define KB_SIFT_VALUES 128

/* One bit of BAD or BAG: 1 when mean(box 1) - mean(box 2) <= threshold.
 * BAD has channel 0. A box covers the samples x - radius to x + radius, radius 0 to KB_MAX_RADIUS, inside 0 to 31;
 * with the sampler CELLS it is on cells, as of BAG. Thresholds are in gray levels, -256 to 256. With the image sampler
 * both radii of a pair are equal.
 * BAG has channels 1 to 8. A box covers the samples x - radius to x + radius - 1, radius 1 to KB_MAX_CELL_RADIUS, inside
 * 0 to 15; x - radius and y - radius are even. Bit i is on octave i / 8 % 4; octave 0 is the whole region. Thresholds
 * are in units of the octave's mean gradient (docs/bag.md), -2 to 2. */
typedef struct kb_box_pair {
    uint8_t channel1, x1, y1, radius1;
    uint8_t channel2, x2, y2, radius2;
    float threshold;
} kb_box_pair;

/* The tables and parameters of a model: input of kb_model_create, output of kb_model_get_info. */
typedef struct kb_model_spec {
    uint32_t struct_size;
    kb_kind kind;
    kb_sampler sampler;
    int32_t bits;             /* binary kinds: a multiple of 8, of BAG of 32, up to KB_MAX_BITS. Others: 0. */
    float support;            /* patch width = preset scale x keypoint size x support; 0.1 to 10; 0 means 1 */
    const char *name;         /* UTF-8 without control characters, 1 to 63 bytes */
    const char *text;         /* how it was learned, free text, up to 65535 bytes; NULL: empty */
    const kb_box_pair *boxes; /* BAD, BAG: `bits` of them */
    const int8_t *weights;    /* HashSIFT: bits x 128, row major, over the 128 SIFT bytes */
    const int32_t *bias;      /* HashSIFT: `bits` of them, -2^30 to 2^30. Bit = (sum of weight x value) + bias > 0. */
    int32_t root;             /* HashSIFT: 1 takes RootSIFT bytes instead of SIFT bytes */
    float sift_support;       /* the support for keypoints of SIFT detectors, whose sizes are small: kb_model_scale. 0.1
                                 to 10; 0: support */
    int32_t threshold_low, threshold_high; /* of kb_model_info, 0 to bits, the lower one first; 0 and 0: not known. They
                                 are no part of the id. */
    float ratio;              /* the same; 0 to 1 */
} kb_model_spec;

/* Creates a model from tables, which are copied. KB_E_TABLE for a value out of its range; error (may be NULL) names the
 * field, and the bit as its row. Release with kb_model_free. */
KB_API kb_status kb_model_create(const kb_model_spec *spec, const kb_allocator *allocator, kb_model **out,
                                 kb_error *error);

/* Writes the model file into buffer. *size receives the bytes needed; buffer NULL only asks for them; a capacity below
 * them gives KB_E_SPACE. */
KB_API kb_status kb_model_save(const kb_model *model, void *buffer, size_t capacity, size_t *size);

/* ---------------------------------------------------------------------------------------------- patches and samples */

/* Describes features->n patches of side x side bytes, one after the other. side is 32 to 1024; larger patches are
 * resized to 32x32 by exact area averaging. For BAG a patch is octave 1, the middle half of the region, and stands for
 * octave 0 too, or, with side KB_OCTAVE_SIDE, is what kb_sample gives. The model's support and the scale are not
 * used; the image sampler is evaluated on the patch. Rows as in kb_describe; keypoints and flags are not used. options,
 * workspace and error may be NULL. */
KB_API kb_status kb_describe_patches(const kb_model *model, const uint8_t *patches, int32_t side,
                                     const kb_describe_options *options, kb_workspace *workspace,
                                     kb_features *features, kb_error *error);

#define KB_SAMPLES 1024 /* bytes per keypoint */
/* The samples that a model with that sampler would see, with support 1 (patch width = scale x keypoint size): for
 * viewing, training and other descriptors. KB_SAMPLER_PATCH gives patches of 32x32, KB_SAMPLER_OCTAVES 4 x 16x16 bytes,
 * the whole region first; others give KB_E_KIND. `samples` has room for n x KB_SAMPLES bytes. Keypoints with
 * KB_KP_OUTSIDE or KB_KP_INVALID give zeros; features->flags are set unless NULL. options, workspace and error may be
 * NULL. */
KB_API kb_status kb_sample(const kb_image *image, kb_sampler sampler, const kb_describe_options *options,
                           kb_workspace *workspace, kb_features *features, uint8_t *samples, kb_error *error);

/* --------------------------------------------------------------------------------------------- keypoints and levels */

/* How exact the places of keypoints are: deviations (n numbers) receives the standard deviation of each along either
 * axis, px of the image, from the curvature of its detector's response and its scale; bundle adjustment weighs residuals
 * by it. -1 for a keypoint that is not finite, not positive in size, or outside the image. Between two views the
 * deviation of a residual is the root of the sum of both squares, each brought to the same image. An unknown detector
 * (0) counts as the default. parallel, workspace and error may be NULL. docs/detect.md has the model and how well it
 * holds. */
KB_API kb_status kb_keypoint_deviations(const kb_image *image, const kb_features *features, const kb_parallel *parallel,
                                        kb_workspace *workspace, float *deviations, kb_error *error);

#define KB_PYRAMID_MAX_LEVELS 32
/* The image pyramid that HESSIAN and ORB search. */
typedef struct kb_pyramid {
    uint32_t struct_size;
    int32_t levels;                          /* 0 for an image that is too small */
    kb_image level[KB_PYRAMID_MAX_LEVELS];   /* 8-bit views: level 0 of an 8-bit image is the image itself, the others
                                                lie in the caller's buffer */
    double factor[KB_PYRAMID_MAX_LEVELS];    /* px of the image per pixel of the level: 1, 1.2, 1.44, ...; pixel x of a
                                                level is centred at (x + 0.5) factor - 0.5 of the image */
} kb_pyramid;

/* Builds that pyramid into buffer, for callers that read it (stereo SLAM). *size receives the bytes needed; buffer NULL
 * only asks for them (pyramid may then be NULL); a capacity below them gives KB_E_SPACE. Of the options, levels,
 * level_factor and parallel matter. options and workspace may be NULL. The views live as long as the buffer and the
 * image; pyramid is initialised with KB_INIT. */
KB_API kb_status kb_pyramid_build(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                                  void *buffer, size_t capacity, kb_pyramid *pyramid, size_t *size);

/* ------------------------------------------------------------------------------------------------- instruction sets */

/* Kernels have variants per instruction set; all give the same results. kb_kernel_at lists which one runs; name NULL
 * past the last. kb_cpu_features: those found and not disabled, such as "sse4.2 avx2", in static storage. */
typedef struct kb_kernel {
    const char *name;    /* what it does, such as "hamming" */
    const char *variant; /* "c", "avx2", ... */
} kb_kernel;
KB_API kb_kernel kb_kernel_at(int32_t index);
KB_API const char *kb_cpu_features(void);

/* Disables instruction sets, for testing and measuring: a list of the features that may be used, such as "avx2",
 * each with those it builds on, "c" for none, NULL for all. KB_E_UNKNOWN, and nothing changes, for a word that is no
 * feature's name. Must not be called while other calls run. */
KB_API kb_status kb_cpu_limit(const char *features);

#ifdef __cplusplus
}
#endif
#endif
