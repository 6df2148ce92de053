/* SPDX-License-Identifier: Apache-2.0 */
/* What the hash is learned on: SIFT of patches, as it is or augmented, and how its bytes become inputs. */
#ifndef KBI_HASH_INPUTS_H
#define KBI_HASH_INPUTS_H

#include "learn/hash_train.h"

#define KBI_HASH_INPUTS (KB_SIFT_VALUES + 1) /* [f(x), 1]: the last is for the bias */

/* An input is scale x (byte - mean). With options.raw that is the byte itself, as in the paper; else scale and mean
 * make learning start with values that tanh neither ignores nor cuts off. */
typedef struct kbi_hash_inputs {
    kb_learn_hash_options options;
    kb_learn_patches patches; /* a view; read after creation only when every batch is augmented anew */
    int32_t versions;         /* of every patch; 0: anew for every batch */
    kb_model *sift;
    kb_workspace *workspace;
    uint8_t *bytes; /* versions x patches x 128; of versions 0 those of the patches as they are */
    double mean[KB_SIFT_VALUES];
    double scale;
    uint8_t *chosen, *changed, *described; /* room for a batch that is augmented anew */
} kbi_hash_inputs;

/* options: without zeros. */
kb_status kbi_hash_inputs_create(kbi_hash_inputs *inputs, const kb_learn_patches *patches,
                                 const kb_learn_hash_options *options, kb_error *error);
void kbi_hash_inputs_free(kbi_hash_inputs *inputs);
/* The inputs of a batch: the left patches, then the right ones, options.batch each; rows: 2 batch x KBI_HASH_INPUTS. */
kb_status kbi_hash_inputs_fill(const kbi_hash_inputs *inputs, const size_t *left, const size_t *right, uint64_t seed,
                               float *rows);

#endif
