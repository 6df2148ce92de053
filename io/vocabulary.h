/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies as files: our own, and those of the programs that came before. The format is recognised by content.
 *
 *   keybits   .kbv    docs/index-format.md, mapped
 *   orbslam   .txt    ORB-SLAM's text: "k L scoring weighting", then "parent leaf b0 ... bN weight" per node; no line
 *                     break at the end, after which its reader would add a node
 *   dbow2     .yml    DBoW2 and DBoW3 through OpenCV's FileStorage
 *   dbow3     .dbow3  DBoW3's binary form, not compressed
 *   fbow      .fbow   FBoW, also stella_vslam's
 *   vins      .bin    VINS-Mono's, rows of 32 bytes
 *
 * Others do not carry a model's id: a vocabulary that was read from them has none. Words are numbered by the order of
 * nodes in all of them. */
#ifndef IO_VOCABULARY_H
#define IO_VOCABULARY_H

#include "io/mapping.h"
#include "keybits/index.h"

typedef enum io_vocabulary_format {
    IO_VOCABULARY_KEYBITS,
    IO_VOCABULARY_ORBSLAM,
    IO_VOCABULARY_DBOW2,
    IO_VOCABULARY_DBOW3,
    IO_VOCABULARY_FBOW,
    IO_VOCABULARY_VINS
} io_vocabulary_format;
extern const char *const io_vocabulary_formats[]; /* names, ends with NULL */

typedef struct io_vocabulary {
    kb_vocabulary *vocabulary;
    io_vocabulary_format format;
    io_mapping file; /* behind a vocabulary of ours */
} io_vocabulary;

bool io_vocabulary_read(const char *path, io_vocabulary *out, io_error *error);
void io_vocabulary_free(io_vocabulary *vocabulary);

/* The format that the suffix stands for; false when it stands for none. */
bool io_vocabulary_format_of(const char *path, io_vocabulary_format *format);
bool io_vocabulary_write(const char *path, const kb_vocabulary *vocabulary, io_vocabulary_format format,
                         io_error *error);

/* ---- for the files of this module ---- */

/* A tree that is being read. */
typedef struct io_tree {
    uint32_t nodes, room; /* with the root */
    size_t row_bytes;
    uint32_t *parents;
    double *weights;
    uint8_t *rows;
    int32_t branching, levels, scoring, weighting;
} io_tree;
/* Makes node `id` and all before it be there; row_bytes is set. */
void io_tree_reserve(io_tree *tree, uint32_t id);
void io_tree_free(io_tree *tree);

bool io_orbslam_read(const char *path, const char *text, size_t size, io_tree *tree, io_error *error);
bool io_dbow2_read(const char *path, const char *text, size_t size, io_tree *tree, io_error *error);
bool io_dbow3_read(const char *path, const uint8_t *data, size_t size, io_tree *tree, io_error *error);
bool io_fbow_read(const char *path, const uint8_t *data, size_t size, io_tree *tree, io_error *error);
bool io_vins_read(const char *path, const uint8_t *data, size_t size, io_tree *tree, io_error *error);
/* Whether the bytes can be such a file, which has no mark of its own. */
bool io_vins_fits(const uint8_t *data, size_t size);

void io_orbslam_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents);
void io_dbow2_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents);
void io_dbow3_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents);
void io_fbow_write(FILE *file, const kb_vocabulary *vocabulary);
void io_vins_write(FILE *file, const kb_vocabulary *vocabulary, const uint32_t *parents);

#define IO_DBOW3_MARK 88877711233u
#define IO_FBOW_MARK 55824124u

#endif
