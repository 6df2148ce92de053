/* SPDX-License-Identifier: Apache-2.0 */
/* Detecting and describing with wild numbers: images of any shape, every option, keypoints of any bits. Nothing may
 * crash, read outside or hang; results keep the promises of keybits.h that can be told from outside. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keybits/advanced.h"
#include "source.h"
#include "../arrays.h"

enum { MOST = 24 };

/* Pixels in a block of just the size the view claims. The last row ends with its last pixel. */
static uint8_t *make_image(source *s, kb_image *image)
{
    int32_t width = 1 + take_byte(s) % 150, height = 1 + take_byte(s) % 150;
    kb_format format = take_byte(s) & 1 ? KB_FORMAT_GRAY16 : KB_FORMAT_GRAY8;
    size_t row = (size_t)width * (format == KB_FORMAT_GRAY16 ? 2 : 1), stride = row + (size_t)(take_byte(s) & 6);
    size_t bytes = stride * (size_t)(height - 1) + row;
    uint8_t *pixels = malloc(bytes);
    uint32_t noise = 1u + take_byte(s), coarse = 1u + take_byte(s) % 16;
    for (size_t i = 0; i < bytes; i++) {
        if (i % coarse == 0) noise = noise * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(noise >> 24);
    }
    *image = (kb_image){pixels, width, height, (ptrdiff_t)stride, format,
                        format == KB_FORMAT_GRAY16 ? take_byte(s) * 257 : 0};
    return pixels;
}

static uint8_t take_radius(source *s, bool cells)
{
    return (uint8_t)(cells ? 1 + take_byte(s) % KB_MAX_CELL_RADIUS : take_byte(s) % (KB_MAX_RADIUS + 1));
}

static uint8_t take_centre(source *s, kb_sampler sampler, int radius)
{
    int side = sampler == KB_SAMPLER_OCTAVES ? KB_OCTAVE_SIDE : KB_PATCH_SIDE;
    if (sampler == KB_SAMPLER_OCTAVES || sampler == KB_SAMPLER_CELLS)
        return (uint8_t)(radius + 2 * (take_byte(s) % (side / 2 - radius + 1)));
    return (uint8_t)(radius + take_byte(s) % (KB_PATCH_SIDE - 2 * radius));
}

/* A model of any kind, sampler and support with tables that the input decides. */
static kb_model *make_model(source *s)
{
    enum { BITS = 32 }; /* the fewest of BAG */
    kb_box_pair boxes[BITS];
    int8_t weights[BITS * KB_SIFT_VALUES];
    int32_t bias[BITS];
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = (kb_kind)(KB_KIND_BAD + take_byte(s) % 5);
    static const kb_sampler samplers[] = {KB_SAMPLER_PATCH, KB_SAMPLER_IMAGE, KB_SAMPLER_CELLS};
    spec.sampler = samplers[take_byte(s) % 3];
    if (spec.kind != KB_KIND_BAD) spec.sampler = spec.kind == KB_KIND_BAG ? KB_SAMPLER_OCTAVES : KB_SAMPLER_PATCH;
    bool cells = spec.sampler == KB_SAMPLER_OCTAVES || spec.sampler == KB_SAMPLER_CELLS;
    uint8_t support = take_byte(s);
    spec.support = support % 4 ? 0.1f + (float)support * (9.9f / 255) : 1;
    spec.name = "fuzzed";
    if (spec.kind <= KB_KIND_HASHSIFT) spec.bits = BITS;
    for (int i = 0; i < BITS && spec.kind <= KB_KIND_BAG; i++) {
        kb_box_pair *p = &boxes[i];
        p->radius1 = take_radius(s, cells);
        p->radius2 = spec.sampler == KB_SAMPLER_IMAGE ? p->radius1 : take_radius(s, cells);
        p->x1 = take_centre(s, spec.sampler, p->radius1);
        p->y1 = take_centre(s, spec.sampler, p->radius1);
        p->x2 = take_centre(s, spec.sampler, p->radius2);
        p->y2 = take_centre(s, spec.sampler, p->radius2);
        p->channel1 = spec.kind == KB_KIND_BAG ? (uint8_t)(1 + take_byte(s) % (KB_CHANNELS - 1)) : 0;
        p->channel2 = spec.kind == KB_KIND_BAG ? (uint8_t)(1 + take_byte(s) % (KB_CHANNELS - 1)) : 0;
        p->threshold = ((float)take_byte(s) - 128) / (spec.kind == KB_KIND_BAG ? 64 : 1);
    }
    if (spec.kind == KB_KIND_HASHSIFT) {
        take(s, weights, sizeof weights);
        for (int i = 0; i < BITS; i++) bias[i] = (take_byte(s) - 128) * 1000;
        spec.root = take_byte(s) & 1;
    }
    spec.boxes = boxes;
    spec.weights = weights;
    spec.bias = bias;
    kb_model *model = NULL;
    kb_error error;
    fuzz_expect(kb_model_create(&spec, NULL, &model, &error) == KB_OK);
    return model;
}

/* Keypoints of any bits, or plain ones with regions from a fraction of a pixel on, in the corners too. */
static void add_keypoints(source *s, const kb_image *image, kb_keypoint *keypoints, size_t n)
{
    bool any = take_byte(s) & 1;
    if (any) {
        take(s, keypoints, n * sizeof *keypoints);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float x = (float)take_byte(s) / 255, y = (float)take_byte(s) / 255, size = (float)take_byte(s) / 32;
        keypoints[i] = (kb_keypoint){.x = x * ((float)image->width - 0.02f) - 0.49f,
                                     .y = y * ((float)image->height - 0.02f) - 0.49f,
                                     .size = size * size * size / 16 + 0.01f,
                                     .angle = (float)take_byte(s) * 1.5f};
    }
}

/* Octaves of any keypoints; their rows are those of the image, where there is a region. */
static void describe_octaves(const kb_model *model, const kb_image *image, const kb_keypoint *keypoints, size_t count,
                             const kb_describe_options *d, const uint8_t *expected, size_t row_bytes)
{
    uint8_t octaves[MOST * KB_OCTAVES * KB_OCTAVE_SIDE * KB_OCTAVE_SIDE], rows[MOST * KB_SIFT_VALUES], flags[MOST];
    fuzz_expect(sample_octaves(image, keypoints, count, d, NULL, octaves, flags) == KB_OK);
    fuzz_expect(describe_patches(model, octaves, count, KB_OCTAVE_SIDE, NULL, NULL, rows) == KB_OK);
    for (size_t i = 0; i < count; i++) {
        if (flags[i] & (KB_KP_OUTSIDE | KB_KP_INVALID)) continue;
        fuzz_expect(memcmp(rows + i * row_bytes, expected + i * row_bytes, row_bytes) == 0);
    }
}

static void describe_any(source *s, const kb_image *image, const kb_keypoint *keypoints, size_t count)
{
    uint8_t rows[MOST * KB_SIFT_VALUES], flags[MOST];
    float floats[MOST * KB_SIFT_VALUES];
    kb_model *model = make_model(s);
    kb_model_info info;
    kb_describe_options d;
    KB_INIT(d);
    KB_INIT(info);
    d.scale = take_byte(s) & 1 ? 1 : (float)(1 + take_byte(s) % 100);
    fuzz_expect(kb_model_get_info(model, &info) == KB_OK);
    fuzz_expect(describe_keypoints(model, image, keypoints, count, &d, NULL, rows, flags) == KB_OK);
    kb_status status = describe_keypoints_float(model, image, keypoints, count, &d, NULL, floats, flags);
    fuzz_expect(status == (info.row_floats ? KB_OK : KB_E_KIND));
    for (size_t i = 0; status == KB_OK && i < count * KB_SIFT_VALUES; i++) fuzz_expect(isfinite(floats[i]));
    if (info.spec->sampler == KB_SAMPLER_OCTAVES && info.spec->support == 1)
        describe_octaves(model, image, keypoints, count, &d, rows, (size_t)info.row_bytes);
    kb_model_free(model);
}

static bool has_option(kb_detector detector, const char *name)
{
    for (const char *const *option = kb_detector_get_info(detector).options; *option; option++)
        if (strcmp(*option, name) == 0) return true;
    return false;
}

/* Leaves what the detector does not have at its default. */
static void drop_foreign_options(kb_detect_options *o)
{
    if (!has_option(o->detector, "levels")) {
        o->levels = o->second_angle = o->whole_pixels = 0;
        o->level_factor = 0;
    }
    if (!has_option(o->detector, "fast_threshold"))
        o->fast_threshold = o->fast_threshold_min = o->cell_size = 0;
    if (!has_option(o->detector, "layers")) {
        o->layers = o->no_upsampling = 0;
        o->contrast_threshold = o->edge_threshold = o->sigma = 0;
    }
    if (!has_option(o->detector, "hessian_threshold")) o->hessian_threshold = 0;
}

/* Every option within its range, most of them at their defaults. The mask needs not to be there. */
static kb_detect_options take_detect_options(source *s, const kb_image *mask)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = (kb_detector)(KB_DETECTOR_ORB + take_byte(s) % 3);
    o.selection = (kb_selection)(take_byte(s) % (KB_SELECTION_QUADTREE + 1));
    o.max_keypoints = 1 + take_byte(s) % (2 * MOST);
    uint8_t chosen = take_byte(s), more = take_byte(s);
    if (chosen & 1) o.levels = 1 + take_byte(s) % KB_PYRAMID_MAX_LEVELS;
    if (chosen & 2) o.level_factor = 1.05f + (float)take_byte(s) * (0.95f / 255);
    if (chosen & 4) o.fast_threshold = 1 + take_byte(s) % 255;
    if (chosen & 8) o.fast_threshold_min = 1 + take_byte(s) % (o.fast_threshold ? o.fast_threshold : 20);
    if (chosen & 16) o.cell_size = 8 + take_byte(s) * 4 % 1017;
    if (chosen & 32) o.orientation = (kb_orientation)(take_byte(s) % 4);
    o.second_angle = chosen >> 6 & 1;
    o.low_memory = chosen >> 7 & 1;
    if (more & 1) o.layers = 1 + take_byte(s) % 8;
    if (more & 2) o.contrast_threshold = (float)take_byte(s) / 255;
    if (more & 4) o.edge_threshold = 1 + (float)take_byte(s) * (999.0f / 255);
    if (more & 8) o.sigma = 0.5f + (float)take_byte(s) * (3.5f / 255);
    if (more & 128) o.hessian_threshold = 0.0001f + (float)take_byte(s) * (0.4f / 255);
    o.no_upsampling = more >> 4 & 1;
    if (more & 32) o.mask = mask;
    o.whole_pixels = more >> 6 & 1;
    drop_foreign_options(&o);
    return o;
}

/* Options of any bits: refused, or as good as any other. */
static void detect_any(source *s, const kb_image *image)
{
    kb_keypoint keypoints[MOST];
    size_t count = 0;
    kb_detect_options o;
    KB_INIT(o);
    take(s, (uint8_t *)&o + sizeof o.struct_size, sizeof o - sizeof o.struct_size);
    o.mask = NULL;
    o.parallel = NULL;
    kb_status status = detect_keypoints(image, &o, NULL, keypoints, MOST, &count, NULL);
    fuzz_expect(status == KB_E_ARGUMENT || status == KB_E_UNKNOWN || (status == KB_OK && count <= MOST));
}

static void orient_and_select(source *s, const kb_image *image, kb_keypoint *keypoints, size_t count)
{
    float confidence[MOST];
    uint8_t patches[MOST * KB_PATCH_SIDE * KB_PATCH_SIDE], octaves[sizeof patches], flags[MOST], octave_flags[MOST];
    kb_orient_options o;
    kb_describe_options d;
    KB_INIT(o);
    KB_INIT(d);
    o.orientation = (kb_orientation)(take_byte(s) % 4);
    o.scale = d.scale = (float)(take_byte(s) % 101);
    fuzz_expect(sample_patches(image, keypoints, count, &d, NULL, patches, flags) == KB_OK);
    fuzz_expect(sample_octaves(image, keypoints, count, &d, NULL, octaves, octave_flags) == KB_OK);
    for (size_t i = 0; i < count; i++) {
        const uint8_t none = KB_KP_OUTSIDE | KB_KP_INVALID;
        fuzz_expect((flags[i] & none) == (octave_flags[i] & none));
        for (size_t k = 0; flags[i] & none && k < 1024; k++) fuzz_expect(octaves[1024 * i + k] == 0);
    }
    fuzz_expect(orient_keypoints(image, keypoints, count, &o, NULL, confidence) == KB_OK);
    for (size_t i = 0; i < count; i++) {
        fuzz_expect(confidence[i] >= 0 && confidence[i] <= 1);
        fuzz_expect(keypoints[i].angle == -1 || (keypoints[i].angle >= 0 && keypoints[i].angle <= 360));
    }
    kb_selection rule = (kb_selection)(take_byte(s) % (KB_SELECTION_QUADTREE + 1));
    fuzz_expect(select_keypoints(keypoints, count, image->width, image->height, rule, count / 2, NULL, &count) == KB_OK);
}

/* Every keypoint against another one of the same image. */
static void refine_any(source *s, const kb_image *image, const kb_keypoint *keypoints, size_t count)
{
    kb_match matches[MOST];
    kb_point_pair pairs[MOST];
    float correlations[MOST];
    kb_refine_options o;
    KB_INIT(o);
    o.scale = (float)(take_byte(s) % 101);
    o.max_shift = (float)take_byte(s) / 255;
    for (size_t i = 0; i < count; i++) matches[i] = (kb_match){(int32_t)i, (int32_t)(count - 1 - i), 0, 0};
    fuzz_expect(match_refine(image, image, keypoints, count, keypoints, count, matches, count, &o, NULL, pairs,
                                correlations) == KB_OK);
    for (size_t i = 0; i < count; i++) {
        fuzz_expect(correlations[i] >= 0 && correlations[i] <= 1.001f);
        fuzz_expect(correlations[i] == 0 || (isfinite(pairs[i].x2) && isfinite(pairs[i].y2)));
    }
}

static void describe_any_patches(source *s)
{
    int32_t side = KB_PATCH_SIDE + take_byte(s) % 40;
    size_t n = 1 + take_byte(s) % 3, bytes = n * (size_t)side * (size_t)side; /* octaves need no more */
    uint8_t *patches = malloc(bytes), rows[3 * KB_SIFT_VALUES];
    float floats[3 * KB_SIFT_VALUES];
    for (size_t i = 0; i < bytes; i++) patches[i] = s->size ? s->data[i * 31 % s->size] : 0;
    kb_model *model = make_model(s);
    fuzz_expect(describe_patches(model, patches, n, side, NULL, NULL, rows) == KB_OK);
    kb_status status = describe_patches_float(model, patches, n, side, NULL, NULL, floats);
    fuzz_expect(status == KB_OK || status == KB_E_KIND);
    kb_model_info info;
    KB_INIT(info);
    fuzz_expect(kb_model_get_info(model, &info) == KB_OK);
    status = describe_patches(model, patches, n, KB_OCTAVE_SIDE, NULL, NULL, rows);
    fuzz_expect(status == (info.spec->sampler == KB_SAMPLER_OCTAVES ? KB_OK : KB_E_ARGUMENT));
    kb_model_free(model);
    free(patches);
}

static void both_of_any(source *s, const kb_image *image)
{
    kb_keypoint keypoints[MOST];
    size_t count = 0;
    uint8_t *mask_pixels = calloc((size_t)image->width, (size_t)image->height);
    for (int32_t i = 0; i < image->width * image->height; i++) mask_pixels[i] = (uint8_t)(i / 16 % 3);
    const kb_image mask = {mask_pixels, image->width, image->height, image->width, KB_FORMAT_GRAY8, 0};
    kb_detect_options o = take_detect_options(s, &mask);
    fuzz_expect(detect_keypoints(image, &o, NULL, keypoints, MOST, &count, NULL) == KB_OK && count <= MOST);
    free(mask_pixels);
    for (size_t i = 0; i < count; i++) {
        fuzz_expect(keypoints[i].x >= 0 && keypoints[i].x < (float)image->width && keypoints[i].y >= 0 &&
                    keypoints[i].y < (float)image->height && keypoints[i].size > 0);
    }
    detect_any(s, image);
    size_t more = take_byte(s) % (MOST - count + 1);
    add_keypoints(s, image, keypoints + count, more);
    count += more;
    for (int i = 0; i < 3; i++) describe_any(s, image, keypoints, count);
    refine_any(s, image, keypoints, count);
    orient_and_select(s, image, keypoints, count);
    describe_any_patches(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {data, size, 0};
    kb_image image;
    uint8_t *pixels = make_image(&s, &image);
    both_of_any(&s, &image);
    free(pixels);
    return 0;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static const size_t sizes[] = {16, 200, 1200, 3000};
    if (index >= 4 || sizes[index] > capacity) return 0;
    uint32_t noise = (uint32_t)index + 3;
    for (size_t i = 0; i < sizes[index]; i++) buffer[i] = (uint8_t)((noise = noise * 1664525u + 1013904223u) >> 24);
    return sizes[index];
}
