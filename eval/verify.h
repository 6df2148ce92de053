/* SPDX-License-Identifier: Apache-2.0 */
/* How far kb_pair_verify can be trusted. Pairs come in kinds:
 *
 *     unrelated    photographs of different folders
 *     shared       photographs of one folder that see the same points in a reconstruction, many of them
 *     facades      rendered facades with equal windows (eval/facade.h)
 *     one facade   two views of one of these
 *
 * Of unrelated pairs and of facades none should be verified, of the others all. */
#ifndef EVAL_VERIFY_H
#define EVAL_VERIFY_H

#include "pipeline/pipeline.h"

typedef enum ev_verify_kind {
    EV_VERIFY_UNRELATED,
    EV_VERIFY_SHARED,
    EV_VERIFY_FACADES,
    EV_VERIFY_ONE_FACADE,
    EV_VERIFY_KINDS
} ev_verify_kind;
const char *ev_verify_kind_name(ev_verify_kind kind);

typedef struct ev_verify_image {
    char *name;      /* owned */
    int32_t folder;  /* -1: a facade */
    double step;     /* pixels of the file that a pixel of the image has which was described */
    features f;      /* owned */
} ev_verify_image;

typedef struct ev_verify_pair {
    size_t a, b;
    ev_verify_kind kind;
    int32_t points; /* of the reconstruction, that both see */
    kb_status status;
    kb_verification found;
} ev_verify_pair;

typedef struct ev_verify {
    ev_verify_image *images;
    size_t image_count;
    ev_verify_pair *pairs;
    size_t pair_count;
} ev_verify;

/* Takes over what f holds; gives the image. */
ev_verify_image *ev_verify_add(ev_verify *v, const char *name, int32_t folder, features *f);
/* All pairs across two folders of up to `most` images of each, evenly chosen. */
void ev_verify_unrelated(ev_verify *v, int32_t folder, int32_t other, size_t most);
/* The pairs of a folder that share at least `points` points in COLMAP's model of it. */
bool ev_verify_shared(ev_verify *v, int32_t folder, const char *model, int32_t points, io_error *error);
/* All pairs of n facades, the first view of one with the second of the other. */
bool ev_verify_facades(ev_verify *v, const pipeline *p, int32_t n, io_error *error);
/* Verifies all pairs. */
bool ev_verify_run(ev_verify *v, const kb_parallel *parallel, io_error *error);
void ev_verify_free(ev_verify *v);

#endif
