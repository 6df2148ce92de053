/* What the hash is learned on: SIFT of every patch in several versions, and how its bytes become inputs. */
#ifndef KBI_HASH_INPUTS_H
#define KBI_HASH_INPUTS_H

#include "learn/hash_train.h"

/* An input is scale x (byte - mean), so that learning starts with values that tanh neither ignores nor cuts off. */
typedef struct kbi_hash_inputs {
    size_t patches;
    int32_t versions;
    uint8_t *bytes; /* versions x patches x 128 */
    double mean[KB_SIFT_VALUES];
    double scale;
} kbi_hash_inputs;

kb_status kbi_hash_inputs_create(kbi_hash_inputs *inputs, const kb_learn_patches *patches,
                                 const kb_learn_hash_options *options, kb_error *error);
void kbi_hash_inputs_free(kbi_hash_inputs *inputs);

#endif
