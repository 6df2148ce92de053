/* SPDX-License-Identifier: Apache-2.0 */
/* SIFT of patches, and its mean and spread. */
#include "learn/hash_inputs.h"

#include <math.h>
#include <string.h>

#include "common/common.h"
#include "learn/memory.h"
#include "learn/random.h"

#define N KB_SIFT_VALUES
#define AREA ((size_t)KB_PATCH_SIDE * KB_PATCH_SIDE)
#define CHUNK 65536 /* patches augmented at a time */
#define SPREAD 0.8  /* deviation of an input; 0.2 to 0.8 learn alike */

/* ----------------------------------------------------------------------------------------------------- SIFT bytes */

static kb_status describe(const kbi_hash_inputs *inputs, const uint8_t *patches, size_t n, uint8_t *bytes)
{
    kb_describe_options options;
    KB_INIT(options);
    options.parallel = inputs->options.parallel;
    kb_features f;
    KB_INIT(f);
    f.n = n;
    f.rows = bytes;
    f.rows_size = n * KB_SIFT_VALUES;
    return kb_describe_patches(inputs->sift, patches, KB_PATCH_SIDE, &options, inputs->workspace, &f, NULL);
}

/* All versions of all patches; the first as it is, every other one with augmentations of its own. */
static kb_status describe_all(kbi_hash_inputs *inputs)
{
    const kb_learn_patches *set = &inputs->patches;
    const kb_learn_hash_options *o = &inputs->options;
    uint8_t *changed = kbi_zeros(set->count < CHUNK ? set->count : CHUNK, AREA);
    kb_status status = changed ? KB_OK : KB_E_MEMORY;
    for (int32_t v = 0; v < kbi_max_i(1, inputs->versions); v++) {
        for (size_t from = 0; from < set->count && status == KB_OK; from += CHUNK) {
            size_t n = set->count - from < CHUNK ? set->count - from : CHUNK;
            const uint8_t *pixels = set->pixels + from * AREA;
            uint64_t seed = o->seed + ((uint64_t)v << 48) + from;
            if (v > 0) o->augment(o->augment_context, pixels, n, seed, o->parallel, changed);
            status = describe(inputs, v > 0 ? changed : pixels, n, inputs->bytes + ((size_t)v * set->count + from) * N);
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
    double n = (double)inputs->patches.count, variance;
    for (size_t i = 0; i < inputs->patches.count * N; i++) {
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

static kb_status set_up(kbi_hash_inputs *inputs)
{
    size_t batch = 2 * (size_t)inputs->options.batch;
    kb_status status = kb_model_builtin(inputs->options.root ? "rootsift" : "sift", NULL, &inputs->sift);
    if (status == KB_OK) status = kb_workspace_create(NULL, &inputs->workspace);
    if (status != KB_OK) return status;
    inputs->bytes = kbi_zeros((size_t)kbi_max_i(1, inputs->versions) * inputs->patches.count, N);
    if (inputs->versions == 0) {
        inputs->chosen = kbi_zeros(batch, AREA);
        inputs->changed = kbi_zeros(batch, AREA);
        inputs->described = kbi_zeros(batch, N);
        if (!inputs->chosen || !inputs->changed || !inputs->described) return KB_E_MEMORY;
    }
    return inputs->bytes ? describe_all(inputs) : KB_E_MEMORY;
}

kb_status kbi_hash_inputs_create(kbi_hash_inputs *inputs, const kb_learn_patches *patches,
                                 const kb_learn_hash_options *options, kb_error *error)
{
    bool anew = options->versions == KB_LEARN_ANEW;
    *inputs = (kbi_hash_inputs){.options = *options, .patches = *patches, .scale = 1,
                                .versions = !options->augment ? 1 : anew ? 0 : options->versions};
    kb_status status = set_up(inputs);
    if (status != KB_OK) {
        kbi_hash_inputs_free(inputs);
        return kbi_fail(error, status, "patches cannot be described: %s", kb_status_string(status));
    }
    if (!options->raw) measure(inputs);
    return KB_OK;
}

void kbi_hash_inputs_free(kbi_hash_inputs *inputs)
{
    kb_model_free(inputs->sift);
    kb_workspace_free(inputs->workspace);
    free(inputs->bytes);
    free(inputs->chosen);
    free(inputs->changed);
    free(inputs->described);
    memset(inputs, 0, sizeof *inputs);
}

/* --------------------------------------------------------------------------------------------------------- a batch */

static void write_row(const kbi_hash_inputs *inputs, const uint8_t *bytes, float *row)
{
    for (int k = 0; k < N; k++) row[k] = (float)(inputs->scale * (bytes[k] - inputs->mean[k]));
    row[N] = 1;
}

kb_status kbi_hash_inputs_fill(const kbi_hash_inputs *inputs, const size_t *left, const size_t *right, uint64_t seed,
                               float *rows)
{
    const kb_learn_hash_options *o = &inputs->options;
    size_t batch = (size_t)o->batch;
    uint64_t state = seed;
    for (size_t i = 0; i < 2 * batch; i++) {
        size_t patch = i < batch ? left[i] : right[i - batch];
        if (inputs->versions == 0) {
            memcpy(inputs->chosen + i * AREA, inputs->patches.pixels + patch * AREA, AREA);
            continue;
        }
        size_t version = kbi_random_below(&state, (uint32_t)inputs->versions);
        write_row(inputs, inputs->bytes + (version * inputs->patches.count + patch) * N, rows + i * KBI_HASH_INPUTS);
    }
    if (inputs->versions > 0) return KB_OK;
    o->augment(o->augment_context, inputs->chosen, 2 * batch, seed, o->parallel, inputs->changed);
    kb_status status = describe(inputs, inputs->changed, 2 * batch, inputs->described);
    for (size_t i = 0; status == KB_OK && i < 2 * batch; i++)
        write_row(inputs, inputs->described + i * N, rows + i * KBI_HASH_INPUTS);
    return status;
}
