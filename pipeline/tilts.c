/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/tilts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/progress.h"

#define NEAR 2.0f /* px: keypoints of two views that are the same point */

size_t tilts_views(int32_t steps, tilts_view *views)
{
    size_t n = 0;
    for (int32_t k = 0; k <= steps; k++) {
        double tilt = pow(2, 0.5 * k), apart = 72 / tilt;
        int32_t directions = k == 0 ? 1 : (int32_t)ceil(180 / apart - 1e-9);
        for (int32_t i = 0; i < directions; i++, n++)
            if (views) views[n] = (tilts_view){tilt, 180.0 * i / directions};
    }
    return n;
}

/* ---- one view ---- */

/* Where a view lies: image coordinates are centre + rotation^T (tilt u - half[0], v - half[1]). */
typedef struct view_map {
    double cosine, sine, tilt, centre[2], half[2];
    int32_t width, height;
} view_map;

static view_map map_of(const tilts_view *view, int32_t width, int32_t height)
{
    double radians = view->angle * (3.14159265358979323846 / 180), w = width - 1, h = height - 1;
    view_map m = {.cosine = cos(radians), .sine = sin(radians), .tilt = view->tilt, .centre = {0.5 * w, 0.5 * h}};
    m.half[0] = 0.5 * (fabs(m.cosine) * w + fabs(m.sine) * h);
    m.half[1] = 0.5 * (fabs(m.sine) * w + fabs(m.cosine) * h);
    m.width = (int32_t)(2 * m.half[0] / m.tilt) + 1;
    m.height = (int32_t)(2 * m.half[1]) + 1;
    return m;
}

static void map_point(const view_map *m, double p, double q, double *x, double *y)
{
    *x = m->centre[0] + m->cosine * p - m->sine * q;
    *y = m->centre[1] + m->sine * p + m->cosine * q;
}

/* Bilinear; the border goes on outside, so that it makes no corners. */
static float image_at(const kb_image *image, double x, double y)
{
    double mx = image->width - 1, my = image->height - 1;
    x = x < 0 ? 0 : x > mx ? mx : x;
    y = y < 0 ? 0 : y > my ? my : y;
    int32_t ix = (int32_t)x, iy = (int32_t)y, jx = ix + (ix < image->width - 1), jy = iy + (iy < image->height - 1);
    float fx = (float)(x - ix), fy = (float)(y - iy);
    const uint8_t *top = (const uint8_t *)image->data + iy * image->stride;
    const uint8_t *bottom = (const uint8_t *)image->data + jy * image->stride;
    float a = (float)top[ix] + fx * (float)(top[jx] - top[ix]);
    float b = (float)bottom[ix] + fx * (float)(bottom[jx] - bottom[ix]);
    return a + fy * (b - a);
}

/* What narrowing by `tilt` would alias is blurred away first, by a Gaussian of 0.8 sqrt(tilt^2 - 1) along the row
 * (ASIFT's choice): weights of 2 radius + 1 columns for PHASES places between two columns, each set adding up to 1. */
#define PHASES 32
typedef struct row_blur {
    int32_t radius;
    float *weights;
} row_blur;

static row_blur blur_of(double tilt)
{
    double sigma = 0.8 * sqrt(tilt * tilt - 1);
    row_blur blur = {(int32_t)ceil(3 * sigma) + 1, NULL};
    int32_t taps = 2 * blur.radius + 1;
    blur.weights = io_alloc((size_t)(PHASES * taps), sizeof *blur.weights);
    for (int32_t phase = 0; phase < PHASES; phase++) {
        float *set = blur.weights + phase * taps;
        double sum = 0;
        for (int32_t k = 0; k < taps; k++) {
            double d = (k - blur.radius - (double)phase / PHASES) / sigma;
            set[k] = (float)exp(-0.5 * d * d);
            sum += (double)set[k];
        }
        for (int32_t k = 0; k < taps; k++) set[k] = (float)((double)set[k] / sum);
    }
    return blur;
}

/* line[radius + i] is the rotated image at column i. */
static void narrow_row(const float *line, const row_blur *blur, double tilt, int32_t width, uint8_t *out)
{
    int32_t taps = 2 * blur->radius + 1;
    for (int32_t u = 0; u < width; u++) {
        int32_t at = (int32_t)(u * tilt * PHASES + 0.5);
        const float *from = line + at / PHASES, *weights = blur->weights + at % PHASES * taps;
        float sum = 0.5f;
        for (int32_t k = 0; k < taps; k++) sum += weights[k] * from[k];
        out[u] = (uint8_t)(sum < 255 ? sum : 255);
    }
}

typedef struct render_work {
    const kb_image *image;
    const view_map *map;
    row_blur blur;
    uint8_t *pixels;
} render_work;

static void render_row(void *context, int32_t v)
{
    const render_work *w = context;
    const view_map *m = w->map;
    int32_t columns = (int32_t)(2 * m->half[0]) + 3 + 2 * w->blur.radius;
    float *line = io_alloc((size_t)columns, sizeof *line);
    for (int32_t i = 0; i < columns; i++) {
        double x, y;
        map_point(m, i - w->blur.radius - m->half[0], v - m->half[1], &x, &y);
        line[i] = image_at(w->image, x, y);
    }
    narrow_row(line, &w->blur, m->tilt, m->width, w->pixels + (size_t)v * (size_t)m->width);
    free(line);
}

static uint8_t *render_view(const kb_image *image, const view_map *map, const kb_parallel *parallel)
{
    render_work w = {image, map, blur_of(map->tilt), io_alloc((size_t)map->width * (size_t)map->height, 1)};
    if (parallel) parallel->run(parallel->self, map->height, render_row, &w);
    else for (int32_t v = 0; v < map->height; v++) render_row(&w, v);
    free(w.blur.weights);
    return w.pixels;
}

/* A keypoint of the view in coordinates of the image; false near the border, which the view made. */
static bool keypoint_back(const view_map *m, const kb_image *image, kb_keypoint *k)
{
    double x, y, margin = 0.25 * (double)k->size;
    map_point(m, m->tilt * (double)k->x - m->half[0], (double)k->y - m->half[1], &x, &y);
    if (!(x >= margin && y >= margin && x <= image->width - 1 - margin && y <= image->height - 1 - margin)) return false;
    if (k->angle >= 0) {
        double radians = (double)k->angle * (3.14159265358979323846 / 180);
        double p = m->tilt * cos(radians), q = sin(radians);
        double angle = atan2(m->sine * p + m->cosine * q, m->cosine * p - m->sine * q) * (180 / 3.14159265358979323846);
        k->angle = (float)(angle < 0 ? angle + 360 : angle);
    }
    k->x = (float)x;
    k->y = (float)y;
    k->size *= (float)sqrt(m->tilt);
    return true;
}

/* ---- all views ---- */

static void append_row(features *out, const features *view, size_t i, const kb_keypoint *keypoint)
{
    size_t n = out->keypoints.count++, width = out->rows.width;
    out->keypoints.items[n] = *keypoint;
    out->flags[n] = view->flags[i];
    if (out->rows.bytes) memcpy(out->rows.bytes + n * width, view->rows.bytes + i * width, width);
    else memcpy(out->rows.floats + n * width, view->rows.floats + i * width, width * sizeof(float));
    out->rows.count++;
}

static void append_view(features *out, const features *view, const view_map *map, const kb_image *image)
{
    size_t room = out->keypoints.count + view->keypoints.count + 1;
    out->rows.width = view->rows.width;
    out->model_id = view->model_id;
    out->keypoints.items = io_grow(out->keypoints.items, room, sizeof *out->keypoints.items);
    out->flags = io_grow(out->flags, room, 1);
    if (view->rows.bytes) out->rows.bytes = io_grow(out->rows.bytes, room, out->rows.width);
    else out->rows.floats = io_grow(out->rows.floats, room, out->rows.width * sizeof(float));
    for (size_t i = 0; i < view->keypoints.count; i++) {
        kb_keypoint k = view->keypoints.items[i];
        if (keypoint_back(map, image, &k)) append_row(out, view, i, &k);
    }
}

static bool describe_view(const pipeline *p, const char *name, const kb_image *image, const tilts_view *view,
                          features *out, pipeline_times *times, io_error *error)
{
    view_map map = map_of(view, image->width, image->height);
    pipeline flat = *p;
    features seen = {0};
    pipeline_times taken = {0, 0};
    double start = io_clock_seconds();
    uint8_t *pixels = view->tilt > 1 ? render_view(image, &map, p->parallel) : NULL;
    kb_image narrowed = {pixels, map.width, map.height, map.width, KB_FORMAT_GRAY8, 0};
    times->detect += 1000 * (io_clock_seconds() - start);
    flat.options.tilts = 0;
    flat.options.detect.max_keypoints = (int32_t)(p->options.detect.max_keypoints / view->tilt) + 1;
    bool ok = pipeline_describe(&flat, name, pixels ? &narrowed : image, false, &seen, &taken, error);
    if (ok) append_view(out, &seen, &map, image);
    times->detect += taken.detect;
    times->describe += taken.describe;
    features_free(&seen);
    free(pixels);
    return ok;
}

bool tilts_describe(const pipeline *p, const char *name, const kb_image *image, features *out, pipeline_times *times,
                    io_error *error)
{
    size_t count = tilts_views(p->options.tilts, NULL);
    tilts_view *views = io_alloc(count, sizeof *views);
    io_progress progress;
    bool ok = image->format == KB_FORMAT_GRAY8 || io_fail(error, "%s: views are simulated of 8-bit images only", name);
    *times = (pipeline_times){0, 0};
    out->width = image->width;
    out->height = image->height;
    tilts_views(p->options.tilts, views);
    io_progress_start(&progress, "views", count, p->options.quiet);
    for (size_t i = 0; i < count && ok; i++) {
        ok = describe_view(p, name, image, &views[i], out, times, error);
        io_progress_update(&progress, i + 1);
    }
    io_progress_end(&progress);
    free(views);
    return ok;
}

/* ---- merging ---- */

typedef struct ranked_match {
    kb_match match;
    size_t index;
} ranked_match;

static int nearest_first(const void *a, const void *b)
{
    const ranked_match *p = a, *q = b;
    if (p->match.distance != q->match.distance) return p->match.distance < q->match.distance ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static bool same_place(const kb_keypoint *a, const kb_keypoint *b)
{
    return fabsf(a->x - b->x) < NEAR && fabsf(a->y - b->y) < NEAR;
}

size_t tilts_merge(const features *a, const features *b, kb_match *matches, size_t n)
{
    const kb_keypoint *ka = a->keypoints.items, *kb = b->keypoints.items;
    ranked_match *ranked = io_alloc(n + 1, sizeof *ranked);
    uint8_t *wanted = io_alloc(n + 1, 1);
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < n; i++) ranked[i] = (ranked_match){matches[i], i};
    qsort(ranked, n, sizeof *ranked, nearest_first);
    for (size_t i = 0; i < n; i++) {
        const kb_match *m = &ranked[i].match;
        bool taken = false;
        for (size_t k = 0; k < kept && !taken; k++)
            taken = same_place(&ka[m->a], &ka[ranked[k].match.a]) || same_place(&kb[m->b], &kb[ranked[k].match.b]);
        if (taken) continue;
        wanted[ranked[i].index] = 1;
        ranked[kept++] = ranked[i];
    }
    for (size_t i = 0; i < n; i++)
        if (wanted[i]) matches[count++] = matches[i];
    free(wanted);
    free(ranked);
    return count;
}
