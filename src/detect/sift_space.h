/* SPDX-License-Identifier: Apache-2.0 */
/* The scale space of the SIFT detector, a few rows at a time: a window goes down an octave, the rows of its layers are
 * made when they are needed and replaced when they are not any more. */
#ifndef KBI_DETECT_SIFT_SPACE_H
#define KBI_DETECT_SIFT_SPACE_H

#include "detect/kernels.h"

#define KBI_SIFT_MAX_OCTAVES 17
#define KBI_SIFT_ALL_LAYERS (KBI_SIFT_MAX_LAYERS + 3)

/* What all windows share. */
typedef struct kbi_scale_space {
    const kb_image *image;
    const kbi_detect_kernels *kernels;
    bool doubled;
    int32_t layers, octaves;
    /* Sizes. Octaves after the first also have their layer 0: every second pixel of a layer of the octave before. */
    kbi_octave octave[KBI_SIFT_MAX_OCTAVES];
    kbi_blur blur[KBI_SIFT_ALL_LAYERS]; /* [0]: from the image to the first layer; [i]: from layer i - 1 to i */
    int32_t after[KBI_SIFT_ALL_LAYERS]; /* how far the layers after this one reach down into it, px */
    int32_t halo;                       /* how far all layers reach into the image that is blurred */
    int32_t margin;                     /* rows above and below the middle of a window, besides one */
} kbi_scale_space;

/* The rows around one row of an octave. */
typedef struct kbi_scale_window {
    const kbi_scale_space *space;
    kbi_octave here;
    kbi_octave *next;            /* gets its layer 0 from rows first_own..last_own - 1; NULL for none */
    int32_t first_own, last_own;
    int32_t top, bottom;         /* rows top..bottom - 1 of all layers are there */
    int32_t made[KBI_SIFT_ALL_LAYERS]; /* rows of a layer that were made, counted from 0 */
    bool first_octave;
    uint16_t *image;             /* rows of the image before it is blurred, of the first octave */
    int32_t image_made, image_ring;
    uint16_t *memory, *row, *patch_memory;
    kbi_octave patch;
} kbi_scale_window;

/* Sizes of the octaves, blurs; `octaves` may be 0. */
void kbi_scale_space_plan(kbi_scale_space *space, const kbi_detect_job *job, const kbi_detect_kernels *kernels);
/* Memory for the octaves' first layers, and for a window. */
bool kbi_scale_space_get(kbi_scale_space *space, kb_workspace *workspace);
bool kbi_scale_window_get(kbi_scale_window *window, const kbi_scale_space *space, kb_workspace *workspace);

/* Begins an octave at row `middle`. */
void kbi_scale_window_start(kbi_scale_window *window, kbi_scale_space *space, int32_t octave, int32_t middle,
                            int32_t first_own, int32_t last_own);
/* Moves down so that row `middle` is in the middle. */
void kbi_scale_window_move(kbi_scale_window *window, int32_t middle);
/* Layers that hold the pixels up to `reach`, at most margin, away from (x, y): the window's, or if they do not,
 * a patch that is made for it. */
const kbi_octave *kbi_scale_window_around(kbi_scale_window *window, int32_t y, int32_t x, int32_t reach);

#endif
