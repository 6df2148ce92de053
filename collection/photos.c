/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and describing many photographs on all threads. */
#include "collection/photos.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/patch_sheet.h"

#define BATCH 32 /* images whose features are held at once */

bool photos_progress(const photos_host *host, const char *step, size_t done, size_t total, io_error *error)
{
    return !host->progress || host->progress(host->context, step, done, total) || io_fail(error, "%s: cancelled", step);
}

void photos_warn(const photos_host *host, const char *format, ...)
{
    if (!host->warn) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = io_alloc((size_t)(length > 0 ? length : 0) + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)(length > 0 ? length : 0) + 1, format, arguments);
    va_end(arguments);
    host->warn(host->context, text);
    free(text);
}

typedef struct batch {
    const pipeline *p;
    const io_read_options *reading;
    const io_names *images;
    size_t first;
    features features[BATCH];
    io_error errors[BATCH];
    bool good[BATCH];
} batch;

bool photos_describe_one(const pipeline *p, const io_read_options *reading, const char *path, features *out,
                         io_error *error)
{
    io_image image;
    memset(out, 0, sizeof *out);
    if (!io_image_read(path, reading, &image, error)) return false;
    bool ok = pipeline_describe_alone(p, path, &image.view, false, out, error);
    if (ok && p->options.patches) ok = (out->patches = patch_sheet_make(p, &image.view, out, error)) != NULL;
    features_to_file(out, &image.file);
    out->max_size = reading->max_size;
    if (!io_image_focal(path, &out->focal)) out->focal = 0;
    io_image_free(&image);
    if (!ok) features_free(out);
    return ok;
}

double photos_step(int32_t width, int32_t height, int32_t max_size)
{
    int32_t longer = width > height ? width : height;
    return max_size > 0 && longer > max_size ? (double)longer / max_size : 1;
}

static void batch_task(void *context, int32_t i)
{
    batch *b = context;
    b->good[i] = photos_describe_one(b->p, b->reading, b->images->items[b->first + (size_t)i], &b->features[i],
                                     &b->errors[i]);
}

static bool batch_take(batch *b, size_t count, photos_take take, void *context)
{
    bool going = true;
    for (size_t i = 0; i < count; i++) {
        if (going) going = take(context, b->first + i, b->good[i] ? &b->features[i] : NULL, b->errors[i].text);
        if (b->good[i]) features_free(&b->features[i]);
    }
    return going;
}

bool photos_describe(const pipeline *p, const io_read_options *reading, const io_names *images, const photos_host *host,
                     const char *step, photos_take take, void *context, io_error *error)
{
    batch *b = io_alloc(1, sizeof *b);
    bool going = true;
    b->p = p;
    b->reading = reading;
    b->images = images;
    for (; going && b->first < images->count; b->first += BATCH) {
        size_t left = images->count - b->first, count = left < BATCH ? left : BATCH;
        going = photos_progress(host, step, b->first, images->count, error);
        if (!going) break;
        if (p->parallel && p->parallel->threads > 1) p->parallel->run(p->parallel->self, (int32_t)count, batch_task, b);
        else
            for (size_t i = 0; i < count; i++) batch_task(b, (int32_t)i);
        going = batch_take(b, count, take, context) || io_fail(error, "%s: stopped", step);
    }
    free(b);
    return going && photos_progress(host, step, images->count, images->count, error);
}
