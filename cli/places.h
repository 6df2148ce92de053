/* What the commands from descriptors to images share: describing many images with a progress bar, indexes as files. */
#ifndef CLI_PLACES_H
#define CLI_PLACES_H

#include "collection/photos.h"
#include "groups.h"
#include "io/progress.h"

/* ---- many images ---- */

/* photos_describe with a progress bar. */
bool places_describe(cli_common *common, const cli_pipeline *p, const io_read_options *reading, const io_names *images,
                     const char *label, photos_take take, void *context, io_error *error);
/* Opens the pipeline for binary rows. */
bool places_open(cli_common *common, cli_pipeline *p, io_error *error);

/* Images that the user named, each file once; says so of others. */
bool places_images(cli_common *common, int count, char *const *arguments, io_names *images, io_error *error);

/* A bar for the steps of work in collection/, and its sentences as lines. */
typedef struct places_bar {
    const cli_common *common;
    io_progress progress;
    const char *step; /* that the bar is of; NULL: none */
} places_bar;
photos_host places_host(places_bar *bar, const cli_common *common);
void places_bar_end(places_bar *bar); /* after work that failed */

/* ---- indexes ---- */

/* The option of commands that ask an index. */
#define PROBES_OPTION(job)                                                                                          \
    {"probes", 0, CLI_NUMBER(job, probes, 0, KB_MAX_PROBES), "N", "0",                                              \
     .help = "words in which each descriptor is looked for, by binary scoring: more find more, in more time; 0: 2"}
typedef struct places_index {
    io_mapping file;
    kb_index *index;
} places_index;
bool places_index_open(const char *path, places_index *out, io_error *error);
void places_index_close(places_index *index);
/* Waits until no other keybits changes the index, and keeps others waiting until places_index_unlock; to be called before
 * it is opened. Returns the lock, or -1. */
int places_index_lock(const cli_common *common, const char *path, io_error *error);
void places_index_unlock(int lock);
/* The largest error of an inlier, px of the file: 3 px of the images as they were described, where the smallest image of
 * the index was shrunk to max_size. */
double places_threshold(const kb_index *index, int32_t max_size);
bool places_index_write(const char *path, kb_index *index, io_error *error);
/* Opens the pipeline with the model that the index was made with, unless one is named. */
bool places_open_for(cli_common *common, cli_pipeline *p, const kb_index *index, io_error *error);

#endif
