/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from image.h, since only what stands outside the library, io/ and learn/, keeps patches. */
#ifndef KBI_PATCH_BYTES_H
#define KBI_PATCH_BYTES_H

#include "common/common.h"

/* Of one ready patch, or of the octaves of one region. */
static inline size_t kbi_patch_bytes(int32_t side)
{
    return (size_t)side * (size_t)side * (side == KB_OCTAVE_SIDE ? KB_OCTAVES : 1);
}

#endif
