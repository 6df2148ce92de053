/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/levels.h"

void kbi_levels_plan(kbi_levels *levels, const kb_image *image, int32_t max, double step, int32_t smallest)
{
    double factor = 1;
    levels->step = step;
    for (levels->count = 0; levels->count < max; levels->count++, factor *= step) {
        kbi_level *level = &levels->level[levels->count];
        *level = (kbi_level){.factor = factor};
        level->width = (int32_t)(image->width / factor + 0.5);
        level->height = (int32_t)(image->height / factor + 0.5);
        level->stride = (ptrdiff_t)kbi_round_up((size_t)level->width);
        if (level->width < smallest || level->height < smallest) break;
    }
    levels->level[0].data = image->data;
    levels->level[0].stride = image->stride;
}

/* A new image is not in the nearer caches, and its rows are too short for processors to foresee the next ones. */
#define ROWS_AHEAD 6
#define CACHE_LINE 64

static void fetch_row(const kbi_level *level, int32_t y)
{
    const uint8_t *row = kbi_level_pixel(level, 0, kbi_min_i(y, level->height - 1));
    for (int32_t x = 0; x < level->width; x += CACHE_LINE) __builtin_prefetch(row + x);
}

static void resize_task(void *context, int32_t piece)
{
    const kbi_levels *l = context;
    const kbi_level *from = &l->level[l->target - 1], *to = &l->level[l->target];
    uint8_t *blended = l->blended + (size_t)piece * kbi_round_up((size_t)l->level[0].width);
    int32_t end = (int32_t)kbi_piece((size_t)to->height, l->pieces, piece + 1);
    for (int32_t y = (int32_t)kbi_piece((size_t)to->height, l->pieces, piece); y < end; y++) {
        const uint8_t *a = from->data + l->rows.index[y] * from->stride;
        fetch_row(from, l->rows.index[y] + ROWS_AHEAD);
        bool as_it_is = l->rows.weight[y] == 0 && !l->in_place; /* in its own place a level needs a copy of the row */
        if (!as_it_is) l->kernels->blend_rows(a, a + from->stride, from->width, l->rows.weight[y], blended);
        l->kernels->resize_row(as_it_is ? a : blended, from->width, l->columns, to->width,
                               l->made[l->target] + y * to->stride);
    }
}

static bool map_get(kbi_resize_map *map, size_t side, kb_workspace *workspace)
{
    map->index = kbi_workspace_get(workspace, side * sizeof *map->index);
    map->weight = kbi_workspace_get(workspace, side);
    return map->index && map->weight;
}

bool kbi_levels_maps_get(kbi_levels *levels, kb_workspace *workspace)
{
    size_t width = (size_t)levels->level[0].width, height = (size_t)levels->level[0].height;
    levels->columns.group = levels->kernels->resize_group;
    levels->columns.pair = kbi_workspace_get(workspace, 2 * width);
    levels->columns.mix = kbi_workspace_get(workspace, 2 * width);
    levels->blended = kbi_workspace_get(workspace, kbi_round_up(width) * (size_t)levels->threads);
    return levels->columns.pair && levels->columns.mix && levels->blended &&
           map_get(&levels->columns, width, workspace) && map_get(&levels->rows, height, workspace);
}

/* A level may take the place of the one it is made of: row y is made of rows y and further down, and rows do not become
 * longer. So one at a time needs the memory of level 1. */
bool kbi_levels_get(kbi_levels *levels, kb_workspace *workspace)
{
    for (int32_t i = 1; i < levels->count; i++) {
        kbi_level *level = &levels->level[i];
        if (levels->in_place) level->stride = level->width;
        levels->made[i] = levels->in_place && i > 1
                              ? levels->made[i - 1]
                              : kbi_workspace_get(workspace, (size_t)level->stride * (size_t)level->height);
        if (!levels->made[i]) return false;
        level->data = levels->made[i];
    }
    return kbi_levels_maps_get(levels, workspace);
}

/* A map is the same for all levels, but for the last PLAN_END pixels, which may lie behind the last one of the larger
 * level: an image of n px becomes one of n / step + 0.5. */
#define PLAN_END 3

static void plan(kbi_resize_map map, const kbi_levels *levels, int32_t level, int32_t n, int32_t larger)
{
    kbi_resize_plan(map, level == 1 ? 0 : kbi_max_i(n - PLAN_END, 0), n, levels->step, larger);
}

/* Waking a thread for a level of fewer pixels takes longer than building it. */
#define WORTH_THREADS (1 << 16)

void kbi_levels_build(kbi_levels *levels, int32_t level)
{
    if (level == 0) return;
    const kbi_level *from = &levels->level[level - 1], *to = from + 1;
    plan(levels->columns, levels, level, to->width, from->width);
    plan(levels->rows, levels, level, to->height, from->height);
    levels->target = level;
    levels->pieces = (int64_t)to->width * to->height < WORTH_THREADS ? 1 : levels->threads;
    kbi_parallel_run(levels->parallel, levels->pieces, resize_task, levels);
}
