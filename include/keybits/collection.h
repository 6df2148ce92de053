/* SPDX-License-Identifier: Apache-2.0 */
/* keybits: collections of photographs, from image files to COLMAP's database with verified matches
 * (docs/collections.md).
 *
 *     kb_collection_options options;
 *     kb_collection *collection;
 *     kb_collection_counts counts;
 *     kb_error error;
 *     KB_INIT(options);
 *     KB_INIT(counts);
 *     options.work = "photos.work";
 *     kb_collection_open(paths, count, &options, &collection, &error);
 *     kb_collection_describe(collection, 0, 1, &error);
 *     kb_collection_pairs(collection, &error);
 *     kb_collection_match(collection, 0, 1, &error);
 *     kb_collection_expand(collection, &error);
 *     kb_collection_match(collection, 0, 1, &error);
 *     kb_collection_merge(collection, "photos.db", &counts, &error);
 *     kb_collection_free(collection);
 *
 * Belongs to libkeybits-collection, a library beside libkeybits that reads and writes files. The rules at the head of
 * keybits.h hold here too, with two exceptions: a kb_collection starts threads of its own, and when memory is out the
 * process ends (abort). A collection serves one call at a time.
 *
 * Everything that is done is kept in the work folder. A run that was interrupted goes on; steps and their shards may
 * run in any process, on any machine that sees the same paths, again and at once. */
#ifndef KEYBITS_COLLECTION_H
#define KEYBITS_COLLECTION_H

#include "keybits/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A vocabulary that is built into this library, such as "bag256-1k"; KB_E_UNKNOWN for another name. Release with
 * kb_vocabulary_free. */
KB_API kb_status kb_collection_vocabulary(const char *name, const kb_allocator *allocator, kb_vocabulary **out);

/* Which pairs of images are matched. */
typedef enum kb_pairs {
    KB_PAIRS_AUTO = 0,   /* the list if there is one, all pairs for up to 100 images, else by retrieval */
    KB_PAIRS_EXHAUSTIVE, /* all */
    KB_PAIRS_SEQUENTIAL, /* neighbours in the natural order of names */
    KB_PAIRS_RETRIEVAL,  /* the most similar by words */
    KB_PAIRS_GPS,        /* the nearest by the positions in their EXIF data */
    KB_PAIRS_LIST,       /* the pairs of a list */
    KB_PAIRS_INT32 = 0x7fffffff
} kb_pairs;

/* Which rows of an image are kept. */
typedef enum kb_rows {
    KB_ROWS_BOTH = 0, /* oriented ones decide about a pair, and upright ones are taken where they match more of it; with
                         KB_ORIENTATION_NONE upright ones only */
    KB_ROWS_ORIENTED, /* by the angle of every keypoint: photographs that are turned against each other */
    KB_ROWS_UPRIGHT,  /* without angles: more matches of photographs that are not */
    KB_ROWS_INT32 = 0x7fffffff
} kb_rows;

/* Told when `done` of `total` items of a step ("describing", "matching") are done; returning 0 cancels. */
typedef int32_t (*kb_collection_progress)(void *context, const char *step, size_t done, size_t total);
/* A sentence about what did not stop the work, such as an image that cannot be read. */
typedef void (*kb_collection_warn)(void *context, const char *sentence);

/* Zero or NULL is the default of every field but work. Strings are copied. */
typedef struct kb_collection_options {
    uint32_t struct_size;
    const char *work;       /* the work folder; made if it is not there, in a folder that is */
    const char *model;      /* a built-in name or a .kbm file, with binary rows; bag256 */
    const char *vocabulary; /* for retrieval: a name or a file; NULL: 10,000 words for the model */
    const char *list;       /* a file of two names per line, as the database has them */
    const char *camera;     /* of all images, such as "PINHOLE,2759,2764,1520,1006"; by EXIF or a guess per image */
    kb_pairs pairs;
    kb_detector detector;
    kb_selection selection;
    kb_orientation orientation; /* of keypoints; KB_ORIENTATION_NONE: upright rows only */
    kb_rows rows;
    int32_t max_keypoints;      /* 2000 */
    int32_t neighbours;         /* per image, for retrieval and gps: 10 where pairs are expanded, else 30 */
    int32_t overlap;            /* following images, for sequential: 10 */
    int32_t min_places;         /* different inliers of a verified pair; what chance asks for (kb_pair_verify) */
    int32_t one_camera;         /* 1: images of one size share the guessed camera */
    int32_t no_refine;          /* 1: matched keypoints are not aligned to a fraction of a pixel */
    int32_t no_expand;          /* 1: pairs by retrieval are not expanded along verified ones */
    int32_t exif;               /* 1: images are turned as their EXIF data say */
    int32_t threads;            /* 0: one per processor */
    int32_t max_size;           /* px: images with a longer side are shrunk to it; 0: 3200; -1: never */
    double reach;               /* metres between the images of a pair, for gps: 100 */
    double threshold;           /* px, the largest error of an inlier: 3, half of it from an epipolar line */
    float max_ratio;            /* of a match, to the second nearest: off */
    float max_distance;         /* of a match, bits: off */
    uint64_t seed;
    kb_collection_progress progress; /* called on the calling thread */
    kb_collection_warn warn;         /* likewise */
    void *context;
} kb_collection_options;

typedef struct kb_collection_counts {
    uint32_t struct_size;
    size_t images, failed, keypoints, pairs, verified_pairs, matches;
} kb_collection_counts;

typedef struct kb_collection kb_collection;

/* images: paths, folders or @list.txt, as the program takes them. Nothing is read but folders and lists. */
KB_API kb_status kb_collection_open(const char *const *images, size_t count, const kb_collection_options *options,
                                    kb_collection **out, kb_error *error);
KB_API void kb_collection_free(kb_collection *collection); /* NULL is fine */
/* How many images there are; in natural order, and how the database calls them (NULL outside). */
KB_API size_t kb_collection_count(const kb_collection *collection);
KB_API const char *kb_collection_name(const kb_collection *collection, size_t image);

/* ---- steps ---- of describe and match any shards, 0 <= shard < shards <= 1000000, in any order and anywhere */
KB_API kb_status kb_collection_describe(kb_collection *collection, int32_t shard, int32_t shards, kb_error *error);
/* Needs the features of all images; KB_E_ARGUMENT names one that is missing. */
KB_API kb_status kb_collection_pairs(kb_collection *collection, kb_error *error);
/* Calls kb_collection_pairs if it was not called. */
KB_API kb_status kb_collection_match(kb_collection *collection, int32_t shard, int32_t shards, kb_error *error);
/* Once all shards are matched: adds the pairs of images that are both verified with a third, where pairs are chosen by
 * retrieval; else there is nothing to add. kb_collection_match again matches them. */
KB_API kb_status kb_collection_expand(kb_collection *collection, kb_error *error);

/* ---- outputs ---- once all is matched */
/* COLMAP's database: the same bytes for any number of shards and threads. counts may be NULL. */
KB_API kb_status kb_collection_merge(kb_collection *collection, const char *database, kb_collection_counts *counts,
                                     kb_error *error);
/* A folder for OpenMVG; matches as .txt or .npz; a summary as a page. */
KB_API kb_status kb_collection_write_openmvg(kb_collection *collection, const char *folder, kb_error *error);
KB_API kb_status kb_collection_write_matches(kb_collection *collection, const char *path, kb_error *error);
KB_API kb_status kb_collection_write_page(kb_collection *collection, const char *path, kb_error *error);

/* ----------------------------------------------------------------------------------------------------- localisation */

/* What a map is made of; zero or NULL is the default of every field. */
typedef struct kb_localizer_map_options {
    uint32_t struct_size;
    const char *model;      /* of descriptors: a built-in name or a .kbm file; bag256 */
    const char *vocabulary; /* a name or a file; NULL: 10,000 words for the model */
    kb_detector detector;
    int32_t max_keypoints; /* 2000 */
    int32_t max_size;      /* px: images with a longer side are shrunk to it; 0: 3200; -1: never */
    int32_t threads;       /* 0: one per processor */
    kb_collection_progress progress;
    kb_collection_warn warn;
    void *context;
} kb_localizer_map_options;

typedef struct kb_localizer_map_counts {
    uint32_t struct_size;
    size_t images, failed, keypoints, pairs, rows, points;
    double rms; /* px, of the views of points */
} kb_localizer_map_counts;

/* Makes a map (.kbl) of COLMAP's model in a folder, text or binary, and the folder that its images are below
 * (docs/localize.md). options and counts may be NULL. */
KB_API kb_status kb_localizer_build(const char *colmap_model, const char *images,
                                    const kb_localizer_map_options *options, const char *output,
                                    kb_localizer_map_counts *counts, kb_error *error);

typedef struct kb_localizer_options {
    uint32_t struct_size;
    const kb_camera *camera; /* of the photograph; NULL: the camera of the map or of EXIF, or guesses that are
                                refined */
    int32_t candidates;      /* images of the map that are matched; 0: 10; up to 64 */
    int32_t min_inliers;     /* 0: 12 */
    double threshold;        /* px, the largest reprojection error; 0: 4 px of the photograph as it is described */
    uint64_t seed;
} kb_localizer_options;

typedef struct kb_location {
    uint32_t struct_size;
    int32_t found;
    double rotation[9];    /* a scene point P is seen along rotation P + translation */
    double translation[3];
    double position[3];    /* of the camera */
    double sigma_position; /* standard deviations: scene units, */
    double sigma_rotation; /* degrees, */
    double sigma_focal;    /* px; 0: the camera was not refined */
    double rms;            /* px, of the inliers */
    double focal, cx, cy;  /* px, of the camera that was used */
    double ms, ms_describe; /* all; reading and describing */
    size_t keypoints, matches, inliers;
    size_t nearest;          /* the image of the map that has most of the inliers */
} kb_location;

typedef struct kb_localizer kb_localizer;

/* The file stays mapped until kb_localizer_free. threads as above. A localizer serves one call at a time. */
KB_API kb_status kb_localizer_open(const char *map, int32_t threads, kb_localizer **out, kb_error *error);
KB_API void kb_localizer_free(kb_localizer *localizer); /* NULL is fine */
KB_API size_t kb_localizer_count(const kb_localizer *localizer); /* images of the map */
KB_API const char *kb_localizer_name(const kb_localizer *localizer, size_t image); /* NULL outside */
/* The pose of a photograph; not found is a result. options may be NULL. */
KB_API kb_status kb_localizer_find(kb_localizer *localizer, const char *photo, const kb_localizer_options *options,
                                   kb_location *out, kb_error *error);

#ifdef __cplusplus
}
#endif

#endif
