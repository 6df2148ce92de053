/* SPDX-License-Identifier: Apache-2.0 */
/* Views of known geometry, and the distances of right and wrong pairs between them. */
#include "threshold_views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/features.h"
#include "learn/synth.h"

#define LEVELS_APART 1.44 /* sizes of candidates in a window: a level of 1.2 more or less, as SLAM systems search */

/* ------------------------------------------------------------------------------------------------------------ views */

/* What changes between the frames of a camera that moves. */
static const kbi_view_range frame_range = {
    .rotation = 15, .tilt = 40, .zoom_out = 0.3, .zoom_in = 0.3, .perspective = 0.3};

static kb_status render_view(view_pair *pair, const kb_image *photo, view_kind kind, uint64_t *state, kbi_view *view)
{
    kbi_light_range light = kbi_light_range_default;
    kbi_view_draw(kind == VIEW_FRAME ? &frame_range : &kbi_view_range_default, photo->width, photo->height, state,
                  view);
    size_t count = (size_t)view->width * (size_t)view->height;
    pair->pixels = io_alloc(count, 1);
    pair->mask = io_alloc(count, 1);
    kbi_view_render(view, photo, pair->pixels, pair->mask);
    pair->image[0] = *photo;
    pair->image[1] = (kb_image){pair->pixels, view->width, view->height, view->width, KB_FORMAT_GRAY8, 0};
    return kbi_light_change(&light, pair->pixels, view->width, view->height, state);
}

static kb_status detect_view(view_pair *pair, int side, const kb_detect_options *detection, const kbi_view *view)
{
    kb_detect_options options = *detection;
    kb_image mask = pair->image[1];
    mask.data = pair->mask;
    options.mask = side ? &mask : NULL;
    size_t room = (size_t)options.max_keypoints;
    kb_features *f = &pair->features[side];
    *f = io_keypoints_view(io_alloc(room, sizeof(kb_keypoint)), room);
    kb_status status = kb_detect(&pair->image[side], &options, pair->workspace, f, NULL);
    if (status != KB_OK) return status;
    pair->regions[side] = io_alloc(f->n, sizeof(kbi_region));
    double scale = (double)kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, f->detector));
    for (size_t i = 0; i < f->n; i++)
        pair->regions[side][i] = kbi_region_through(view->to_photo, &f->keypoints[i], scale);
    return status;
}

kb_status view_pair_make(view_pair *pair, const kb_image *photo, view_kind kind, const kb_detect_options *detection,
                         uint64_t seed)
{
    kbi_view views[2];
    uint64_t state = seed;
    memset(pair, 0, sizeof *pair);
    kbi_view_identity(photo->width, photo->height, &views[0]);
    kb_status status = kb_workspace_create(NULL, &pair->workspace);
    if (status == KB_OK) status = render_view(pair, photo, kind, &state, &views[1]);
    for (int side = 0; side < 2 && status == KB_OK; side++)
        status = detect_view(pair, side, detection, &views[side]);
    return status;
}

void view_pair_free(view_pair *pair)
{
    for (int side = 0; side < 2; side++) {
        free(pair->features[side].keypoints);
        free(pair->regions[side]);
    }
    free(pair->pixels);
    free(pair->mask);
    kb_workspace_free(pair->workspace);
}

/* --------------------------------------------------------------------------------------------------------- counting */

typedef enum relation { SAME, DIFFERENT, UNCLEAR } relation;

static bool within(const kbi_region *a, const kbi_region *b, const kbi_association *limits)
{
    double apart = hypot(a->x - b->x, a->y - b->y), turn = fabs(a->angle - b->angle);
    return apart <= limits->position * fmin(a->width, b->width) &&
           fmax(a->width, b->width) <= limits->scale * fmin(a->width, b->width) &&
           fmin(turn, 360 - turn) <= limits->angle;
}

/* What lies close but fits in no way to a point, such as the same corner at another scale, says nothing. */
static relation relation_of(const kbi_region *a, const kbi_region *b)
{
    static const kbi_association near = {.position = 0.2, .scale = 1000, .angle = 180};
    return within(a, b, &kbi_association_default) ? SAME : within(a, b, &near) ? UNCLEAR : DIFFERENT;
}

static bool row_is_zero(const uint8_t *row, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (row[i]) return false;
    return true;
}

/* A keypoint of the first view and what a search around its place in the second one finds. */
static void count_window(const view_pair *pair, size_t i, const uint8_t *const rows[2], size_t bytes, double window,
                         threshold_counts *counts)
{
    const kbi_region *a = &pair->regions[0][i];
    const kbi_association limits = {.position = window, .scale = LEVELS_APART, .angle = 180};
    for (size_t j = 0; j < pair->features[1].n; j++) {
        const kbi_region *b = &pair->regions[1][j];
        if (fabs(a->x - b->x) > window * a->width || !within(a, b, &limits)) continue;
        relation is = relation_of(a, b);
        if (is == UNCLEAR || row_is_zero(rows[1] + j * bytes, bytes)) continue;
        int32_t distance = kb_hamming(rows[0] + i * bytes, rows[1] + j * bytes, bytes);
        if (is == SAME) counts->right[distance]++;
        else counts->wrong[distance]++;
    }
}

static void count_ratio(const view_pair *pair, const kb_match *m, threshold_counts *counts)
{
    relation is = relation_of(&pair->regions[0][m->a], &pair->regions[1][m->b]);
    int step = 1;
    while (step <= RATIO_STEPS && !(m->distance < (float)step / RATIO_STEPS * m->second)) step++;
    if (is == SAME) counts->ratio_right[step]++;
    else if (is == DIFFERENT) counts->ratio_wrong[step]++;
}

void count_windows(const view_pair *pair, const uint8_t *const rows[2], size_t row_bytes, double window,
                   threshold_counts *counts)
{
    for (size_t i = 0; i < pair->features[0].n; i++)
        if (!row_is_zero(rows[0] + i * row_bytes, row_bytes))
            count_window(pair, i, rows, row_bytes, window, counts);
}

kb_status count_ratios(const view_pair *pair, const uint8_t *const rows[2], size_t row_bytes, threshold_counts *counts)
{
    kb_features a = io_bytes_view(rows[0], pair->features[0].n, row_bytes);
    kb_features b = io_bytes_view(rows[1], pair->features[1].n, row_bytes);
    kb_match *matches = io_alloc(a.n, sizeof *matches);
    kb_match_options options;
    KB_INIT(options);
    options.one_way = 1;
    size_t found = 0;
    kb_status status = kb_match_features(&a, &b, &options, pair->workspace, matches, &found, NULL);
    for (size_t i = 0; i < found && status == KB_OK; i++) count_ratio(pair, &matches[i], counts);
    free(matches);
    return status;
}
