/* The rows of the ablation, as settings of the trainers. */
#include "learn/ablation.h"

#include <stdlib.h>
#include <string.h>

#include "keybits/learn.h"
#include "learn/augment.h"
#include "learn/hash_train.h"

/* ORB compares means of 5 x 5 samples: boxes of radius 2 and no threshold. */
#define ORB_RADIUS 2

static const struct bad_row {
    const char *name;
    double paper;
    kb_learn_loss loss;
    bool threshold, size, augment; /* learned, learned, switched on */
} bad_rows[KBI_ABLATION_BAD] = {
    {"ORB's choice", 15.30, KB_LEARN_ORB, false, false, false},
    {"binary loss", 16.65, KB_LEARN_BINARY, false, false, false},
    {"binary loss, threshold", 19.95, KB_LEARN_BINARY, true, false, false},
    {"triplet loss, threshold", 21.67, KB_LEARN_TRIPLET, true, false, false},
    {"triplet loss, threshold, size", 21.95, KB_LEARN_TRIPLET, true, true, false},
    {"triplet loss, threshold, size, augmented", 22.19, KB_LEARN_TRIPLET, true, true, true},
};

static const struct hash_row {
    const char *name;
    double paper;
    kbi_hash_loss loss;
    bool augment;
} hash_rows[KBI_ABLATION_ROWS - KBI_ABLATION_BAD] = {
    {"HashSIFT: binary loss", 28.64, KBI_HASH_PAIRS, false},
    {"HashSIFT: triplet loss, hard negatives", 30.98, KBI_HASH_TRIPLET, false},
    {"HashSIFT: triplet loss, hard negatives, augmented", 32.24, KBI_HASH_TRIPLET, true},
};

static void augment_sample(void *context, const uint8_t *patches, size_t n, uint64_t seed, const kb_parallel *parallel,
                           uint8_t *out)
{
    (void)context;
    kbi_augment_patches(&kbi_augment_default, patches, n, KB_PATCH_SIDE, seed, parallel, out);
}

static kb_model *finish(kb_model_spec *spec, const char *name, int32_t bits, io_error *error)
{
    kb_model *model = NULL;
    kb_error problem;
    spec->bits = bits;
    spec->name = name;
    spec->text = "a row of keybits train ablation";
    if (kb_model_create(spec, &model, &problem) != KB_OK) io_fail(error, "%s: %s", name, problem.text);
    return model;
}

static kb_model *learn_bad(const struct bad_row *row, const kbi_patch_set *set, const kbi_ablation_options *options,
                           io_error *error)
{
    kb_learn_patches patches = {set->pixels, set->label, set->patches};
    kb_box_pair boxes[KB_MAX_BITS];
    kb_learn_options o;
    kb_model_spec spec;
    kb_error problem;
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
    o.augment = row->augment ? augment_sample : NULL;
    if (kb_learn_boxes(&patches, &o, boxes, NULL, &problem) != KB_OK) {
        io_fail(error, "%s: %s", row->name, problem.text);
        return NULL;
    }
    spec.kind = KB_BAD;
    spec.boxes = boxes;
    return finish(&spec, row->name, options->bits, error);
}

static kb_model *learn_hash(const struct hash_row *row, const kbi_patch_set *set, const kbi_ablation_options *options,
                            io_error *error)
{
    kbi_hash_options o = {.bits = options->bits,
                         .loss = row->loss,
                         .seed = options->seed,
                         .steps = options->steps,
                         .parallel = options->parallel};
    kb_model_spec spec;
    kb_model *model = NULL;
    KB_INIT(spec);
    if (row->augment) o.augment = kbi_augment_default;
    kbi_hash_trainer *trainer = kbi_hash_trainer_create(set, &o, error);
    if (!trainer) return NULL;
    int8_t *weights = io_alloc((size_t)options->bits, KB_SIFT_VALUES);
    int32_t *bias = io_alloc((size_t)options->bits, sizeof *bias);
    kbi_hash_trainer_run(trainer, INT64_MAX, NULL, NULL);
    kbi_hash_trainer_result(trainer, weights, bias);
    spec.kind = KB_HASHSIFT;
    spec.weights = weights;
    spec.bias = bias;
    model = finish(&spec, row->name, options->bits, error);
    free(weights);
    free(bias);
    kbi_hash_trainer_free(trainer);
    return model;
}

bool kbi_ablation_run(const kbi_patch_set *set, const kbi_patch_set *held, const kbi_ablation_options *options,
                     kbi_ablation_row rows[KBI_ABLATION_ROWS], io_error *error)
{
    kbi_ablation_options o = *options;
    bool done = true;
    if (!o.bits) o.bits = 256;
    if (!o.rows) o.rows = KBI_ABLATION_ROWS;
    memset(rows, 0, KBI_ABLATION_ROWS * sizeof *rows);
    for (int32_t i = 0; done && i < o.rows; i++) {
        const struct bad_row *bad = &bad_rows[i < KBI_ABLATION_BAD ? i : 0];
        const struct hash_row *hash = &hash_rows[i < KBI_ABLATION_BAD ? 0 : i - KBI_ABLATION_BAD];
        rows[i].name = i < KBI_ABLATION_BAD ? bad->name : hash->name;
        rows[i].paper = i < KBI_ABLATION_BAD ? bad->paper : hash->paper;
        rows[i].model = i < KBI_ABLATION_BAD ? learn_bad(bad, set, &o, error) : learn_hash(hash, set, &o, error);
        done = rows[i].model != NULL;
        if (done && !kbi_validate_model(held, rows[i].model, 0, o.seed, o.parallel, &rows[i].result))
            done = io_fail(error, "the patches held back are too few to measure on");
        if (done && o.report && !o.report(o.context, i)) done = io_fail(error, "stopped");
    }
    if (!done) kbi_ablation_free(rows);
    return done;
}

void kbi_ablation_free(kbi_ablation_row rows[KBI_ABLATION_ROWS])
{
    for (int32_t i = 0; i < KBI_ABLATION_ROWS; i++) kb_model_free(rows[i].model);
    memset(rows, 0, KBI_ABLATION_ROWS * sizeof *rows);
}
