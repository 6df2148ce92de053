/* SPDX-License-Identifier: Apache-2.0 */
/* A collection: its images, their names, and what decides about their features. */
#include "collection/collection.h"

#include <stdlib.h>
#include <string.h>

#include "io/bytes.h"

/* Names as COLMAP wants them: below the folder that all images share. */
static void name_images(collection *c)
{
    size_t common = 0;
    for (size_t i = 0; i < c->images.count; i++) {
        const char *path = c->images.items[i], *first = c->images.items[0];
        if (i == 0) common = (size_t)(io_path_base(path) - path);
        while (common > 0 && (strncmp(path, first, common) != 0 || path[common - 1] != '/')) common--;
    }
    for (size_t i = 0; i < c->images.count; i++) io_names_add(&c->names, c->images.items[i] + common);
}

static uint64_t hash_options(const pipeline *p, const io_read_options *reading)
{
    kb_detect_options detect = p->options.detect;
    detect.mask = NULL;
    detect.parallel = NULL;
    uint64_t hash = kbi_sum_bytes(KBI_SUM_START, &detect, sizeof detect);
    const double numbers[] = {(double)p->options.scale, (double)p->options.angles, (double)pipeline_keeps_upright(p),
                              (double)reading->exif, (double)reading->white, (double)reading->keep16, (double)reading->max_size,
                              (double)kb_detector_get_info(p->options.detect.detector).revision};
    hash = kbi_sum_bytes(hash, numbers, sizeof numbers);
    hash = kbi_sum_bytes(hash, KB_VERSION_STRING, sizeof KB_VERSION_STRING);
    return kbi_sum_bytes(hash, &p->info.id, sizeof p->info.id);
}

#define FEW_NEIGHBOURS 10  /* of an image, where expansion finds the others */
#define MANY_NEIGHBOURS 30

void collection_open(collection *c, const collection_options *options, io_names *images)
{
    *c = (collection){.options = *options, .images = *images};
    *images = (io_names){0};
    io_names_sort(&c->images);
    name_images(c);
    if (c->options.neighbours == 0) c->options.neighbours = collection_expands(c) ? FEW_NEIGHBOURS : MANY_NEIGHBOURS;
    c->describe_hash = hash_options(options->pipeline, &options->reading);
    c->stamps = io_alloc(c->images.count, sizeof *c->stamps);
    c->good = io_alloc(c->images.count, sizeof *c->good);
    c->keypoints = io_alloc(c->images.count, sizeof *c->keypoints);
}

void collection_close(collection *c)
{
    io_names_free(&c->images);
    io_names_free(&c->names);
    free(c->good);
    free(c->keypoints);
    free(c->stamps);
    free(c->pairs);
    io_pairs_free(&c->listed);
    collection_unrefine(c);
    *c = (collection){0};
}

bool collection_folders_make(const collection *c, io_error *error)
{
    char *features_folder = io_path_join(c->options.folder, "features"), *blocks = io_path_join(c->options.folder, "blocks");
    bool ok = (c->options.folder_is_ours ? io_folder_make_work : io_folder_make)(c->options.folder, error) &&
              io_folder_make_work(features_folder, error) && io_folder_make_work(blocks, error);
    free(features_folder);
    free(blocks);
    return ok;
}

bool collection_each_image(collection *c, collection_take_image take, void *context, io_error *error)
{
    size_t first = 0;
    if (!c->options.no_refine && !c->moves && !collection_refine(c, error)) return false;
    for (size_t i = 0; i < c->images.count; i++) {
        features f;
        if (!c->good[i]) continue;
        if (!collection_features_read(c, i, &f)) return io_fail(error, "%s: its features are gone", c->images.items[i]);
        for (size_t k = 0; c->moves && k < f.keypoints.count; k++)
            patch_sheet_move(c->options.pipeline, &f.keypoints.items[k], c->moves[first + k]);
        first += f.keypoints.count;
        bool ok = take(context, i, &f, error);
        features_free(&f);
        if (!ok) return false;
    }
    return true;
}
