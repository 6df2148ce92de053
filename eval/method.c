/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/hash.h"
#include "eval/peers.h"
#include "io/features.h"

void ev_method_of_model(ev_method *method, const char *name, kb_model *model)
{
    kb_model_info info;
    KB_INIT(info);
    memset(method, 0, sizeof *method);
    method->name = io_copy_string(name);
    method->model = model;
    if (kb_model_get_info(model, &info) == KB_OK) {
        /* The id of a model names its bits on a patch; the support decides which patch. */
        method->id = kbi_sum_bytes(info.id, &info.spec->support, sizeof info.spec->support);
    }
}

bool ev_method_of_peer(ev_method *method, const char *name, io_error *error)
{
    memset(method, 0, sizeof *method);
    method->peer = ev_peer_find(name, error);
    if (!method->peer) return false;
    method->name = io_copy_string(name);
    method->id = ev_hash_string(ev_hash_string(KBI_SUM_START, name), ev_peers_version());
    return true;
}

bool ev_method_of_file(ev_method *method, const char *path, io_error *error)
{
    memset(method, 0, sizeof *method);
    if (!io_rows_read(path, &method->file, error)) return false;
    size_t values = method->file.count * method->file.width;
    method->id = method->file.bytes ? kbi_sum_bytes(KBI_SUM_START, method->file.bytes, values)
                                    : kbi_sum_bytes(KBI_SUM_START, method->file.floats, values * sizeof(float));
    method->name = io_copy_string(path);
    return true;
}

void ev_method_free(ev_method *method)
{
    free(method->name);
    kb_model_free(method->model);
    io_rows_free(&method->file);
    memset(method, 0, sizeof *method);
}

bool ev_method_take(ev_method *method, size_t n, io_rows *out, io_error *error)
{
    const io_rows *file = &method->file;
    if (method->file_at + n > file->count)
        return io_fail(error, "%s: holds %zu rows, but the benchmark has more keypoints or patches than that",
                       method->name, file->count);
    size_t first = method->file_at * file->width, values = n * file->width;
    *out = (io_rows){NULL, NULL, n, file->width};
    if (file->bytes) {
        out->bytes = io_alloc(values + 1, 1);
        memcpy(out->bytes, file->bytes + first, values);
    } else {
        out->floats = io_alloc(values + 1, sizeof(float));
        memcpy(out->floats, file->floats + first, values * sizeof(float));
    }
    method->file_at += n;
    return true;
}

bool ev_method_finish(const ev_method *method, io_error *error)
{
    if (!ev_method_is_file(method) || method->file_at == method->file.count) return true;
    return io_fail(error, "%s: holds %zu rows, but the benchmark has only %zu keypoints or patches", method->name,
                   method->file.count, method->file_at);
}

/* Room for n rows of the model: floats where it gives floats, bytes otherwise. */
static void rows_of_model(const kb_model *model, size_t n, io_rows *out)
{
    kb_model_info info;
    KB_INIT(info);
    kb_model_get_info(model, &info);
    bool floats = info.row_floats > 0;
    *out = (io_rows){NULL, NULL, n, (size_t)(floats ? info.row_floats : info.row_bytes)};
    if (floats) out->floats = io_alloc(n * out->width + 1, sizeof(float));
    else out->bytes = io_alloc(n * out->width + 1, 1);
}

static bool method_settle(kb_status status, const ev_method *method, io_rows *out, io_error *error)
{
    if (status == KB_OK) return true;
    io_rows_free(out);
    return io_fail(error, "%s: %s", method->name, kb_status_string(status));
}

bool ev_method_describe(const ev_method *method, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                        const char *preset, io_rows *out, io_error *error)
{
    if (method->peer)
        return ev_peer_describe(method->peer, image, keypoints, n, kb_model_scale(NULL, preset), out, error);
    kb_describe_options options;
    KB_INIT(options);
    options.scale = kb_model_scale(method->model, preset);
    rows_of_model(method->model, n, out);
    kb_features f = io_features_view(NULL, out);
    f.keypoints = (kb_keypoint *)(uintptr_t)keypoints;
    return method_settle(kb_describe(method->model, image, &options, NULL, &f, NULL), method, out, error);
}

bool ev_method_describe_patches(const ev_method *method, const uint8_t *patches, size_t n, int32_t side,
                                const kb_parallel *parallel, io_rows *out, io_error *error)
{
    if (method->peer) return ev_peer_describe_patches(method->peer, patches, n, side, out, error);
    kb_describe_options options;
    KB_INIT(options);
    options.parallel = parallel;
    rows_of_model(method->model, n, out);
    kb_features f = io_features_view(NULL, out);
    kb_status status = kb_describe_patches(method->model, patches, side, &options, NULL, &f, NULL);
    return method_settle(status, method, out, error);
}

bool ev_rows_match(const io_rows *a, const io_rows *b, bool mutual, float max_ratio, const kb_parallel *parallel,
                   kb_match *matches, size_t *count, io_error *error)
{
    kb_match_options options;
    KB_INIT(options);
    options.one_way = !mutual;
    options.max_ratio = max_ratio;
    options.parallel = parallel;
    kb_features fa = io_features_view(NULL, a), fb = io_features_view(NULL, b);
    kb_error why;
    kb_status status = kb_match_features(&fa, &fb, &options, NULL, matches, count, &why);
    return status == KB_OK || io_fail(error, "matching: %s", why.text);
}

double ev_rows_distance(const io_rows *a, size_t i, const io_rows *b, size_t j)
{
    if (a->bytes) return kb_hamming(a->bytes + i * a->width, b->bytes + j * b->width, a->width);
    const float *x = a->floats + i * a->width, *y = b->floats + j * b->width;
    double sum = 0;
    for (size_t k = 0; k < a->width; k++) sum += ((double)x[k] - y[k]) * ((double)x[k] - y[k]);
    return sqrt(sum);
}
