/* SPDX-License-Identifier: Apache-2.0 */
/* Memory from the caller's functions, or from malloc. */
#include <stdlib.h>

#include "common/common.h"

static void *allocate_by_malloc(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void release_by_free(void *self, void *memory)
{
    (void)self;
    free(memory);
}

kb_status kbi_allocator_read(kb_allocator *destination, const kb_allocator *source, kb_error *error)
{
    *destination = source ? *source : (kb_allocator){allocate_by_malloc, release_by_free, NULL};
    if (destination->allocate && destination->release) return KB_OK;
    return kbi_fail(error, KB_E_ARGUMENT, "allocator: a function is NULL");
}

void *kbi_allocate(const kb_allocator *allocator, size_t bytes)
{
    return allocator->allocate(allocator->self, bytes ? bytes : 1);
}

void *kbi_allocate_array(const kb_allocator *allocator, size_t count, size_t size)
{
    return size > 0 && count > SIZE_MAX / size ? NULL : kbi_allocate(allocator, count * size);
}

void *kbi_reallocate(const kb_allocator *allocator, void *block, size_t used, size_t count, size_t size)
{
    void *moved = kbi_allocate_array(allocator, count, size);
    if (!moved) return NULL;
    if (used > 0) memcpy(moved, block, used);
    kbi_deallocate(allocator, block);
    return moved;
}

void *kbi_allocate_zeros(const kb_allocator *allocator, size_t bytes)
{
    void *memory = kbi_allocate(allocator, bytes);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

void kbi_deallocate(const kb_allocator *allocator, const void *memory)
{
    if (memory) allocator->release(allocator->self, (void *)(uintptr_t)memory);
}
