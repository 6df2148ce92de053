/* SPDX-License-Identifier: Apache-2.0 */
/* Reading COLMAP's sparse models.
 *
 * Both forms hold the same numbers in the same order, so one parser serves both: it asks a source for the next integer,
 * number or name, and the source reads text or bytes. Text has the number of a list's items only by the end of the
 * line. */
#include "io/colmap_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"

typedef struct source {
    char *path;
    io_bytes bytes;
    const uint8_t *at, *end;
    bool binary, failed;
    size_t line;
    io_error *error;
} source;

static void wrong(source *s, const char *what)
{
    if (s->failed) return;
    s->failed = true;
    if (s->binary) io_fail(s->error, "%s: byte %zu: %s", s->path, (size_t)(s->at - s->bytes.data), what);
    else io_fail(s->error, "%s: line %zu: %s", s->path, s->line, what);
}

/* ---- bytes ---- */

static uint64_t take_bytes(source *s, int count)
{
    uint64_t v = 0;
    if (s->end - s->at < count) {
        wrong(s, "the file ends early");
        return 0;
    }
    for (int i = 0; i < count; i++) v |= (uint64_t)s->at[i] << (8 * i);
    s->at += count;
    return v;
}

/* ---- text ---- */

static void skip_spaces(source *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')) s->at++;
}

static bool at_line_end(source *s)
{
    skip_spaces(s);
    return s->at >= s->end || *s->at == '\n';
}

static void next_line(source *s)
{
    while (s->at < s->end && *s->at != '\n') s->at++;
    if (s->at < s->end) s->at++;
    s->line++;
}

/* To the next line that is not a comment. False at the end of the file. */
static bool find_record(source *s)
{
    while (s->at < s->end && (*s->at == '#' || at_line_end(s))) next_line(s);
    return s->at < s->end;
}

static double take_text(source *s)
{
    double v = 0;
    const char *after;
    if (at_line_end(s) || !io_number_parse((const char *)s->at, &after, &v)) wrong(s, "a number was expected");
    else s->at = (const uint8_t *)after;
    return v;
}

/* ---- either ---- */

static double take_number(source *s)
{
    if (!s->binary) return take_text(s);
    uint64_t bits = take_bytes(s, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A whole number that takes `bytes` in the binary form; -1 comes as all bits set. */
static uint64_t take_integer(source *s, int bytes)
{
    if (s->binary) return take_bytes(s, bytes);
    double v = take_text(s);
    if (v == -1) return UINT64_MAX;
    if (!(v >= 0 && v < 9007199254740992.0) || floor(v) != v) wrong(s, "a whole number was expected");
    return s->failed ? 0 : (uint64_t)v;
}

/* A name ends with a zero byte, or with the line. */
static char *take_name(source *s)
{
    if (!s->binary) skip_spaces(s);
    const uint8_t *from = s->at;
    while (s->at < s->end && (s->binary ? *s->at != 0 : *s->at != '\n')) s->at++;
    if (s->at == s->end && s->binary) wrong(s, "a name has no end");
    const uint8_t *last = s->at;
    while (!s->binary && last > from && (last[-1] == ' ' || last[-1] == '\r')) last--;
    char *name = io_alloc((size_t)(last - from) + 1, 1);
    memcpy(name, from, (size_t)(last - from));
    if (s->binary && s->at < s->end) s->at++;
    return name;
}

static bool open_source(source *s, const char *folder, const char *name, bool binary, io_error *error)
{
    *s = (source){.binary = binary, .line = 1, .error = error};
    char file[32];
    snprintf(file, sizeof file, "%s.%s", name, binary ? "bin" : "txt");
    s->path = io_path_join(folder, file);
    if (!io_file_read(s->path, &s->bytes, error)) {
        s->failed = true;
        return false;
    }
    s->at = s->bytes.data;
    s->end = s->at + s->bytes.size;
    return true;
}

static void close_source(source *s)
{
    free(s->path);
    io_bytes_free(&s->bytes);
}

/* Calls read for every record of a file; each has at least `least` bytes in the binary form. */
static bool read_records(const char *folder, const char *name, bool binary, void (*read)(source *, io_scene *),
                         io_scene *model, io_error *error)
{
    source s;
    if (open_source(&s, folder, name, binary, error)) {
        uint64_t count = binary ? take_bytes(&s, 8) : UINT64_MAX;
        for (uint64_t i = 0; i < count && !s.failed; i++) {
            if (!binary && !find_record(&s)) break;
            read(&s, model);
            if (binary || s.failed) continue;
            if (!at_line_end(&s)) wrong(&s, "more numbers than expected");
            next_line(&s);
        }
    }
    close_source(&s);
    return !s.failed;
}

/* One more item of a growing array whose room is always the next power of two. */
static void *more(void *items, size_t count, size_t size)
{
    return count & (count - 1) ? items : io_grow(items, count ? 2 * count : 1, size);
}

/* ---------------------------------------------------------------------------------------------------- the records */

/* By COLMAP's number: name, parameters, and whether x and y have a focal length each. */
static const struct lens {
    const char *name;
    int parameters;
    bool two_focal;
} lenses[] = {{"SIMPLE_PINHOLE", 3, false}, {"PINHOLE", 4, true}, {"SIMPLE_RADIAL", 4, false}, {"RADIAL", 5, false},
              {"OPENCV", 8, true}, {"OPENCV_FISHEYE", 8, true}, {"FULL_OPENCV", 12, true}, {"FOV", 5, true},
              {"SIMPLE_RADIAL_FISHEYE", 4, false}, {"RADIAL_FISHEYE", 5, false}, {"THIN_PRISM_FISHEYE", 12, true}};
#define LENSES (sizeof lenses / sizeof lenses[0])

static const struct lens *take_lens(source *s)
{
    size_t i = 0;
    if (s->binary) {
        i = (size_t)take_bytes(s, 4);
    } else {
        skip_spaces(s);
        size_t length = strcspn((const char *)s->at, " \t\r\n");
        while (i < LENSES && (strlen(lenses[i].name) != length || memcmp(lenses[i].name, s->at, length) != 0)) i++;
        s->at += length;
    }
    if (i < LENSES) return &lenses[i];
    wrong(s, "an unknown camera model");
    return &lenses[0];
}

kb_camera io_lens_camera(int which, const double *p)
{
    kb_camera c = {0};
    if (which < 0 || which > 5) return c;
    const struct lens *lens = &lenses[which];
    const double *rest = p + (lens->two_focal ? 4 : 3);
    KB_INIT(c);
    c.fx = p[0];
    c.fy = lens->two_focal ? p[1] : p[0];
    c.cx = rest[-2] - 0.5;
    c.cy = rest[-1] - 0.5;
    c.k1 = which >= 2 ? rest[0] : 0;
    c.k2 = which >= 3 ? rest[1] : 0;
    if (which == 4) c.p1 = rest[2], c.p2 = rest[3];
    if (which == 5) c.fisheye = 1, c.k3 = rest[2], c.k4 = rest[3];
    return c;
}

static void read_camera(source *s, io_scene *model)
{
    io_scene_camera camera = {.id = (uint32_t)take_integer(s, 4)};
    const struct lens *lens = take_lens(s);
    uint64_t width = take_integer(s, 8), height = take_integer(s, 8);
    double p[12] = {0};
    for (int i = 0; i < lens->parameters; i++) p[i] = take_number(s);
    int centre = lens->two_focal ? 2 : 1;
    camera.focal = lens->two_focal ? (p[0] + p[1]) / 2 : p[0];
    camera.lens = io_lens_camera((int)(lens - lenses), p);
    camera.cx = p[centre] - 0.5;
    camera.cy = p[centre + 1] - 0.5;
    if (!s->failed && (width < 1 || height < 1 || width > 65535 || height > 65535 || !(camera.focal > 0))) {
        wrong(s, "a camera without a sensible size or focal length");
    }
    camera.width = (int32_t)width;
    camera.height = (int32_t)height;
    model->cameras = more(model->cameras, model->camera_count, sizeof camera);
    model->cameras[model->camera_count++] = camera;
}

/* The rotation of a quaternion (w, x, y, z), which need not have length 1. */
static void quaternion_matrix(const double q[4], double r[9])
{
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], s = n > 0 ? 2 / n : 0;
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
                         s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),
                         s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)};
    memcpy(r, m, sizeof m);
}

static io_scene_feature take_feature(source *s)
{
    io_scene_feature f;
    f.x = take_number(s) - 0.5;
    f.y = take_number(s) - 0.5;
    f.point = take_integer(s, 8);
    return f;
}

static void read_features(source *s, io_scene_image *image)
{
    uint64_t count = s->binary ? take_bytes(s, 8) : UINT64_MAX;
    if (s->binary && count > (uint64_t)(s->end - s->at) / 24) wrong(s, "more keypoints than the file holds");
    for (uint64_t i = 0; i < count && !s->failed; i++) {
        if (!s->binary && at_line_end(s)) break;
        image->features = more(image->features, image->feature_count, sizeof *image->features);
        image->features[image->feature_count++] = take_feature(s);
    }
}

static void read_image(source *s, io_scene *model)
{
    io_scene_image image = {.id = (uint32_t)take_integer(s, 4)};
    double q[4];
    for (int i = 0; i < 4; i++) q[i] = take_number(s);
    for (int i = 0; i < 3; i++) image.translation[i] = take_number(s);
    uint32_t camera_id = (uint32_t)take_integer(s, 4);
    quaternion_matrix(q, image.rotation);
    image.name = take_name(s);
    if (!s->binary) next_line(s);
    read_features(s, &image);
    while (image.camera < model->camera_count && model->cameras[image.camera].id != camera_id) image.camera++;
    if (image.camera == model->camera_count) wrong(s, "an image of a camera that is not there");
    model->images = more(model->images, model->image_count, sizeof image);
    model->images[model->image_count++] = image;
}

static void read_point(source *s, io_scene *model)
{
    io_scene_point point = {.id = take_integer(s, 8)};
    for (int i = 0; i < 3; i++) point.position[i] = take_number(s);
    for (int i = 0; i < 3; i++) take_integer(s, 1); /* colour */
    point.error = take_number(s);
    if (s->binary) { /* the track says again what the images say */
        uint64_t track = take_bytes(s, 8);
        if (track > (uint64_t)(s->end - s->at) / 8) wrong(s, "a track that is longer than the file");
        else s->at += 8 * track;
    } else {
        while (!at_line_end(s) && !s->failed) take_integer(s, 4);
    }
    model->points = more(model->points, model->point_count, sizeof point);
    model->points[model->point_count++] = point;
}

/* ------------------------------------------------------------------------------------------------------ the model */

static int compare_images(const void *left, const void *right)
{
    return strcmp(((const io_scene_image *)left)->name, ((const io_scene_image *)right)->name);
}

static int compare_points(const void *left, const void *right)
{
    const io_scene_point *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool holds(const char *folder, const char *name)
{
    char *path = io_path_join(folder, name);
    bool there = io_path_exists(path);
    free(path);
    return there;
}

bool io_colmap_model_read(const char *folder, io_scene *out, io_error *error)
{
    *out = (io_scene){0};
    bool binary = holds(folder, "images.bin");
    if (!binary && !holds(folder, "images.txt")) {
        return io_fail(error, "%s: no sparse model of COLMAP: neither images.bin nor images.txt", folder);
    }
    bool ok = read_records(folder, "cameras", binary, read_camera, out, error) &&
              read_records(folder, "images", binary, read_image, out, error) &&
              read_records(folder, "points3D", binary, read_point, out, error);
    if (ok && (out->image_count < 2 || out->point_count == 0))
        ok = io_fail(error, "%s: the model has no points or less than two images", folder);
    if (!ok) {
        io_scene_free(out);
        return false;
    }
    qsort(out->images, out->image_count, sizeof *out->images, compare_images);
    qsort(out->points, out->point_count, sizeof *out->points, compare_points);
    return true;
}
