/* SPDX-License-Identifier: Apache-2.0 */
/* What is compared: one of our models, a peer (eval/peers.h), or rows that someone else computed, from a file. */
#ifndef EVAL_METHOD_H
#define EVAL_METHOD_H

#include "io/file.h"
#include "io/rows.h"
#include "keybits/advanced.h"

typedef struct ev_method {
    char *name;      /* as the user wrote it; owned */
    uint64_t id;     /* names its rows: the model's id, or a hash */
    kb_model *model; /* owned; or NULL */
    const char *peer; /* the peer's name; or NULL */
    io_rows file;    /* owned; rows in the order in which the benchmark visits keypoints or patches */
    size_t file_at;  /* how many of them have been used */
} ev_method;

/* Takes over the model. */
void ev_method_of_model(ev_method *method, const char *name, kb_model *model);
/* "cv:orb" and its like; false with a sentence when there is no such peer in this build. */
bool ev_method_of_peer(ev_method *method, const char *name, io_error *error);
bool ev_method_of_file(ev_method *method, const char *path, io_error *error);
void ev_method_free(ev_method *method);
static inline bool ev_method_is_file(const ev_method *method) { return method->file.bytes || method->file.floats; }

/* The next n rows of the file, copied. */
bool ev_method_take(ev_method *method, size_t n, io_rows *out, io_error *error);
/* All rows of the file must have been used in the end. */
bool ev_method_finish(const ev_method *method, io_error *error);

/* n rows for n keypoints of an image, which are those of the preset's detector. Not for files. Safe to call from
 * several threads. */
bool ev_method_describe(const ev_method *method, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                        const char *preset, io_rows *out, io_error *error);
/* n rows for n patches of side x side pixels. Not for files. */
bool ev_method_describe_patches(const ev_method *method, const uint8_t *patches, size_t n, int32_t side,
                                const kb_parallel *parallel, io_rows *out, io_error *error);

/* Matches by the distance that the rows ask for; `matches` has room for a->count. SIFT's own floats and everything else
 * that is not bits is compared by Euclidean distance. */
bool ev_rows_match(const io_rows *a, const io_rows *b, bool mutual, float max_ratio, const kb_parallel *parallel,
                   kb_match *matches, size_t *count, io_error *error);
/* The distance of row i of a and row j of b. */
double ev_rows_distance(const io_rows *a, size_t i, const io_rows *b, size_t j);

#endif
