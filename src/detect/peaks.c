/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>

#include "detect/peaks.h"

bool kbi_peaks_get(kbi_peaks *peaks, size_t keep, size_t spare, size_t max_added, kb_workspace *workspace)
{
    size_t room = keep + spare;
    *peaks = (kbi_peaks){.keep = keep, .room = room < max_added ? room : max_added};
    peaks->peak = kbi_workspace_get(workspace, peaks->room * sizeof *peaks->peak);
    return peaks->peak;
}

static float min_of_bin(int32_t bin)
{
    uint32_t bits = (uint32_t)(bin + KBI_PEAK_ZERO) << KBI_PEAK_SHIFT;
    float min;
    memcpy(&min, &bits, sizeof min);
    return min;
}

void kbi_peaks_raise(kbi_peaks *peaks)
{
    while (peaks->stronger >= peaks->keep && peaks->stronger > 0)
        peaks->stronger -= peaks->histogram[++peaks->bin];
    float min = min_of_bin(peaks->bin);
    if (peaks->bin > 0 && min > peaks->min) peaks->min = min; /* the lowest bin has no bound */
}

/* Responses whose order (kbi_float_order) begins as that of the `keep`-th strongest: what is above them stays, and
 * `stay` of `all` of them. */
typedef struct last_peaks {
    uint32_t order, known; /* the order, as far as these bits are set */
    size_t stay, all;
} last_peaks;

#define DIGIT_BITS 11 /* so that one digit is mostly enough */

/* Digit by digit, until all of them stay or are equal, in the lowest bin that counts: there are `keep` peaks from it
 * on, and fewer above it. */
static last_peaks find_last(const kbi_peaks *peaks)
{
    bool any = peaks->bin == 0 || peaks->bin == KBI_PEAK_BINS - 1; /* bins without a bound */
    int32_t shift = any ? 32 : KBI_PEAK_SHIFT;
    last_peaks last = {0, 0, peaks->keep, SIZE_MAX};
    if (!any)
        last = (last_peaks){kbi_float_order(min_of_bin(peaks->bin)), ~(uint32_t)0 << KBI_PEAK_SHIFT,
                            peaks->keep - peaks->stronger, SIZE_MAX};
    while (shift > 0 && last.stay < last.all) {
        int32_t bits = kbi_min_i(shift, DIGIT_BITS);
        uint32_t histogram[1 << DIGIT_BITS] = {0}, digit = ((uint32_t)1 << bits) - 1, mask = digit;
        shift -= bits;
        for (size_t i = peaks->first; i < peaks->count; i++) {
            uint32_t order = kbi_float_order(peaks->peak[i].response);
            if ((order & last.known) == last.order) histogram[order >> shift & mask]++;
        }
        for (; digit > 0 && last.stay > histogram[digit]; digit--) last.stay -= histogram[digit];
        last.all = histogram[digit];
        last.order |= digit << shift;
        last.known |= mask << shift;
    }
    return last;
}

/* How many of the last ones stay per level: of equal ones the finer. */
static void share_last(const kbi_peaks *peaks, const last_peaks *last, size_t stay[KB_PYRAMID_MAX_LEVELS])
{
    size_t rest = last->stay;
    for (int32_t i = 0; i < KB_PYRAMID_MAX_LEVELS; i++) stay[i] = last->stay < last->all ? 0 : rest;
    if (last->stay == last->all) return;
    for (size_t i = peaks->first; i < peaks->count; i++)
        stay[peaks->peak[i].level] += kbi_float_order(peaks->peak[i].response) == last->order;
    for (int32_t i = 0; i < KB_PYRAMID_MAX_LEVELS; i++) {
        stay[i] = kbi_min_z(stay[i], rest);
        rest -= stay[i];
    }
}

void kbi_peaks_prune(kbi_peaks *peaks)
{
    size_t kept = peaks->first, stay[KB_PYRAMID_MAX_LEVELS];
    float min = FLT_MAX;
    if (peaks->count - peaks->first <= peaks->keep) return;
    last_peaks last = find_last(peaks);
    share_last(peaks, &last, stay);
    for (size_t i = peaks->first; i < peaks->count; i++) {
        const kbi_peak *p = &peaks->peak[i];
        uint32_t order = kbi_float_order(p->response) & last.known;
        bool equal = order == last.order, stays = order > last.order || (equal && stay[p->level] > 0);
        if (equal && stays) {
            stay[p->level]--;
            if (p->response < min) min = p->response;
        }
        peaks->peak[kept] = *p; /* which of them stay cannot be predicted */
        kept += stays;
    }
    peaks->min = min;
    peaks->count = kept;
}

void kbi_peaks_make_room(kbi_peaks *peaks)
{
    size_t kept = peaks->first;
    for (size_t i = peaks->first; i < peaks->count; i++)
        if (peaks->peak[i].response >= peaks->min) peaks->peak[kept++] = peaks->peak[i];
    peaks->count = kept;
    if (kept + peaks->keep / 32 >= peaks->room) kbi_peaks_prune(peaks);
}

/* What was added to a list, before or after it dropped some of it. */
static void add_histogram(kbi_peaks *peaks, const kbi_peaks *list)
{
    for (int32_t i = 0; i < KBI_PEAK_BINS; i++) {
        peaks->histogram[i] += list->histogram[i];
        if (i > peaks->bin) peaks->stronger += list->histogram[i];
    }
}

void kbi_peaks_join(kbi_peaks *peaks, const kbi_peaks *lists, int32_t count)
{
    for (int32_t i = 0; i < count; i++) add_histogram(peaks, &lists[i]);
    kbi_peaks_raise(peaks);
    int32_t bin = peaks->bin;
    peaks->bin = 0; /* until they have come, the list does not hold what the histogram counts */
    for (int32_t i = 0; i < count; i++)
        for (size_t k = 0; k < lists[i].count; k++) {
            if (peaks->count == peaks->room) kbi_peaks_make_room(peaks);
            peaks->peak[peaks->count] = lists[i].peak[k]; /* who is strong enough cannot be predicted */
            peaks->count += lists[i].peak[k].response >= peaks->min;
        }
    peaks->bin = bin;
}

void kbi_peaks_start(kbi_peaks *peaks, float min)
{
    peaks->count = 0;
    kbi_peaks_start_level(peaks, peaks->keep, min);
}

void kbi_peaks_start_level(kbi_peaks *peaks, size_t keep, float min)
{
    peaks->first = peaks->count;
    peaks->keep = keep;
    peaks->min = min;
    peaks->stronger = 0;
    peaks->bin = 0;
    memset(peaks->histogram, 0, sizeof peaks->histogram);
}
