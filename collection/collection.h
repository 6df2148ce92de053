/* SPDX-License-Identifier: Apache-2.0 */
/* Collections of photographs: describe, choose pairs, match and verify, merge. A library: it returns errors, and prints
 * nothing. The parts of a job lie as files in its work folder:
 *
 *   features/NNNNNN.kbf   features of image NNNNNN, or NNNNNN.err with the reason why there are none
 *   features/NNNNNN.kbt   patches of its keypoints, for refinement
 *   features/NNNNNN.key   the hash of the image file, and what the file system said of it when it was hashed
 *   pairs.txt             which images are matched
 *   expanded.txt          which ones besides, since both are verified with a third
 *   blocks/NNNNNN.pairs   the verified pairs among BLOCK pairs of one of these lists
 *
 * Each file is a function of its inputs alone, carries a hash of them, and is written beside and renamed. So any process
 * may make any of them, twice or at once, and one that was killed loses only the file that it was at. */
#ifndef COLLECTION_COLLECTION_H
#define COLLECTION_COLLECTION_H

#include "collection/photos.h"
#include "io/colmap_db.h"
#include "io/pair_list.h"
#include "pipeline/patch_sheet.h"

#define COLLECTION_BLOCK 128 /* pairs */

typedef enum collection_pairs_by {
    PAIRS_AUTO,
    PAIRS_EXHAUSTIVE,
    PAIRS_SEQUENTIAL,
    PAIRS_RETRIEVAL,
    PAIRS_GPS,
    PAIRS_LIST
} collection_pairs_by;

/* What is given stays the caller's and lives as long as the collection. */
typedef struct collection_options {
    const pipeline *pipeline; /* open, of a model with binary rows */
    io_read_options reading;
    const char *folder;     /* the work folder */
    bool folder_is_ours;    /* its name is not the user's: a link in its place is not followed */
    const char *vocabulary; /* for PAIRS_RETRIEVAL; NULL: that of 10,000 words for the model */
    const char *list;       /* for PAIRS_LIST: two names per line */
    const io_camera *camera; /* of all images; NULL: a guess per image */
    bool one_camera;         /* images of one size share the guess */
    bool no_refine;          /* keypoints stay where the detector found them; the pipeline keeps patches unless so */
    bool no_expand;          /* pairs by retrieval are not expanded along verified ones */
    collection_pairs_by by;
    int32_t neighbours;      /* 0: few where pairs are expanded, else many */
    int32_t overlap, min_places;
    double reach;     /* metres, for PAIRS_GPS */
    double threshold; /* px, of an inlier; 0: by the geometry */
    photos_host host;
} collection_options;

typedef struct collection {
    collection_options options;
    io_names images, names; /* paths, and how the database calls them */
    uint64_t describe_hash; /* of what decides the features besides the image: options, model, version */
    bool *good;             /* images that have features */
    uint32_t *keypoints;    /* how many of them each good image has */
    uint64_t *stamps;       /* of images: features of which content, by which options; 0: not known yet */
    uint32_t (*pairs)[2];   /* those of pairs.txt, then those of expanded.txt */
    size_t pair_count, pair_room;
    size_t chosen;          /* pairs of pairs.txt */
    bool expanded;          /* no further pairs come */
    uint64_t pairs_hash;
    io_pairs listed; /* pairs of options.list */
    size_t failed;
    float (*moves)[2]; /* of all keypoints, image by image, in steps of their patches; NULL: not known yet */
} collection;

/* Of many machines each does one part, from 0. */
typedef struct collection_shard {
    int32_t index, count;
} collection_shard;
static const collection_shard collection_whole = {0, 1};

/* ---- the job ---- steps in their order; shards of a step in any order, again and at once ---- */
/* Takes over what is in `images`, sorts and names them. Reads and writes nothing. */
void collection_open(collection *c, const collection_options *options, io_names *images);
void collection_close(collection *c);
bool collection_folders_make(const collection *c, io_error *error); /* the parent of the work folder must be there */
bool collection_describe(collection *c, collection_shard shard, io_error *error);
/* Reads or makes the list of pairs; needs features of all images. */
bool collection_pairs(collection *c, io_error *error);
/* Matches the pairs that are known. */
bool collection_match(collection *c, collection_shard shard, io_error *error);
/* Once all of them are matched: adds pairs of images that are both verified with a third, where pairs are chosen by
 * retrieval. Then collection_match again. */
bool collection_expand(collection *c, io_error *error);
bool collection_match_all(collection *c, io_error *error); /* match, expand, match */

/* ---- outputs, after all is matched ---- */
typedef struct collection_counts {
    size_t images, failed, keypoints, pairs, verified, matches;
} collection_counts;
/* COLMAP's database: the same bytes for any number of shards and threads. */
bool collection_merge(collection *c, const char *database, collection_counts *counts, io_error *error);
bool collection_openmvg_write(collection *c, const char *folder, io_error *error);
/* The files that it would write; fails where OpenMVG could not tell images apart. */
bool collection_openmvg_outputs(const collection *c, const char *folder, io_names *out, io_error *error);
/* COLMAP's text of matches (.txt) or arrays (.npz). */
bool collection_matches_write(collection *c, const char *path, io_error *error);
/* Whether that file can hold the names: a text cannot hold spaces. */
bool collection_matches_check(const collection *c, const char *path, io_error *error);
bool collection_page_write(const collection *c, const char *path, double seconds, io_error *error);
/* The camera of an image: that of the options, with the focal length that EXIF tells, else a guess. */
io_camera collection_camera(const collection *c, const features *f);
/* How far every keypoint moves, so that keypoints that are matched show the same point: into c->moves. */
bool collection_refine(collection *c, io_error *error);
void collection_unrefine(collection *c); /* forgets it */
/* Calls take for every image that has features, with its keypoints where refinement moved them. */
typedef bool (*collection_take_image)(void *context, size_t image, const features *f, io_error *error);
bool collection_each_image(collection *c, collection_take_image take, void *context, io_error *error);

/* ---- files of the work folder ----
 * Readers return false without words when a file is not there, is not whole, is of other inputs, or has numbers that
 * lead nowhere, such as matches of keypoints that the images do not have. */
char *collection_path(const collection *c, const char *part, size_t number, const char *suffix);
bool collection_features_read(const collection *c, size_t image, features *out);
bool collection_features_check(const collection *c, size_t image, uint32_t *keypoints);
/* The patches of an image with so many keypoints; they lie in the file, behind COLLECTION_PATCHES_HEAD bytes. */
#define COLLECTION_PATCHES_HEAD 24
bool collection_patches_open(const collection *c, size_t image, size_t keypoints, io_mapping *file);
bool collection_features_write(const collection *c, size_t image, const features *f, io_error *error);
/* The reason why this image, with this content and these options, has no features; whether there is one. */
bool collection_failure_check(const collection *c, size_t image);
bool collection_failure_write(const collection *c, size_t image, const char *why, io_error *error);
/* A hash of the content of an image's file; 0 when it cannot be read. Files that are as they were when they were hashed
 * last, by size, times to the nanosecond and inode, are not read again. */
uint64_t collection_content(const collection *c, size_t image);
/* Fills the stamps of the shard's images. */
void collection_stamp(collection *c, collection_shard shard);

/* ---- lists of pairs ---- each pair once and ascending; a list begins at c->pairs[first] and goes to the end */
bool collection_expands(const collection *c); /* whether this kind of pairs is expanded */
void collection_pairs_add(collection *c, size_t a, size_t b); /* in any order; images without features are left out */
void collection_pairs_settle(collection *c, size_t first);
/* Whether there is the list of this hash, which then takes the place of what was behind `first`. */
bool collection_pairs_load(collection *c, const char *name, uint64_t hash, size_t first);
bool collection_pairs_write(const collection *c, const char *name, uint64_t hash, size_t first, io_error *error);
bool collection_chosen_pair(const collection *c, size_t a, size_t b); /* whether pairs.txt has it; a < b */
uint64_t collection_expanded_hash(const collection *c);
void collection_expanded_load(collection *c); /* into c->expanded, if that is not so; any process may have made the list */

/* A verified pair. */
typedef struct collection_pair {
    uint32_t a, b;
    kb_geometry geometry;
    double model[9], rotation[9], translation[3]; /* of kb_verification */
    kb_match *matches; /* inliers first */
    uint32_t count, inliers;
    float turned;        /* how far b is turned against a, degrees clockwise, where there are shifts */
    patch_shift *shifts; /* of the inliers; NULL without refinement */
} collection_pair;
typedef bool (*collection_take)(void *context, const collection_pair *pair, io_error *error);
size_t collection_blocks(const collection *c);
size_t collection_block_first(const collection *c, size_t block); /* pair; no block has pairs of two lists */
size_t collection_block_pairs(const collection *c, size_t block); /* how many, verified or not */
bool collection_blocks_ready(const collection *c, io_error *error); /* all of them are matched */
bool collection_block_check(const collection *c, size_t block);
/* results: of all pairs of the block; those without inliers are left out. */
bool collection_block_write(const collection *c, size_t block, const collection_pair *results, io_error *error);
/* Calls take for each verified pair of a block, in order. False when the block is not there or take says so. */
bool collection_block_read(const collection *c, size_t block, collection_take take, void *context, io_error *error);
/* The same for all blocks in order; fails while pairs are not expanded. */
bool collection_pairs_read(const collection *c, collection_take take, void *context, io_error *error);

/* Calls add(context, a, b) for pairs of images that were taken near to each other, as their EXIF data tell: for each
 * the `neighbours` nearest within `reach` metres. */
bool collection_gps(const collection *c, void (*add)(void *context, size_t a, size_t b), void *context,
                    io_error *error);

#endif
