/* SPDX-License-Identifier: Apache-2.0 */
/* Models as text tables and as drawings; docs/formats.md describes the tables. */
#ifndef IO_MODEL_TABLE_H
#define IO_MODEL_TABLE_H

#include "io/file.h"
#include "keybits/advanced.h"

/* What the command line says about a table; it wins over what the table says about itself. */
typedef struct table_options {
    const char *name;    /* NULL: the table's, else the file's name */
    const char *sampler; /* "image", "patch", "cells"; NULL: the table's, else image for BAD and patch for others */
    float support;       /* 0: the table's, else 1 */
    float sift_support;  /* 0: the table's, else that */
    bool root;           /* HashSIFT over RootSIFT */
} table_options;

/* The sampler of that name; false when there is none. */
bool model_sampler(const char *name, kb_sampler *sampler);

/* Reads a table into a model. Errors name the line. path "-": standard input. */
bool model_table_read(const char *path, const table_options *options, kb_model **out, io_error *error);
/* Writes the table that model_table_read turns into the same model again. path NULL or "-": standard output. */
bool model_table_write(const char *path, const kb_model_info *info, io_error *error);

/* The boxes of a BAD or BAG model as a picture. */
bool model_svg_write(const char *path, const kb_model_info *info, io_error *error);
/* The same into a file that has other things too; only for models that have boxes. */
void model_svg_print(FILE *file, const kb_model_info *info);

#endif
