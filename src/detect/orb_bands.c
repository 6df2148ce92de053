/* How low_memory goes through the levels of the ORB detector.
 *
 * One level after the other, each in the place of the one before, takes the memory of level 1. Large images take less in
 * bands: of every level but the image a ring of rows is kept, and a row of the image that is reached makes those rows of
 * level 1 that need no later one, these the rows of level 2, and so on. So memory grows with the width of the image
 * alone. A ring lies in one piece, since the kernels want rows at equal distances: when it is full, the rows that are
 * still needed move to its start. */
#include "detect/orb.h"

#define SPARE_ROWS 40 /* of a ring: as many pass until it is full again, so that moving them costs little */

static int32_t ring_rows(const kbi_orb *o, const kbi_orb_level *level)
{
    int32_t search = o->job->options.cell_size + 2 * kbi_orb_search_reach(o);
    int32_t finish = KBI_ORB_FINISH_ROWS + 2 * KBI_ORB_FINISH_REACH;
    return kbi_min_i(kbi_max_i(search, finish) + SPARE_ROWS, level->height);
}

bool kbi_orb_rings_get(kbi_orb *o)
{
    kb_workspace *workspace = o->job->workspace;
    kbi_orb_ring *rings = kbi_workspace_get(workspace, (size_t)o->levels * sizeof *rings);
    o->blended = kbi_workspace_get(workspace, kbi_round_up((size_t)o->job->image.width));
    if (!rings || !o->blended) return false;
    for (int32_t i = 1; i < o->levels; i++) {
        kbi_orb_level *level = &o->level[i];
        kbi_orb_ring ring = {.ready = 0};
        level->data = level->made = kbi_workspace_get(workspace, (size_t)level->stride * (size_t)ring_rows(o, level));
        if (!level->made || !kbi_orb_columns_get(o, &ring.columns, (size_t)level->width)) return false;
        if (workspace->measures) continue;
        kbi_resize_plan(ring.columns, level->width, o->job->options.level_factor, level[-1].width);
        rings[i] = ring;
    }
    o->rings = rings;
    return true;
}

/* Drops the rows that neither a visit nor the next level needs. */
static void ring_move(kbi_orb_level *level, const kbi_orb_ring *ring, int32_t reach)
{
    int32_t keep = kbi_min_i(ring->visited - reach, ring->ready - 2);
    memmove(level->made, kbi_orb_pixel(level, 0, keep), (size_t)(ring->ready - keep) * (size_t)level->stride);
    level->first = keep;
}

/* Makes the next row of a level if the one before has what it takes. */
static bool ring_add_row(kbi_orb *o, int32_t index, int32_t reach)
{
    kbi_orb_level *level = &o->level[index];
    kbi_orb_ring *ring = &o->rings[index];
    uint8_t weight;
    if (ring->ready == level->height) return false;
    int32_t upper = kbi_resize_place(ring->ready, o->job->options.level_factor, level[-1].height, &weight);
    if (upper + 1 >= ring[-1].ready) return false;
    if (ring->ready - level->first == ring_rows(o, level)) ring_move(level, ring, reach);
    const uint8_t *row = kbi_orb_pixel(&level[-1], 0, upper);
    if (weight > 0) {
        o->kernels.blend_rows(row, row + level[-1].stride, level[-1].width, weight, o->blended);
        row = o->blended;
    }
    o->kernels.resize_row(row, level[-1].width, ring->columns, level->width,
                          level->made + (ring->ready - level->first) * level->stride);
    ring->ready++;
    return true;
}

static void visit_ready(kbi_orb *o, int32_t index, const kbi_orb_visitor *visitor)
{
    kbi_orb_ring *ring = &o->rings[index];
    int32_t end = o->level[index].height - KBI_ORB_EDGE, to = kbi_min_i(ring->visited + visitor->rows, end);
    if (ring->visited == end || ring->ready < to + visitor->reach) return;
    visitor->visit(o, index, ring->visited, to);
    ring->visited = to;
}

void kbi_orb_sweep(kbi_orb *o, const kbi_orb_visitor *visitor)
{
    for (int32_t i = 0; i < o->levels; i++) {
        o->rings[i].ready = o->level[i].first = 0;
        o->rings[i].visited = KBI_ORB_EDGE;
    }
    while (o->rings[0].ready < o->level[0].height) {
        o->rings[0].ready++;
        visit_ready(o, 0, visitor);
        for (int32_t i = 1; i < o->levels; i++)
            while (ring_add_row(o, i, visitor->reach)) visit_ready(o, i, visitor);
    }
}
