/* What the hash is learned on: SIFT of every patch in several versions, and how its bytes become inputs. */
#ifndef KB_HASH_INPUTS_H
#define KB_HASH_INPUTS_H

#include "learn/hash_train.h"

/* An input is scale x (byte - mean), so that learning starts with values that tanh neither ignores nor cuts off. */
typedef struct kb_hash_inputs {
    size_t patches;
    int32_t versions;
    uint8_t *bytes; /* versions x patches x 128 */
    double mean[KB_SIFT_VALUES];
    double scale;
} kb_hash_inputs;

bool kb_hash_inputs_create(kb_hash_inputs *inputs, const kb_patch_set *set, const kb_hash_options *options,
                           io_error *error);
void kb_hash_inputs_free(kb_hash_inputs *inputs);

#endif
