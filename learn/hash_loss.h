/* The loss of a linear hash on a batch of pairs, and its gradient. Inside the HashSIFT trainer. */
#ifndef KB_HASH_LOSS_H
#define KB_HASH_LOSS_H

#include "learn/hash_train.h"

#define KB_HASH_INPUTS (KB_SIFT_VALUES + 1) /* the last is 1, for the bias */

/* The negative that a pair of patches gets. The anchor is the right patch of the pair and the negative the left patch
 * of another, or the other way round. */
typedef struct kb_hash_negative {
    int32_t pair; /* the other pair */
    bool anchor_right;
} kb_hash_negative;

typedef struct kb_hash_batch {
    kb_hash_loss loss;
    int32_t n, bits;
    float margin;           /* share of bits */
    const float *map;       /* bits x KB_HASH_INPUTS */
    const float *inputs;    /* 2 n x KB_HASH_INPUTS: the left patches of all pairs, then the right ones */
    /* room, also for looking at afterwards */
    float *values;          /* 2 n x bits: tanh(map x input) */
    float *slopes;          /* 2 n x bits: derivatives of the loss */
    float *similarity;      /* n x n: left times right */
    kb_hash_negative *negatives; /* n */
    const kb_parallel *parallel;
} kb_hash_batch;

/* Makes room for n pairs. */
void kb_hash_batch_create(kb_hash_batch *batch, int32_t n, int32_t bits);
void kb_hash_batch_free(kb_hash_batch *batch);
/* Returns the mean loss of a pair over the number of bits. gradient: bits x KB_HASH_INPUTS. *active: the share of pairs
 * that have a loss. */
double kb_hash_batch_loss(kb_hash_batch *batch, float *gradient, double *active);

#endif
