/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the trainer: zeroed, with the product of the sizes checked. All give NULL when memory is out; free() gives
 * back. */
#ifndef KBI_LEARN_MEMORY_H
#define KBI_LEARN_MEMORY_H

#include <stdint.h>
#include <stdlib.h>

static inline void *kbi_zeros(size_t count, size_t size) { return calloc(count ? count : 1, size ? size : 1); }

/* A block of another size with the same content; the old one stays as it is when there is no memory. */
static inline void *kbi_resized(void *block, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    size_t bytes = count * size;
    return realloc(block, bytes > 0 ? bytes : 1);
}

#endif
