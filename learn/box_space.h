/* SPDX-License-Identifier: Apache-2.0 */
/* sampleFeatures of the paper's Algorithm 1: the features f(x; u1, u2, s) that a bit may be, drawn at random, and
 * around it what the paper does not have: two sizes, channels of gradient, and small moves for a local search. */
#ifndef KBI_BOX_SPACE_H
#define KBI_BOX_SPACE_H

#include "model/model.h"

typedef struct kbi_box_space {
    int32_t channels[KB_CHANNELS]; /* allowed, ascending */
    int32_t channel_count;
    int32_t min_radius, max_radius;
    bool two_radii;
    kbi_grid grid; /* that boxes are on */
} kbi_box_space;

/* Any radius is as likely as any other, any centre where the box fits too. Gradient channels form three kinds of pairs,
 * equally often: one channel in two places, two in two places, two in one place.
 * The two boxes always differ; the threshold is 0. */
kb_box_pair kbi_box_draw(const kbi_box_space *space, uint64_t *state);

/* What one small step makes of a pair: a box or both moved by one sample or cell, a radius changed by one (on cells
 * together with the centre), a gradient turned to the next direction. Writes those that are in the space and returns
 * how many. */
#define KBI_BOX_MOVES 24
int32_t kbi_box_moves(const kbi_box_space *space, const kb_box_pair *pair, kb_box_pair moves[KBI_BOX_MOVES]);

/* The same two boxes, in this order or the other. */
bool kbi_box_pair_same(const kb_box_pair *a, const kb_box_pair *b);

#endif
