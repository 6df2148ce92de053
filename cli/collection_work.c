/* The work folder of keybits collection: features of images as files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collection.h"
#include "io/progress.h"
#include "io/bytes.h"

#define HEAD 48
static const char magic[8] = "KBFEAT1";

uint64_t collection_hash(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

char *collection_path(const collection_job *j, const char *part, size_t number, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%06zu%s", part, number, suffix);
    return io_path_join(j->folder, name);
}

/* ---- reading ---- */

/* The file's bytes when it is whole and of these inputs. */
static bool features_open(const collection_job *j, size_t image, io_mapping *file)
{
    io_error ignored;
    char *path = collection_path(j, "features", image, ".kbf");
    bool ok = io_path_exists(path) && io_mapping_open(path, file, &ignored);
    free(path);
    if (!ok) return false;
    ok = file->size >= HEAD + 8 && memcmp(file->data, magic, 8) == 0 &&
         kbi_get_u64(file->data + 8) == j->stamps[image];
    uint64_t n = ok ? kbi_get_u32(file->data + 24) : 0, row = ok ? kbi_get_u32(file->data + 28) : 0;
    uint64_t body = HEAD + n * sizeof(kb_keypoint) + n * row, padded = (body + 7) & ~(uint64_t)7;
    ok = ok && row == (uint64_t)j->pipeline.pipeline.info.row_bytes && file->size == padded + 8 &&
         kbi_sum_words(KBI_SUM_START, file->data, padded) == kbi_get_u64(file->data + padded);
    if (!ok) io_mapping_close(file);
    return ok;
}

bool collection_features_check(const collection_job *j, size_t image)
{
    io_mapping file;
    if (!features_open(j, image, &file)) return false;
    io_mapping_close(&file);
    return true;
}

bool collection_features_read(const collection_job *j, size_t image, features *out)
{
    io_mapping file;
    memset(out, 0, sizeof *out);
    if (!features_open(j, image, &file)) return false;
    const uint8_t *head = file.data;
    size_t n = kbi_get_u32(head + 24), row = kbi_get_u32(head + 28);
    out->width = (int32_t)kbi_get_u32(head + 16);
    out->height = (int32_t)kbi_get_u32(head + 20);
    out->model_id = kbi_get_u64(head + 32);
    out->keypoints.items = io_alloc(n + 1, sizeof *out->keypoints.items);
    out->rows.bytes = io_alloc(n * row + 1, 1);
    out->keypoints.count = out->rows.count = n;
    out->rows.width = row;
    memcpy(out->keypoints.items, head + HEAD, n * sizeof(kb_keypoint));
    memcpy(out->rows.bytes, head + HEAD + n * sizeof(kb_keypoint), n * row);
    io_mapping_close(&file);
    return true;
}

/* ---- writing ---- */

static bool features_write(const collection_job *j, size_t image, const features *f, io_error *error)
{
    size_t n = f->keypoints.count, row = f->rows.width, points = n * sizeof(kb_keypoint);
    size_t body = (HEAD + points + n * row + 7) & ~(size_t)7;
    uint8_t *data = io_alloc(body + 8, 1);
    memcpy(data, magic, 8);
    kbi_put_u64(data + 8, j->stamps[image]);
    kbi_put_u32(data + 16, (uint32_t)f->width);
    kbi_put_u32(data + 20, (uint32_t)f->height);
    kbi_put_u32(data + 24, (uint32_t)n);
    kbi_put_u32(data + 28, (uint32_t)row);
    kbi_put_u64(data + 32, f->model_id);
    if (n > 0) memcpy(data + HEAD, f->keypoints.items, points);
    if (n > 0) memcpy(data + HEAD + points, f->rows.bytes, n * row);
    kbi_put_u64(data + body, kbi_sum_words(KBI_SUM_START, data, body));
    char *path = collection_path(j, "features", image, ".kbf");
    bool ok = io_file_write(path, data, body + 8, error);
    free(path);
    free(data);
    return ok;
}

typedef struct describe_step {
    collection_job *j;
    size_t *which; /* images of this shard that have no features yet */
    io_error error;
    bool stopped;
} describe_step;

static bool describe_take(void *context, size_t index, features *f, const char *why)
{
    describe_step *s = context;
    size_t image = s->which[index];
    char *path = collection_path(s->j, "features", image, ".err");
    bool ok = true;
    if (f) {
        ok = features_write(s->j, image, f, &s->error);
        unlink(path);
    } else {
        cli_error("%s", why);
        ok = io_file_write(path, why, strlen(why), &s->error);
    }
    free(path);
    s->stopped = s->stopped || !ok;
    return ok;
}

/* What an image's features depend on besides the options: its name, size and time. */
static void stamp_images(collection_job *j)
{
    j->stamps = io_alloc(j->images.count, sizeof *j->stamps);
    j->good = io_alloc(j->images.count, sizeof *j->good);
    for (size_t i = 0; i < j->images.count; i++) {
        struct stat status;
        uint8_t numbers[16] = {0};
        if (stat(j->images.items[i], &status) == 0) {
            kbi_put_u64(numbers, (uint64_t)status.st_size);
            kbi_put_u64(numbers + 8, (uint64_t)status.st_mtime);
        }
        uint64_t stamp = collection_hash(j->describe_hash, j->names.items[i], strlen(j->names.items[i]) + 1);
        j->stamps[i] = collection_hash(stamp, numbers, sizeof numbers);
    }
}

bool collection_describe(collection_job *j, io_error *error)
{
    describe_step s = {.j = j, .which = io_alloc(j->images.count + 1, sizeof *s.which)};
    io_names missing = {0};
    bool wanted = j->step == 0 || j->step == 1; /* all, describe */
    stamp_images(j);
    for (size_t i = 0; wanted && i < j->images.count; i++) {
        if ((int32_t)(i % (size_t)j->shards) != j->shard || collection_features_check(j, i)) continue;
        s.which[missing.count] = i;
        io_names_add(&missing, j->images.items[i]);
    }
    bool ok = missing.count == 0 || places_describe(j->common, &j->pipeline, &j->reading, &missing, "describing",
                                                    describe_take, &s, error);
    if (s.stopped) *error = s.error;
    io_names_free(&missing);
    free(s.which);
    return ok;
}
