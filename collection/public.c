/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of collection.h. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "collection/public.h"
#include "io/progress.h"
#include "io/text.h"
#include "pipeline/models.h"

struct kb_collection {
    kb_collection_options options;
    char *texts[4]; /* copies of the options' strings */
    io_camera camera;
    kb_parallel *pool;
    kb_model *model;
    pipeline pipeline;
    collection collection;
    bool paired;
    double start;
};

static kb_status failed(kb_status status, const io_error *why, kb_error *error)
{
    if (error) {
        io_shortened(error->text, sizeof error->text, why->text);
        error->field = "";
        error->row = -1;
    }
    return status;
}

kb_status public_done(bool ok, const io_error *why, kb_error *error)
{
    return ok ? KB_OK : failed(KB_E_ARGUMENT, why, error);
}

/* ---- callbacks ---- */

static bool tell_progress(void *context, const char *step, size_t so_far, size_t total)
{
    const kb_collection *c = context;
    return !c->options.progress || c->options.progress(c->options.context, step, so_far, total) != 0;
}

static void tell_warning(void *context, const char *sentence)
{
    const kb_collection *c = context;
    if (c->options.warn) c->options.warn(c->options.context, sentence);
}

/* ---- options ---- */

static const struct {
    const char *name;
    size_t offset;
    int32_t low, standard, high;
} integers[] = {{"max_keypoints", offsetof(kb_collection_options, max_keypoints), 1, 2000, 1000000},
                {"neighbours", offsetof(kb_collection_options, neighbours), 0, 0, 10000},
                {"overlap", offsetof(kb_collection_options, overlap), 1, 10, 1000000},
                {"min_places", offsetof(kb_collection_options, min_places), 0, 0, 1000000},
                {"max_size", offsetof(kb_collection_options, max_size), -1, 0, IO_MAX_SIDE},
                {"pairs", offsetof(kb_collection_options, pairs), 0, 0, KB_PAIRS_LIST},
                {"rows", offsetof(kb_collection_options, rows), 0, 0, KB_ROWS_UPRIGHT}};

static bool options_settle(kb_collection_options *o, io_error *error)
{
    if (!o->work || !*o->work) return io_fail(error, "work: a folder is needed");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        int32_t value;
        char *at = (char *)o + integers[i].offset;
        memcpy(&value, at, sizeof value);
        if (value == 0) value = integers[i].standard;
        if (value < integers[i].low || value > integers[i].high)
            return io_fail(error, "%s is %d, but must be %d to %d", integers[i].name, value, integers[i].low,
                           integers[i].high);
        memcpy(at, &value, sizeof value);
    }
    if (o->reach == 0) o->reach = 100;
    if (!(o->reach > 0)) return io_fail(error, "reach is %g, but must be above 0", o->reach);
    if (!(o->threshold >= 0) || !(o->max_ratio >= 0 && o->max_ratio <= 1) || !(o->max_distance >= 0))
        return io_fail(error, "threshold, max_ratio and max_distance must be 0 or more, max_ratio up to 1");
    return true;
}

static void texts_copy(kb_collection *c)
{
    kb_collection_options *o = &c->options;
    const char **texts[] = {&o->work, &o->vocabulary, &o->list, &o->camera};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i]) *texts[i] = c->texts[i] = io_copy_string(*texts[i]);
}

static bool pipeline_start(kb_collection *c, io_error *error)
{
    const kb_collection_options *o = &c->options;
    pipeline_options p;
    kb_error why;
    pipeline_options_init(&p);
    p.detect.detector = o->detector;
    p.detect.selection = o->selection;
    p.detect.max_keypoints = o->max_keypoints;
    p.angles = o->orientation;
    p.rows = (pipeline_rows)(ROWS_BOTH + o->rows);
    p.max_ratio = o->max_ratio;
    p.max_distance = o->max_distance;
    p.seed = o->seed;
    p.patches = !o->no_refine;
    if (kb_detect(NULL, &p.detect, NULL, NULL, &why) != KB_OK) return io_fail(error, "%s", why.text);
    if (kb_pool_create(o->threads, NULL, &c->pool) != KB_OK)
        return io_fail(error, "threads is %d: no pool of so many", o->threads);
    if (!models_open(o->model ? o->model : models_default(), &c->model, error)) return false;
    if (!pipeline_open(&c->pipeline, &p, c->model, c->pool, error)) return false;
    if (c->pipeline.info.row_floats > 0) return io_fail(error, "model: collections need binary descriptors");
    return true;
}

static bool collection_start(kb_collection *c, const char *const *images, size_t count, io_error *error)
{
    const kb_collection_options *o = &c->options;
    io_names names = {0};
    texts_copy(c);
    bool ok = (!o->camera || io_camera_parse(o->camera, &c->camera, error)) && pipeline_start(c, error) &&
              io_names_images(&names, (int)count, (char *const *)(uintptr_t)images, error);
    for (size_t i = 0; ok && i < count; i++) {
        io_error left;
        if (io_path_is_folder(images[i]) && io_folder_left(images[i], &left)) tell_warning(c, left.text);
    }
    if (ok) {
        io_names_unique(&names, tell_warning, c);
        const int32_t max_size = o->max_size == 0 ? 3200 : o->max_size < 0 ? 0 : o->max_size;
        const collection_options inside = {.pipeline = &c->pipeline, .reading = {.keep16 = true, .exif = o->exif != 0, .max_size = max_size},
                                           .folder = o->work, .vocabulary = o->vocabulary, .list = o->list,
                                           .camera = o->camera ? &c->camera : NULL, .one_camera = o->one_camera != 0,
                                           .no_refine = o->no_refine != 0, .no_expand = o->no_expand != 0,
                                           .by = (collection_pairs_by)o->pairs, .neighbours = o->neighbours,
                                           .overlap = o->overlap, .min_places = o->min_places, .reach = o->reach,
                                           .threshold = o->threshold,
                                           .host = {tell_progress, tell_warning, c}};
        collection_open(&c->collection, &inside, &names);
    }
    io_names_free(&names);
    return ok;
}

kb_status kb_collection_open(const char *const *images, size_t count, const kb_collection_options *options,
                             kb_collection **out, kb_error *error)
{
    io_error why;
    if (!out) return KB_E_ARGUMENT;
    *out = NULL;
    if (!images || count == 0 || count > INT32_MAX) {
        io_fail(&why, "images: at least one is needed");
        return failed(KB_E_ARGUMENT, &why, error);
    }
    kb_collection *c = io_alloc(1, sizeof *c);
    kb_status status = KBI_STRUCT_READ(kb_collection_options, &c->options, options);
    if (status != KB_OK) io_fail(&why, "%s", kb_status_string(status));
    else if (!options_settle(&c->options, &why) || !collection_start(c, images, count, &why)) status = KB_E_ARGUMENT;
    c->start = io_clock_seconds();
    if (status == KB_OK) *out = c;
    else kb_collection_free(c);
    return status == KB_OK ? KB_OK : failed(status, &why, error);
}

void kb_collection_free(kb_collection *c)
{
    if (!c) return;
    collection_close(&c->collection);
    pipeline_close(&c->pipeline);
    kb_model_free(c->model);
    kb_pool_free(c->pool);
    for (size_t i = 0; i < sizeof c->texts / sizeof *c->texts; i++) free(c->texts[i]);
    free(c);
}

size_t kb_collection_count(const kb_collection *c) { return c ? c->collection.images.count : 0; }

const char *kb_collection_name(const kb_collection *c, size_t image)
{
    return image < kb_collection_count(c) ? c->collection.names.items[image] : NULL;
}

/* ---- steps ---- */

static bool shard_sound(int32_t shard, int32_t shards, io_error *error)
{
    return (shard >= 0 && shard < shards && shards <= 1000000) ||
           io_fail(error, "shard %d of %d: shards count from 0 and are at most 1000000", shard, shards);
}

kb_status kb_collection_describe(kb_collection *c, int32_t shard, int32_t shards, kb_error *error)
{
    io_error why;
    if (!c) return KB_E_ARGUMENT;
    return public_done(shard_sound(shard, shards, &why) && collection_folders_make(&c->collection, &why) &&
                    collection_describe(&c->collection, (collection_shard){shard, shards}, &why),
                &why, error);
}

static bool pairs_ready(kb_collection *c, io_error *why)
{
    if (c->paired) collection_expanded_load(&c->collection);
    else
        c->paired = collection_folders_make(&c->collection, why) && collection_pairs(&c->collection, why) &&
                    (c->collection.failed < c->collection.images.count ||
                     io_fail(why, "none of %zu images could be described", c->collection.images.count));
    return c->paired;
}

kb_status kb_collection_pairs(kb_collection *c, kb_error *error)
{
    io_error why;
    if (!c) return KB_E_ARGUMENT;
    c->paired = false;
    return public_done(pairs_ready(c, &why), &why, error);
}

kb_status kb_collection_match(kb_collection *c, int32_t shard, int32_t shards, kb_error *error)
{
    io_error why;
    if (!c) return KB_E_ARGUMENT;
    return public_done(shard_sound(shard, shards, &why) && pairs_ready(c, &why) &&
                    collection_match(&c->collection, (collection_shard){shard, shards}, &why),
                &why, error);
}

kb_status kb_collection_expand(kb_collection *c, kb_error *error)
{
    io_error why;
    if (!c) return KB_E_ARGUMENT;
    return public_done(pairs_ready(c, &why) && collection_expand(&c->collection, &why), &why, error);
}

/* ---- outputs ---- */

static bool output_ready(kb_collection *c, const char *path, io_error *why)
{
    const io_names named = {.items = c->texts, .count = sizeof c->texts / sizeof *c->texts};
    return io_names_spared(&c->collection.images, path, why) && io_names_spared(&named, path, why) && pairs_ready(c, why);
}

kb_status kb_collection_merge(kb_collection *c, const char *database, kb_collection_counts *counts, kb_error *error)
{
    io_error why;
    collection_counts n;
    if (!c || !database) return KB_E_ARGUMENT;
    if (counts && KBI_STRUCT_CHECK(kb_collection_counts, counts) != KB_OK) return KB_E_STRUCT;
    if (!output_ready(c, database, &why) || !collection_merge(&c->collection, database, &n, &why)) return public_done(false, &why, error);
    const kb_collection_counts full = {sizeof full, n.images, n.failed, n.keypoints, n.pairs, n.verified, n.matches};
    if (counts) KBI_STRUCT_WRITE(kb_collection_counts, counts, &full);
    return KB_OK;
}

kb_status kb_collection_write_openmvg(kb_collection *c, const char *folder, kb_error *error)
{
    io_error why;
    if (!c || !folder) return KB_E_ARGUMENT;
    return public_done(pairs_ready(c, &why) && collection_openmvg_write(&c->collection, folder, &why), &why, error);
}

kb_status kb_collection_write_matches(kb_collection *c, const char *path, kb_error *error)
{
    io_error why;
    if (!c || !path) return KB_E_ARGUMENT;
    return public_done(output_ready(c, path, &why) && collection_matches_write(&c->collection, path, &why), &why, error);
}

kb_status kb_collection_write_page(kb_collection *c, const char *path, kb_error *error)
{
    io_error why;
    if (!c || !path) return KB_E_ARGUMENT;
    return public_done(output_ready(c, path, &why) &&
                    collection_page_write(&c->collection, path, io_clock_seconds() - c->start, &why), &why, error);
}
