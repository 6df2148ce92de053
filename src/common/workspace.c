#include <stdlib.h>

#include "common/common.h"

kb_status kb_workspace_create(kb_workspace **out)
{
    if (!out) return KB_E_ARGUMENT;
    *out = calloc(1, sizeof **out);
    return *out ? KB_OK : KB_E_MEMORY;
}

void kbi_workspace_release(kb_workspace *workspace)
{
    for (int i = 0; i < KBI_SLOT_COUNT; i++) free(workspace->block[i]);
    memset(workspace, 0, sizeof *workspace);
}

void kb_workspace_free(kb_workspace *workspace)
{
    if (!workspace) return;
    kbi_workspace_release(workspace);
    free(workspace);
}

size_t kb_workspace_bytes(const kb_workspace *workspace)
{
    size_t sum = 0;
    if (!workspace) return 0;
    for (int i = 0; i < KBI_SLOT_COUNT; i++) sum += workspace->size[i];
    return sum;
}

void *kbi_workspace_get(kb_workspace *workspace, kbi_slot slot, size_t bytes)
{
    if (bytes == 0) bytes = 1;
    if (workspace->size[slot] >= bytes) return workspace->data[slot];
    if (bytes > SIZE_MAX - KBI_ALIGN) return NULL;
    free(workspace->block[slot]);
    workspace->data[slot] = NULL;
    workspace->size[slot] = 0;
    void *block = workspace->block[slot] = malloc(bytes + KBI_ALIGN - 1);
    if (!block) return NULL;
    workspace->size[slot] = bytes;
    workspace->data[slot] = (void *)(((uintptr_t)block + KBI_ALIGN - 1) & ~(uintptr_t)(KBI_ALIGN - 1));
    return workspace->data[slot];
}
