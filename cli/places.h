/* What the commands from descriptors to images share: describing many images at once, vocabularies by name, indexes as
 * files. */
#ifndef CLI_PLACES_H
#define CLI_PLACES_H

#include "groups.h"
#include "io/mapping.h"
#include "io/vocabulary.h"

/* ---- many images ---- */

/* Called for every image, in their order, on the calling thread. f is NULL for one that could not be read or described;
 * then `why` says why. What f holds may be taken (and f zeroed). False stops. */
typedef bool (*places_take)(void *context, size_t index, features *f, const char *why);

/* Reads and describes images on all threads. False when `take` stopped it or the model has no bits. */
bool places_describe(cli_common *common, const cli_pipeline *p, const io_read_options *reading, const io_names *images,
                     const char *label, places_take take, void *context, io_error *error);
/* One image. */
bool places_describe_one(const cli_pipeline *p, const io_read_options *reading, const char *path, features *out,
                         io_error *error);
/* Opens the pipeline for binary rows. */
bool places_open(cli_common *common, cli_pipeline *p, io_error *error);

/* As the library wants them; borrowed. */
kb_features places_features(const features *f);

/* Sorts names so that 2.jpg comes before 10.jpg. */
void places_sort(io_names *names);
int places_compare(const char *a, const char *b);

/* ---- vocabularies ---- */

/* A built-in vocabulary by name (bag256-1k), one that is installed (bag256-10k), or a file. NULL: that of 10,000 words
 * for the model. */
bool places_vocabulary_open(const char *name_or_path, const kb_model_info *model, io_vocabulary *out, io_error *error);
/* Names of the built-in vocabularies; NULL past the last. *size (may be NULL) receives its bytes. */
const char *places_vocabulary_name(size_t index, size_t *size);
/* False when no vocabulary of that name is installed. */
bool places_vocabulary_installed(const char *name, size_t *size);

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
bool places_index_write(const char *path, kb_index *index, io_error *error);
/* Opens the pipeline with the model that the index was made with, unless one is named. */
bool places_open_for(cli_common *common, cli_pipeline *p, const kb_index *index, io_error *error);

#endif
