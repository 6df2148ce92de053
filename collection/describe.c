/* SPDX-License-Identifier: Apache-2.0 */
/* Describing the images of a collection. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collection/collection.h"
#include "io/bytes.h"

typedef struct describe_step {
    collection *c;
    size_t *which; /* images of this shard that have no features yet */
    io_error error;
    bool stopped;
} describe_step;

static bool describe_take(void *context, size_t index, features *f, const char *why)
{
    describe_step *s = context;
    size_t image = s->which[index];
    char *path = collection_path(s->c, "features", image, ".err");
    bool ok = true;
    if (f) {
        ok = collection_features_write(s->c, image, f, &s->error);
        unlink(path);
    } else {
        photos_warn(&s->c->options.host, "%s", why);
        ok = collection_failure_write(s->c, image, why, &s->error);
    }
    free(path);
    s->stopped = s->stopped || !ok;
    return ok;
}

static bool of_shard(collection_shard shard, size_t image)
{
    return (int32_t)(image % (size_t)shard.count) == shard.index;
}

/* What an image's features depend on: the options, its name and its content. */
void collection_stamp(collection *c, collection_shard shard)
{
    for (size_t i = 0; i < c->images.count; i++) {
        if (c->stamps[i] != 0 || !of_shard(shard, i)) continue;
        uint8_t content[8];
        kbi_put_u64(content, collection_content(c, i));
        uint64_t stamp = kbi_sum_bytes(c->describe_hash, c->names.items[i], strlen(c->names.items[i]) + 1);
        stamp = kbi_sum_bytes(stamp, content, sizeof content);
        c->stamps[i] = stamp ? stamp : 1;
    }
}

bool collection_describe(collection *c, collection_shard shard, io_error *error)
{
    describe_step s = {.c = c, .which = io_alloc(c->images.count + 1, sizeof *s.which)};
    io_names missing = {0};
    collection_stamp(c, shard);
    for (size_t i = 0; i < c->images.count; i++) {
        if (!of_shard(shard, i) || collection_features_check(c, i, &c->keypoints[i])) continue;
        s.which[missing.count] = i;
        io_names_add(&missing, c->images.items[i]);
    }
    bool ok = missing.count == 0 || photos_describe(c->options.pipeline, &c->options.reading, &missing, &c->options.host,
                                                    "describing", describe_take, &s, error);
    if (s.stopped) *error = s.error;
    io_names_free(&missing);
    free(s.which);
    return ok;
}
