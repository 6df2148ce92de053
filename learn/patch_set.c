/* SPDX-License-Identifier: Apache-2.0 */
/* Patch sets in memory: shrinking and splitting. */
#include "learn/patch_set.h"

#include <string.h>

#include "common/common.h"
#include "image/image.h"
#include "learn/memory.h"
#include "learn/random.h"

kb_status kbi_patch_set_create(kbi_patch_set *set, size_t patches, size_t points)
{
    set->patches = patches;
    set->points = points;
    set->pixels = kbi_zeros(patches, kbi_patch_bytes(set->side));
    set->label = kbi_zeros(patches, sizeof *set->label);
    set->view = kbi_zeros(patches, sizeof *set->view);
    set->first = kbi_zeros(points + 1, sizeof *set->first);
    if (set->pixels && set->label && set->view && set->first) return KB_OK;
    kbi_patch_set_free(set);
    return KB_E_MEMORY;
}

void kbi_patch_set_free(kbi_patch_set *set)
{
    if (!set) return;
    free(set->pixels);
    free(set->label);
    free(set->view);
    free(set->first);
    *set = (kbi_patch_set){0};
}

void kbi_patch_set_shrink(kbi_patch_set *set)
{
    size_t from = kbi_patch_bytes(set->side), to = (size_t)KB_PATCH_SIDE * KB_PATCH_SIDE;
    if (set->side <= KB_PATCH_SIDE) return;
    uint8_t small[KB_PATCH_SIDE * KB_PATCH_SIDE];
    for (size_t i = 0; i < set->patches; i++) {
        kbi_patch_shrink(set->pixels + i * from, set->side, small);
        memcpy(set->pixels + i * to, small, to); /* never passes the patch that is read next */
    }
    set->side = KB_PATCH_SIDE;
    uint8_t *fitting = kbi_resized(set->pixels, set->patches, to);
    if (fitting) set->pixels = fitting; /* else the old block serves as well */
}

/* ------------------------------------------------------------------------------------------------------ splitting */

static bool is_held(uint64_t seed, size_t point, double fraction)
{
    uint64_t state = seed ^ ((uint64_t)point * 0xd1342543de82ef95u + 1);
    return (double)(kbi_random_next(&state) >> 11) < fraction * 9007199254740992.0;
}

static kb_status copy_points(const kbi_patch_set *set, const bool *held, bool wanted, kbi_patch_set *out)
{
    size_t patches = 0, points = 0, area = kbi_patch_bytes(set->side), at = 0, label = 0;
    for (size_t p = 0; p < set->points; p++) {
        if (held[p] != wanted) continue;
        points++;
        patches += set->first[p + 1] - set->first[p];
    }
    *out = (kbi_patch_set){.side = set->side, .support = set->support};
    if (kbi_patch_set_create(out, patches, points) != KB_OK) return KB_E_MEMORY;
    for (size_t p = 0; p < set->points; p++) {
        if (held[p] != wanted) continue;
        size_t from = set->first[p], count = set->first[p + 1] - from;
        out->first[label] = at;
        memcpy(out->pixels + at * area, set->pixels + from * area, count * area);
        memcpy(out->view + at, set->view + from, count * sizeof *out->view);
        for (size_t k = 0; k < count; k++) out->label[at + k] = (uint32_t)label;
        at += count;
        label++;
    }
    out->first[label] = at;
    return KB_OK;
}

kb_status kbi_patch_set_split(const kbi_patch_set *set, double fraction, uint64_t seed, kbi_patch_set *rest,
                              kbi_patch_set *held, kb_error *error)
{
    *rest = *held = (kbi_patch_set){0};
    bool *is = kbi_zeros(set->points, sizeof *is);
    kb_status status = is ? KB_OK : KB_E_MEMORY;
    for (size_t p = 0; is && p < set->points; p++) is[p] = is_held(seed, p, fraction);
    if (is) status = copy_points(set, is, false, rest);
    if (status == KB_OK) status = copy_points(set, is, true, held);
    free(is);
    if (status != KB_OK) {
        kbi_fail(error, status, "no memory to hold patches back");
    } else if (rest->points < 2 || held->points < 2) {
        status = kbi_fail(error, KB_E_ARGUMENT, "too few points to hold some back: %zu and %zu", rest->points,
                          held->points);
    }
    if (status != KB_OK) {
        kbi_patch_set_free(rest);
        kbi_patch_set_free(held);
    }
    return status;
}
