/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
#include "common/common.h"

/* What did not fit into the block; the memory follows, aligned. */
typedef struct kbi_chunk {
    struct kbi_chunk *before;
    size_t start; /* `used` when it was taken */
    size_t bytes;
} kbi_chunk;

/* The address sanitizer sees arrays of a workspace as it sees allocations: what stands behind one and what was given
 * back may not be touched. A caller's buffer may serve something else at any time. */
#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define KBI_POISON
#    endif
#elif defined(__SANITIZE_ADDRESS__)
#    define KBI_POISON
#endif
#ifdef KBI_POISON
#    include <sanitizer/asan_interface.h>
#    define permit_bytes(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
#    define forbid_bytes(memory, bytes) __asan_poison_memory_region(memory, bytes)
#else
#    define permit_bytes(memory, bytes) ((void)(memory), (void)(bytes))
#    define forbid_bytes(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#define HEADER kbi_round_up(sizeof(kb_workspace))
#define CHUNK_HEADER kbi_round_up(sizeof(kbi_chunk))

static uint8_t *aligned(void *memory)
{
    return (uint8_t *)memory + ((size_t)0 - (size_t)(uintptr_t)memory) % KBI_ALIGN;
}

/* ---- creation ---- */

kb_status kb_workspace_create(const kb_allocator *given, kb_workspace **out)
{
    kb_allocator allocator;
    if (out) *out = NULL;
    if (!out || kbi_allocator_read(&allocator, given, NULL) != KB_OK) return KB_E_ARGUMENT;
    kb_workspace *workspace = kbi_allocate_zeros(&allocator, sizeof *workspace);
    if (!workspace) return KB_E_MEMORY;
    workspace->allocator = allocator;
    *out = workspace;
    return KB_OK;
}

kb_status kb_workspace_create_in(void *buffer, size_t size, kb_workspace **out)
{
    if (out) *out = NULL;
    if (!out || !buffer) return KB_E_ARGUMENT;
    uint8_t *start = aligned(buffer);
    size_t before = (size_t)(start - (uint8_t *)buffer) + HEADER;
    if (size < before) return KB_E_SPACE;
    kb_workspace *workspace = (kb_workspace *)(void *)start;
    memset(workspace, 0, sizeof *workspace);
    workspace->fixed = true;
    workspace->base = start + HEADER;
    workspace->size = (size - before) / KBI_ALIGN * KBI_ALIGN;
    *out = workspace;
    return KB_OK;
}

static void drop_block(kb_workspace *workspace)
{
    permit_bytes(workspace->base, workspace->size);
    kbi_deallocate(&workspace->allocator, workspace->block);
    workspace->block = workspace->base = NULL;
    workspace->size = 0;
}

void kbi_workspace_release(kb_workspace *workspace)
{
    workspace->temporary = true;
    kbi_workspace_rewind(workspace, 0);
    if (!workspace->fixed) drop_block(workspace);
    workspace->peak = 0;
}

void kb_workspace_free(kb_workspace *workspace)
{
    if (!workspace) return;
    kbi_workspace_release(workspace);
    kb_allocator allocator = workspace->allocator;
    if (!workspace->fixed) kbi_deallocate(&allocator, workspace);
}

kb_workspace *kbi_workspace_or(kb_workspace *given, kb_workspace *local)
{
    memset(local, 0, sizeof *local);
    kbi_allocator_read(&local->allocator, NULL, NULL);
    local->temporary = true;
    local->of_call = given ? given : local;
    local->of_call->missing = 0;
    local->of_call_mark = local->of_call->used;
    return local->of_call;
}

void kbi_workspace_measure(kb_workspace *workspace)
{
    memset(workspace, 0, sizeof *workspace);
    workspace->measures = true;
}

size_t kbi_workspace_total(size_t payload) { return HEADER + (payload ? kbi_round_up(payload) + KBI_ALIGN : 0); }

size_t kbi_workspace_bytes(const kb_workspace *workspace)
{
    return kbi_workspace_total(workspace->size) + workspace->chunk_bytes;
}

/* ---- buffers ---- */

bool kbi_workspace_grow(kb_workspace *workspace, size_t bytes)
{
    if (workspace->size >= bytes) return true;
    if (workspace->fixed || bytes > SIZE_MAX - 2 * KBI_ALIGN) return false;
    drop_block(workspace);
    bytes = kbi_round_up(bytes);
    workspace->block = kbi_allocate(&workspace->allocator, bytes + KBI_ALIGN);
    if (!workspace->block) return false;
    workspace->base = aligned(workspace->block);
    workspace->size = bytes;
    forbid_bytes(workspace->base, bytes);
    return true;
}

kb_status kbi_workspace_reserve(kb_workspace *workspace, size_t payload, size_t *bytes, kb_error *error)
{
    if (!workspace && !bytes) return kbi_fail(error, KB_E_ARGUMENT, "workspace and bytes: both are NULL");
    if (bytes) *bytes = kbi_workspace_total(payload);
    if (!workspace) return KB_OK;
    bool fits = kbi_workspace_grow(workspace, payload);
    size_t held = kbi_workspace_bytes(workspace);
    if (bytes && fits) *bytes = held;
    return fits ? KB_OK
                : kbi_fail(error, workspace->fixed ? KB_E_SPACE : KB_E_MEMORY,
                           "the workspace has %zu bytes, but needs %zu", held, kbi_workspace_total(payload));
}

static void *chunk_get(kb_workspace *workspace, size_t bytes)
{
    if (workspace->fixed || bytes > SIZE_MAX - 2 * CHUNK_HEADER) return NULL;
    size_t all = bytes + CHUNK_HEADER + KBI_ALIGN;
    kbi_chunk *chunk = kbi_allocate(&workspace->allocator, all);
    if (!chunk) return NULL;
    *chunk = (kbi_chunk){workspace->chunks, workspace->used, all};
    workspace->chunks = chunk;
    workspace->chunk_bytes += all;
    forbid_bytes(chunk + 1, all - sizeof *chunk);
    return aligned((uint8_t *)chunk + sizeof *chunk);
}

void *kbi_workspace_get(kb_workspace *workspace, size_t bytes)
{
    const size_t asked = bytes;
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = kbi_round_up(bytes ? bytes : 1);
    if (bytes > SIZE_MAX / 2 - workspace->used) return NULL;
    void *memory = workspace; /* an address, when it measures */
    if (!workspace->measures) {
        bool fits = !workspace->chunks && bytes <= workspace->size && workspace->used <= workspace->size - bytes;
        memory = fits ? workspace->base + workspace->used : chunk_get(workspace, bytes);
        if (!memory) {
            workspace->missing = workspace->used + bytes - (workspace->fixed ? workspace->size : 0);
            return NULL;
        }
        permit_bytes(memory, asked);
    }
    workspace->used += bytes;
    if (workspace->peak < workspace->used) workspace->peak = workspace->used;
    return memory;
}

void *kbi_workspace_array(kb_workspace *workspace, size_t count, size_t size)
{
    return size > 0 && count > SIZE_MAX / size ? NULL : kbi_workspace_get(workspace, count * size);
}

void kbi_workspace_rewind(kb_workspace *workspace, size_t mark)
{
    while (workspace->chunks && workspace->chunks->start >= mark) {
        kbi_chunk *chunk = workspace->chunks;
        workspace->chunks = chunk->before;
        workspace->chunk_bytes -= chunk->bytes;
        permit_bytes(chunk, chunk->bytes);
        kbi_deallocate(&workspace->allocator, chunk);
    }
    size_t end = kbi_min_z(workspace->used, workspace->size);
    if (workspace->block && mark < end) forbid_bytes(workspace->base + mark, end - mark);
    workspace->used = mark;
    /* So that the next call of this size allocates nothing. Without memory for it the workspace stays as it is. */
    bool keeps = !workspace->temporary && !workspace->fixed && !workspace->measures;
    if (keeps && mark == 0) (void)kbi_workspace_grow(workspace, workspace->peak);
}

#ifndef __wasm__
bool kbi_workspace_lacks(const kb_workspace *local, kb_status status)
{
    kb_workspace *workspace = local->of_call;
    if (status != KB_E_MEMORY || !workspace->fixed || workspace->missing == 0) return false;
    kbi_workspace_rewind(workspace, local->of_call_mark);
    workspace->measures = true;
    workspace->peak = workspace->used;
    return true;
}
#endif

static void tell_missing(kb_workspace *workspace, const char *limits, kb_error *error)
{
    size_t bytes = kbi_workspace_bytes(workspace);
    if (workspace->measures && workspace->peak > workspace->size)
        kbi_fail_at(error, KB_E_MEMORY, limits, -1, "the workspace has %zu bytes, but the call needs up to %zu "
                    "(limits: %s)", bytes, kbi_workspace_total(workspace->peak), limits);
    else
        kbi_fail_at(error, KB_E_MEMORY, limits, -1, "the workspace has %zu bytes, at least %zu too few (limits: %s)",
                    bytes, workspace->missing, limits);
    workspace->measures = false;
}

kb_status kbi_workspace_end(kb_workspace *local, kb_status status, const char *limits, kb_error *error)
{
    kb_workspace *workspace = local->of_call;
    kbi_workspace_rewind(workspace, local->of_call_mark);
    if (status == KB_E_MEMORY && workspace->fixed && workspace->missing > 0) tell_missing(workspace, limits, error);
    kbi_workspace_release(local);
    return status == KB_OK || (error && error->text[0]) ? status : kbi_fail_status(error, status);
}
