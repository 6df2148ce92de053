/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/colmap_export.h"

#include <stdlib.h>
#include <string.h>

#include "io/pair_list.h"
#include "io/progress.h"
#include "pipeline/pipeline.h"

#define BATCH 64 /* images described at once: bounds the memory of pixels */

typedef struct exported_image {
    int64_t id;
    features features;
    io_error error;
} exported_image;

typedef struct export_work {
    const io_names *images;
    const colmap_export_options *options;
    pipeline matcher;
    exported_image *items;
    size_t first; /* of the batch */
} export_work;

/* ---- describing ---- */

static void describe_image(void *context, int32_t index)
{
    export_work *w = context;
    size_t i = w->first + (size_t)index;
    w->options->describe(w->options->context, w->images->items[i], &w->items[i].features, &w->items[i].error);
}

static bool describe_batches(export_work *w, io_error *error)
{
    io_progress progress;
    const colmap_export_options *o = w->options;
    size_t total = w->images->count;
    bool good = true;
    io_progress_start(&progress, "describing", total, o->quiet);
    for (w->first = 0; w->first < total && good; w->first += BATCH) {
        size_t count = total - w->first < BATCH ? total - w->first : BATCH;
        if (o->parallel) o->parallel->run(o->parallel->self, (int32_t)count, describe_image, w);
        else for (size_t i = 0; i < count; i++) describe_image(w, (int32_t)i);
        for (size_t i = w->first; i < w->first + count && good; i++) {
            exported_image *d = &w->items[i];
            if (d->error.text[0]) good = io_fail(error, "%s", d->error.text);
            else if (o->complete) good = o->complete(o->context, w->images->items[i], &d->features, error);
        }
        io_progress_update(&progress, w->first + count);
    }
    io_progress_end(&progress);
    return good;
}

/* ---- which pairs ---- */

static void all_pairs(size_t n, io_pairs *out)
{
    *out = (io_pairs){io_alloc(n * n / 2 + 1, sizeof *out->items), 0};
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            out->items[out->count][0] = a;
            out->items[out->count++][1] = b;
        }
}

/* Images are named without their folders. */
static bool listed_pairs(const char *path, const io_names *images, io_pairs *out, io_error *error)
{
    io_names names = {NULL, 0};
    for (size_t i = 0; i < images->count; i++) io_names_add(&names, io_path_base(images->items[i]));
    bool ok = io_pairs_read(path, &names, out, error);
    io_names_free(&names);
    return ok;
}

/* ---- writing ---- */

static bool write_images(io_colmap_db *db, export_work *w, colmap_export_counts *counts, io_error *error)
{
    const colmap_export_options *o = w->options;
    int64_t camera = 0;
    bool good = true;
    for (size_t i = 0; i < w->images->count && good; i++) {
        exported_image *d = &w->items[i];
        const features *f = &d->features, *first = &w->items[0].features;
        io_camera guess = io_camera_guess(f->width, f->height);
        bool shared = o->camera || o->one_camera;
        if (shared && (f->width != first->width || f->height != first->height))
            return io_fail(error, "%s: %d x %d pixels, but images of one camera must have one size (%d x %d)",
                           w->images->items[i], f->width, f->height, first->width, first->height);
        if (i == 0 || !shared)
            good = io_colmap_db_add_camera(db, o->camera ? o->camera : &guess, f->width, f->height, &camera, error);
        good = good && io_colmap_db_add_image(db, io_path_base(w->images->items[i]), camera, &d->id, error) &&
               io_colmap_db_add_keypoints(db, d->id, f->keypoints.items, f->keypoints.count, error);
        counts->keypoints += f->keypoints.count;
    }
    return good;
}

static bool write_matches(io_colmap_db *db, const export_work *w, const io_pairs *pairs, FILE *list,
                          colmap_export_counts *counts, io_error *error)
{
    io_progress progress;
    bool good = true;
    io_progress_start(&progress, "matching pairs", pairs->count, w->options->quiet);
    for (size_t i = 0; i < pairs->count && good; i++) {
        const size_t *pair = pairs->items[i];
        const exported_image *a = &w->items[pair[0]], *b = &w->items[pair[1]];
        const char *names[2] = {w->images->items[pair[0]], w->images->items[pair[1]]};
        pipeline_result result = {0};
        good = features_comparable(&a->features, &b->features, names[0], names[1], error) &&
               pipeline_match(&w->matcher, &a->features, &b->features, &result, error) &&
               io_colmap_db_add_matches(db, a->id, b->id, result.matches, result.count, error);
        fprintf(list, "%s %s\n", io_path_base(names[0]), io_path_base(names[1]));
        counts->matches += result.count;
        pipeline_result_free(&result);
        io_progress_update(&progress, i + 1);
    }
    counts->pairs = pairs->count;
    io_progress_end(&progress);
    return good;
}

static bool write_database(export_work *w, const io_pairs *pairs, const char *database,
                           const char *pair_list, colmap_export_counts *counts, io_error *error)
{
    io_writer *list = io_writer_open(pair_list, error);
    if (!list) return false;
    io_colmap_db *db = io_colmap_db_create(database, error);
    bool good = db && write_images(db, w, counts, error) &&
                write_matches(db, w, pairs, io_writer_file(list), counts, error);
    if (good) good = io_colmap_db_commit(db, error);
    else io_colmap_db_abandon(db);
    if (good) return io_writer_commit(list, error);
    io_writer_abandon(list);
    return false;
}

bool colmap_export(const io_names *images, const colmap_export_options *options, const char *database,
                   const char *pair_list, colmap_export_counts *counts, io_error *error)
{
    colmap_export_counts own, *c = counts ? counts : &own;
    pipeline_options matching;
    io_pairs pairs;
    *c = (colmap_export_counts){.images = images->count};
    for (size_t i = 0; i < images->count; i++)
        if (strpbrk(io_path_base(images->items[i]), " \t\r\n"))
            return io_fail(error, "%s: COLMAP's lists of images cannot hold names with spaces", images->items[i]);
    if (!options->pairs) all_pairs(images->count, &pairs);
    else if (!listed_pairs(options->pairs, images, &pairs, error)) return false;
    pipeline_options_init(&matching);
    matching.max_ratio = options->max_ratio;
    matching.max_distance = options->max_distance;
    matching.no_filter = !options->filter;
    matching.no_fit = true;
    export_work w = {.images = images, .options = options, .items = io_alloc(images->count, sizeof *w.items)};
    bool good = pipeline_open(&w.matcher, &matching, NULL, options->parallel, error) && describe_batches(&w, error) &&
                write_database(&w, &pairs, database, pair_list, c, error);
    for (size_t i = 0; i < images->count; i++) features_free(&w.items[i].features);
    pipeline_close(&w.matcher);
    free(w.items);
    io_pairs_free(&pairs);
    return good;
}
