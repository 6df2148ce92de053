/* SPDX-License-Identifier: Apache-2.0 */
/* The index: images come and go. */
#include "common/features.h"
#include "index/index.h"

#include <math.h>

kb_status kb_index_create(const kb_vocabulary *vocabulary, const kb_index_options *options, kb_index **out,
                          kb_error *error)
{
    return kb_index_create_with(vocabulary, options, NULL, out, error);
}

kb_status kb_index_create_with(const kb_vocabulary *vocabulary, const kb_index_options *options,
                               const kb_allocator *given, kb_index **out, kb_error *error)
{
    kb_index_options o;
    kb_allocator allocator;
    if (out) *out = NULL;
    if (!vocabulary || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (KBI_STRUCT_READ(kb_index_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_index_allocator(&allocator, given, error);
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
    size_t mark = kbi_workspace_mark(ws);
    kbi_bag bag;
    status = kbi_bag_create(v, &f, index->signatures, ws, &bag, error);
    if (status == KB_OK) {
        status = add_bag(index, &f, id, name, &bag);
        if (status != KB_OK) kbi_fail(error, status, "no memory for another image");
    }
    kbi_workspace_rewind(ws, mark);
    kbi_workspace_release(&local);
    return status;
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

const kb_vocabulary *kb_index_get_vocabulary(const kb_index *index) { return index ? index->vocabulary : NULL; }

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
                          .max_size = index->origin.max_size};
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

kb_status kb_index_get_features(const kb_index *index, size_t position, kb_keypoint *keypoints, const uint8_t **rows,
                                size_t *count)
{
    if (count) *count = 0;
    if (rows) *rows = NULL;
    if (!index || position >= index->count) return KB_E_ARGUMENT;
    if (!index->features) return KB_E_KIND;
    const kbi_indexed *image = &index->images[position];
    if (image->removed) return KB_OK;
    if (count) *count = image->rows;
    if (rows) *rows = image->kept_rows;
    for (size_t i = 0; keypoints && i < image->rows; i++) {
        const uint8_t *at = image->kept_points + i * KBI_POINT;
        keypoints[i] = (kb_keypoint){.x = kbi_get_f32(at), .y = kbi_get_f32(at + 4), .size = kbi_get_f32(at + 8),
                                     .angle = kbi_get_f32(at + 12), .class_id = -1};
    }
    return KB_OK;
}

kb_status kb_index_get_size(const kb_index *index, size_t position, int32_t *width, int32_t *height)
{
    if (!index || position >= index->count || !width || !height) return KB_E_ARGUMENT;
    *width = (int32_t)index->images[position].width;
    *height = (int32_t)index->images[position].height;
    return KB_OK;
}

int32_t kb_index_get_image(const kb_index *index, size_t position, kb_index_image *image)
{
    if (!index || !image || position >= index->count) return 0;
    const kbi_indexed *from = &index->images[position];
    *image = (kb_index_image){from->id, from->name, from->rows, from->words, from->removed};
    return 1;
}
