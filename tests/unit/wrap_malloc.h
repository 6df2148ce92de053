/* SPDX-License-Identifier: Apache-2.0 */
/* The linker sends the allocations of a test through __wrap_*, which the test defines (-Wl,--wrap in CMakeLists.txt). */
#ifndef TEST_WRAP_MALLOC_H
#define TEST_WRAP_MALLOC_H

#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t bytes);
void __wrap_free(void *block);

#endif
