/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/hpatches_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "eval/numpy_random.h"

#define SEED 42
#define QUERIES 10000
#define DISTRACTORS 20000

/* --------------------------------------------------------------------------------------------------- task files */

static char *task_path(const char *tasks, const char *kind, const ev_split_facts *split)
{
    char name[64];
    snprintf(name, sizeof name, "%s_split-%s.csv", kind, split->name);
    return io_path_join(tasks, name);
}

static bool task_exists(const char *tasks, const char *kind, const ev_split_facts *split)
{
    if (!tasks) return false;
    char *path = task_path(tasks, kind, split);
    bool there = io_path_exists(path);
    free(path);
    return there;
}

/* "name,": the number of the sequence, or -1 for one that is not there. */
static int parse_sequence(const ev_split_facts *split, char **at)
{
    char *comma = strchr(*at, ',');
    if (!comma) return -2;
    *comma = '\0';
    int found = -1;
    for (size_t i = 0; i < split->count && found < 0; i++)
        if (strcmp(split->sequences[i].name, *at) == 0) found = (int)i;
    *at = comma + 1;
    return found;
}

static bool parse_count(char **at, char end, uint32_t *value)
{
    char *stop;
    unsigned long number = strtoul(*at, &stop, 10);
    if (stop == *at || number > 1u << 30 || (*stop != end && !(end == '\0' && *stop == '\r'))) return false;
    *value = (uint32_t)number;
    *at = stop + (*stop != '\0');
    return true;
}

/* A patch in a row: "s,t,idx" or "s,idx". *there tells whether it exists here. */
static bool parse_patch(const ev_split_facts *split, bool with_image, char end, char **at, ev_patch_name *name,
                        bool *there)
{
    uint32_t image = 0, index = 0;
    int sequence = parse_sequence(split, at);
    if (sequence == -2 || (with_image && !parse_count(at, ',', &image)) || !parse_count(at, end, &index) || image > 5)
        return false;
    *there = *there && sequence >= 0 && index < split->sequences[sequence].patches;
    if (*there) *name = (ev_patch_name){index, (uint16_t)sequence, (uint16_t)image};
    return true;
}

/* Calls `row` for every line after the header; it gives false for a line it cannot read. */
static bool read_rows(const char *path, bool (*row)(void *context, char *line), void *context, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    char *rest = (char *)bytes.data, *line = strsep(&rest, "\n");
    bool good = true;
    for (size_t number = 2; good && (line = strsep(&rest, "\n")) != NULL; number++) {
        if (*line == '\0' && !rest) break;
        good = row(context, line);
        if (!good) io_fail(error, "%s:%zu: not a row of this task", path, number);
    }
    io_bytes_free(&bytes);
    return good;
}

typedef struct pair_reader {
    const ev_split_facts *split;
    ev_patch_pairs *pairs;
    size_t *skipped, capacity;
} pair_reader;

static bool read_pair(void *context, char *line)
{
    pair_reader *reader = context;
    ev_patch_pairs *pairs = reader->pairs;
    ev_patch_pair pair;
    bool there = true;
    if (!parse_patch(reader->split, true, ',', &line, &pair.a, &there)) return false;
    if (!parse_patch(reader->split, true, '\0', &line, &pair.b, &there)) return false;
    if (!there) {
        ++*reader->skipped;
        return true;
    }
    if (pairs->count == reader->capacity)
        pairs->items = io_grow(pairs->items, reader->capacity = reader->capacity * 2 + 1024, sizeof *pairs->items);
    pairs->items[pairs->count++] = pair;
    return true;
}

static bool read_pairs(const char *tasks, const char *kind, const ev_split_facts *split, ev_patch_pairs *pairs,
                       size_t *skipped, io_error *error)
{
    pair_reader reader = {split, pairs, skipped, 0};
    char *path = task_path(tasks, kind, split);
    bool good = read_rows(path, read_pair, &reader, error);
    free(path);
    return good;
}

typedef struct name_reader {
    const ev_split_facts *split;
    ev_patch_names *names;
    size_t *skipped, capacity;
} name_reader;

static bool read_name(void *context, char *line)
{
    name_reader *reader = context;
    ev_patch_names *names = reader->names;
    ev_patch_name name;
    bool there = true;
    if (!parse_patch(reader->split, false, '\0', &line, &name, &there)) return false;
    if (!there) {
        ++*reader->skipped;
        return true;
    }
    if (names->count == reader->capacity)
        names->items = io_grow(names->items, reader->capacity = reader->capacity * 2 + 1024, sizeof *names->items);
    names->items[names->count++] = name;
    return true;
}

static bool read_names(const char *tasks, const char *kind, const ev_split_facts *split, ev_patch_names *names,
                       size_t *skipped, io_error *error)
{
    name_reader reader = {split, names, skipped, 0};
    char *path = task_path(tasks, kind, split);
    bool good = read_rows(path, read_name, &reader, error);
    free(path);
    return good;
}

/* ------------------------------------------------------------------------------------------------- drawing again */

/* The order of the draws is the benchmark's: sequences of all pairs, then two different patches for each, then two
 * different images out of ref and the first four, then the sequences and patches that make the negatives between
 * sequences. */
static bool draw_verification(const ev_split_facts *split, size_t size, ev_verification_task *out, io_error *error)
{
    uint32_t largest = 5;
    for (size_t i = 0; i < split->count; i++) {
        if (split->sequences[i].patches > largest) largest = split->sequences[i].patches;
        if (split->sequences[i].patches < 2)
            return io_fail(error, "%s: verification needs two patches or more", split->sequences[i].name);
    }
    uint32_t *scratch = io_alloc(largest, sizeof *scratch), two[2];
    ev_patch_pair *positive = io_alloc(size, sizeof *positive), *intra = io_alloc(size, sizeof *intra),
                  *inter = io_alloc(size, sizeof *inter);
    ev_numpy random;
    ev_numpy_seed(&random, SEED);
    for (size_t i = 0; i < size; i++)
        intra[i].a.sequence = intra[i].b.sequence = (uint16_t)ev_numpy_below(&random, (uint32_t)split->count);
    for (size_t i = 0; i < size; i++) {
        ev_numpy_two_of(&random, split->sequences[intra[i].a.sequence].patches, scratch, two);
        intra[i].a.index = two[0];
        intra[i].b.index = two[1];
    }
    for (size_t i = 0; i < size; i++) {
        ev_numpy_two_of(&random, 5, scratch, two);
        intra[i].a.image = (uint16_t)two[0];
        intra[i].b.image = (uint16_t)two[1];
        positive[i] = inter[i] = intra[i];
        positive[i].b.index = intra[i].a.index;
    }
    for (size_t i = 0; i < size; i++) inter[i].b.sequence = (uint16_t)ev_numpy_below(&random, (uint32_t)split->count);
    for (size_t i = 0; i < size; i++)
        inter[i].b.index = ev_numpy_below(&random, split->sequences[inter[i].b.sequence].patches);
    free(scratch);
    *out = (ev_verification_task){{positive, size}, {intra, size}, {inter, size}, 0, true};
    return true;
}

static void draw_names(ev_numpy *random, const ev_split_facts *split, ev_patch_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        names[i] = (ev_patch_name){0, (uint16_t)ev_numpy_below(random, (uint32_t)split->count), 0};
    for (size_t i = 0; i < count; i++)
        names[i].index = ev_numpy_below(random, split->sequences[names[i].sequence].patches);
}

/* Keeps the first `most` textured patches that were not taken before, and takes them. */
static void keep_first(const ev_split_facts *split, uint8_t **taken, ev_patch_names *names, size_t most)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->count && kept < most; i++) {
        ev_patch_name name = names->items[i];
        if (!split->sequences[name.sequence].textured[name.index] || taken[name.sequence][name.index]) continue;
        taken[name.sequence][name.index] = 1;
        names->items[kept++] = name;
    }
    names->count = kept;
}

/* Four times as many queries and ten times as many distractors as wanted are drawn, for some fall away. */
static void draw_retrieval(const ev_split_facts *split, ev_retrieval_task *out)
{
    ev_numpy random;
    uint8_t **taken = io_alloc(split->count, sizeof *taken);
    for (size_t i = 0; i < split->count; i++) taken[i] = io_alloc(split->sequences[i].patches + 1, 1);
    out->queries = (ev_patch_names){io_alloc(QUERIES * 4, sizeof(ev_patch_name)), QUERIES * 4};
    out->distractors = (ev_patch_names){io_alloc(DISTRACTORS * 10, sizeof(ev_patch_name)), DISTRACTORS * 10};
    ev_numpy_seed(&random, SEED);
    draw_names(&random, split, out->queries.items, out->queries.count);
    draw_names(&random, split, out->distractors.items, out->distractors.count);
    keep_first(split, taken, &out->queries, QUERIES);
    keep_first(split, taken, &out->distractors, DISTRACTORS);
    for (size_t i = 0; i < split->count; i++) free(taken[i]);
    free(taken);
    out->drawn = true;
}

/* ------------------------------------------------------------------------------------------------------ the tasks */

bool ev_verification_task_open(const char *tasks, const ev_split_facts *split, size_t size, ev_verification_task *out,
                               io_error *error)
{
    memset(out, 0, sizeof *out);
    bool good;
    if (task_exists(tasks, "verif_pos", split) && task_exists(tasks, "verif_neg_intra", split) &&
        task_exists(tasks, "verif_neg_inter", split))
        good = read_pairs(tasks, "verif_pos", split, &out->positive, &out->skipped, error) &&
               read_pairs(tasks, "verif_neg_intra", split, &out->intra, &out->skipped, error) &&
               read_pairs(tasks, "verif_neg_inter", split, &out->inter, &out->skipped, error);
    else good = draw_verification(split, size, out, error);
    if (!good) ev_verification_task_free(out);
    return good;
}

void ev_verification_task_free(ev_verification_task *task)
{
    free(task->positive.items);
    free(task->intra.items);
    free(task->inter.items);
    memset(task, 0, sizeof *task);
}

bool ev_retrieval_task_open(const char *tasks, const ev_split_facts *split, ev_retrieval_task *out, io_error *error)
{
    memset(out, 0, sizeof *out);
    bool good = true;
    if (task_exists(tasks, "retr_queries", split) && task_exists(tasks, "retr_distractors", split))
        good = read_names(tasks, "retr_queries", split, &out->queries, &out->skipped, error) &&
               read_names(tasks, "retr_distractors", split, &out->distractors, &out->skipped, error);
    else draw_retrieval(split, out);
    if (!good) ev_retrieval_task_free(out);
    return good;
}

void ev_retrieval_task_free(ev_retrieval_task *task)
{
    free(task->queries.items);
    free(task->distractors.items);
    memset(task, 0, sizeof *task);
}
