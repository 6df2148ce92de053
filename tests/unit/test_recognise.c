/* SPDX-License-Identifier: Apache-2.0 */
/* Recognition as people use it: references of 500 px, photographs of 2 to 12 megapixels that show one of them among
 * clutter, turned by any angle, tilted, darker, noisy; at the size and with the verification that the program has.
 *
 * test_recognise [PHOTOGRAPHS]: 12 by default, half of them hard to find by words; `make test-all` runs 200. At least 99 %
 * are right, and none is wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collection/photos.h"
#include "pipeline/models.h"
#include "scratch.h"
#include "solid.h"

enum { FEW = 12, REFERENCES = 60, CANDIDATES = 20, CLUTTER = 4, SIDE = 1000, SMALL = SIDE / 2, MAX_SIZE = 1000 };

static int photographs = FEW;
static uint8_t *textures[REFERENCES + CLUTTER]; /* SIDE x SIDE */
static kb_model *model;
static pipeline line;

/* A poster: forty boxes and ellipses of any size, angle and gray, on a texture whose scale differs from poster to
 * poster. */
static uint8_t *make_texture(uint32_t seed)
{
    uint8_t *pixels = malloc(SIDE * SIDE);
    assert_non_null(pixels);
    double scale = 2 + 6 * solid_random(seed, 0, 0);
    for (int i = 0; i < SIDE * SIDE; i++)
        pixels[i] = (uint8_t)(255 * solid_texture(1000 * seed, scale * (i % SIDE) / SIDE, scale * (i / SIDE) / SIDE));
    for (int32_t shape = 1; shape <= 40; shape++) {
        double r[7];
        for (int32_t k = 0; k < 7; k++) r[k] = solid_random(seed, shape, k);
        double c = cos(3 * r[0]), d = sin(3 * r[0]), a = SIDE * (0.01 + 0.12 * r[1]), b = SIDE * (0.01 + 0.12 * r[2]);
        int top = (int)fmax(0, SIDE * r[4] - a - b), bottom = (int)fmin(SIDE, SIDE * r[4] + a + b);
        for (int i = top * SIDE; i < bottom * SIDE; i++) {
            double x = i % SIDE - SIDE * r[3], y = i / SIDE - SIDE * r[4], u = (c * x + d * y) / a, v = (c * y - d * x) / b;
            if (r[5] < 0.5 ? fabs(u) < 1 && fabs(v) < 1 : u * u + v * v < 1)
                pixels[i] = (uint8_t)(0.25 * pixels[i] + 190 * r[6]);
        }
    }
    return pixels;
}

/* Written as a PGM and read as the program reads it. */
static void describe_pixels(const uint8_t *pixels, int32_t width, int32_t height, features *out)
{
    const char *path = in_scratch("image.pgm");
    io_error error;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "P5 %d %d 255\n", width, height);
    fwrite(pixels, 1, (size_t)width * (size_t)height, file);
    fclose(file);
    if (!photos_describe_one(&line, &(io_read_options){.max_size = MAX_SIZE}, path, out, &error)) fail_msg("%s", error.text);
}

static double random_of(uint32_t photo, int32_t what, double low, double high)
{
    return low + (high - low) * solid_random(4711, (int32_t)photo, what);
}

/* From a pixel of the photograph to a texture, 0 to SIDE: the inverse of a view of a plane, rolled and tilted. */
static void view_of_plane(uint32_t photo, double width, double height, double h[9])
{
    double roll = random_of(photo, 1, 0, 6.2831853), tilt = random_of(photo, 2, 0, 0.8), towards = random_of(photo, 3, 0, 6.2831853),
           size = random_of(photo, 4, 0.45, 0.8) * fmin(width, height);
    double a = cos(towards), b = sin(towards), c = cos(roll - towards), d = sin(roll - towards), f = cos(tilt), g = sin(tilt) / 3;
    /* plane (u, v) in -0.5 to 0.5: turn by `towards`, shorten v by the tilt, turn back with the roll, enlarge */
    const double m[6] = {size * (c * a - d * f * b), size * (-c * b - d * f * a), size * (d * a + c * f * b),
                         size * (-d * b + c * f * a), g * b, g * a};
    double x = width * random_of(photo, 5, 0.42, 0.58), y = height * random_of(photo, 6, 0.42, 0.58);
    const double p[9] = {m[0] + x * m[4], m[1] + x * m[5], x, m[2] + y * m[4], m[3] + y * m[5], y, m[4], m[5], 1};
    for (int i = 0; i < 9; i++) {
        int r = i % 3, s = i / 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, s1 = (s + 1) % 3, s2 = (s + 2) % 3;
        h[i] = p[3 * r1 + s1] * p[3 * r2 + s2] - p[3 * r1 + s2] * p[3 * r2 + s1];
    }
}

static double sample(const uint8_t *texture, double x, double y)
{
    int32_t i = (int32_t)x, j = (int32_t)y;
    i = i < 0 ? 0 : i > SIDE - 2 ? SIDE - 2 : i;
    j = j < 0 ? 0 : j > SIDE - 2 ? SIDE - 2 : j;
    double a = x - i, b = y - j;
    const uint8_t *p = texture + j * SIDE + i;
    return (1 - b) * ((1 - a) * p[0] + a * p[1]) + b * ((1 - a) * p[SIDE] + a * p[SIDE + 1]);
}

static uint8_t *take_photograph(uint32_t photo, int reference, int32_t *width, int32_t *height)
{
    double megapixels = random_of(photo, 7, 2, 12), h[9], light = random_of(photo, 8, 0.5, 1), noise = random_of(photo, 9, 2, 10);
    *width = (int32_t)sqrt(megapixels * 1e6 * 4 / 3);
    *height = *width * 3 / 4;
    view_of_plane(photo, *width, *height, h);
    uint8_t *pixels = malloc((size_t)*width * (size_t)*height);
    assert_non_null(pixels);
    uint32_t state = 12345 + photo;
    for (int32_t y = 0; y < *height; y++)
        for (int32_t x = 0; x < *width; x++) {
            double w = h[6] * x + h[7] * y + h[8], u = (h[0] * x + h[1] * y + h[2]) / w + 0.5,
                   v = (h[3] * x + h[4] * y + h[5]) / w + 0.5;
            bool inside = u >= 0 && u < 1 && v >= 0 && v < 1;
            int32_t tile = *width / 5 + 1; /* clutter: tiles of other textures */
            int which = REFERENCES + (x / tile * 3 + y / tile) % CLUTTER;
            double value = inside ? sample(textures[reference], SIDE * u, SIDE * v)
                                  : sample(textures[which], fmod(2.0 * x, SIDE - 1), fmod(2.0 * y, SIDE - 1));
            double sum = -2; /* of four numbers: nearly normal */
            for (int k = 0; k < 4; k++) {
                state = state * 1664525u + 1013904223u;
                sum += state / 4294967296.0;
            }
            value = light * value + 1.7 * noise * sum;
            pixels[(size_t)y * (size_t)*width + (size_t)x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    return pixels;
}

static kb_index *make_index(io_vocabulary *words)
{
    kb_index *index;
    kb_index_options o;
    io_error error;
    KB_INIT(o);
    o.keep_features = 1;
    if (!photos_vocabulary_open(NULL, &line.info, words, &error)) fail_msg("%s", error.text);
    assert_int_equal(kb_index_create(words->vocabulary, &o, NULL, &index, NULL), KB_OK);
    for (uint64_t i = 0; i < REFERENCES; i++) {
        features f;
        uint8_t small[SMALL * SMALL];
        for (int k = 0; k < SMALL * SMALL; k++) {
            const uint8_t *p = textures[i] + 2 * (k / SMALL) * SIDE + 2 * (k % SMALL);
            small[k] = (uint8_t)((p[0] + p[1] + p[SIDE] + p[SIDE + 1] + 2) / 4);
        }
        describe_pixels(small, SMALL, SMALL, &f);
        kb_features view = features_view(&f);
        assert_int_equal(kb_index_add(index, &view, i, NULL, NULL, NULL), KB_OK);
        features_free(&f);
    }
    return index;
}

/* The first result, if it is verified, as `keybits search` does; -1: none. */
static int recognise(const kb_index *index, const uint8_t *pixels, int32_t width, int32_t height)
{
    features f;
    kb_index_query_options o;
    kb_index_result results[CANDIDATES];
    size_t count;
    KB_INIT(o);
    o.verify = CANDIDATES; /* a third of the references: words and samples must find the right one */
    describe_pixels(pixels, width, height, &f);
    kb_features view = features_view(&f);
    assert_int_equal(kb_index_query(index, &view, &o, NULL, results, CANDIDATES, &count, NULL), KB_OK);
    features_free(&f);
    return count > 0 && results[0].inliers > 0 ? (int)results[0].id : -1;
}

static void photographs_are_recognised(void **state)
{
    (void)state;
    io_vocabulary words;
    kb_index *index = make_index(&words);
    static const int hard[] = {25, 65, 66, 78, 125, 129};
    int right = 0;
    for (int n = 0; n < photographs; n++) {
        int32_t width, height;
        int i = photographs == FEW && n < FEW / 2 ? hard[n] : n, reference = i % REFERENCES;
        uint8_t *pixels = take_photograph((uint32_t)i, reference, &width, &height);
        int found = recognise(index, pixels, width, height);
        right += found == reference;
        if (found >= 0 && found != reference) fail_msg("photograph %d shows %d, but %d was found", i, reference, found);
        free(pixels);
    }
    if (100 * right < 99 * photographs) fail_msg("%d of %d photographs are recognised", right, photographs);
    kb_index_free(index);
    io_vocabulary_free(&words);
}

static void clutter_is_not_recognised(void **state)
{
    (void)state;
    io_vocabulary words;
    kb_index *index = make_index(&words);
    for (int i = 0; i < CLUTTER; i++) assert_int_equal(recognise(index, textures[REFERENCES + i], SIDE, SIDE), -1);
    kb_index_free(index);
    io_vocabulary_free(&words);
}

static int set_up(void **state)
{
    pipeline_options options;
    io_error error;
    pipeline_options_init(&options);
    for (uint32_t i = 0; i < REFERENCES + CLUTTER; i++) textures[i] = make_texture(i + 1);
    if (make_scratch(state) != 0 || !models_open("bag256", &model, &error)) return -1;
    return pipeline_open(&line, &options, model, NULL, &error) ? 0 : -1;
}

static int tear_down(void **state)
{
    for (int i = 0; i < REFERENCES + CLUTTER; i++) free(textures[i]);
    pipeline_close(&line);
    kb_model_free(model);
    return remove_scratch(state);
}

int main(int argc, char **argv)
{
    if (argc > 1) photographs = atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photographs_are_recognised),
        cmocka_unit_test(clutter_is_not_recognised),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
