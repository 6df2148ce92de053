/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer of HashSIFT: batches, Adam, checkpoints, and the map in integers. */
#include "learn/hash_train.h"

#include <math.h>
#include <string.h>

#include "common/bytes.h"
#include "learn/arguments.h"
#include "learn/augment.h"
#include "learn/hash_inputs.h"
#include "learn/hash_loss.h"
#include "learn/memory.h"
#include "learn/random.h"
#include "learn/triplets.h"

#define N KB_SIFT_VALUES
#define DEVIATION 0.5 /* of the map at the start: N(0, 0.25) of the paper, whose second number is a variance */
#define REPORTS 100
#define LEAST_POINTS 8

struct kbi_hash_trainer {
    kb_learn_hash_options options;
    kbi_hash_inputs inputs;
    kbi_point_list points;
    kbi_hash_batch batch;
    float *rows, *gradient; /* inputs of a batch, the last of each 1; derivatives */
    size_t *left, *right;
    uint8_t *taken;
    uint64_t identity;      /* of options and patches */
    uint8_t *checkpoint;    /* room for the state in bytes */
    double last_loss;
    kb_status status;
    /* what a checkpoint holds */
    int64_t step;
    size_t count;           /* of numbers in the map */
    float *map, *mean, *square;
    double loss, active;    /* sums since the last report */
    int64_t since;
};

/* -------------------------------------------------------------------------------------------------------- options */

void kb_learn_hash_defaults(kb_learn_hash_options *o)
{
    if (o->bits == 0) o->bits = 256;
    if (o->steps == 0) o->steps = 30000;
    if (o->batch == 0) o->batch = 512;
    if (!(o->margin != 0)) o->margin = 0.3;
    if (!(o->rate != 0)) o->rate = 0.01;
    if (o->versions == 0) o->versions = 4;
}

void kb_learn_hash_paper(kb_learn_hash_options *o)
{
    o->raw = o->constant_rate = 1;
    if (!(o->rate != 0)) o->rate = 0.0002;
    if (o->augment) return;
    o->augment = kbi_augment_sample;
    o->augment_context = (void *)(uintptr_t)&kbi_augment_paper; /* which is only read */
    if (o->versions == 0) o->versions = KB_LEARN_ANEW;
}

static kb_status check_options(const kb_learn_hash_options *o, kb_error *error)
{
    const char *wrong = o->bits < 8 || o->bits > KB_MAX_BITS || o->bits % 8 ? "bits must be a multiple of 8, 8 to 1024"
                        : o->loss != KB_LEARN_LOSS_TRIPLET && o->loss != KB_LEARN_LOSS_BINARY
                            ? "loss must be triplet or binary"
                        : o->steps < 1 || o->steps > 100000000 ? "steps must be 1 to 100000000"
                        : o->batch < 8 || o->batch > 8192      ? "batch must be 8 to 8192 pairs"
                        : !(o->margin > 0 && o->margin <= 2)   ? "margin must be above 0 and up to 2"
                        : !(o->rate > 0 && o->rate <= 1)       ? "rate must be above 0 and up to 1"
                        : o->versions != KB_LEARN_ANEW && (o->versions < 1 || o->versions > 64)
                            ? "versions must be 1 to 64, or KB_LEARN_ANEW"
                            : NULL;
    return wrong ? kbi_fail(error, KB_E_ARGUMENT, "%s", wrong) : KB_OK;
}

/* ------------------------------------------------------------------------------------------------------- identity */

/* A number for all that decides the result. */
static uint64_t identify(const kbi_hash_trainer *t)
{
    const kb_learn_hash_options *o = &t->options;
    const int64_t whole[] = {o->bits, o->root, (int64_t)o->loss, o->steps, o->batch, o->raw, o->constant_rate,
                             t->inputs.versions, t->batch.blas.sgemm != NULL};
    const double numbers[] = {o->margin, o->rate};
    uint64_t hash = kbi_sum_bytes(KBI_SUM_START, whole, sizeof whole);
    hash = kbi_sum_bytes(hash, numbers, sizeof numbers);
    hash = kbi_sum_bytes(hash, &o->seed, sizeof o->seed);
    hash = kbi_sum_bytes(hash, t->inputs.bytes, t->inputs.patches.count * (size_t)kbi_max_i(1, t->inputs.versions) * N);
    return kbi_sum_bytes(hash, t->points.first, t->points.points * sizeof *t->points.first);
}

/* --------------------------------------------------------------------------------------------------- create, free */

/* A file for the same machine and build: identity, counters, and the three arrays as they stand in memory, with a hash
 * at the end. */
typedef struct checkpoint_head {
    char magic[8];
    uint64_t identity;
    int64_t step, since;
    double loss, active;
    uint64_t count;
} checkpoint_head;
static const char checkpoint_magic[8] = "KBHASH2";

static size_t checkpoint_bytes(const kbi_hash_trainer *t)
{
    return sizeof(checkpoint_head) + 3 * t->count * sizeof *t->map + sizeof(uint64_t);
}

static void start_map(kbi_hash_trainer *t)
{
    uint64_t state = kbi_random_fork(t->options.seed, 0);
    for (size_t i = 0; i < t->count; i++) t->map[i] = (float)(DEVIATION * kbi_random_normal(&state));
}

static bool allocate(kbi_hash_trainer *t)
{
    size_t n = (size_t)t->options.batch;
    t->count = (size_t)t->options.bits * KBI_HASH_INPUTS;
    t->map = kbi_zeros(t->count, sizeof *t->map);
    t->mean = kbi_zeros(t->count, sizeof *t->mean);
    t->square = kbi_zeros(t->count, sizeof *t->square);
    t->gradient = kbi_zeros(t->count, sizeof *t->gradient);
    t->rows = kbi_zeros(2 * n * KBI_HASH_INPUTS, sizeof *t->rows);
    t->left = kbi_zeros(n, sizeof *t->left);
    t->right = kbi_zeros(n, sizeof *t->right);
    t->taken = kbi_zeros((t->points.points + 7) / 8, 1);
    t->checkpoint = kbi_zeros(checkpoint_bytes(t), 1);
    bool ok = t->map && t->mean && t->square && t->gradient && t->rows && t->left && t->right && t->taken &&
              t->checkpoint && kbi_hash_batch_create(&t->batch, t->options.batch, t->options.bits);
    if (!ok) return false;
    t->batch.loss = t->options.loss;
    t->batch.blas = kbi_blas_open();
    t->batch.margin = (float)t->options.margin;
    t->batch.map = t->map;
    t->batch.inputs = t->rows;
    t->batch.parallel = t->options.parallel;
    return true;
}

static kb_status set_up(kbi_hash_trainer *t, const kb_learn_patches *patches, kb_error *error)
{
    kb_learn_hash_options *o = &t->options;
    kb_learn_hash_defaults(o);
    kb_status status = check_options(o, error);
    if (status != KB_OK) return status;
    status = kbi_point_list_create(&t->points, patches->labels, patches->count, error);
    if (status != KB_OK) return status;
    if (t->points.points < LEAST_POINTS)
        return kbi_fail(error, KB_E_ARGUMENT, "learning needs %d points or more with two patches; there are %zu",
                        LEAST_POINTS, t->points.points);
    if ((size_t)o->batch > t->points.points) o->batch = (int32_t)t->points.points;
    status = kbi_hash_inputs_create(&t->inputs, patches, o, error);
    if (status != KB_OK) return status;
    if (!allocate(t)) return kbi_fail(error, KB_E_MEMORY, "no memory for batches of %d pairs", (int)o->batch);
    start_map(t);
    t->identity = identify(t);
    return KB_OK;
}

kb_status kbi_hash_trainer_create(kbi_hash_trainer **out, const kb_learn_patches *patches,
                                  const kb_learn_hash_options *options, kb_error *error)
{
    kbi_hash_trainer *t = *out = kbi_zeros(1, sizeof *t);
    if (!t) return kbi_fail(error, KB_E_MEMORY, "%s", kb_status_string(KB_E_MEMORY));
    t->options = *options;
    kb_status status = set_up(t, patches, error);
    if (status == KB_OK) return KB_OK;
    kbi_hash_trainer_free(t);
    *out = NULL;
    return status;
}

void kbi_hash_trainer_free(kbi_hash_trainer *t)
{
    if (!t) return;
    kbi_hash_inputs_free(&t->inputs);
    kbi_point_list_free(&t->points);
    kbi_hash_batch_free(&t->batch);
    free(t->checkpoint);
    free(t->map);
    free(t->mean);
    free(t->square);
    free(t->gradient);
    free(t->rows);
    free(t->left);
    free(t->right);
    free(t->taken);
    free(t);
}

/* ------------------------------------------------------------------------------------------------------- training */

/* Two patches of every point of a batch, each in a random version. */
static bool fill_batch(kbi_hash_trainer *t)
{
    uint64_t seed = kbi_random_fork(t->options.seed, 1 + (uint64_t)t->step);
    kbi_sample_pairs(&t->points, (size_t)t->options.batch, seed, t->left, t->right, t->taken);
    t->status = kbi_hash_inputs_fill(&t->inputs, t->left, t->right, kbi_random_fork(seed, 0), t->rows);
    return t->status == KB_OK;
}

/* Adam: the step is the running mean of the gradient over the root of its running mean square, both corrected for their
 * start at zero. */
static void adam(kbi_hash_trainer *t)
{
    const double fade_mean = 0.9, fade_square = 0.999, done = (double)t->step / (double)t->options.steps;
    double sine, cosine, rate = t->options.rate;
    kbi_sincos_degrees(180 * done, &sine, &cosine);
    if (!t->options.constant_rate) rate *= (1 + cosine) / 2;
    double times = (double)t->step + 1, first = 1 - pow(fade_mean, times), second = 1 - pow(fade_square, times);
    float step = (float)(rate / first), correct = (float)(1 / second);
    for (size_t i = 0; i < t->count; i++) {
        float g = t->gradient[i];
        t->mean[i] += (float)(1 - fade_mean) * (g - t->mean[i]);
        t->square[i] += (float)(1 - fade_square) * (g * g - t->square[i]);
        t->map[i] -= step * t->mean[i] / (sqrtf(t->square[i] * correct) + 1e-8f);
    }
}

static bool one_step(kbi_hash_trainer *t)
{
    double active;
    if (!fill_batch(t)) return false;
    t->loss += kbi_hash_batch_loss(&t->batch, t->gradient, &active);
    t->active += active;
    adam(t);
    t->step++;
    t->since++;
    return true;
}

static bool report_progress(kbi_hash_trainer *t)
{
    kb_learn_hash_progress progress;
    KB_INIT(progress);
    progress.step = t->step;
    progress.steps = t->options.steps;
    progress.loss = t->last_loss = t->loss / (double)t->since;
    progress.active = t->active / (double)t->since;
    t->loss = t->active = 0;
    t->since = 0;
    if (!t->options.report) return true;
    progress.checkpoint = kbi_hash_trainer_save(t, &progress.checkpoint_size);
    return t->options.report(t->options.report_context, &progress) != 0;
}

bool kbi_hash_trainer_run(kbi_hash_trainer *t, int64_t until)
{
    int64_t end = until < t->options.steps ? until : t->options.steps, between = t->options.steps / REPORTS + 1;
    while (t->step < end) {
        if (!one_step(t)) return false;
        if (t->step % between && t->step < t->options.steps) continue;
        if (!report_progress(t)) return false;
    }
    return true;
}

int64_t kbi_hash_trainer_steps(const kbi_hash_trainer *t) { return t->step; }
kb_status kbi_hash_trainer_status(const kbi_hash_trainer *t) { return t->status; }

/* ----------------------------------------------------------------------------------------------------- checkpoint */

const void *kbi_hash_trainer_save(kbi_hash_trainer *t, size_t *size)
{
    checkpoint_head head = {.identity = t->identity,
                            .step = t->step,
                            .since = t->since,
                            .loss = t->loss,
                            .active = t->active,
                            .count = t->count};
    size_t array = t->count * sizeof *t->map, hashed = sizeof head + 3 * array;
    memcpy(head.magic, checkpoint_magic, sizeof head.magic);
    memcpy(t->checkpoint, &head, sizeof head);
    memcpy(t->checkpoint + sizeof head, t->map, array);
    memcpy(t->checkpoint + sizeof head + array, t->mean, array);
    memcpy(t->checkpoint + sizeof head + 2 * array, t->square, array);
    uint64_t hash = kbi_sum_bytes(t->identity, t->checkpoint, hashed);
    memcpy(t->checkpoint + hashed, &hash, sizeof hash);
    *size = checkpoint_bytes(t);
    return t->checkpoint;
}

static kb_status check_checkpoint(const kbi_hash_trainer *t, const uint8_t *data, size_t size, checkpoint_head *head,
                                  kb_error *error)
{
    uint64_t hash;
    if (size < sizeof *head || memcmp(data, checkpoint_magic, sizeof checkpoint_magic) != 0)
        return kbi_fail(error, KB_E_FORMAT, "not a checkpoint of learning HashSIFT");
    memcpy(head, data, sizeof *head);
    if (head->identity != t->identity || head->count != t->count)
        return kbi_fail(error, KB_E_CHECKSUM, "the checkpoint was made with other patches or options");
    if (size != checkpoint_bytes(t)) return kbi_fail(error, KB_E_TRUNCATED, "the checkpoint is truncated");
    memcpy(&hash, data + size - sizeof hash, sizeof hash);
    bool good = hash == kbi_sum_bytes(t->identity, data, size - sizeof hash) && head->step >= 0 &&
                head->step <= t->options.steps && head->since >= 0 && head->since <= head->step;
    for (size_t i = 0; good && i < 3 * t->count; i++) {
        float value;
        memcpy(&value, data + sizeof *head + i * sizeof value, sizeof value);
        good = isfinite(value);
    }
    return good ? KB_OK : kbi_fail(error, KB_E_CHECKSUM, "the checkpoint is damaged");
}

kb_status kbi_hash_trainer_restore(kbi_hash_trainer *t, const void *data, size_t size, kb_error *error)
{
    checkpoint_head head = {0};
    const uint8_t *bytes = data;
    size_t array = t->count * sizeof *t->map;
    kb_status status = check_checkpoint(t, bytes, size, &head, error);
    if (status != KB_OK) return status;
    t->step = head.step;
    t->since = head.since;
    t->loss = head.loss;
    t->active = head.active;
    memcpy(t->map, bytes + sizeof head, array);
    memcpy(t->mean, bytes + sizeof head + array, array);
    memcpy(t->square, bytes + sizeof head + 2 * array, array);
    return KB_OK;
}

/* --------------------------------------------------------------------------------------------------------- result */

/* The row of a bit over plain bytes, up to a factor: weights in 1/127 of the largest, and the bias in the same unit. */
static int32_t round_row(const kbi_hash_trainer *t, const float *row, int8_t *weights)
{
    double most = 0, bias = row[N] / t->inputs.scale;
    for (int i = 0; i < N; i++) {
        most = fmax(most, fabs((double)row[i]));
        bias -= row[i] * t->inputs.mean[i];
    }
    double unit = most > 0 ? 127 / most : 0;
    for (int i = 0; i < N; i++) weights[i] = (int8_t)floor(fmin(fmax(unit * row[i], -127), 127) + 0.5);
    return (int32_t)floor(fmin(fmax(unit * bias, -1e9), 1e9) + 0.5);
}

void kbi_hash_trainer_result(const kbi_hash_trainer *t, int8_t *weights, int32_t *bias)
{
    for (int32_t b = 0; b < t->options.bits; b++) {
        bias[b] = round_row(t, t->map + (size_t)b * KBI_HASH_INPUTS, weights + (size_t)b * N);
    }
}

void kbi_hash_trainer_summary(const kbi_hash_trainer *t, kb_learn_hash_summary *summary)
{
    KB_INIT(*summary);
    summary->points = t->points.points;
    summary->patches = t->points.patches;
    summary->steps = t->step;
    summary->batch = t->options.batch;
    summary->loss = t->last_loss;
    summary->openblas = t->batch.blas.sgemm != NULL;
}

kb_status kb_learn_hashsift(const kb_learn_patches *patches, const kb_learn_hash_options *options, int8_t *weights,
                            int32_t *bias, kb_learn_hash_summary *summary, kb_error *error)
{
    kb_learn_patches p;
    kb_learn_hash_options o;
    kb_learn_hash_summary report;
    kbi_hash_trainer *t;
    kb_status status = kbi_learn_patches_read(&p, patches, error);
    if (status != KB_OK) return status;
    if (!weights || !bias) return kbi_fail(error, KB_E_ARGUMENT, "there is no room for the result");
    if (KBI_STRUCT_READ(kb_learn_hash_options, &o, options) != KB_OK ||
        (summary && KBI_STRUCT_CHECK(kb_learn_hash_summary, summary) != KB_OK))
        return kbi_fail_struct(error);
    status = kbi_hash_trainer_create(&t, &p, &o, error);
    if (status == KB_OK && o.checkpoint) status = kbi_hash_trainer_restore(t, o.checkpoint, o.checkpoint_size, error);
    if (status == KB_OK) {
        kbi_hash_trainer_run(t, INT64_MAX);
        status = kbi_hash_trainer_status(t);
        if (status != KB_OK) kbi_fail(error, status, "patches cannot be described: %s", kb_status_string(status));
        kbi_hash_trainer_result(t, weights, bias);
        kbi_hash_trainer_summary(t, &report);
        if (summary) KBI_STRUCT_WRITE(kb_learn_hash_summary, summary, &report);
    }
    kbi_hash_trainer_free(t);
    return status;
}
