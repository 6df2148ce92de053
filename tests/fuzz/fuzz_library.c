/* The library with wild numbers: images of any shape, keypoints and pairs of any bits. Nothing may crash, read outside
 * or hang; results keep the promises of keybits.h that can be told from outside. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "keybits/keybits.h"

enum { MOST = 24 };

/* The input as a source of numbers; zeros when it is used up. */
typedef struct source {
    const uint8_t *data;
    size_t size, at;
} source;

static void take(source *s, void *to, size_t bytes)
{
    size_t left = s->size - s->at, count = left < bytes ? left : bytes;
    memset(to, 0, bytes);
    memcpy(to, s->data + s->at, count);
    s->at += count;
}

static uint8_t take_byte(source *s)
{
    uint8_t byte;
    take(s, &byte, 1);
    return byte;
}

/* Pixels in a block of just the size the view claims. The last row ends with its last pixel. */
static uint8_t *make_image(source *s, kb_image *image)
{
    int32_t width = 1 + take_byte(s) % 150, height = 1 + take_byte(s) % 150;
    kb_format format = take_byte(s) & 1 ? KB_GRAY16 : KB_GRAY8;
    size_t row = (size_t)width * (format == KB_GRAY16 ? 2 : 1), stride = row + (size_t)(take_byte(s) & 6);
    size_t bytes = stride * (size_t)(height - 1) + row;
    uint8_t *pixels = malloc(bytes);
    uint32_t noise = 1u + take_byte(s), coarse = 1u + take_byte(s) % 16;
    for (size_t i = 0; i < bytes; i++) {
        if (i % coarse == 0) noise = noise * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(noise >> 24);
    }
    *image = (kb_image){pixels, width, height, (ptrdiff_t)stride, format, format == KB_GRAY16 ? take_byte(s) * 257 : 0};
    return pixels;
}

/* A model of any kind, sampler and support with tables that the input decides. */
static kb_model *make_model(source *s)
{
    enum { BITS = 16 };
    kb_box_pair boxes[BITS];
    int8_t weights[BITS * KB_SIFT_VALUES];
    int32_t bias[BITS];
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = (kb_kind)(KB_BAD + take_byte(s) % 5);
    spec.sampler = (kb_sampler)(take_byte(s) % 3);
    if (spec.kind > KB_BAG || (spec.kind == KB_BAG && spec.sampler == KB_SAMPLER_IMAGE)) spec.sampler = KB_SAMPLER_PATCH;
    spec.support = 0.1f + (float)take_byte(s) * (9.9f / 255);
    spec.name = "fuzzed";
    if (spec.kind <= KB_HASHSIFT) spec.bits = BITS;
    for (int i = 0; i < BITS && spec.kind <= KB_BAG; i++) {
        kb_box_pair *p = &boxes[i];
        p->radius1 = take_byte(s) % (KB_MAX_RADIUS + 1);
        p->radius2 = spec.sampler == KB_SAMPLER_IMAGE ? p->radius1 : take_byte(s) % (KB_MAX_RADIUS + 1);
        p->x1 = (uint8_t)(p->radius1 + take_byte(s) % (KB_PATCH_SIDE - 2 * p->radius1));
        p->y1 = (uint8_t)(p->radius1 + take_byte(s) % (KB_PATCH_SIDE - 2 * p->radius1));
        p->x2 = (uint8_t)(p->radius2 + take_byte(s) % (KB_PATCH_SIDE - 2 * p->radius2));
        p->y2 = (uint8_t)(p->radius2 + take_byte(s) % (KB_PATCH_SIDE - 2 * p->radius2));
        p->channel1 = spec.kind == KB_BAG ? take_byte(s) % KB_PLANES : 0;
        p->channel2 = spec.kind == KB_BAG ? take_byte(s) % KB_PLANES : 0;
        p->threshold = (float)take_byte(s) - 128;
    }
    if (spec.kind == KB_HASHSIFT) {
        take(s, weights, sizeof weights);
        for (int i = 0; i < BITS; i++) bias[i] = (take_byte(s) - 128) * 1000;
        spec.root = take_byte(s) & 1;
    }
    spec.boxes = boxes;
    spec.weights = weights;
    spec.bias = bias;
    kb_model *model = NULL;
    kb_error error;
    fuzz_expect(kb_model_create(&spec, &model, &error) == KB_OK);
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
    fuzz_expect(kb_describe(model, image, keypoints, count, &d, NULL, rows, flags) == KB_OK);
    kb_status status = kb_describe_float(model, image, keypoints, count, &d, NULL, floats, flags);
    fuzz_expect(status == (info.row_floats ? KB_OK : KB_E_KIND));
    for (size_t i = 0; status == KB_OK && i < count * KB_SIFT_VALUES; i++) fuzz_expect(isfinite(floats[i]));
    kb_model_free(model);
}

static void detect_and_describe(source *s, const kb_image *image)
{
    kb_keypoint keypoints[MOST];
    size_t count = 0;
    kb_detect_options o;
    KB_INIT(o);
    o.detector = take_byte(s) & 1 ? KB_DETECTOR_SIFT : KB_DETECTOR_ORB;
    o.selection = (kb_selection)(take_byte(s) % 5);
    o.max_keypoints = 1 + take_byte(s) % (2 * MOST);
    fuzz_expect(kb_detect(image, &o, NULL, keypoints, MOST, &count) == KB_OK && count <= MOST);
    for (size_t i = 0; i < count; i++) {
        fuzz_expect(keypoints[i].x >= 0 && keypoints[i].x < (float)image->width && keypoints[i].y >= 0 &&
                    keypoints[i].y < (float)image->height && keypoints[i].size > 0);
    }
    size_t more = take_byte(s) % (MOST - count + 1);
    add_keypoints(s, image, keypoints + count, more);
    count += more;

    for (int i = 0; i < 3; i++) describe_any(s, image, keypoints, count);
    fuzz_expect(kb_orient(image, keypoints, count, NULL, NULL, NULL) == KB_OK);
    fuzz_expect(kb_select(keypoints, count, image->width, image->height, o.selection, count / 2, NULL, &count) ==
                KB_OK);
}

static void match_and_fit(source *s)
{
    size_t na = take_byte(s) % MOST, nb = take_byte(s) % MOST, width = 1 + take_byte(s) % 70, count = 0;
    uint8_t *rows = malloc((na + nb) * width + 1);
    kb_match matches[MOST];
    kb_match_options m;
    KB_INIT(m);
    m.one_way = take_byte(s) & 1;
    take(s, rows, (na + nb) * width);
    fuzz_expect(kb_match_hamming(rows, na, rows + na * width, nb, width, &m, NULL, matches, &count) == KB_OK);
    for (size_t i = 0; i < count; i++) fuzz_expect(matches[i].a < (int32_t)na && matches[i].b < (int32_t)nb);
    free(rows);

    kb_point_pair pairs[MOST];
    uint8_t inliers[MOST];
    kb_fit_report report;
    kb_fit_options f;
    KB_INIT(f);
    f.geometry = take_byte(s) & 1 ? KB_FUNDAMENTAL : KB_HOMOGRAPHY;
    f.max_iterations = 50;
    f.plain_ransac = take_byte(s) & 1;
    f.keep_duplicates = take_byte(s) & 1;
    size_t n = take_byte(s) % MOST, seen = 0;
    bool whole = take_byte(s) & 1;
    for (size_t i = 0; i < n; i++) { /* small whole numbers, which lie on lines and twice on points; or anything */
        double *const fields[] = {&pairs[i].x1, &pairs[i].y1, &pairs[i].x2, &pairs[i].y2};
        for (int k = 0; k < 4; k++) {
            if (whole) *fields[k] = take_byte(s);
            else take(s, fields[k], sizeof(double));
        }
    }
    KB_INIT(report);
    fuzz_expect(kb_fit(pairs, n, &f, NULL, inliers, &report) == KB_OK);
    for (size_t i = 0; i < n; i++) seen += inliers[i];
    fuzz_expect((size_t)report.inliers == seen && (report.result == KB_FIT_FOUND || seen == 0));
    for (int i = 0; i < 9; i++) fuzz_expect(isfinite(report.model[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {data, size, 0};
    kb_image image;
    uint8_t *pixels = make_image(&s, &image);
    detect_and_describe(&s, &image);
    free(pixels);
    match_and_fit(&s);
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
