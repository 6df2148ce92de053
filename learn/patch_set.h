/* Patch sets: gray patches with the label of the scene point they show, on disk (.kbp, docs/patches.md) and in memory.
 *
 * A set on disk may be larger than memory: it is written patch by patch and read in pieces. Learning works on a set in
 * memory, a sample of the file if need be. */
#ifndef KBI_PATCH_SET_H
#define KBI_PATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/file.h"

#define KBI_PATCH_MAX_SIDE 1024

/* ---- in memory ---- */

/* Patches of one side (32 or 64), in memory. Patches with the same label show the same point; they stand next to each
 * other, labels ascending from 0 without gaps, so that point p has the patches [first[p], first[p + 1]). */
typedef struct kbi_patch_set {
    int32_t side;
    float support;    /* the support that the patches were cut with (kb_model_spec); 0: not known */
    size_t patches, points;
    uint8_t *pixels;  /* patches x side x side */
    uint32_t *label;  /* of every patch */
    uint32_t *view;   /* which source view it was cut from; two patches of a point may share one */
    size_t *first;    /* points + 1 */
    size_t lonely;    /* patches in the files that were left out, since no other patch shows their point */
} kbi_patch_set;

/* Loads a file, or a sample of it: points are taken whole, in an order that the seed decides, until the next would
 * bring more than max_patches (0: all). The patches of a point come in the order of the file. Points with a single
 * patch teach nothing; they are left out and counted. Fails when less than two points are left. */
bool kbi_patch_set_load(const char *path, size_t max_patches, uint64_t seed, kbi_patch_set *out, io_error *error);
/* The same for several files as one set: labels and views of different files are different. All must have the same side
 * and, where they tell it, the same support. */
bool kbi_patch_set_load_files(const char *const *paths, size_t files, size_t max_patches, uint64_t seed,
                             kbi_patch_set *out, io_error *error);
/* Takes NULL and what was freed already. */
void kbi_patch_set_free(kbi_patch_set *set);
/* Every patch to 32x32 by area averaging, as describing does; nothing to do when side is 32 already. */
void kbi_patch_set_shrink(kbi_patch_set *set);
/* Two sets out of one, by whole points: a point is held back with probability `fraction` (0 to 1), which the seed and
 * the label decide. Fails when either has less than two points. `set` stays as it is. */
bool kbi_patch_set_split(const kbi_patch_set *set, double fraction, uint64_t seed, kbi_patch_set *rest, kbi_patch_set *held,
                        io_error *error);

/* ---- on disk ---- */

/* What the header of a file tells. */
typedef struct kbi_patch_info {
    int32_t side;
    float support; /* 0: not known */
    uint64_t patches;
} kbi_patch_info;

/* One patch at a time. A set needs a plain file: no pipe, no device, no standard output. Nothing is there under the
 * path before the close. */
typedef struct kbi_patch_writer kbi_patch_writer;
kbi_patch_writer *kbi_patch_writer_open(const char *path, int32_t side, float support, io_error *error);
/* A failure to write is told by the close. */
void kbi_patch_writer_add(kbi_patch_writer *writer, uint32_t label, uint32_t view, const uint8_t *pixels);
bool kbi_patch_writer_close(kbi_patch_writer *writer, io_error *error);
void kbi_patch_writer_abandon(kbi_patch_writer *writer); /* takes NULL */

/* Any patch, in any order. */
typedef struct kbi_patch_reader kbi_patch_reader;
kbi_patch_reader *kbi_patch_reader_open(const char *path, kbi_patch_info *info, io_error *error);
/* Patch `index`; pixels: room for side x side, or NULL. Damage is seen only where pixels are read. */
bool kbi_patch_reader_at(kbi_patch_reader *reader, uint64_t index, uint32_t *label, uint32_t *view, uint8_t *pixels,
                        io_error *error);
void kbi_patch_reader_close(kbi_patch_reader *reader); /* takes NULL */

#endif
