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
    size_t bytes = words * KBI_DIRECTORY_ROW + (size_t)entries * per_entry;
    uint8_t *block = kbi_allocate(&index->allocator, bytes);
    if (!block) return false;
    *s = (kbi_segment){.owned = block, .directory = block};
    w->directory = block;
    block += words * KBI_DIRECTORY_ROW;
    for (int c = 0; c < KBI_COLUMNS; c++) {
        if (w->bytes[c] > 0) s->column[c] = w->column[c] = block;
        block += (size_t)entries * w->bytes[c];
    }
    return true;
}

/* Appends `count` entries of columns. */
static void writer_entries(segment_writer *w, const uint8_t *const from[KBI_COLUMNS], size_t count)
{
    for (int c = 0; c < KBI_COLUMNS; c++) {
        if (w->bytes[c] == 0 || !from[c]) continue; /* a column that is not kept */
        memcpy(w->column[c], from[c], count * w->bytes[c]);
        w->column[c] += count * w->bytes[c];
    }
    w->s->entries += count;
}

/* Ends the list of a word; a list without entries leaves no trace. */
static void writer_word(segment_writer *w, uint32_t word, uint64_t entries_before)
{
    if (w->s->entries == entries_before) return;
    kbi_put_u32(w->directory, word);
    kbi_put_u32(w->directory + 4, 0);
    kbi_put_u64(w->directory + 8, w->s->entries);
    w->directory += KBI_DIRECTORY_ROW;
    w->s->words++;
}

/* ---- merging ---- */

/* The least word at the cursors; UINT64_MAX: all are at their ends. */
static uint64_t least_word(const kbi_segment *segments, size_t count, const size_t *cursor)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (cursor[i] >= segments[i].words) continue;
        uint32_t word = kbi_directory_word(&segments[i], cursor[i]);
        if (word < least) least = word;
    }
    return least;
}

static void copy_list(const kb_index *index, const kbi_segment *s, size_t row, const uint32_t *map, segment_writer *w)
{
    uint64_t begin, end;
    const uint8_t *from[KBI_COLUMNS];
    kbi_directory_range(s, row, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint32_t image = kbi_entry_image(s, i);
        if (image >= index->count || index->images[image].removed) continue;
        uint8_t *to = w->column[KBI_COLUMN_IMAGE];
        for (int c = 0; c < KBI_COLUMNS; c++) from[c] = s->column[c] ? s->column[c] + i * w->bytes[c] : NULL;
        writer_entries(w, from, 1);
        if (map) kbi_put_u32(to, map[image]);
    }
}

kb_status kbi_segments_merge(kb_index *index, size_t first, size_t count, const uint32_t *map)
{
    kbi_segment *segments = index->segments + first, merged;
    size_t words = 0, images = 0, cursor[KBI_MAX_SEGMENTS] = {0};
    uint64_t entries = 0, word;
    for (size_t i = 0; i < count; i++) {
        images += segments[i].images;
        words += segments[i].words;
        entries += segments[i].entries;
    }
    if (words > index->vocabulary->words) words = index->vocabulary->words;
    segment_writer w;
    if (!writer_create(&w, &merged, index, words, entries)) return KB_E_MEMORY;
    while ((word = least_word(segments, count, cursor)) != UINT64_MAX && merged.words < words) {
        uint64_t before = merged.entries;
        for (size_t i = 0; i < count; i++) {
            if (cursor[i] >= segments[i].words || kbi_directory_word(&segments[i], cursor[i]) != word) continue;
            copy_list(index, &segments[i], cursor[i]++, map, &w);
        }
        writer_word(&w, (uint32_t)word, before);
    }
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
    uint8_t image[4], count[4], head[KBI_HEAD] = {0};
    const uint8_t *signature = bag->signature ? bag->signature + i * row_bytes : NULL;
    kbi_put_u32(image, position);
    kbi_put_u32(count, bag->count[i]);
    if (signature) memcpy(head, signature, row_bytes < KBI_HEAD ? row_bytes : KBI_HEAD);
    const uint8_t *const from[KBI_COLUMNS] = {image, count, head, w->bytes[KBI_COLUMN_TAIL] ? signature + KBI_HEAD : NULL};
    writer_entries(w, from, 1);
}

kb_status kbi_segments_add(kb_index *index, const kbi_bag *bag, uint32_t position)
{
    kbi_segment s;
    segment_writer w;
    if (!writer_create(&w, &s, index, bag->n, bag->n)) return KB_E_MEMORY;
    for (size_t i = 0; i < bag->n; i++) {
        bag_entry(index, bag, i, position, &w);
        writer_word(&w, bag->word[i], s.entries - 1);
    }
    s.images = 1;
    index->segments[index->segment_count++] = s;
    while (index->segment_count > 1) {
        size_t last = index->segment_count - 1;
        if (index->segments[last].images < index->segments[last - 1].images) break;
        kb_status status = kbi_segments_merge(index, last - 1, 2, NULL);
        if (status == KB_OK) continue;
        if (index->segment_count < KBI_MAX_SEGMENTS) break; /* unmerged is as good, only slower */
        kbi_deallocate(&index->allocator, index->segments[last].owned);
        index->segment_count--;
        return status;
    }
    return KB_OK;
}
