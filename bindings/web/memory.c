/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and free in place of the C library's, which are a twentieth of the WebAssembly file. One list of free blocks
 * in order of addresses; the first that fits is split, neighbours are joined. The library allocates little and large,
 * so that the list stays short. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16u
#define PAGE  65536u

typedef struct block {
    struct block *next; /* free blocks only */
    size_t size;        /* with this header */
    size_t unused[2];
} block;

_Static_assert(sizeof(block) == ALIGN, "a header keeps the alignment");

extern unsigned char __heap_base; /* the linker's */
static block first = {NULL, 0, {0, 0}};
static size_t heap_end; /* 0: nothing was taken yet */

/* Puts a block into the list and joins it with the free ones beside it. */
static void list_insert(block *b)
{
    block *before = &first;
    while (before->next && before->next < b) before = before->next;
    b->next = before->next;
    before->next = b;
    if (b->next && (char *)b + b->size == (char *)b->next) {
        b->size += b->next->size;
        b->next = b->next->next;
    }
    if (before != &first && (char *)before + before->size == (char *)b) {
        before->size += b->size;
        before->next = b->next;
    }
}

/* More memory from the browser, in one piece with what is at the end. */
static int heap_grow(size_t size)
{
    if (heap_end == 0) {
        heap_end = __builtin_wasm_memory_size(0) * PAGE;
        size_t begin = ((size_t)&__heap_base + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        if (heap_end > begin + sizeof(block)) {
            block *rest = (block *)begin;
            rest->size = heap_end - begin;
            list_insert(rest);
        }
        return 1;
    }
    size_t pages = size / PAGE + 1;
    if (pages > (SIZE_MAX - heap_end) / PAGE) return 0; /* the end stays an address: 4 GiB would be 0 */
    if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return 0;
    block *b = (block *)heap_end;
    b->size = pages * PAGE;
    heap_end += b->size;
    list_insert(b);
    return 1;
}

void *malloc(size_t bytes)
{
    if (bytes > 0xff000000u) return NULL;
    size_t size = (bytes + sizeof(block) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    do {
        for (block *before = &first, *b; (b = before->next) != NULL; before = b) {
            if (b->size < size) continue;
            if (b->size - size >= 2 * sizeof(block)) {
                block *rest = (block *)((char *)b + size);
                rest->size = b->size - size;
                rest->next = b->next;
                before->next = rest;
                b->size = size;
            } else {
                before->next = b->next;
            }
            return b + 1;
        }
    } while (heap_grow(size));
    return NULL;
}

void free(void *memory)
{
    if (memory) list_insert((block *)memory - 1);
}

void *calloc(size_t count, size_t size)
{
    if (size > 0 && count > SIZE_MAX / size) return NULL;
    void *memory = malloc(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

void *realloc(void *memory, size_t bytes)
{
    if (!memory) return malloc(bytes);
    size_t held = ((block *)memory - 1)->size - sizeof(block);
    if (bytes <= held && bytes >= held / 2) return memory;
    void *moved = malloc(bytes);
    if (!moved) return NULL;
    memcpy(moved, memory, held < bytes ? held : bytes);
    free(memory);
    return moved;
}
