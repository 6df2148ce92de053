/* SPDX-License-Identifier: Apache-2.0 */
/* Files as memory: mapped where the system can, read otherwise. */
#ifndef IO_MAPPING_H
#define IO_MAPPING_H

#include "io/file.h"

typedef struct io_mapping {
    const uint8_t *data;
    size_t size;
    bool mapped; /* else read */
} io_mapping;

/* Fails for folders and empty files. The file must not be cut short while it is mapped. */
bool io_mapping_open(const char *path, io_mapping *out, io_error *error);
void io_mapping_close(io_mapping *mapping);

#endif
