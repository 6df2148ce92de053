/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a linear hash on a batch of pairs, and its gradient. Inside the HashSIFT trainer. */
#ifndef KBI_HASH_LOSS_H
#define KBI_HASH_LOSS_H

#include "learn/hash_inputs.h"
#include "learn/matrix.h"

/* The negative that a pair of patches gets. The anchor is the right patch of the pair and the negative the left patch
 * of another, or the other way round. */
typedef struct kbi_hash_negative {
    int32_t pair; /* the other pair */
    bool anchor_right;
} kbi_hash_negative;

typedef struct kbi_hash_batch {
    kb_learn_loss loss; /* triplet or binary */
    kbi_blas blas;
    int32_t n, bits;
    float margin;           /* share of bits */
    const float *map;       /* bits x KBI_HASH_INPUTS */
    const float *inputs;    /* 2 n x KBI_HASH_INPUTS: the left patches of all pairs, then the right ones */
    /* room, also for looking at afterwards */
    float *values;          /* 2 n x bits: tanh(map x input) */
    float *slopes;          /* 2 n x bits: derivatives of the loss */
    float *similarity;      /* n x n: left times right */
    kbi_hash_negative *negatives; /* n */
    const kb_parallel *parallel;
} kbi_hash_batch;

/* Makes room for n pairs; false when memory is out. */
bool kbi_hash_batch_create(kbi_hash_batch *batch, int32_t n, int32_t bits);
void kbi_hash_batch_free(kbi_hash_batch *batch);
/* Returns the mean loss of a pair over the number of bits. gradient: bits x KBI_HASH_INPUTS. *active: the share of pairs
 * that have a loss. */
double kbi_hash_batch_loss(kbi_hash_batch *batch, float *gradient, double *active);

#endif
