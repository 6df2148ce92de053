/* The features that a bit may be: where boxes may lie, drawn at random or moved a little. */
#ifndef KBI_BOX_SPACE_H
#define KBI_BOX_SPACE_H

#include "model/model.h"

typedef struct kbi_box_space {
    int32_t channels[KB_CHANNELS]; /* allowed, ascending */
    int32_t channel_count;
    int32_t min_radius, max_radius;
    bool two_radii;
    kbi_grid grid; /* that boxes are on */
    const kbi_box *boxes; /* NULL, or the only boxes allowed */
    int32_t box_count;         /* 2 or more */
} kbi_box_space;

/* Any radius is as likely as any other, any centre where the box fits too. Gradient channels form three kinds of pairs,
 * equally often: one channel in two places, two in two places, two in one place.
 * The two boxes always differ; the threshold is 0. */
kb_box_pair kbi_box_draw(const kbi_box_space *space, uint64_t *state);

/* What one small step makes of a pair: a box or both moved by one sample or cell, a radius changed by one (on
 * cells together with the centre), a gradient turned to the next direction. Writes those that are in the space and returns how
 * many. None where boxes are given. */
#define KBI_BOX_MOVES 24
int32_t kbi_box_moves(const kbi_box_space *space, const kb_box_pair *pair, kb_box_pair moves[KBI_BOX_MOVES]);

/* The same two boxes, in this order or the other. */
bool kbi_box_pair_same(const kb_box_pair *a, const kb_box_pair *b);
/* The different boxes of n pairs, in order of appearance; boxes has room for 2 n. Returns how many. */
int32_t kbi_box_distinct(const kb_box_pair *pairs, int32_t n, kbi_box *boxes);

#endif
