/* SIFT of patches, and its mean and spread. */
#include "learn/hash_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"

#define N KB_SIFT_VALUES
#define CHUNK 65536 /* patches augmented at a time */
#define SPREAD 0.8  /* deviation of an input; 0.2 to 0.8 learn alike */

/* ----------------------------------------------------------------------------------------------------- SIFT bytes */

static bool is_augmenting(const kbi_augment *a)
{
    return a->rotation > 0 || a->scale > 0 || a->shift > 0 || a->gain > 0 || a->offset > 0 || a->gamma > 0 ||
           a->blur > 0 || a->noise > 0;
}

/* All versions of all patches; every version has augmentations of its own. */
static kb_status describe_all(kbi_hash_inputs *inputs, const kbi_patch_set *set, const kbi_hash_options *o,
                              const kb_model *sift)
{
    size_t area = (size_t)set->side * (size_t)set->side, room = set->patches < CHUNK ? set->patches : CHUNK;
    uint8_t *changed = io_alloc(room, area);
    kb_describe_options options;
    kb_status status = KB_OK;
    KB_INIT(options);
    options.parallel = o->parallel;
    for (int32_t v = 0; v < inputs->versions; v++) {
        for (size_t from = 0; from < set->patches && status == KB_OK; from += CHUNK) {
            size_t n = set->patches - from < CHUNK ? set->patches - from : CHUNK;
            const uint8_t *pixels = set->pixels + from * area;
            uint64_t seed = o->seed + ((uint64_t)v << 48) + from;
            if (v > 0) kbi_augment_patches(&o->augment, pixels, n, set->side, seed, o->parallel, changed);
            status = kb_describe_patches(sift, v > 0 ? changed : pixels, n, set->side, &options, NULL,
                                         inputs->bytes + ((size_t)v * set->patches + from) * N);
        }
    }
    free(changed);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- mean, spread */

/* Of the first version, in whole numbers, so exact. */
static void measure(kbi_hash_inputs *inputs)
{
    uint64_t sum[N] = {0}, squares = 0;
    double n = (double)inputs->patches, variance;
    for (size_t i = 0; i < inputs->patches * N; i++) {
        uint32_t v = inputs->bytes[i];
        sum[i % N] += v;
        squares += v * v;
    }
    variance = (double)squares / (n * N);
    for (int i = 0; i < N; i++) {
        inputs->mean[i] = (double)sum[i] / n;
        variance -= inputs->mean[i] * inputs->mean[i] / N;
    }
    inputs->scale = variance > 0 ? SPREAD / sqrt(variance) : 1;
}

bool kbi_hash_inputs_create(kbi_hash_inputs *inputs, const kbi_patch_set *set, const kbi_hash_options *options,
                           io_error *error)
{
    kb_model *sift = NULL;
    int32_t versions = is_augmenting(&options->augment) ? options->pool : 1;
    *inputs = (kbi_hash_inputs){.patches = set->patches, .versions = versions};
    kb_status status = kb_model_builtin(options->root ? "rootsift" : "sift", &sift);
    if (status == KB_OK) {
        inputs->bytes = io_alloc((size_t)inputs->versions * set->patches, N);
        status = describe_all(inputs, set, options, sift);
    }
    kb_model_free(sift);
    if (status != KB_OK) {
        kbi_hash_inputs_free(inputs);
        return io_fail(error, "patches cannot be described: %s", kb_status_string(status));
    }
    measure(inputs);
    return true;
}

void kbi_hash_inputs_free(kbi_hash_inputs *inputs)
{
    free(inputs->bytes);
    inputs->bytes = NULL;
}
