/* SPDX-License-Identifier: Apache-2.0 */
/* Patch-set files into memory: whole, or a sample of their points. */
#include <stdlib.h>
#include <string.h>

#include "common/common.h"
#include "pipeline/patch_load.h"

/* Where a patch stands on disk. */
typedef struct entry {
    uint32_t file, label;
    uint64_t index;
} entry;

/* The patches of one point among the sorted entries. */
typedef struct group {
    size_t start, count;
} group;

typedef struct loader {
    const char *const *paths;
    size_t files;
    io_patch_reader **reader;
    uint64_t *patches;     /* of every file */
    uint32_t *view_offset; /* of every file */
    entry *entries;
    size_t entry_count;
    group *groups;
    size_t group_count;
} loader;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_groups(const void *left, const void *right)
{
    const group *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static bool open_files(loader *l, bool any_support, kbi_patch_set *set, io_error *error)
{
    uint64_t total = 0;
    for (size_t f = 0; f < l->files; f++) {
        io_patch_info info;
        l->reader[f] = io_patch_reader_open(l->paths[f], &info, error);
        if (!l->reader[f]) return false;
        if (f > 0 && info.side != set->side)
            return io_fail(error, "%s: patches of side %d, but %s has side %d", l->paths[f], info.side, l->paths[0],
                           set->side);
        set->side = info.side;
        if (!any_support && set->support > 0 && info.support > 0 && info.support != set->support)
            return io_fail(error, "%s: cut with support %g, another set with %g", l->paths[f], info.support,
                           set->support);
        if (set->support == 0) set->support = info.support;
        l->patches[f] = info.patches;
        total += info.patches;
    }
    if (total > UINT32_MAX) return io_fail(error, "%s: more than 2^32 patches", l->paths[0]);
    l->entry_count = (size_t)total;
    return true;
}

/* Reads label and view of every patch, and gives every file its own range of views. */
static bool read_index(loader *l, io_error *error)
{
    uint64_t next_view = 0;
    entry *to = l->entries = io_alloc(l->entry_count, sizeof *to);
    for (size_t f = 0; f < l->files; f++) {
        uint64_t most = 0;
        for (uint64_t i = 0; i < l->patches[f]; i++, to++) {
            uint32_t view;
            *to = (entry){(uint32_t)f, 0, i};
            if (!io_patch_reader_at(l->reader[f], i, &to->label, &view, NULL, error)) return false;
            if (view > most) most = view;
        }
        if (next_view + most > UINT32_MAX) return io_fail(error, "%s: too many views", l->paths[f]);
        l->view_offset[f] = (uint32_t)next_view;
        next_view += most + 1;
    }
    qsort(l->entries, l->entry_count, sizeof *l->entries, compare_entries);
    return true;
}

/* Points with two patches or more. Returns how many patches have no companion. */
static size_t find_points(loader *l)
{
    size_t singletons = 0;
    l->groups = io_alloc(l->entry_count / 2 + 1, sizeof *l->groups);
    for (size_t start = 0, end; start < l->entry_count; start = end) {
        const entry *e = l->entries;
        for (end = start + 1; end < l->entry_count && e[end].file == e[start].file && e[end].label == e[start].label;)
            end++;
        if (end - start == 1) singletons++;
        else l->groups[l->group_count++] = (group){start, end - start};
    }
    return singletons;
}

/* Keeps a random choice of points that has at most max_patches; the chosen stay in the order of the files. */
static void sample_points(loader *l, size_t max_patches, uint64_t seed)
{
    size_t total = 0, kept = 0;
    uint64_t state = seed;
    for (size_t i = 0; i < l->group_count; i++) {
        size_t j = i + kbi_random_below(&state, (uint32_t)(l->group_count - i));
        group chosen = l->groups[j];
        l->groups[j] = l->groups[i];
        l->groups[i] = chosen;
        if (total + chosen.count > max_patches) break;
        total += chosen.count;
        kept++;
    }
    l->group_count = kept;
    qsort(l->groups, kept, sizeof *l->groups, compare_groups);
}

static bool read_points(loader *l, kbi_patch_set *set, io_error *error)
{
    size_t patches = 0, area = kbi_patch_bytes(set->side), at = 0;
    for (size_t g = 0; g < l->group_count; g++) patches += l->groups[g].count;
    if (kbi_patch_set_create(set, patches, l->group_count) != KB_OK)
        return io_fail(error, "%s: no memory for %zu patches", l->paths[0], patches);
    for (size_t g = 0; g < l->group_count; g++) {
        set->first[g] = at;
        for (size_t k = 0; k < l->groups[g].count; k++, at++) {
            const entry *e = &l->entries[l->groups[g].start + k];
            uint32_t label, view;
            if (!io_patch_reader_at(l->reader[e->file], e->index, &label, &view, set->pixels + at * area, error))
                return false;
            set->label[at] = (uint32_t)g;
            set->view[at] = view + l->view_offset[e->file];
        }
    }
    set->first[l->group_count] = at;
    return true;
}

bool patch_set_load_files(const char *const *paths, size_t files, bool any_support, size_t max_patches,
                             uint64_t seed, kbi_patch_set *out, io_error *error)
{
    *out = (kbi_patch_set){0};
    if (files == 0) return io_fail(error, "no patch sets were given");
    loader l = {.paths = paths, .files = files};
    l.reader = io_alloc(files, sizeof *l.reader);
    l.patches = io_alloc(files, sizeof *l.patches);
    l.view_offset = io_alloc(files, sizeof *l.view_offset);
    bool ok = open_files(&l, any_support, out, error) && read_index(&l, error);
    if (ok) {
        out->singletons = find_points(&l);
        if (max_patches) sample_points(&l, max_patches, seed);
        if (l.group_count < 2) ok = io_fail(error, "%s: less than two points with two patches or more", paths[0]);
        ok = ok && read_points(&l, out, error);
    }
    for (size_t f = 0; f < files; f++) io_patch_reader_close(l.reader[f]);
    free(l.reader);
    free(l.patches);
    free(l.view_offset);
    free(l.entries);
    free(l.groups);
    if (!ok) kbi_patch_set_free(out);
    return ok;
}

bool patch_set_load(const char *path, size_t max_patches, uint64_t seed, kbi_patch_set *out, io_error *error)
{
    return patch_set_load_files(&path, 1, true, max_patches, seed, out, error);
}
