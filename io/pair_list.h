/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pairs of images: a line "name1 name2" each; '#' starts a comment line. */
#ifndef IO_PAIR_LIST_H
#define IO_PAIR_LIST_H

#include "io/file.h"

typedef struct io_pairs {
    size_t (*items)[2]; /* owned; places in the list of names, the lower one first; ascending, each pair once */
    size_t count;
} io_pairs;

/* A line that does not name two different images of `names` is a failure. Of equal names the first counts. */
bool io_pairs_read(const char *path, const io_names *names, io_pairs *out, io_error *error);
void io_pairs_free(io_pairs *pairs);

#endif
