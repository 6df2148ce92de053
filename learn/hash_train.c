/* The trainer of HashSIFT: batches, Adam, checkpoints, and the map in integers. */
#include "learn/hash_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "learn/hash_inputs.h"
#include "learn/hash_loss.h"
#include "learn/random.h"
#include "learn/triplets.h"

#define N KB_SIFT_VALUES
#define DEVIATION 0.5 /* of the map at the start: variance 0.25 */
#define REPORTS 100

struct kbi_hash_trainer {
    kbi_hash_options options;
    kbi_hash_inputs inputs;
    kbi_point_list points;
    kbi_hash_batch batch;
    float *rows, *gradient; /* inputs of a batch, the last of each 1; derivatives */
    size_t *left, *right;
    uint8_t *taken;
    uint32_t identity;      /* of options and set */
    /* what a checkpoint holds */
    int64_t step;
    size_t count;           /* of numbers in the map */
    float *map, *mean, *square;
    double loss, active;    /* sums since the last report */
    int64_t since;
};

/* -------------------------------------------------------------------------------------------------------- options */

void kbi_hash_defaults(kbi_hash_options *o)
{
    if (o->bits == 0) o->bits = 256;
    if (o->steps == 0) o->steps = 30000;
    if (o->batch == 0) o->batch = 512;
    if (o->neighbours == 0) o->neighbours = 1;
    if (o->margin == 0) o->margin = 0.3;
    if (o->rate == 0) o->rate = 0.01;
    if (o->pool == 0) o->pool = 4;
}

static bool complete(kbi_hash_options *o, const kbi_patch_set *set, io_error *error)
{
    kbi_hash_defaults(o);
    if (o->bits < 8 || o->bits > KB_MAX_BITS || o->bits % 8)
        return io_fail(error, "bits: %d is no multiple of 8 from 8 to %d", (int)o->bits, KB_MAX_BITS);
    if (o->steps < 1 || o->steps > 100000000) return io_fail(error, "steps: from 1 to 100000000");
    if (o->batch < 8 || o->batch > 8192) return io_fail(error, "batch: from 8 to 8192 pairs");
    if (o->neighbours < 1 || o->neighbours > o->batch) return io_fail(error, "neighbours: from 1 to the batch");
    if (!(o->margin > 0 && o->margin <= 2)) return io_fail(error, "margin: above 0 and up to 2");
    if (!(o->rate > 0 && o->rate <= 1)) return io_fail(error, "rate: above 0 and up to 1");
    if (o->pool < 1 || o->pool > 64) return io_fail(error, "pool: from 1 to 64");
    if (set->points < 8) return io_fail(error, "learning needs 8 points or more; there are %zu", set->points);
    if ((size_t)o->batch > set->points) o->batch = (int32_t)set->points;
    o->neighbours = kbi_min_i(o->neighbours, o->batch);
    return true;
}

/* A number for all that decides the result. */
static uint32_t identify(const kbi_hash_trainer *t)
{
    const kbi_hash_options *o = &t->options;
    const double numbers[] = {o->bits, o->root, o->loss, (double)o->steps, o->batch, o->neighbours, o->margin, o->rate,
                              o->constant_rate, t->batch.blas.sgemm != NULL};
    uLong crc = crc32(0, (const Bytef *)numbers, sizeof numbers);
    crc = crc32(crc, (const Bytef *)&o->seed, sizeof o->seed); /* as it is: a double would round it */
    const uint8_t *bytes = t->inputs.bytes;
    size_t left = t->inputs.patches * (size_t)t->inputs.versions * N;
    for (size_t n; left; left -= n, bytes += n) {
        n = left < 1u << 30 ? left : 1u << 30;
        crc = crc32(crc, bytes, (uInt)n);
    }
    for (size_t p = 0; p < t->points.points; p++)
        crc = crc32(crc, (const Bytef *)&t->points.first[p], sizeof t->points.first[p]);
    return (uint32_t)crc;
}

/* --------------------------------------------------------------------------------------------------- create, free */

static void start_map(kbi_hash_trainer *t)
{
    uint64_t state = kbi_random_fork(t->options.seed, 0);
    for (size_t i = 0; i < t->count; i++) t->map[i] = (float)(DEVIATION * kbi_random_normal(&state));
}

static void allocate(kbi_hash_trainer *t)
{
    size_t n = (size_t)t->options.batch;
    t->count = (size_t)t->options.bits * KBI_HASH_INPUTS;
    t->map = io_alloc(t->count, sizeof *t->map);
    t->mean = io_alloc(t->count, sizeof *t->mean);
    t->square = io_alloc(t->count, sizeof *t->square);
    t->gradient = io_alloc(t->count, sizeof *t->gradient);
    t->rows = io_alloc(2 * n * KBI_HASH_INPUTS, sizeof *t->rows);
    t->left = io_alloc(n, sizeof *t->left);
    t->right = io_alloc(n, sizeof *t->right);
    t->taken = io_alloc((t->points.points + 7) / 8, 1);
    kbi_hash_batch_create(&t->batch, t->options.batch, t->options.bits);
    t->batch.loss = t->options.loss;
    t->batch.blas = kbi_blas_open();
    t->batch.margin = (float)t->options.margin;
    t->batch.map = t->map;
    t->batch.inputs = t->rows;
    t->batch.parallel = t->options.parallel;
}

kbi_hash_trainer *kbi_hash_trainer_create(const kbi_patch_set *set, const kbi_hash_options *options, io_error *error)
{
    kbi_hash_trainer *t = io_alloc(1, sizeof *t);
    kb_error why;
    t->options = *options;
    bool ok = complete(&t->options, set, error) && kbi_hash_inputs_create(&t->inputs, set, &t->options, error);
    ok = ok &&
         (kbi_point_list_create(&t->points, set->label, set->patches, &why) == KB_OK || io_fail(error, "%s", why.text));
    if (!ok) {
        kbi_hash_trainer_free(t);
        return NULL;
    }
    allocate(t);
    start_map(t);
    t->identity = identify(t);
    return t;
}

void kbi_hash_trainer_free(kbi_hash_trainer *t)
{
    if (!t) return;
    kbi_hash_inputs_free(&t->inputs);
    kbi_point_list_free(&t->points);
    kbi_hash_batch_free(&t->batch);
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
static void fill_batch(kbi_hash_trainer *t)
{
    uint64_t seed = kbi_random_fork(t->options.seed, 1 + (uint64_t)t->step), state = kbi_random_fork(seed, 0);
    int32_t n = t->options.batch;
    kbi_sample_pairs(&t->points, (size_t)n, (size_t)t->options.neighbours, seed, t->left, t->right, t->taken);
    for (int32_t i = 0; i < 2 * n; i++) {
        size_t patch = i < n ? t->left[i] : t->right[i - n],
               version = kbi_random_below(&state, (uint32_t)t->inputs.versions);
        const uint8_t *bytes = t->inputs.bytes + (version * t->inputs.patches + patch) * N;
        float *row = t->rows + (size_t)i * KBI_HASH_INPUTS;
        for (int k = 0; k < N; k++) row[k] = (float)(t->inputs.scale * (bytes[k] - t->inputs.mean[k]));
        row[N] = 1;
    }
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

static void one_step(kbi_hash_trainer *t)
{
    double active;
    fill_batch(t);
    t->loss += kbi_hash_batch_loss(&t->batch, t->gradient, &active);
    t->active += active;
    adam(t);
    t->step++;
    t->since++;
}

bool kbi_hash_trainer_run(kbi_hash_trainer *t, int64_t until, kbi_hash_report report, void *context)
{
    int64_t end = until < t->options.steps ? until : t->options.steps, between = t->options.steps / REPORTS + 1;
    while (t->step < end) {
        one_step(t);
        if (t->step % between && t->step < t->options.steps) continue;
        kbi_hash_progress progress = {t->step, t->options.steps, t->loss / (double)t->since,
                                     t->active / (double)t->since};
        t->loss = t->active = 0;
        t->since = 0;
        if (report && !report(context, &progress)) return false;
    }
    return true;
}

int64_t kbi_hash_trainer_steps(const kbi_hash_trainer *t) { return t->step; }

/* ----------------------------------------------------------------------------------------------------- checkpoint */

/* A file for the same machine and build: identity, counters, and the three arrays as they stand in memory, with a CRC
 * at the end. */
typedef struct checkpoint_head {
    char magic[8];
    uint32_t identity, reserved;
    int64_t step, since;
    double loss, active;
    uint64_t count;
} checkpoint_head;
static const char checkpoint_magic[8] = "KBHASH1";

bool kbi_hash_trainer_save(const kbi_hash_trainer *t, const char *path, io_error *error)
{
    checkpoint_head head = {.identity = t->identity,
                            .step = t->step,
                            .since = t->since,
                            .loss = t->loss,
                            .active = t->active,
                            .count = t->count};
    size_t array = t->count * sizeof *t->map, size = sizeof head + 3 * array;
    uint8_t *data = io_alloc(size + 4, 1);
    memcpy(head.magic, checkpoint_magic, sizeof head.magic);
    memcpy(data, &head, sizeof head);
    memcpy(data + sizeof head, t->map, array);
    memcpy(data + sizeof head + array, t->mean, array);
    memcpy(data + sizeof head + 2 * array, t->square, array);
    uint32_t crc = (uint32_t)crc32(0, data, (uInt)size);
    memcpy(data + size, &crc, sizeof crc);
    bool ok = io_file_write(path, data, size + 4, error);
    free(data);
    return ok;
}

static bool check_checkpoint(const kbi_hash_trainer *t, const char *path, const io_bytes *bytes, io_error *error)
{
    checkpoint_head head;
    uint32_t crc;
    size_t size = sizeof head + 3 * t->count * sizeof *t->map;
    if (bytes->size < sizeof head || memcmp(bytes->data, checkpoint_magic, sizeof checkpoint_magic) != 0)
        return io_fail(error, "%s: not a checkpoint of learning HashSIFT", path);
    memcpy(&head, bytes->data, sizeof head);
    if (head.identity != t->identity || head.count != t->count)
        return io_fail(error, "%s: the checkpoint was made with other patches or options", path);
    if (bytes->size != size + 4) return io_fail(error, "%s: the checkpoint is truncated", path);
    memcpy(&crc, bytes->data + size, sizeof crc);
    return crc == (uint32_t)crc32(0, bytes->data, (uInt)size) || io_fail(error, "%s: the checkpoint is damaged", path);
}

bool kbi_hash_trainer_restore(kbi_hash_trainer *t, const char *path, io_error *error)
{
    io_bytes bytes;
    checkpoint_head head;
    size_t array = t->count * sizeof *t->map;
    if (!io_file_read(path, &bytes, error)) return false;
    bool ok = check_checkpoint(t, path, &bytes, error);
    if (ok) {
        memcpy(&head, bytes.data, sizeof head);
        t->step = head.step;
        t->since = head.since;
        t->loss = head.loss;
        t->active = head.active;
        memcpy(t->map, bytes.data + sizeof head, array);
        memcpy(t->mean, bytes.data + sizeof head + array, array);
        memcpy(t->square, bytes.data + sizeof head + 2 * array, array);
    }
    io_bytes_free(&bytes);
    return ok;
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
    for (int i = 0; i < N; i++) weights[i] = (int8_t)floor(unit * row[i] + 0.5);
    return (int32_t)floor(fmin(fmax(unit * bias, -1e9), 1e9) + 0.5);
}

void kbi_hash_trainer_result(const kbi_hash_trainer *t, int8_t *weights, int32_t *bias)
{
    for (int32_t b = 0; b < t->options.bits; b++) {
        bias[b] = round_row(t, t->map + (size_t)b * KBI_HASH_INPUTS, weights + (size_t)b * N);
    }
}
