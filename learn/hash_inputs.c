/* SIFT of patches, and its mean and spread. */
#include "learn/hash_inputs.h"

#include <math.h>

#include "common/common.h"
#include "learn/memory.h"

#define N KB_SIFT_VALUES
#define CHUNK 65536 /* patches augmented at a time */
#define SPREAD 0.8  /* deviation of an input; 0.2 to 0.8 learn alike */

/* ----------------------------------------------------------------------------------------------------- SIFT bytes */

/* All versions of all patches; every version has augmentations of its own. */
static kb_status describe_all(kbi_hash_inputs *inputs, const kb_learn_patches *set, const kb_learn_hash_options *o,
                              const kb_model *sift)
{
    const size_t area = (size_t)KB_PATCH_SIDE * KB_PATCH_SIDE, room = set->count < CHUNK ? set->count : CHUNK;
    uint8_t *changed = kbi_zeros(room, area);
    kb_describe_options options;
    kb_status status = changed ? KB_OK : KB_E_MEMORY;
    KB_INIT(options);
    options.parallel = o->parallel;
    for (int32_t v = 0; v < inputs->versions; v++) {
        for (size_t from = 0; from < set->count && status == KB_OK; from += CHUNK) {
            size_t n = set->count - from < CHUNK ? set->count - from : CHUNK;
            const uint8_t *pixels = set->pixels + from * area;
            uint64_t seed = o->seed + ((uint64_t)v << 48) + from;
            if (v > 0) o->augment(o->augment_context, pixels, n, seed, o->parallel, changed);
            status = kb_describe_patches(sift, v > 0 ? changed : pixels, n, KB_PATCH_SIDE, &options, NULL,
                                         inputs->bytes + ((size_t)v * set->count + from) * N);
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

kb_status kbi_hash_inputs_create(kbi_hash_inputs *inputs, const kb_learn_patches *patches,
                                 const kb_learn_hash_options *options, kb_error *error)
{
    kb_model *sift = NULL;
    *inputs = (kbi_hash_inputs){.patches = patches->count, .versions = options->augment ? options->versions : 1};
    kb_status status = kb_model_builtin(options->root ? "rootsift" : "sift", &sift);
    if (status == KB_OK) {
        inputs->bytes = kbi_zeros((size_t)inputs->versions * patches->count, N);
        status = inputs->bytes ? describe_all(inputs, patches, options, sift) : KB_E_MEMORY;
    }
    kb_model_free(sift);
    if (status != KB_OK) {
        kbi_hash_inputs_free(inputs);
        return kbi_fail(error, status, "patches cannot be described: %s", kb_status_string(status));
    }
    measure(inputs);
    return KB_OK;
}

void kbi_hash_inputs_free(kbi_hash_inputs *inputs)
{
    free(inputs->bytes);
    inputs->bytes = NULL;
}
