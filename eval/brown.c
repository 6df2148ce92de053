/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/brown.h"

#include <stdlib.h>
#include <string.h>

#include "eval/cache.h"
#include "eval/hash.h"
#include "eval/scenes.h"
#include "io/image_io.h"
#include "io/npy.h"
#include "io/progress.h"

#define SIDE 64
#define ACROSS 16
#define A_FILE (ACROSS * ACROSS)

typedef struct pair {
    uint32_t a, b; /* numbers of patches, later of rows */
    bool same;
} pair;

typedef struct set {
    char *folder;
    io_names files; /* of patches */
    pair *pairs;
    size_t pair_count;
    uint32_t *wanted; /* numbers of the patches that occur in pairs, ascending */
    size_t wanted_count;
} set;

/* ------------------------------------------------------------------------------------------------------ reading */

static bool find_pairs_file(const char *folder, const char *name, char **path, io_error *error)
{
    static const char *const suffixes[] = {".txt", NULL};
    if (name) {
        *path = io_path_join(folder, name);
        return true;
    }
    io_names files = {NULL, 0};
    const char *found = NULL;
    size_t count = 0;
    bool good = io_names_folder(&files, folder, suffixes, error);
    for (size_t i = 0; i < files.count; i++) {
        if (strncmp(io_path_base(files.items[i]), "m50_", 4) != 0) continue;
        found = files.items[i];
        count++;
    }
    if (good && count != 1)
        good = io_fail(error, "%s: holds %zu files m50_*.txt; --pairs must name one", folder, count);
    if (good) *path = io_copy_string(found);
    io_names_free(&files);
    return good;
}

/* "patch1 point1 ? patch2 point2 ...": six whole numbers or more. */
static bool parse_pair(char *line, size_t patches, pair *out)
{
    unsigned long numbers[5];
    for (int i = 0; i < 5; i++) {
        char *end;
        numbers[i] = strtoul(line, &end, 10);
        if (end == line) return false;
        line = end;
    }
    if (numbers[0] >= patches || numbers[3] >= patches) return false;
    *out = (pair){(uint32_t)numbers[0], (uint32_t)numbers[3], numbers[1] == numbers[4]};
    return true;
}

static bool read_pairs(set *s, const char *path, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    char *rest = (char *)bytes.data, *line;
    size_t capacity = 0, patches = s->files.count * A_FILE;
    bool good = true;
    for (size_t number = 1; good && (line = strsep(&rest, "\n")) != NULL; number++) {
        if (line[strspn(line, " \t\r")] == '\0') continue;
        if (s->pair_count == capacity) s->pairs = io_grow(s->pairs, capacity = capacity * 2 + 1024, sizeof *s->pairs);
        good = parse_pair(line, patches, &s->pairs[s->pair_count]);
        if (!good) io_fail(error, "%s:%zu: not a pair of the %zu patches that are there", path, number, patches);
        s->pair_count += good;
    }
    io_bytes_free(&bytes);
    return good;
}

/* Turns the numbers of patches in pairs into numbers of rows, 0 upwards in order of the patches. */
static void number_rows(set *s)
{
    size_t patches = s->files.count * A_FILE;
    uint32_t *row = io_alloc(patches + 1, sizeof *row);
    for (size_t i = 0; i < s->pair_count; i++) row[s->pairs[i].a] = row[s->pairs[i].b] = 1;
    s->wanted = io_alloc(patches + 1, sizeof *s->wanted);
    for (size_t i = 0; i < patches; i++) {
        if (!row[i]) continue;
        row[i] = (uint32_t)s->wanted_count;
        s->wanted[s->wanted_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < s->pair_count; i++) {
        s->pairs[i].a = row[s->pairs[i].a];
        s->pairs[i].b = row[s->pairs[i].b];
    }
    free(row);
}

static bool has_patches(const char *folder)
{
    char *path = io_path_join(folder, "patches0000.bmp");
    bool there = io_path_exists(path);
    free(path);
    return there;
}

static void set_free(set *s)
{
    free(s->folder);
    io_names_free(&s->files);
    free(s->pairs);
    free(s->wanted);
}

static bool set_open(set *s, const char *folder, const char *pairs, io_error *error)
{
    static const char *const suffixes[] = {".bmp", NULL};
    char *path = NULL;
    memset(s, 0, sizeof *s);
    s->folder = io_copy_string(folder);
    bool good = io_names_folder(&s->files, folder, suffixes, error) && find_pairs_file(folder, pairs, &path, error) &&
                read_pairs(s, path, error);
    if (good) number_rows(s);
    free(path);
    return good;
}

/* The folders that are sets: the given one, or those in it. */
static bool find_sets(const char *folder, io_names *out, io_error *error)
{
    io_names folders = {NULL, 0};
    char *clean = ev_folder_clean(folder);
    memset(out, 0, sizeof *out);
    bool good = true;
    if (has_patches(clean)) io_names_add(out, clean);
    else good = ev_folders_in(clean, &folders, error);
    for (size_t i = 0; i < folders.count; i++)
        if (has_patches(folders.items[i])) io_names_add(out, folders.items[i]);
    if (good && out->count == 0) good = io_fail(error, "%s: holds no patches0000.bmp, nor folders that do", clean);
    io_names_free(&folders);
    free(clean);
    return good;
}

/* Calls `use` with the wanted patches of every file in turn, one after the other. */
typedef bool (*use_patches)(void *context, const uint8_t *patches, size_t count, io_error *error);

static bool each_file(const set *s, use_patches use, void *context, bool quiet, io_error *error)
{
    io_progress progress;
    io_progress_start(&progress, io_path_base(s->folder), s->files.count, quiet);
    uint8_t *patches = io_alloc(A_FILE, SIDE * SIDE);
    bool good = true;
    size_t at = 0;
    for (size_t f = 0; f < s->files.count && good; f++) {
        size_t count = 0, first = f * A_FILE;
        io_image image;
        if (at == s->wanted_count || s->wanted[at] >= first + A_FILE) continue;
        good = io_image_read(s->files.items[f], NULL, &image, error);
        if (!good) break;
        if (image.width != SIDE * ACROSS || image.height != SIDE * ACROSS)
            good = io_fail(error, "%s: %d x %d pixels, but patches are 16 x 16 of 64 x 64", s->files.items[f],
                           image.width, image.height);
        for (; good && at < s->wanted_count && s->wanted[at] < first + A_FILE; at++, count++) {
            size_t x = (s->wanted[at] - first) % ACROSS * SIDE, y = (s->wanted[at] - first) / ACROSS * SIDE;
            for (size_t row = 0; row < SIDE; row++)
                memcpy(patches + (count * SIDE + row) * SIDE, image.pixels + (y + row) * SIDE * ACROSS + x, SIDE);
        }
        io_image_free(&image);
        good = good && use(context, patches, count, error);
        io_progress_update(&progress, f + 1);
    }
    io_progress_end(&progress);
    free(patches);
    return good;
}

/* --------------------------------------------------------------------------------------------------- describing */

typedef struct describe_work {
    ev_method *methods;
    size_t method_count, wanted;
    const ev_brown_options *options;
    io_rows *rows; /* one per method, for all wanted patches */
} describe_work;

static bool describe_cached(ev_method *method, const uint8_t *patches, size_t n, const ev_brown_options *options,
                            io_rows *out, io_error *error)
{
    if (ev_method_is_file(method)) return ev_method_take(method, n, out, error);
    uint64_t key = ev_hash_string(KBI_SUM_START, "patches 1 " KB_VERSION_STRING);
    key = kbi_sum_bytes(key, &method->id, sizeof method->id);
    if (options->cache) key = kbi_sum_bytes(key, patches, n * SIDE * SIDE);
    if (ev_cache_get_rows(options->cache, key, n, out)) return true;
    return ev_method_describe_patches(method, patches, n, SIDE, options->parallel, out, error) &&
           ev_cache_put_rows(options->cache, key, out, error);
}

static void append(io_rows *all, const io_rows *some, size_t capacity)
{
    if (all->count == 0) {
        all->width = some->width;
        if (some->bytes) all->bytes = io_alloc(capacity, some->width);
        else all->floats = io_alloc(capacity * some->width, sizeof(float));
    }
    size_t at = all->count * all->width, n = some->count * some->width;
    if (some->bytes) memcpy(all->bytes + at, some->bytes, n);
    else memcpy(all->floats + at, some->floats, n * sizeof(float));
    all->count += some->count;
}

static bool describe_patches(void *context, const uint8_t *patches, size_t count, io_error *error)
{
    describe_work *work = context;
    for (size_t m = 0; m < work->method_count; m++) {
        io_rows some;
        if (!describe_cached(&work->methods[m], patches, count, work->options, &some, error)) return false;
        append(&work->rows[m], &some, work->wanted);
        io_rows_free(&some);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------ scoring */

typedef struct answer {
    double distance;
    bool same;
} answer;

static int by_distance(const void *a, const void *b)
{
    double x = ((const answer *)a)->distance, y = ((const answer *)b)->distance;
    return (x > y) - (x < y);
}

/* Distinct distances become the bins of the histograms, whatever numbers they are. */
static ev_brown_score brown_score(const set *s, const io_rows *rows)
{
    size_t n = s->pair_count, bins = 0;
    answer *answers = io_alloc(n, sizeof *answers);
    uint64_t *positive = io_alloc(n, sizeof *positive), *negative = io_alloc(n, sizeof *negative);
    double *distance = io_alloc(n, sizeof *distance);
    for (size_t i = 0; i < n; i++)
        answers[i] = (answer){ev_rows_distance(rows, s->pairs[i].a, rows, s->pairs[i].b), s->pairs[i].same};
    qsort(answers, n, sizeof *answers, by_distance);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || answers[i].distance != answers[i - 1].distance) distance[bins++] = answers[i].distance;
        ++*(answers[i].same ? &positive[bins - 1] : &negative[bins - 1]);
    }
    ev_brown_score result = {kbi_fpr_at_95((kbi_histograms){positive, negative, bins}), 0};
    result.threshold = distance[result.fpr.threshold];
    free(answers);
    free(positive);
    free(negative);
    free(distance);
    return result;
}

static bool run_set(const set *s, ev_method *methods, size_t method_count, const ev_brown_options *options,
                    ev_brown_set *out, io_error *error)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < s->pair_count; i++) ++*(s->pairs[i].same ? &out->positives : &out->negatives);
    if (out->positives == 0 || out->negatives == 0)
        return io_fail(error, "%s: the pairs must hold both kinds; there are %zu of the same point and %zu others",
                       s->folder, out->positives, out->negatives);
    describe_work work = {methods, method_count, s->wanted_count, options, io_alloc(method_count, sizeof(io_rows))};
    bool good = each_file(s, describe_patches, &work, options->quiet, error);
    if (good) {
        out->name = io_copy_string(io_path_base(s->folder));
        out->scores = io_alloc(method_count, sizeof *out->scores);
        for (size_t m = 0; m < method_count; m++) out->scores[m] = brown_score(s, &work.rows[m]);
    }
    for (size_t m = 0; m < method_count; m++) io_rows_free(&work.rows[m]);
    free(work.rows);
    return good;
}

bool ev_brown_run(const char *folder, ev_method *methods, size_t method_count, const ev_brown_options *options,
                  ev_brown_result *result, io_error *error)
{
    io_names folders;
    memset(result, 0, sizeof *result);
    bool good = find_sets(folder, &folders, error);
    result->sets = io_alloc(folders.count + 1, sizeof *result->sets);
    for (size_t i = 0; i < folders.count && good; i++) {
        set s;
        good = set_open(&s, folders.items[i], options->pairs, error) &&
               run_set(&s, methods, method_count, options, &result->sets[i], error);
        result->count += good;
        set_free(&s);
    }
    for (size_t m = 0; m < method_count && good; m++) good = ev_method_finish(&methods[m], error);
    io_names_free(&folders);
    if (!good) ev_brown_result_free(result);
    return good;
}

void ev_brown_result_free(ev_brown_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->sets[i].name);
        free(result->sets[i].scores);
    }
    free(result->sets);
    memset(result, 0, sizeof *result);
}

/* -------------------------------------------------------------------------------------------------- patches out */

typedef struct export_work {
    uint8_t *patches;
    size_t count;
} export_work;

static bool export_patches(void *context, const uint8_t *patches, size_t count, io_error *error)
{
    export_work *work = context;
    (void)error;
    work->patches = io_grow(work->patches, work->count + count + 1, SIDE * SIDE);
    memcpy(work->patches + work->count * SIDE * SIDE, patches, count * SIDE * SIDE);
    work->count += count;
    return true;
}

bool ev_brown_export_patches(const char *folder, const ev_brown_options *options, const char *path, io_error *error)
{
    io_names folders;
    export_work work = {NULL, 0};
    bool good = find_sets(folder, &folders, error);
    for (size_t i = 0; i < folders.count && good; i++) {
        set s;
        good = set_open(&s, folders.items[i], options->pairs, error) &&
               each_file(&s, export_patches, &work, options->quiet, error);
        set_free(&s);
    }
    size_t shape[3] = {work.count, SIDE, SIDE};
    good = good && io_npy_write(path, IO_U8, 3, shape, work.patches, error);
    free(work.patches);
    io_names_free(&folders);
    return good;
}
