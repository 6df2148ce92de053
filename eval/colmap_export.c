#include "eval/colmap_export.h"

#include <stdlib.h>
#include <string.h>

#include "eval/scenes.h"
#include "io/progress.h"

#define BATCH 64 /* images described at once: bounds the memory of pixels */

typedef struct described {
    int64_t id;
    int32_t width, height;
    io_keypoints keypoints;
    io_rows rows;
    io_error error;
} described;

typedef struct work {
    const io_names *images;
    const ev_method *method;
    const ev_export_options *options;
    described *items;
    size_t first; /* of the batch */
} work;

bool ev_camera_from_folder(const char *folder, io_camera *camera)
{
    double k[9];
    char *path = io_path_join(folder, "K.txt");
    bool good = io_path_exists(path) && ev_homography_read(path, k, NULL) && k[0] > 0 && k[4] > 0 && k[8] == 1;
    free(path);
    if (good) *camera = (io_camera){IO_PINHOLE, {k[0], k[4], k[2], k[5]}, true};
    return good;
}

/* ---- describing ---- */

static void describe_image(void *context, int32_t index)
{
    work *w = context;
    described *d = &w->items[w->first + (size_t)index];
    const char *path = w->images->items[w->first + (size_t)index];
    io_image image;
    if (!io_image_read(path, NULL, &image, &d->error)) return;
    d->width = image.width;
    d->height = image.height;
    if (ev_keypoints_load(&w->options->keypoints, NULL, path, &image.view, 0, &d->keypoints, &d->error) &&
        !ev_method_is_file(w->method))
        ev_method_describe(w->method, &image.view, d->keypoints.items, d->keypoints.count, w->options->scale, &d->rows,
                           &d->error);
    io_image_free(&image);
}

static bool describe_all(work *w, ev_method *method, io_error *error)
{
    io_progress progress;
    const kb_parallel *parallel = w->options->parallel;
    size_t total = w->images->count;
    bool good = true;
    io_progress_start(&progress, "describing", total, w->options->quiet);
    for (w->first = 0; w->first < total && good; w->first += BATCH) {
        size_t count = total - w->first < BATCH ? total - w->first : BATCH;
        if (parallel) parallel->run(parallel->self, (int32_t)count, describe_image, w);
        else for (size_t i = 0; i < count; i++) describe_image(w, (int32_t)i);
        for (size_t i = w->first; i < w->first + count && good; i++) {
            described *d = &w->items[i];
            if (d->error.text[0]) good = io_fail(error, "%s", d->error.text);
            else if (ev_method_is_file(method)) good = ev_method_take(method, d->keypoints.count, &d->rows, error);
        }
        io_progress_update(&progress, w->first + count);
    }
    io_progress_end(&progress);
    return good && ev_method_finish(method, error);
}

/* ---- which pairs ---- */

typedef struct index_pair {
    size_t a, b;
} index_pair;

static bool find_image(const io_names *images, const char *name, size_t *index)
{
    for (*index = 0; *index < images->count; ++*index)
        if (strcmp(io_path_base(images->items[*index]), name) == 0) return true;
    return false;
}

static index_pair *all_pairs(size_t n, size_t *count)
{
    index_pair *pairs = io_alloc(n * n / 2 + 1, sizeof *pairs);
    *count = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) pairs[(*count)++] = (index_pair){a, b};
    return pairs;
}

/* Lines "name1 name2"; NULL when something is wrong. */
static index_pair *read_pairs(const char *path, const io_names *images, size_t *count, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return NULL;
    index_pair *pairs = io_alloc(1, sizeof *pairs);
    char *rest = (char *)bytes.data, *line;
    bool good = true;
    *count = 0;
    for (size_t number = 1; good && (line = strsep(&rest, "\n")) != NULL; number++) {
        char *save, *a = strtok_r(line, " \t\r", &save), *b = a ? strtok_r(NULL, " \t\r", &save) : NULL;
        index_pair pair;
        if (!a || *a == '#') continue;
        good = b && find_image(images, a, &pair.a) && find_image(images, b, &pair.b) && pair.a != pair.b;
        if (!good) io_fail(error, "%s:%zu: not the names of two of the images", path, number);
        pairs = io_grow(pairs, *count + 1, sizeof *pairs);
        if (good) pairs[(*count)++] = pair;
    }
    io_bytes_free(&bytes);
    if (good) return pairs;
    free(pairs);
    return NULL;
}

/* ---- writing ---- */

static bool write_images(io_colmap_db *db, work *w, ev_export_counts *counts, io_error *error)
{
    const ev_export_options *o = w->options;
    int64_t camera = 0;
    bool good = true;
    for (size_t i = 0; i < w->images->count && good; i++) {
        described *d = &w->items[i];
        io_camera guess = io_camera_guess(d->width, d->height);
        bool shared = o->camera || o->one_camera;
        if (shared && (d->width != w->items[0].width || d->height != w->items[0].height))
            return io_fail(error, "%s: %d x %d pixels, but images of one camera must have one size (%d x %d)",
                           w->images->items[i], d->width, d->height, w->items[0].width, w->items[0].height);
        if (i == 0 || !shared)
            good = io_colmap_db_add_camera(db, o->camera ? o->camera : &guess, d->width, d->height, &camera, error);
        good = good && io_colmap_db_add_image(db, io_path_base(w->images->items[i]), camera, &d->id, error) &&
               io_colmap_db_add_keypoints(db, d->id, d->keypoints.items, d->keypoints.count, error);
        counts->keypoints += d->keypoints.count;
    }
    return good;
}

static bool write_matches(io_colmap_db *db, const work *w, const index_pair *pairs, size_t pair_count, FILE *list,
                          ev_export_counts *counts, io_error *error)
{
    io_progress progress;
    bool good = true;
    io_progress_start(&progress, "matching pairs", pair_count, w->options->quiet);
    for (size_t i = 0; i < pair_count && good; i++) {
        const described *a = &w->items[pairs[i].a], *b = &w->items[pairs[i].b];
        kb_match *matches = io_alloc(a->keypoints.count + 1, sizeof *matches);
        size_t n = 0;
        good =
            ev_rows_match(&a->rows, &b->rows, true, w->options->max_ratio, w->options->parallel, matches, &n, error) &&
            io_colmap_db_add_matches(db, a->id, b->id, matches, n, error);
        free(matches);
        fprintf(list, "%s %s\n", io_path_base(w->images->items[pairs[i].a]),
                io_path_base(w->images->items[pairs[i].b]));
        counts->matches += n;
        io_progress_update(&progress, i + 1);
    }
    counts->pairs = pair_count;
    io_progress_end(&progress);
    return good;
}

static bool write_all(work *w, const index_pair *pairs, size_t pair_count, const char *database, const char *pair_list,
                      ev_export_counts *counts, io_error *error)
{
    io_writer *list = io_writer_open(pair_list, error);
    if (!list) return false;
    io_colmap_db *db = io_colmap_db_create(database, error);
    bool good = db && write_images(db, w, counts, error) &&
                write_matches(db, w, pairs, pair_count, io_writer_file(list), counts, error);
    if (good) good = io_colmap_db_commit(db, error);
    else io_colmap_db_abandon(db);
    if (good) return io_writer_commit(list, error);
    io_writer_abandon(list);
    return false;
}

bool ev_colmap_export(const io_names *images, ev_method *method, const ev_export_options *options, const char *database,
                      const char *pair_list, ev_export_counts *counts, io_error *error)
{
    ev_export_counts own;
    ev_export_counts *c = counts ? counts : &own;
    *c = (ev_export_counts){.images = images->count};
    size_t pair_count = 0;
    index_pair *pairs =
        options->pairs ? read_pairs(options->pairs, images, &pair_count, error) : all_pairs(images->count, &pair_count);
    if (!pairs) return false;
    work w = {images, method, options, io_alloc(images->count, sizeof(described)), 0};
    bool good = describe_all(&w, method, error) && write_all(&w, pairs, pair_count, database, pair_list, c, error);
    for (size_t i = 0; i < images->count; i++) {
        io_keypoints_free(&w.items[i].keypoints);
        io_rows_free(&w.items[i].rows);
    }
    free(w.items);
    free(pairs);
    return good;
}
