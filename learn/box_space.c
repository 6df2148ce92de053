/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing features and moving them. */
#include "learn/box_space.h"

static kbi_box first_box(const kb_box_pair *p) { return (kbi_box){p->channel1, p->x1, p->y1, p->radius1}; }
static kbi_box second_box(const kb_box_pair *p) { return (kbi_box){p->channel2, p->x2, p->y2, p->radius2}; }
static kb_box_pair pair_of(kbi_box a, kbi_box b)
{
    return (kb_box_pair){a.channel, a.x, a.y, a.radius, b.channel, b.x, b.y, b.radius, 0};
}
static bool same_box(kbi_box a, kbi_box b)
{
    return a.channel == b.channel && a.x == b.x && a.y == b.y && a.radius == b.radius;
}

/* ---- drawing ---- */

static int32_t draw_between(uint64_t *state, int32_t low, int32_t high)
{
    return low + (int32_t)kbi_random_below(state, (uint32_t)(high - low + 1));
}

/* Along one axis, anywhere where the box fits. */
static uint8_t draw_centre(bool cells, int32_t channel, int32_t radius, uint64_t *state)
{
    if (!cells) return (uint8_t)draw_between(state, radius, KB_PATCH_SIDE - 1 - radius);
    return (uint8_t)(radius + 2 * draw_between(state, 0, (channel ? KBI_OCTAVE_CELLS_SIDE : KBI_CELLS_SIDE) - radius));
}

static kbi_box draw_box(bool cells, int32_t channel, int32_t radius, uint64_t *state)
{
    uint8_t x = draw_centre(cells, channel, radius, state), y = draw_centre(cells, channel, radius, state);
    return (kbi_box){(uint8_t)channel, x, y, (uint8_t)radius};
}

static int32_t draw_channel(const kbi_box_space *space, uint64_t *state)
{
    return space->channels[kbi_random_below(state, (uint32_t)space->channel_count)];
}

static kb_box_pair draw_any(const kbi_box_space *space, uint64_t *state)
{
    int32_t radius = draw_between(state, space->min_radius, space->max_radius);
    int32_t other = space->two_radii ? draw_between(state, space->min_radius, space->max_radius) : radius;
    int32_t channel = draw_channel(space, state);
    uint32_t kind = channel == 0 ? 0 : kbi_random_below(state, 3);
    kbi_box one = draw_box(kbi_on_cells(space->grid), channel, radius, state);
    kbi_box two = draw_box(kbi_on_cells(space->grid), kind == 0 ? channel : draw_channel(space, state), other, state);
    if (kind == 2) { /* at one place, if it fits there; on cells, boxes with an odd difference of radii do not */
        kbi_box moved = {two.channel, one.x, one.y, two.radius};
        if (kbi_box_fits(moved, space->grid)) two = moved;
    }
    return pair_of(one, two);
}

kb_box_pair kbi_box_draw(const kbi_box_space *space, uint64_t *state)
{
    kb_box_pair pair;
    do pair = draw_any(space, state);
    while (same_box(first_box(&pair), second_box(&pair)));
    return pair;
}

/* ---- moving ---- */

/* A step for both boxes: added to x, y, radius, and the direction of the gradient. */
typedef struct step {
    int8_t x, y, radius, turn;
} step;
typedef struct move {
    step one, two;
} move;

static const move all_moves[KBI_BOX_MOVES] = {
    {{1, 0, 0, 0}, {0, 0, 0, 0}},   {{-1, 0, 0, 0}, {0, 0, 0, 0}},  {{0, 1, 0, 0}, {0, 0, 0, 0}},
    {{0, -1, 0, 0}, {0, 0, 0, 0}},  {{0, 0, 0, 0}, {1, 0, 0, 0}},   {{0, 0, 0, 0}, {-1, 0, 0, 0}},
    {{0, 0, 0, 0}, {0, 1, 0, 0}},   {{0, 0, 0, 0}, {0, -1, 0, 0}},  {{1, 0, 0, 0}, {1, 0, 0, 0}},
    {{-1, 0, 0, 0}, {-1, 0, 0, 0}}, {{0, 1, 0, 0}, {0, 1, 0, 0}},   {{0, -1, 0, 0}, {0, -1, 0, 0}},
    {{0, 0, 1, 0}, {0, 0, 1, 0}},   {{0, 0, -1, 0}, {0, 0, -1, 0}}, {{0, 0, 1, 0}, {0, 0, 0, 0}},
    {{0, 0, -1, 0}, {0, 0, 0, 0}},  {{0, 0, 0, 0}, {0, 0, 1, 0}},   {{0, 0, 0, 0}, {0, 0, -1, 0}},
    {{0, 0, 0, 1}, {0, 0, 0, 0}},   {{0, 0, 0, -1}, {0, 0, 0, 0}},  {{0, 0, 0, 0}, {0, 0, 0, 1}},
    {{0, 0, 0, 0}, {0, 0, 0, -1}},  {{0, 0, 0, 1}, {0, 0, 0, 1}},   {{0, 0, 0, -1}, {0, 0, 0, -1}},
};

static bool allowed_channel(const kbi_box_space *space, int32_t channel)
{
    for (int32_t i = 0; i < space->channel_count; i++)
        if (space->channels[i] == channel) return true;
    return false;
}

/* Where the centre of a box on cells moves along one axis when its radius changes by one: its edges stay on cells. */
static int32_t towards_middle(kbi_box from, int32_t x)
{
    return x < (from.channel ? KB_OCTAVE_SIDE : KB_PATCH_SIDE) / 2 ? 1 : -1;
}

static bool take_step(const kbi_box_space *space, kbi_box from, step s, kbi_box *to)
{
    bool cells = kbi_on_cells(space->grid);
    int32_t x = from.x + (cells ? 2 : 1) * s.x, y = from.y + (cells ? 2 : 1) * s.y, r = from.radius + s.radius;
    int32_t channel = from.channel;
    if (cells && s.radius) {
        x += towards_middle(from, from.x);
        y += towards_middle(from, from.y);
    }
    if (s.turn) {
        if (channel == 0) return false;
        channel = (channel - 1 + s.turn + 8) % 8 + 1;
    }
    if (r < space->min_radius || r > space->max_radius || x < 0 || y < 0) return false;
    *to = (kbi_box){(uint8_t)channel, (uint8_t)x, (uint8_t)y, (uint8_t)r};
    return kbi_box_fits(*to, space->grid) && allowed_channel(space, channel);
}

int32_t kbi_box_moves(const kbi_box_space *space, const kb_box_pair *pair, kb_box_pair moves[KBI_BOX_MOVES])
{
    int32_t n = 0;
    for (int32_t i = 0; i < KBI_BOX_MOVES; i++) {
        kbi_box one, two;
        if (!take_step(space, first_box(pair), all_moves[i].one, &one)) continue;
        if (!take_step(space, second_box(pair), all_moves[i].two, &two)) continue;
        if (!space->two_radii && one.radius != two.radius) continue;
        if (!same_box(one, two)) moves[n++] = pair_of(one, two);
    }
    return n;
}

/* ---- comparing ---- */

bool kbi_box_pair_same(const kb_box_pair *a, const kb_box_pair *b)
{
    return (same_box(first_box(a), first_box(b)) && same_box(second_box(a), second_box(b))) ||
           (same_box(first_box(a), second_box(b)) && same_box(second_box(a), first_box(b)));
}
