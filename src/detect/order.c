/* The total order of keypoints, and a sort that needs no more than n log n steps whatever it is given: by the upper half
 * of the keys, the response, in four rounds of counting, which no order of the items can slow down; then what is
 * still equal by merging. */
#include "detect/detect.h"

bool kb_keypoint_before(const kb_keypoint *a, const kb_keypoint *b)
{
    if (a->response != b->response) return a->response > b->response;
    if (a->y != b->y) return a->y < b->y;
    if (a->x != b->x) return a->x < b->x;
    if (a->size != b->size) return a->size < b->size;
    return a->angle < b->angle;
}

/* An unsigned integer that grows with the float; -0 counts as 0. */
static uint32_t ascending(float value)
{
    uint32_t bits;
    value += 0.0f;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

uint64_t kb_keypoint_key(const kb_keypoint *keypoint)
{
    return (uint64_t)~ascending(keypoint->response) << 32 | ascending(keypoint->y);
}

static inline bool item_before(const kb_sort_item *a, const kb_sort_item *b, const kb_keypoint *keypoints)
{
    if (a->key != b->key) return a->key < b->key;
    return keypoints && kb_keypoint_before(&keypoints[a->index], &keypoints[b->index]);
}

#define RUN 8 /* so many are sorted by insertion before merging starts */

static void sort_run(kb_sort_item *items, size_t n, const kb_keypoint *keypoints)
{
    for (size_t i = 1; i < n; i++) {
        kb_sort_item item = items[i];
        size_t k = i;
        for (; k > 0 && item_before(&item, &items[k - 1], keypoints); k--) items[k] = items[k - 1];
        items[k] = item;
    }
}

static void merge(const kb_sort_item *from, size_t middle, size_t n, kb_sort_item *to, const kb_keypoint *keypoints)
{
    size_t a = 0, b = middle;
    for (size_t i = 0; i < n; i++) {
        bool second = a == middle || (b < n && item_before(&from[b], &from[a], keypoints));
        to[i] = from[second ? b : a];
        b += second;
        a += !second;
    }
}

static void merge_sort(kb_sort_item *items, kb_sort_item *spare, size_t n, const kb_keypoint *keypoints)
{
    for (size_t i = 0; i < n; i += RUN) sort_run(items + i, n - i < RUN ? n - i : RUN, keypoints);
    kb_sort_item *from = items, *to = spare;
    for (size_t run = RUN; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t both = n - i < 2 * run ? n - i : 2 * run;
            merge(from + i, both < run ? both : run, both, to + i, keypoints);
        }
        kb_sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

#define DIGITS 256
#define ROUNDS 4

static uint32_t digit_of(const kb_sort_item *item, int round) { return item->key >> (32 + 8 * round) & (DIGITS - 1); }

/* Stable, by the upper 32 bits of the keys. */
static void counting_sort(kb_sort_item *items, kb_sort_item *spare, size_t n)
{
    size_t start[ROUNDS][DIGITS] = {{0}};
    for (size_t i = 0; i < n; i++)
        for (int round = 0; round < ROUNDS; round++) start[round][digit_of(&items[i], round)]++;
    kb_sort_item *from = items, *to = spare;
    for (int round = 0; round < ROUNDS; round++) {
        if (start[round][digit_of(&from[0], round)] == n) continue; /* all alike */
        size_t sum = 0;
        for (int d = 0; d < DIGITS; d++) {
            size_t count = start[round][d];
            start[round][d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) to[start[round][digit_of(&from[i], round)]++] = from[i];
        kb_sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

#define WORTH_COUNTING 64

void kb_sort(kb_sort_item *items, kb_sort_item *spare, size_t n, const kb_keypoint *keypoints)
{
    if (n < WORTH_COUNTING) {
        merge_sort(items, spare, n, keypoints);
        return;
    }
    counting_sort(items, spare, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && items[end].key >> 32 == items[i].key >> 32;) end++;
        if (end - i > 1) merge_sort(items + i, spare, end - i, keypoints);
    }
}
