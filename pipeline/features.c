/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"

void features_free(features *f)
{
    io_keypoints_free(&f->keypoints);
    io_rows_free(&f->rows);
    free(f->flags);
    free(f->upright_rows);
    free(f->patches);
    memset(f, 0, sizeof *f);
}

kb_features features_view(const features *f)
{
    bool described = f->rows.bytes || f->rows.floats;
    kb_features view = io_features_view(&f->keypoints, described ? &f->rows : NULL);
    view.flags = f->flags;
    view.model_id = f->model_id;
    view.width = f->width;
    view.height = f->height;
    view.detector = f->detector;
    view.revision = f->revision;
    view.upright = f->upright;
    view.max_size = f->max_size;
    return view;
}

void features_to_file(features *f, const io_grid *file)
{
    f->width = file->width;
    f->height = file->height;
    if (file->step_x == 1 && file->step_y == 1) return;
    for (size_t i = 0; i < f->keypoints.count; i++) {
        kb_keypoint *k = &f->keypoints.items[i];
        double x = (double)k->x, y = (double)k->y;
        io_grid_to_file(file, &x, &y);
        k->x = (float)x, k->y = (float)y;
        k->size = (float)((double)k->size * (file->step_x + file->step_y) / 2);
    }
}

bool features_write_deviations(const features *f, const io_image *image, const kb_parallel *parallel,
                               kb_workspace *workspace, const char *path, io_error *error)
{
    size_t count = f->keypoints.count;
    float *sigma = io_alloc(count, sizeof *sigma);
    kb_features view = io_features_view(&f->keypoints, NULL);
    view.detector = f->detector;
    kb_error why;
    kb_status status = kb_keypoint_deviations(&image->view, &view, parallel, workspace, sigma, &why);
    for (size_t i = 0; i < count && status == KB_OK; i++)
        sigma[i] *= (float)((image->file.step_x + image->file.step_y) / 2);
    bool ok = status == KB_OK ? io_npy_write(path, IO_F32, 1, &count, sigma, error)
                              : io_fail(error, "%s: %s", path, why.text);
    free(sigma);
    return ok;
}

bool features_is_rows_file(const char *path)
{
    return io_path_has_suffix(path, ".npy") || io_path_has_suffix(path, ".hex");
}

bool features_read(const char *rows, const char *keypoints, features *out, io_error *error)
{
    memset(out, 0, sizeof *out);
    if (!io_rows_read(rows, &out->rows, error) || !io_keypoints_read(keypoints, &out->keypoints, error)) {
        features_free(out);
        return false;
    }
    if (out->rows.count == out->keypoints.count) return true;
    io_fail(error, "%s holds %zu rows, but %s %zu keypoints", rows, out->rows.count, keypoints, out->keypoints.count);
    features_free(out);
    return false;
}

bool features_comparable(const features *a, const features *b, const char *name_a, const char *name_b, io_error *error)
{
    const io_rows *x = &a->rows, *y = &b->rows;
    if (x->width != y->width || !x->bytes != !y->bytes)
        return io_fail(error, "rows of %s have %zu %s, those of %s %zu %s: they cannot be compared", name_a, x->width,
                       x->bytes ? "bytes" : "floats", name_b, y->width, y->bytes ? "bytes" : "floats");
    if (a->model_id && b->model_id && a->model_id != b->model_id)
        return io_fail(error, "%s and %s were described by different models", name_a, name_b);
    if (!a->detector || !b->detector) return true;
    char text[2][FEATURES_ORIGIN];
    features_origin(a, text[0]);
    features_origin(b, text[1]);
    return strcmp(text[0], text[1]) == 0 ||
           io_fail(error, "keypoints of %s (%s) cannot be mixed with those of %s (%s)", name_a, text[0], name_b, text[1]);
}

void features_origin(const features *f, char text[FEATURES_ORIGIN])
{
    char limit[32] = "";
    if (f->max_size) snprintf(limit, sizeof limit, ", up to %d px", (int)f->max_size);
    snprintf(text, FEATURES_ORIGIN, "%s %d, %s%s", features_detector_name(f->detector), (int)f->revision,
             f->upright ? "upright" : "oriented", limit);
}

const char *features_detector_name(kb_detector detector)
{
    const char *name = kb_name(KB_NAMES_DETECTOR, detector);
    return name ? name : "an unknown detector";
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

features_fit features_measure(const features *f, const kb_model *model, float scale)
{
    size_t n = f->keypoints.count, described = 0;
    kb_model_info info;
    KB_INIT(info);
    bool octaves = kb_model_get_info(model, &info) == KB_OK && info.spec->sampler == KB_SAMPLER_OCTAVES;
    float support = info.spec ? info.spec->support : 1;
    double times = octaves ? 4 : 1, half = 0.5 * (f->width < f->height ? f->width : f->height);
    features_fit fit = {.keypoints = n, .median_width = NAN, .least_width = times * (double)KB_SMALL_PATCH,
                        .most_width = half > 0 ? times * half : (double)INFINITY};
    float *widths = io_alloc(n, sizeof *widths);
    for (size_t i = 0; i < n; i++) {
        uint8_t flags = f->flags ? f->flags[i] : 0;
        fit.border += (flags & KB_KP_BORDER) != 0;
        fit.small += (flags & KB_KP_SMALL) != 0;
        fit.outside += (flags & KB_KP_OUTSIDE) != 0;
        fit.invalid += (flags & KB_KP_INVALID) != 0;
        if (flags & KB_KP_INVALID) continue;
        float width = scale * f->keypoints.items[i].size * support;
        fit.large += (double)width > fit.most_width;
        fit.small += !f->flags && (double)width < fit.least_width;
        widths[described++] = width;
    }
    qsort(widths, described, sizeof *widths, compare_floats);
    if (described) fit.median_width = (double)widths[described / 2];
    free(widths);
    return fit;
}
