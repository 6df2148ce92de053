/* SPDX-License-Identifier: Apache-2.0 */
/* Building a map: describe, match images that share points, tracks, points, rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collection/map_inside.h"
#include "io/colmap_model.h"

#define NEIGHBOURS 12 /* images that an image is matched with */
#define MIN_SHARED 10 /* points of the reconstruction that make two images neighbours */
#define MAX_ERROR 2.0 /* px of the image as described: of a match from its epipolar line, of a view from its point */

typedef struct edge {
    uint32_t a, b; /* keypoints, counted through all images */
} edge;

typedef struct pair_edges {
    uint32_t a, b; /* images */
    edge *edges;
    size_t count;
    kb_status status;
} pair_edges;

typedef struct building {
    const pipeline *p;
    const io_read_options *reading;
    const photos_host *host;
    io_scene scene;
    io_names paths;
    features *features;  /* per image */
    uint32_t *first;     /* keypoint of each image, counted through all; one more */
    pair_edges *pairs;
    size_t pair_count;
    uint32_t *track;     /* per keypoint: its parent in the forest of tracks */
    uint32_t *point_of;  /* per keypoint: its point, UINT32_MAX: none */
    map_parts parts;
    map_counts *counts;
} building;

/* ---- images ---- */

static bool take_features(void *context, size_t index, features *f, const char *why)
{
    building *b = context;
    if (!f) {
        photos_warn(b->host, "%s", why);
        b->counts->failed++;
        return true;
    }
    b->features[index] = *f;
    memset(f, 0, sizeof *f);
    return true;
}

static bool find_images(building *b, const char *folder, io_error *error)
{
    for (size_t i = 0; i < b->scene.image_count; i++) {
        const io_scene_image *image = &b->scene.images[i];
        if (b->scene.cameras[image->camera].lens.struct_size == 0)
            return io_fail(error, "%s: its camera has a lens that keybits does not know", image->name);
        char *path = io_path_join(folder, image->name);
        io_names_add(&b->paths, path);
        free(path);
        if (!io_path_never_waits(b->paths.items[i], error)) return false;
    }
    return true;
}

/* The map replaces neither the model nor a photograph. */
static bool inputs_spared(const building *b, const char *model, const char *vocabulary, const char *output, io_error *error)
{
    static const char *const suffixes[] = {".bin", ".txt", NULL};
    io_names files = {0};
    bool ok = io_names_folder(&files, model, suffixes, error);
    if (vocabulary) io_names_add(&files, vocabulary);
    ok = ok && io_names_spared(&files, output, error) && io_names_spared(&b->paths, output, error);
    io_names_free(&files);
    return ok;
}

static bool describe_images(building *b, io_error *error)
{
    size_t n = b->scene.image_count;
    b->features = io_alloc(n, sizeof *b->features);
    b->first = io_alloc(n + 1, sizeof *b->first);
    if (!photos_describe(b->p, b->reading, &b->paths, b->host, "describing", take_features, b, error)) return false;
    for (size_t i = 0; i < n; i++) {
        const io_scene_camera *camera = &b->scene.cameras[b->scene.images[i].camera];
        const features *f = &b->features[i];
        if (f->width && (f->width != camera->width || f->height != camera->height))
            return io_fail(error, "%s: %d x %d pixels, but its camera in the model has %d x %d", b->paths.items[i], f->width,
                           f->height, camera->width, camera->height);
        b->counts->keypoints += f->keypoints.count;
        b->first[i + 1] = b->first[i] + (uint32_t)f->keypoints.count;
    }
    b->counts->images = n - b->counts->failed;
    return b->counts->images > 1 || io_fail(error, "a map needs at least two images that can be read");
}

/* ---- neighbours ---- */

typedef struct shared {
    uint64_t point;
    uint32_t image;
} shared;

static int compare_shared(const void *a, const void *b)
{
    const shared *x = a, *y = b;
    if (x->point != y->point) return x->point < y->point ? -1 : 1;
    return x->image < y->image ? -1 : x->image > y->image;
}

/* How many points two images share. */
static uint32_t *count_shared(const io_scene *scene)
{
    size_t n = scene->image_count, all = 0, count = 0;
    for (size_t i = 0; i < n; i++) all += scene->images[i].feature_count;
    shared *list = io_alloc(all + 1, sizeof *list);
    uint32_t *table = io_alloc(n * n, sizeof *table);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < scene->images[i].feature_count; k++)
            if (scene->images[i].features[k].point != IO_SCENE_NO_POINT)
                list[count++] = (shared){scene->images[i].features[k].point, (uint32_t)i};
    qsort(list, count, sizeof *list, compare_shared);
    for (size_t k = 0; k < count; k++)
        for (size_t m = k + 1; m < count && list[m].point == list[k].point; m++)
            if (list[m].image != list[k].image) table[list[k].image * n + list[m].image]++;
    free(list);
    return table;
}

typedef struct neighbour {
    uint32_t image, shared;
} neighbour;

static int compare_neighbours(const void *a, const void *b)
{
    const neighbour *x = a, *y = b;
    if (x->shared != y->shared) return x->shared > y->shared ? -1 : 1;
    return x->image < y->image ? -1 : x->image > y->image;
}

/* Each image with the images that it shares most points with. */
static void choose_neighbours(building *b)
{
    size_t n = b->scene.image_count;
    uint32_t *table = count_shared(&b->scene);
    uint8_t *chosen = io_alloc(n * n, 1);
    neighbour *list = io_alloc(n, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t k = 0; k < n; k++) {
            uint32_t common = table[i < k ? i * n + k : k * n + i];
            if (k != i && common >= MIN_SHARED && b->features[i].keypoints.count && b->features[k].keypoints.count)
                list[count++] = (neighbour){(uint32_t)k, common};
        }
        qsort(list, count, sizeof *list, compare_neighbours);
        for (size_t k = 0; k < count && k < NEIGHBOURS; k++) {
            size_t other = list[k].image;
            chosen[i < other ? i * n + other : other * n + i] = 1;
        }
    }
    for (size_t i = 0; i < n * n; i++) b->pair_count += chosen[i];
    b->pairs = io_alloc(b->pair_count, sizeof *b->pairs);
    b->pair_count = 0;
    for (size_t i = 0; i < n * n; i++)
        if (chosen[i]) b->pairs[b->pair_count++] = (pair_edges){.a = (uint32_t)(i / n), .b = (uint32_t)(i % n)};
    b->counts->pairs = b->pair_count;
    free(table);
    free(chosen);
    free(list);
}

/* ---- matches ---- */

static map_view view_of(const building *b, uint32_t image, uint32_t keypoint)
{
    const io_scene_image *pose = &b->scene.images[image];
    const features *f = &b->features[image];
    const kb_keypoint *k = &f->keypoints.items[keypoint];
    return (map_view){pose->rotation, pose->translation, &b->scene.cameras[pose->camera].lens, (double)k->x, (double)k->y,
                      MAX_ERROR * photos_step(f->width, f->height, b->reading->max_size)};
}

static void match_task(void *context, int32_t i)
{
    building *b = context;
    pair_edges *pair = &b->pairs[i];
    const features *fa = &b->features[pair->a], *fb = &b->features[pair->b];
    size_t count = 0;
    kb_match *matches = io_alloc(fa->rows.count + 1, sizeof *matches);
    kb_features rows_a = features_view(fa), rows_b = features_view(fb);
    pair->status = kb_match_features(&rows_a, &rows_b, NULL, NULL, matches, &count, NULL);
    pair->edges = io_alloc(count + 1, sizeof *pair->edges);
    for (size_t m = 0; pair->status == KB_OK && m < count; m++) {
        uint32_t at_a = (uint32_t)matches[m].a, at_b = (uint32_t)matches[m].b;
        map_view va = view_of(b, pair->a, at_a), vb = view_of(b, pair->b, at_b);
        if (map_epipolar_error(&va, &vb) > (va.error > vb.error ? va.error : vb.error)) continue;
        pair->edges[pair->count++] = (edge){b->first[pair->a] + at_a, b->first[pair->b] + at_b};
    }
    free(matches);
}

static bool match_pairs(building *b, io_error *error)
{
    const kb_parallel *parallel = b->p->parallel;
    const size_t batch = 32;
    for (size_t first = 0; first < b->pair_count; first += batch) {
        size_t left = b->pair_count - first, count = left < batch ? left : batch;
        if (!photos_progress(b->host, "matching", first, b->pair_count, error)) return false;
        building part = *b;
        part.pairs = b->pairs + first;
        if (parallel && parallel->threads > 1) parallel->run(parallel->self, (int32_t)count, match_task, &part);
        else for (size_t i = 0; i < count; i++) match_task(&part, (int32_t)i);
        for (size_t i = 0; i < count; i++)
            if (part.pairs[i].status != KB_OK) return io_fail(error, "matching: %s", kb_status_string(part.pairs[i].status));
    }
    return photos_progress(b->host, "matching", b->pair_count, b->pair_count, error);
}

/* ---- tracks and points ---- */

static uint32_t track_of(building *b, uint32_t keypoint)
{
    while (b->track[keypoint] != keypoint) keypoint = b->track[keypoint] = b->track[b->track[keypoint]];
    return keypoint;
}

static int compare_tracks(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t image_of(const building *b, uint32_t keypoint)
{
    uint32_t low = 0, high = (uint32_t)b->scene.image_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (b->first[middle] <= keypoint) low = middle;
        else high = middle;
    }
    return low;
}

/* A point of the keypoints of a track, one per image. Of views that do not agree the worst goes, while two are left. */
static void make_point(building *b, const uint64_t *keypoints, size_t n, map_view *views, uint32_t *which)
{
    size_t count = 0, worst;
    double point[3], squares;
    uint32_t before = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t keypoint = (uint32_t)keypoints[i], image = image_of(b, keypoint);
        if (image == before) continue;
        before = image;
        which[count] = keypoint;
        views[count++] = view_of(b, image, keypoint - b->first[image]);
    }
    while (count >= 2 && !map_triangulate(views, count, point, &worst, &squares)) {
        if (worst == SIZE_MAX) return;
        views[worst] = views[--count];
        which[worst] = which[count];
    }
    if (count < 2) return;
    map_parts *parts = &b->parts;
    if ((parts->point_count & (parts->point_count - 1)) == 0)
        parts->points = io_grow(parts->points, 6 * parts->point_count + 3, sizeof *parts->points);
    memcpy(parts->points + 3 * parts->point_count, point, sizeof point);
    for (size_t i = 0; i < count; i++) b->point_of[which[i]] = (uint32_t)parts->point_count;
    parts->point_count++;
    b->counts->rms += squares;
    b->counts->rows += count;
}

static void make_points(building *b)
{
    uint32_t all = b->first[b->scene.image_count];
    size_t count = 0;
    b->track = io_alloc(all, sizeof *b->track);
    b->point_of = io_alloc(all, sizeof *b->point_of);
    uint64_t *sorted = io_alloc(all, sizeof *sorted);
    for (uint32_t k = 0; k < all; k++) b->track[k] = k;
    for (size_t i = 0; i < b->pair_count; i++)
        for (size_t e = 0; e < b->pairs[i].count; e++) {
            uint32_t x = track_of(b, b->pairs[i].edges[e].a), y = track_of(b, b->pairs[i].edges[e].b);
            b->track[x > y ? x : y] = x > y ? y : x;
        }
    for (uint32_t k = 0; k < all; k++) {
        b->point_of[k] = UINT32_MAX;
        sorted[count++] = (uint64_t)track_of(b, k) << 32 | k;
    }
    qsort(sorted, count, sizeof *sorted, compare_tracks);
    map_view *views = io_alloc(b->scene.image_count, sizeof *views);
    uint32_t *which = io_alloc(b->scene.image_count, sizeof *which);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end] >> 32 == sorted[i] >> 32;) end++;
        if (end - i >= 2) make_point(b, sorted + i, end - i, views, which);
    }
    if (b->counts->rows) b->counts->rms = sqrt(b->counts->rms / (double)b->counts->rows);
    b->counts->points = b->parts.point_count;
    free(sorted);
    free(views);
    free(which);
}

/* ---- the map ---- */

static void gather_rows(building *b)
{
    map_parts *parts = &b->parts;
    size_t width = parts->row_bytes;
    parts->image_count = b->scene.image_count;
    parts->images = io_alloc(parts->image_count, sizeof *parts->images);
    parts->rows = io_alloc(b->counts->rows + 1, width);
    parts->row_points = io_alloc(b->counts->rows + 1, sizeof *parts->row_points);
    for (size_t i = 0; i < parts->image_count; i++) {
        const io_scene_image *from = &b->scene.images[i];
        const features *f = &b->features[i];
        map_image *image = &parts->images[i];
        *image = (map_image){.name = from->name, .width = f->width, .height = f->height, .first = (uint32_t)parts->row_count};
        image->lens = b->scene.cameras[from->camera].lens;
        memcpy(image->rotation, from->rotation, sizeof image->rotation);
        memcpy(image->translation, from->translation, sizeof image->translation);
        for (size_t k = 0; k < f->keypoints.count; k++) {
            uint32_t point = b->point_of[b->first[i] + k];
            if (point == UINT32_MAX) continue;
            memcpy(parts->rows + parts->row_count * width, f->rows.bytes + k * width, width);
            parts->row_points[parts->row_count++] = point;
        }
        image->count = (uint32_t)parts->row_count - image->first;
    }
}

/* Words of all keypoints, without signatures: 8 bytes per word. */
static bool index_images(building *b, const char *vocabulary, io_vocabulary *words, io_error *error)
{
    kb_index_options o;
    kb_error why;
    KB_INIT(o);
    o.no_signatures = 1;
    if (!photos_vocabulary_open(vocabulary, &b->p->info, words, error)) return false;
    if (kb_index_create(words->vocabulary, &o, NULL, &b->parts.index, &why) != KB_OK)
        return io_fail(error, "%s", why.text);
    for (size_t i = 0; i < b->scene.image_count; i++) {
        kb_features view = features_view(&b->features[i]);
        view.row_bytes = b->parts.row_bytes; /* an image that could not be read has none */
        view.model_id = b->p->info.id;
        if (kb_index_add(b->parts.index, &view, i, NULL, NULL, &why) != KB_OK)
            return io_fail(error, "%s: %s", b->paths.items[i], why.text);
    }
    return true;
}

static void building_free(building *b)
{
    for (size_t i = 0; b->features && i < b->scene.image_count; i++) features_free(&b->features[i]);
    for (size_t i = 0; i < b->pair_count; i++) free(b->pairs[i].edges);
    void *const blocks[] = {b->features, b->first, b->pairs, b->track, b->point_of, b->parts.rows, b->parts.row_points,
                            b->parts.points, b->parts.images};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    kb_index_free(b->parts.index);
    io_names_free(&b->paths);
    io_scene_free(&b->scene);
}

static map_info info_of(const pipeline *p, const io_read_options *reading)
{
    const kb_detect_options *d = &p->options.detect;
    map_info info = {p->info.id, {0}, (int32_t)d->detector, kb_detector_get_info(d->detector).revision,
                     (int32_t)p->options.angles, d->max_keypoints, reading->max_size};
    snprintf(info.model, sizeof info.model, "%s", p->info.spec->name);
    return info;
}

bool map_build(const pipeline *p, const io_read_options *reading, const char *model, const char *images,
               const char *vocabulary, const photos_host *host, const char *output, map_counts *counts, io_error *error)
{
    building b = {.p = p, .reading = reading, .host = host, .counts = counts};
    io_vocabulary words = {0};
    *counts = (map_counts){0};
    if (!io_colmap_model_read(model, &b.scene, error)) return false;
    b.parts.info = info_of(p, reading);
    b.parts.row_bytes = (size_t)p->info.row_bytes;
    bool ok = find_images(&b, images, error) && inputs_spared(&b, model, vocabulary, output, error) &&
              describe_images(&b, error);
    if (ok) choose_neighbours(&b);
    ok = ok && match_pairs(&b, error);
    if (ok) make_points(&b);
    if (ok && counts->points == 0) ok = io_fail(error, "%s: no point is seen by two images; are these its images?", model);
    if (ok) gather_rows(&b);
    ok = ok && index_images(&b, vocabulary, &words, error) && map_write(output, &b.parts, error);
    building_free(&b);
    io_vocabulary_free(&words);
    return ok;
}
