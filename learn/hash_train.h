/* Learning HashSIFT: a linear map of SIFT whose signs are the bits, by gradient descent on a relaxation
 * (docs/learning.md).
 *
 * The same set, options and seed give the same result on any number of threads, on one machine. Another CPU may get
 * another kernel of BLAS, whose sums differ in the last digits, and then the results differ a little. */
#ifndef KBI_HASH_TRAIN_H
#define KBI_HASH_TRAIN_H

#include "keybits/keybits.h"
#include "learn/augment.h"
#include "learn/patch_set.h"

typedef enum kbi_hash_loss {
    KBI_HASH_TRIPLET = 0, /* triplet ranking with margin, hard negatives in the batch, anchor swap */
    KBI_HASH_PAIRS = 1    /* binary classification of pairs, for the ablation */
} kbi_hash_loss;

/* Zero in a field means its default. */
typedef struct kbi_hash_options {
    int32_t bits;          /* multiple of 8, 8 to KB_MAX_BITS; 0: 256 */
    int32_t root;          /* 1: RootSIFT instead of SIFT, which is better */
    kbi_hash_loss loss;
    uint64_t seed;
    int64_t steps;         /* batches of Adam; 0: 30000; up to 10^8. 3000 give most of it. */
    int32_t batch;         /* pairs of patches in a batch, among which hard negatives are found. 0: 512; 8 to 8192 */
    int32_t neighbours;    /* points of a batch taken side by side in the set, as those of a photograph stand; 0: 1 */
    double margin;         /* share of bits; 0: 0.3; up to 2. 0.2 to 0.5 are alike. */
    double rate;           /* learning rate at the start; it falls to zero by a cosine. 0: 0.01 */
    int32_t constant_rate; /* 1: the rate stays as it is; the paper's is 0.0002 */
    kbi_augment augment;    /* all zero: none */
    int32_t pool;          /* versions of every patch when augmenting, the first as it is; 0: 4; up to 64 */
    const kb_parallel *parallel;
} kbi_hash_options;

/* Puts the defaults where zeros are, for showing and recording them; learning does so by itself. */
void kbi_hash_defaults(kbi_hash_options *options);

typedef struct kbi_hash_progress {
    int64_t step, steps;
    double loss;    /* mean of the batches since the last report: loss of a pair over bits */
    double active;  /* share of pairs with a loss, of the same */
} kbi_hash_progress;

/* Called about every hundredth of the way; false stops the training. */
typedef bool (*kbi_hash_report)(void *context, const kbi_hash_progress *progress);

typedef struct kbi_hash_trainer kbi_hash_trainer;

/* Describes the patches (kept as 128 bytes each, times pool); the set is not needed afterwards. NULL for an option out
 * of its range or a set with too few points. */
kbi_hash_trainer *kbi_hash_trainer_create(const kbi_patch_set *set, const kbi_hash_options *options, io_error *error);
/* Goes on until `until` steps are done (at most all). False when report asked to stop; going on later is possible. */
bool kbi_hash_trainer_run(kbi_hash_trainer *trainer, int64_t until, kbi_hash_report report, void *context);
int64_t kbi_hash_trainer_steps(const kbi_hash_trainer *trainer);
/* The state as a file, and from a file, from which learning goes on to the very same result. Restoring fails when the
 * file was made with other options or another set. */
bool kbi_hash_trainer_save(const kbi_hash_trainer *trainer, const char *path, io_error *error);
bool kbi_hash_trainer_restore(kbi_hash_trainer *trainer, const char *path, io_error *error);
/* The map in the integers of kb_model_spec: weights bits x 128, bias bits; the caller's. */
void kbi_hash_trainer_result(const kbi_hash_trainer *trainer, int8_t *weights, int32_t *bias);
void kbi_hash_trainer_free(kbi_hash_trainer *trainer); /* takes NULL */

#endif
