/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a map: head, points, rows, points of rows, images, names, index, checksum; all sections at multiples of 8
 * bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collection/map_inside.h"
#include "io/bytes.h"

#define HEAD 128
#define IMAGE_RECORD 208
static const char map_magic[8] = "KBLMAP1";

static size_t up_to_8(size_t n) { return (n + 7) & ~(size_t)7; }

/* Where the sections begin. */
typedef struct layout {
    uint64_t points, rows, row_points, images, names, index, end;
} layout;

static layout layout_of(uint64_t point_count, uint64_t row_count, uint64_t row_bytes, uint64_t image_count,
                        uint64_t name_bytes, uint64_t index_bytes)
{
    layout l = {.points = HEAD};
    l.rows = l.points + 24 * point_count;
    l.row_points = l.rows + up_to_8(row_count * row_bytes);
    l.images = l.row_points + up_to_8(4 * row_count);
    l.names = l.images + IMAGE_RECORD * image_count;
    l.index = l.names + up_to_8(name_bytes);
    l.end = l.index + up_to_8(index_bytes);
    return l;
}

/* ---- writing ---- */

typedef struct growing {
    uint8_t *data;
    size_t size, room;
} growing;

static kb_status growing_write(void *self, const void *data, size_t size)
{
    growing *g = self;
    if (g->size + size > g->room) {
        g->room = 2 * (g->size + size);
        g->data = io_grow(g->data, g->room, 1);
    }
    memcpy(g->data + g->size, data, size);
    g->size += size;
    return KB_OK;
}

static void put_head(uint8_t *head, const map_parts *p, size_t name_bytes, size_t index_bytes)
{
    memcpy(head, map_magic, 8);
    kbi_put_u64(head + 8, p->point_count);
    kbi_put_u64(head + 16, p->row_count);
    kbi_put_u64(head + 24, p->image_count);
    kbi_put_u64(head + 32, name_bytes);
    kbi_put_u64(head + 40, index_bytes);
    kbi_put_u64(head + 48, p->info.model_id);
    kbi_put_u32(head + 56, (uint32_t)p->row_bytes);
    kbi_put_u32(head + 60, (uint32_t)p->info.detector);
    kbi_put_u32(head + 64, (uint32_t)p->info.revision);
    kbi_put_u32(head + 68, (uint32_t)p->info.orientation);
    kbi_put_u32(head + 72, (uint32_t)p->info.max_keypoints);
    kbi_put_u32(head + 76, (uint32_t)p->info.max_size);
    memcpy(head + 80, p->info.model, sizeof p->info.model);
}

static void put_image(uint8_t *to, const map_image *image, size_t name)
{
    for (int i = 0; i < 9; i++) kbi_put_f64(to + 8 * i, image->rotation[i]);
    for (int i = 0; i < 3; i++) kbi_put_f64(to + 72 + 8 * i, image->translation[i]);
    kbi_put_u32(to + 96, (uint32_t)image->width);
    kbi_put_u32(to + 100, (uint32_t)image->height);
    kbi_put_u32(to + 104, image->first);
    kbi_put_u32(to + 108, image->count);
    kbi_put_u64(to + 112, name);
    const kb_camera *c = &image->lens;
    const double lens[11] = {c->fx, c->fy, c->cx, c->cy, c->k1, c->k2, c->p1, c->p2, c->k3, c->k4, c->fisheye};
    for (int i = 0; i < 11; i++) kbi_put_f64(to + 120 + 8 * i, lens[i]);
}

bool map_write(const char *path, const map_parts *p, io_error *error)
{
    growing index = {0};
    if (kb_index_save(p->index, growing_write, &index) != KB_OK) return io_fail(error, "%s: the index cannot be written", path);
    size_t name_bytes = 0, name = 0;
    for (size_t i = 0; i < p->image_count; i++) name_bytes += strlen(p->images[i].name) + 1;
    layout l = layout_of(p->point_count, p->row_count, p->row_bytes, p->image_count, name_bytes, index.size);
    uint8_t *data = io_alloc((size_t)l.end + 8, 1);
    put_head(data, p, name_bytes, index.size);
    for (size_t i = 0; i < 3 * p->point_count; i++) kbi_put_f64(data + l.points + 8 * i, p->points[i]);
    memcpy(data + l.rows, p->rows, p->row_count * p->row_bytes);
    for (size_t i = 0; i < p->row_count; i++) kbi_put_u32(data + l.row_points + 4 * i, p->row_points[i]);
    for (size_t i = 0; i < p->image_count; i++) {
        size_t length = strlen(p->images[i].name) + 1;
        put_image(data + l.images + IMAGE_RECORD * i, &p->images[i], name);
        memcpy(data + l.names + name, p->images[i].name, length);
        name += length;
    }
    memcpy(data + l.index, index.data, index.size);
    kbi_put_u64(data + l.end, kbi_sum_words(KBI_SUM_START, data, (size_t)l.end));
    bool ok = io_file_write(path, data, (size_t)l.end + 8, error);
    free(data);
    free(index.data);
    return ok;
}

/* ---- reading ---- */

/* Counts that no file of this size can have are caught before they are multiplied. */
static bool head_sound(map *m, layout *l, uint64_t *name_bytes, uint64_t *index_bytes)
{
    const uint8_t *head = m->file.data;
    uint64_t size = m->file.size, counts[5];
    if (size < HEAD + 8 || size % 8 != 0 || memcmp(head, map_magic, 8) != 0) return false;
    for (int i = 0; i < 5; i++)
        if ((counts[i] = kbi_get_u64(head + 8 + 8 * i)) > size) return false;
    m->row_bytes = kbi_get_u32(head + 56);
    if (m->row_bytes < 1 || m->row_bytes > KB_MAX_BITS / 8 || head[80 + 31] != 0) return false;
    *l = layout_of(counts[0], counts[1], m->row_bytes, counts[2], counts[3], counts[4]);
    m->point_count = (size_t)counts[0];
    m->row_count = (size_t)counts[1];
    m->image_count = (size_t)counts[2];
    *name_bytes = counts[3];
    *index_bytes = counts[4];
    m->info = (map_info){kbi_get_u64(head + 48), {0}, (int32_t)kbi_get_u32(head + 60), (int32_t)kbi_get_u32(head + 64),
                         (int32_t)kbi_get_u32(head + 68), (int32_t)kbi_get_u32(head + 72), (int32_t)kbi_get_u32(head + 76)};
    memcpy(m->info.model, head + 80, sizeof m->info.model);
    return l->end + 8 == size && m->row_count <= UINT32_MAX &&
           kbi_sum_words(KBI_SUM_START, head, (size_t)l->end) == kbi_get_u64(head + l->end);
}

static bool image_read(const map *m, const uint8_t *from, const uint8_t *names, uint64_t name_bytes, map_image *out)
{
    bool ok = true;
    for (int i = 0; i < 9; i++) ok = ok && isfinite(out->rotation[i] = kbi_get_f64(from + 8 * i));
    for (int i = 0; i < 3; i++) ok = ok && isfinite(out->translation[i] = kbi_get_f64(from + 72 + 8 * i));
    out->width = (int32_t)kbi_get_u32(from + 96);
    out->height = (int32_t)kbi_get_u32(from + 100);
    out->first = kbi_get_u32(from + 104);
    out->count = kbi_get_u32(from + 108);
    double lens[11];
    for (int i = 0; i < 11; i++) ok = ok && isfinite(lens[i] = kbi_get_f64(from + 120 + 8 * i));
    out->lens = (kb_camera){sizeof out->lens, lens[0], lens[1], lens[2], lens[3], lens[4],
                            lens[5], lens[6], lens[7], lens[8], lens[9], lens[10] == 1};
    uint64_t name = kbi_get_u64(from + 112);
    if (name >= name_bytes || !memchr(names + name, 0, (size_t)(name_bytes - name))) return false;
    out->name = (const char *)names + name;
    return ok && lens[0] > 0 && lens[1] > 0 && out->first <= m->row_count && out->count <= m->row_count - out->first;
}

static bool body_sound(map *m, const layout *l, uint64_t name_bytes)
{
    const uint8_t *data = m->file.data;
    m->points = data + l->points;
    m->rows = data + l->rows;
    m->row_points = data + l->row_points;
    m->images = io_alloc(m->image_count, sizeof *m->images);
    for (size_t i = 0; i < m->image_count; i++)
        if (!image_read(m, data + l->images + IMAGE_RECORD * i, data + l->names, name_bytes, &m->images[i])) return false;
    for (size_t i = 0; i < m->row_count; i++)
        if (map_row_point(m, i) >= m->point_count) return false;
    for (size_t i = 0; i < 3 * m->point_count; i++)
        if (!isfinite(kbi_get_f64(m->points + 8 * i))) return false;
    return true;
}

bool map_open(const char *path, map *out, io_error *error)
{
    layout l;
    uint64_t name_bytes, index_bytes;
    kb_error why;
    kb_index_info info;
    memset(out, 0, sizeof *out);
    if (!io_mapping_open(path, &out->file, error)) return false;
    bool ok = head_sound(out, &l, &name_bytes, &index_bytes) && body_sound(out, &l, name_bytes);
    if (!ok) io_fail(error, "%s: damaged, or no map of keybits", path);
    if (ok && kb_index_load(out->file.data + l.index, (size_t)index_bytes, 0, NULL, &out->index, &why) != KB_OK)
        ok = io_fail(error, "%s: %s", path, why.text);
    KB_INIT(info);
    if (ok && (kb_index_get_info(out->index, &info) != KB_OK || info.images != out->image_count))
        ok = io_fail(error, "%s: its index has %zu images, but the map %zu", path, info.images, out->image_count);
    if (!ok) map_close(out);
    return ok;
}

void map_close(map *m)
{
    kb_index_free(m->index);
    free(m->images);
    if (m->file.data) io_mapping_close(&m->file);
    memset(m, 0, sizeof *m);
}

uint32_t map_row_point(const map *m, size_t row) { return kbi_get_u32(m->row_points + 4 * row); }

void map_point(const map *m, size_t point, double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = kbi_get_f64(m->points + 24 * point + 8 * (size_t)i);
}
