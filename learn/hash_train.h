/* Learning HashSIFT: a linear map of SIFT whose signs are the bits, by gradient descent on a relaxation. */
#ifndef KB_HASH_TRAIN_H
#define KB_HASH_TRAIN_H

#include "keybits/keybits.h"
#include "learn/augment.h"
#include "learn/patch_set.h"

typedef enum kb_hash_loss {
    KB_HASH_TRIPLET = 0, /* triplet ranking with margin, hard negatives in the batch, anchor swap */
    KB_HASH_PAIRS = 1    /* binary classification of pairs, for the ablation */
} kb_hash_loss;

/* Zero in a field means its default. */
typedef struct kb_hash_options {
    int32_t bits;          /* multiple of 8, 8 to KB_MAX_BITS; 0: 256 */
    int32_t root;          /* 1: RootSIFT instead of SIFT */
    kb_hash_loss loss;
    uint64_t seed;
    int64_t steps;         /* batches of Adam */
    int32_t batch;         /* pairs of patches in a batch; each finds its hard negative among the others */
    double margin;         /* share of bits */
    double rate;           /* 0: 0.0002, the learning rate at the start; it falls to zero by a cosine */
    int32_t constant_rate; /* 1: the rate stays as it is */
    double slope;          /* tanh(slope x) at the end; it grows from 1 in a geometric way. 0: no growth */
    kb_augment augment;    /* all zero: none */
    int32_t pool;          /* augmented versions of every patch that are made beforehand; 0: 4, when augmenting at all */
    const kb_parallel *parallel;
} kb_hash_options;

typedef struct kb_hash_progress {
    int64_t step, steps;
    double loss;    /* mean of the batches since the last report, share of the margin */
    double active;  /* share of triplets with a loss, of the same */
} kb_hash_progress;

/* Called about every hundredth of the way; false stops the training (result: false, with the checkpoint valid). */
typedef bool (*kb_hash_report)(void *context, const kb_hash_progress *progress);

/* The state between two steps; opaque, copied out and in as bytes (learning goes on to the very same result). */
typedef struct kb_hash_trainer kb_hash_trainer;

kb_hash_trainer *kb_hash_trainer_create(const kb_patch_set *set, const kb_hash_options *options, io_error *error);
/* Goes on until `until` steps are done (at most options.steps). False when report asked to stop. */
bool kb_hash_trainer_run(kb_hash_trainer *trainer, int64_t until, kb_hash_report report, void *context);
int64_t kb_hash_trainer_steps(const kb_hash_trainer *trainer);
/* The checkpoint as a file, and from a file: fails when it was made with other options or another set. */
bool kb_hash_trainer_save(const kb_hash_trainer *trainer, const char *path, io_error *error);
bool kb_hash_trainer_restore(kb_hash_trainer *trainer, const char *path, io_error *error);
/* The map in the integers of kb_model_spec: weights bits x 128, bias bits; the caller's. */
void kb_hash_trainer_result(const kb_hash_trainer *trainer, int8_t *weights, int32_t *bias);
void kb_hash_trainer_free(kb_hash_trainer *trainer); /* takes NULL */

#endif
