/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/candidates.h"

bool kbi_candidates_get(kbi_candidates *c, size_t keep, size_t enough, kb_workspace *workspace)
{
    *c = (kbi_candidates){.keep = keep, .enough = enough ? enough : SIZE_MAX / 2, .room = keep + keep / 4 + 64};
    c->keypoints = kbi_workspace_get(workspace, c->room * sizeof *c->keypoints);
    c->angles = kbi_workspace_get(workspace, c->room * sizeof *c->angles);
    c->entries = kbi_workspace_get(workspace, c->room * sizeof *c->entries);
    c->spare = kbi_workspace_get(workspace, c->room * sizeof *c->spare);
    return c->keypoints && c->angles && c->entries && c->spare;
}

static bool same_place(const kb_keypoint *a, const kb_keypoint *b)
{
    return a->x == b->x && a->y == b->y && a->size == b->size;
}

/* Marks the keypoints that stay, by their indices in spare. In this order doubles stand together. */
static void mark_kept(kbi_candidates *c)
{
    size_t kept = 0;
    const kb_keypoint *last = NULL;
    c->directions = 0;
    for (size_t i = 0; i < c->count; i++) c->entries[i] = kbi_keypoint_entry(c->keypoints, i);
    kbi_sort_keypoints(c->entries, c->spare, c->count, c->keypoints);
    memset(c->spare, 0, c->count * sizeof *c->spare);
    for (size_t i = 0; i < c->count && kept < c->keep && c->directions < c->enough; i++) {
        size_t index = (uint32_t)c->entries[i];
        if (last && same_place(&c->keypoints[index], last)) continue;
        last = &c->keypoints[index];
        c->spare[index] = 1;
        c->directions += (size_t)c->angles[index].count;
        kept++;
    }
    if (last && (kept == c->keep || c->directions >= c->enough)) {
        c->full = true;
        c->weakest = *last;
    }
}

void kbi_candidates_prune(kbi_candidates *c)
{
    size_t kept = 0;
    mark_kept(c);
    for (size_t i = 0; i < c->count; i++) {
        if (!c->spare[i]) continue;
        c->keypoints[kept] = c->keypoints[i];
        c->angles[kept++] = c->angles[i];
    }
    c->count = kept;
}

bool kbi_candidates_wants(const kbi_candidates *c, const kb_keypoint *keypoint)
{
    return !c->full || kbi_keypoint_before(keypoint, &c->weakest);
}

void kbi_candidates_add(kbi_candidates *c, const kb_keypoint *keypoint, const kbi_candidate_angles *angles)
{
    if (c->count == c->room || c->directions > c->enough + c->enough / 8) kbi_candidates_prune(c);
    c->keypoints[c->count] = *keypoint;
    c->angles[c->count++] = *angles;
    c->directions += (size_t)angles->count;
}
