/* SPDX-License-Identifier: Apache-2.0 */
/* One photograph becomes points and patches: views, keypoints, association, selection, sampling. */
#include "learn/synth.h"

#include <string.h>

#include "common/common.h"
#include "learn/memory.h"
#include "learn/random.h"

const kbi_light_range kbi_light_range_default = {
    .blur = 2.5, .gain = 0.3, .gamma = 0.3, .offset = 12, .shading = 0.3, .shadow = 0.7, .noise = 10, .jpeg = 8};

static const kb_detector detectors[] = {KB_DETECTOR_ORB, KB_DETECTOR_SIFT, KB_DETECTOR_HESSIAN};
#define DETECTORS 3

/* A keypoint that was given to a point. */
typedef struct observation {
    uint32_t point, view, detector;
    kb_keypoint keypoint;
    kbi_region region;
} observation;

typedef struct scene {
    const kb_image *photo;
    const kbi_synth_options *options;
    kbi_view views[KBI_SYNTH_MAX_VIEWS];
    uint8_t *pixels[KBI_SYNTH_MAX_VIEWS];
    uint8_t *mask;
    kb_workspace *workspace;
    kb_keypoint *keypoints; /* of one view */
    observation *seen;
    size_t seen_count, seen_room;
} scene;

void kbi_synth_defaults(kbi_synth_options *options)
{
    *options = (kbi_synth_options){.views = 5, .detectors = 3, .keypoints = 2000, .max_points = 400, .supports = 1,
                                  .support = {1}, .geometry = kbi_view_range_default, .light = kbi_light_range_default,
                                  .association = kbi_association_default};
}

static kb_image image_of(const scene *s, int32_t view, const uint8_t *pixels)
{
    return (kb_image){pixels, s->views[view].width, s->views[view].height, s->views[view].width, KB_FORMAT_GRAY8, 0};
}

/* ---------------------------------------------------------------------------------------------------------- views */

static kb_status blur_image(uint8_t *pixels, int32_t width, int32_t height, double sigma)
{
    uint8_t *line = kbi_zeros((size_t)kbi_max_i(width, height) + KBI_BLUR_MARGIN, 1);
    if (line) kbi_blur(pixels, width, height, sigma, line);
    free(line);
    return line ? KB_OK : KB_E_MEMORY;
}

kb_status kbi_light_change(const kbi_light_range *range, uint8_t *pixels, int32_t width, int32_t height,
                           uint64_t *state)
{
    uint64_t chosen = kbi_random_next(state);
    size_t count = (size_t)width * (size_t)height;
    double sigma = kbi_random_between(state, 0.3, range->blur), noise = kbi_random_between(state, 1, range->noise);
    double most = range->shading;
    kbi_shading shading = {kbi_random_between(state, -most, most), kbi_random_between(state, -most, most),
                          kbi_random_between(state, -most, most / 2)};
    kbi_shadows shadows = {20 * kbi_exp(kbi_random_between(state, 0, 2.5)), kbi_random_between(state, 0.35, 0.65),
                          kbi_random_between(state, 0.02, 0.4), kbi_random_between(state, 0.2, 1) * range->shadow};
    kbi_tone tone = {kbi_exp(range->gain * kbi_random_normal(state)), range->offset * kbi_random_normal(state),
                    kbi_exp(range->gamma * kbi_random_normal(state))};
    int quality = range->jpeg + (int)kbi_random_below(state, (uint32_t)(96 - kbi_min_i(range->jpeg, 95)));
    uint8_t table[256];
    double logarithms[256];
    if ((chosen & 3) == 0 && range->blur > 0 && blur_image(pixels, width, height, sigma) != KB_OK) return KB_E_MEMORY;
    if ((chosen & 12) == 0 && most > 0) kbi_shade(pixels, width, height, &shading);
    if ((chosen >> 8 & 7) < 3 && range->shadow > 0 && !kbi_cast_shadows(pixels, width, height, &shadows, state))
        return KB_E_MEMORY;
    if (chosen & 48) {
        kbi_level_logarithms(logarithms);
        kbi_tone_table(&tone, logarithms, table);
        for (size_t i = 0; i < count; i++) pixels[i] = table[pixels[i]];
    }
    if ((chosen & 64) && range->noise > 0) kbi_noise(pixels, count, noise, state);
    bool compress = (chosen & 128) && range->jpeg > 0 && range->codec;
    return !compress || range->codec(pixels, width, height, quality) ? KB_OK : KB_E_IMAGE;
}

static void copy_photo(const kb_image *photo, uint8_t *pixels)
{
    for (int32_t y = 0; y < photo->height; y++) {
        memcpy(pixels + (size_t)y * (size_t)photo->width, (const uint8_t *)photo->data + y * photo->stride,
               (size_t)photo->width);
    }
}

/* Makes view v and leaves its mask in s->mask. */
static kb_status make_view(scene *s, int32_t v, uint64_t *state)
{
    kbi_view *view = &s->views[v];
    if (v == 0) kbi_view_identity(s->photo->width, s->photo->height, view);
    else kbi_view_draw(&s->options->geometry, s->photo->width, s->photo->height, state, view);
    size_t count = (size_t)view->width * (size_t)view->height;
    uint8_t *mask = kbi_resized(s->mask, count, 1);
    if (mask) s->mask = mask;
    s->pixels[v] = kbi_zeros(count, 1);
    if (!mask || !s->pixels[v]) return KB_E_MEMORY;
    if (v == 0) {
        copy_photo(s->photo, s->pixels[v]);
        memset(s->mask, 255, count);
        return KB_OK;
    }
    kbi_view_render(view, s->photo, s->pixels[v], s->mask);
    return kbi_light_change(&s->options->light, s->pixels[v], view->width, view->height, state);
}

/* ------------------------------------------------------------------------------------------------------ keypoints */

static kb_status detect_view(scene *s, int32_t view, kb_detector detector, size_t *count)
{
    kb_image image = image_of(s, view, s->pixels[view]), mask = image_of(s, view, s->mask);
    kb_detect_options options;
    KB_INIT(options);
    options.detector = detector;
    options.max_keypoints = s->options->keypoints;
    options.mask = &mask;
    kb_features f;
    KB_INIT(f);
    f.keypoints = s->keypoints;
    f.capacity = (size_t)s->options->keypoints;
    kb_status status = kb_detect(&image, &options, s->workspace, &f, NULL);
    *count = f.n;
    return status;
}

static kb_status observe(scene *s, uint32_t point, int32_t view, uint32_t detector, const kb_keypoint *keypoint,
                         kbi_region region)
{
    if (s->seen_count == s->seen_room) {
        size_t room = s->seen_room ? 2 * s->seen_room : 16384;
        observation *seen = kbi_resized(s->seen, room, sizeof *seen);
        if (!seen) return KB_E_MEMORY;
        s->seen = seen;
        s->seen_room = room;
    }
    s->seen[s->seen_count++] = (observation){point, (uint32_t)view, detector, *keypoint, region};
    return KB_OK;
}

/* The rotation of a view, in degrees: at the middle of the photograph, where what was upright points to. */
static float rotation_of(const scene *s, int32_t view)
{
    double at[6];
    kbi_homography_local(s->views[view].to_view, 0.5 * s->photo->width, 0.5 * s->photo->height, at);
    return (float)kbi_atan2_degrees(at[4] - at[3], at[2] + at[5]);
}

/* The keypoints of one detector in one view join the tracks. Points of different detectors are different. */
static kb_status add_keypoints(scene *s, int32_t view, uint32_t detector, kbi_tracks *tracks)
{
    size_t found, kept = 0;
    double width_scale = kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (int32_t)detectors[detector]));
    float rotation = rotation_of(s, view);
    kb_status status = detect_view(s, view, detectors[detector], &found);
    if (status != KB_OK) return status;
    kbi_region *regions = kbi_zeros(found, sizeof *regions);
    uint32_t *points = kbi_zeros(found, sizeof *points);
    if (!regions || !points) status = KB_E_MEMORY;
    for (size_t i = 0; i < found && status == KB_OK; i++) {
        kb_keypoint *k = &s->keypoints[i];
        if (s->options->upright) k->angle = rotation;
        if (!kbi_view_sees(&s->views[view], s->photo, k->x, k->y, 0.5 * width_scale * k->size)) continue;
        regions[kept] = kbi_region_through(s->views[view].to_photo, k, width_scale);
        s->keypoints[kept++] = *k;
    }
    if (status == KB_OK) status = kbi_tracks_add(tracks, regions, kept, points);
    for (size_t i = 0; i < kept && status == KB_OK; i++)
        status = observe(s, points[i] * DETECTORS + detector, view, detector, &s->keypoints[i], regions[i]);
    free(regions);
    free(points);
    return status;
}

/* All views, all keypoints. A view's mask is needed only while its keypoints are detected. */
static kb_status find_tracks(scene *s, uint64_t seed)
{
    const kbi_synth_options *o = s->options;
    kbi_tracks *tracks[DETECTORS];
    kb_status status = KB_OK;
    for (uint32_t d = 0; d < DETECTORS; d++) {
        tracks[d] = kbi_tracks_create(&o->association, s->photo->width, s->photo->height);
        if (!tracks[d]) status = KB_E_MEMORY;
    }
    for (int32_t v = 0; v < o->views && status == KB_OK; v++) {
        uint64_t state = kbi_random_fork(seed, (uint64_t)v);
        status = make_view(s, v, &state);
        for (uint32_t d = 0; d < DETECTORS && status == KB_OK; d++) {
            if (o->detectors >> d & 1) status = add_keypoints(s, v, d, tracks[d]);
        }
    }
    for (uint32_t d = 0; d < DETECTORS; d++) kbi_tracks_free(tracks[d]);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ selection */

static int compare_observations(const void *left, const void *right)
{
    const observation *a = left, *b = right;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    return a->view < b->view ? -1 : a->view > b->view;
}

/* Where points with two observations or more begin in the sorted list, in random order. Returns how many. */
static size_t repeated_points(const scene *s, uint64_t seed, uint32_t *start)
{
    size_t count = 0;
    uint64_t state = seed;
    for (size_t i = 0; i + 1 < s->seen_count; i++) {
        bool first = i == 0 || s->seen[i - 1].point != s->seen[i].point;
        if (first && s->seen[i + 1].point == s->seen[i].point) start[count++] = (uint32_t)i;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        size_t j = i + kbi_random_below(&state, (uint32_t)(count - i));
        uint32_t swap = start[i];
        start[i] = start[j];
        start[j] = swap;
    }
    return count;
}

/* wanted[i] becomes 1 for the first observation of every point that is selected. */
static kb_status select_points(const scene *s, uint64_t seed, uint8_t *wanted)
{
    uint32_t *start = kbi_zeros(s->seen_count, sizeof *start);
    kbi_duplicates *duplicates = kbi_duplicates_create(s->photo->width, s->photo->height);
    kb_status status = start && duplicates ? KB_OK : KB_E_MEMORY;
    size_t count = status == KB_OK ? repeated_points(s, seed, start) : 0;
    int32_t room[DETECTORS], used = 0;
    for (int d = 0; d < DETECTORS; d++) used += s->options->detectors >> d & 1;
    for (int d = 0; d < DETECTORS; d++) room[d] = s->options->max_points / used;
    for (size_t i = 0; i < count && status == KB_OK; i++) {
        const observation *first = &s->seen[start[i]];
        if (room[first->detector] == 0 || kbi_duplicates_has(duplicates, &first->region, &kbi_association_duplicate))
            continue;
        status = kbi_duplicates_add(duplicates, &first->region);
        room[first->detector]--;
        wanted[start[i]] = 1;
    }
    kbi_duplicates_free(duplicates);
    free(start);
    return status;
}

/* Drops all observations but those of the selected points, which are renumbered from 0. */
static kb_status keep_selected(scene *s, uint64_t seed, size_t *count)
{
    *count = 0;
    if (s->seen_count == 0) return KB_OK;
    qsort(s->seen, s->seen_count, sizeof *s->seen, compare_observations);
    uint8_t *wanted = kbi_zeros(s->seen_count, 1);
    kb_status status = wanted ? select_points(s, seed, wanted) : KB_E_MEMORY;
    if (status != KB_OK) {
        free(wanted);
        return status;
    }
    size_t kept = 0, points = 0;
    uint32_t last = UINT32_MAX;
    bool keep = false;
    for (size_t i = 0; i < s->seen_count; i++) {
        observation o = s->seen[i];
        if (o.point != last) points += keep = wanted[i];
        last = o.point;
        if (!keep) continue;
        o.point = (uint32_t)points - 1;
        s->seen[kept++] = o;
    }
    s->seen_count = kept;
    *count = points;
    free(wanted);
    return KB_OK;
}

/* ------------------------------------------------------------------------------------------------------- sampling */

/* Samples what one detector found in one view, at every support, and puts it where it belongs. */
static kb_status sample_view(const scene *s, int32_t view, uint32_t detector, kbi_synth_patches *out)
{
    const size_t area = KB_PATCH_SIDE * KB_PATCH_SIDE; /* octaves take as many bytes */
    kb_image image = image_of(s, view, s->pixels[view]);
    kb_keypoint *keypoints = kbi_zeros(s->seen_count, sizeof *keypoints);
    size_t *where = kbi_zeros(s->seen_count, sizeof *where), n = 0;
    kb_status status = keypoints && where ? KB_OK : KB_E_MEMORY;
    for (size_t i = 0; i < s->seen_count && status == KB_OK; i++) {
        if (s->seen[i].view != (uint32_t)view || s->seen[i].detector != detector) continue;
        keypoints[n] = s->seen[i].keypoint;
        where[n++] = i;
    }
    uint8_t *patches = kbi_zeros(n, area);
    if (!patches) status = KB_E_MEMORY;
    for (int32_t k = 0; k < s->options->supports && status == KB_OK; k++) {
        kb_describe_options options;
        KB_INIT(options);
        options.scale = kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (int32_t)detectors[detector])) * s->options->support[k];
        kb_features f;
        KB_INIT(f);
        f.keypoints = keypoints;
        f.n = n;
        status = kb_sample(&image, s->options->octaves ? KB_SAMPLER_OCTAVES : KB_SAMPLER_PATCH, &options, s->workspace,
                           &f, patches, NULL);
        for (size_t i = 0; i < n; i++) memcpy(out->pixels[k] + where[i] * area, patches + i * area, area);
    }
    free(keypoints);
    free(where);
    free(patches);
    return status;
}

static kb_status sample_all(const scene *s, kbi_synth_patches *out)
{
    kb_status status = KB_OK;
    out->patches = s->seen_count;
    out->point = kbi_zeros(s->seen_count, sizeof *out->point);
    out->view = kbi_zeros(s->seen_count, sizeof *out->view);
    if (!out->point || !out->view) return KB_E_MEMORY;
    for (int32_t k = 0; k < s->options->supports; k++) {
        out->pixels[k] = kbi_zeros(s->seen_count, KB_PATCH_SIDE * KB_PATCH_SIDE);
        if (!out->pixels[k]) return KB_E_MEMORY;
    }
    for (size_t i = 0; i < s->seen_count; i++) {
        out->point[i] = s->seen[i].point;
        out->view[i] = s->seen[i].view;
    }
    for (int32_t v = 0; v < s->options->views; v++)
        for (uint32_t d = 0; d < DETECTORS && status == KB_OK; d++) status = sample_view(s, v, d, out);
    return status;
}

kb_status kbi_synth_image(const kb_image *photo, const kbi_synth_options *options, uint64_t seed,
                          kbi_synth_patches *out, kb_error *error)
{
    scene s = {.photo = photo, .options = options};
    *out = (kbi_synth_patches){0};
    s.keypoints = kbi_zeros((size_t)options->keypoints, sizeof *s.keypoints);
    kb_status status = s.keypoints ? kb_workspace_create(NULL, &s.workspace) : KB_E_MEMORY;
    if (status == KB_OK) status = find_tracks(&s, seed);
    if (status == KB_OK) status = keep_selected(&s, kbi_random_fork(seed, KBI_SYNTH_MAX_VIEWS), &out->points);
    if (status == KB_OK) status = sample_all(&s, out);
    if (status != KB_OK) {
        kbi_synth_patches_free(out);
        kbi_fail(error, status, "no patches can be made of this image: %s", kb_status_string(status));
    }
    kb_workspace_free(s.workspace);
    for (int32_t v = 0; v < KBI_SYNTH_MAX_VIEWS; v++) free(s.pixels[v]);
    free(s.mask);
    free(s.keypoints);
    free(s.seen);
    return status;
}

void kbi_synth_patches_free(kbi_synth_patches *patches)
{
    free(patches->point);
    free(patches->view);
    for (int32_t k = 0; k < KBI_SYNTH_MAX_SUPPORTS; k++) free(patches->pixels[k]);
    *patches = (kbi_synth_patches){0};
}
