/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/verify.h"

#include <stdlib.h>
#include <string.h>

#include "eval/facade.h"
#include "io/colmap_model.h"

#define THRESHOLD_PX 3.0 /* kb_verify_options.threshold */
#define FACADE_SEED 1000 /* of the first facade, */
#define VIEW_SEED 5000   /* and of its first view */

const char *ev_verify_kind_name(ev_verify_kind kind)
{
    static const char *const names[EV_VERIFY_KINDS] = {"unrelated", "shared", "facades", "one facade"};
    return names[kind];
}

ev_verify_image *ev_verify_add(ev_verify *v, const char *name, int32_t folder, features *f)
{
    v->images = io_grow(v->images, v->image_count + 1, sizeof *v->images);
    ev_verify_image *image = &v->images[v->image_count++];
    *image = (ev_verify_image){io_copy_string(name), folder, 1, *f};
    memset(f, 0, sizeof *f);
    return image;
}

void ev_verify_free(ev_verify *v)
{
    for (size_t i = 0; i < v->image_count; i++) {
        free(v->images[i].name);
        features_free(&v->images[i].f);
    }
    free(v->images);
    free(v->pairs);
    memset(v, 0, sizeof *v);
}

/* ---- pairs ---- */

static void add_pair(ev_verify *v, ev_verify_kind kind, size_t a, size_t b, int32_t points)
{
    v->pairs = io_grow(v->pairs, v->pair_count + 1, sizeof *v->pairs);
    v->pairs[v->pair_count++] = (ev_verify_pair){.a = a, .b = b, .kind = kind, .points = points};
}

/* Up to `most` images of a folder, evenly. */
static size_t choose(const ev_verify *v, int32_t folder, size_t most, size_t *out)
{
    size_t total = 0, seen = 0, n = 0;
    for (size_t i = 0; i < v->image_count; i++) total += v->images[i].folder == folder;
    size_t wanted = total < most ? total : most;
    for (size_t i = 0; i < v->image_count; i++) {
        if (v->images[i].folder != folder) continue;
        if (seen * wanted % total < wanted) out[n++] = i;
        seen++;
    }
    return n;
}

void ev_verify_unrelated(ev_verify *v, int32_t folder, int32_t other, size_t most)
{
    size_t *a = io_alloc(v->image_count, sizeof *a), *b = io_alloc(v->image_count, sizeof *b);
    size_t na = choose(v, folder, most, a), nb = choose(v, other, most, b);
    for (size_t i = 0; i < na; i++)
        for (size_t k = 0; k < nb; k++) add_pair(v, EV_VERIFY_UNRELATED, a[i], b[k], 0);
    free(a);
    free(b);
}

/* ---- reconstructions ---- */

static const io_scene_image *scene_image(const io_scene *scene, const char *path)
{
    const char *base = io_path_base(path);
    for (size_t i = 0; i < scene->image_count; i++)
        if (strcmp(io_path_base(scene->images[i].name), base) == 0) return &scene->images[i];
    return NULL;
}

bool ev_verify_shared(ev_verify *v, int32_t folder, const char *model, int32_t points, io_error *error)
{
    io_scene scene;
    if (!io_colmap_model_read(model, &scene, error)) return false;
    uint64_t **ids = io_alloc(v->image_count, sizeof *ids);
    size_t *counts = io_alloc(v->image_count, sizeof *counts), n = v->image_count;
    for (size_t i = 0; i < n; i++) {
        const io_scene_image *image = v->images[i].folder == folder ? scene_image(&scene, v->images[i].name) : NULL;
        ids[i] = image ? io_scene_seen(image, &counts[i]) : NULL;
        for (size_t k = 0; ids[i] && k < i; k++) {
            int32_t common = ids[k] ? (int32_t)io_scene_common(ids[i], counts[i], ids[k], counts[k], NULL) : 0;
            if (common >= points) add_pair(v, EV_VERIFY_SHARED, k, i, common);
        }
    }
    for (size_t i = 0; i < n; i++) free(ids[i]);
    free(ids);
    free(counts);
    io_scene_free(&scene);
    return true;
}

/* ---- facades ---- */

static bool add_view(ev_verify *v, const pipeline *p, const facade *f, uint32_t view, io_error *error)
{
    features found = {0};
    char name[32];
    uint8_t *pixels = facade_render(f, VIEW_SEED + view);
    if (!pixels) return io_fail(error, "out of memory");
    kb_image image = {.data = pixels, .width = FACADE_WIDTH, .height = FACADE_HEIGHT, .stride = FACADE_WIDTH,
                      .format = KB_FORMAT_GRAY8};
    snprintf(name, sizeof name, "facade %u view %u", view / 2, view % 2);
    bool ok = pipeline_describe(p, name, &image, false, &found, NULL, error);
    if (ok) ev_verify_add(v, name, -1, &found);
    features_free(&found);
    free(pixels);
    return ok;
}

bool ev_verify_facades(ev_verify *v, const pipeline *p, int32_t n, io_error *error)
{
    size_t first = v->image_count;
    for (int32_t i = 0; i < n; i++) {
        facade f = facade_make(FACADE_SEED + (uint32_t)i);
        for (uint32_t view = 0; view < 2; view++)
            if (!add_view(v, p, &f, 2 * (uint32_t)i + view, error)) return false;
    }
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t k = i; k < (size_t)n; k++)
            add_pair(v, i == k ? EV_VERIFY_ONE_FACADE : EV_VERIFY_FACADES, first + 2 * i, first + 2 * k + 1, 0);
    return true;
}

/* ---- verification ---- */

static void verify_task(void *context, int32_t i)
{
    ev_verify *v = context;
    ev_verify_pair *pair = &v->pairs[i];
    const ev_verify_image *a = &v->images[pair->a], *b = &v->images[pair->b];
    kb_features view_a = features_view(&a->f), view_b = features_view(&b->f);
    kb_verify_options o;
    kb_match *matches = io_alloc(view_a.n + 1, sizeof *matches);
    uint8_t *inliers = io_alloc(view_a.n + 1, 1);
    KB_INIT(o);
    KB_INIT(pair->found);
    o.upright_a = a->f.upright_rows;
    o.upright_b = b->f.upright_rows;
    o.threshold = THRESHOLD_PX * (a->step > b->step ? a->step : b->step);
    pair->status = kb_pair_verify(&view_a, &view_b, &o, NULL, matches, inliers, &pair->found, NULL);
    free(matches);
    free(inliers);
}

bool ev_verify_run(ev_verify *v, const kb_parallel *parallel, io_error *error)
{
    if (parallel && parallel->threads > 1) parallel->run(parallel->self, (int32_t)v->pair_count, verify_task, v);
    else
        for (size_t i = 0; i < v->pair_count; i++) verify_task(v, (int32_t)i);
    for (size_t i = 0; i < v->pair_count; i++)
        if (v->pairs[i].status != KB_OK)
            return io_fail(error, "%s and %s: %s", v->images[v->pairs[i].a].name, v->images[v->pairs[i].b].name,
                           kb_status_string(v->pairs[i].status));
    return true;
}
