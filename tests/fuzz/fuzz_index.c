/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies and indexes: files of any bytes are refused with words, or can be asked, changed and saved; and what
 * is built from any rows and numbers keeps its promises. The first byte chooses. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fuzz.h"
#include "keybits/index.h"
#include "source.h"
#include "tests/unit/seal.h"

enum { INDEX_FILE, VOCABULARY_FILE, BUILT, WAYS };
enum { MOST = 16, HEADER = 128 };

/* ---- files: with the right checksums, the rest of the readers is reached too ---- */

static void seal_index(uint8_t *data, size_t size)
{
    if (size < HEADER + 8) return;
    uint64_t length = kbi_get_u64(data + 24);
    if (length <= size - HEADER) seal_vocabulary(data + HEADER, (size_t)length);
    kbi_put_u64(data + size - 8, seal_sum(0xcbf29ce484222325u, data, size - 8));
}

static void refused(kb_status status, const kb_error *error)
{
    fuzz_expect(status == KB_E_FORMAT || status == KB_E_TRUNCATED || status == KB_E_CHECKSUM || status == KB_E_TABLE);
    fuzz_expect(error->text[0] != 0 && memchr(error->text, 0, sizeof error->text) != NULL);
}

/* ---- asking ---- */

static size_t row_bytes_of(const kb_vocabulary *vocabulary)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    fuzz_expect(kb_vocabulary_get_info(vocabulary, &info) == KB_OK);
    return (size_t)info.row_bytes;
}

/* Up to MOST rows of the input's bytes, some of them zero, and keypoints. */
static uint8_t *make_features(source *s, size_t row_bytes, kb_keypoint keypoints[MOST], kb_features *f)
{
    KB_INIT(*f);
    f->n = 1 + take_byte(s) % MOST;
    f->row_bytes = row_bytes;
    uint8_t *rows = malloc(f->n * row_bytes);
    uint8_t base = take_byte(s);
    for (size_t i = 0; i < f->n * row_bytes; i++) rows[i] = (uint8_t)((i / row_bytes % 5 != 4) * (base + 37 * i));
    take(s, rows, f->n * row_bytes < 64 ? f->n * row_bytes : 64);
    for (size_t i = 0; i < f->n; i++)
        keypoints[i] = (kb_keypoint){.x = take_byte(s), .y = take_byte(s), .size = 10, .angle = take_byte(s)};
    if (take_byte(s) % 4 == 1) take(s, keypoints, f->n * sizeof *keypoints); /* of any bits */
    f->rows = rows;
    f->keypoints = keypoints;
    return rows;
}

static void use_vocabulary(const kb_vocabulary *vocabulary)
{
    source s = {(const uint8_t *)"\11\52\1\2\3\4\5\6\7", 9, 0};
    kb_features f;
    kb_keypoint keypoints[MOST];
    uint32_t words[MOST], nodes[MOST];
    kb_vocabulary_info info;
    kb_error error;
    KB_INIT(info);
    fuzz_expect(kb_vocabulary_get_info(vocabulary, &info) == KB_OK);
    uint8_t *rows = make_features(&s, (size_t)info.row_bytes, keypoints, &f);
    kb_words_options options;
    KB_INIT(options);
    options.levels_up = 2;
    fuzz_expect(kb_vocabulary_words(vocabulary, &f, &options, words, nodes, &error) == KB_OK);
    for (size_t i = 0; i < f.n; i++) fuzz_expect(words[i] < info.words && nodes[i] < info.nodes);
    free(rows);
}

/* Options of any numbers: refused, or as good as any other. */
static void query_any(const kb_index *index, const kb_features *f, source *s)
{
    kb_index_result results[MOST];
    kb_index_query_options o;
    size_t count = 0;
    kb_error error;
    KB_INIT(o);
    o.scoring = (kb_scoring)(take_byte(s) % 4);
    o.first_images = take_byte(s) % 5;
    o.verify = take_byte(s) % 4;
    o.geometry = (kb_geometry)(take_byte(s) % 8);
    o.probes = take_byte(s) % 66;
    if (take_byte(s) & 1) take(s, &o.threshold, sizeof o.threshold), take(s, &o.verify, sizeof o.verify);
    kb_status status = kb_index_query(index, f, &o, NULL, results, MOST, &count, &error);
    fuzz_expect(status == KB_OK || status == KB_E_KIND || status == KB_E_ARGUMENT);
    for (size_t i = 0; status == KB_OK && i < count; i++) fuzz_expect(results[i].score >= 0);
}

static void query_index(const kb_index *index, const kb_features *f)
{
    kb_index_result results[MOST];
    kb_index_info info;
    size_t count = 0;
    kb_error error;
    KB_INIT(info);
    fuzz_expect(kb_index_get_info(index, &info) == KB_OK);
    for (int scoring = KB_SCORING_BINARY; scoring <= KB_SCORING_EXACT; scoring++) {
        kb_index_query_options o;
        KB_INIT(o);
        o.scoring = (kb_scoring)scoring;
        o.verify = info.features ? 2 : 0;
        kb_status status = kb_index_query(index, f, &o, NULL, results, MOST, &count, &error);
        fuzz_expect(status == KB_OK || status == KB_E_KIND);
        for (size_t i = 0; i < count; i++) {
            fuzz_expect(results[i].position < info.positions && results[i].score >= 0);
            for (int k = 0; k < 9; k++) fuzz_expect(isfinite(results[i].model[k]));
        }
    }
    kb_index_image image;
    KB_INIT(image);
    for (size_t i = 0; i < info.positions && i < 100; i++) {
        fuzz_expect(kb_index_get_image(index, i, &image, NULL, NULL) == KB_OK);
        fuzz_expect(strlen(image.name) < info.bytes);
    }
}

/* ---- saving ---- */

typedef struct memory {
    uint8_t *data;
    size_t size, room;
} memory;

static kb_status memory_write(void *self, const void *data, size_t size)
{
    memory *m = self;
    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size);
        m->data = realloc(m->data, m->room);
        fuzz_expect(m->data != NULL);
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
    return KB_OK;
}

/* What was saved is whole, and saved again it is the same. */
static void save_and_load(kb_index *index)
{
    memory first = {0}, second = {0};
    kb_index *again = NULL;
    kb_error error;
    fuzz_expect(kb_index_save(index, memory_write, &first) == KB_OK);
    fuzz_expect(kb_index_load(first.data, first.size, 1, NULL, &again, &error) == KB_OK);
    fuzz_expect(kb_index_save(again, memory_write, &second) == KB_OK && second.size == first.size &&
                memcmp(first.data, second.data, first.size) == 0);
    kb_index_free(again);
    free(first.data);
    free(second.data);
}

static void add_and_remove(kb_index *index, source *s)
{
    kb_features f;
    kb_keypoint keypoints[MOST];
    kb_error error;
    kb_index_info info;
    KB_INIT(info);
    fuzz_expect(kb_index_get_info(index, &info) == KB_OK);
    size_t removed = 0, row_bytes = row_bytes_of(info.vocabulary);
    uint8_t *rows = make_features(s, row_bytes, keypoints, &f);
    uint64_t id = take_byte(s) % 4;
    fuzz_expect(kb_index_add(index, &f, id, id & 1 ? "name" : NULL, NULL, &error) == KB_OK);
    query_index(index, &f);
    query_any(index, &f, s);
    if (take_byte(s) & 1) fuzz_expect(kb_index_remove(index, take_byte(s) % 4, &removed) == KB_OK);
    free(rows);
}

static void index_file(const uint8_t *data, size_t size)
{
    source s = {data, size, 0};
    kb_index *index = NULL, *whole = NULL;
    kb_error error;
    kb_status status = kb_index_load(data, size, 0, NULL, &index, &error);
    if (status != KB_OK) {
        refused(status, &error);
        return;
    }
    status = kb_index_load(data, size, 1, NULL, &whole, &error);
    fuzz_expect((status == KB_OK && whole) || (status == KB_E_CHECKSUM && !whole));
    kb_index_free(whole);
    for (int i = 0; i < 3; i++) add_and_remove(index, &s);
    save_and_load(index);
    kb_index_free(index);
}

static void vocabulary_file(const uint8_t *data, size_t size)
{
    kb_vocabulary *vocabulary = NULL;
    kb_error error;
    kb_status status = kb_vocabulary_load(data, size, NULL, &vocabulary, &error);
    if (status != KB_OK) refused(status, &error);
    else use_vocabulary(vocabulary);
    kb_vocabulary_free(vocabulary);
}

/* ---- built from any numbers ---- */

/* A tree whose parents and weights are the input's; NULL when it is none. */
static kb_vocabulary *take_tree(source *s)
{
    uint32_t parents[64];
    double weights[64];
    uint8_t rows[64 * 8];
    kb_vocabulary *vocabulary = NULL;
    kb_vocabulary_spec spec;
    kb_error error;
    KB_INIT(spec);
    spec.nodes = take_byte(s) % 65;
    spec.row_bytes = take_byte(s) % 9;
    spec.branching = take_byte(s);
    spec.levels = take_byte(s) % 66;
    spec.scoring = take_byte(s) % 7;
    spec.weighting = (kb_weighting)(take_byte(s) % 5);
    spec.parents = parents;
    spec.weights = weights;
    spec.rows = rows;
    bool any = take_byte(s) & 1;
    take(s, rows, sizeof rows / 4);
    take(s, rows + sizeof rows / 2, sizeof rows / 4);
    for (uint32_t i = 0; i < 64; i++) {
        weights[i] = take_byte(s) / 16.0;
        parents[i] = i ? take_byte(s) % i : 0;
        if (any && take_byte(s) % 8 == 0) take(s, &parents[i], 4), take(s, &weights[i], 8);
    }
    kb_status status = kb_vocabulary_create(&spec, NULL, &vocabulary, &error);
    fuzz_expect(status == KB_OK || (!vocabulary && error.text[0] != 0));
    return vocabulary;
}

static kb_vocabulary *train_any(source *s)
{
    uint8_t rows[64 * 4];
    size_t ends[3] = {20, 20, 64};
    kb_vocabulary *vocabulary = NULL;
    kb_vocabulary_options o;
    kb_error error;
    KB_INIT(o);
    o.branching = 2 + take_byte(s) % 20;
    o.levels = 1 + take_byte(s) % 4;
    o.iterations = 1 + take_byte(s) % 4;
    o.seed = take_byte(s);
    if (take_byte(s) & 1) o.image_ends = ends, o.images = 3;
    take(s, rows, sizeof rows);
    kb_status status = kb_vocabulary_train(rows, 64, 4, &o, NULL, &vocabulary, &error);
    fuzz_expect(status == KB_OK || (!vocabulary && error.text[0] != 0));
    return vocabulary;
}

static void close_loops(const kb_vocabulary *vocabulary, source *s)
{
    kb_loop_detector *detector = NULL;
    kb_loop_options o;
    kb_error error;
    KB_INIT(o);
    o.window = 1 + take_byte(s) % 3;
    o.checks = take_byte(s) % 4;
    o.island = take_byte(s) % 4;
    o.min_places = take_byte(s) % 8;
    o.geometry = (kb_geometry)(take_byte(s) % 7);
    if (take_byte(s) & 1) take(s, &o.min_score, sizeof o.min_score), take(s, &o.threshold, sizeof o.threshold);
    kb_status status = kb_loop_detector_create(vocabulary, &o, NULL, &detector, &error);
    fuzz_expect(status == KB_OK || (status == KB_E_ARGUMENT && !detector && error.text[0] != 0));
    for (size_t i = 0; detector && i < 6; i++) {
        kb_features f;
        kb_keypoint keypoints[MOST];
        kb_loop loop;
        KB_INIT(loop);
        uint8_t *rows = make_features(s, row_bytes_of(vocabulary), keypoints, &f);
        fuzz_expect(kb_loop_detector_add(detector, &f, NULL, &loop, &error) == KB_OK && loop.query == i);
        fuzz_expect(!loop.found || loop.reference < i);
        free(rows);
    }
    kb_loop_detector_free(detector);
}

static void build_any(source *s)
{
    kb_vocabulary *vocabulary = take_byte(s) & 1 ? take_tree(s) : train_any(s);
    if (!vocabulary) return;
    use_vocabulary(vocabulary);
    kb_index *index = NULL;
    kb_error error;
    kb_index_options o;
    KB_INIT(o);
    o.no_signatures = take_byte(s) & 1;
    o.keep_features = take_byte(s) & 1;
    fuzz_expect(kb_index_create(vocabulary, &o, NULL, &index, &error) == KB_OK);
    for (int rounds = take_byte(s) % 6; rounds > 0; rounds--) add_and_remove(index, s);
    save_and_load(index);
    kb_index_free(index);
    close_loops(vocabulary, s);
    kb_vocabulary_free(vocabulary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    source s = {data, size, 1};
    if (data[0] % WAYS == BUILT) {
        build_any(&s);
        return 0;
    }
    uint8_t *copy = malloc(size); /* without the first byte, at the start of a block */
    memcpy(copy, data + 1, size - 1);
    bool index = data[0] % WAYS == INDEX_FILE;
    for (int sealed = 0; sealed < 2; sealed++) {
        if (sealed && index) seal_index(copy, size - 1);
        else if (sealed) seal_vocabulary(copy, size - 1);
        if (index) index_file(copy, size - 1);
        else vocabulary_file(copy, size - 1);
    }
    free(copy);
    return 0;
}

/* ---- seeds ---- */

static kb_vocabulary *seed_vocabulary(uint32_t seed)
{
    uint8_t rows[40 * 8];
    kb_vocabulary *vocabulary = NULL;
    kb_vocabulary_options o;
    KB_INIT(o);
    o.branching = 3;
    o.levels = 2;
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    fuzz_expect(kb_vocabulary_train(rows, 40, 8, &o, NULL, &vocabulary, NULL) == KB_OK);
    return vocabulary;
}

static size_t seed_index(int number, uint8_t *buffer, size_t capacity)
{
    kb_vocabulary *vocabulary = seed_vocabulary(7);
    kb_index *index = NULL;
    kb_index_options o;
    memory file = {0};
    source s = {(const uint8_t *)"\3\52\1\2\3\4\5\6\7\1\0\0\0\0", 14, 0};
    KB_INIT(o);
    o.no_signatures = number == 1;
    o.keep_features = number == 2;
    fuzz_expect(kb_index_create(vocabulary, &o, NULL, &index, NULL) == KB_OK);
    for (int i = 0; i < 3; i++) add_and_remove(index, &s);
    fuzz_expect(kb_index_save(index, memory_write, &file) == KB_OK && file.size < capacity);
    buffer[0] = INDEX_FILE;
    memcpy(buffer + 1, file.data, file.size);
    seal_index(file.data, file.size);
    fuzz_expect(memcmp(buffer + 1, file.data, file.size) == 0); /* the seal is the library's */
    kb_index_free(index);
    kb_vocabulary_free(vocabulary);
    free(file.data);
    return 1 + file.size;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    if (index < 3) return seed_index(index, buffer, capacity);
    if (index == 3) {
        kb_vocabulary *vocabulary = seed_vocabulary(9);
        kb_vocabulary_info info;
        KB_INIT(info);
        kb_vocabulary_get_info(vocabulary, &info);
        fuzz_expect(info.bytes < capacity);
        buffer[0] = VOCABULARY_FILE;
        memcpy(buffer + 1, info.data, info.bytes);
        seal_vocabulary(buffer + 1, info.bytes);
        fuzz_expect(memcmp(buffer + 1, info.data, info.bytes) == 0);
        kb_vocabulary_free(vocabulary);
        return 1 + info.bytes;
    }
    if (index > 5) return 0;
    uint32_t noise = (uint32_t)index;
    for (size_t i = 0; i < 800; i++) buffer[i] = (uint8_t)((noise = noise * 1664525u + 1013904223u) >> 24);
    buffer[0] = BUILT;
    buffer[1] = (uint8_t)index;
    return 800;
}
