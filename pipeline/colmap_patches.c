/* SPDX-License-Identifier: Apache-2.0 */
/* What pipeline/multiview.h asks for, out of files. */
#include "pipeline/colmap_patches.h"

#include <stdlib.h>

#include "io/colmap_db.h"
#include "io/image_io.h"

typedef struct conversion {
    const io_scene *scene;
    const colmap_patches_options *options;
    io_patch_writer *const *writers;
    void (*warn)(void *, const char *);
    void (*tick)(void *, size_t);
    void *context;
    io_image image;         /* the one that was read last */
    kb_keypoint *keypoints; /* the same */
    io_error error;         /* of reading keypoints */
} conversion;

void colmap_patches_defaults(colmap_patches_options *options)
{
    *options = (colmap_patches_options){0};
    multiview_defaults(&options->multiview);
}

static bool read_image(void *context, size_t index, kb_image *out)
{
    conversion *c = context;
    const io_scene_image *image = &c->scene->images[index];
    const io_scene_camera *camera = &c->scene->cameras[image->camera];
    char *path = io_path_join(c->options->images, image->name);
    io_error error;
    io_image_free(&c->image);
    bool ok = io_path_never_waits(path, &error) && io_image_read(path, NULL, &c->image, &error);
    if (ok && (c->image.width != camera->width || c->image.height != camera->height))
        ok = io_fail(&error, "%s: %d x %d pixels, but its camera has %d x %d", path, (int)c->image.width,
                     (int)c->image.height, (int)camera->width, (int)camera->height);
    if (ok) *out = c->image.view;
    else if (c->warn) c->warn(c->context, error.text);
    free(path);
    return ok;
}

static kb_status read_keypoints(void *context, size_t index, const kb_keypoint **keypoints, kb_error *error)
{
    (void)error; /* a sentence may be longer than kb_error's */
    conversion *c = context;
    const io_scene_image *image = &c->scene->images[index];
    size_t count = 0;
    free(c->keypoints);
    bool ok = io_colmap_db_keypoints(c->options->database, image->id, &c->keypoints, &count, &c->error);
    if (ok && count != image->feature_count)
        ok = io_fail(&c->error, "%s: %zu keypoints of %s, but the model has %zu", c->options->database, count,
                     image->name, image->feature_count);
    *keypoints = c->keypoints;
    return ok ? KB_OK : KB_E_FORMAT;
}

static void write_patch(void *context, int32_t support, uint32_t label, uint32_t view, const uint8_t *pixels)
{
    io_patch_writer_add(((conversion *)context)->writers[support], label, view, pixels);
}

static void report_step(void *context, size_t done)
{
    conversion *c = context;
    if (c->tick) c->tick(c->context, done);
}

bool colmap_patches(const io_scene *scene, const colmap_patches_options *options, int32_t supports,
                       const float *support, io_patch_writer *const *writers, void (*warn)(void *, const char *),
                       void (*tick)(void *, size_t), void *context, multiview_report *report, io_error *error)
{
    conversion c = {.scene = scene, .options = options, .writers = writers, .warn = warn, .tick = tick,
                    .context = context};
    multiview_options o = options->multiview;
    kb_error problem = {.text = ""};
    o.read_image = read_image;
    o.read_keypoints = options->database ? read_keypoints : NULL;
    o.write_patch = write_patch;
    o.report = report_step;
    o.context = &c;
    o.supports = supports;
    o.support = support;
    kb_status status = multiview_patches(scene, &o, report, &problem);
    io_image_free(&c.image);
    free(c.keypoints);
    return status == KB_OK || io_fail(error, "%s", *c.error.text ? c.error.text : problem.text);
}
