/* Segments of inverted lists: making one out of an image, and merging. */
#include <stdlib.h>

#include "index/index.h"

/* A segment that is being filled. */
typedef struct segment_writer {
    kbi_segment *s;
    uint8_t *directory, *entry, *signature;
    size_t row_bytes;
} segment_writer;

static bool writer_create(segment_writer *w, kbi_segment *s, size_t words, uint64_t entries, size_t row_bytes,
                          bool signatures)
{
    size_t per_entry = KBI_ENTRY + (signatures ? row_bytes : 0);
    if (entries > (SIZE_MAX / 2) / per_entry || words > SIZE_MAX / 2 / KBI_DIRECTORY_ROW) return false;
    size_t bytes = words * KBI_DIRECTORY_ROW + (size_t)entries * per_entry;
    uint8_t *block = malloc(bytes ? bytes : 1);
    if (!block) return false;
    *s = (kbi_segment){.owned = block, .directory = block, .entry = block + words * KBI_DIRECTORY_ROW};
    if (signatures) s->signature = s->entry + (size_t)entries * KBI_ENTRY;
    *w = (segment_writer){s, block, block + words * KBI_DIRECTORY_ROW, NULL, row_bytes};
    if (signatures) w->signature = w->entry + (size_t)entries * KBI_ENTRY;
    return true;
}

static void writer_entry(segment_writer *w, uint32_t image, uint32_t count, const uint8_t *signature)
{
    kbi_put_u32(w->entry, image);
    kbi_put_u32(w->entry + 4, count);
    w->entry += KBI_ENTRY;
    if (w->signature) {
        memcpy(w->signature, signature, w->row_bytes);
        w->signature += w->row_bytes;
    }
    w->s->entries++;
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
    kbi_directory_range(s, row, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        const uint8_t *entry = s->entry + i * KBI_ENTRY;
        uint32_t image = kbi_get_u32(entry);
        if (image >= index->count || index->images[image].removed) continue;
        writer_entry(w, map ? map[image] : image, kbi_get_u32(entry + 4),
                     s->signature ? s->signature + i * index->vocabulary->row_bytes : NULL);
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
    if (!writer_create(&w, &merged, words, entries, index->vocabulary->row_bytes, index->signatures))
        return KB_E_MEMORY;
    while ((word = least_word(segments, count, cursor)) != UINT64_MAX && merged.words < words) {
        uint64_t before = merged.entries;
        for (size_t i = 0; i < count; i++) {
            if (cursor[i] >= segments[i].words || kbi_directory_word(&segments[i], cursor[i]) != word) continue;
            copy_list(index, &segments[i], cursor[i]++, map, &w);
        }
        writer_word(&w, (uint32_t)word, before);
    }
    merged.images = images;
    for (size_t i = 0; i < count; i++) free(segments[i].owned);
    segments[0] = merged;
    memmove(segments + 1, segments + count, (index->segment_count - first - count) * sizeof *segments);
    index->segment_count -= count - 1;
    return KB_OK;
}

kb_status kbi_segments_add(kb_index *index, const kbi_bag *bag, uint32_t position)
{
    kbi_segment s;
    segment_writer w;
    if (!writer_create(&w, &s, bag->n, bag->n, index->vocabulary->row_bytes, index->signatures)) return KB_E_MEMORY;
    for (size_t i = 0; i < bag->n; i++) {
        writer_entry(&w, position, bag->count[i],
                     bag->signature ? bag->signature + i * index->vocabulary->row_bytes : NULL);
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
        free(index->segments[last].owned);
        index->segment_count--;
        return status;
    }
    return KB_OK;
}
