/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The index: images come and go. */
#include "common/features.h"
#include "index/index.h"

#include <math.h>

kb_status kb_index_create(const kb_vocabulary *vocabulary, const kb_index_options *options,
                               const kb_allocator *given, kb_index **out, kb_error *error)
{
    kb_index_options o;
    kb_allocator allocator;
    if (out) *out = NULL;
    if (!vocabulary || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (KBI_STRUCT_READ(kb_index_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_allocator_read(&allocator, given, error);
    if (status != KB_OK) return status;
    kb_index *index = kbi_allocate_zeros(&allocator, sizeof *index);
    if (!index) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    index->allocator = allocator;
    index->vocabulary = vocabulary;
    index->signatures = !o.no_signatures;
    index->features = o.keep_features != 0;
    *out = index;
    return KB_OK;
}

void kb_index_free(kb_index *index)
{
    if (!index) return;
    kb_allocator allocator = index->allocator;
    for (size_t i = 0; i < index->count; i++) kbi_deallocate(&allocator, index->images[i].owned);
    for (size_t i = 0; i < index->segment_count; i++) kbi_deallocate(&allocator, index->segments[i].owned);
    kbi_deallocate(&allocator, index->images);
    kbi_deallocate(&allocator, index->norms);
    kb_vocabulary_free(index->owned_vocabulary);
    kbi_deallocate(&allocator, index);
}

/* ---- adding ---- */

static bool index_reserve(kb_index *index)
{
    if (index->count < index->room) return true;
    size_t room = index->room < 16 ? 16 : index->room * 2;
    if (room > INT32_MAX) return false;
    kbi_indexed *images =
        kbi_reallocate(&index->allocator, index->images, index->count * sizeof *images, room, sizeof *images);
    if (images) index->images = images;
    double *norms =
        kbi_reallocate(&index->allocator, index->norms, index->count * sizeof *norms, room, sizeof *norms);
    if (norms) index->norms = norms;
    if (!images || !norms) return false;
    index->room = room;
    return true;
}

/* Rows, points and name of an image in one block. */
static bool keep_image(const kb_index *index, const kb_features *f, const char *name, kbi_indexed *image)
{
    size_t kept = index->features ? f->n : 0, rows = kept * f->row_bytes, points = kept * KBI_POINT;
    uint8_t *block = kbi_allocate(&index->allocator, rows + points + strlen(name) + 1);
    if (!block) return false;
    if (rows > 0) memcpy(block, f->rows, rows);
    for (size_t i = 0; i < kept; i++) {
        const float values[4] = {f->keypoints[i].x, f->keypoints[i].y, f->keypoints[i].size, f->keypoints[i].angle};
        for (size_t k = 0; k < 4; k++) kbi_put_f32(block + rows + i * KBI_POINT + 4 * k, values[k]);
    }
    char *text = (char *)block + rows + points;
    memcpy(text, name, strlen(name) + 1);
    image->owned = block;
    image->name = text;
    image->kept_rows = index->features ? block : NULL;
    image->kept_points = index->features ? block + rows : NULL;
    return true;
}

static kb_status add_bag(kb_index *index, const kb_features *f, uint64_t id, const char *name, const kbi_bag *bag)
{
    kbi_indexed image = {.id = id, .rows = (uint32_t)f->n, .words = (uint32_t)bag->n, .l1 = bag->l1,
                         .self = bag->self, .width = (uint32_t)f->width, .height = (uint32_t)f->height};
    if (!index_reserve(index) || !keep_image(index, f, name, &image)) return KB_E_MEMORY;
    index->norms[index->count] = sqrt((double)image.self);
    index->images[index->count++] = image;
    kb_status status = kbi_segments_add(index, bag, (uint32_t)(index->count - 1));
    if (status != KB_OK) kbi_deallocate(&index->allocator, index->images[--index->count].owned);
    else if (!index->origin.detector) /* the first image that tells decides */
        index->origin = (kb_features){.detector = f->detector, .revision = f->revision, .upright = f->upright,
                                      .max_size = f->max_size};
    return status;
}

kb_status kb_index_add(kb_index *index, const kb_features *features, uint64_t id, const char *name,
                       kb_workspace *workspace, kb_error *error)
{
    kb_features f;
    kbi_error_clear(error);
    if (!index) return kbi_fail(error, KB_E_ARGUMENT, "index is NULL");
    const kb_vocabulary *v = index->vocabulary;
    kb_status status = kbi_features_check(features, &f, v->row_bytes, v->model_id, v->model_name, error);
    if (status != KB_OK) return status;
    status = kbi_features_alike(&index->origin, "the index", &f, "the image", error);
    if (status != KB_OK) return status;
    if (!name) name = "";
    if (strlen(name) > 4095) return kbi_fail(error, KB_E_ARGUMENT, "a name longer than 4095 bytes");
    if (index->features && f.n > 0 && !f.keypoints)
        return kbi_fail(error, KB_E_ARGUMENT, "this index keeps features, but the image has no keypoints");
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    kbi_bag bag;
    status = kbi_bag_create(v, &f, index->signatures, ws, &bag);
    if (status == KB_OK) status = add_bag(index, &f, id, name, &bag);
    return kbi_workspace_end(&local, status, "rows, row_bytes", error);
}

/* ---- removing ---- */

/* The name and the features go at once, the entries when lists are merged. */
static void remove_image(kb_index *index, kbi_indexed *image)
{
    kbi_deallocate(&index->allocator, image->owned);
    image->owned = NULL;
    image->kept_rows = image->kept_points = NULL;
    image->name = "";
    image->removed = true;
    index->removed++;
}

kb_status kb_index_remove(kb_index *index, uint64_t id, size_t *count)
{
    size_t before = index ? index->removed : 0;
    if (count) *count = 0;
    if (!index) return KB_E_ARGUMENT;
    for (size_t i = 0; i < index->count; i++)
        if (index->images[i].id == id && !index->images[i].removed) remove_image(index, &index->images[i]);
    if (count) *count = index->removed - before;
    /* Without memory for it the index stays as it is, only larger. */
    if (index->removed > before && 2 * index->removed >= index->count) (void)kb_index_compact(index);
    return KB_OK;
}

kb_status kb_index_compact(kb_index *index)
{
    if (!index) return KB_E_ARGUMENT;
    if (index->removed == 0 && index->segment_count < 2) return KB_OK;
    uint32_t *map = kbi_index_positions(index);
    if (!map) return KB_E_MEMORY;
    kb_status status = kbi_segments_merge(index, 0, index->segment_count, map);
    if (status == KB_OK) {
        for (size_t i = 0; i < index->count; i++) {
            if (index->images[i].removed) continue;
            index->norms[map[i]] = index->norms[i];
            index->images[map[i]] = index->images[i];
        }
        index->count -= index->removed;
        index->removed = 0;
        index->segments[0].images = index->count;
    }
    kbi_deallocate(&index->allocator, map);
    return status;
}

uint32_t *kbi_index_positions(const kb_index *index)
{
    uint32_t next = 0, *map = kbi_allocate_array(&index->allocator, index->count, sizeof *map);
    for (size_t i = 0; map && i < index->count; i++) map[i] = index->images[i].removed ? UINT32_MAX : next++;
    return map;
}

/* ---- looking into it ---- */

kb_status kb_index_get_info(const kb_index *index, kb_index_info *info)
{
    if (!index || !info) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_CHECK(kb_index_info, info);
    if (status != KB_OK) return status;
    size_t row_bytes = index->vocabulary->row_bytes;
    kb_index_info full = {.struct_size = info->struct_size, .signatures = index->signatures,
                          .features = index->features, .images = index->count - index->removed,
                          .positions = index->count, .bytes = sizeof *index, .detector = index->origin.detector,
                          .revision = index->origin.revision, .upright = index->origin.upright,
                          .max_size = index->origin.max_size, .vocabulary = index->vocabulary};
    for (size_t i = 0; i < index->segment_count; i++) {
        const kbi_segment *s = &index->segments[i];
        full.entries += s->entries;
        full.bytes += s->words * KBI_DIRECTORY_ROW;
        for (int c = 0; c < KBI_COLUMNS; c++)
            full.bytes += s->entries * kbi_column_bytes(c, row_bytes, index->signatures);
    }
    for (size_t i = 0; i < index->count; i++) {
        full.bytes += sizeof *index->images + sizeof *index->norms + strlen(index->images[i].name) + 1;
        if (index->images[i].kept_rows) full.bytes += index->images[i].rows * (uint64_t)(row_bytes + KBI_POINT);
    }
    KBI_STRUCT_WRITE(kb_index_info, info, &full);
    return KB_OK;
}

static kb_status get_features(const kb_index *index, const kbi_indexed *image, kb_features *out, kb_error *error)
{
    const kb_vocabulary *v = index->vocabulary;
    kb_features f;
    kb_status status = kbi_features_read(&f, out, "features", 0, PTRDIFF_MAX, error);
    if (status != KB_OK) return status;
    if (!index->features) return kbi_fail(error, KB_E_KIND, "this index keeps no features");
    f.n = image->removed ? 0 : image->rows;
    if (f.keypoints && f.capacity < f.n)
        return kbi_fail_at(error, KB_E_SPACE, "capacity", -1,
                           "features.capacity is %zu, but the image has %zu keypoints", f.capacity, f.n);
    for (size_t i = 0; f.keypoints && i < f.n; i++) {
        const uint8_t *at = image->kept_points + i * KBI_POINT;
        f.keypoints[i] = (kb_keypoint){.x = kbi_get_f32(at), .y = kbi_get_f32(at + 4), .size = kbi_get_f32(at + 8),
                                       .angle = kbi_get_f32(at + 12), .class_id = -1};
    }
    f.rows = (void *)(uintptr_t)image->kept_rows; /* which is read only */
    f.row_bytes = f.row_stride = v->row_bytes;
    f.rows_size = f.n * v->row_bytes;
    f.model_id = v->model_id;
    f.width = (int32_t)image->width;
    f.height = (int32_t)image->height;
    f.detector = index->origin.detector;
    f.revision = index->origin.revision;
    f.upright = index->origin.upright;
    f.max_size = index->origin.max_size;
    kbi_features_write(out, &f);
    return KB_OK;
}

kb_status kb_index_get_image(const kb_index *index, size_t position, kb_index_image *image, kb_features *features,
                             kb_error *error)
{
    kbi_error_clear(error);
    if (!index) return kbi_fail(error, KB_E_ARGUMENT, "index: a pointer is NULL");
    if (position >= index->count)
        return kbi_fail(error, KB_E_ARGUMENT, "there is no position %zu, but 0 to %zu", position, index->count - 1);
    const kbi_indexed *from = &index->images[position];
    if (image && KBI_STRUCT_CHECK(kb_index_image, image) != KB_OK) return kbi_fail_struct(error);
    if (image) {
        kb_index_image full = {image->struct_size, from->removed, from->id, from->name, from->rows, from->words,
                               (int32_t)from->width, (int32_t)from->height};
        KBI_STRUCT_WRITE(kb_index_image, image, &full);
    }
    return features ? get_features(index, from, features, error) : KB_OK;
}
