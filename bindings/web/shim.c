/* SPDX-License-Identifier: Apache-2.0 */
/* What keybits.js calls: the library behind plain numbers, so that no layout of a struct is known in JavaScript.
 *
 * A function that can fail returns 0 (handles) or a negative kb_status (counts), and the sentence is in web_error().
 * There is one thread and one workspace per instance. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasm_simd128.h>

#include <keybits/advanced.h>
#include <keybits/index.h>

#define EXPORT(name) __attribute__((export_name(#name), visibility("default"))) name

static kb_error last;
static kb_status last_status;
static kb_workspace *workspace;

const char *EXPORT(web_error)(void) { return last.text; }
int32_t EXPORT(web_error_code)(void) { return last_status; }
const char *EXPORT(web_version)(void) { return kb_version(); }
void *EXPORT(web_alloc)(size_t bytes) { return malloc(bytes ? bytes : 1); }
void EXPORT(web_free)(void *memory) { free(memory); }

/* Keeps the sentence of a failure; without one, the phrase of the status. */
static kb_status keep_status(kb_status status, const kb_error *error)
{
    last_status = status;
    if (status == KB_OK) return status;
    if (error && error->text[0]) last = *error;
    else snprintf(last.text, sizeof last.text, "%s", kb_status_string(status));
    return status;
}

static kb_status keep_sentence(kb_status status, const char *sentence)
{
    kb_error error = {.row = -1};
    snprintf(error.text, sizeof error.text, "%s", sentence);
    return keep_status(status, &error);
}

static kb_workspace *shared_workspace(void)
{
    if (!workspace) kb_workspace_create(NULL, &workspace);
    return workspace;
}

/* ------------------------------------------------------------------------------------------------------------ model */

kb_model *EXPORT(web_model_builtin)(const char *name)
{
    kb_model *model = NULL;
    kb_status status = kb_model_builtin(name, NULL, &model);
    if (status != KB_OK) {
        kb_error error = {.row = -1};
        snprintf(error.text, sizeof error.text, "%.60s: %s", name, kb_status_string(status));
        keep_status(status, &error);
    }
    return model;
}

kb_model *EXPORT(web_model_load)(const void *data, size_t size)
{
    kb_model *model = NULL;
    kb_error error = {.row = -1};
    keep_status(kb_model_load(data, size, NULL, &model, &error), &error);
    return model;
}

void EXPORT(web_model_free)(kb_model *model) { kb_model_free(model); }

static kb_model_info model_info(const kb_model *model)
{
    kb_model_info info;
    KB_INIT(info);
    kb_model_get_info(model, &info);
    return info;
}

const char *EXPORT(web_model_name)(const kb_model *model) { return model_info(model).spec->name; }
const char *EXPORT(web_model_kind)(const kb_model *model)
{
    return kb_name(KB_NAMES_KIND, model_info(model).spec->kind);
}
int32_t EXPORT(web_model_bits)(const kb_model *model) { return model_info(model).spec->bits; }
int32_t EXPORT(web_model_row_bytes)(const kb_model *model) { return model_info(model).row_bytes; }
uint64_t EXPORT(web_model_id)(const kb_model *model) { return model_info(model).id; }

/* -------------------------------------------------------------------------------------------------------- features */

/* The features of one image; rows are there after web_features_describe. */
typedef struct web_features {
    kb_keypoint *keypoints;
    uint8_t *rows;
    uint8_t *flags;
    size_t n, row_bytes;
    uint64_t model_id;
    int32_t binary; /* rows are compared by Hamming distance */
    int32_t width, height;
    kb_detector detector; /* with its revision and whether keypoints have no angles; 0: not known */
    int32_t revision, upright;
} web_features;

/* Four pixels: products of two channels are summed by the dot product, the two sums of a pixel are neighbours. */
static v128_t gray_four(const uint8_t *rgba)
{
    const v128_t weights = wasm_i16x8_const(9798, 19235, 3735, 0, 9798, 19235, 3735, 0);
    v128_t bytes = wasm_v128_load(rgba);
    v128_t low = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(bytes), weights);
    v128_t high = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(bytes), weights);
    v128_t sum = wasm_i32x4_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), wasm_i32x4_shuffle(low, high, 1, 3, 5, 7));
    return wasm_u32x4_shr(wasm_i32x4_add(sum, wasm_i32x4_const_splat(16384)), 15);
}

/* RGBA to gray as OpenCV's cvtColor does (docs/formats.md); alpha is ignored. */
void EXPORT(web_gray)(const uint8_t *rgba, uint8_t *gray, size_t pixels)
{
    size_t i = 0;
    for (; i + 8 <= pixels; i += 8, rgba += 32) {
        v128_t both = wasm_u16x8_narrow_i32x4(gray_four(rgba), gray_four(rgba + 16));
        wasm_v128_store64_lane(gray + i, wasm_u8x16_narrow_i16x8(both, both), 0);
    }
    for (; i < pixels; i++, rgba += 4)
        gray[i] = (uint8_t)((rgba[0] * 9798u + rgba[1] * 19235u + rgba[2] * 3735u + 16384u) >> 15);
}

void EXPORT(web_features_free)(web_features *f)
{
    if (!f) return;
    free(f->keypoints);
    free(f->rows);
    free(f->flags);
    free(f);
}

static web_features *features_fail(web_features *f, kb_status status, const kb_error *error)
{
    keep_status(status, error);
    web_features_free(f);
    return NULL;
}

/* As the library takes them. */
static kb_features features_view(const web_features *f)
{
    kb_features view;
    KB_INIT(view);
    view.width = f->width;
    view.height = f->height;
    view.detector = f->detector;
    view.revision = f->revision;
    view.upright = f->upright;
    view.n = f->n;
    view.keypoints = f->keypoints;
    view.flags = f->flags;
    view.rows = f->rows;
    view.row_bytes = f->row_bytes;
    view.floats = f->rows && !f->binary;
    view.model_id = f->model_id;
    return view;
}

const char *EXPORT(web_detector_name)(int32_t detector) { return kb_name(KB_NAMES_DETECTOR, detector); }
const char *EXPORT(web_selection_name)(int32_t selection) { return kb_name(KB_NAMES_SELECTION, selection); }

const char *EXPORT(web_orientation_name)(int32_t orientation)
{
    return kb_name(KB_NAMES_ORIENTATION, orientation);
}

/* Numbers of keybits.js, in the order of its DETECT_OPTIONS. A number of 0 is the library's default. */
static kb_detect_options detect_options(const double *numbers)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = (kb_detector)numbers[0];
    o.max_keypoints = (int32_t)numbers[1];
    o.selection = (kb_selection)numbers[2];
    o.orientation = (kb_orientation)numbers[3];
    o.levels = (int32_t)numbers[4];
    o.hessian_threshold = (float)numbers[5];
    o.fast_threshold = (int32_t)numbers[6];
    o.fast_threshold_min = (int32_t)numbers[7];
    return o;
}

static size_t max_keypoints(const kb_detect_options *o)
{
    return o->max_keypoints > 0 ? (size_t)o->max_keypoints : 2000;
}

web_features *EXPORT(web_features_detect)(const uint8_t *gray, int32_t width, int32_t height, const double *numbers,
                                          const uint8_t *mask)
{
    kb_image image = {gray, width, height, width, KB_FORMAT_GRAY8, 0};
    kb_image mask_image = {mask, width, height, width, KB_FORMAT_GRAY8, 0};
    kb_detect_options o = detect_options(numbers);
    o.mask = mask ? &mask_image : NULL;
    web_features *f = calloc(1, sizeof *f);
    if (!f) return features_fail(f, KB_E_MEMORY, NULL);
    f->width = width;
    f->height = height;
    f->detector = kb_detector_get_info(o.detector).detector;
    size_t capacity = max_keypoints(&o);
    f->keypoints = malloc(capacity * sizeof *f->keypoints);
    if (!f->keypoints) return features_fail(f, KB_E_MEMORY, NULL);
    kb_error error;
    kb_features view = features_view(f);
    view.capacity = capacity;
    kb_status status = kb_detect(&image, &o, shared_workspace(), &view, &error);
    if (status != KB_OK) return features_fail(f, status, &error);
    f->n = view.n;
    f->revision = view.revision;
    f->upright = view.upright;
    kb_keypoint *smaller = realloc(f->keypoints, (f->n ? f->n : 1) * sizeof *smaller);
    if (smaller) f->keypoints = smaller;
    return f;
}

/* Sets what the rows of a model are; memory for n of them. */
static kb_status features_reserve_rows(web_features *f, size_t row_bytes, uint64_t model_id, int32_t binary)
{
    f->row_bytes = row_bytes;
    f->model_id = model_id;
    f->binary = binary;
    f->rows = malloc(f->n * row_bytes + 1);
    f->flags = calloc(f->n + 1, 1);
    return f->rows && f->flags ? KB_OK : KB_E_MEMORY;
}

int32_t EXPORT(web_features_describe)(web_features *f, const kb_model *model, const uint8_t *gray)
{
    kb_image image = {gray, f->width, f->height, f->width, KB_FORMAT_GRAY8, 0};
    kb_model_info info = model_info(model);
    /* SIFT rows are floats here too, so that matches equal those of the program. */
    size_t row_bytes = info.row_floats ? (size_t)info.row_floats * sizeof(float) : (size_t)info.row_bytes;
    kb_status status = features_reserve_rows(f, row_bytes, info.id, info.row_floats == 0);
    if (status != KB_OK) return keep_status(status, NULL);
    kb_error error;
    kb_features view = features_view(f);
    view.rows_size = f->n * row_bytes;
    return keep_status(kb_describe(model, &image, NULL, shared_workspace(), &view, &error), &error);
}

/* keypoints: n x 6 floats as web_features_keypoints writes them. */
web_features *EXPORT(web_features_restore)(const float *keypoints, const uint8_t *rows, size_t n, size_t row_bytes,
                                           uint64_t model_id, int32_t binary, int32_t width, int32_t height)
{
    web_features *f = calloc(1, sizeof *f);
    if (!f) return features_fail(f, KB_E_MEMORY, NULL);
    f->n = n;
    f->width = width;
    f->height = height;
    f->keypoints = calloc(n + 1, sizeof *f->keypoints);
    if (!f->keypoints || features_reserve_rows(f, row_bytes, model_id, binary) != KB_OK)
        return features_fail(f, KB_E_MEMORY, NULL);
    for (size_t i = 0; i < n; i++, keypoints += 6) {
        float octave = keypoints[5] > -1e6f && keypoints[5] < 1e6f ? keypoints[5] : 0;
        f->keypoints[i] = (kb_keypoint){keypoints[0], keypoints[1], keypoints[2], keypoints[3], keypoints[4],
                                        (int32_t)octave, -1};
    }
    memcpy(f->rows, rows, n * row_bytes);
    return f;
}

size_t EXPORT(web_features_count)(const web_features *f) { return f->n; }
int32_t EXPORT(web_features_width)(const web_features *f) { return f->width; }
int32_t EXPORT(web_features_height)(const web_features *f) { return f->height; }
size_t EXPORT(web_features_row_bytes)(const web_features *f) { return f->row_bytes; }
const uint8_t *EXPORT(web_features_rows)(const web_features *f) { return f->rows; }
const uint8_t *EXPORT(web_features_flags)(const web_features *f) { return f->flags; }

/* n x 6 floats: x, y, size, angle, response, octave. */
static void write_keypoints(const kb_keypoint *k, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++, k++, out += 6) {
        const float row[6] = {k->x, k->y, k->size, k->angle, k->response, (float)k->octave};
        memcpy(out, row, sizeof row);
    }
}

void EXPORT(web_features_keypoints)(const web_features *f, float *out) { write_keypoints(f->keypoints, f->n, out); }

/* -------------------------------------------------------------------------------------------- matching and fitting */

static kb_status check_pair(const web_features *a, const web_features *b)
{
    if (!a->rows || !b->rows) return keep_sentence(KB_E_ARGUMENT, "features without descriptors cannot be matched");
    if (a->row_bytes != b->row_bytes || a->binary != b->binary || a->model_id != b->model_id)
        return keep_sentence(KB_E_MODEL, "descriptors of two different models cannot be matched");
    return KB_OK;
}

/* matches: room for as many as a has rows. Returns how many, or a negative status. */
int32_t EXPORT(web_match)(const web_features *a, const web_features *b, int32_t one_way, float max_ratio,
                          float max_distance, kb_match *matches)
{
    kb_match_options o;
    size_t count = 0;
    kb_status status = check_pair(a, b);
    if (status != KB_OK) return status;
    KB_INIT(o);
    o.one_way = one_way;
    o.max_ratio = max_ratio;
    o.max_distance = max_distance;
    kb_error error;
    kb_features fa = features_view(a), fb = features_view(b);
    status = kb_match_features(&fa, &fb, &o, shared_workspace(), matches, &count, &error);
    return keep_status(status, &error) == KB_OK ? (int32_t)count : status;
}

int32_t EXPORT(web_filter)(const web_features *a, const web_features *b, kb_match *matches, size_t n)
{
    size_t count = 0;
    kb_error error;
    kb_features fa = features_view(a), fb = features_view(b);
    kb_status status = kb_filter(&fa, &fb, matches, n, NULL, shared_workspace(), matches, &count, &error);
    return keep_status(status, &error) == KB_OK ? (int32_t)count : status;
}

/* Matches between JavaScript's columns and the library's rows. */
void EXPORT(web_matches_read)(const kb_match *matches, size_t n, int32_t *a, int32_t *b, float *distance, float *second)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = matches[i].a;
        b[i] = matches[i].b;
        distance[i] = matches[i].distance;
        second[i] = matches[i].second;
    }
}

void EXPORT(web_matches_write)(kb_match *matches, size_t n, const int32_t *a, const int32_t *b, const float *distance,
                               const float *second)
{
    for (size_t i = 0; i < n; i++) matches[i] = (kb_match){a[i], b[i], distance[i], second[i]};
}

size_t EXPORT(web_match_size)(void) { return sizeof(kb_match); }

/* A fit as keybits.js asks for it: geometry, threshold, seed, how many cameras (0 to 2), and 11 numbers per camera in
 * the order of its CAMERA_FIELDS. */
typedef struct web_fit_options {
    kb_fit_options fit;
    kb_camera camera[2];
} web_fit_options;

static void fit_options(const double *numbers, web_fit_options *o)
{
    KB_INIT(o->fit);
    o->fit.geometry = (kb_geometry)numbers[0];
    o->fit.threshold = numbers[1];
    o->fit.seed = (uint64_t)numbers[2];
    for (int32_t i = 0; i < (int32_t)numbers[3]; i++) {
        const double *n = numbers + 4 + 11 * i;
        kb_camera *c = &o->camera[i];
        KB_INIT(*c);
        c->fx = n[0], c->fy = n[1], c->cx = n[2], c->cy = n[3];
        c->k1 = n[4], c->k2 = n[5], c->p1 = n[6], c->p2 = n[7], c->k3 = n[8], c->k4 = n[9];
        c->fisheye = (int32_t)n[10];
        *(i == 0 ? &o->fit.camera1 : &o->fit.camera2) = c;
    }
}

/* What keybits.js knows of a fit: inliers, places, iterations, rms, then matrix, rotation, translation and geometry. */
#define FIT_NUMBERS 26

static void write_report(const kb_fit_report *report, double numbers[FIT_NUMBERS])
{
    numbers[0] = report->inliers;
    numbers[1] = report->places;
    numbers[2] = report->iterations;
    numbers[3] = report->rms;
    memcpy(numbers + 4, report->model, sizeof report->model);
    memcpy(numbers + 13, report->rotation, sizeof report->rotation);
    memcpy(numbers + 22, report->translation, sizeof report->translation);
    numbers[25] = report->geometry;
}

/* Returns a kb_fit_result, or a negative status. */
static int32_t fit_points(const kb_point_pair *pairs, const float *quality, const float *deviations, size_t n,
                          const double *options, uint8_t *inliers, double *numbers)
{
    web_fit_options o;
    kb_fit_report report;
    fit_options(options, &o);
    KB_INIT(report);
    o.fit.quality = quality;
    o.fit.deviations = deviations;
    kb_error error;
    kb_status status = kb_fit(pairs, n, &o.fit, shared_workspace(), inliers, &report, &error);
    if (keep_status(status, &error) != KB_OK) return status;
    write_report(&report, numbers);
    return report.result;
}

/* pairs: n x 4 numbers x1 y1 x2 y2; quality and deviations may be 0. */
int32_t EXPORT(web_fit_points)(const double *pairs, const float *quality, const float *deviations, size_t n,
                               const double *options, uint8_t *inliers, double *numbers)
{
    return fit_points((const kb_point_pair *)(const void *)pairs, quality, deviations, n, options, inliers, numbers);
}

/* deviations may be 0. */
int32_t EXPORT(web_fit)(const web_features *a, const web_features *b, const kb_match *matches, const float *deviations,
                        size_t n, const double *options, uint8_t *inliers, double *numbers)
{
    kb_point_pair *pairs = calloc(n + 1, sizeof *pairs); /* which checks the product */
    float *quality = calloc(n + 1, sizeof *quality);
    kb_status status = pairs && quality ? KB_OK : KB_E_MEMORY;
    int32_t result = 0;
    kb_features fa = features_view(a), fb = features_view(b);
    if (status == KB_OK) status = kb_match_points(&fa, &fb, matches, n, pairs, quality, NULL);
    if (status == KB_E_ARGUMENT) keep_sentence(status, "a match names a keypoint that is not there");
    else keep_status(status, NULL);
    if (status == KB_OK) result = fit_points(pairs, quality, deviations, n, options, inliers, numbers);
    free(pairs);
    free(quality);
    return status == KB_OK ? result : status;
}

const char *EXPORT(web_fit_result_name)(int32_t result) { return kb_name(KB_NAMES_FIT_RESULT, result); }

/* Where the keypoints of a template are expected under a homography. Angles are those of the template: matching votes
 * for the turn that most of them share. */
static void guides_fill(const web_features *a, const double h[9], float radius, kb_guide *guides)
{
    for (size_t i = 0; i < a->n; i++) {
        const kb_keypoint *k = &a->keypoints[i];
        double x, y;
        kb_homography_apply(h, k->x, k->y, &x, &y);
        guides[i] = (kb_guide){(float)x, (float)y, radius, k->angle, INT32_MIN, INT32_MAX, 0, 0, {0, 0}};
    }
}

/* Tracks a template: matches its keypoints near where the homography h expects them in frame b, and fits again.
 * Returns a kb_fit_result or a negative status; numbers as in fit_points. */
int32_t EXPORT(web_track)(const web_features *a, const web_features *b, const double *h, float radius, double threshold,
                          double *numbers)
{
    kb_status status = check_pair(a, b);
    if (status != KB_OK) return status;
    if (!a->binary) return keep_sentence(KB_E_KIND, "only binary descriptors can be tracked");
    kb_guide *guides = calloc(a->n + 1, sizeof *guides);
    kb_match *matches = calloc(a->n + 1, sizeof *matches);
    size_t count = 0;
    int32_t result = 0;
    status = keep_status(guides && matches ? KB_OK : KB_E_MEMORY, NULL);
    if (status == KB_OK) {
        guides_fill(a, h, radius, guides);
        kb_error error;
        kb_features fa = features_view(a), fb = features_view(b);
        status = keep_status(kb_match_guided(&fa, guides, &fb, NULL, shared_workspace(), matches, &count, &error),
                             &error);
    }
    const double options[4] = {KB_GEOMETRY_HOMOGRAPHY, threshold, 0, 0};
    if (status == KB_OK) result = web_fit(a, b, matches, NULL, count, options, NULL, numbers);
    free(guides);
    free(matches);
    return status == KB_OK ? result : status;
}

/* ------------------------------------------------------------------------------------------------------ two images */

/* A kb_pair with its memory. */
typedef struct web_pair {
    kb_pair pair;
    kb_features a, b;
    kb_fit_report report;
} web_pair;

void EXPORT(web_pair_free)(web_pair *p)
{
    if (!p) return;
    free(p->a.keypoints);
    free(p->b.keypoints);
    free(p->pair.matches);
    free(p->pair.inliers);
    free(p);
}

static web_pair *pair_create(size_t capacity)
{
    web_pair *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    KB_INIT(p->pair);
    KB_INIT(p->report);
    KB_INIT(p->a);
    KB_INIT(p->b);
    p->a.capacity = p->b.capacity = capacity;
    p->a.keypoints = calloc(capacity, sizeof *p->a.keypoints);
    p->b.keypoints = calloc(capacity, sizeof *p->b.keypoints);
    p->pair.a = &p->a;
    p->pair.b = &p->b;
    p->pair.fit = &p->report;
    p->pair.matches = calloc(capacity, sizeof *p->pair.matches);
    p->pair.inliers = calloc(capacity, 1);
    if (p->a.keypoints && p->b.keypoints && p->pair.matches && p->pair.inliers) return p;
    web_pair_free(p);
    return NULL;
}

const char *EXPORT(web_look_name)(int32_t look) { return kb_name(KB_NAMES_LOOK, look); }

/* sizes: widths and heights of both images. match: max_ratio, max_distance, no_filter, looks. fit may be 0: no
 * geometry. */
web_pair *EXPORT(web_match_images)(const kb_model *model, const uint8_t *gray_a, const uint8_t *gray_b,
                                   const int32_t sizes[4], const double *detect, const double match[4],
                                   const double *fit)
{
    kb_image a = {gray_a, sizes[0], sizes[1], sizes[0], KB_FORMAT_GRAY8, 0};
    kb_image b = {gray_b, sizes[2], sizes[3], sizes[2], KB_FORMAT_GRAY8, 0};
    kb_detect_options detecting = detect_options(detect);
    web_fit_options fitting;
    kb_match_options matching;
    kb_pair_options o;
    KB_INIT(matching);
    KB_INIT(o);
    matching.max_ratio = (float)match[0];
    matching.max_distance = (float)match[1];
    o.match = &matching;
    o.no_filter = (int32_t)match[2];
    o.looks = (int32_t)match[3];
    o.detect = &detecting;
    if (fit) {
        fit_options(fit, &fitting);
        o.fit = &fitting.fit;
    }
    web_pair *p = pair_create(max_keypoints(&detecting));
    kb_error error;
    kb_status status = p ? kb_match_images(model, &a, &b, &o, shared_workspace(), &p->pair, &error) : KB_E_MEMORY;
    if (keep_status(status, p ? &error : NULL) == KB_OK) return p;
    web_pair_free(p);
    return NULL;
}

/* numbers: keypoints of a and b, matches, candidates, look, rotation, looks tried, then FIT_NUMBERS of the fit. Returns
 * its kb_fit_result. */
int32_t EXPORT(web_pair_read)(const web_pair *p, double *numbers)
{
    const kb_pair *pair = &p->pair;
    const double head[7] = {(double)p->a.n, (double)p->b.n, (double)pair->count, (double)pair->candidates,
                            pair->look, pair->rotation, pair->looks};
    memcpy(numbers, head, sizeof head);
    write_report(&p->report, numbers + 7);
    return p->report.result;
}

void EXPORT(web_pair_keypoints)(const web_pair *p, float *a, float *b)
{
    write_keypoints(p->a.keypoints, p->a.n, a);
    write_keypoints(p->b.keypoints, p->b.n, b);
}

const kb_match *EXPORT(web_pair_matches)(const web_pair *p) { return p->pair.matches; }
const uint8_t *EXPORT(web_pair_inliers)(const web_pair *p) { return p->pair.inliers; }

/* ----------------------------------------------------------------------------------------------------------- index */

/* An index with the memory that it borrows. */
typedef struct web_index {
    kb_index *index;
    kb_vocabulary *vocabulary; /* NULL: the one inside the index file */
    void *data;                /* the file of the vocabulary or of the index */
} web_index;

void EXPORT(web_index_free)(web_index *x)
{
    if (!x) return;
    kb_index_free(x->index);
    kb_vocabulary_free(x->vocabulary);
    free(x->data);
    free(x);
}

/* data comes from web_alloc and belongs to the index afterwards, also when the call fails. From a vocabulary file an
 * empty index is made, from an index file the index. */
web_index *EXPORT(web_index_open)(void *data, size_t size, int32_t is_index, int32_t keep_features)
{
    web_index *x = calloc(1, sizeof *x);
    kb_error error = {.row = -1};
    kb_index_options o;
    KB_INIT(o);
    o.keep_features = keep_features;
    if (!x) {
        free(data);
        keep_status(KB_E_MEMORY, NULL);
        return NULL;
    }
    x->data = data;
    kb_status status;
    if (is_index) {
        status = kb_index_load(data, size, 1, NULL, &x->index, &error);
    } else {
        status = kb_vocabulary_load(data, size, NULL, &x->vocabulary, &error);
        if (status == KB_OK) status = kb_index_create(x->vocabulary, &o, NULL, &x->index, &error);
    }
    if (keep_status(status, &error) == KB_OK) return x;
    web_index_free(x);
    return NULL;
}

int32_t EXPORT(web_index_add)(web_index *x, const web_features *f, double id, const char *name)
{
    kb_error error = {.row = -1};
    kb_features view = features_view(f);
    return keep_status(kb_index_add(x->index, &view, (uint64_t)id, name, shared_workspace(), &error), &error);
}

int32_t EXPORT(web_index_remove)(web_index *x, double id)
{
    size_t count = 0;
    kb_status status = keep_status(kb_index_remove(x->index, (uint64_t)id, &count), NULL);
    return status == KB_OK ? (int32_t)count : status;
}

/* numbers: 12 per result: id, score, inliers, the nine entries of the matrix from the query to the image. Returns how
 * many, or a negative status. */
int32_t EXPORT(web_index_query)(const web_index *x, const web_features *f, int32_t scoring, int32_t verify,
                                double threshold, int32_t probes, int32_t capacity, double *numbers)
{
    kb_index_query_options o;
    kb_error error = {.row = -1};
    kb_features view = features_view(f);
    kb_index_result *results = calloc((size_t)capacity + 1, sizeof *results);
    size_t count = 0;
    KB_INIT(o);
    o.scoring = (kb_scoring)scoring;
    o.verify = verify;
    o.threshold = threshold;
    o.probes = probes;
    kb_status status = results ? kb_index_query(x->index, &view, &o, shared_workspace(), results, (size_t)capacity,
                                                &count, &error)
                               : KB_E_MEMORY;
    for (size_t i = 0; status == KB_OK && i < count; i++, numbers += 12) {
        numbers[0] = (double)results[i].id;
        numbers[1] = results[i].score;
        numbers[2] = results[i].inliers;
        memcpy(numbers + 3, results[i].model, sizeof results[i].model);
    }
    free(results);
    return keep_status(status, &error) == KB_OK ? (int32_t)count : status;
}

static kb_index_info index_info(const web_index *x)
{
    kb_index_info info;
    KB_INIT(info);
    kb_index_get_info(x->index, &info);
    return info;
}

double EXPORT(web_index_count)(const web_index *x) { return (double)index_info(x).images; }
double EXPORT(web_index_positions)(const web_index *x) { return (double)index_info(x).positions; }
double EXPORT(web_index_bytes)(const web_index *x) { return (double)index_info(x).bytes; }
int32_t EXPORT(web_index_keeps_features)(const web_index *x) { return index_info(x).features; }

/* The image at a position: its id, -1 when it is removed or not there. */
double EXPORT(web_index_id_at)(const web_index *x, double position)
{
    kb_index_image image;
    KB_INIT(image);
    bool there = kb_index_get_image(x->index, (size_t)position, &image, NULL, NULL) == KB_OK && !image.removed;
    return there ? (double)image.id : -1;
}

const char *EXPORT(web_index_name_at)(const web_index *x, double position)
{
    kb_index_image image;
    KB_INIT(image);
    return kb_index_get_image(x->index, (size_t)position, &image, NULL, NULL) == KB_OK ? image.name : "";
}

/* The id of the model whose rows the index takes. */
uint64_t EXPORT(web_index_model_id)(const web_index *x)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(index_info(x).vocabulary, &info);
    return info.model_id;
}

/* The kept features of the image at a position, a copy. */
web_features *EXPORT(web_index_features)(const web_index *x, double position)
{
    kb_features kept;
    KB_INIT(kept);
    web_features *f = calloc(1, sizeof *f);
    if (!f) return features_fail(f, KB_E_MEMORY, NULL);
    kb_status status = kb_index_get_image(x->index, (size_t)position, NULL, &kept, NULL);
    if (status == KB_OK) {
        f->n = kept.capacity = kept.n;
        f->keypoints = kept.keypoints = calloc(kept.n + 1, sizeof *f->keypoints);
        status = f->keypoints ? features_reserve_rows(f, kept.row_bytes, kept.model_id, 1) : KB_E_MEMORY;
    }
    if (status == KB_OK) status = kb_index_get_image(x->index, (size_t)position, NULL, &kept, NULL);
    if (status != KB_OK) return features_fail(f, status, NULL);
    f->width = kept.width;
    f->height = kept.height;
    if (kept.n) memcpy(f->rows, kept.rows, kept.n * f->row_bytes);
    return f;
}

typedef struct web_bytes {
    uint8_t *data;
    size_t size, capacity;
} web_bytes;

static kb_status bytes_append(void *self, const void *data, size_t size)
{
    web_bytes *b = self;
    if (size > SIZE_MAX - b->size) return KB_E_MEMORY;
    if (b->size + size > b->capacity) {
        size_t capacity = b->size + size, more = capacity / 2 + 4096;
        if (more <= SIZE_MAX - capacity) capacity += more;
        uint8_t *grown = realloc(b->data, capacity);
        if (!grown) return KB_E_MEMORY;
        b->data = grown;
        b->capacity = capacity;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return KB_OK;
}

/* The file in memory that web_free releases; *size receives its bytes. */
uint8_t *EXPORT(web_index_save)(web_index *x, uint32_t *size)
{
    web_bytes bytes = {NULL, 0, 0};
    kb_status status = keep_status(kb_index_save(x->index, bytes_append, &bytes), NULL);
    if (status != KB_OK) {
        free(bytes.data);
        return NULL;
    }
    *size = (uint32_t)bytes.size;
    return bytes.data;
}
