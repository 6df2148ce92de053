/* SPDX-License-Identifier: Apache-2.0 */
/* The total order of keypoints, and sorting by it: by response first, in a few rounds of counting, and what has the
 * same response by merging, so that it takes no more than n log n steps whatever it is given. */
#include "detect/detect.h"

bool kbi_keypoint_before(const kb_keypoint *a, const kb_keypoint *b)
{
    if (a->response != b->response) return a->response > b->response;
    if (a->y != b->y) return a->y < b->y;
    if (a->x != b->x) return a->x < b->x;
    if (a->size != b->size) return a->size < b->size;
    return a->angle < b->angle;
}

uint64_t kbi_keypoint_entry(const kb_keypoint *keypoints, size_t index)
{
    return (uint64_t)~kbi_float_order(keypoints[index].response) << 32 | index;
}

static bool entry_before(uint64_t a, uint64_t b, const kb_keypoint *keypoints)
{
    return kbi_keypoint_before(&keypoints[(uint32_t)a], &keypoints[(uint32_t)b]);
}

static void merge(const uint64_t *from, size_t middle, size_t n, uint64_t *to, const kb_keypoint *keypoints)
{
    size_t a = 0, b = middle;
    for (size_t i = 0; i < n; i++) {
        bool second = a == middle || (b < n && entry_before(from[b], from[a], keypoints));
        to[i] = from[second ? b : a];
        b += second;
        a += !second;
    }
}

static void merge_sort(uint64_t *entries, uint64_t *spare, size_t n, const kb_keypoint *keypoints)
{
    uint64_t *from = entries, *to = spare;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t both = n - i < 2 * run ? n - i : 2 * run;
            merge(from + i, both < run ? both : run, both, to + i, keypoints);
        }
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != entries) memcpy(entries, from, n * sizeof *entries);
}

void kbi_sort_keypoints(uint64_t *entries, uint64_t *spare, size_t n, const kb_keypoint *keypoints)
{
    kbi_sort_upper(entries, spare, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && entries[end] >> 32 == entries[i] >> 32;) end++;
        if (end - i > 1) merge_sort(entries + i, spare, end - i, keypoints);
    }
}
