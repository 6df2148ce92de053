/* SPDX-License-Identifier: Apache-2.0 */
/* What the public functions share. */
#ifndef COLLECTION_PUBLIC_H
#define COLLECTION_PUBLIC_H

#include "common/common.h"
#include "io/file.h"
#include "keybits/collection.h"

/* KB_OK, or KB_E_ARGUMENT with the sentence. */
kb_status public_done(bool ok, const io_error *why, kb_error *error);

#endif
