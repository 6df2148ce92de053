/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands from descriptors to images share: describing many images with a progress bar, indexes as files. */
#ifndef CLI_RETRIEVAL_H
#define CLI_RETRIEVAL_H

#include "cli/groups.h"
#include "collection/photos.h"
#include "io/progress.h"

/* ---- many images ---- */

/* photos_describe with a progress bar. */
bool retrieval_describe(cli_common *common, const cli_pipeline *p, const io_read_options *reading,
                        const io_names *images, const char *label, photos_take take, void *context, io_error *error);
/* Opens the pipeline for binary rows. */
bool retrieval_open(cli_common *common, cli_pipeline *p, io_error *error);

/* A photograph without keypoints is like none, which people should know. */
void retrieval_warn_empty(const cli_common *common, const char *photo, size_t keypoints);
/* Images that the user named, each once; says so of others. */
bool retrieval_images(cli_common *common, int count, char *const *arguments, io_names *images, io_error *error);

/* A bar for the steps of work in collection/, and its sentences as lines. */
typedef struct retrieval_bar {
    const cli_common *common;
    io_progress progress;
    const char *step; /* that the bar is of; NULL: none */
} retrieval_bar;
photos_host retrieval_host(retrieval_bar *bar, const cli_common *common);
void retrieval_bar_end(retrieval_bar *bar); /* after work that failed */

/* ---- indexes ---- */

/* The option of commands that ask an index. */
#define PROBES_OPTION(job)                                                                                          \
    {"probes", 0, CLI_NUMBER(job, probes, 0, KB_MAX_PROBES), "N", "0",                                              \
     .help = "words in which each descriptor is looked for, by binary scoring: more find more, in more time; 0: 2"}
typedef struct retrieval_index {
    io_mapping file;
    kb_index *index;
} retrieval_index;
/* check: reads all of the file, and finds damage anywhere. */
bool retrieval_index_open(const char *path, bool check, retrieval_index *out, io_error *error);
void retrieval_index_close(retrieval_index *index);
/* Waits until no other keybits changes the index, and keeps others waiting until retrieval_index_unlock; to be called
 * before it is opened. Returns the lock, or -1. */
int retrieval_index_lock(const cli_common *common, const char *path, io_error *error);
void retrieval_index_unlock(int lock);
/* The name of an image of an index; "" when it has none. It lives until the index changes. */
const char *retrieval_image_name(const kb_index *index, size_t position);
/* The largest error of an inlier, px of the file: 3 px of the images as they were described, where the smallest image
 * of the index was shrunk to max_size. */
double retrieval_threshold(const kb_index *index, int32_t max_size);
bool retrieval_index_write(const char *path, kb_index *index, io_error *error);
/* Opens the pipeline with the model, detector, orientation and size limit that the index was made with; options that
 * ask for others are refused. */
bool retrieval_open_for(cli_common *common, cli_pipeline *p, io_read_options *reading, const kb_index *index,
                        io_error *error);

#endif
