/* The sampler's pyramid in bands, for large images: one sweep over the image streams all levels. Of each a ring of rows
 * is kept, so that memory grows with the width of the image alone. A row of the image that is reached makes those
 * rows of the other levels that need no later one. The regions of a strip of a level are visited as soon as the rows that
 * they reach into are there. A ring lies in one piece: when it is full, the rows that are still needed move to its start.
 *
 * While they are visited, a level looks like an image of the rows that its ring has. Where these end, the level ends too,
 * or no region of the strip reaches, so that samplers repeat the border as they should. */
#include "image/kernels.h"

#define REACH 32 /* rows from the centre of a region to what is read: 16 sqrt(2) samples of sqrt(1.5) px, and a window */
#define RING_ROWS (KBI_STRIP_ROWS + 2 * REACH + 64)

typedef struct sweep {
    kbi_pyramid *levels;
    const kbi_image_kernels *kernels;
    kbi_band_visit *visit;
    void *context;
    int32_t count; /* levels up to the last one that is wanted */
    uint32_t wanted;
    struct sweep_level {
        int32_t height;              /* of all of it */
        int32_t first;               /* row of the ring; even */
        int32_t ready;               /* rows that have been made */
        int32_t visited;             /* the rows before this one have been */
        const uint64_t *next, *end;  /* regions still to be visited */
    } level[KBI_PYRAMID_LEVELS];
} sweep;

static size_t ring_bytes(const kbi_pyramid *levels, int32_t level)
{
    return (size_t)levels->stride[level] * (size_t)kbi_min_i(levels->height[level], RING_ROWS);
}

size_t kbi_pyramid_rings_bytes(const kbi_pyramid *levels)
{
    size_t bytes = 0;
    for (int32_t i = 1; i < KBI_PYRAMID_LEVELS; i++) bytes += ring_bytes(levels, i);
    return bytes;
}

kb_status kbi_pyramid_rings(kbi_pyramid *levels, const kb_image *gray, kb_workspace *workspace)
{
    uint8_t *next = kbi_workspace_get(workspace, kbi_pyramid_rings_bytes(levels));
    if (!next) return KB_E_MEMORY;
    levels->data[0] = gray->data;
    for (int32_t i = 1; i < KBI_PYRAMID_LEVELS && !workspace->measures; i++) {
        levels->data[i] = levels->made[i] = next;
        next += ring_bytes(levels, i);
    }
    return KB_OK;
}

/* Drops the rows that neither a visit nor another level needs. */
static void ring_move(sweep *s, int32_t level)
{
    struct sweep_level *l = &s->level[level];
    ptrdiff_t stride = s->levels->stride[level];
    int32_t keep = kbi_min_i(l->visited - REACH, l->ready - 2) & ~1;
    memmove(s->levels->made[level], s->levels->made[level] + (keep - l->first) * stride,
            (size_t)(l->ready - keep) * (size_t)stride);
    l->first = keep;
}

/* Makes the next row of a level if the level that it is made of has what it takes. */
static bool ring_add_row(sweep *s, int32_t level)
{
    struct sweep_level *l = &s->level[level];
    const struct sweep_level *from = &s->level[level == 1 ? 0 : level - 2];
    int32_t y = l->ready, last = level == 1 ? y / 2 * 3 + (y & 1) + 1 : 2 * y + 1;
    if (y == l->height || kbi_min_i(last, from->height - 1) >= from->ready) return false;
    if (y - l->first == RING_ROWS) ring_move(s, level);
    kbi_pyramid_row(s->levels, s->kernels, level, y - from->first / 2,
                    s->levels->made[level] + (y - l->first) * s->levels->stride[level]);
    l->ready++;
    s->levels->height[level] = l->ready - l->first;
    return true;
}

static void visit_ready(sweep *s, int32_t level)
{
    struct sweep_level *l = &s->level[level];
    while (l->next < l->end && l->ready >= kbi_min_i(l->visited + KBI_STRIP_ROWS + REACH, l->height)) {
        const uint64_t *first = l->next;
        while (l->next < l->end && kbi_band_strip(*l->next) == l->visited / KBI_STRIP_ROWS) l->next++;
        if (l->next > first) s->visit(s->context, first, (size_t)(l->next - first), l->first);
        l->visited += KBI_STRIP_ROWS;
    }
    if (l->next == l->end) l->visited = l->height; /* its rows are for other levels only */
}

static void sweep_start(sweep *s, const uint64_t *entries, size_t n)
{
    const uint64_t *end = entries + n;
    for (int32_t i = 0; i < KBI_PYRAMID_LEVELS; i++) {
        struct sweep_level *l = &s->level[i];
        *l = (struct sweep_level){.height = s->levels->height[i], .next = entries};
        while (entries < end && kbi_band_level(*entries) == i) entries++;
        l->end = entries;
        if (l->next < l->end) s->wanted |= (uint32_t)1 << i;
        else l->visited = l->height;
    }
    for (int32_t i = KBI_PYRAMID_LEVELS - 1; i > 2; i--)
        if (s->wanted >> i & 1) s->wanted |= (uint32_t)1 << (i - 2);
    while (s->wanted >> s->count > 1) s->count++;
}

void kbi_pyramid_sweep(kbi_pyramid *levels, const kbi_image_kernels *kernels, const uint64_t *entries, size_t n,
                       kbi_band_visit *visit, void *context)
{
    sweep s = {.levels = levels, .kernels = kernels, .visit = visit, .context = context};
    sweep_start(&s, entries, n);
    while (s.level[0].ready < s.level[0].height) {
        s.level[0].ready++;
        visit_ready(&s, 0);
        for (int32_t i = 1; i <= s.count; i++)
            while (s.wanted >> i & 1 && ring_add_row(&s, i)) visit_ready(&s, i);
    }
    for (int32_t i = 0; i < KBI_PYRAMID_LEVELS; i++) levels->height[i] = s.level[i].height;
}
