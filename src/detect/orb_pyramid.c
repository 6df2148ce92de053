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
        o->kernels.blend_rows(a, a + from->stride, from->width, o->rows.weight[y], blended);
        o->kernels.resize_row(blended, from->width, o->columns, to->width, o->target_data + y * to->stride);
    }
}

kb_status kbi_orb_build_levels(kbi_orb *o)
{
    size_t pixels = 0, width = (size_t)o->job->image.width, height = (size_t)o->job->image.height;
    size_t side = width > height ? width : height, row = kbi_round_up(width);
    for (int32_t i = 1; i < o->levels; i++) pixels += (size_t)o->level[i].stride * (size_t)o->level[i].height;
    size_t maps = 2 * (kbi_round_up(side * sizeof(int32_t)) + kbi_round_up(side) + kbi_round_up(2 * side));
    uint8_t *memory = kbi_workspace_get(o->job->workspace, pixels + maps + row * (size_t)o->threads);
    if (!memory) return KB_E_MEMORY;

    o->level[0].data = o->job->image.data;
    o->level[0].stride = o->job->image.stride;
    uint8_t *next = memory;
    for (int32_t i = 1; i < o->levels; i++) {
        o->level[i].data = next;
        next += (size_t)o->level[i].stride * (size_t)o->level[i].height;
    }
    o->columns.index = (int32_t *)(void *)next;
    o->rows.index = (int32_t *)(void *)(next += kbi_round_up(side * sizeof(int32_t)));
    o->columns.weight = next += kbi_round_up(side * sizeof(int32_t));
    o->rows.weight = next += kbi_round_up(side);
    o->columns.pair = next += kbi_round_up(side);
    o->rows.pair = next += kbi_round_up(2 * side);
    o->blended = next + kbi_round_up(2 * side);
    next = memory;
    for (o->target = 1; o->target < o->levels; o->target++) {
        const kbi_orb_level *from = &o->level[o->target - 1], *to = from + 1;
        kbi_resize_plan(o->columns, to->width, o->job->options.level_factor, from->width);
        kbi_resize_plan(o->rows, to->height, o->job->options.level_factor, from->height);
        o->target_data = next;
        kbi_parallel_run(o->job->options.parallel, o->threads, resize_task, o);
        next += (size_t)to->stride * (size_t)to->height;
    }
    return KB_OK;
}
