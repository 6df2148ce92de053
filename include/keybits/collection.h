/* keybits: collections of photographs, from image files to COLMAP's database with verified matches (docs/collections.md).
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
 *     kb_collection_merge(collection, "photos.db", &counts, &error);
 *     kb_collection_free(collection);
 *
 * Belongs to libkeybits-collection, a library beside libkeybits that reads and writes files. The rules at the head of
 * keybits.h hold here too, with two exceptions: a kb_collection starts threads of its own, and when memory is out the
 * process ends (abort). A collection serves one call at a time.
 *
 * Everything that is done is kept in the work folder. A run that was interrupted goes on; steps and their shards may run
 * in any process, on any machine that sees the same paths, again and at once. */
#ifndef KEYBITS_COLLECTION_H
#define KEYBITS_COLLECTION_H

#include "keybits/keybits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which pairs of images are matched. */
typedef enum kb_pairs {
    KB_PAIRS_AUTO = 0,   /* those of the list if there is one, all for up to 100 images, else by retrieval */
    KB_PAIRS_EXHAUSTIVE, /* all */
    KB_PAIRS_SEQUENTIAL, /* neighbours in the natural order of names */
    KB_PAIRS_RETRIEVAL,  /* the most similar by words */
    KB_PAIRS_GPS,        /* the nearest by the positions in their EXIF data */
    KB_PAIRS_LIST,       /* those of a list */
    KB_PAIRS_INT32 = 0x7fffffff
} kb_pairs;

/* So many of `total` are done of this step ("describing", "matching"); 0 cancels. */
typedef int32_t (*kb_collection_progress)(void *context, const char *step, size_t done, size_t total);
/* A sentence about what did not stop the work, such as an image that cannot be read. */
typedef void (*kb_collection_warn)(void *context, const char *sentence);

/* Zero or NULL is the default of every field but work. Strings are copied. */
typedef struct kb_collection_options {
    uint32_t struct_size;
    const char *work;       /* the work folder; made if it is not there, in a folder that is */
    const char *model;      /* a built-in name or a .kbm file, with binary rows; bag256 */
    const char *vocabulary; /* for retrieval: a name or a file; that of 10,000 words for the model */
    const char *list;       /* a file of two names per line, as the database has them */
    const char *camera;     /* of all images, such as "PINHOLE,2759,2764,1520,1006"; a guess per image */
    kb_pairs pairs;
    kb_detector detector;
    kb_selection selection;
    kb_orientation orientation; /* of keypoints; KB_ORIENTATION_NONE: upright rows */
    int32_t max_keypoints;      /* 2000 */
    int32_t neighbours;         /* per image, for retrieval and gps: 30 */
    int32_t overlap;            /* following images, for sequential: 10 */
    int32_t min_inliers;        /* of a verified pair, at least 8: 15 */
    int32_t one_camera;         /* 1: images of one size share the guessed camera */
    int32_t exif;               /* 1: images are turned as their EXIF data say */
    int32_t threads;            /* 0: one per processor */
    int32_t max_size;           /* px: larger images are shrunk until their longer side has so many; 3200; -1: none is */
    double reach;               /* metres between the images of a pair, for gps: 100 */
    double threshold;           /* px, the largest error of an inlier: 1.5, of a homography 3 */
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

/* ---- outputs ---- once all is matched */
/* COLMAP's database: the same bytes for any number of shards and threads. counts may be NULL. */
KB_API kb_status kb_collection_merge(kb_collection *collection, const char *database, kb_collection_counts *counts,
                                     kb_error *error);
/* A folder for OpenMVG; matches as .txt or .npz; a summary as a page. */
KB_API kb_status kb_collection_write_openmvg(kb_collection *collection, const char *folder, kb_error *error);
KB_API kb_status kb_collection_write_matches(kb_collection *collection, const char *path, kb_error *error);
KB_API kb_status kb_collection_write_page(kb_collection *collection, const char *path, kb_error *error);

#ifdef __cplusplus
}
#endif

#endif
