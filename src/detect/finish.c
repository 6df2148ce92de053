/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* What a chosen corner needs the pixels of its level for: its place between them, and its angle. */
#include <math.h>

#include "detect/corners.h"
#include "common/rows.h"
#include "detect/sift.h"

/* A second direction that is nearly as strong is kept in class_id, in 1/1024 degrees, until all are finished. */
#define SECOND_STRONG 0.8f
#define SECOND_UNIT 1024.0f

/* Near a border the pixels around a corner are copied, with the border repeated: in lengths that are constants, from
 * the left on, so that each overwrites what the one before wrote too much. */
#define WINDOW_REACH (KBI_GRADIENT_REACH + 1)
#define WINDOW (2 * WINDOW_REACH + 1)
#define WINDOW_COPY 48
#define WINDOW_STRIDE (WINDOW + WINDOW_COPY)
typedef uint8_t level_window[WINDOW * WINDOW_STRIDE];

static kbi_place place_with_margin(const kbi_level *level, const kb_keypoint *k, level_window window)
{
    int32_t x = kbi_clamp_i((int32_t)((k->x + 0.5) / level->factor), 0, level->width - 1);
    int32_t y = kbi_clamp_i((int32_t)((k->y + 0.5) / level->factor), 0, level->height - 1);
    bool inside = x >= WINDOW_REACH && y >= WINDOW_REACH && x < level->width - WINDOW_REACH &&
                  y < level->height - WINDOW_REACH;
    if (inside) return (kbi_place){kbi_level_pixel(level, x, y), level->stride};
    int32_t first = kbi_max_i(x - WINDOW_REACH, 0), left = kbi_max_i(WINDOW_REACH - x, 0);
    int32_t right = kbi_min_i(level->width + WINDOW_REACH - x, WINDOW), bottom = level->height - 1;
    const uint8_t *end = kbi_level_pixel(level, level->width, bottom);
    for (int32_t r = 0; r < WINDOW; r++) {
        const uint8_t *row = kbi_level_pixel(level, 0, kbi_clamp_i(y + r - WINDOW_REACH, 0, bottom));
        uint8_t *out = window + r * WINDOW_STRIDE;
        if (left > 0) memset(out, row[0], WINDOW_REACH);
        if (end - row - first >= WINDOW_COPY) memcpy(out + left, row + first, WINDOW_COPY);
        else memcpy(out + left, row + first, (size_t)(right - left));
        if (right < WINDOW) memset(out + right, row[level->width - 1], WINDOW_REACH);
    }
    return (kbi_place){window + WINDOW_REACH * (WINDOW_STRIDE + 1), WINDOW_STRIDE};
}

static void set_angle(const float *histogram, int32_t highest, bool second, kb_keypoint *k)
{
    kbi_gradient_direction direction;
    k->angle = kbi_gradient_angle(histogram, highest);
    if (!second) return;
    kbi_gradient_peaks(histogram, highest, &direction);
    if (direction.second != direction.angle && direction.confidence <= 1 - SECOND_STRONG)
        k->class_id = (int32_t)(direction.second * SECOND_UNIT);
}

/* Step by step for several keypoints: what a step computes for one does not wait for what it computes for another. */
static void orient_by_gradient(const kbi_corners *c, kb_keypoint *const *k, size_t n)
{
    level_window window;
    uint16_t blocks[KBI_REFINE_BATCH][KBI_GRADIENT_ROOM] = {{0}};
    float sums[KBI_REFINE_BATCH][KBI_GRADIENT_SUMS], histogram[KBI_REFINE_BATCH][KBI_GRADIENT_DIRECTIONS];
    int32_t highest[KBI_REFINE_BATCH];
    for (size_t i = 0; i < n; i++) {
        kbi_place place = place_with_margin(&c->levels.level[k[i]->octave], k[i], window);
        c->kernels->gradient_blocks(place.pixel, place.stride, blocks[i]);
    }
    for (size_t i = 0; i < n; i++) c->kernels->gradient_sums(blocks[i], sums[i]);
    for (size_t i = 0; i < n; i++) highest[i] = c->kernels->gradient_histogram(sums[i], histogram[i]);
    for (size_t i = 0; i < n; i++) set_angle(histogram[i], highest[i], c->job->options.second_angle, k[i]);
}

static void orient_by_centroid(const kbi_corners *c, kb_keypoint *const *k, size_t n)
{
    level_window window;
    for (size_t i = 0; i < n; i++) {
        kbi_place place = place_with_margin(&c->levels.level[k[i]->octave], k[i], window);
        k[i]->angle = c->kernels->disc_angle(place.pixel, place.stride);
    }
}

/* Moves keypoints to their places beside the pixel, unless the mask hides them there. */
static void refine(const kbi_corners *c, const kbi_peak *const *peaks, kb_keypoint *const *k, size_t n)
{
    double offset[KBI_REFINE_BATCH][2];
    kbi_place places[KBI_REFINE_BATCH];
    const kb_image *mask = c->job->options.mask;
    if (!c->measure->refine || c->job->options.whole_pixels) return;
    for (size_t i = 0; i < n; i++) {
        const kbi_level *level = &c->levels.level[peaks[i]->level];
        places[i] = (kbi_place){kbi_level_pixel(level, peaks[i]->x, peaks[i]->y), level->stride};
    }
    c->measure->refine(c->kernels, places, n, offset);
    for (size_t i = 0; i < n; i++) {
        double factor = c->levels.level[peaks[i]->level].factor;
        float x = (float)kbi_level_to_image(factor, peaks[i]->x + offset[i][0]);
        float y = (float)kbi_level_to_image(factor, peaks[i]->y + offset[i][1]);
        if (mask && !kbi_mask_allows(mask, x, y)) continue;
        k[i]->x = x;
        k[i]->y = y;
    }
}

static void finish_batch(const kbi_corners *c, kb_keypoint *const *k, size_t n)
{
    const kbi_peak *peaks[KBI_REFINE_BATCH];
    for (size_t i = 0; i < n && c->peaks.peak; i++) {
        peaks[i] = &c->peaks.peak[k[i]->class_id];
        k[i]->class_id = -1;
    }
    if (c->peaks.peak) refine(c, peaks, k, n);
    if (c->job->options.orientation == KB_ORIENTATION_GRADIENT) orient_by_gradient(c, k, n);
    if (c->job->options.orientation == KB_ORIENTATION_CENTROID) orient_by_centroid(c, k, n);
}

void kbi_corners_finish(const kbi_corners *c, size_t from, size_t to, int32_t level)
{
    kb_keypoint *batch[KBI_REFINE_BATCH];
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        if (level >= 0 && c->keypoints[i].octave != level) continue;
        batch[n++] = &c->keypoints[i];
        if (n < KBI_REFINE_BATCH) continue;
        finish_batch(c, batch, n);
        n = 0;
    }
    finish_batch(c, batch, n);
}

void kbi_corners_spread(kbi_corners *c)
{
    size_t taken = 0, total = 0, n = (size_t)c->job->options.max_keypoints;
    while (taken < c->count && total < n) total += c->keypoints[taken++].class_id >= 0 ? 2 : 1;
    bool cut = total > n; /* the last one has no room for its second */
    c->count = cut ? n : total;
    for (size_t to = c->count; taken > 0;) { /* from the end, since they move that way */
        kb_keypoint one = c->keypoints[--taken], two = one;
        one.class_id = two.class_id = -1;
        bool second = c->keypoints[taken].class_id >= 0 && !cut;
        two.angle = (float)c->keypoints[taken].class_id / SECOND_UNIT;
        cut = false;
        if (second) c->keypoints[--to] = one.angle < two.angle ? two : one;
        c->keypoints[--to] = second && two.angle < one.angle ? two : one;
    }
}
