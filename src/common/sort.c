/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sort: its time does not depend on the order of the entries, and it has no branches to predict. */
#include "common/common.h"

#define DIGITS 256
#define ROUNDS 4

static uint32_t digit_of(uint64_t entry, int round) { return entry >> (32 + 8 * round) & (DIGITS - 1); }

void kbi_sort_upper(uint64_t *entries, uint64_t *spare, size_t n)
{
    uint32_t start[ROUNDS][DIGITS] = {{0}};
    uint64_t *from = entries, *to = spare;
    for (size_t i = 0; i < n; i++)
        for (int round = 0; round < ROUNDS; round++) start[round][digit_of(entries[i], round)]++;
    for (int round = 0; round < ROUNDS; round++) {
        if (n == 0 || start[round][digit_of(from[0], round)] == n) continue; /* all equal */
        uint32_t sum = 0;
        for (int d = 0; d < DIGITS; d++) {
            uint32_t count = start[round][d];
            start[round][d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) to[start[round][digit_of(from[i], round)]++] = from[i];
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != entries) memcpy(entries, from, n * sizeof *entries);
}
