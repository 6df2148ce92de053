/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of collection.h for localisation. */
#include <stdlib.h>
#include <string.h>

#include "collection/localize.h"
#include "collection/public.h"
#include "pipeline/models.h"

/* A pipeline with all that it borrows. */
typedef struct engine {
    kb_parallel *pool;
    kb_model *model;
    pipeline pipeline;
} engine;

static bool engine_start(engine *e, const char *model, const pipeline_options *options, int32_t threads, io_error *error)
{
    if (kb_pool_create(threads, NULL, &e->pool) != KB_OK)
        return io_fail(error, "threads is %d: no pool of so many", threads);
    if (!models_open(model, &e->model, error) ||
        !pipeline_open(&e->pipeline, options, e->model, e->pool, error))
        return false;
    return e->pipeline.info.row_floats == 0 || io_fail(error, "model: maps need binary descriptors");
}

static void engine_stop(engine *e)
{
    pipeline_close(&e->pipeline);
    kb_model_free(e->model);
    kb_pool_free(e->pool);
}

/* ---- building ---- */

static bool build_progress(void *context, const char *step, size_t so_far, size_t total)
{
    const kb_localizer_map_options *o = context;
    return !o->progress || o->progress(o->context, step, so_far, total) != 0;
}

static void build_warn(void *context, const char *sentence)
{
    const kb_localizer_map_options *o = context;
    if (o->warn) o->warn(o->context, sentence);
}

static bool build_map(kb_localizer_map_options *o, const char *model, const char *images, const char *output,
                      map_counts *counts, io_error *error)
{
    engine e = {0};
    pipeline_options p;
    pipeline_options_init(&p);
    p.detect.detector = o->detector;
    p.detect.max_keypoints = o->max_keypoints ? o->max_keypoints : 2000;
    const io_read_options reading = {.keep16 = true, .max_size = o->max_size < 0 ? 0 : o->max_size ? o->max_size : 3200};
    const photos_host host = {build_progress, build_warn, o};
    kb_error why;
    bool ok = (kb_detect(NULL, &p.detect, NULL, NULL, &why) == KB_OK || io_fail(error, "%s", why.text)) &&
              engine_start(&e, o->model ? o->model : models_default(), &p, o->threads, error) &&
              map_build(&e.pipeline, &reading, model, images, o->vocabulary, &host, output, counts, error);
    engine_stop(&e);
    return ok;
}

kb_status kb_localizer_build(const char *colmap_model, const char *images, const kb_localizer_map_options *options,
                             const char *output, kb_localizer_map_counts *counts, kb_error *error)
{
    kb_localizer_map_options o;
    map_counts n;
    io_error why;
    if (!colmap_model || !images || !output) return KB_E_ARGUMENT;
    if (counts && KBI_STRUCT_CHECK(kb_localizer_map_counts, counts) != KB_OK) return KB_E_STRUCT;
    kb_status status = KBI_STRUCT_READ(kb_localizer_map_options, &o, options);
    if (status != KB_OK) return status;
    if (!build_map(&o, colmap_model, images, output, &n, &why)) return public_done(false, &why, error);
    const kb_localizer_map_counts full = {sizeof full, n.images, n.failed, n.keypoints, n.pairs, n.rows, n.points, n.rms};
    if (counts) KBI_STRUCT_WRITE(kb_localizer_map_counts, counts, &full);
    return KB_OK;
}

/* ---- finding ---- */

struct kb_localizer {
    map map;
    engine engine;
    io_read_options reading;
};

static bool localizer_start(kb_localizer *l, const char *path, int32_t threads, io_error *error)
{
    pipeline_options p;
    const char *model = NULL;
    pipeline_options_init(&p);
    l->reading.keep16 = true;
    if (!map_open(path, &l->map, error) || !localize_settings(&l->map, &model, &p, &l->reading, error) ||
        !engine_start(&l->engine, model, &p, threads, error))
        return false;
    return l->engine.pipeline.info.id == l->map.info.model_id ||
           io_fail(error, "%s: made with another model than the built-in %s", path, model);
}

kb_status kb_localizer_open(const char *path, int32_t threads, kb_localizer **out, kb_error *error)
{
    io_error why;
    if (!path || !out) return KB_E_ARGUMENT;
    *out = NULL;
    kb_localizer *l = io_alloc(1, sizeof *l);
    if (localizer_start(l, path, threads, &why)) {
        *out = l;
        return KB_OK;
    }
    kb_localizer_free(l);
    return public_done(false, &why, error);
}

void kb_localizer_free(kb_localizer *l)
{
    if (!l) return;
    engine_stop(&l->engine);
    map_close(&l->map);
    free(l);
}

size_t kb_localizer_count(const kb_localizer *l) { return l ? l->map.image_count : 0; }

const char *kb_localizer_name(const kb_localizer *l, size_t image)
{
    return image < kb_localizer_count(l) ? l->map.images[image].name : NULL;
}

static kb_location location_of(const localize_result *r)
{
    kb_location full = {.struct_size = sizeof full, .found = r->found, .sigma_position = r->sigma_position,
                        .sigma_rotation = r->sigma_rotation, .sigma_focal = r->sigma_focal, .rms = r->rms,
                        .focal = r->camera.fx, .cx = r->camera.cx, .cy = r->camera.cy, .ms = r->ms_total,
                        .ms_describe = r->ms_describe, .keypoints = r->keypoints, .matches = r->matches,
                        .inliers = r->inliers, .nearest = r->image};
    memcpy(full.rotation, r->rotation, sizeof full.rotation);
    memcpy(full.translation, r->translation, sizeof full.translation);
    memcpy(full.position, r->centre, sizeof full.position);
    return full;
}

kb_status kb_localizer_find(kb_localizer *l, const char *photo, const kb_localizer_options *options, kb_location *out,
                            kb_error *error)
{
    kb_localizer_options o;
    localize_result r;
    io_error why;
    if (!l || !photo || !out) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_READ(kb_localizer_options, &o, options);
    if (status == KB_OK) status = KBI_STRUCT_CHECK(kb_location, out);
    if (status != KB_OK) return status;
    if (o.candidates < 0 || o.candidates > 64 || o.min_inliers < 0 || !(o.threshold >= 0)) {
        io_fail(&why, "candidates is %d (0 to 64), min_inliers %d, threshold %g (0 or more)", o.candidates, o.min_inliers,
                o.threshold);
        return public_done(false, &why, error);
    }
    const localize_options inside = {o.camera, o.candidates, o.min_inliers, o.threshold, o.seed};
    if (!localize(&l->map, &l->engine.pipeline, &l->reading, &inside, photo, &r, &why)) return public_done(false, &why, error);
    const kb_location full = location_of(&r);
    KBI_STRUCT_WRITE(kb_location, out, &full);
    localize_result_free(&r);
    return KB_OK;
}
