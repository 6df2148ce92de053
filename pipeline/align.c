#include "pipeline/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"

#define CELLS 8
#define STRIDE 37 /* cells are visited in steps of it, which reaches all of them, neighbours far apart in time */

/* ---- which inliers ---- */

typedef struct picked {
    size_t count, match[ALIGN_POINTS];
} picked;

/* The cell of image a that a point is in; -1 outside. */
static int32_t cell_of(const align_input *in, const kb_keypoint *k)
{
    float x = k->x * CELLS / (float)in->image_a->width, y = k->y * CELLS / (float)in->image_a->height;
    return x >= 0 && y >= 0 && x < CELLS && y < CELLS ? (int32_t)y * CELLS + (int32_t)x : -1;
}

/* Whether match i comes after match j in its cell: by distance, then by index. */
static bool comes_after(const kb_match *matches, size_t i, size_t j)
{
    if (matches[i].distance != matches[j].distance) return matches[i].distance > matches[j].distance;
    return i > j;
}

/* Of every cell the best inlier that comes after last[cell]; SIZE_MAX for none. */
static void next_of_cells(const align_input *in, const uint8_t *inliers, const size_t last[CELLS * CELLS],
                          size_t next[CELLS * CELLS])
{
    for (int32_t c = 0; c < CELLS * CELLS; c++) next[c] = SIZE_MAX;
    for (size_t i = 0; i < in->count; i++) {
        int32_t c = inliers[i] ? cell_of(in, &in->a->items[in->matches[i].a]) : -1;
        if (c < 0 || (last[c] != SIZE_MAX && !comes_after(in->matches, i, last[c]))) continue;
        if (next[c] == SIZE_MAX || comes_after(in->matches, next[c], i)) next[c] = i;
    }
}

/* The best of every cell, then the second best, and so on: points far apart determine a homography best. */
static void pick_spread(const align_input *in, const uint8_t *inliers, picked *out)
{
    size_t last[CELLS * CELLS], next[CELLS * CELLS], before;
    for (int32_t c = 0; c < CELLS * CELLS; c++) last[c] = SIZE_MAX;
    out->count = 0;
    do {
        before = out->count;
        next_of_cells(in, inliers, last, next);
        for (int32_t i = 0; i < CELLS * CELLS && out->count < ALIGN_POINTS; i++) {
            int32_t c = i * STRIDE % (CELLS * CELLS);
            if (next[c] == SIZE_MAX) continue;
            out->match[out->count++] = last[c] = next[c];
        }
    } while (out->count > before && out->count < ALIGN_POINTS);
}

/* ---- where they are ---- */

/* The keypoint as the homography sends it to image b: its place, and size and angle by the similarity that is
 * nearest to the derivative there. */
static kb_keypoint predict(const double h[9], const kb_keypoint *k)
{
    kb_keypoint out = *k;
    double x = (double)k->x, y = (double)k->y, w = h[6] * x + h[7] * y + h[8], u, v;
    kb_homography_apply(h, x, y, &u, &v);
    double ux = (h[0] - u * h[6]) / w, uy = (h[1] - u * h[7]) / w;
    double vx = (h[3] - v * h[6]) / w, vy = (h[4] - v * h[7]) / w;
    double angle = (k->angle > 0 ? (double)k->angle : 0) + kbi_atan2_degrees(vx - uy, ux + vy);
    out.x = (float)u;
    out.y = (float)v;
    out.size = (float)((double)k->size * sqrt(fabs(ux * vy - uy * vx)));
    out.angle = (float)(angle >= 360 ? angle - 360 : angle);
    return out;
}

/* ---- the fit ---- */

/* Keeps the points that could be aligned; quality receives what they lack to perfect correlation. */
static void keep_aligned(align_result *r, const float *correlations, float *quality)
{
    for (size_t i = 0; i < r->tried; i++) {
        if (!(correlations[i] > 0)) continue;
        r->a[r->count] = r->a[i];
        r->pairs[r->count] = r->pairs[i];
        quality[r->count++] = 1 - correlations[i];
    }
}

static kb_status align_points(const align_input *in, const uint8_t *inliers, const double model[9], align_result *r,
                              float *quality)
{
    kb_keypoint predicted[ALIGN_POINTS];
    kb_match matches[ALIGN_POINTS];
    float correlations[ALIGN_POINTS];
    picked chosen;
    kb_refine_options o;
    KB_INIT(o);
    o.scale = in->scale;
    o.parallel = in->parallel;
    pick_spread(in, inliers, &chosen);
    r->tried = chosen.count;
    for (size_t i = 0; i < r->tried; i++) {
        r->a[i] = in->matches[chosen.match[i]].a;
        matches[i] = (kb_match){r->a[i], (int32_t)i, 0, 0};
        predicted[i] = predict(model, &in->a->items[r->a[i]]);
    }
    kb_status status = kb_match_refine(in->image_a, in->image_b, in->a->items, in->a->count, predicted, r->tried,
                                       matches, r->tried, &o, in->workspace, r->pairs, correlations);
    if (status == KB_OK) keep_aligned(r, correlations, quality);
    return status;
}

/* Marks the pairs within the threshold of the homography, and fills in how many there are and their rms. */
static void measure(const align_input *in, uint8_t *inliers, kb_fit_report *fit)
{
    double sum = 0;
    fit->inliers = 0;
    for (size_t i = 0; i < in->count; i++) {
        const kb_point_pair *pair = &in->pairs[i];
        double x, y;
        kb_homography_apply(fit->model, pair->x1, pair->y1, &x, &y);
        double error2 = (x - pair->x2) * (x - pair->x2) + (y - pair->y2) * (y - pair->y2);
        inliers[i] = error2 <= in->threshold * in->threshold; /* 0 for NaN */
        if (!inliers[i]) continue;
        sum += error2;
        fit->inliers++;
    }
    fit->rms = fit->inliers > 0 ? sqrt(sum / fit->inliers) : 0;
}

/* A few regions may agree with something else than most matches do. */
static void take_better(const align_input *in, kb_fit_report *found, uint8_t *inliers, kb_fit_report *fit,
                        align_result *result)
{
    uint8_t *marks = io_alloc(in->count, 1);
    found->iterations = fit->iterations;
    measure(in, marks, found);
    result->taken = 2 * (int64_t)found->inliers >= fit->inliers;
    if (result->taken) {
        memcpy(inliers, marks, in->count);
        *fit = *found;
    }
    free(marks);
}

kb_status align_homography(const align_input *input, uint8_t *inliers, kb_fit_report *fit, align_result *result)
{
    float quality[ALIGN_POINTS];
    kb_fit_options o;
    kb_fit_report found;
    memset(result, 0, sizeof *result);
    kb_status status = align_points(input, inliers, fit->model, result, quality);
    if (status != KB_OK) return status;
    KB_INIT(o);
    KB_INIT(found);
    o.threshold = PIPELINE_REFINED_PX;
    o.seed = input->seed;
    o.quality = quality;
    status = kb_fit(result->pairs, result->count, &o, input->workspace, NULL, &found);
    if (status == KB_OK && found.result == KB_FIT_FOUND && found.inliers >= ALIGN_LEAST)
        take_better(input, &found, inliers, fit, result);
    return status;
}
