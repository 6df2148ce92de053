/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/keypoints.h"

#include <stdlib.h>
#include <string.h>

#include "io/features.h"
#include "learn/warp.h"

const char *ev_keypoint_source_name(const ev_keypoint_source *source)
{
    return source->folder ? "csv" : kb_name(KB_NAMES_DETECTOR, source->detector);
}

bool ev_image_load(const ev_keypoint_source *source, const char *path, io_image *out, io_error *error)
{
    io_read_options reading = {.max_size = source->max_size, .max_pixels = source->max_pixels};
    return io_image_read(path, &reading, out, error);
}

void ev_image_resize(io_image *image, int32_t width, int32_t height)
{
    double sx = (double)image->width / width, sy = (double)image->height / height;
    const kbi_view view = {
        .width = width, .height = height, .to_photo = {sx, 0, 0.5 * sx - 0.5, 0, sy, 0.5 * sy - 0.5, 0, 0, 1}};
    size_t count = (size_t)width * (size_t)height;
    uint8_t *pixels = io_alloc(count, 1), *mask = io_alloc(count, 1);
    kbi_view_render(&view, &image->view, pixels, mask);
    free(mask);
    io_image_free(image);
    *image = (io_image){width, height, IO_GRAY8, pixels, {pixels, width, height, width, KB_FORMAT_GRAY8, 0},
                         {width, height, 1, 1, 0, 0}};
}

char *ev_keypoint_path(const ev_keypoint_source *source, const char *scene, const char *image_path)
{
    char *stem = io_path_stem(image_path);
    size_t size = strlen(stem) + strlen(source->kind) + 8;
    char *name = io_alloc(size, 1);
    snprintf(name, size, "%s.%s.csv", stem, source->kind);
    char *folder = scene ? io_path_join(source->folder, scene) : NULL;
    char *path = io_path_join(folder && io_path_is_folder(folder) ? folder : source->folder, name);
    free(folder);
    free(name);
    free(stem);
    return path;
}

void ev_keypoint_options(const ev_keypoint_source *source, kb_detect_options *options)
{
    KB_INIT(*options);
    options->detector = source->detector;
    options->max_keypoints = source->max_keypoints;
    options->selection = source->selection;
    options->fast_threshold_min = source->fast_threshold_min;
    options->orientation = source->orientation;
    options->whole_pixels = source->whole_pixels;
}

static bool keypoints_detect(const ev_keypoint_source *source, const char *image_path, const kb_image *image,
                   int32_t max_keypoints, io_keypoints *out, io_error *error)
{
    kb_detect_options options;
    ev_keypoint_options(source, &options);
    if (max_keypoints) options.max_keypoints = max_keypoints;
    size_t capacity = (size_t)options.max_keypoints;
    out->items = io_alloc(capacity, sizeof *out->items);
    kb_error why;
    kb_features f = io_keypoints_view(out->items, capacity);
    kb_status status = kb_detect(image, &options, NULL, &f, &why);
    out->count = f.n;
    if (status == KB_OK) {
        out->items = io_grow(out->items, out->count + 1, sizeof *out->items);
        return true;
    }
    io_keypoints_free(out);
    return io_fail(error, "%s: detecting: %s", image_path, why.text);
}

static bool keypoints_orient(const ev_keypoint_source *source, const char *image_path, const kb_image *image,
                             io_keypoints *keypoints, io_error *error)
{
    kb_orient_options options;
    if (source->orientation == KB_ORIENTATION_DEFAULT) return true;
    KB_INIT(options);
    options.orientation = source->orientation;
    options.scale = source->scale;
    kb_features f = io_features_view(keypoints, NULL);
    kb_error why;
    if (kb_orient(image, &options, NULL, &f, NULL, &why) == KB_OK) return true;
    io_keypoints_free(keypoints);
    return io_fail(error, "%s: angles: %s", image_path, why.text);
}

bool ev_keypoints_load(const ev_keypoint_source *source, const char *scene, const char *image_path,
                       const kb_image *image, int32_t max_keypoints, io_keypoints *out, io_error *error)
{
    if (!source->folder) return keypoints_detect(source, image_path, image, max_keypoints, out, error);
    char *path = ev_keypoint_path(source, scene, image_path);
    bool good = io_keypoints_read(path, out, error);
    free(path);
    return good && keypoints_orient(source, image_path, image, out, error);
}
