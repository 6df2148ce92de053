/* SPDX-License-Identifier: Apache-2.0 */
/* keybits: learned binary local image descriptors (BAD, BAG, HashSIFT), and the pipeline around them:
 *
 *     image -> keypoints -> descriptors -> matches -> geometry     and     descriptors -> words -> images (retrieval)
 *
 * This header is the public API of the pipeline and its manual: images, features, matches, geometry, memory, threads.
 * advanced.h adds keypoints of other detectors, guided and stereo matching, tracking, tables of models, samples,
 * pyramids, allocators and instruction sets; index.h adds retrieval, learn.h learning and collection.h collections of
 * photographs. The rules below hold for all headers, which compile as C99 and as C++11. The shortest program:
 *
 *     kb_model_builtin("bad256", NULL, &model);
 *     KB_INIT(a);
 *     a.capacity = 2000, a.keypoints = keypoints, a.rows = rows, a.rows_size = sizeof rows;
 *     kb_detect_and_describe(model, &image, NULL, NULL, NULL, &a, NULL);   b likewise, of the second image
 *     kb_match_features(&a, &b, NULL, NULL, matches, &count, NULL);
 *
 * Every NULL above is an option, an allocator, a workspace or an output that may be left out.
 *
 * Rules for every function
 *   Parameters  The order is: object, inputs with their counts, options, workspace, outputs, error.
 *   Ownership   The caller owns every input and every output buffer; inputs are not kept after the call unless the
 *               comment says so. What kb_*_create, kb_*_load and kb_*_builtin return is released by the matching
 *               kb_*_free, which accepts NULL. They take a kb_allocator (advanced.h); NULL means malloc and free.
 *   Threads     Any number of threads may call at the same time. A kb_model is immutable and may be shared. A
 *               kb_workspace and a pool serve one call at a time. There is no mutable global state but the limit of
 *               kb_cpu_features.
 *               The library starts no threads except in kb_pool_create.
 *   Errors      Every function that can fail returns a kb_status. Nothing prints, aborts or sets errno. When a call
 *               fails, its outputs are undefined (a handle is NULL) and its inputs are untouched. "Nothing found" is a
 *               result, not an error.
 *   NULL        A pointer may be NULL only where the comment says so; elsewhere NULL gives KB_E_ARGUMENT. A pointer to
 *               zero elements may always be NULL.
 *   Bad input   A value out of its range gives KB_E_ARGUMENT, a view that is not a valid image KB_E_IMAGE, and any call
 *               may give KB_E_MEMORY. Numbers in data (keypoints, point pairs, float rows) may have any value, NaN
 *               included: the comments say how they are treated.
 *   Enums       Every enumeration is 32 bits wide with any compiler (-fshort-enums). Its last name, KB_*_INT32, is for
 *               that and is no value.
 *   Structs     A struct that may grow in a later version starts with struct_size; set it with KB_INIT, for outputs
 *               too. Zero in an option means its default. A program that was compiled against an older header gets the
 *               defaults for newer options. One that was compiled against a newer header works as long as the fields
 *               that this version does not know are zero; otherwise, and for a size that no version had, the result is
 *               KB_E_STRUCT. Structs without struct_size never change; a field `reserved` is room for later versions,
 *               zero in inputs and undefined in outputs.
 *   Same bits   The same model and input give the same bits on every machine, instruction set, compiler and number of
 *               threads. The model id (kb_model_info.id) covers the tables and the revision of the arithmetic: equal
 *               ids mean equal bits, also between versions of the library.
 *
 * Conventions
 *   Pixels      (0,0) is the centre of the first pixel, as in OpenCV; x goes right, y goes down. COLMAP puts that
 *               centre at (0.5,0.5): add 0.5 to both coordinates for COLMAP, subtract 0.5 from COLMAP's.
 *   Size        The diameter of the keypoint in pixels.
 *   Angle       In degrees, clockwise on the screen; negative (usually -1) means "none" and counts as 0.
 *   Bits        The first bit of a descriptor is bit 7, the most significant, of byte 0.
 *   Zero rows   A descriptor row that is all zero means "no descriptor" and never matches.
 *
 * Not promised
 *   Speed, memory used, the order of tasks and the wording of sentences may change in any version. Keypoints and fitted
 *   models may change in a minor version, descriptors only with the model id. The layout of opaque types is private.
 */
#ifndef KEYBITS_H
#define KEYBITS_H

#include <stddef.h>
#include <stdint.h>

#define KB_VERSION_MAJOR 1
#define KB_VERSION_MINOR 0
#define KB_VERSION_PATCH 0
#define KB_VERSION_STRING "1.0.0"
#define KB_VERSION (KB_VERSION_MAJOR * 10000 + KB_VERSION_MINOR * 100 + KB_VERSION_PATCH)

#if defined(_WIN32) && defined(KB_SHARED)
#  ifdef KB_BUILDING
#    define KB_API __declspec(dllexport)
#  else
#    define KB_API __declspec(dllimport)
#  endif
#elif defined(__GNUC__)
#  define KB_API __attribute__((visibility("default")))
#else
#  define KB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------- status, version */

/* Numbers are pinned: a released code never changes its meaning; later versions may add codes. */
typedef enum kb_status {
    KB_OK = 0,
    KB_E_ARGUMENT = -1,    /* NULL where it is not allowed, or a value out of its range */
    KB_E_MEMORY = -2,      /* an allocation failed */
    KB_E_IMAGE = -3,       /* not a usable image view: no pixels, zero or negative side, stride too small, too large */
    KB_E_UNKNOWN = -4,     /* no built-in model, preset or detector of that name */
    KB_E_NO_TABLE = -5,    /* a built-in model that this build was made without */
    KB_E_FORMAT = -6,      /* not the file of a model, vocabulary or index, or one from a newer version */
    KB_E_TRUNCATED = -7,   /* the file ends too early */
    KB_E_CHECKSUM = -8,    /* the file is damaged */
    KB_E_TABLE = -9,       /* a value in a table is out of its range */
    KB_E_KIND = -10,       /* the model does not support the call, such as float rows of a binary model; or another
                              kind than BAD in a build for BAD only */
    KB_E_SPACE = -11,      /* the output buffer is too small */
    KB_E_MODEL = -12,      /* rows of different models, or keypoints of different detectors */
    KB_E_STRUCT = -13,     /* a struct_size is not set, or a field that this version does not know is not zero */
    KB_E_STOPPED = -14,    /* the caller's own function stopped the call */
    KB_STATUS_INT32 = 0x7fffffff
} kb_status;

/* An English phrase in static storage, never NULL, for any number. */
KB_API const char *kb_status_string(kb_status status);
/* The version of the library in use, "major.minor.patch"; KB_VERSION_STRING is the header's. */
KB_API const char *kb_version(void);

/* What has names, for kb_name. */
typedef enum kb_names {
    KB_NAMES_DETECTOR = 1,    /* of kb_detector: "hessian", "orb", ... */
    KB_NAMES_SELECTION = 2,   /* of kb_selection */
    KB_NAMES_ORIENTATION = 3, /* of kb_orientation */
    KB_NAMES_LOOK = 4,        /* of kb_look */
    KB_NAMES_GEOMETRY = 5,    /* of kb_geometry */
    KB_NAMES_FIT_RESULT = 6,  /* of kb_fit_result, as phrases */
    KB_NAMES_KIND = 7,        /* of kb_kind */
    KB_NAMES_SAMPLER = 8,     /* of kb_sampler */
    KB_NAMES_MODEL = 9,       /* built-in models that this build has, from 0 */
    KB_NAMES_PRESET = 10,     /* presets (kb_model_scale), from 0 */
    KB_NAMES_INT32 = 0x7fffffff
} kb_names;

/* The name of a value in lower case, in static storage; NULL when the value has none. Values have no gaps (but looks,
 * which are powers of two), so that a loop until NULL lists all. */
KB_API const char *kb_name(kb_names names, int32_t value);

/* Details of a failure, for people and for programs. It needs no initialisation and holds no memory to release; it is
 * defined after a call that failed. */
typedef struct kb_error {
    char text[192];    /* a sentence that names the value at fault */
    const char *field; /* the field of the input struct at fault, such as "boxes"; "" for none. Static storage */
    int32_t row;       /* the row of that field at fault, from 0; -1 when it is none */
    int32_t reserved[9];
} kb_error;

/* Temporary memory and threads, which most calls accept, and where objects get their memory (advanced.h); all may be
 * NULL. */
typedef struct kb_workspace kb_workspace;
typedef struct kb_parallel kb_parallel;
typedef struct kb_allocator kb_allocator;

/* Sets all bytes of a struct to zero, and its struct_size: kb_describe_options o; KB_INIT(o); */
#define KB_INIT(s)                                              \
    do {                                                        \
        unsigned char *kb_p_ = (unsigned char *)&(s);           \
        size_t kb_i_;                                           \
        for (kb_i_ = 0; kb_i_ < sizeof(s); kb_i_++) kb_p_[kb_i_] = 0; \
        (s).struct_size = (uint32_t)sizeof(s);                  \
    } while (0)

/* --------------------------------------------------------------------------------------------- images and keypoints */

typedef enum kb_format {
    KB_FORMAT_GRAY8 = 0,
    KB_FORMAT_GRAY16 = 1, /* native byte order; see kb_image.white */
    KB_FORMAT_RGB8 = 2,   /* three bytes per pixel: red, green, blue */
    KB_FORMAT_BGR8 = 3,   /* blue, green, red: OpenCV's order */
    KB_FORMAT_RGBA8 = 4,  /* four bytes per pixel, the browser's order; the fourth is not read */
    KB_FORMAT_BGRA8 = 5,
    KB_FORMAT_INT32 = 0x7fffffff
} kb_format;

/* A borrowed view of an image. Width and height from 1 to 65535; stride is the distance between rows in bytes, at least
 * width x bytes per pixel (16-bit rows must start at even addresses). The library works on 8-bit gray:
 * calls convert other formats in their workspace, kb_detect_and_describe once for both.
 * 16-bit pixels become 8 bits by v8 = min(255, (v x 255 + white / 2) / white), where white is the value that turns into
 * 255: 4095 for a 12-bit sensor; 0 means 65535. Colours become gray with the weights 0.299, 0.587, 0.114 of red, green
 * and blue: (9798 R + 19235 G + 3735 B + 16384) / 32768. */
typedef struct kb_image {
    const void *data;
    int32_t width, height;
    ptrdiff_t stride;
    kb_format format;
    int32_t white;
} kb_image;

/* The seven fields of cv::KeyPoint in its order, so that an array of one is an array of the other. */
typedef struct kb_keypoint {
    float x, y;
    float size;     /* diameter, px */
    float angle;    /* degrees, clockwise on screen; negative: none */
    float response; /* strength, more is better */
    int32_t octave; /* the pyramid level, as the detector counts them; describing does not use it */
    int32_t class_id;
} kb_keypoint;

/* --------------------------------------------------------------------------------------------------------- features */

typedef enum kb_detector {
    KB_DETECTOR_ORB = 1,     /* FAST corners on a pyramid with Harris's response, as OpenCV's ORB; preset orb. */
    KB_DETECTOR_SIFT = 2,    /* extrema of differences of Gaussians. Slower, more exact; preset sift. */
    KB_DETECTOR_HESSIAN = 3, /* peaks of the determinant of the Hessian on the same pyramid, the default: more right
                                matches than ORB, in less time; preset hessian. */
    KB_DETECTOR_INT32 = 0x7fffffff
} kb_detector;

/* The features of one image: a view of buffers that the caller owns. Set it with KB_INIT, then the fields that a call
 * needs. kb_detect fills keypoints, kb_describe rows, and both note where they come from; every later call reads that.
 * A function that takes a const kb_features does not write through its pointers. */
typedef struct kb_features {
    uint32_t struct_size;
    int32_t width, height;  /* of the image, px; 0: unknown */
    kb_detector detector;   /* of the keypoints; it decides the scale at which they are described. 0: unknown */
    int32_t revision;       /* of that detector's arithmetic (advanced.h), which kb_detect sets; 0: unknown */
    int32_t max_size;       /* px: larger images were shrunk to this longer side first. Yours; 0: none, or unknown */
    size_t n;               /* the number of keypoints, rows and flags */
    size_t capacity;        /* the room in keypoints and flags, for kb_detect */
    kb_keypoint *keypoints; /* NULL where only rows matter */
    uint8_t *flags;         /* KB_KP_* per keypoint; may be NULL */
    void *rows;             /* a descriptor per keypoint; NULL where only keypoints matter */
    size_t rows_size;       /* the room in rows in bytes, for kb_describe */
    size_t row_bytes;       /* per descriptor, 1 to 4096; of floats 4 to 16384. kb_describe sets it */
    size_t row_stride;      /* bytes from one row to the next; 0: row_bytes. An index takes rows without gaps */
    int32_t floats;         /* 1: rows are floats, L2 distance: SIFT and RootSIFT. 0: rows are bits, Hamming distance */
    int32_t upright;        /* 1: the keypoints have no angles. kb_detect and kb_orient set it */
    uint64_t model_id;      /* kb_model_info.id of the model of the rows; 0: unknown */
} kb_features;

/* ----------------------------------------------------------------------------------------------------------- models */

typedef enum kb_kind {
    KB_KIND_BAD = 1,      /* per bit, the difference of the mean gray in two boxes against a threshold (docs/bad.md) */
    KB_KIND_BAG = 2,      /* the same over channels of oriented gradient (docs/bag.md) */
    KB_KIND_HASHSIFT = 3, /* per bit, the sign of a linear projection of SIFT (docs/hashsift.md) */
    KB_KIND_SIFT = 4,     /* SIFT itself: 128 bytes, or 128 floats */
    KB_KIND_ROOTSIFT = 5, /* its square root under the L1 norm: 128 bytes or 128 floats */
    KB_KIND_INT32 = 0x7fffffff
} kb_kind;

/* Where samples come from (docs/sampling.md). */
typedef enum kb_sampler {
    KB_SAMPLER_PATCH = 0, /* the oriented region is resampled to 32x32 by bilinear interpolation; the default */
    KB_SAMPLER_IMAGE = 1, /* boxes at whole pixels of the image: OpenCV's TEBLID and BEBLID bit for bit; BAD only */
    KB_SAMPLER_OCTAVES = 2, /* four grids of 16x16: of the region and its middle half, quarter and eighth; BAG only */
    KB_SAMPLER_CELLS = 3, /* as PATCH, but to 16x16 cells, each in the place of 2x2 samples: faster; BAD only */
    KB_SAMPLER_INT32 = 0x7fffffff
} kb_sampler;

/* Immutable; any number of threads may share one. */
typedef struct kb_model kb_model;

/* A built-in model: "bad256", "bad512", "bag128", "bag256", "bag512", "hashsift256", "hashsift512", "sift",
 * "rootsift" (KB_NAMES_MODEL). KB_E_UNKNOWN for any other name, KB_E_NO_TABLE for one that this build was made without
 * (a library without any tables gives it for every name). */
KB_API kb_status kb_model_builtin(const char *name, const kb_allocator *allocator, kb_model **out);

/* Parses a model file (docs/model-format.md) in memory; data is not needed afterwards. Any bytes are safe: a file that
 * is not valid gives KB_E_FORMAT, KB_E_TRUNCATED, KB_E_CHECKSUM or KB_E_TABLE, and details in error (may be NULL).
 * Release with kb_model_free. */
KB_API kb_status kb_model_load(const void *data, size_t size, const kb_allocator *allocator, kb_model **out,
                               kb_error *error);
KB_API void kb_model_free(kb_model *model);

typedef struct kb_model_info {
    uint32_t struct_size;
    int32_t row_bytes;         /* per descriptor */
    const char *name;          /* lives as long as the model */
    kb_kind kind;
    int32_t bits;              /* binary kinds; else 0 */
    const struct kb_model_spec *spec; /* its parameters and tables (advanced.h), spec->struct_size bytes. They belong to
                                         the model and live as long as it */
    uint64_t id;               /* hash of everything that decides the bits, which name and text do not */
    int32_t row_floats;        /* 128 for SIFT and RootSIFT, otherwise 0 */
    uint32_t channels;         /* bit c is set when channel c is used */
    int32_t distinct_boxes;    /* different boxes among the 2 x bits boxes of the table, of BAG in each octave */
    int32_t threshold_low;     /* Hamming distances that accept as large a share of neighbours as 50 and 100 do for */
    int32_t threshold_high;    /* ORB, and the max_ratio whose matches are as right as ORB's at 0.75 (docs/slam.md). */
    float ratio;               /* Built-in binary models have them, others may; 0: not known */
} kb_model_info;
/* Fills info, which is initialised with KB_INIT. */
KB_API kb_status kb_model_get_info(const kb_model *model, kb_model_info *info);

/* -------------------------------------------------------------------------------------------------------- detecting */

typedef enum kb_selection {
    KB_SELECTION_DEFAULT = 0,
    KB_SELECTION_BEST = 1,     /* the n strongest; the default */
    KB_SELECTION_GRID = 2,     /* the strongest of every cell of a grid, then the second strongest, and so on: covers
                                  the whole image even with few keypoints (500) */
    KB_SELECTION_QUADTREE = 3, /* the strongest of every leaf of a quad-tree, as ORB-SLAM distributes */
    KB_SELECTION_INT32 = 0x7fffffff
} kb_selection;

/* How a keypoint gets its angle. */
typedef enum kb_orientation {
    KB_ORIENTATION_DEFAULT = 0,
    KB_ORIENTATION_GRADIENT = 1, /* the peak of the smoothed histogram of gradient directions around it; the default */
    KB_ORIENTATION_CENTROID = 2, /* the direction of the intensity centroid of its disc: OpenCV's ORB */
    KB_ORIENTATION_NONE = 3,     /* -1: upright. For cameras that do not roll. */
    KB_ORIENTATION_INT32 = 0x7fffffff
} kb_orientation;

typedef struct kb_detect_options {
    uint32_t struct_size;
    kb_detector detector;     /* 0: the default */
    int32_t max_keypoints;    /* 0: 2000; up to 1000000. ORB-SLAM uses 1000, reconstruction 8000. */
    kb_selection selection;
    const kb_image *mask;     /* 8-bit, the size of the image; keypoints only where it is not zero. NULL: everywhere */
    const kb_parallel *parallel;
    /* ORB, HESSIAN */
    int32_t levels;           /* 0: down to the smallest that has room for a corner; 1 to 32 */
    int32_t every_level;      /* 0: a corner is found once, at the scale where it is strongest, and keypoints are one
                                 per place. 1: on every level where it is a corner, 31 px and more from the border, with
                                 a share of max_keypoints per level: as OpenCV's ORB and ORB-SLAM */
    float level_factor; /* 0: 1.2; 1.05 to 2. More levels with a smaller factor follow scale better and cost more */
    int32_t fast_threshold;   /* of ORB. 0: 20; 1 to 255, gray levels */
    int32_t fast_threshold_min; /* of ORB. 1 to fast_threshold: cells without a corner are searched again with it, as
                                 in ORB-SLAM. 0: 7 when fast_threshold is 0, else no second search */
    int32_t cell_size;        /* of ORB. 0: 32; 8 to 1024 px of a level */
    kb_orientation orientation;
    int32_t second_angle;     /* 1: a keypoint whose histogram has a second peak of at least 0.8 of the first is
                                 returned twice, once per angle. max_keypoints counts both. */
    int32_t whole_pixels;     /* 0: sub-pixel, by parabolas. 1: whole pixels of the level: OpenCV's */
    int32_t low_memory;       /* 1: one level in memory at a time, on the calling thread: the same keypoints in less
                                 memory and more time (docs/memory.md) */
    /* SIFT */
    int32_t layers;           /* 0: 3; 1 to 8 layers per octave */
    float contrast_threshold; /* 0: 0.04; divided by layers, as in OpenCV. Lower finds more, weaker ones. Up to 1. */
    float edge_threshold;     /* 0: 10; 1 to 1000. Higher keeps more points on edges. */
    float sigma;              /* 0: 1.6; 0.5 to 4. The blur of the first layer, in px of the doubled image. */
    int32_t no_upsampling;    /* 1: do not double the image first: four times faster, without the smallest keypoints */
    /* HESSIAN */
    float hessian_threshold;  /* 0: 0.001; 0.0001 to 0.5: min response. Lower finds more, weaker ones. */
    /* all */
    int32_t mask_margin;      /* px, 0 to 65535: keypoints keep this distance, in x or in y, from the pixels that the
                                 mask hides, so that corners of the mask's own edge are not found */
} kb_detect_options;

/* What is known of a detector; kb_name lists them. */
typedef struct kb_detector_info {
    kb_detector detector;       /* itself; of 0 the default. 0: there is no such detector */
    int32_t revision;           /* of its arithmetic, from 1. Keypoints by the same options are the same in every
                                   version of the library with the same revision: files compare keypoints by it */
    const char *const *options; /* the options that it has and not every detector, by their names in kb_detect_options;
                                   ends with NULL. kb_detect refuses those of other detectors */
    const void *reserved[2];    /* NULL */
} kb_detector_info;
KB_API kb_detector_info kb_detector_get_info(kb_detector detector);

/* Finds keypoints, strongest first; they are totally ordered (response, then y, x, size, angle), so that the n best are
 * the same n on every machine. features->keypoints has room for features->capacity keypoints, which also limits
 * max_keypoints. n, width, height, detector, revision and upright are set. options, workspace and error may be NULL. An
 * option out of its range, or of another detector, is refused, and *error names it; with image and features NULL, the
 * call looks at the options only. An image too small for the detector gives zero keypoints. Angle and octave follow
 * OpenCV's detectors of the same names, HESSIAN's ORB's. The size of ORB and HESSIAN is 31 x level_factor^(octave +
 * offset) with an offset within +-0.5 between levels, 0 with every_level. */
KB_API kb_status kb_detect(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                           kb_features *features, kb_error *error);

/* ------------------------------------------------------------------------------------------------------- describing */

/* Detectors define size differently. A preset is the factor from keypoint size to the width of the described region:
 * orb and hessian 1, fast, agast, brisk, akaze 5, kaze, surf 6.25, sift 6.75, gftt 10, mser 3 (KB_NAMES_PRESET).
 * The scale at which a model describes keypoints of a preset is the preset's, and for "sift" the one that makes the
 * region sift_support wide: 6.75 x sift_support / support. The region of a keypoint is scale x size x support wide.
 * model may be NULL: the preset's own scale. Case does not matter; an unknown name, or NULL, gives 0. */
KB_API float kb_model_scale(const kb_model *model, const char *preset);
#define KB_SMALL_PATCH 8.0f /* px: narrower regions have too few pixels for a distinctive descriptor */

typedef struct kb_describe_options {
    uint32_t struct_size;
    float scale;                 /* from keypoint size to region (kb_model_scale), up to 100. 0: the scale of the
                                    features' detector; where that is unknown, an error */
    const kb_parallel *parallel; /* NULL: the calling thread alone */
} kb_describe_options;

/* Flags per keypoint, combined; 0: an ordinary row. */
enum {
    KB_KP_BORDER = 1,  /* the region leaves the image: border pixels are repeated (patch) or boxes cut off (image) */
    KB_KP_SMALL = 2,   /* the region is narrower than KB_SMALL_PATCH pixels; of BAG, its octave 2 is */
    KB_KP_OUTSIDE = 4, /* the centre is not in the image: a row of zeros */
    KB_KP_INVALID = 8  /* a number is not finite, the size not positive, or the region wider than 2^20 px: zeros */
};

/* Describes the n keypoints of features. Row i belongs to keypoint i: keypoints are never dropped, moved or reordered.
 * `rows` has rows_size bytes, and row_stride bytes from row to row, between which nothing is written; too few give
 * KB_E_SPACE. With floats = 1, SIFT and RootSIFT give 128 floats of unit L2 norm (all zero for a region without
 * contrast); binary models give KB_E_KIND. row_bytes, model_id, width, height and, unless it is NULL, flags are set.
 * options, workspace and error may be NULL. n may be 0. Time is linear in n and, for the pyramid, in the pixels. */
KB_API kb_status kb_describe(const kb_model *model, const kb_image *image, const kb_describe_options *options,
                             kb_workspace *workspace, kb_features *features, kb_error *error);

/* kb_detect and kb_describe in one call; 16-bit pixels are converted once. Both options, the workspace and the error
 * may be NULL. */
KB_API kb_status kb_detect_and_describe(const kb_model *model, const kb_image *image, const kb_detect_options *detect,
                                        const kb_describe_options *describe, kb_workspace *workspace,
                                        kb_features *features, kb_error *error);

/* --------------------------------------------------------------------------------------------------------- matching */

/* A putative match of row a of the first set and row b of the second. distance is the Hamming distance, or the L2
 * distance of float rows; second is the distance from a to its second nearest row (infinity when there is none). */
typedef struct kb_match {
    int32_t a, b;
    float distance;
    float second;
} kb_match;

typedef struct kb_match_options {
    uint32_t struct_size;
    int32_t one_way;      /* 0: mutual nearest neighbours only. 1: the nearest neighbour of every row of a */
    float max_ratio;      /* 0: off. Else keep distance < max_ratio x second; 0.8 is usual. 0/0 rejects. 0 to 1. */
    float max_distance;   /* 0: off. Else keep distance <= max_distance */
    const kb_parallel *parallel;
} kb_match_options;

/* Matches the rows of a with the rows of b, bits by Hamming distance and floats by L2. Ties go to the lowest index.
 * All-zero rows, which kb_describe writes for invalid keypoints, never match and are nobody's second neighbour, nor
 * does a distance that is not finite. `matches` has room for a->n; *count are written, in order of a. Each distance is
 * computed once, for both directions. Keypoints are not used. a->n and b->n up to 2^31 - 1; either may be 0, which
 * gives no matches. Rows of different models or lengths give KB_E_MODEL. Rows with gaps are copied into the workspace
 * first. options, workspace and error may be NULL. */
KB_API kb_status kb_match_features(const kb_features *a, const kb_features *b, const kb_match_options *options,
                                   kb_workspace *workspace, kb_match *matches, size_t *count, kb_error *error);

typedef struct kb_filter_options {
    uint32_t struct_size;
    float tolerance;     /* 0: 0.3; up to 2. How far two neighbours may deviate, relative to their distance. More for
                            strong perspective, less for flat scenes */
    float max_angle;     /* 0: 37 degrees; up to 90. The largest difference between the rotations of two neighbours */
    float max_scale;     /* 0: 1.6; 1 to 100. The largest ratio of the scales of two neighbours */
    int32_t min_support; /* 0: 2; 1 to 1000 neighbours must agree with a match */
} kb_filter_options;

/* Drops matches that are inconsistent with their neighbours, using the size and angle of the keypoints; linear time.
 * Useful before fitting when many matches are wrong; isolated right matches are lost. Keeps the order. `out` has room
 * for n, up to 2^25 - 1, and may be `matches`. Matches of keypoints with a number that is not finite, a size that is
 * not positive or a coordinate beyond 1e6 px are dropped; an index outside a or b gives KB_E_ARGUMENT. options,
 * workspace and error may be NULL. */
KB_API kb_status kb_filter(const kb_features *a, const kb_features *b, const kb_match *matches, size_t n,
                           const kb_filter_options *options, kb_workspace *workspace, kb_match *out, size_t *count,
                           kb_error *error);

/* Two corresponding points, one per image, in pixels. */
typedef struct kb_point_pair {
    double x1, y1, x2, y2;
} kb_point_pair;

/* The points of n matches, for kb_fit: pair i belongs to match i. quality (n floats, may be NULL) receives the
 * distances for kb_fit_options.quality. KB_E_ARGUMENT when a match has an index outside a or b. error may be NULL. */
KB_API kb_status kb_match_points(const kb_features *a, const kb_features *b, const kb_match *matches, size_t n,
                                 kb_point_pair *pairs, float *quality, kb_error *error);

/* ---------------------------------------------------------------------------------------------------------- fitting */

typedef enum kb_geometry {
    KB_GEOMETRY_HOMOGRAPHY = 1,  /* (x2, y2, 1) ~ H (x1, y1, 1): planes, and cameras that only rotate. 4 pairs. */
    KB_GEOMETRY_FUNDAMENTAL = 2, /* (x2, y2, 1) F (x1, y1, 1)^T = 0: a rigid scene from two viewpoints. 7 pairs. */
    KB_GEOMETRY_SIMILARITY = 3,  /* rotation, scale and translation: a flat scene seen from straight above. 2 pairs. */
    KB_GEOMETRY_AFFINE = 4,      /* linear map and translation: a small or distant plane. 3 pairs. */
    KB_GEOMETRY_ESSENTIAL = 5,   /* as fundamental, between calibrated cameras; gives the relative pose. 5 pairs. */
    KB_GEOMETRY_ROTATION = 6,    /* calibrated cameras with one centre: panoramas, checking a gyroscope. 2 pairs. */
    KB_GEOMETRY_ANY = 7,         /* a homography, or where an epipolar geometry has clearly more places, that one:
                                    fundamental, with cameras essential. kb_fit_report.geometry says which */
    KB_GEOMETRY_INT32 = 0x7fffffff
} kb_geometry;

/* A calibrated camera: focal lengths and principal point in px, and the distortion of OpenCV (k1 k2 p1 p2 k3), zeros
 * for none; or a fisheye lens (k1 k2 k3 k4 of OpenCV's fisheye module and COLMAP's OPENCV_FISHEYE), zeros for one with
 * equal angles between equal steps. COLMAP's principal point is half a pixel larger in both coordinates. */
typedef struct kb_camera {
    uint32_t struct_size;
    double fx, fy, cx, cy;
    double k1, k2, p1, p2, k3;
    double k4;       /* of a fisheye lens; else 0 */
    int32_t fisheye; /* 1: a fisheye lens; p1 and p2 are 0 then */
} kb_camera;

/* The ray (x, y, 1) of a pixel, and the pixel of a ray. A pixel that no ray reaches (beyond where the distortion turns
 * back; of a fisheye lens, 90 degrees and more off the axis) gives NaN. KB_E_ARGUMENT for a camera with numbers that
 * are not finite, a focal length that is not positive, or a number that its lens does not have. */
KB_API kb_status kb_camera_unproject(const kb_camera *camera, double px, double py, double *x, double *y);
KB_API kb_status kb_camera_project(const kb_camera *camera, double x, double y, double *px, double *py);

typedef struct kb_fit_options {
    uint32_t struct_size;
    kb_geometry geometry;     /* 0: homography; of kb_match_images any */
    double threshold;         /* The largest error of an inlier, px. 0: 3, fundamental and essential 1. Transfer error
                                 in image 2 (homography; 2 for sharp small images, 5 for large ones), Sampson distance
                                 (fundamental, essential; up to 1.5). Any: of the homography, three times the other's */
    double confidence;        /* 0: 0.995; below 1. The search stops when a better model is this unlikely. */
    int32_t max_iterations;   /* 0: 2000 for a homography by PROSAC, 10000 otherwise */
    uint64_t seed;            /* the same seed gives the same result; 0 is a seed like any other */
    int32_t plain_ransac;     /* 0: PROSAC, which samples the best pairs first. 1: RANSAC, which ignores the order */
    const float *quality;     /* n numbers, lower is better (match distance). NULL: pairs are given best first */
    const kb_camera *camera1; /* essential, rotation, pose: needed there, any: used; unused elsewhere */
    const kb_camera *camera2; /* of image 2; NULL: the same as camera1. Pose: unused */
    size_t candidates;        /* matches before a filter (kb_filter) chose these n: chance had all of them to choose
                                 from. 0 or fewer than n: n */
    int32_t looks;            /* how many fits the caller makes to take one of them, this one included: chance has the
                                 same number of tries. 0: 1 */
    const float *deviations;  /* n standard deviations of the errors of the pairs, in any unit: errors count by them,
                                 and the threshold is that of the median pair, 0.8 to 4 times as large for others. One
                                 that is not positive, NaN too, counts as the median. NULL: all alike */
} kb_fit_options;

typedef enum kb_fit_result {
    KB_FIT_FOUND = 0,
    KB_FIT_TOO_FEW = 1,      /* fewer different pairs than the geometry needs */
    KB_FIT_DEGENERATE = 2,   /* enough pairs, but all on a line or at one point; fundamental: all on one plane */
    KB_FIT_NOT_FOUND = 3,    /* no model with enough inliers */
    KB_FIT_INT32 = 0x7fffffff
} kb_fit_result;

typedef struct kb_fit_report {
    uint32_t struct_size; /* set with KB_INIT */
    kb_fit_result result;
    double model[9]; /* row major; model[8] = 1 where it can be (homography), unit norm (fundamental); zeros if not
                        found */
    int32_t inliers;
    int32_t iterations;
    double rms;             /* of the inliers, px */
    double rotation[9];     /* essential, rotation, pose: x2 ~ rotation x1 + translation for rays or scene points; */
    double translation[3];  /* of unit length for essential, in the scene's units for pose; else zeros */
    int32_t places;         /* different inliers: pairs within 2 px (or 2 thresholds, if less) of each other in both
                               images are one. What decisions should rest on: detectors find a corner several times */
    kb_geometry geometry;   /* of the model; any: which one it is. Pose: 0 */
} kb_fit_report;

/* Fits the geometry between two images to n pairs of points. "Not found" is a result, not an error. inliers (n bytes,
 * may be NULL) receives 1 for inliers and 0 for the rest. Pairs that are not finite are outliers, and so are, of several
 * pairs that share a point, all but the best. n is below 2^29. options, workspace and error may be NULL. */
KB_API kb_status kb_fit(const kb_point_pair *pairs, size_t n, const kb_fit_options *options, kb_workspace *workspace,
                        uint8_t *inliers, kb_fit_report *report, kb_error *error);

/* A point of the scene and where camera1 of the options sees it. */
typedef struct kb_scene_point {
    double X, Y, Z, x, y;
} kb_scene_point;

/* Absolute pose of a calibrated camera (options->camera1) from n scene points and their pixels: P3P in PROSAC, then
 * non-linear refinement. The same options, results and rules as kb_fit; options->geometry is ignored, the threshold is
 * the reprojection error in px. The pose is in report->rotation and report->translation: a scene point P is seen
 * along rotation P + translation. */
KB_API kb_status kb_fit_pose(const kb_scene_point *points, size_t n, const kb_fit_options *options,
                             kb_workspace *workspace, uint8_t *inliers, kb_fit_report *report, kb_error *error);

/* The pose of a plane from its homography: h maps plane coordinates (x, y, 0) in any unit to (undistorted) pixels of
 * the camera; the pose maps (x, y, 0) to camera coordinates in the same unit, in front of the camera. KB_E_ARGUMENT
 * when h is not the image of a plane. */
KB_API kb_status kb_pose_from_homography(const double h[9], const kb_camera *camera, double rotation[9],
                                         double translation[3]);

/* Applies a homography; out_x and out_y become NaN for a point at infinity. Does nothing when a pointer is NULL. */
KB_API void kb_homography_apply(const double h[9], double x, double y, double *out_x, double *out_y);

/* ------------------------------------------------------------------------------------------------------- two images */

/* How a pair of images is looked at: the angles that its keypoints are described with, and what earlier looks found.
 * The numbers can be combined in options. */
typedef enum kb_look {
    KB_LOOK_UPRIGHT = 1,  /* no angles: most photographs are taken upright, and angles of keypoints are noisy */
    KB_LOOK_ORIENTED = 2, /* an angle per keypoint, the detector's; SIFT's places get one by kb_orient */
    KB_LOOK_ROTATED = 4,  /* one rotation for the whole pair: 0 in the first image, kb_pair.rotation in the second */
    KB_LOOK_WARPED = 8,   /* after a homography, affinity or similarity: the second image warped into the first,
                             detected, described upright and matched near by. Models with binary rows */
    KB_LOOK_GUIDED = 16,  /* after a fundamental or essential matrix: matches along epipolar lines. Binary rows */
    KB_LOOK_INT32 = 0x7fffffff
} kb_look;

typedef struct kb_pair_options {
    uint32_t struct_size;
    int32_t looks;                     /* KB_LOOK_*, combined, of which UPRIGHT or ORIENTED; 0: all but GUIDED */
    const kb_detect_options *detect;   /* NULL: defaults. Its orientation is the rule of the oriented look, with NONE
                                          there is no such look; second_angle and parallel are not used, mask must be
                                          NULL */
    const kb_image *mask_a, *mask_b;   /* as in kb_detect_options, one for each image; may be NULL */
    float scale;                       /* of kb_describe; 0: the detector's (kb_model_scale) */
    const kb_match_options *match;     /* NULL: mutual nearest neighbours. parallel is not used */
    const kb_filter_options *filter;   /* NULL: defaults */
    int32_t no_filter;                 /* 1: fit all matches, without kb_filter */
    const kb_fit_options *fit;         /* the geometry. NULL: none; the look is then the one with the most matches.
                                          quality, candidates and deviations are not used: matches are weighed
                                          by scale and strength for epipolar geometries */
    const kb_parallel *parallel;       /* for all steps */
} kb_pair_options;

/* What two images have in common. The caller sets the buffers, kb_match_images the rest. */
typedef struct kb_pair {
    uint32_t struct_size;  /* set with KB_INIT */
    kb_look look;          /* which gave the matches and the geometry */
    kb_features *a, *b;    /* of the two images, with the angles of the look; as for kb_detect, whose room limits
                              max_keypoints. Rows are not given */
    kb_match *matches;     /* the matches that were fitted, in order of a; room for a->capacity */
    uint8_t *inliers;      /* 1 for inliers of the geometry, 0 for other matches; room for a->capacity */
    kb_fit_report *fit;    /* set with KB_INIT; may be NULL */
    size_t count;          /* matches */
    size_t candidates;     /* matches before the filter */
    float rotation;        /* of the second image against the first, degrees clockwise from 0 to 360, where look is
                              KB_LOOK_ROTATED or follows it; else 0 */
    int32_t looks;         /* how many were tried */
} kb_pair;

/* Matches two images: detects once, then describes, matches, filters and fits by one or more looks. Upright comes
 * first, unless the strongest keypoints show that the pair is turned; oriented follows (or upright) where no geometry
 * is found, or fewer than half of the matches agree with it. Two more may follow: rotated, where these show a rotation
 * of the pair and no warped look comes; then warped after a homography, affinity or similarity, or guided after an
 * epipolar geometry where it is asked for. The look whose geometry has the most places (kb_fit_report) is taken; the
 * fits know how many looks there were. SIFT and RootSIFT are matched as floats. options, workspace and error may be
 * NULL: no geometry without options. */
KB_API kb_status kb_match_images(const kb_model *model, const kb_image *a, const kb_image *b,
                                 const kb_pair_options *options, kb_workspace *workspace, kb_pair *pair,
                                 kb_error *error);

/* ----------------------------------------------------------------------------------------------------------- memory */

/* Temporary memory that is kept from call to call. Every function that takes a workspace also takes NULL and then
 * allocates for itself. Its content does not outlive a call: calls reuse it one after the other, and it is as large as
 * the largest one needed. Never use one in two calls at the same time. */
KB_API kb_status kb_workspace_create(const kb_allocator *allocator, kb_workspace **out);
/* A workspace inside the caller's buffer, at any address: it never allocates, and a call that needs more gives
 * KB_E_MEMORY. KB_E_SPACE when the buffer is too small even for an empty one. The buffer must outlive the workspace. */
KB_API kb_status kb_workspace_create_in(void *buffer, size_t size, kb_workspace **out);
KB_API void kb_workspace_free(kb_workspace *workspace);

/* The largest inputs of the calls that will use a workspace. A field of 0 or NULL: no call of that kind. */
typedef struct kb_workspace_limits {
    uint32_t struct_size;
    int32_t threads;                 /* of the kb_parallel in the options, up to 256; 0: 1 */
    int32_t width, height;           /* of images */
    kb_format format;                /* KB_FORMAT_GRAY16 or a colour: images of any format */
    const kb_detect_options *detect; /* kb_detect with these options or fewer keypoints; mask and parallel do not
                                        count, mask_margin does */
    const kb_model *model;           /* kb_describe, kb_describe_patches, kb_sample */
    size_t keypoints;                /* per call of these, of kb_select and kb_orient; 0: detect's max_keypoints */
    size_t rows_a, rows_b;           /* kb_match_features, kb_match_knn; kb_filter for rows_a matches */
    size_t row_bytes;                /* of these rows; 0: what the model gives, floats too, or KB_MAX_BITS / 8 */
    size_t pairs;                    /* kb_fit, kb_fit_pose */
    int32_t refine;                  /* 1: kb_match_refine of two images */
    int32_t track;                   /* 1: kb_track_points of two images */
    int32_t guided;                  /* 1: kb_match_guided of rows_a and rows_b */
    int32_t stereo;                  /* 1: kb_match_stereo of rows_a and rows_b, with images or without */
} kb_workspace_limits;

/* Grows the workspace, unless it is large enough, so that no call within the limits allocates, for images and rows of
 * any content. *bytes (may be NULL) receives the bytes that it holds then, with itself. workspace NULL only asks how
 * many are needed, which is also the size of a buffer for kb_workspace_create_in. The number depends on the CPU
 * (kb_cpu_features), since wider vectors process more data at once. KB_E_ARGUMENT for a limit out of its range,
 * KB_E_MEMORY when the bytes do not fit into size_t, KB_E_SPACE for a workspace in a caller's buffer that is too small.
 * For several models or options, call it once for each. error may be NULL. */
KB_API kb_status kb_workspace_reserve(kb_workspace *workspace, const kb_workspace_limits *limits, size_t *bytes,
                                      kb_error *error);

/* ---------------------------------------------------------------------------------------------------------- threads */

/* How the library asks for parallel work: run(self, count, task, context) must call task(context, i) once for every i
 * from 0 to count - 1, in any order and on any threads, and return when all are done. The library never calls run from
 * inside a task. Results do not depend on how tasks are distributed. */
struct kb_parallel {
    uint32_t struct_size; /* set with KB_INIT; otherwise everything runs on the calling thread */
    int32_t threads; /* how many tasks may run at once; the library splits its work into about this many tasks. Below 2,
                        or with run NULL, everything runs on the calling thread. */
    void (*run)(void *self, int32_t count, void (*task)(void *context, int32_t index), void *context);
    void *self;
};

/* A small thread pool, for `parallel` in options. threads: 1 to 256, or 0 for one per processor. A pool serves one call
 * at a time and must not be freed while it does. A library built with KB_NO_THREADS starts no threads: everything runs
 * on the calling thread. */
KB_API kb_status kb_pool_create(int32_t threads, const kb_allocator *allocator, kb_parallel **out);
KB_API void kb_pool_free(kb_parallel *pool);

#ifdef __cplusplus
}
#endif
#endif
