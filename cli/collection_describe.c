/* Describing the images of a collection. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collection.h"
#include "io/bytes.h"

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
        ok = collection_features_write(s->j, image, f, &s->error);
        unlink(path);
    } else {
        cli_error("%s", why);
        ok = io_file_write_work(path, why, strlen(why), &s->error);
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
    j->keypoints = io_alloc(j->images.count, sizeof *j->keypoints);
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
        if ((int32_t)(i % (size_t)j->shards) != j->shard || collection_features_check(j, i, &j->keypoints[i]))
            continue;
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
