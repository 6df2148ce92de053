/* Describing the images of a collection. */
#include <stdlib.h>
#include <string.h>
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
        ok = collection_failure_write(s->j, image, why, &s->error);
    }
    free(path);
    s->stopped = s->stopped || !ok;
    return ok;
}

static bool of_this_shard(const collection_job *j, size_t image)
{
    return (int32_t)(image % (size_t)j->shards) == j->shard;
}

/* What an image's features depend on: the options, its name and its content. A shard that describes needs its own. */
static void stamp_images(collection_job *j)
{
    j->stamps = io_alloc(j->images.count, sizeof *j->stamps);
    j->good = io_alloc(j->images.count, sizeof *j->good);
    j->keypoints = io_alloc(j->images.count, sizeof *j->keypoints);
    for (size_t i = 0; i < j->images.count; i++) {
        if (j->step == STEP_DESCRIBE && !of_this_shard(j, i)) continue;
        uint8_t content[8];
        kbi_put_u64(content, collection_content(j, i));
        uint64_t stamp = collection_hash(j->describe_hash, j->names.items[i], strlen(j->names.items[i]) + 1);
        j->stamps[i] = collection_hash(stamp, content, sizeof content);
    }
}

bool collection_describe(collection_job *j, io_error *error)
{
    describe_step s = {.j = j, .which = io_alloc(j->images.count + 1, sizeof *s.which)};
    io_names missing = {0};
    bool wanted = j->step == STEP_ALL || j->step == STEP_DESCRIBE;
    stamp_images(j);
    for (size_t i = 0; wanted && i < j->images.count; i++) {
        if (!of_this_shard(j, i) || collection_features_check(j, i, &j->keypoints[i])) continue;
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
