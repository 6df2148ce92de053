/* keybits collection: the parts of the job, which lie as files in its work folder.
 *
 *   features/NNNNNN.kbf   features of image NNNNNN, or NNNNNN.err with the reason why there are none
 *   features/NNNNNN.key   the hash of the image file, and what the file system said of it when it was hashed
 *   pairs.txt             which images are matched
 *   blocks/NNNNNN.kbp     the verified pairs among BLOCK pairs of that list
 *
 * Each file is a function of its inputs alone, carries a hash of them, and is written beside and renamed. So any process
 * may make any of them, twice or at once, and one that was killed loses only the file that it was at. */
#ifndef CLI_COLLECTION_H
#define CLI_COLLECTION_H

#include "io/colmap_db.h"
#include "places.h"

#define COLLECTION_BLOCK 128 /* pairs */
#define COLLECTION_SAMPLES 1000 /* at most, of a fit */

typedef enum collection_pairs_by {
    PAIRS_AUTO,
    PAIRS_EXHAUSTIVE,
    PAIRS_SEQUENTIAL,
    PAIRS_RETRIEVAL,
    PAIRS_GPS,
    PAIRS_LIST
} collection_pairs_by;

enum { STEP_ALL, STEP_DESCRIBE, STEP_PAIRS, STEP_MATCH, STEP_MERGE };

typedef struct collection_job {
    cli_pipeline pipeline;
    io_read_options reading;
    const char *output, *work, *vocabulary, *list, *camera_text;
    const char *openmvg, *matches, *page; /* further outputs; NULL: none */
    io_camera camera; /* of all images, with camera_text */
    collection_pairs_by by;
    int32_t neighbours, overlap, min_inliers;
    double reach; /* metres, for PAIRS_GPS */
    bool one_camera;
    int32_t step;          /* STEP_ALL to STEP_MERGE */
    int32_t shard, shards; /* from 0 */
    cli_common *common;
    io_names images, names; /* paths, and how the database calls them */
    char *folder;           /* the work folder */
    uint64_t describe_hash; /* of what decides the features besides the image: options, model, version */
    bool *good;             /* images that have features */
    uint32_t *keypoints;    /* how many of them each good image has */
    uint64_t *stamps;       /* of images: features of which content, by which options */
    uint32_t (*pairs)[2];
    size_t pair_count;
    uint64_t pairs_hash;
    size_t failed;
} collection_job;

/* ---- files of the work folder ----
 * Readers return false without words when a file is not there, is not whole, is of other inputs, or has numbers that
 * lead nowhere, such as matches of keypoints that the images do not have. */
uint64_t collection_hash(uint64_t hash, const void *data, size_t size); /* FNV-1a */
char *collection_path(const collection_job *j, const char *part, size_t number, const char *suffix);
bool collection_features_read(const collection_job *j, size_t image, features *out);
bool collection_features_check(const collection_job *j, size_t image, uint32_t *keypoints);
bool collection_features_write(const collection_job *j, size_t image, const features *f, io_error *error);
/* The reason why this image, with this content and these options, has no features; whether there is one. */
bool collection_failure_check(const collection_job *j, size_t image);
bool collection_failure_write(const collection_job *j, size_t image, const char *why, io_error *error);
/* A hash of the content of an image's file; 0 when it cannot be read. Files that are as they were when they were hashed
 * last, by size, times to the nanosecond and inode, are not read again. */
uint64_t collection_content(const collection_job *j, size_t image);

/* The list of pairs, each once and ascending. */
bool collection_pairs_load(collection_job *j, const char *path);
bool collection_pairs_write(const collection_job *j, const char *path, io_error *error);

/* A verified pair. */
typedef struct collection_pair {
    uint32_t a, b;
    kb_geometry geometry;
    double model[9];
    kb_match *matches; /* inliers first */
    uint32_t count, inliers;
} collection_pair;
size_t collection_blocks(const collection_job *j);
size_t collection_block_pairs(const collection_job *j, size_t block); /* how many, verified or not */
bool collection_block_check(const collection_job *j, size_t block);
/* results: of all pairs of the block; those without inliers are left out. */
bool collection_block_write(const collection_job *j, size_t block, const collection_pair *results, io_error *error);
/* Calls take for each verified pair of a block, in order. False when the block is not there or take says so. */
bool collection_block_read(const collection_job *j, size_t block,
                           bool (*take)(void *context, const collection_pair *pair, io_error *error), void *context,
                           io_error *error);
/* The same for all blocks in order. */
bool collection_pairs_read(const collection_job *j,
                           bool (*take)(void *context, const collection_pair *pair, io_error *error), void *context,
                           io_error *error);

/* ---- steps ---- */
bool collection_describe(collection_job *j, io_error *error);
/* Reads or makes the list of pairs; needs features of all images. */
bool collection_pairs(collection_job *j, io_error *error);
bool collection_match(collection_job *j, io_error *error);

/* Calls add(context, a, b) for pairs of images that were taken near to each other, as their EXIF data tell: for each
 * the `neighbours` nearest within `reach` metres. */
bool collection_gps(const collection_job *j, void (*add)(void *context, size_t a, size_t b), void *context,
                    io_error *error);

/* ---- outputs, after the match step ---- */
/* The camera of an image: that of --camera, else a guess. */
io_camera collection_camera(const collection_job *j, const features *f);
bool collection_openmvg_write(const collection_job *j, io_error *error);
bool collection_openmvg_claim(const collection_job *j, io_error *error);
/* COLMAP's text of matches (.txt) or arrays (.npz). */
bool collection_matches_write(const collection_job *j, io_error *error);
bool collection_page_write(const collection_job *j, double seconds, io_error *error);

#endif
