/* SPDX-License-Identifier: Apache-2.0 */
/* Points from one frame to the next. */
#ifndef KBI_TRACK_H
#define KBI_TRACK_H

#include "image/image.h"

/* The options with their defaults in place, checked. */
kb_status kbi_track_options_read(const kb_track_options *given, kb_track_options *o, kb_error *error);

/* The levels of a pyramid that tracking looks at, as bits. */
uint32_t kbi_track_levels(const kb_track_options *o);

typedef struct track_point {
    float x, y;
} track_point;

/* Follows n points from one pyramid to another; x and y of a point stand every `step` floats. `to` has the guesses and
 * receives the points; correlations receives 0 for points that are lost. */
void kbi_track(const kbi_pyramid *a, const kbi_pyramid *b, const float *from, float *to, size_t step, size_t n,
               const kb_track_options *o, float *correlations);

#endif
