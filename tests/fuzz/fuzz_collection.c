/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the work folder of keybits collection, and maps of keybits localize, as they are or with the right head and
 * checksum, as one who forges them would do. The first byte chooses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collection/collection.h"
#include "collection/map_inside.h"
#include "fuzz.h"
#include "io/bytes.h"

enum { FEATURES, BLOCK, PAIRS, MAP, PATCHES, READERS };
enum { IMAGES = 6, BAD_IMAGE = 3, KEYPOINTS = 4, ROW = 8, SEALED = 128 };

static const char *const parts[READERS] = {"features/000000.kbf", "blocks/000000.pairs", "pairs.txt", "map.kbl",
                                           "features/000000.kbt"};
static char *image_names[IMAGES];
static bool good[IMAGES];
static uint32_t counts[IMAGES];
static uint64_t stamps[IMAGES];
static collection job;
static pipeline model_only;

static char *path_of(int reader) { return io_path_join(job.options.folder, parts[reader]); }

static void remove_folder(void)
{
    for (int i = 0; i < READERS; i++) {
        char *path = path_of(i);
        unlink(path);
        free(path);
    }
    for (int i = 0; i < 2; i++) {
        char *folder = io_path_join(job.options.folder, i ? "blocks" : "features");
        rmdir(folder);
        free(folder);
    }
    rmdir(job.options.folder);
    free(job.pairs);
}

/* All pairs of the images that have features. */
static void list_pairs(void)
{
    free(job.pairs);
    job.pairs = io_alloc(IMAGES * IMAGES, sizeof *job.pairs);
    job.pair_count = 0;
    job.pair_room = IMAGES * IMAGES;
    for (uint32_t a = 0; a < IMAGES; a++)
        for (uint32_t b = a + 1; b < IMAGES; b++) {
            if (!good[a] || !good[b]) continue;
            job.pairs[job.pair_count][0] = a;
            job.pairs[job.pair_count++][1] = b;
        }
    job.chosen = job.pair_count;
}

static void make_job(void)
{
    static char folder[64] = "/dev/shm/keybits-fuzz-XXXXXX";
    if (job.options.folder) return;
    if (!mkdtemp(folder)) fuzz_expect(mkdtemp(strcpy(folder, "/tmp/keybits-fuzz-XXXXXX")) != NULL);
    job.options.folder = folder;
    job.images = (io_names){image_names, IMAGES};
    job.options.pipeline = &model_only;
    model_only.info.row_bytes = ROW;
    model_only.info.id = 77;
    job.good = good;
    job.keypoints = counts;
    job.stamps = stamps;
    job.pairs_hash = 0xabc;
    for (int i = 0; i < IMAGES; i++) {
        good[i] = i != BAD_IMAGE;
        counts[i] = KEYPOINTS;
        stamps[i] = 1000u + (uint64_t)i;
    }
    for (int i = 0; i < 2; i++) {
        char *path = io_path_join(folder, i ? "blocks" : "features");
        fuzz_expect(mkdir(path, 0777) == 0);
        free(path);
    }
    list_pairs();
    atexit(remove_folder);
}

/* Two images of two rows each, three points. */
static bool write_map(const char *path, io_error *error)
{
    enum { MAP_IMAGES = 2, POINTS = 3 };
    uint8_t rows[KEYPOINTS * ROW];
    uint32_t row_points[KEYPOINTS] = {0, 1, 2, 1};
    double points[3 * POINTS] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    kb_camera lens = {sizeof lens, 50, 50, 32, 24, 0, 0, 0, 0, 0, 0, 0};
    map_image images[MAP_IMAGES] = {{"a.png", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0}, lens, 64, 48, 0, 2},
                                    {"b.png", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1}, lens, 64, 48, 2, 2}};
    kb_vocabulary *vocabulary = NULL;
    kb_index *index = NULL;
    kb_vocabulary_options options;
    KB_INIT(options);
    options.branching = options.levels = 2;
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)(1 + i * i * 5);
    fuzz_expect(kb_vocabulary_train(rows, KEYPOINTS, ROW, &options, NULL, &vocabulary, NULL) == KB_OK);
    fuzz_expect(kb_index_create(vocabulary, NULL, NULL, &index, NULL) == KB_OK);
    for (uint64_t i = 0; i < MAP_IMAGES; i++) {
        kb_features f;
        KB_INIT(f);
        f.rows = rows + 2 * i * ROW;
        f.n = 2;
        f.row_bytes = ROW;
        fuzz_expect(kb_index_add(index, &f, i, NULL, NULL, NULL) == KB_OK);
    }
    map_parts parts_of_map = {
        {77, "none", 3, 1, 0, 100, 0}, ROW, KEYPOINTS, POINTS, MAP_IMAGES, rows, row_points, points, images, index};
    bool written = map_write(path, &parts_of_map, error);
    kb_index_free(index);
    kb_vocabulary_free(vocabulary);
    return written;
}

/* Blocks have shifts, and images have patches, where points are refined. */
static bool refines(int reader) { return reader == BLOCK || reader == PATCHES; }

/* What the program writes: where seeds and the heads of forged files come from. */
static size_t genuine(int reader, uint8_t *buffer, size_t capacity)
{
    kb_keypoint keypoints[KEYPOINTS] = {{1, 2, 31, 90, 5, 0, 0}, {5, 6, 7, 8, 9, 0, 0}};
    uint8_t rows[KEYPOINTS * ROW] = {1, 2, 3}, *sheet = io_alloc(patch_sheet_size(KEYPOINTS), 1);
    patch_shift shifts[2] = {{-300, 200}, PATCH_SHEET_NONE};
    kb_match matches[3] = {{0, 1, 2, 0}, {1, 0, 2, 0}, {3, 2, 2, 0}};
    collection_pair results[IMAGES * IMAGES] = {{0}};
    const features f = {.width = 64,
                        .height = 48,
                        .keypoints = {keypoints, KEYPOINTS},
                        .rows = {.bytes = rows, .count = KEYPOINTS, .width = ROW},
                        .model_id = 77,
                        .patches = sheet};
    io_error error;
    make_job();
    list_pairs();
    job.options.no_refine = !refines(reader);
    for (size_t i = 0; i < patch_sheet_size(KEYPOINTS); i++) sheet[i] = (uint8_t)(i * i / 7);
    for (size_t i = 0; i < job.pair_count; i++)
        results[i] = (collection_pair){job.pairs[i][0],
                                       job.pairs[i][1],
                                       i % 2 ? KB_GEOMETRY_HOMOGRAPHY : KB_GEOMETRY_FUNDAMENTAL,
                                       {1, 0, 3, 0, 1, 2, 0, 0, 1},
                                       {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                       {0},
                                       matches,
                                       3,
                                       i % 3 ? 2 : 0,
                                       (float)(90 * i),
                                       shifts};
    char *path = path_of(reader);
    fuzz_expect(reader == FEATURES || reader == PATCHES ? collection_features_write(&job, 0, &f, &error)
                : reader == BLOCK  ? collection_block_write(&job, 0, results, &error)
                : reader == MAP    ? write_map(path, &error)
                                   : collection_pairs_write(&job, parts[PAIRS], job.pairs_hash, 0, &error));
    io_bytes bytes;
    fuzz_expect(io_file_read(path, &bytes, &error) && bytes.size <= capacity);
    size_t size = bytes.size;
    memcpy(buffer, bytes.data, size);
    io_bytes_free(&bytes);
    free(path);
    free(sheet);
    return size;
}

/* Magic, stamp and checksum as they should be. */
static void seal(int reader, uint8_t *data, size_t size)
{
    static uint8_t heads[READERS][1 << 16];
    if (heads[reader][0] == 0) genuine(reader, heads[reader], sizeof heads[reader]);
    if (reader == PAIRS) { /* "# keybits pairs abc " */
        memcpy(data, heads[reader], size < 20 ? size : 20);
        return;
    }
    if (size < 24 || size % 8 != 0) return;
    memcpy(data, heads[reader], reader == MAP ? 8 : 16); /* counts of a map follow its magic */
    if (reader == BLOCK) kbi_put_u64(data + 16, size - 8);
    kbi_put_u64(data + size - 8, kbi_sum_words(KBI_SUM_START, data, size - 8));
}

static void check_features(size_t size)
{
    features f;
    uint32_t count = 0;
    bool sound = collection_features_check(&job, 0, &count);
    fuzz_expect(sound == collection_features_read(&job, 0, &f));
    if (!sound) return;
    fuzz_expect(f.keypoints.count == count && f.rows.count == count && count * (sizeof(kb_keypoint) + ROW) <= size);
    fuzz_expect(f.width >= 1 && f.width <= IO_MAX_SIDE && f.height >= 1 && f.height <= IO_MAX_SIDE);
    features_free(&f);
}

/* Every patch beside every other. */
static void check_patches(void)
{
    io_mapping file;
    kb_workspace *ws = NULL;
    kb_match matches[KEYPOINTS * KEYPOINTS];
    patch_shift shifts[KEYPOINTS * KEYPOINTS];
    if (!collection_patches_open(&job, 0, KEYPOINTS, &file)) return;
    const patch_side side = {file.data + COLLECTION_PATCHES_HEAD, KEYPOINTS}, sides[2] = {side, side};
    for (int32_t i = 0; i < KEYPOINTS * KEYPOINTS; i++) matches[i] = (kb_match){i / KEYPOINTS, i % KEYPOINTS, 0, 0};
    fuzz_expect(kb_workspace_create(NULL, &ws) == KB_OK);
    fuzz_expect(patch_sheet_align(sides, matches, KEYPOINTS * KEYPOINTS, 30, ws, shifts) == KB_OK);
    kb_workspace_free(ws);
    io_mapping_close(&file);
}

static bool check_pair(void *context, const collection_pair *p, io_error *error)
{
    uint32_t *last = context, now = p->a * IMAGES + p->b;
    (void)error;
    fuzz_expect(p->a < p->b && p->b < IMAGES && good[p->a] && good[p->b] && now >= *last);
    fuzz_expect(p->inliers >= 1 && p->inliers <= p->count && fabsf(p->turned) <= 360);
    for (size_t i = 0; i < p->count; i++)
        fuzz_expect(p->matches[i].a >= 0 && p->matches[i].a < KEYPOINTS && p->matches[i].b >= 0 &&
                    p->matches[i].b < KEYPOINTS);
    for (int i = 0; i < 9; i++) fuzz_expect(isfinite(p->model[i]));
    *last = now + 1;
    return true;
}

static void check_pairs(void)
{
    if (collection_pairs_load(&job, parts[PAIRS], job.pairs_hash, 0))
        for (size_t i = 0; i < job.pair_count; i++) {
            const uint32_t *pair = job.pairs[i];
            fuzz_expect(pair[0] < pair[1] && pair[1] < IMAGES && good[pair[0]] && good[pair[1]]);
            fuzz_expect(i == 0 || pair[0] > job.pairs[i - 1][0] || pair[1] > job.pairs[i - 1][1]);
        }
}

/* Everything that a localization would read. */
static void check_map(void)
{
    map m;
    io_error error = {""};
    char *path = path_of(MAP);
    double point[3];
    if (map_open(path, &m, &error)) {
        for (size_t i = 0; i < m.image_count; i++) {
            const map_image *image = &m.images[i];
            fuzz_expect(strlen(image->name) < 4096 && image->first + image->count <= m.row_count);
            for (size_t k = image->first; k < image->first + image->count; k++) {
                map_point(&m, map_row_point(&m, k), point);
                fuzz_expect(isfinite(point[0]) && isfinite(point[1]) && isfinite(point[2]));
            }
        }
        kb_features f;
        kb_index_result results[4];
        size_t count = 0;
        KB_INIT(f);
        f.rows = (void *)(uintptr_t)m.rows;
        f.n = m.row_count;
        f.row_bytes = m.row_bytes;
        kb_index_query(m.index, &f, NULL, NULL, results, 4, &count, NULL);
        map_close(&m);
    } else {
        fuzz_expect(error.text[0] != 0);
    }
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    io_error error = {""};
    uint32_t last = 0;
    if (size == 0) return 0;
    make_job();
    int reader = data[0] % SEALED % READERS;
    job.options.no_refine = !refines(reader);
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, --size);
    if (data[0] & SEALED) seal(reader, copy, size);
    char *path = path_of(reader);
    FILE *file = fopen(path, "wb");
    fuzz_expect(file != NULL && fwrite(copy, 1, size, file) == size && fclose(file) == 0);
    free(path);
    free(copy);
    list_pairs();
    if (reader == FEATURES)
        check_features(size);
    else if (reader == PAIRS)
        check_pairs();
    else if (reader == MAP)
        check_map();
    else if (reader == PATCHES)
        check_patches();
    else
        fuzz_expect(collection_block_read(&job, 0, check_pair, &last, &error) == collection_block_check(&job, 0));
    return 0;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static uint8_t sealed[1 << 16];
    if (index >= 2 * READERS) return 0;
    buffer[0] = (uint8_t)(index % READERS + (index < READERS ? SEALED : 0));
    size_t size = genuine(index % READERS, buffer + 1, capacity - 1);
    memcpy(sealed, buffer + 1, size);
    seal(index % READERS, sealed, size);
    fuzz_expect(memcmp(sealed, buffer + 1, size) == 0); /* the seal is the library's */
    return 1 + size;
}
