/* SPDX-License-Identifier: Apache-2.0 */
/* Many photographs at once: reading and describing them on all threads, and vocabularies by name. */
#ifndef COLLECTION_PHOTOS_H
#define COLLECTION_PHOTOS_H

#include "io/image_io.h"
#include "io/mapping.h"
#include "io/vocabulary.h"
#include "pipeline/pipeline.h"

/* Whom the work tells about itself; called on the thread that called the library. Either may be NULL. */
typedef struct photos_host {
    /* So many of `total` are done of this step; false cancels. */
    bool (*progress)(void *context, const char *step, size_t done, size_t total);
    /* A sentence about something that went wrong and did not stop the work, such as an image that cannot be read. */
    void (*warn)(void *context, const char *sentence);
    void *context;
} photos_host;

bool photos_progress(const photos_host *host, const char *step, size_t done, size_t total, io_error *error);
__attribute__((format(printf, 2, 3))) void photos_warn(const photos_host *host, const char *format, ...);

/* Called for every image, in their order, on the calling thread. f is NULL for one that could not be read or described;
 * then `why` says why. What f holds may be taken (and f zeroed). False stops. */
typedef bool (*photos_take)(void *context, size_t index, features *f, const char *why);

/* Reads and describes images on the pipeline's threads. False when `take` stopped it or it was cancelled. */
bool photos_describe(const pipeline *p, const io_read_options *reading, const io_names *images, const photos_host *host,
                     const char *step, photos_take take, void *context, io_error *error);
/* One image. */
bool photos_describe_one(const pipeline *p, const io_read_options *reading, const char *path, features *out,
                         io_error *error);

/* How many pixels of the file a pixel of the image has that was described; 1 where it was not shrunk. */
double photos_step(int32_t width, int32_t height, int32_t max_size);

/* ---- vocabularies ---- */

/* A built-in vocabulary by name (bag256-1k), one that is installed (bag256-10k), or a file. NULL: that of 10,000 words
 * for the model. */
bool photos_vocabulary_open(const char *name_or_path, const kb_model_info *model, io_vocabulary *out, io_error *error);
typedef struct builtin_vocabulary {
    const char *name;
    const unsigned char *data;
    size_t size;
} builtin_vocabulary;
extern const builtin_vocabulary photos_builtin_vocabularies[]; /* made by cmake/embed.cmake; ends with a NULL name */
/* Names of the built-in vocabularies; NULL past the last. *size (may be NULL) receives its bytes. */
const char *photos_vocabulary_name(size_t index, size_t *size);
/* False when no vocabulary of that name is installed. */
bool photos_vocabulary_installed(const char *name, size_t *size);

#endif
