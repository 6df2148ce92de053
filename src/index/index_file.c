/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The index file (docs/index-format.md): header, vocabulary, images, names, one segment, kept features, checksum. */
#include "index/index.h"

#include <math.h>

#define HEADER 128
#define ORIGIN 80 /* in the header */
#define IMAGE 56
static const kbi_file_kind index_file = {"index", {0x8b, 'K', 'B', 'I', '\r', '\n', 0x1a, '\n'}, 3, HEADER};

/* The length of each part. */
typedef struct layout {
    uint64_t vocabulary, images, names, words, entries, kept; /* numbers: bytes of vocabulary and names; else counts */
    uint64_t row_bytes;
    bool signatures, features;
} layout;

typedef struct parts {
    uint64_t vocabulary, images, names, directory, column[KBI_COLUMNS], points, rows, sum, size; /* offsets */
} parts;

/* Parts are padded to whole cache lines. */
static uint64_t padded(uint64_t bytes) { return (bytes + KBI_LINE - 1) / KBI_LINE * KBI_LINE; }

static uint64_t part_place(uint64_t *at, uint64_t bytes)
{
    uint64_t place = *at;
    *at += padded(bytes);
    return place;
}

/* False when a file with these sizes does not fit into memory. */
static bool parts_of(const layout *l, parts *p)
{
    const uint64_t max = (uint64_t)1 << 48; /* each factor is below 2^13, so that no sum overflows */
    if (l->vocabulary > max || l->images > INT32_MAX || l->names > max || l->words > INT32_MAX ||
        l->entries > max || l->kept > max)
        return false;
    uint64_t at = HEADER;
    p->vocabulary = part_place(&at, l->vocabulary);
    p->images = part_place(&at, l->images * IMAGE);
    p->names = part_place(&at, l->names);
    p->directory = part_place(&at, l->words * KBI_DIRECTORY_ROW);
    for (int c = 0; c < KBI_COLUMNS; c++)
        p->column[c] = part_place(&at, l->entries * kbi_column_bytes(c, (size_t)l->row_bytes, l->signatures));
    p->points = part_place(&at, l->features ? l->kept * KBI_POINT : 0);
    p->rows = part_place(&at, l->features ? l->kept * l->row_bytes : 0);
    p->sum = at;
    p->size = p->sum + 8;
    return true;
}

/* ---- saving ---- */

/* Passes bytes on and sums them up, eight at a time; parts end with padding, so that words never span two of them. */
typedef struct output {
    kb_write write;
    void *self;
    uint64_t sum;
    uint8_t pending[4096];
    size_t used;
    kb_status status;
} output;

static void output_flush(output *out)
{
    if (out->status == KB_OK && out->used > 0) out->status = out->write(out->self, out->pending, out->used);
    out->used = 0;
}

static void output_bytes(output *out, const void *data, size_t size)
{
    const uint8_t *from = data;
    while (size > 0 && out->status == KB_OK) {
        size_t room = sizeof out->pending - out->used, part = size < room ? size : room;
        memcpy(out->pending + out->used, from, part);
        out->used += part;
        from += part;
        size -= part;
        if (out->used < sizeof out->pending) return;
        out->sum = kbi_sum_words(out->sum, out->pending, out->used);
        output_flush(out);
    }
}

static void output_pad(output *out, uint64_t written)
{
    static const uint8_t zeros[KBI_LINE];
    output_bytes(out, zeros, (size_t)(padded(written) - written));
}

static void output_header(output *out, const layout *l, const parts *p, const kb_features *origin)
{
    uint8_t header[HEADER] = {0};
    memcpy(header, index_file.magic, 8);
    kbi_put_u32(header + 8, index_file.version);
    kbi_put_u32(header + 12, (l->signatures ? 1u : 0u) | (l->features ? 2u : 0u));
    const uint64_t numbers[] = {p->size, l->vocabulary, l->images, l->names, l->words, l->entries, l->kept,
                                l->row_bytes};
    for (size_t i = 0; i < KBI_COUNT(numbers); i++) kbi_put_u64(header + 16 + 8 * i, numbers[i]);
    const int32_t found[] = {(int32_t)origin->detector, origin->revision, origin->upright, origin->max_size};
    for (size_t i = 0; i < KBI_COUNT(found); i++) kbi_put_u32(header + ORIGIN + 4 * i, (uint32_t)found[i]);
    output_bytes(out, header, sizeof header);
}

static void output_images(output *out, const kb_index *index, const layout *l)
{
    uint64_t name = 0, kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        const kbi_indexed *image = &index->images[i];
        uint8_t row[IMAGE];
        if (image->removed) continue;
        kbi_put_u64(row, image->id);
        kbi_put_u32(row + 8, image->rows);
        kbi_put_u32(row + 12, image->words);
        kbi_put_f64(row + 16, image->l1);
        kbi_put_u64(row + 24, image->self);
        kbi_put_u64(row + 32, name);
        kbi_put_u64(row + 40, kept);
        kbi_put_u32(row + 48, image->width);
        kbi_put_u32(row + 52, image->height);
        output_bytes(out, row, sizeof row);
        name += strlen(image->name) + 1;
        kept += index->features ? image->rows : 0;
    }
    output_pad(out, l->images * IMAGE);
    for (size_t i = 0; i < index->count; i++)
        if (!index->images[i].removed) output_bytes(out, index->images[i].name, strlen(index->images[i].name) + 1);
    output_pad(out, name);
}

/* Lists are merged on their way out, once per part, so that saving needs no second copy of them. */
typedef struct list_output {
    output *out;
    const uint32_t *map; /* NULL: positions stay */
    int column;
    size_t bytes; /* per entry of the column */
} list_output;

static void output_row(void *self, uint32_t word, uint64_t entries)
{
    uint8_t row[KBI_DIRECTORY_ROW] = {0};
    kbi_put_u32(row, word);
    kbi_put_u64(row + 8, entries);
    output_bytes(((list_output *)self)->out, row, sizeof row);
}

static void output_run(void *self, const kbi_segment *s, uint64_t from, uint64_t to)
{
    const list_output *o = self;
    const uint8_t *entry = s->column[o->column] + from * o->bytes;
    if (o->column != KBI_COLUMN_ENTRY || !o->map) {
        output_bytes(o->out, entry, (size_t)(to - from) * o->bytes);
        return;
    }
    for (; from < to; from++, entry += o->bytes) {
        uint8_t position[4];
        kbi_put_u32(position, o->map[kbi_get_u32(entry)]);
        output_bytes(o->out, position, 4);
        output_bytes(o->out, entry + 4, o->bytes - 4);
    }
}

static void output_lists(output *out, const kb_index *index, const layout *l, const uint32_t *map)
{
    list_output o = {out, map, 0, 0};
    const kbi_list_visitor rows = {NULL, output_row, &o}, runs = {output_run, NULL, &o};
    kbi_segments_walk(index, 0, index->segment_count, &rows);
    output_pad(out, l->words * KBI_DIRECTORY_ROW);
    for (o.column = 0; o.column < KBI_COLUMNS; o.column++) {
        o.bytes = kbi_column_bytes(o.column, (size_t)l->row_bytes, l->signatures);
        if (o.bytes > 0) kbi_segments_walk(index, 0, index->segment_count, &runs);
        output_pad(out, l->entries * o.bytes);
    }
}

static void output_features(output *out, const kb_index *index, const layout *l)
{
    for (size_t i = 0; i < index->count; i++)
        if (!index->images[i].removed)
            output_bytes(out, index->images[i].kept_points, (size_t)index->images[i].rows * KBI_POINT);
    output_pad(out, l->kept * KBI_POINT);
    for (size_t i = 0; i < index->count; i++)
        if (!index->images[i].removed)
            output_bytes(out, index->images[i].kept_rows, (size_t)(index->images[i].rows * l->row_bytes));
    output_pad(out, l->kept * l->row_bytes);
}

static layout layout_of(const kb_index *index)
{
    kbi_list_count lists = kbi_segments_count(index, 0, index->segment_count);
    layout l = {.vocabulary = index->vocabulary->size, .images = index->count - index->removed, .words = lists.words,
                .entries = lists.entries, .row_bytes = index->vocabulary->row_bytes, .signatures = index->signatures,
                .features = index->features};
    for (size_t i = 0; i < index->count; i++) {
        if (index->images[i].removed) continue;
        l.names += strlen(index->images[i].name) + 1;
        l.kept += index->features ? index->images[i].rows : 0;
    }
    return l;
}

static kb_status save_parts(const kb_index *index, const uint32_t *map, kb_write write, void *self)
{
    layout l = layout_of(index);
    parts p;
    if (!parts_of(&l, &p)) return KB_E_SPACE;
    output out = {.write = write, .self = self, .sum = KBI_SUM_START};
    output_header(&out, &l, &p, &index->origin);
    output_bytes(&out, index->vocabulary->block, index->vocabulary->size);
    output_pad(&out, l.vocabulary);
    output_images(&out, index, &l);
    output_lists(&out, index, &l, map);
    if (index->features) output_features(&out, index, &l);
    uint8_t sum[8];
    kbi_put_u64(sum, kbi_sum_words(out.sum, out.pending, out.used));
    output_flush(&out);
    if (out.status == KB_OK) out.status = write(self, sum, sizeof sum);
    return out.status;
}

kb_status kb_index_save(const kb_index *index, kb_write write, void *self)
{
    if (!index || !write) return KB_E_ARGUMENT;
    uint32_t *map = index->removed > 0 ? kbi_index_positions(index) : NULL;
    if (index->removed > 0 && !map) return KB_E_MEMORY;
    kb_status status = save_parts(index, map, write, self);
    kbi_deallocate(&index->allocator, map);
    return status;
}

/* ---- loading ---- */

static kb_status read_header(const uint8_t *data, size_t size, layout *l, parts *p, kb_error *error)
{
    kb_status status = kbi_head_check(&index_file, data, size, error);
    if (status != KB_OK) return status;
    uint32_t flags = kbi_get_u32(data + 12);
    if (flags > 3) return kbi_fail(error, KB_E_TABLE, "index: unknown flags %x", flags);
    uint64_t says = kbi_get_u64(data + 16), number[7];
    status = kbi_size_check(&index_file, size, says, error);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < 7; i++) number[i] = kbi_get_u64(data + 24 + 8 * i);
    *l = (layout){number[0], number[1], number[2], number[3], number[4], number[5], number[6], flags & 1, flags & 2};
    if (l->row_bytes < 1 || l->row_bytes > 4096 || !parts_of(l, p) || p->size != size || says != size)
        return kbi_fail(error, KB_E_TABLE, "index: %zu bytes, but its header needs another size", size);
    return KB_OK;
}

static kb_status read_origin(const uint8_t *header, kb_features *origin, kb_error *error)
{
    uint32_t number[4];
    for (size_t i = 0; i < 4; i++) number[i] = kbi_get_u32(header + ORIGIN + 4 * i);
    if (number[0] > INT32_MAX || number[1] > INT32_MAX || number[2] > 1 || number[3] > INT32_MAX)
        return kbi_fail(error, KB_E_TABLE, "index: detector %u, revision %u, rows %u and size limit %u are damaged",
                        number[0], number[1], number[2], number[3]);
    *origin = (kb_features){.detector = (kb_detector)number[0], .revision = (int32_t)number[1],
                            .upright = (int32_t)number[2], .max_size = (int32_t)number[3]};
    return KB_OK;
}

/* Where the next name and the next kept row begin. Names must follow each other, so that reading all names takes no
 * longer than reading the file once, even when the file is forged. */
typedef struct cursor {
    uint64_t name, kept;
} cursor;

static kb_status read_image(const uint8_t *data, const layout *l, const parts *p, uint64_t i, cursor *next,
                            kbi_indexed *image, kb_error *error)
{
    const uint8_t *row = data + p->images + i * IMAGE;
    uint64_t name = kbi_get_u64(row + 32), first = kbi_get_u64(row + 40);
    *image = (kbi_indexed){.id = kbi_get_u64(row), .rows = kbi_get_u32(row + 8), .words = kbi_get_u32(row + 12),
                           .l1 = kbi_get_f64(row + 16), .self = kbi_get_u64(row + 24),
                           .width = kbi_get_u32(row + 48), .height = kbi_get_u32(row + 52)};
    if (name != next->name || name >= l->names || first != next->kept ||
        (l->features && image->rows > l->kept - next->kept) || image->rows > INT32_MAX || image->width > INT32_MAX ||
        image->height > INT32_MAX || !(image->l1 >= 0 && image->l1 <= 1e300))
        return kbi_fail(error, KB_E_TABLE, "index: image %llu is damaged", (unsigned long long)i);
    image->name = (const char *)data + p->names + name;
    next->name += strlen(image->name) + 1; /* the last one ends inside the part */
    if (!l->features) return KB_OK;
    image->kept_points = data + p->points + first * KBI_POINT;
    image->kept_rows = data + p->rows + first * l->row_bytes;
    next->kept += image->rows;
    return KB_OK;
}

static kb_status read_images(kb_index *index, const uint8_t *data, const layout *l, const parts *p, kb_error *error)
{
    cursor next = {0, 0};
    if (l->names > 0 && data[p->names + l->names - 1] != 0)
        return kbi_fail(error, KB_E_TABLE, "index: the last name has no end");
    index->room = (size_t)l->images;
    index->images = kbi_allocate_array(&index->allocator, (size_t)l->images, sizeof *index->images);
    index->norms = kbi_allocate_array(&index->allocator, (size_t)l->images, sizeof *index->norms);
    if (!index->images || !index->norms)
        return kbi_fail(error, KB_E_MEMORY, "no memory for %llu images", (unsigned long long)l->images);
    for (uint64_t i = 0; i < l->images; i++) {
        kb_status status = read_image(data, l, p, i, &next, &index->images[i], error);
        if (status != KB_OK) return status;
        index->norms[i] = sqrt((double)index->images[i].self);
        index->count++;
    }
    if (next.name != l->names || next.kept != l->kept)
        return kbi_fail(error, KB_E_TABLE, "index: names or kept features do not add up");
    return KB_OK;
}

static kb_status read_segment(kb_index *index, const uint8_t *data, const layout *l, const parts *p, kb_error *error)
{
    kbi_segment s = {.images = (size_t)l->images, .words = (size_t)l->words, .entries = l->entries,
                     .directory = data + p->directory,
                     .entry_bytes = kbi_column_bytes(KBI_COLUMN_ENTRY, (size_t)l->row_bytes, l->signatures)};
    for (int c = 0; c < KBI_COLUMNS; c++)
        if (kbi_column_bytes(c, (size_t)l->row_bytes, l->signatures) > 0) s.column[c] = data + p->column[c];
    uint64_t before = 0;
    for (size_t i = 0; i < s.words; i++) {
        uint64_t end = kbi_get_u64(s.directory + i * KBI_DIRECTORY_ROW + 8);
        if (end <= before || end > s.entries || kbi_directory_word(&s, i) >= index->vocabulary->words ||
            (i > 0 && kbi_directory_word(&s, i) <= kbi_directory_word(&s, i - 1)))
            return kbi_fail(error, KB_E_TABLE, "index: row %zu of the directory is damaged", i);
        before = end;
    }
    if (before != s.entries) return kbi_fail(error, KB_E_TABLE, "index: lists do not add up");
    if (l->images > 0) index->segments[index->segment_count++] = s;
    return KB_OK;
}

kb_status kb_index_load(const void *data, size_t size, int32_t check, const kb_allocator *given, kb_index **out,
                        kb_error *error)
{
    kb_allocator allocator;
    layout l = {0};
    parts p = {0};
    if (out) *out = NULL;
    if (!data || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_status status = kbi_allocator_read(&allocator, given, error);
    if (status == KB_OK) status = read_header(data, size, &l, &p, error);
    if (status != KB_OK) return status;
    kb_index *index = kbi_allocate_zeros(&allocator, sizeof *index);
    if (!index) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    index->allocator = allocator;
    index->signatures = l.signatures;
    index->features = l.features;
    status = kb_vocabulary_load((const uint8_t *)data + p.vocabulary, (size_t)l.vocabulary, &allocator,
                                &index->owned_vocabulary, error);
    index->vocabulary = index->owned_vocabulary;
    if (status == KB_OK && index->vocabulary->row_bytes != l.row_bytes)
        status = kbi_fail(error, KB_E_TABLE, "index: rows of another length than the vocabulary's");
    if (status == KB_OK) status = read_origin(data, &index->origin, error);
    if (status == KB_OK) status = read_images(index, data, &l, &p, error);
    if (status == KB_OK) status = read_segment(index, data, &l, &p, error);
    const uint8_t *sum = (const uint8_t *)data + p.sum;
    if (status == KB_OK && check && kbi_sum_words(KBI_SUM_START, data, (size_t)p.sum) != kbi_get_u64(sum))
        status = kbi_fail(error, KB_E_CHECKSUM, "the index is damaged: its checksum is wrong");
    if (status == KB_OK) *out = index;
    else kb_index_free(index);
    return status;
}
