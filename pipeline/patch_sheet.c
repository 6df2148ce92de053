/* SPDX-License-Identifier: Apache-2.0 */
/* Sheets of patches: sampled by kb_sample, aligned by kb_match_refine. */
#include "pipeline/patch_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"

#define SIDE 24
#define COLUMNS 64
#define MARGIN ((KB_PATCH_SIDE - SIDE) / 2)
#define SUPPORT 0.5      /* width of KB_PATCH_SIDE steps, relative to the region that its detector gives a keypoint */
#define ALIGNED 16       /* steps: the width of the region that is aligned */
#define REGION 0.7       /* of kb_match_refine */
#define MAX_SHIFT 0.3f   /* of ALIGNED */
#define MIN_CORRELATION 0.8f
#define GOOD_CORRELATION 0.9f /* asked for where so many matches, and half of them all, have it */
#define ENOUGH_GOOD 100
#define SURE_CORRELATION 0.97f /* of the way there, above which the way back says the same */

static size_t sheet_rows(size_t n) { return (n + COLUMNS - 1) / COLUMNS; }

size_t patch_sheet_size(size_t n) { return sheet_rows(n) * COLUMNS * SIDE * SIDE; }

/* Width of KB_PATCH_SIDE steps, relative to a keypoint's size. */
static float sheet_scale(const pipeline *p)
{
    kb_detector detector = kb_detector_get_info(p->options.detect.detector).detector;
    return (float)SUPPORT * kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, detector));
}

uint8_t *patch_sheet_make(const pipeline *p, const kb_image *image, const features *f, io_error *error)
{
    size_t n = f->keypoints.count;
    uint8_t *samples = io_alloc(n + 1, KB_SAMPLES), *sheet = io_alloc(patch_sheet_size(n) + 1, 1);
    kb_keypoint *upright = io_alloc(n + 1, sizeof *upright);
    kb_features view = features_view(f);
    kb_describe_options o;
    kb_error why;
    KB_INIT(o);
    o.scale = sheet_scale(p);
    view.flags = NULL;
    for (size_t i = 0; i < n; i++) {
        upright[i] = f->keypoints.items[i];
        upright[i].angle = 0;
    }
    view.keypoints = upright;
    kb_status status = kb_sample(image, KB_SAMPLER_PATCH, &o, NULL, &view, samples, &why);
    if (status == KB_E_MEMORY) io_out_of_memory(); /* which is not the image's fault */
    bool ok = status == KB_OK;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t y = 0; y < SIDE; y++)
            memcpy(sheet + ((i / COLUMNS * SIDE + y) * COLUMNS + i % COLUMNS) * SIDE,
                   samples + i * KB_SAMPLES + (y + MARGIN) * KB_PATCH_SIDE + MARGIN, SIDE);
    free(samples);
    free(upright);
    if (ok) return sheet;
    free(sheet);
    io_fail(error, "%s", why.text);
    return NULL;
}

/* ---- alignment ---- */

/* One side of the matches: the frame of each on its sheet. */
typedef struct sheet {
    kb_image image;
    kb_keypoint *frames; /* one per match */
    kb_features features;
} sheet;

static sheet sheet_open(const patch_side *side, size_t n)
{
    sheet s = {.image = {.data = side->patches, .width = COLUMNS * SIDE, .height = (int32_t)sheet_rows(side->count) * SIDE,
                         .stride = COLUMNS * SIDE},
               .frames = io_alloc(n + 1, sizeof *s.frames)};
    KB_INIT(s.features);
    s.features.keypoints = s.frames;
    s.features.n = n;
    return s;
}

/* The region around the keypoint of patch i, which is at sample SIDE / 2 (docs/sampling.md). Turned, it is still within
 * the patch. */
static kb_keypoint frame_of(int32_t i)
{
    return (kb_keypoint){.x = (float)(i % COLUMNS * SIDE + SIDE / 2),
                         .y = (float)(i / COLUMNS * SIDE + SIDE / 2),
                         .size = (float)(ALIGNED / REGION)};
}

/* Where on `to` the regions of `from` are, turned by so many degrees; as places on the sheet, for the n frames
 * listed. */
static kb_status align_way(const sheet *from, const sheet *to, double degrees, const kb_match *matches, size_t n,
                           kb_workspace *ws, kb_point_pair *points, float *correlations)
{
    const kb_image images[2] = {from->image, to->image};
    kb_refine_options o;
    KB_INIT(o);
    o.scale = 1;
    o.max_shift = MAX_SHIFT;
    o.min_correlation = MIN_CORRELATION;
    for (size_t i = 0; i < n; i++) {
        from->frames[matches[i].a].angle = 0;
        to->frames[matches[i].b].angle = (float)degrees;
    }
    return kb_match_refine(images, &from->features, &to->features, matches, n, &o, ws, points, correlations, NULL);
}

/* From places on the sheet to steps from the keypoints. */
static void points_relative(const kb_match *matches, int side, size_t n, kb_point_pair *points)
{
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint k = frame_of(side ? matches[i].b : matches[i].a);
        points[i].x2 -= (double)k.x;
        points[i].y2 -= (double)k.y;
    }
}

/* The way back begins where the way there says that it ends: with fewer steps, and nearer to the right place. */
static void frames_begin(sheet *a, const kb_point_pair *there, const float *correlations, size_t n, double degrees)
{
    double sine, cosine;
    kbi_sincos_degrees(degrees, &sine, &cosine);
    for (size_t i = 0; i < n; i++) {
        if (!(correlations[i] > 0)) continue;
        a->frames[i].x -= (float)(cosine * there[i].x2 + sine * there[i].y2);
        a->frames[i].y -= (float)(cosine * there[i].y2 - sine * there[i].x2);
    }
}

/* The way back of those that are not sure after the way there, as the first of `same`; places and correlations of
 * all. */
static kb_status align_back(const sheet s[2], double degrees, kb_match *same, size_t n, kb_workspace *ws,
                            const float *there, kb_point_pair *points, float *correlations)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (there[i] < SURE_CORRELATION) same[count++] = (kb_match){.a = (int32_t)i, .b = (int32_t)i};
    kb_status status = align_way(&s[1], &s[0], 360 - degrees, same, count, ws, points, correlations);
    for (size_t i = n; i-- > 0;) { /* from the end: none is overwritten before it is moved */
        bool moved = count > 0 && (size_t)same[count - 1].a == i;
        count -= moved;
        points[i] = moved ? points[count] : (kb_point_pair){0, 0, 0, 0};
        correlations[i] = moved ? correlations[count] : 0;
    }
    return status;
}

static int16_t rounded(double steps) { return (int16_t)floor(steps * PATCH_SHEET_STEP + 0.5); }

/* The mean of the way there and the way back, which is turned, or the one of them that there is. */
static patch_shift shift_of(const kb_point_pair *there, bool has_there, const kb_point_pair *back, bool has_back,
                            double degrees)
{
    double ways = has_there + has_back, sine, cosine;
    if (!has_there && !has_back) return PATCH_SHEET_NONE;
    kbi_sincos_degrees(degrees, &sine, &cosine);
    return (patch_shift){rounded((has_there * there->x2 - has_back * (cosine * back->x2 - sine * back->y2)) / ways),
                         rounded((has_there * there->y2 - has_back * (sine * back->x2 + cosine * back->y2)) / ways)};
}

/* What aligns badly is less exact, and a pair that has plenty can do without it. There and back have n correlations
 * each. */
static void keep_good(float *correlations, size_t n)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += correlations[i] >= GOOD_CORRELATION || correlations[n + i] >= GOOD_CORRELATION;
    if (good < ENOUGH_GOOD || 2 * good <= n) return;
    for (size_t i = 0; i < 2 * n; i++)
        if (correlations[i] < GOOD_CORRELATION) correlations[i] = 0;
}

kb_status patch_sheet_align(const patch_side sides[2], const kb_match *matches, size_t n, double degrees, kb_workspace *ws,
                            patch_shift *shifts)
{
    sheet s[2] = {sheet_open(&sides[0], n), sheet_open(&sides[1], n)};
    kb_point_pair *points = io_alloc(2 * n + 1, sizeof *points);
    float *correlations = io_alloc(2 * n + 1, sizeof *correlations);
    kb_match *same = io_alloc(n + 1, sizeof *same);
    for (size_t i = 0; i < n; i++) {
        same[i] = (kb_match){.a = (int32_t)i, .b = (int32_t)i};
        s[0].frames[i] = frame_of(matches[i].a);
        s[1].frames[i] = frame_of(matches[i].b);
    }
    kb_status status = align_way(&s[0], &s[1], degrees, same, n, ws, points, correlations);
    if (status == KB_OK) {
        points_relative(matches, 1, n, points);
        frames_begin(&s[0], points, correlations, n, degrees);
        status = align_back(s, degrees, same, n, ws, correlations, points + n, correlations + n);
    }
    if (status == KB_OK) {
        points_relative(matches, 0, n, points + n);
        keep_good(correlations, n);
    }
    for (size_t i = 0; status == KB_OK && i < n; i++)
        shifts[i] = shift_of(&points[i], correlations[i] > 0, &points[n + i], correlations[n + i] > 0, degrees);
    free(s[0].frames);
    free(s[1].frames);
    free(points);
    free(correlations);
    free(same);
    return status;
}

void patch_sheet_move(const pipeline *p, kb_keypoint *k, const float steps[2])
{
    double x = (double)steps[0], y = (double)steps[1], most = (double)MAX_SHIFT * ALIGNED;
    double step = (double)sheet_scale(p) * (double)k->size / KB_PATCH_SIDE;
    if (!(x * x + y * y <= most * most)) return;
    k->x += (float)(step * x);
    k->y += (float)(step * y);
}
