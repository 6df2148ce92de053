/* SPDX-License-Identifier: Apache-2.0 */
/* keybits: what fewer programs need.
 *
 *     allocators            where the memory of objects comes from
 *     models from tables    models of other sources, and the files of models
 *     patches and samples   describing patches, and what a model sees
 *     keypoints and levels  selecting, orienting and weighing keypoints of any detector; the detectors' pyramid
 *     more ways to match    nearest neighbours, guided, stereo, refined to a fraction of a pixel
 *     points over frames    following points of a camera
 *     instruction sets      which kernels run
 *
 * Part of libkeybits; the rules at the head of keybits.h hold here too. */
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
 * BAG has channels 1 to 8. A box covers the samples x - radius to x + radius - 1, radius 1 to KB_MAX_CELL_RADIUS,
 * inside 0 to 15; x - radius and y - radius are even. Bit i is on octave i / 8 % 4; octave 0 is the whole region.
 * Thresholds are in units of the octave's mean gradient (docs/bag.md), -2 to 2. */
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

/* Keeps the n best keypoints, of any detector, by a selection rule, in place, strongest first; features->n becomes
 * min(n, features->n). Keypoints with a number that is not finite go last. features->width and height must be known;
 * rows and flags, which are not moved, must be NULL. workspace and error may be NULL. */
KB_API kb_status kb_select(kb_selection selection, size_t n, kb_workspace *workspace, kb_features *features,
                           kb_error *error);

typedef struct kb_orient_options {
    uint32_t struct_size;
    kb_orientation orientation;
    float scale; /* the preset of the keypoints' detector, up to 100. 0: the scale of features->detector; where that is
                    unknown, an error */
    const kb_parallel *parallel;
} kb_orient_options;

/* Computes the angles of keypoints of any detector, replacing those they have. A keypoint that is not finite, not
 * positive in size, or outside the image gets -1. The gradient rule uses a region of 2 x scale x size, the centroid
 * rule the disc of scale x size. confidence (n numbers, may be NULL) receives 1 - (height of the second peak / height
 * of the first), 0 to 1; a low value means that another view may give another angle. It is 0 with the other rules.
 * options, workspace and error may be NULL. */
KB_API kb_status kb_orient(const kb_image *image, const kb_orient_options *options, kb_workspace *workspace,
                           kb_features *features, float *confidence, kb_error *error);

/* How exact the places of keypoints are: deviations (n numbers) receives the standard deviation of each along either
 * axis, px of the image, from the curvature of its detector's response and its scale; bundle adjustment weighs
 * residuals by it. NaN for a keypoint that is not finite, not positive in size, or outside the image. Between two views
 * the deviation of a residual is the root of the sum of both squares, each brought to the same image. An unknown
 * detector (0) counts as the default. parallel, workspace and error may be NULL. docs/detect.md has the model and how
 * well it holds. */
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

/* ----------------------------------------------------------------------------------------------- more ways to match */

/* A row near another: its index in b, -1 where there is none, and the Hamming distance. */
typedef struct kb_neighbour {
    int32_t index;
    float distance;
} kb_neighbour;

/* The k nearest rows of b (k from 1) for every row of a, by Hamming distance: neighbours has room for a->n x k; for
 * row i they begin at i x k, nearest first. Ties go to the lowest index; all-zero rows have no neighbours and are
 * none. Floats give KB_E_KIND. Of the options only parallel matters. options, workspace and error may be NULL. k = 2
 * costs what one neighbour costs; more costs more. */
KB_API kb_status kb_match_knn(const kb_features *a, const kb_features *b, int32_t k, const kb_match_options *options,
                              kb_workspace *workspace, kb_neighbour *neighbours, kb_error *error);

/* The Hamming distance of two rows; -1 when one is NULL. */
KB_API int32_t kb_hamming(const uint8_t *a, const uint8_t *b, size_t row_bytes);

/* Where a query is expected in image b, for kb_match_guided: near a point, such as a map point's projection, a
 * keypoint's position predicted by a motion model or sent by a homography; or near a line, such as an epipolar one. A
 * guide with a number that is not finite finds nothing. */
typedef struct kb_guide {
    float x, y;
    float radius;                 /* px; candidates lie within it of the point or the line */
    float angle;                  /* of the query's keypoint, degrees; negative: none */
    int32_t min_level, max_level; /* of kb_keypoint.octave, both included */
    float line_x, line_y;         /* 0 and 0: a point. Else the direction of a line through it, of any length */
    int32_t reserved[2];
} kb_guide;

/* Fills a guide per keypoint of a: the point where a homography sends it, with its angle turned as there; or its line
 * in image b, whose width and height must be known, by a fundamental matrix: (x2, y2, 1) model (x1, y1, 1)^T = 0.
 * geometry is KB_GEOMETRY_HOMOGRAPHY or KB_GEOMETRY_FUNDAMENTAL. All levels count. Distorted pixels have no lines:
 * undistort keypoints first (kb_camera_unproject). error may be NULL. */
KB_API kb_status kb_guides_fill(kb_geometry geometry, const double model[9], const kb_features *a, const kb_features *b,
                                float radius, kb_guide *guides, kb_error *error);

typedef struct kb_guided_options {
    uint32_t struct_size;
    float max_ratio;         /* 0: off. Else keep distance < max_ratio x second, the second among the candidates */
    float max_distance;      /* 0: off. Else keep distance <= max_distance; kb_model_info has thresholds per model */
    int32_t ratio_per_level; /* 1: the ratio test is made only when both candidates have the same octave */
    int32_t any_angle;       /* 0: drop matches whose rotation (angle in b minus the guide's) is not in the three most
                                frequent of 30 bins. 1: keep them */
    const kb_parallel *parallel;
} kb_guided_options;

/* Matches the rows of a, one guide each, with the keypoints of b that lie where the guide expects them. One to one:
 * of several queries with the same nearest keypoint the nearest query keeps it, of equal ones the first. Ties between
 * candidates go to the lowest index. `matches` has room for a->n; *count are written, in order of a. Rows are bits
 * without gaps; a needs no keypoints. a->n and b->n up to 2^25 - 1. options, workspace and error may be NULL. */
KB_API kb_status kb_match_guided(const kb_features *a, const kb_guide *guides, const kb_features *b,
                                 const kb_guided_options *options, kb_workspace *workspace, kb_match *matches,
                                 size_t *count, kb_error *error);

/* A left keypoint a, a right keypoint b, and where the left one is seen in the right image. */
typedef struct kb_stereo_match {
    int32_t a, b;
    float distance;  /* Hamming */
    float x;         /* in the right image, px, sub-pixel where images are given */
    float disparity; /* x of the left keypoint minus x */
} kb_stereo_match;

typedef struct kb_stereo_options {
    uint32_t struct_size;
    float min_disparity;  /* px; 0: 0. Negative for cameras that converge */
    float max_disparity;  /* px; 0: 10000. Focal length x baseline / nearest depth */
    float row_tolerance;  /* 0: 0.065 of the left keypoint's size, at least 1 px; else px for all */
    float max_scale;      /* 0: 1.3. The largest ratio of the two keypoints' sizes */
    float max_distance;   /* 0: off */
    float max_ratio;      /* 0: off */
    const kb_image *left, *right; /* rectified, for sub-pixel disparities and a check of gray levels; NULL: neither */
    const kb_parallel *parallel;
} kb_stereo_options;

/* Matches the keypoints of a rectified pair along rows. With images, the position in the right image is refined by the
 * sum of absolute differences of a window around it, and matches whose sum is far above the median are dropped.
 * `matches` has room for left->n; *count are written, in order of left; each b occurs at most once. left->n up to 2^19
 * - 1, right->n up to 2^25 - 1; rows are bits without gaps. options, workspace and error may be NULL. */
KB_API kb_status kb_match_stereo(const kb_features *left, const kb_features *right, const kb_stereo_options *options,
                                 kb_workspace *workspace, kb_stereo_match *matches, size_t *count, kb_error *error);

typedef struct kb_refine_options {
    uint32_t struct_size;
    float scale;           /* the preset of the keypoints' detector, up to 100. 0: the scale of a's detector; where that
                              is unknown, an error */
    int32_t iterations;    /* steps per match at most; 0: 10; up to 1000. Most matches take four. */
    float max_shift;       /* 0: 0.3; up to 1. How far a point may move, relative to the region's width */
    float min_correlation; /* 0: 0.5; above 0, up to 1. Min correlation of the two aligned regions */
    const kb_parallel *parallel;
} kb_refine_options;

/* The points of n matches as kb_match_points gives them, with the points of image b refined to sub-pixel accuracy: the
 * region of 0.7 x scale x size around a's keypoint is aligned with image b by an affine map, invariant to gain and
 * offset of the light, starting from position, size and angle of b's keypoint. correlations (n floats, may be NULL)
 * receives the correlation of the aligned regions, up to 1. It is 0 for a match that could not be refined and keeps the
 * points of its keypoints: the region has no structure, the point moved too far or out of the image, the correlation is
 * too low, or a keypoint is not finite, has no positive size or lies outside its image. KB_E_ARGUMENT when a match has
 * an index outside a or b. images are the two images, a's first. options, workspace and error may be NULL. */
KB_API kb_status kb_match_refine(const kb_image images[2], const kb_features *a, const kb_features *b,
                                 const kb_match *matches, size_t n, const kb_refine_options *options,
                                 kb_workspace *workspace, kb_point_pair *pairs, float *correlations, kb_error *error);

/* --------------------------------------------------------------------------------------------- points over frames */

typedef struct kb_track_options {
    uint32_t struct_size;
    int32_t levels;          /* 0: 4; 1 to 8 resolutions, each half of the one before. Motion up to about 6 px x
                                2^(levels - 1) is found */
    int32_t iterations;      /* 0: 10; 1 to 1000 steps per level at most */
    float min_correlation;   /* 0: 0.7; up to 1: of the windows of 16 x 16 px. Brightness and contrast may change */
    float max_error;         /* px, 0: 0.5: followed back, a point must return this close to where it was */
    int32_t predicted;       /* 1: `to` has guesses of the places, such as a gyroscope's; 0: points stay where they are.
                                Of kb_track_points */
    const kb_parallel *parallel;
    /* kb_tracker */
    int32_t max_points;      /* 0: 300; up to 1000000 */
    int32_t mask_margin;     /* px, 0 to 65535: distance of new points from what the mask hides */
    const kb_detect_options *detect; /* new points. NULL: defaults. max_keypoints, mask, mask_margin and parallel are
                                not used, mask must be NULL */
} kb_track_options;

/* Follows the places of keypoints from image a to image b by pyramidal alignment of the windows around them
 * (Lucas-Kanade), forward and back. `to` has room for from->n keypoints (capacity; otherwise KB_E_SPACE) and receives
 * from's with their places in image b; correlations (n) receives the likeness of the windows, up to 1. A keypoint that
 * is lost has correlation 0 and stays where it was; one outside the image, NaN too, is lost. options, workspace and
 * error may be NULL. */
KB_API kb_status kb_track_points(const kb_image *a, const kb_image *b, const kb_features *from,
                                 const kb_track_options *options, kb_workspace *workspace, kb_features *to,
                                 float *correlations, kb_error *error);

/* A point that is followed from frame to frame. */
typedef struct kb_track {
    uint64_t id;          /* from 0, given once */
    float x, y;           /* in this frame */
    float last_x, last_y; /* in the frame before; the same as x, y for a new point */
    float correlation;    /* with the frame before; 1 for a new point */
    int32_t age;          /* frames that it was followed through: 0 for a new point */
} kb_track;

/* Follows points over the frames of a camera, and adds new ones where there are none. It keeps a copy of the last
 * frame, and serves one call at a time; options->parallel must outlive it. options and error may be NULL. Release with
 * kb_tracker_free. */
typedef struct kb_tracker kb_tracker;
KB_API kb_status kb_tracker_create(const kb_track_options *options, const kb_allocator *allocator, kb_tracker **out,
                                   kb_error *error);
KB_API void kb_tracker_free(kb_tracker *tracker);
/* Takes the next frame. tracks has room for max_points, otherwise KB_E_SPACE; *count receives how many there are: first
 * the tracks of the last frame, in their order, without lost and masked points, then new ones. With fewer than
 * 0.9 max_points, the strongest keypoint of every cell of the image that has no point becomes one; max_points cells
 * cover the image. mask (8-bit, the size of the image; may be NULL) hides where it is 0. A frame of another size starts
 * anew, and so does the frame after one that memory did not suffice for. image NULL: a frame is missing; all points are
 * forgotten, ids go on. */
KB_API kb_status kb_tracker_add(kb_tracker *tracker, const kb_image *image, const kb_image *mask,
                                kb_workspace *workspace, kb_track *tracks, size_t capacity, size_t *count);

/* ------------------------------------------------------------------------------------------------- instruction sets */

/* Kernels have variants per instruction set; all give the same results. kb_kernel_at lists which one runs; name NULL
 * past the last. */
typedef struct kb_kernel {
    const char *name;    /* what it does, such as "hamming" */
    const char *variant; /* "c", "avx2", ... */
} kb_kernel;
KB_API kb_kernel kb_kernel_at(int32_t index);

/* The instruction sets that are found and not disabled, such as "sse4.2 avx2", in static storage. limit, for testing
 * and measuring, is a list of the ones that may be used from now on, such as "avx2", each with those it builds on; "c"
 * for none, "all" for all, NULL changes nothing. The result is NULL, and nothing changes, when it has a word that is no
 * instruction set's name. With a limit, the call must not be made while other calls run. */
KB_API const char *kb_cpu_features(const char *limit);

#ifdef __cplusplus
}
#endif
#endif
