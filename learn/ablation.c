/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the ablation, as settings of the trainers. */
#include "learn/ablation.h"

#include <string.h>

#include "keybits/learn.h"
#include "common/common.h"
#include "learn/augment.h"
#include "learn/memory.h"

/* ORB compares means of 5 x 5 samples: s = 5, theta = 0. */
#define ORB_RADIUS 2

static const struct bad_row {
    const char *name;
    double paper;
    kb_learn_loss loss;
    bool threshold, size, augment; /* learned, learned, switched on */
} bad_rows[KBI_ABLATION_BAD] = {
    {"ORB's choice", 15.30, KB_LEARN_LOSS_ORB, false, false, false},
    {"binary loss", 16.65, KB_LEARN_LOSS_BINARY, false, false, false},
    {"binary loss, threshold", 19.95, KB_LEARN_LOSS_BINARY, true, false, false},
    {"triplet loss, threshold", 21.67, KB_LEARN_LOSS_TRIPLET, true, false, false},
    {"triplet loss, threshold, size", 21.95, KB_LEARN_LOSS_TRIPLET, true, true, false},
    {"triplet loss, threshold, size, augmented", 22.19, KB_LEARN_LOSS_TRIPLET, true, true, true},
};

static const struct hash_row {
    const char *name;
    double paper;
    kb_learn_loss loss;
    bool augment;
} hash_rows[KBI_ABLATION_ROWS - KBI_ABLATION_BAD] = {
    {"HashSIFT: binary loss", 28.64, KB_LEARN_LOSS_BINARY, false},
    {"HashSIFT: triplet loss, hard negatives", 30.98, KB_LEARN_LOSS_TRIPLET, false},
    {"HashSIFT: triplet loss, hard negatives, augmented", 32.24, KB_LEARN_LOSS_TRIPLET, true},
};

static kb_status make_model(kb_model_spec *spec, const char *name, int32_t bits, kb_model **out, kb_error *error)
{
    spec->bits = bits;
    spec->name = name;
    spec->text = "a row of keybits train ablation";
    return kb_model_create(spec, NULL, out, error);
}

static void *amounts_of(const kbi_ablation_options *options)
{
    return (void *)(uintptr_t)(options->paper ? &kbi_augment_paper : &kbi_augment_default); /* only read */
}

static kb_status learn_bad(const struct bad_row *row, const kb_learn_patches *patches,
                           const kbi_ablation_options *options, kb_model **out, kb_error *error)
{
    kb_box_pair boxes[KB_MAX_BITS];
    kb_learn_options o;
    kb_model_spec spec;
    KB_INIT(o);
    KB_INIT(spec);
    o.bits = options->bits;
    o.seed = options->seed;
    o.triplets = options->triplets;
    o.candidates = options->candidates;
    o.parallel = options->parallel;
    o.loss = row->loss;
    o.fixed_threshold = !row->threshold;
    o.min_radius = row->size ? 0 : ORB_RADIUS;
    o.max_radius = row->size ? 0 : ORB_RADIUS;
    o.augment = kbi_augment_sample;
    o.augment_context = amounts_of(options);
    if (options->paper) kb_learn_paper(&o);
    if (!row->augment) o.augment = NULL;
    kb_status status = kb_learn_boxes(patches, &o, boxes, NULL, error);
    spec.kind = KB_KIND_BAD;
    spec.boxes = boxes;
    return status == KB_OK ? make_model(&spec, row->name, options->bits, out, error) : status;
}

static kb_status learn_hash(const struct hash_row *row, const kb_learn_patches *patches,
                            const kbi_ablation_options *options, kb_model **out, kb_error *error)
{
    kb_learn_hash_options o;
    kb_model_spec spec;
    KB_INIT(o);
    KB_INIT(spec);
    o.bits = options->bits;
    o.loss = row->loss;
    o.seed = options->seed;
    o.steps = options->steps;
    o.parallel = options->parallel;
    o.augment = kbi_augment_sample;
    o.augment_context = amounts_of(options);
    if (options->paper) {
        kb_learn_hash_paper(&o);
        o.versions = KB_LEARN_ANEW;
    }
    if (!row->augment) o.augment = NULL;
    int8_t *weights = kbi_zeros((size_t)options->bits, KB_SIFT_VALUES);
    int32_t *bias = kbi_zeros((size_t)options->bits, sizeof *bias);
    kb_status status = weights && bias ? kb_learn_hashsift(patches, &o, weights, bias, NULL, error)
                                       : kbi_fail(error, KB_E_MEMORY, "no memory for %d bits", (int)options->bits);
    spec.kind = KB_KIND_HASHSIFT;
    spec.weights = weights;
    spec.bias = bias;
    if (status == KB_OK) status = make_model(&spec, row->name, options->bits, out, error);
    free(weights);
    free(bias);
    return status;
}

static kb_status run_row(int32_t index, const kbi_patch_set *set, const kbi_patch_set *held,
                         const kbi_ablation_options *o, kbi_ablation_row *row, kb_error *error)
{
    const bool is_bad = index < KBI_ABLATION_BAD;
    const struct bad_row *bad = &bad_rows[is_bad ? index : 0];
    const struct hash_row *hash = &hash_rows[is_bad ? 0 : index - KBI_ABLATION_BAD];
    kb_learn_patches patches;
    KB_INIT(patches);
    patches.pixels = set->pixels;
    patches.labels = set->label;
    patches.count = set->patches;
    row->name = is_bad ? bad->name : hash->name;
    row->paper = is_bad ? bad->paper : hash->paper;
    kb_status status = is_bad ? learn_bad(bad, &patches, o, &row->model, error)
                              : learn_hash(hash, &patches, o, &row->model, error);
    if (status == KB_OK && !kbi_validate_model(held, row->model, 0, o->seed, o->parallel, &row->result))
        status = kbi_fail(error, KB_E_ARGUMENT, "the patches held back are too few to measure on");
    return status;
}

kb_status kbi_ablation_run(const kbi_patch_set *set, const kbi_patch_set *held, const kbi_ablation_options *options,
                           kbi_ablation_row rows[KBI_ABLATION_ROWS], kb_error *error)
{
    kbi_ablation_options o = *options;
    kb_status status = KB_OK;
    if (!o.bits) o.bits = 256;
    if (!o.rows) o.rows = KBI_ABLATION_ROWS;
    memset(rows, 0, KBI_ABLATION_ROWS * sizeof *rows);
    for (int32_t i = 0; status == KB_OK && i < o.rows; i++) {
        status = run_row(i, set, held, &o, &rows[i], error);
        if (status == KB_OK && o.report && !o.report(o.context, i))
            status = kbi_fail(error, KB_E_ARGUMENT, "stopped");
    }
    if (status != KB_OK) kbi_ablation_free(rows);
    return status;
}

void kbi_ablation_free(kbi_ablation_row rows[KBI_ABLATION_ROWS])
{
    for (int32_t i = 0; i < KBI_ABLATION_ROWS; i++) kb_model_free(rows[i].model);
    memset(rows, 0, KBI_ABLATION_ROWS * sizeof *rows);
}
