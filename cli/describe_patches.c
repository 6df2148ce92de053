/* keybits describe --patches: every patch of a mosaic, or of an array, is one row. */
#include <stdlib.h>
#include <string.h>

#include "describe.h"
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

/* Patches are isolated: each is cut out of the mosaic before anything looks at it. */
static void cut(const io_image *mosaic, patch_set *out)
{
    size_t side = (size_t)out->side, width = (size_t)mosaic->width;
    size_t across = width / side;
    uint8_t *to = out->data;
    for (size_t i = 0; i < out->count; i++) {
        const uint8_t *from = mosaic->pixels + i / across * side * width + i % across * side;
        for (size_t y = 0; y < side; y++, to += side) memcpy(to, from + y * width, side);
    }
}

static bool from_mosaic(const char *path, const describe_options *options, patch_set *out, io_error *error)
{
    io_image mosaic;
    io_read_options reading = options->reading;
    reading.keep16 = false;
    if (!io_image_read(path, &reading, &mosaic, error)) return false;
    int32_t side = options->side ? options->side : mosaic.width;
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
        cut(&mosaic, out);
    }
    io_image_free(&mosaic);
    return ok;
}

static kb_status compute(const cli_common *common, const describe_options *options, const patch_set *patches,
                         describe_rows *rows)
{
    kb_describe_options o;
    KB_INIT(o);
    o.parallel = common->parallel;
    if (options->floats) {
        return kb_describe_patches_float(options->model, patches->data, patches->count, patches->side, &o, NULL,
                                         rows->floats);
    }
    return kb_describe_patches(options->model, patches->data, patches->count, patches->side, &o, NULL, rows->bytes);
}

static void report(const cli_common *common, const describe_options *options, const patch_set *patches)
{
    cli_say(common, "%s: %zu patches of %d x %d px, %s", options->patches, patches->count, (int)patches->side,
            (int)patches->side, options->info.spec->name);
    if (!common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "model", options->info.spec->name);
    io_json_string(&json, "patches", options->patches);
    io_json_integer(&json, "count", (int64_t)patches->count);
    io_json_integer(&json, "side", patches->side);
    io_json_string(&json, "output", options->output);
    io_json_end(&json);
}

int describe_patches(const cli_common *common, const describe_options *options)
{
    io_error error;
    patch_set patches = {0};
    io_names inputs = {0}, outputs = {0};
    describe_rows rows = {0};
    io_names_add(&inputs, options->patches);
    bool ok = !options->output || io_names_outputs(&outputs, &inputs, options->output, options->suffix, &error);
    ok =
        ok && (io_path_has_suffix(options->patches, ".npy") ? from_array(options->patches, &patches, &error)
                                                            : from_mosaic(options->patches, options, &patches, &error));
    if (ok) {
        describe_rows_create(&rows, options, patches.count);
        kb_status status = compute(common, options, &patches, &rows);
        if (status != KB_OK) ok = io_fail(&error, "%s: %s", options->patches, kb_status_string(status));
    }
    ok = ok && describe_rows_write(outputs.count ? outputs.items[0] : NULL, &rows, options, &error);
    if (ok) report(common, options, &patches);
    describe_rows_free(&rows);
    io_names_free(&inputs);
    io_names_free(&outputs);
    free(patches.data);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}
