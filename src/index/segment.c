/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Segments of inverted lists: making one out of an image, and merging. */
#include "index/index.h"

/* A segment that is being filled. */
typedef struct segment_writer {
    kbi_segment *s;
    uint8_t *directory, *column[KBI_COLUMNS];
    size_t bytes[KBI_COLUMNS]; /* per entry */
} segment_writer;

static bool writer_create(segment_writer *w, kbi_segment *s, const kb_index *index, size_t words, uint64_t entries)
{
    size_t per_entry = 0;
    *w = (segment_writer){.s = s};
    for (int c = 0; c < KBI_COLUMNS; c++)
        per_entry += w->bytes[c] = kbi_column_bytes(c, index->vocabulary->row_bytes, index->signatures);
    if (entries > (SIZE_MAX / 2) / per_entry || words > SIZE_MAX / 2 / KBI_DIRECTORY_ROW) return false;
    size_t bytes = words * KBI_DIRECTORY_ROW + (size_t)entries * per_entry + KBI_COLUMNS * KBI_LINE;
    uint8_t *block = kbi_allocate(&index->allocator, bytes);
    if (!block) return false;
    *s = (kbi_segment){.owned = block, .directory = block, .entry_bytes = w->bytes[KBI_COLUMN_ENTRY]};
    w->directory = block;
    block += words * KBI_DIRECTORY_ROW;
    for (int c = 0; c < KBI_COLUMNS; c++) {
        block += (KBI_LINE - (uintptr_t)block % KBI_LINE) % KBI_LINE;
        if (w->bytes[c] > 0) s->column[c] = w->column[c] = block;
        block += (size_t)entries * w->bytes[c];
    }
    return true;
}

/* The entries at the writer's place are written. */
static void writer_advance(segment_writer *w, size_t count)
{
    for (int c = 0; c < KBI_COLUMNS; c++)
        if (w->bytes[c] > 0) w->column[c] += count * w->bytes[c];
    w->s->entries += count;
}

/* Ends the list of a word. */
static void writer_word(segment_writer *w, uint32_t word)
{
    kbi_put_u32(w->directory, word);
    kbi_put_u32(w->directory + 4, 0);
    kbi_put_u64(w->directory + 8, w->s->entries);
    w->directory += KBI_DIRECTORY_ROW;
    w->s->words++;
}

/* ---- the lists of several segments as one ---- */

/* The min word at the cursors; UINT64_MAX: all cursors are at their ends. */
static uint64_t least_word(const kbi_segment *segments, size_t count, const size_t *cursor)
{
    uint64_t min = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (cursor[i] >= segments[i].words) continue;
        uint32_t word = kbi_directory_word(&segments[i], cursor[i]);
        if (word < min) min = word;
    }
    return min;
}

static bool entry_stays(const kb_index *index, const kbi_segment *s, uint64_t entry)
{
    uint32_t image = kbi_entry_image(s, entry);
    return image < index->count && !index->images[image].removed;
}

static uint64_t walk_list(const kb_index *index, const kbi_segment *s, size_t row, const kbi_list_visitor *visitor)
{
    uint64_t from, to, end, count = 0;
    kbi_directory_range(s, row, &from, &end);
    for (; from < end; from = to + 1) {
        for (to = from; to < end && entry_stays(index, s, to);) to++;
        if (to > from && visitor->run) visitor->run(visitor->self, s, from, to);
        count += to - from;
    }
    return count;
}

void kbi_segments_walk(const kb_index *index, size_t first, size_t count, const kbi_list_visitor *visitor)
{
    const kbi_segment *segments = index->segments + first;
    size_t words = 0, cursor[KBI_MAX_SEGMENTS] = {0};
    uint64_t entries = 0, word;
    while ((word = least_word(segments, count, cursor)) != UINT64_MAX && words < index->vocabulary->words) {
        uint64_t before = entries;
        for (size_t i = 0; i < count; i++)
            if (cursor[i] < segments[i].words && kbi_directory_word(&segments[i], cursor[i]) == word)
                entries += walk_list(index, &segments[i], cursor[i]++, visitor);
        if (entries == before) continue; /* a list without entries has no row in the directory */
        words++;
        if (visitor->word) visitor->word(visitor->self, (uint32_t)word, entries);
    }
}

/* ---- merging ---- */

typedef struct merge_job {
    segment_writer w;
    const uint32_t *map;
} merge_job;

static void merge_run(void *self, const kbi_segment *s, uint64_t from, uint64_t to)
{
    merge_job *m = self;
    segment_writer *w = &m->w;
    size_t count = (size_t)(to - from);
    for (int c = 0; c < KBI_COLUMNS; c++)
        if (w->bytes[c] > 0) memcpy(w->column[c], s->column[c] + from * w->bytes[c], count * w->bytes[c]);
    uint8_t *entry = w->column[KBI_COLUMN_ENTRY];
    for (size_t i = 0; m->map && i < count; i++, entry += s->entry_bytes)
        kbi_put_u32(entry, m->map[kbi_get_u32(entry)]);
    writer_advance(w, count);
}

static void merge_word(void *self, uint32_t word, uint64_t entries)
{
    (void)entries;
    writer_word(&((merge_job *)self)->w, word);
}

static void count_word(void *self, uint32_t word, uint64_t entries)
{
    kbi_list_count *c = self;
    (void)word;
    c->words++;
    c->entries = entries;
}

kbi_list_count kbi_segments_count(const kb_index *index, size_t first, size_t count)
{
    kbi_list_count c = {0, 0};
    kbi_list_visitor visitor = {NULL, count_word, &c};
    kbi_segments_walk(index, first, count, &visitor);
    return c;
}

kb_status kbi_segments_merge(kb_index *index, size_t first, size_t count, const uint32_t *map)
{
    kbi_segment *segments = index->segments + first, merged;
    merge_job m = {.map = map};
    kbi_list_visitor visitor = {merge_run, merge_word, &m};
    kbi_list_count room = {0, 0};
    size_t images = 0;
    for (size_t i = 0; i < count; i++) {
        images += segments[i].images;
        room.words += segments[i].words;
        room.entries += segments[i].entries;
    }
    if (index->removed > 0) room = kbi_segments_count(index, first, count); /* no room for removed images */
    if (room.words > index->vocabulary->words) room.words = index->vocabulary->words;
    if (!writer_create(&m.w, &merged, index, room.words, room.entries)) return KB_E_MEMORY;
    kbi_segments_walk(index, first, count, &visitor);
    merged.images = images;
    for (size_t i = 0; i < count; i++) kbi_deallocate(&index->allocator, segments[i].owned);
    segments[0] = merged;
    memmove(segments + 1, segments + count, (index->segment_count - first - count) * sizeof *segments);
    index->segment_count -= count - 1;
    return KB_OK;
}

static void bag_entry(const kb_index *index, const kbi_bag *bag, size_t i, uint32_t position, segment_writer *w)
{
    size_t row_bytes = index->vocabulary->row_bytes;
    uint8_t *entry = w->column[KBI_COLUMN_ENTRY];
    kbi_put_u32(entry, position);
    kbi_put_u32(entry + 4, bag->count[i]);
    if (bag->signature) {
        const uint8_t *signature = bag->signature + i * row_bytes;
        /* the column is there when rows are: NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
        memset(w->column[KBI_COLUMN_HEAD], 0, KBI_HEAD);
        memcpy(w->column[KBI_COLUMN_HEAD], signature, row_bytes < KBI_HEAD ? row_bytes : KBI_HEAD);
        memcpy(entry + KBI_ENTRY, signature + (row_bytes < KBI_HEAD ? row_bytes : KBI_HEAD), kbi_tail_bytes(row_bytes));
    }
    writer_advance(w, 1);
}

kb_status kbi_segments_add(kb_index *index, const kbi_bag *bag, uint32_t position)
{
    kbi_segment s;
    segment_writer w;
    if (!writer_create(&w, &s, index, bag->n, bag->n)) return KB_E_MEMORY;
    for (size_t i = 0; i < bag->n; i++) {
        bag_entry(index, bag, i, position, &w);
        writer_word(&w, bag->word[i]);
    }
    s.images = 1;
    size_t last = index->segment_count++, first = last, images = 1;
    index->segments[last] = s;
    while (first > 0 && images * KBI_MERGE_RATIO >= index->segments[first - 1].images)
        images += index->segments[--first].images;
    if (first == last) return KB_OK;
    kb_status status = kbi_segments_merge(index, first, last - first + 1, NULL);
    if (status == KB_OK || index->segment_count < KBI_MAX_SEGMENTS) return KB_OK; /* unmerged is as good, only slower */
    kbi_deallocate(&index->allocator, index->segments[last].owned);
    index->segment_count--;
    return status;
}
