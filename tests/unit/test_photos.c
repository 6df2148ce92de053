/* SPDX-License-Identifier: Apache-2.0 */
/* Photographs that are shrunk when they are read: means of areas, and places that stay in pixels of the file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jpeglib.h>

#include "collection/photos.h"
#include "pipeline/models.h"

/* ---- means of areas ---- */

static double covered(int32_t old_pixel, int32_t new_pixel, int32_t from, int32_t to)
{
    double low = fmax(old_pixel, (double)new_pixel * from / to), high = fmin(old_pixel + 1, (double)(new_pixel + 1) * from / to);
    return fmax(0, high - low);
}

/* Any size to any size, 8 and 16 bits, gray and colour: within a rounding of the definition. */
static void check_means(int32_t width, int32_t height, int32_t max_size, char kind, int white)
{
    size_t channels = kind == '6' ? 3 : 1, wide = white > 255 ? 2 : 1, n = (size_t)width * (size_t)height * channels;
    uint8_t *file = malloc(64 + n * wide);
    int head = sprintf((char *)file, "P%c %d %d %d\n", kind, width, height, white);
    for (size_t i = 0; i < n; i++) {
        uint32_t value = (uint32_t)(i * 2654435761u >> 8) % (uint32_t)(white + 1);
        if (wide == 2) file[head + 2 * (int)i] = (uint8_t)(value >> 8), file[head + 2 * (int)i + 1] = (uint8_t)value;
        else file[head + (int)i] = (uint8_t)value;
    }
    io_image all, small;
    io_error error;
    io_read_options options = {.keep16 = true, .colour = kind == '6'};
    assert_true(io_image_decode("all", file, (size_t)head + n * wide, &options, &all, &error));
    options.max_size = max_size;
    assert_true(io_image_decode("small", file, (size_t)head + n * wide, &options, &small, &error));
    assert_int_equal(small.width > small.height ? small.width : small.height, max_size);
    assert_int_equal(small.file.width, width);
    assert_int_equal(small.file.height, height);
    for (int32_t y = 0; y < small.height; y++)
        for (int32_t x = 0; x < small.width; x++)
            for (size_t c = 0; c < channels; c++) {
                double sum = 0, area = 0;
                for (int32_t v = 0; v < height; v++)
                    for (int32_t u = 0; u < width; u++) {
                        double part = covered(u, x, width, small.width) * covered(v, y, height, small.height);
                        size_t at = ((size_t)v * (size_t)width + (size_t)u) * channels + c;
                        sum += part * (wide == 2 ? ((uint16_t *)(void *)all.pixels)[at] : all.pixels[at]);
                        area += part;
                    }
                size_t at = ((size_t)y * (size_t)small.width + (size_t)x) * channels + c;
                double is = wide == 2 ? ((uint16_t *)(void *)small.pixels)[at] : small.pixels[at];
                assert_true(fabs(is - sum / area) <= 0.5 + 1e-6);
            }
    io_image_free(&all);
    io_image_free(&small);
    free(file);
}

static void pixels_are_means_of_areas(void **state)
{
    (void)state;
    check_means(8, 8, 4, '5', 255);
    check_means(13, 7, 5, '5', 255);
    check_means(7, 19, 18, '5', 255);
    check_means(11, 6, 4, '5', 65535);
    check_means(9, 12, 7, '6', 255);
    check_means(40, 1, 3, '5', 255); /* a side never becomes 0 */
}

/* ---- where a pixel lies ---- */

#define SPOT 14.0 /* px, of the file */

/* A spot as a JPEG with an EXIF orientation; the place is that of the picture as stored. */
static void make_jpeg(int32_t width, int32_t height, double x, double y, uint8_t orientation, uint8_t **data,
                      unsigned long *size)
{
    uint8_t exif[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x01\0\0\0\0\0\0";
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr manager;
    exif[24] = orientation;
    info.err = jpeg_std_error(&manager);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, data, size);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = 1;
    info.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 95, TRUE);
    jpeg_start_compress(&info, TRUE);
    jpeg_write_marker(&info, JPEG_APP0 + 1, exif, sizeof exif - 1);
    uint8_t *row = malloc((size_t)width);
    for (int32_t v = 0; v < height; v++) {
        for (int32_t u = 0; u < width; u++)
            row[u] = (uint8_t)(20 + 220 * exp(-((u - x) * (u - x) + (v - y) * (v - y)) / (2 * SPOT * SPOT)));
        jpeg_write_scanlines(&info, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
}

/* The centre of the spot, in pixels of the file. */
static void find_spot(const io_image *image, double *x, double *y)
{
    double sum = 0, sx = 0, sy = 0;
    for (int32_t v = 0; v < image->height; v++)
        for (int32_t u = 0; u < image->width; u++) {
            double light = fmax(0, image->pixels[(size_t)v * (size_t)image->width + (size_t)u] - 60.0);
            sum += light;
            sx += light * u;
            sy += light * v;
        }
    *x = image->file.origin_x + (sx / sum + 0.5) * image->file.step_x - 0.5;
    *y = image->file.origin_y + (sy / sum + 0.5) * image->file.step_y - 0.5;
}

/* At every fraction that libjpeg gives, in sizes that are no multiples of anything, and turned in all ways. */
static void places_stay_in_pixels_of_the_file(void **state)
{
    (void)state;
    const int32_t sizes[][2] = {{403, 305}, {301, 398}};
    for (int s = 0; s < 2; s++)
        for (uint8_t orientation = 1; orientation <= 8; orientation++) {
            int32_t width = sizes[s][0], height = sizes[s][1];
            double x = 0.6 * width, y = 0.3 * height;
            uint8_t *data = NULL;
            unsigned long size = 0;
            make_jpeg(width, height, x, y, orientation, &data, &size);
            for (int32_t max_size = 50; max_size <= 450; max_size += 57) {
                io_image image, whole;
                io_error error;
                double whole_x, whole_y, is_x, is_y;
                assert_true(io_image_decode("whole", data, size, &(io_read_options){.exif = true}, &whole, &error));
                assert_true(io_image_decode("small", data, size,
                                            &(io_read_options){.exif = true, .max_size = max_size}, &image, &error));
                int32_t longer = image.width > image.height ? image.width : image.height;
                assert_true(longer <= max_size || max_size > 403);
                assert_int_equal(image.file.width, whole.width);
                assert_int_equal(image.file.height, whole.height);
                find_spot(&whole, &whole_x, &whole_y);
                find_spot(&image, &is_x, &is_y);
                assert_true(fabs(is_x - whole_x) < 0.12 && fabs(is_y - whole_y) < 0.12);
                io_image_free(&image);
                io_image_free(&whole);
            }
            free(data);
        }
}

/* ---- keypoints ---- */

static void draw_squares(const char *path, int32_t side)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "P5 %d %d 255\n", side, side * 3 / 4);
    for (int32_t y = 0; y < side * 3 / 4; y++)
        for (int32_t x = 0; x < side; x++) {
            double u = 1000.0 * x / side, v = 1000.0 * y / side;
            int square = (int)(u / 50) * 31 + (int)(v / 50) * 17;
            bool inside = fmod(u, 50) > 12 && fmod(v, 50) > 12;
            fputc(inside ? 40 + square * 53 % 200 : 128, file);
        }
    fclose(file);
}

/* Keypoints of the shrunk image that have one of the whole image beside them are on the mean at the same place. */
static void keypoints_stay_in_pixels_of_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/keybits-photos-XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    draw_squares(path, 1600);
    kb_model *model;
    pipeline_options options;
    pipeline p;
    io_error error;
    features whole, small;
    pipeline_options_init(&options);
    assert_true(models_open(models_default(), &model, &error));
    assert_true(pipeline_open(&p, &options, model, NULL, &error));
    assert_true(photos_describe_one(&p, &(io_read_options){0}, path, &whole, &error));
    assert_true(photos_describe_one(&p, &(io_read_options){.max_size = 500}, path, &small, &error));
    assert_int_equal(small.width, 1600);
    assert_int_equal(small.height, 1200);
    assert_true(small.keypoints.count > 200);
    size_t found = 0;
    double off_x = 0, off_y = 0;
    for (size_t i = 0; i < small.keypoints.count; i++) {
        const kb_keypoint *k = &small.keypoints.items[i], *nearest = NULL;
        double least = 6;
        for (size_t n = 0; n < whole.keypoints.count; n++) {
            const kb_keypoint *w = &whole.keypoints.items[n];
            double far = hypot((double)(k->x - w->x), (double)(k->y - w->y));
            if (far < least) least = far, nearest = w;
        }
        if (!nearest) continue;
        found++;
        off_x += (double)(k->x - nearest->x);
        off_y += (double)(k->y - nearest->y);
    }
    assert_true(found > 300);
    assert_true(fabs(off_x / (double)found) < 0.5 && fabs(off_y / (double)found) < 0.5);
    features_free(&whole);
    features_free(&small);
    pipeline_close(&p);
    kb_model_free(model);
    unlink(path);
}

/* What explains a pair of points in shrunk pictures explains it in their files. */
static void geometry_stays_in_pixels_of_the_file(void **state)
{
    (void)state;
    const io_grid files[2] = {{900, 700, 2.25, 2.24, 0, 0}, {1000, 720, 2.5, 2.52, 3, -1}};
    kb_point_pair pair = {100, 80, 90, 120};
    pipeline_result r = {.pairs = &pair, .count = 1, .fit = {.result = KB_FIT_FOUND, .geometry = KB_GEOMETRY_FUNDAMENTAL, .rms = 2,
                         .model = {0.1, 0.2, -30, -0.3, 0.05, 20, 10, -15, 0}}};
    double norm = 0, *f = r.fit.model;
    f[8] = -(90 * (10 + 16 - 30) + 120 * (-30 + 4 + 20) + 1000 - 1200.0);
    pipeline_result_to_file(&r, files);
    assert_float_equal(pair.x1, 100.5 * 2.25 - 0.5, 1e-9);
    assert_float_equal(pair.y2, -1 + 120.5 * 2.52 - 0.5, 1e-9);
    assert_float_equal(r.fit.rms, 5.02, 1e-9);
    for (int i = 0; i < 9; i++) norm += f[i] * f[i];
    assert_float_equal(norm, 1, 1e-9);
    assert_float_equal(pair.x2 * (f[0] * pair.x1 + f[1] * pair.y1 + f[2]) + pair.y2 * (f[3] * pair.x1 + f[4] * pair.y1 + f[5]) +
                           f[6] * pair.x1 + f[7] * pair.y1 + f[8], 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_means_of_areas),
        cmocka_unit_test(places_stay_in_pixels_of_the_file),
        cmocka_unit_test(keypoints_stay_in_pixels_of_the_file),
        cmocka_unit_test(geometry_stays_in_pixels_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
