/* SPDX-License-Identifier: Apache-2.0 */
/* The database of COLMAP out of the work folder. */
#include <stdlib.h>

#include "collection/collection.h"

/* A camera of the database, which images of its size and focal length may share. */
typedef struct merge_camera {
    int32_t width, height;
    double focal;
    int64_t id;
} merge_camera;

typedef struct merge_work {
    collection *c;
    io_colmap_db *db;
    int64_t *ids;
    collection_counts *counts;
    io_camera *cameras; /* of images */
    merge_camera *shared; /* cameras so far, where images share them */
    size_t shared_count;
} merge_work;

io_camera collection_camera(const collection *c, const features *f)
{
    if (c->options.camera) return *c->options.camera;
    return f->focal > 0 ? io_camera_of_focal(f->width, f->height, f->focal) : io_camera_guess(f->width, f->height);
}

/* COLMAP's spatial matcher and pose priors begin with these. */
static bool merge_position(const merge_work *w, size_t image, io_error *error)
{
    io_position p;
    if (!io_image_position(w->c->images.items[image], &p)) return true;
    const double prior[3] = {p.latitude, p.longitude, p.altitude};
    return io_colmap_db_set_prior(w->db, w->ids[image], prior, error);
}

/* The database's camera of an image: one that it shares with images before it, or a new one. */
static bool merge_camera_of(merge_work *w, const io_camera *camera, const features *f, int64_t *id, io_error *error)
{
    const merge_camera own = {f->width, f->height, camera->parameters[0], 0};
    const bool shares = w->c->options.camera || w->c->options.one_camera;
    for (size_t i = 0; i < w->shared_count; i++) {
        const merge_camera *other = &w->shared[i];
        if (other->width != own.width || other->height != own.height || other->focal != own.focal) continue;
        *id = other->id;
        return true;
    }
    if (!io_colmap_db_add_camera(w->db, camera, f->width, f->height, id, error)) return false;
    if (!shares) return true;
    w->shared = io_grow(w->shared, w->shared_count + 1, sizeof *w->shared);
    w->shared[w->shared_count] = own;
    w->shared[w->shared_count++].id = *id;
    return true;
}

static bool merge_image(void *context, size_t image, const features *f, io_error *error)
{
    merge_work *w = context;
    int64_t camera;
    w->cameras[image] = collection_camera(w->c, f);
    w->counts->keypoints += f->keypoints.count;
    return merge_camera_of(w, &w->cameras[image], f, &camera, error) &&
           io_colmap_db_add_image(w->db, w->c->names.items[image], camera, &w->ids[image], error) &&
           merge_position(w, image, error) &&
           io_colmap_db_add_keypoints(w->db, w->ids[image], f->keypoints.items, f->keypoints.count, error);
}

static bool merge_pair(void *context, const collection_pair *p, io_error *error)
{
    merge_work *w = context;
    const io_camera *a = &w->cameras[p->a], *b = &w->cameras[p->b];
    const kb_camera lenses[2] = {io_camera_lens(a), io_camera_lens(b)};
    const io_two_view view = {p->geometry, p->model, p->rotation, p->translation, a->known && b->known ? lenses : NULL};
    w->counts->verified++;
    w->counts->matches += p->inliers;
    return io_colmap_db_add_matches(w->db, w->ids[p->a], w->ids[p->b], p->matches, p->count, error) &&
           io_colmap_db_add_geometry(w->db, w->ids[p->a], w->ids[p->b], p->matches, p->inliers, &view, error);
}

/* What would otherwise be noticed only in an empty reconstruction. */
static void warn_of_nothing(const collection *c, const collection_counts *n)
{
    const photos_host *host = &c->options.host;
    size_t empty = 0, first = 0;
    for (size_t i = 0; i < c->images.count; i++)
        if (c->good[i] && c->keypoints[i] == 0 && empty++ == 0) first = i;
    if (empty > 0)
        photos_warn(host, "%zu images have no keypoints, such as %s: are they black or empty?", empty, c->images.items[first]);
    if (n->pairs == 0) photos_warn(host, "%zu images make no pair", n->images);
    else if (n->verified == 0) photos_warn(host, "none of %zu pairs is verified: do the images show one place?", n->pairs);
}

bool collection_merge(collection *c, const char *database, collection_counts *counts, io_error *error)
{
    *counts = (collection_counts){.images = c->images.count - c->failed, .failed = c->failed, .pairs = c->pair_count};
    merge_work w = {.c = c, .counts = counts, .ids = io_alloc(c->images.count + 1, sizeof *w.ids),
                    .cameras = io_alloc(c->images.count + 1, sizeof *w.cameras)};
    bool ok = collection_blocks_ready(c, error) && (w.db = io_colmap_db_create(database, error)) != NULL &&
              collection_each_image(c, merge_image, &w, error) && collection_pairs_read(c, merge_pair, &w, error);
    if (ok) ok = io_colmap_db_commit(w.db, error);
    else io_colmap_db_abandon(w.db);
    free(w.ids);
    free(w.cameras);
    free(w.shared);
    if (ok) warn_of_nothing(c, counts);
    return ok;
}
