/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pair_list.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
    const char *name;
    size_t index;
} place;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const place *)a)->name, ((const place *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    int order = compare_names(x, y);
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int compare_pairs(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The names in order, each once. */
static place *sort_names(const io_names *names, size_t *count)
{
    place *sorted = io_alloc(names->count, sizeof *sorted);
    *count = 0;
    for (size_t i = 0; i < names->count; i++) sorted[i] = (place){names->items[i], i};
    qsort(sorted, names->count, sizeof *sorted, compare_places);
    for (size_t i = 0; i < names->count; i++)
        if (*count == 0 || compare_names(&sorted[*count - 1], &sorted[i]) != 0) sorted[(*count)++] = sorted[i];
    return sorted;
}

/* Of a line, which is cut up; *blank when there is nothing in it. */
static bool parse_pair(char *line, const place *sorted, size_t names, size_t pair[2], bool *blank)
{
    char *save = NULL;
    place key = {strtok_r(line, " \t\r", &save), 0};
    *blank = !key.name || key.name[0] == '#';
    for (int k = 0; k < 2 && !*blank; k++) {
        const place *found = key.name ? bsearch(&key, sorted, names, sizeof *sorted, compare_names) : NULL;
        if (!found) return false;
        pair[k] = found->index;
        key.name = strtok_r(NULL, " \t\r", &save);
    }
    if (*blank) return true;
    if (pair[0] > pair[1]) {
        size_t lower = pair[1];
        pair[1] = pair[0];
        pair[0] = lower;
    }
    return pair[0] != pair[1];
}

static void settle(io_pairs *pairs)
{
    size_t kept = 0;
    if (pairs->count > 1) qsort(pairs->items, pairs->count, sizeof *pairs->items, compare_pairs);
    for (size_t i = 0; i < pairs->count; i++)
        if (kept == 0 || compare_pairs(pairs->items[kept - 1], pairs->items[i]) != 0)
            memmove(pairs->items[kept++], pairs->items[i], sizeof *pairs->items);
    pairs->count = kept;
}

bool io_pairs_read(const char *path, const io_names *names, io_pairs *out, io_error *error)
{
    io_bytes bytes;
    size_t known, room = 0;
    *out = (io_pairs){NULL, 0};
    if (!io_text_read(path, &bytes, error)) return false;
    place *sorted = sort_names(names, &known);
    char *rest = (char *)bytes.data, *line;
    bool ok = true, blank;
    for (size_t number = 1; ok && (line = strsep(&rest, "\n")) != NULL; number++) {
        if (out->count == room) out->items = io_grow(out->items, room = room * 2 + 64, sizeof *out->items);
        ok = parse_pair(line, sorted, known, out->items[out->count], &blank);
        if (!ok) io_fail(error, "%s:%zu: not the names of two of the images", io_path_shown(path), number);
        out->count += ok && !blank;
    }
    free(sorted);
    io_bytes_free(&bytes);
    if (ok) settle(out);
    else io_pairs_free(out);
    return ok;
}

void io_pairs_free(io_pairs *pairs)
{
    free(pairs->items);
    *pairs = (io_pairs){NULL, 0};
}
