/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/peaks.h"

bool kbi_peaks_get(kbi_peaks *peaks, size_t keep, size_t spare, size_t max_added, kb_workspace *workspace)
{
    size_t room = keep + spare;
    *peaks = (kbi_peaks){.keep = keep, .room = room < max_added ? room : max_added};
    peaks->peak = kbi_workspace_get(workspace, peaks->room * sizeof *peaks->peak);
    return peaks->peak;
}

static float least_of_bin(int32_t bin)
{
    uint32_t bits = (uint32_t)(bin + KBI_PEAK_ZERO) << KBI_PEAK_SHIFT;
    float least;
    memcpy(&least, &bits, sizeof least);
    return least;
}

void kbi_peaks_raise(kbi_peaks *peaks)
{
    while (peaks->stronger >= peaks->keep && peaks->stronger > 0)
        peaks->stronger -= peaks->histogram[++peaks->bin];
    float least = least_of_bin(peaks->bin);
    if (least > peaks->least) peaks->least = least;
}

/* The order (kbi_float_order) of the `keep`-th strongest response, and how many of the `keep` have it. It is found
 * digit by digit, in the lowest bin that counts: there are `keep` peaks from it on, and fewer above it. */
static uint32_t last_order(const kbi_peaks *peaks, size_t *equal)
{
    bool any = peaks->bin == 0 || peaks->bin == KBI_PEAK_BINS - 1; /* bins without a bound */
    size_t n = any ? peaks->keep : peaks->keep - peaks->stronger;
    int32_t shift = any ? 32 : KBI_PEAK_SHIFT;
    uint32_t found = any ? 0 : kbi_float_order(least_of_bin(peaks->bin)),
             known = any ? 0 : ~(uint32_t)0 << KBI_PEAK_SHIFT;
    while (shift > 0) {
        int32_t bits = kbi_min_i(shift, 8);
        uint32_t histogram[256] = {0}, digit = ((uint32_t)1 << bits) - 1, mask = digit;
        shift -= bits;
        for (size_t i = peaks->first; i < peaks->count; i++) {
            uint32_t order = kbi_float_order(peaks->peak[i].response);
            if ((order & known) == found) histogram[order >> shift & mask]++;
        }
        for (; digit > 0 && n > histogram[digit]; digit--) n -= histogram[digit];
        found |= digit << shift;
        known |= mask << shift;
    }
    *equal = n;
    return found;
}

void kbi_peaks_prune(kbi_peaks *peaks)
{
    size_t equal, kept = peaks->first, tied[KB_PYRAMID_MAX_LEVELS] = {0}; /* per level, and how many of them stay */
    if (peaks->count - peaks->first <= peaks->keep) return;
    uint32_t last = last_order(peaks, &equal);
    for (size_t i = peaks->first; i < peaks->count; i++)
        tied[peaks->peak[i].level] += kbi_float_order(peaks->peak[i].response) == last;
    for (int32_t i = 0; i < KB_PYRAMID_MAX_LEVELS; i++) {
        tied[i] = kbi_min_z(tied[i], equal);
        equal -= tied[i];
    }
    for (size_t i = peaks->first; i < peaks->count; i++) {
        const kbi_peak *p = &peaks->peak[i];
        uint32_t order = kbi_float_order(p->response);
        bool tie = order == last, stays = order > last || (tie && tied[p->level] > 0);
        if (tie && stays) {
            tied[p->level]--;
            peaks->least = p->response;
        }
        peaks->peak[kept] = *p; /* which of them stay cannot be predicted */
        kept += stays;
    }
    peaks->count = kept;
}

void kbi_peaks_make_room(kbi_peaks *peaks)
{
    size_t kept = peaks->first;
    for (size_t i = peaks->first; i < peaks->count; i++)
        if (peaks->peak[i].response >= peaks->least) peaks->peak[kept++] = peaks->peak[i];
    peaks->count = kept;
    if (kept + peaks->keep / 32 >= peaks->room) kbi_peaks_prune(peaks);
}

void kbi_peaks_start(kbi_peaks *peaks, float least)
{
    peaks->count = 0;
    kbi_peaks_start_level(peaks, peaks->keep, least);
}

void kbi_peaks_start_level(kbi_peaks *peaks, size_t keep, float least)
{
    peaks->first = peaks->count;
    peaks->keep = keep;
    peaks->least = least;
    peaks->stronger = 0;
    peaks->bin = 0;
    memset(peaks->histogram, 0, sizeof peaks->histogram);
}
