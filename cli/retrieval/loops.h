/* SPDX-License-Identifier: Apache-2.0 */
/* keybits loops: what the command and its page share. */
#ifndef CLI_LOOPS_H
#define CLI_LOOPS_H

#include "retrieval.h"

typedef struct loops_found {
    kb_loop *items;
    size_t count;
} loops_found;

/* A page with the matrix of similarities (rows of `stride` scores, image by image with those before it) and both
 * pictures of each loop. */
bool loops_page_write(const char *path, const io_names *images, const io_read_options *reading, const float *scores,
                      size_t stride, const loops_found *loops, io_error *error);

#endif
