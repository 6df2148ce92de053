/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the work folder of keybits collection: features of an image, the list of pairs, blocks of verified
 * pairs. Whoever made a file, its readers get numbers that lead somewhere: a checksum tells damage, not who wrote. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collection/collection.h"
#include "io/bytes.h"

#ifdef __APPLE__ /* whose names are older than POSIX's */
#    define st_mtim st_mtimespec
#    define st_ctim st_ctimespec
#endif

#define FEATURES_HEAD 48
#define BLOCK_HEAD 24
#define PAIR_HEAD 192
static const char features_magic[8] = "KBFEAT2", patches_magic[8] = "KBTILE2", block_magic[8] = "KBPAIR3";

char *collection_path(const collection *c, const char *part, size_t number, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%06zu%s", part, number, suffix);
    return io_path_join(c->options.folder, name);
}

/* A file of the work folder that is there, has this head, and ends with the checksum of what comes before. */
static bool file_open(const collection *c, const char *part, size_t number, const char *suffix, const char magic[8],
                      uint64_t stamp, size_t least, io_mapping *file)
{
    char *path = collection_path(c, part, number, suffix);
    bool ok = io_path_exists(path) && io_mapping_open(path, file, NULL);
    free(path);
    if (!ok) return false;
    ok = file->size >= least + 8 && file->size % 8 == 0 && memcmp(file->data, magic, 8) == 0 &&
         kbi_get_u64(file->data + 8) == stamp &&
         kbi_sum_words(KBI_SUM_START, file->data, file->size - 8) == kbi_get_u64(file->data + file->size - 8);
    if (!ok) io_mapping_close(file);
    return ok;
}

/* ---- images ---- */

typedef struct image_key {
    unsigned long long size, inode, modified, changed; /* the times in nanoseconds */
} image_key;

static unsigned long long nanoseconds(struct timespec t)
{
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static uint64_t content_hash(const char *path)
{
    io_mapping file;
    if (!io_mapping_open(path, &file, NULL)) return 0;
    const size_t whole = file.size & ~(size_t)7;
    const uint64_t size = file.size;
    uint64_t hash = kbi_sum_words(KBI_SUM_START, file.data, whole);
    hash = kbi_sum_bytes(hash, file.data + whole, file.size - whole);
    hash = kbi_sum_bytes(hash, &size, sizeof size);
    io_mapping_close(&file);
    return hash;
}

/* What was noted when the image was hashed; "size inode modified changed hash". */
static bool key_read(const char *path, image_key *key, uint64_t *hash)
{
    io_bytes text;
    unsigned long long noted = 0;
    if (!io_path_exists(path) || !io_file_read(path, &text, NULL)) return false;
    bool ok = sscanf((char *)text.data, "%llu %llu %llu %llu %llx", &key->size, &key->inode, &key->modified,
                     &key->changed, &noted) == 5;
    *hash = noted;
    io_bytes_free(&text);
    return ok;
}

uint64_t collection_content(const collection *c, size_t image)
{
    struct stat status;
    image_key noted = {0};
    uint64_t hash = 0;
    char text[128];
    if (stat(c->images.items[image], &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    const image_key now = {(unsigned long long)status.st_size, (unsigned long long)status.st_ino,
                           nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
    char *path = collection_path(c, "features", image, ".key");
    if (!key_read(path, &noted, &hash) || memcmp(&noted, &now, sizeof now) != 0) {
        hash = content_hash(c->images.items[image]);
        int length = snprintf(text, sizeof text, "%llu %llu %llu %llu %llx\n", now.size, now.inode, now.modified,
                              now.changed, (unsigned long long)hash);
        (void)io_file_write_work(path, text, (size_t)length, NULL); /* without it the file is read once more */
    }
    free(path);
    return hash;
}

bool collection_failure_check(const collection *c, size_t image)
{
    io_bytes text;
    unsigned long long stamp = 0;
    char *path = collection_path(c, "features", image, ".err");
    bool ok = io_path_exists(path) && io_file_read(path, &text, NULL);
    free(path);
    if (!ok) return false;
    ok = sscanf((char *)text.data, "%llx ", &stamp) == 1 && stamp == c->stamps[image];
    io_bytes_free(&text);
    return ok;
}

bool collection_failure_write(const collection *c, size_t image, const char *why, io_error *error)
{
    char *path = collection_path(c, "features", image, ".err"), *text = io_alloc(strlen(why) + 20, 1);
    int length = sprintf(text, "%llx %s\n", (unsigned long long)c->stamps[image], why);
    bool ok = io_file_write_work(path, text, (size_t)length, error);
    free(text);
    free(path);
    return ok;
}

/* ---- features ---- */

/* Whether keypoints are what a detector gives: checksums tell damage, not who wrote. */
static bool keypoints_sound(const uint8_t *points, size_t n, uint64_t width, uint64_t height)
{
    for (size_t i = 0; i < n; i++) {
        kb_keypoint k;
        memcpy(&k, points + i * sizeof k, sizeof k);
        if (!(k.x >= -1 && k.x <= (float)width && k.y >= -1 && k.y <= (float)height && k.size > 0 &&
              isfinite(k.size) && isfinite(k.angle) && isfinite(k.response)))
            return false;
    }
    return true;
}

/* The bytes of all rows of a keypoint: of both kinds, or of one. */
static uint64_t rows_of_keypoint(const collection *c)
{
    const pipeline *p = c->options.pipeline;
    return (uint64_t)p->info.row_bytes * (pipeline_keeps_upright(p) ? 2 : 1);
}

static bool features_open(const collection *c, size_t image, io_mapping *file)
{
    if (!file_open(c, "features", image, ".kbf", features_magic, c->stamps[image], FEATURES_HEAD, file)) return false;
    const kb_model_info *model = &c->options.pipeline->info;
    const uint8_t *head = file->data;
    uint64_t width = kbi_get_u32(head + 16), height = kbi_get_u32(head + 20), n = kbi_get_u32(head + 24),
             row = kbi_get_u32(head + 28),
             body = FEATURES_HEAD + n * (sizeof(kb_keypoint) + rows_of_keypoint(c));
    bool ok = width >= 1 && width <= IO_MAX_SIDE && height >= 1 && height <= IO_MAX_SIDE &&
              row == (uint64_t)model->row_bytes && kbi_get_u64(head + 32) == model->id &&
              file->size == ((body + 7) & ~(uint64_t)7) + 8 && kbi_get_f64(head + 40) >= 0 && kbi_get_f64(head + 40) < 1e6 &&
              keypoints_sound(head + FEATURES_HEAD, (size_t)n, width, height);
    if (!ok) io_mapping_close(file);
    return ok;
}

bool collection_patches_open(const collection *c, size_t image, size_t keypoints, io_mapping *file)
{
    if (!file_open(c, "features", image, ".kbt", patches_magic, c->stamps[image], COLLECTION_PATCHES_HEAD, file)) return false;
    bool ok = kbi_get_u64(file->data + 16) == keypoints &&
              file->size == COLLECTION_PATCHES_HEAD + patch_sheet_size(keypoints) + 8;
    if (!ok) io_mapping_close(file);
    return ok;
}

bool collection_features_check(const collection *c, size_t image, uint32_t *count)
{
    io_mapping file;
    if (!features_open(c, image, &file)) return false;
    *count = kbi_get_u32(file.data + 24);
    io_mapping_close(&file);
    if (c->options.no_refine) return true;
    if (!collection_patches_open(c, image, *count, &file)) return false;
    io_mapping_close(&file);
    return true;
}

bool collection_features_read(const collection *c, size_t image, features *out)
{
    io_mapping file;
    memset(out, 0, sizeof *out);
    if (!features_open(c, image, &file)) return false;
    const uint8_t *head = file.data, *points = head + FEATURES_HEAD;
    size_t n = kbi_get_u32(head + 24), row = kbi_get_u32(head + 28);
    out->width = (int32_t)kbi_get_u32(head + 16);
    out->height = (int32_t)kbi_get_u32(head + 20);
    out->model_id = kbi_get_u64(head + 32);
    out->focal = kbi_get_f64(head + 40);
    out->keypoints.items = io_alloc(n + 1, sizeof *out->keypoints.items);
    out->rows.bytes = io_alloc(n * row + 1, 1);
    out->keypoints.count = out->rows.count = n;
    out->rows.width = row;
    memcpy(out->keypoints.items, points, n * sizeof(kb_keypoint));
    memcpy(out->rows.bytes, points + n * sizeof(kb_keypoint), n * row);
    if (pipeline_keeps_upright(c->options.pipeline)) {
        out->upright_rows = io_alloc(n * row + 1, 1);
        memcpy(out->upright_rows, points + n * (sizeof(kb_keypoint) + row), n * row);
    }
    io_mapping_close(&file);
    return true;
}

static bool patches_write(const collection *c, size_t image, const features *f, io_error *error)
{
    size_t sheet = patch_sheet_size(f->keypoints.count), body = COLLECTION_PATCHES_HEAD + sheet;
    uint8_t *data = io_alloc(body + 8, 1);
    memcpy(data, patches_magic, 8);
    kbi_put_u64(data + 8, c->stamps[image]);
    kbi_put_u64(data + 16, f->keypoints.count);
    memcpy(data + COLLECTION_PATCHES_HEAD, f->patches, sheet);
    kbi_put_u64(data + body, kbi_sum_words(KBI_SUM_START, data, body));
    char *path = collection_path(c, "features", image, ".kbt");
    bool ok = io_file_write_work(path, data, body + 8, error);
    free(path);
    free(data);
    return ok;
}

bool collection_features_write(const collection *c, size_t image, const features *f, io_error *error)
{
    if (!c->options.no_refine && !patches_write(c, image, f, error)) return false;
    size_t n = f->keypoints.count, row = f->rows.width, points = n * sizeof(kb_keypoint);
    size_t body = (FEATURES_HEAD + points + n * (size_t)rows_of_keypoint(c) + 7) & ~(size_t)7;
    uint8_t *data = io_alloc(body + 8, 1);
    memcpy(data, features_magic, 8);
    kbi_put_u64(data + 8, c->stamps[image]);
    kbi_put_u32(data + 16, (uint32_t)f->width);
    kbi_put_u32(data + 20, (uint32_t)f->height);
    kbi_put_u32(data + 24, (uint32_t)n);
    kbi_put_u32(data + 28, (uint32_t)row);
    kbi_put_u64(data + 32, f->model_id);
    kbi_put_f64(data + 40, f->focal);
    if (n > 0) memcpy(data + FEATURES_HEAD, f->keypoints.items, points);
    if (n > 0) memcpy(data + FEATURES_HEAD + points, f->rows.bytes, n * row);
    if (n > 0 && f->upright_rows) memcpy(data + FEATURES_HEAD + points + n * row, f->upright_rows, n * row);
    kbi_put_u64(data + body, kbi_sum_words(KBI_SUM_START, data, body));
    char *path = collection_path(c, "features", image, ".kbf");
    bool ok = io_file_write_work(path, data, body + 8, error);
    free(path);
    free(data);
    return ok;
}

/* ---- lists of pairs ---- */

bool collection_pairs_load(collection *c, const char *name, uint64_t hash, size_t first)
{
    io_bytes bytes;
    unsigned long long noted = 0, count = 0;
    int used = 0;
    char *path = io_path_join(c->options.folder, name);
    bool ok = io_path_exists(path) && io_file_read(path, &bytes, NULL);
    free(path);
    c->pair_count = first;
    if (!ok) return false;
    char *at = (char *)bytes.data;
    ok = sscanf(at, "# keybits pairs %llx %llu\n%n", &noted, &count, &used) == 2 && used > 0 && noted == hash &&
         count <= bytes.size;
    at += used;
    for (unsigned long long i = 0; ok && i < count; i++) {
        char *end;
        unsigned long a = strtoul(at, &end, 10), b = strtoul(end, &at, 10);
        const uint32_t *before = i > 0 ? c->pairs[c->pair_count - 1] : NULL;
        ok = *at++ == '\n' && a < b && b < c->images.count && c->good[a] && c->good[b] &&
             (!before || before[0] < a || (before[0] == a && before[1] < b)) &&
             (first == 0 || !collection_chosen_pair(c, a, b));
        if (ok) collection_pairs_add(c, a, b);
    }
    if (!ok) c->pair_count = first;
    io_bytes_free(&bytes);
    return ok;
}

bool collection_pairs_write(const collection *c, const char *name, uint64_t hash, size_t first, io_error *error)
{
    char *path = io_path_join(c->options.folder, name);
    io_writer *writer = io_writer_open_work(path, error);
    free(path);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    fprintf(out, "# keybits pairs %llx %zu\n", (unsigned long long)hash, c->pair_count - first);
    for (size_t i = first; i < c->pair_count; i++) fprintf(out, "%u %u\n", c->pairs[i][0], c->pairs[i][1]);
    return io_writer_commit(writer, error);
}

/* ---- blocks ---- */

static size_t blocks_of(size_t pairs) { return (pairs + COLLECTION_BLOCK - 1) / COLLECTION_BLOCK; }

size_t collection_blocks(const collection *c)
{
    return blocks_of(c->chosen) + blocks_of(c->pair_count - c->chosen);
}

size_t collection_block_first(const collection *c, size_t block)
{
    size_t chosen = blocks_of(c->chosen);
    return block < chosen ? block * COLLECTION_BLOCK : c->chosen + (block - chosen) * COLLECTION_BLOCK;
}

size_t collection_block_pairs(const collection *c, size_t block)
{
    size_t first = collection_block_first(c, block), left = (first < c->chosen ? c->chosen : c->pair_count) - first;
    return left < COLLECTION_BLOCK ? left : COLLECTION_BLOCK;
}

/* What decides the content of a block of a list. */
static uint64_t matching_hash(const collection *c, uint64_t list, size_t block)
{
    const pipeline_options *o = &c->options.pipeline->options;
    const io_camera none = {0}, *k = c->options.camera ? c->options.camera : &none;
    const double *p = k->parameters;
    const double numbers[] = {(double)block, (double)o->max_ratio, (double)o->max_distance,
                              c->options.threshold, (double)o->seed, (double)c->options.min_places, COLLECTION_BLOCK,
                              (double)c->options.no_refine, (double)k->model, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
    uint8_t bytes[sizeof numbers];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) kbi_put_f64(bytes + 8 * i, numbers[i]);
    return kbi_sum_bytes(list, bytes, sizeof bytes);
}

/* Which pairs of the list are verified follows from what decides their blocks. */
uint64_t collection_expanded_hash(const collection *c)
{
    return kbi_sum_bytes(matching_hash(c, c->pairs_hash, 0), "expanded", 8);
}

static uint64_t block_stamp(const collection *c, size_t block)
{
    bool chosen = collection_block_first(c, block) < c->chosen;
    return matching_hash(c, chosen ? c->pairs_hash : collection_expanded_hash(c), block);
}

/* Matches, then shifts of the inliers, up to a multiple of 8 bytes. */
static size_t pair_bytes(const collection *c, const collection_pair *p)
{
    return PAIR_HEAD + 8 * ((size_t)p->count + (c->options.no_refine ? 0 : ((size_t)p->inliers + 1) / 2));
}

static void pair_pack(uint8_t *to, const collection_pair *p)
{
    const uint32_t numbers[] = {p->a, p->b, (uint32_t)p->geometry, p->count, p->inliers};
    for (int i = 0; i < 5; i++) kbi_put_u32(to + 4 * i, numbers[i]);
    kbi_put_f32(to + 20, p->turned);
    for (int i = 0; i < 9; i++) kbi_put_f64(to + 24 + 8 * i, p->model[i]);
    for (int i = 0; i < 9; i++) kbi_put_f64(to + 96 + 8 * i, p->rotation[i]);
    for (int i = 0; i < 3; i++) kbi_put_f64(to + 168 + 8 * i, p->translation[i]);
    for (size_t i = 0; i < p->count; i++) {
        kbi_put_u32(to + PAIR_HEAD + 8 * i, (uint32_t)p->matches[i].a);
        kbi_put_u32(to + PAIR_HEAD + 8 * i + 4, (uint32_t)p->matches[i].b);
    }
    uint8_t *shifts = to + PAIR_HEAD + 8 * (size_t)p->count;
    for (size_t i = 0; p->shifts && i < p->inliers; i++)
        kbi_put_u32(shifts + 4 * i, (uint32_t)(uint16_t)p->shifts[i].y << 16 | (uint16_t)p->shifts[i].x);
}

bool collection_block_write(const collection *c, size_t block, const collection_pair *results, io_error *error)
{
    size_t size = BLOCK_HEAD, at = BLOCK_HEAD, count = collection_block_pairs(c, block);
    for (size_t i = 0; i < count; i++) size += results[i].inliers > 0 ? pair_bytes(c, &results[i]) : 0;
    uint8_t *data = io_alloc(size + 8, 1);
    memcpy(data, block_magic, 8);
    kbi_put_u64(data + 8, block_stamp(c, block));
    kbi_put_u64(data + 16, size);
    for (size_t i = 0; i < count; i++) {
        if (results[i].inliers == 0) continue;
        pair_pack(data + at, &results[i]);
        at += pair_bytes(c, &results[i]);
    }
    kbi_put_u64(data + size, kbi_sum_words(KBI_SUM_START, data, size));
    char *path = collection_path(c, "blocks", block, ".pairs");
    bool ok = io_file_write_work(path, data, size + 8, error);
    free(path);
    free(data);
    return ok;
}

static collection_pair pair_head(const uint8_t *from)
{
    collection_pair p = {.a = kbi_get_u32(from), .b = kbi_get_u32(from + 4), .geometry = (kb_geometry)kbi_get_u32(from + 8),
                         .count = kbi_get_u32(from + 12), .inliers = kbi_get_u32(from + 16),
                         .turned = kbi_get_f32(from + 20)};
    for (int i = 0; i < 9; i++) p.model[i] = kbi_get_f64(from + 24 + 8 * i);
    for (int i = 0; i < 9; i++) p.rotation[i] = kbi_get_f64(from + 96 + 8 * i);
    for (int i = 0; i < 3; i++) p.translation[i] = kbi_get_f64(from + 168 + 8 * i);
    return p;
}

/* The place of a verified pair among those of the block, from `next` on; the number of pairs when it is not there. */
static size_t pair_place(const collection *c, size_t block, size_t next, const collection_pair *p)
{
    size_t count = collection_block_pairs(c, block);
    const uint32_t(*pairs)[2] = (const uint32_t(*)[2])(c->pairs + collection_block_first(c, block));
    while (next < count && (pairs[next][0] != p->a || pairs[next][1] != p->b)) next++;
    return next;
}

static bool pair_sound(const collection *c, const collection_pair *p, const uint8_t *matches)
{
    bool known = p->geometry == KB_GEOMETRY_FUNDAMENTAL || p->geometry == KB_GEOMETRY_HOMOGRAPHY ||
                 p->geometry == KB_GEOMETRY_ESSENTIAL || p->geometry == KB_GEOMETRY_ROTATION;
    if (!known || p->inliers == 0 || p->inliers > p->count || !(fabsf(p->turned) <= 360)) return false;
    for (int i = 0; i < 9; i++)
        if (!isfinite(p->model[i]) || !isfinite(p->rotation[i]) || !isfinite(p->translation[i % 3])) return false;
    for (size_t i = 0; i < p->count; i++)
        if (kbi_get_u32(matches + 8 * i) >= c->keypoints[p->a] ||
            kbi_get_u32(matches + 8 * i + 4) >= c->keypoints[p->b])
            return false;
    return true;
}

/* Whether all pairs lie within the file, are pairs of the block in their order, and match keypoints that are there. */
static bool block_sound(const collection *c, size_t block, const io_mapping *file)
{
    size_t end = file->size - 8, at = BLOCK_HEAD, next = 0;
    while (end - at >= PAIR_HEAD) {
        collection_pair p = pair_head(file->data + at);
        size_t place = pair_place(c, block, next, &p);
        if (place == collection_block_pairs(c, block) || p.count > (end - at - PAIR_HEAD) / 8 ||
            p.inliers > p.count || pair_bytes(c, &p) > end - at || !pair_sound(c, &p, file->data + at + PAIR_HEAD))
            return false;
        next = place + 1;
        at += pair_bytes(c, &p);
    }
    return at == end;
}

static bool block_open(const collection *c, size_t block, io_mapping *file)
{
    if (!file_open(c, "blocks", block, ".pairs", block_magic, block_stamp(c, block), BLOCK_HEAD, file)) return false;
    if (kbi_get_u64(file->data + 16) == file->size - 8 && block_sound(c, block, file)) return true;
    io_mapping_close(file);
    return false;
}

bool collection_block_check(const collection *c, size_t block)
{
    io_mapping file;
    if (!block_open(c, block, &file)) return false;
    io_mapping_close(&file);
    return true;
}

bool collection_blocks_ready(const collection *c, io_error *error)
{
    size_t blocks = collection_blocks(c), missing = 0, first = 0;
    for (size_t i = 0; i < blocks; i++)
        if (!collection_block_check(c, i) && missing++ == 0) first = i;
    return missing == 0 || io_fail(error, "%zu of %zu blocks of pairs are not matched yet, such as block %zu: run --step "
                                          "match for all shards first", missing, blocks, first);
}

bool collection_pairs_read(const collection *c, collection_take take, void *context, io_error *error)
{
    if (!c->expanded)
        return io_fail(error, "the pairs are not expanded yet: run --step expand, then --step match for all shards again");
    for (size_t i = 0; i < collection_blocks(c); i++)
        if (!collection_block_read(c, i, take, context, error)) return false;
    return true;
}

static patch_shift *shifts_read(const uint8_t *from, size_t n)
{
    patch_shift *shifts = io_alloc(n + 1, sizeof *shifts);
    for (size_t i = 0; i < n; i++) {
        uint32_t both = kbi_get_u32(from + 4 * i);
        shifts[i] = (patch_shift){(int16_t)(both & 0xffff), (int16_t)(both >> 16)};
    }
    return shifts;
}

bool collection_block_read(const collection *c, size_t block, collection_take take, void *context, io_error *error)
{
    io_mapping file;
    if (!block_open(c, block, &file)) return io_fail(error, "block %zu is gone", block);
    bool ok = true;
    for (size_t at = BLOCK_HEAD; ok && at < file.size - 8;) {
        const uint8_t *from = file.data + at;
        collection_pair p = pair_head(from);
        p.matches = io_alloc((size_t)p.count + 1, sizeof *p.matches);
        for (size_t i = 0; i < p.count; i++) {
            p.matches[i].a = (int32_t)kbi_get_u32(from + PAIR_HEAD + 8 * i);
            p.matches[i].b = (int32_t)kbi_get_u32(from + PAIR_HEAD + 8 * i + 4);
        }
        if (!c->options.no_refine) p.shifts = shifts_read(from + PAIR_HEAD + 8 * (size_t)p.count, p.inliers);
        ok = take(context, &p, error);
        free(p.matches);
        free(p.shifts);
        at += pair_bytes(c, &p);
    }
    io_mapping_close(&file);
    return ok;
}
