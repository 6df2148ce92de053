/* SPDX-License-Identifier: Apache-2.0 */
/* Learning HashSIFT: a linear map B of SIFT whose signs are the bits, by gradient descent on a relaxation (the paper,
 * section III-B). kb_learn_hashsift is made of this. */
#ifndef KBI_HASH_TRAIN_H
#define KBI_HASH_TRAIN_H

#include <stdbool.h>

#include "keybits/learn.h"

typedef struct kbi_hash_trainer kbi_hash_trainer;

/* Describes the patches (kept as 128 bytes each, times versions); their pixels are needed afterwards only when every
 * batch is augmented anew. options->checkpoint plays no part. */
kb_status kbi_hash_trainer_create(kbi_hash_trainer **out, const kb_learn_patches *patches,
                                  const kb_learn_hash_options *options, kb_error *error);
/* Goes on until `until` steps are done (at most all). False when the report asked to stop; going on later is
 * possible. Also when memory ran out, which kbi_hash_trainer_status tells. */
bool kbi_hash_trainer_run(kbi_hash_trainer *trainer, int64_t until);
kb_status kbi_hash_trainer_status(const kbi_hash_trainer *trainer);
int64_t kbi_hash_trainer_steps(const kbi_hash_trainer *trainer);
/* The state in bytes, which live until the next call or step; and from bytes, from which learning goes on to the very
 * same result. Restoring fails when they were made with other options or patches. */
const void *kbi_hash_trainer_save(kbi_hash_trainer *trainer, size_t *size);
kb_status kbi_hash_trainer_restore(kbi_hash_trainer *trainer, const void *data, size_t size, kb_error *error);
/* The map in the integers of kb_model_spec: weights bits x 128, bias bits; the caller's. */
void kbi_hash_trainer_result(const kbi_hash_trainer *trainer, int8_t *weights, int32_t *bias);
void kbi_hash_trainer_summary(const kbi_hash_trainer *trainer, kb_learn_hash_summary *summary);
void kbi_hash_trainer_free(kbi_hash_trainer *trainer); /* takes NULL */

#endif
