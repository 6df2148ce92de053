/* SPDX-License-Identifier: Apache-2.0 */
/* keybits describe --patches: every patch of a mosaic, or of an array, is one row. */
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "io/features.h"
#include "io/json.h"
#include "io/npy.h"

typedef struct patch_set {
    uint8_t *data; /* one patch after the other */
    size_t count;
    int32_t side;
} patch_set;

static bool from_array(const char *path, patch_set *out, io_error *error)
{
    io_array array;
    if (!io_npy_read(path, &array, error)) return false;
    if (array.type != IO_U8 || array.dimensions != 3 || array.shape[1] != array.shape[2] || array.shape[1] < 32 ||
        array.shape[1] > 1024) {
        io_array_free(&array);
        return io_fail(error, "%s: patches are an N x S x S array of u8 with S from 32 to 1024", path);
    }
    *out = (patch_set){array.data, array.shape[0], (int32_t)array.shape[1]};
    return true;
}

/* Patches are isolated: each is copied out of the mosaic before anything looks at it. */
static void separate_patches(const io_image *mosaic, patch_set *out)
{
    size_t side = (size_t)out->side, width = (size_t)mosaic->width;
    size_t across = width / side;
    uint8_t *to = out->data;
    for (size_t i = 0; i < out->count; i++) {
        const uint8_t *from = mosaic->pixels + i / across * side * width + i % across * side;
        for (size_t y = 0; y < side; y++, to += side) memcpy(to, from + y * width, side);
    }
}

static bool from_mosaic(const char *path, const describe_job *job, patch_set *out, io_error *error)
{
    io_image mosaic;
    io_read_options reading = job->reading;
    reading.keep16 = false;
    if (!io_image_read(path, &reading, &mosaic, error)) return false;
    int32_t side = job->side ? job->side : mosaic.width;
    bool ok = true;
    if (side < 32 || side > 1024) {
        ok = io_fail(error, "%s: a patch would be %d px wide; --side says how wide a patch is, 32 to 1024", path,
                     (int)side);
    } else if (mosaic.width % side || mosaic.height % side) {
        ok = io_fail(error, "%s: %d x %d px are not whole patches of %d px", path, (int)mosaic.width,
                     (int)mosaic.height, (int)side);
    } else {
        size_t count = (size_t)(mosaic.width / side) * (size_t)(mosaic.height / side);
        *out = (patch_set){io_alloc(count, (size_t)side * (size_t)side), count, side};
        separate_patches(&mosaic, out);
    }
    io_image_free(&mosaic);
    return ok;
}

static bool describe_rows(const cli_common *common, const describe_job *job, const patch_set *patches, io_rows *rows,
                          io_error *error)
{
    const pipeline *p = &job->pipeline.pipeline;
    kb_describe_options o;
    KB_INIT(o);
    o.parallel = common->parallel;
    *rows = (io_rows){NULL, NULL, patches->count, (size_t)(job->floats ? p->info.row_floats : p->info.row_bytes)};
    if (job->floats) rows->floats = io_alloc(rows->count * rows->width, sizeof(float));
    else rows->bytes = io_alloc(rows->count, rows->width);
    kb_features f = io_features_view(NULL, rows);
    kb_error why;
    kb_status status = kb_describe_patches(p->model, patches->data, patches->side, &o, NULL, &f, &why);
    return status == KB_OK || io_fail(error, "%s: %s", job->patches, why.text);
}

static void report_patches(const cli_common *common, const describe_job *job, const patch_set *patches)
{
    const char *model = job->pipeline.pipeline.info.spec->name;
    cli_say(common, "%s: %zu patches of %d x %d px, %s", job->patches, patches->count, (int)patches->side,
            (int)patches->side, model);
    if (!common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "model", model);
    io_json_string(&json, "patches", job->patches);
    io_json_integer(&json, "count", (int64_t)patches->count);
    io_json_integer(&json, "side", patches->side);
    io_json_string(&json, "output", job->output);
    io_json_end(&json);
}

int describe_patches(cli_common *common, describe_job *job)
{
    io_error error;
    patch_set patches = {0};
    io_names inputs = {0}, outputs = {0};
    io_rows rows = {0};
    io_names_add(&inputs, job->patches);
    bool ok = cli_claim_outputs(common, &inputs, job->output, describe_suffix(job), &outputs, &error) &&
              (io_path_has_suffix(job->patches, ".npy") ? from_array(job->patches, &patches, &error)
                                                        : from_mosaic(job->patches, job, &patches, &error)) &&
              describe_rows(common, job, &patches, &rows, &error) &&
              io_rows_write(outputs.count ? outputs.items[0] : NULL, &rows, &error);
    if (ok) report_patches(common, job, &patches);
    io_rows_free(&rows);
    io_names_free(&inputs);
    io_names_free(&outputs);
    free(patches.data);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}
