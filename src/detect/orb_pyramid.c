/* The pyramid of the ORB detector: each level `level_factor` times smaller than the one above, by bilinear interpolation
 * in integers. Pixel x of level n is centred at (x + 0.5) factor^n - 0.5 of the image. */
#include "detect/orb.h"

void kbi_orb_plan_levels(kbi_orb *o)
{
    const kb_detect_options *options = &o->job->options;
    double factor = 1, step = options->level_factor;
    for (o->levels = 0; o->levels < options->levels; o->levels++, factor *= step) {
        kbi_orb_level *level = &o->level[o->levels];
        *level = (kbi_orb_level){.factor = factor};
        level->width = (int32_t)(o->job->image.width / factor + 0.5);
        level->height = (int32_t)(o->job->image.height / factor + 0.5);
        level->stride = (ptrdiff_t)kbi_round_up((size_t)level->width);
        if (level->width < KBI_ORB_SMALLEST_LEVEL || level->height < KBI_ORB_SMALLEST_LEVEL) break;
    }
}

static void resize_task(void *context, int32_t piece)
{
    kbi_orb *o = context;
    const kbi_orb_level *from = &o->level[o->target - 1], *to = &o->level[o->target];
    uint8_t *blended = o->blended + (size_t)piece * kbi_round_up((size_t)o->job->image.width);
    int32_t end = (int32_t)kbi_piece((size_t)to->height, o->threads, piece + 1);
    for (int32_t y = (int32_t)kbi_piece((size_t)to->height, o->threads, piece); y < end; y++) {
        const uint8_t *a = from->data + o->rows.index[y] * from->stride;
        bool as_it_is = o->rows.weight[y] == 0 && !o->single; /* a level in its own place needs a copy of the row */
        if (!as_it_is) o->kernels.blend_rows(a, a + from->stride, from->width, o->rows.weight[y], blended);
        o->kernels.resize_row(as_it_is ? a : blended, from->width, o->columns, to->width, to->made + y * to->stride);
    }
}

static bool map_get(kbi_resize_map *map, size_t side, kb_workspace *workspace)
{
    map->index = kbi_workspace_get(workspace, side * sizeof *map->index);
    map->weight = kbi_workspace_get(workspace, side);
    return map->index && map->weight;
}

bool kbi_orb_columns_get(const kbi_orb *o, kbi_resize_map *columns, size_t width)
{
    kb_workspace *workspace = o->job->workspace;
    columns->group = o->kernels.resize_group;
    columns->pair = kbi_workspace_get(workspace, 2 * width);
    columns->mix = kbi_workspace_get(workspace, 2 * width);
    return map_get(columns, width, workspace) && columns->pair && columns->mix;
}

bool kbi_orb_maps_get(kbi_orb *o)
{
    kb_workspace *workspace = o->job->workspace;
    size_t width = (size_t)o->job->image.width, height = (size_t)o->job->image.height;
    o->blended = kbi_workspace_get(workspace, kbi_round_up(width) * (size_t)o->threads);
    return o->blended && kbi_orb_columns_get(o, &o->columns, width) && map_get(&o->rows, height, workspace);
}

/* A level may take the place of the one it is made of: row y is made of rows y and further down, and rows do not become
 * longer. So one at a time needs the memory of level 1. */
bool kbi_orb_levels_get(kbi_orb *o)
{
    kb_workspace *workspace = o->job->workspace;
    o->level[0].data = o->job->image.data;
    o->level[0].stride = o->job->image.stride;
    if (kbi_orb_streams(o)) return kbi_orb_rings_get(o);
    for (int32_t i = 1; i < o->levels; i++) {
        kbi_orb_level *level = &o->level[i];
        if (o->single) level->stride = level->width;
        level->made = o->single && i > 1 ? level[-1].made
                                         : kbi_workspace_get(workspace, (size_t)level->stride * (size_t)level->height);
        if (!level->made) return false;
        level->data = level->made;
    }
    return kbi_orb_maps_get(o);
}

void kbi_orb_build_level(kbi_orb *o, int32_t level)
{
    const kbi_orb_level *from = &o->level[level - 1], *to = from + 1;
    kbi_resize_plan(o->columns, to->width, o->job->options.level_factor, from->width);
    kbi_resize_plan(o->rows, to->height, o->job->options.level_factor, from->height);
    o->target = level;
    kbi_parallel_run(o->job->options.parallel, o->threads, resize_task, o);
}
