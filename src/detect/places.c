/* SPDX-License-Identifier: Apache-2.0 */
/* One keypoint per corner: from the strongest on, a peak is taken when it is a maximum over scale and its place is
 * free. */
#include <math.h>

#include "detect/corners.h"

/* Keypoints nearer than SEPARATION of the size of the smaller, and nearer than MAX_SEPARATION px, compete for a place:
 * the stronger stays. */
#define SEPARATION 0.05
#define MAX_SEPARATION 8.0
#define NOBODY UINT32_MAX

/* Cells of MAX_SEPARATION px, each with a list of the keypoints that stay in it. */
typedef struct raster {
    int32_t columns, rows;
    uint32_t *cell, *next;
} raster;

static int32_t cell_at(float place, double beside, int32_t cells)
{
    return kbi_clamp_i((int32_t)((place + beside) / MAX_SEPARATION), 0, cells - 1);
}

static bool is_taken(const raster *r, const kb_keypoint *keypoints, const kb_keypoint *k)
{
    double own = SEPARATION * k->size;
    if (own > MAX_SEPARATION) own = MAX_SEPARATION;
    int32_t left = cell_at(k->x, -own, r->columns), right = cell_at(k->x, own, r->columns);
    int32_t top = cell_at(k->y, -own, r->rows), bottom = cell_at(k->y, own, r->rows);
    for (int32_t y = top; y <= bottom; y++)
        for (int32_t x = left; x <= right; x++)
            for (uint32_t i = r->cell[y * r->columns + x]; i != NOBODY; i = r->next[i]) {
                double dx = (double)keypoints[i].x - k->x, dy = (double)keypoints[i].y - k->y;
                double radius = SEPARATION * keypoints[i].size < own ? SEPARATION * keypoints[i].size : own;
                if (dx * dx + dy * dy < radius * radius) return true;
            }
    return false;
}

#define GROWTHS (KBI_PEAK_STEPS / 2)

/* growth[k], k < GROWTHS: the power k / KBI_PEAK_STEPS of the step between levels, by its square roots. */
static void find_growths(double step, double growth[GROWTHS])
{
    double root[KBI_PEAK_BITS] = {sqrt(step)};
    for (int32_t i = 1; i < KBI_PEAK_BITS; i++) root[i] = sqrt(root[i - 1]);
    growth[0] = 1;
    for (int32_t i = KBI_PEAK_BITS - 1, bit = 1; bit < GROWTHS; i--, bit *= 2)
        for (int32_t k = 0; k < bit; k++) growth[bit + k] = growth[k] * root[i];
}

/* The keypoints of the first c->room places, strongest first; of equal maxima the finer comes first. */
static size_t take_places(const kbi_corners *c, raster *r, const uint64_t *entries, size_t n)
{
    double growth[GROWTHS];
    size_t kept = 0;
    find_growths(c->levels.step, growth);
    memset(r->cell, 0xff, (size_t)r->columns * (size_t)r->rows * sizeof *r->cell); /* NOBODY */
    for (size_t i = 0; i < n && kept < c->room; i++) {
        uint32_t index = (uint32_t)entries[i];
        int32_t steps = c->peaks.peak[index].dlevel;
        kb_keypoint k = kbi_corner_keypoint(c, index, steps < 0 ? 1 / growth[-steps] : growth[steps]);
        if (is_taken(r, c->keypoints, &k)) continue;
        uint32_t *cell = &r->cell[cell_at(k.y, 0, r->rows) * r->columns + cell_at(k.x, 0, r->columns)];
        r->next[kept] = *cell;
        *cell = (uint32_t)kept;
        c->keypoints[kept++] = k;
    }
    return kept;
}

static kb_status choose_places(kbi_corners *c)
{
    const kb_image *image = &c->job->image;
    const kb_detect_options *options = &c->job->options;
    kb_workspace *workspace = c->job->workspace;
    size_t n = (size_t)options->max_keypoints;
    raster r = {(int32_t)(image->width / MAX_SEPARATION) + 1, (int32_t)(image->height / MAX_SEPARATION) + 1, NULL,
                NULL};
    size_t sort_bytes = 2 * c->peaks.room * sizeof(uint64_t), bytes = kbi_maxima_bytes(&c->levels, c->peaks.room);
    uint64_t *entries = kbi_workspace_get(workspace, bytes > sort_bytes ? bytes : sort_bytes);
    r.cell = kbi_workspace_get(workspace, (size_t)r.columns * (size_t)r.rows * sizeof *r.cell);
    r.next = kbi_workspace_get(workspace, c->room * sizeof *r.next);
    if (!entries || !r.cell || !r.next) return KB_E_MEMORY;
    if (workspace->measures && c->room <= n) return KB_OK;
    if (workspace->measures)
        return kbi_select_measure(c->room, n, image->width, image->height, options->selection, workspace);
    size_t maxima = kbi_maxima_find(&c->levels, &c->peaks, entries);
    kbi_sort_upper(entries, entries + maxima, maxima);
    c->count = take_places(c, &r, entries, maxima);
    if (c->count <= n) return KB_OK;
    return kbi_select(c->keypoints, c->count, image->width, image->height, options->selection, n, workspace, &c->count);
}

/* Of a corner that is as strong on all levels, the fine peak is found in the original alone, the coarse one in a
 * smaller image too. So coarser levels weigh a little more (Lindeberg's gamma-normalised derivatives, gamma above
 * 1). */
const kbi_scheme kbi_scheme_places = {.weighs = true, .choose = choose_places};
