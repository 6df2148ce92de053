/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol is in the header; task files are eval/hpatches_tasks.h. */
#include "eval/hpatches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/cache.h"
#include "eval/hash.h"
#include "eval/hpatches_splits.h"
#include "learn/metrics.h"
#include "eval/scenes.h"
#include "io/image_io.h"
#include "io/npy.h"
#include "io/progress.h"

#define SIDE 65
#define TYPES 16
#define COPIES 5

const char *const ev_hpatches_noises[EV_HPATCHES_NOISES] = {"easy", "hard", "tough"};
const int32_t ev_hpatches_pools[EV_HPATCHES_POOLS] = {100, 500, 1000, 5000, 10000, 15000, 20000};

static const char *const type_names[TYPES] = {"ref", "e1", "e2", "e3", "e4", "e5", "h1", "h2",
                                              "h3",  "h4", "h5", "t1", "t2", "t3", "t4", "t5"};

/* Image 0 is ref for every noise. */
static int type_of(int noise, int image) { return image == 0 ? 0 : noise * COPIES + image; }

typedef struct sequence {
    char *folder;
    const char *name;
    size_t patches;
    uint8_t *textured;
    io_rows (*rows)[TYPES]; /* one row of types per method */
} sequence;

typedef struct dataset {
    sequence *items; /* in order of their names */
    size_t count;
    sequence **order; /* in the order of the split */
    size_t missing;
} dataset;

/* ------------------------------------------------------------------------------------------------------ sequences */

static bool is_sequence(const char *folder)
{
    char *path = io_path_join(folder, "ref.png");
    bool there = io_path_exists(path);
    free(path);
    return there;
}

static sequence *find_sequence(const dataset *data, const char *name)
{
    for (size_t i = 0; i < data->count; i++)
        if (strcmp(data->items[i].name, name) == 0) return &data->items[i];
    return NULL;
}

static bool contains(const io_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return true;
    return false;
}

/* The sequences of the split that are in the folder. "full" takes every other sequence that is there too, so that sets
 * of one's own can be used. */
static bool dataset_open(dataset *data, const char *folder, const ev_hpatches_options *options, io_error *error)
{
    io_names folders = {NULL, 0}, split = {NULL, 0};
    memset(data, 0, sizeof *data);
    if (!ev_hpatches_split(options->tasks, options->split, &split, error)) return false;
    char *clean = ev_folder_clean(folder);
    bool good = is_sequence(clean) ? (io_names_add(&folders, clean), true) : ev_folders_in(clean, &folders, error);
    free(clean);
    data->items = io_alloc(folders.count + 1, sizeof *data->items);
    data->order = io_alloc(folders.count + 1, sizeof *data->order);
    for (size_t i = 0; i < folders.count; i++) {
        const char *name = io_path_base(folders.items[i]);
        if (!is_sequence(folders.items[i])) continue;
        if (!contains(&split, name)) {
            if (strcmp(options->split, "full") != 0) continue;
            io_names_add(&split, name);
        }
        char *own = io_copy_string(folders.items[i]);
        data->items[data->count++] = (sequence){own, io_path_base(own), 0, NULL, NULL};
    }
    size_t placed = 0;
    for (size_t i = 0; i < split.count; i++) {
        sequence *found = find_sequence(data, split.items[i]);
        if (found) data->order[placed++] = found;
        else data->missing++;
    }
    if (good && data->count == 0)
        good = io_fail(error, "%s: holds no sequence of split %s (folders with ref.png, e1.png, ...)", folder,
                       options->split);
    io_names_free(&folders);
    io_names_free(&split);
    return good;
}

static void dataset_free(dataset *data, size_t methods)
{
    for (size_t i = 0; i < data->count; i++) {
        sequence *s = &data->items[i];
        for (size_t m = 0; s->rows && m < methods; m++)
            for (int t = 0; t < TYPES; t++) io_rows_free(&s->rows[m][t]);
        free(s->rows);
        free(s->textured);
        free(s->folder);
    }
    free(data->items);
    free(data->order);
}

/* Patches lie one above the other and fill the width, so the pixels of the image are the patches in a row. */
static bool read_patches(const sequence *s, int type, io_image *image, io_error *error)
{
    char name[16];
    snprintf(name, sizeof name, "%s.png", type_names[type]);
    char *path = io_path_join(s->folder, name);
    bool good = io_image_read(path, NULL, image, error);
    if (good && (image->width != SIDE || image->height % SIDE != 0)) {
        good =
            io_fail(error, "%s: %d x %d pixels are not a column of 65 x 65 patches", path, image->width, image->height);
        io_image_free(image);
    }
    free(path);
    return good;
}

static bool above_ten(const uint8_t *patch)
{
    double sum = 0, squares = 0, n = SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) sum += patch[i];
    for (int i = 0; i < SIDE * SIDE; i++) squares += (patch[i] - sum / n) * (patch[i] - sum / n);
    return sqrt(squares / n) > 10;
}

/* ----------------------------------------------------------------------------------------------------- describing */

typedef struct describe_work {
    sequence *s;
    const ev_method *methods;
    size_t method_count;
    const char *cache;
    size_t patches[TYPES];
    io_error errors[TYPES];
} describe_work;

static bool describe_cached(const ev_method *method, const io_image *image, const char *cache, io_rows *out,
                            io_error *error)
{
    size_t n = (size_t)image->height / SIDE;
    uint64_t key = ev_hash_string(KBI_SUM_START, "patches 1 " KB_VERSION_STRING);
    key = kbi_sum_bytes(key, &method->id, sizeof method->id);
    if (cache) key = kbi_sum_bytes(key, image->pixels, n * SIDE * SIDE);
    if (ev_cache_get_rows(cache, key, n, out)) return true;
    return ev_method_describe_patches(method, image->pixels, n, SIDE, NULL, out, error) &&
           ev_cache_put_rows(cache, key, out, error);
}

static void describe_type(void *context, int32_t type)
{
    describe_work *work = context;
    io_image image;
    if (!read_patches(work->s, type, &image, &work->errors[type])) return;
    size_t n = work->patches[type] = (size_t)image.height / SIDE;
    for (size_t m = 0; m < work->method_count; m++) {
        if (ev_method_is_file(&work->methods[m])) continue;
        if (!describe_cached(&work->methods[m], &image, work->cache, &work->s->rows[m][type], &work->errors[type]))
            break;
    }
    if (type == 0) {
        work->s->textured = io_alloc(n + 1, 1);
        for (size_t i = 0; i < n; i++) work->s->textured[i] = above_ten(image.pixels + i * SIDE * SIDE);
    }
    io_image_free(&image);
}

static bool describe_sequence(sequence *s, ev_method *methods, size_t method_count, const ev_hpatches_options *options,
                              io_error *error)
{
    describe_work *work = io_alloc(1, sizeof *work);
    *work = (describe_work){.s = s, .methods = methods, .method_count = method_count, .cache = options->cache};
    s->rows = io_alloc(method_count, sizeof *s->rows);
    const kb_parallel *parallel = options->parallel;
    if (parallel) parallel->run(parallel->self, TYPES, describe_type, work);
    else for (int32_t t = 0; t < TYPES; t++) describe_type(work, t);
    s->patches = work->patches[0];
    bool good = true;
    for (int t = 0; t < TYPES && good; t++) {
        if (work->errors[t].text[0]) good = io_fail(error, "%s", work->errors[t].text);
        else if (work->patches[t] != s->patches)
            good = io_fail(error, "%s: %s.png holds %zu patches, ref.png %zu", s->folder, type_names[t],
                           work->patches[t], s->patches);
        for (size_t m = 0; m < method_count && good; m++)
            if (ev_method_is_file(&methods[m])) good = ev_method_take(&methods[m], s->patches, &s->rows[m][t], error);
    }
    free(work);
    return good;
}

/* FOLDER/METHOD/SEQUENCE/TYPE.csv: one row per patch; bits as 0 and 1, first bit first. */
static bool export_rows(const io_rows *rows, const char *path, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    for (size_t i = 0; i < rows->count; i++) {
        size_t values = rows->bytes ? rows->width * 8 : rows->width;
        for (size_t k = 0; k < values; k++) {
            const char *end = k + 1 < values ? "," : "\n";
            if (rows->bytes) fprintf(out, "%d%s", rows->bytes[i * rows->width + k / 8] >> (7 - k % 8) & 1, end);
            else fprintf(out, "%.9g%s", (double)rows->floats[i * rows->width + k], end);
        }
    }
    return io_writer_commit(writer, error);
}

static bool export_sequence(const sequence *s, const ev_method *methods, size_t method_count, const char *folder,
                            io_error *error)
{
    bool good = io_folder_make(folder, error);
    for (size_t m = 0; m < method_count && good; m++) {
        char *stem = io_path_stem(methods[m].name), *method = io_path_join(folder, stem),
             *own = io_path_join(method, s->name);
        good = io_folder_make(method, error) && io_folder_make(own, error);
        for (int t = 0; t < TYPES && good; t++) {
            char name[16];
            snprintf(name, sizeof name, "%s.csv", type_names[t]);
            char *path = io_path_join(own, name);
            good = export_rows(&s->rows[m][t], path, error);
            free(path);
        }
        free(own);
        free(method);
        free(stem);
    }
    return good;
}

/* --------------------------------------------------------------------------------------------------- verification */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Sorted distances of pairs. */
static float *pair_distances(const dataset *data, size_t method, int noise, const ev_patch_pair *pairs, size_t n)
{
    float *distances = io_alloc(n + 1, sizeof *distances);
    for (size_t i = 0; i < n; i++) {
        ev_patch_name a = pairs[i].a, b = pairs[i].b;
        distances[i] =
            (float)ev_rows_distance(&data->order[a.sequence]->rows[method][type_of(noise, a.image)], a.index,
                                    &data->order[b.sequence]->rows[method][type_of(noise, b.image)], b.index);
    }
    qsort(distances, n, sizeof *distances, by_value);
    return distances;
}

/* Which answers are right, nearest first; at the same distance negatives come first. */
static uint8_t *merge(const float *positive, size_t np, const float *negative, size_t nn)
{
    uint8_t *right = io_alloc(np + nn + 1, 1);
    size_t p = 0, n = 0;
    while (p + n < np + nn) {
        bool take_negative = n < nn && (p == np || negative[n] <= positive[p]);
        right[p + n] = !take_negative;
        if (take_negative) n++;
        else p++;
    }
    return right;
}

static void verify_noise(const dataset *data, size_t method, int noise, const ev_verification_task *task,
                         ev_hpatches_result *result)
{
    const ev_patch_pairs *negatives[2] = {&task->inter, &task->intra};
    size_t np = task->positive.count, some = np / 5;
    float *all = pair_distances(data, method, noise, task->positive.items, np);
    float *fifth = pair_distances(data, method, noise, task->positive.items, some);
    for (int kind = 0; kind < 2; kind++) {
        size_t nn = negatives[kind]->count;
        float *negative = pair_distances(data, method, noise, negatives[kind]->items, nn);
        uint8_t *balanced = merge(all, np, negative, nn), *imbalanced = merge(fifth, some, negative, nn);
        result->verification_auc[noise][kind] = kbi_roc_area_ranked(balanced, np + nn);
        result->verification_ap[noise][kind] = kbi_average_precision_ranked(imbalanced, some + nn, some);
        result->verification += result->verification_ap[noise][kind] / (2 * EV_HPATCHES_NOISES);
        free(balanced);
        free(imbalanced);
        free(negative);
    }
    free(all);
    free(fifth);
}

/* -------------------------------------------------------------------------------------------------------- matching */

typedef struct ranked_match {
    double distance;
    int32_t index;
    uint8_t right;
} ranked_match;

static int by_distance_then_index(const void *a, const void *b)
{
    const ranked_match *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->index - y->index;
}

static bool match_images(const io_rows *ref, const io_rows *other, const kb_parallel *parallel, double *ap,
                         io_error *error)
{
    size_t n = ref->count, count = 0;
    kb_match *matches = io_alloc(n + 1, sizeof *matches);
    bool good = ev_rows_match(ref, other, false, 0, parallel, matches, &count, error);
    ranked_match *ranked = io_alloc(n + 1, sizeof *ranked);
    uint8_t *right = io_alloc(n + 1, 1);
    for (size_t i = 0; i < count; i++) {
        const kb_match *m = &matches[i];
        ranked[i] = (ranked_match){ev_rows_distance(ref, (size_t)m->a, other, (size_t)m->b), m->a, m->a == m->b};
    }
    qsort(ranked, count, sizeof *ranked, by_distance_then_index);
    for (size_t i = 0; i < count; i++) right[i] = ranked[i].right;
    *ap = kbi_average_precision_ranked(right, count, n);
    free(matches);
    free(ranked);
    free(right);
    return good;
}

static bool run_matching(const dataset *data, size_t method, const kb_parallel *parallel, ev_hpatches_result *result,
                         io_error *error)
{
    bool good = true;
    for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) {
        double sum = 0, ap = 0;
        for (size_t i = 0; i < data->count && good; i++) {
            const io_rows *rows = data->items[i].rows[method];
            for (int image = 1; image <= COPIES && good; image++, sum += ap)
                good = match_images(&rows[0], &rows[type_of(noise, image)], parallel, &ap, error);
        }
        result->matching_map[noise] = sum / (double)(data->count * COPIES);
        result->matching += result->matching_map[noise] / EV_HPATCHES_NOISES;
    }
    return good;
}

/* ------------------------------------------------------------------------------------------------------- retrieval */

#define PIECES 64 /* queries are answered in so many pieces, whose sums are added in order: the same for any threads */

typedef struct retrieval_work {
    const dataset *data;
    const ev_retrieval_task *task;
    size_t method;
    double sums[PIECES][EV_HPATCHES_NOISES][EV_HPATCHES_POOLS];
} retrieval_work;

/* AP of five right answers of which the i-th nearest has nearer[i] distractors strictly before it. */
static double pool_precision(const size_t nearer[COPIES])
{
    double area = 0;
    for (int i = 0; i < COPIES; i++) {
        double before = (double)nearer[i] + i;
        double p0 = before == 0 ? 1 : i == 0 ? 1e-10 / before : i / before;
        area += (p0 + (i + 1) / (before + 1)) / 2;
    }
    return area / COPIES;
}

/* Distances to the five copies, nearest first. */
static void copy_distances(const retrieval_work *work, ev_patch_name query, int noise, double out[COPIES])
{
    const io_rows *rows = work->data->order[query.sequence]->rows[work->method];
    for (int i = 0; i < COPIES; i++) {
        double d = ev_rows_distance(&rows[0], query.index, &rows[type_of(noise, i + 1)], query.index);
        int at = i;
        for (; at > 0 && out[at - 1] > d; at--) out[at] = out[at - 1];
        out[at] = d;
    }
}

static void answer_query(const retrieval_work *work, ev_patch_name query,
                         double sums[EV_HPATCHES_NOISES][EV_HPATCHES_POOLS])
{
    double copies[EV_HPATCHES_NOISES][COPIES];
    size_t nearer[EV_HPATCHES_NOISES][COPIES] = {{0}}, listed = COPIES, at = 0;
    const io_rows *rows = &work->data->order[query.sequence]->rows[work->method][0];
    for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) copy_distances(work, query, noise, copies[noise]);
    for (int pool = 0; pool < EV_HPATCHES_POOLS; pool++) {
        for (; at < work->task->distractors.count && listed < (size_t)ev_hpatches_pools[pool]; at++) {
            ev_patch_name other = work->task->distractors.items[at];
            if (other.sequence == query.sequence) continue;
            double d = ev_rows_distance(rows, query.index, &work->data->order[other.sequence]->rows[work->method][0],
                                        other.index);
            listed++;
            for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++)
                for (int i = COPIES - 1; i >= 0 && d < copies[noise][i]; i--) nearer[noise][i]++;
        }
        for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) sums[noise][pool] += pool_precision(nearer[noise]);
    }
}

static void answer_piece(void *context, int32_t piece)
{
    retrieval_work *work = context;
    size_t n = work->task->queries.count;
    for (size_t i = n * (size_t)piece / PIECES; i < n * ((size_t)piece + 1) / PIECES; i++)
        answer_query(work, work->task->queries.items[i], work->sums[piece]);
}

static void run_retrieval(const dataset *data, size_t method, const ev_retrieval_task *task,
                          const kb_parallel *parallel, ev_hpatches_result *result)
{
    retrieval_work *work = io_alloc(1, sizeof *work);
    work->data = data;
    work->task = task;
    work->method = method;
    if (parallel) parallel->run(parallel->self, PIECES, answer_piece, work);
    else for (int32_t i = 0; i < PIECES; i++) answer_piece(work, i);
    for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) {
        for (int pool = 0; pool < EV_HPATCHES_POOLS; pool++) {
            double sum = 0;
            for (int piece = 0; piece < PIECES; piece++) sum += work->sums[piece][noise][pool];
            result->retrieval_map[noise][pool] = task->queries.count ? sum / (double)task->queries.count : NAN;
        }
        result->retrieval += result->retrieval_map[noise][EV_HPATCHES_POOLS - 1] / EV_HPATCHES_NOISES;
    }
    free(work);
}

/* ------------------------------------------------------------------------------------------------------ all of it */

static bool describe_all(dataset *data, ev_method *methods, size_t method_count, const ev_hpatches_options *options,
                         io_error *error)
{
    io_progress progress;
    bool good = true;
    io_progress_start(&progress, "describing sequences", data->count, options->quiet);
    for (size_t i = 0; i < data->count && good; i++) {
        good = describe_sequence(&data->items[i], methods, method_count, options, error);
        if (good && options->export_csv)
            good = export_sequence(&data->items[i], methods, method_count, options->export_csv, error);
        io_progress_update(&progress, i + 1);
    }
    io_progress_end(&progress);
    for (size_t m = 0; m < method_count && good; m++) good = ev_method_finish(&methods[m], error);
    return good;
}

typedef struct both_tasks {
    ev_verification_task verification;
    ev_retrieval_task retrieval;
} both_tasks;

static bool open_tasks(const dataset *data, const ev_hpatches_options *options, both_tasks *tasks,
                       ev_hpatches_facts *facts, io_error *error)
{
    ev_sequence_facts *sequences = io_alloc(data->count, sizeof *sequences);
    *facts = (ev_hpatches_facts){.sequences = data->count, .missing = data->missing};
    for (size_t i = 0; i < data->count; i++) {
        const sequence *s = data->order[i];
        sequences[i] = (ev_sequence_facts){s->name, (uint32_t)s->patches, s->textured};
        facts->patches += s->patches;
    }
    ev_split_facts split = {options->split, sequences, data->count};
    size_t pairs = options->pairs ? options->pairs : EV_VERIFICATION_PAIRS;
    bool good = !(options->wanted & EV_VERIFICATION) ||
                ev_verification_task_open(options->tasks, &split, pairs, &tasks->verification, error);
    good = good && (!(options->wanted & EV_RETRIEVAL) ||
                    ev_retrieval_task_open(options->tasks, &split, &tasks->retrieval, error));
    facts->skipped = tasks->verification.skipped + tasks->retrieval.skipped;
    facts->verification_drawn = tasks->verification.drawn;
    facts->retrieval_drawn = tasks->retrieval.drawn;
    free(sequences);
    return good;
}

static bool hpatches_evaluate(const dataset *data, size_t method, const both_tasks *tasks,
                              const ev_hpatches_options *options, ev_hpatches_result *result, io_error *error)
{
    memset(result, 0, sizeof *result);
    if (options->wanted & EV_VERIFICATION)
        for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++)
            verify_noise(data, method, noise, &tasks->verification, result);
    else result->verification = NAN;
    if (options->wanted & EV_RETRIEVAL) run_retrieval(data, method, &tasks->retrieval, options->parallel, result);
    else result->retrieval = NAN;
    if (options->wanted & EV_MATCHING) return run_matching(data, method, options->parallel, result, error);
    result->matching = NAN;
    return true;
}

bool ev_hpatches_run(const char *folder, ev_method *methods, size_t method_count, const ev_hpatches_options *options,
                     ev_hpatches_facts *facts, ev_hpatches_result *results, io_error *error)
{
    dataset data;
    both_tasks tasks;
    memset(&tasks, 0, sizeof tasks);
    bool good = dataset_open(&data, folder, options, error) &&
                describe_all(&data, methods, method_count, options, error) &&
                open_tasks(&data, options, &tasks, facts, error);
    io_progress progress;
    io_progress_start(&progress, "evaluating", method_count, options->quiet || !good);
    for (size_t m = 0; m < method_count && good; m++) {
        good = hpatches_evaluate(&data, m, &tasks, options, &results[m], error);
        io_progress_update(&progress, m + 1);
    }
    io_progress_end(&progress);
    ev_verification_task_free(&tasks.verification);
    ev_retrieval_task_free(&tasks.retrieval);
    dataset_free(&data, method_count);
    return good;
}

bool ev_hpatches_export_patches(const char *folder, const ev_hpatches_options *options, const char *path,
                                io_error *error)
{
    dataset data;
    uint8_t *patches = NULL;
    size_t total = 0;
    bool good = dataset_open(&data, folder, options, error);
    for (size_t i = 0; i < data.count && good; i++)
        for (int t = 0; t < TYPES && good; t++) {
            io_image image;
            good = read_patches(&data.items[i], t, &image, error);
            if (!good) break;
            size_t n = (size_t)image.height / SIDE;
            patches = io_grow(patches, total + n, SIDE * SIDE);
            memcpy(patches + total * SIDE * SIDE, image.pixels, n * SIDE * SIDE);
            total += n;
            io_image_free(&image);
        }
    size_t shape[3] = {total, SIDE, SIDE};
    good = good && io_npy_write(path, IO_U8, 3, shape, patches, error);
    free(patches);
    dataset_free(&data, 0);
    return good;
}
