#include "detect/peaks.h"

bool kbi_peaks_get(kbi_peaks *peaks, size_t keep, size_t max_added, kb_workspace *workspace)
{
    size_t room = keep + keep / 16 + 32; /* so that it is not full again at once */
    *peaks = (kbi_peaks){.keep = keep, .room = room < max_added ? room : max_added};
    peaks->peak = kbi_workspace_get(workspace, peaks->room * sizeof *peaks->peak);
    return peaks->peak;
}

/* The order (kbi_float_order) of the n-th strongest response, found digit by digit, and how many of the n have it. */
static uint32_t nth_strongest(const kbi_peaks *peaks, size_t n, size_t *equal)
{
    uint32_t found = 0, known = 0;
    for (int32_t shift = 24; shift >= 0; shift -= 8) {
        uint32_t histogram[256] = {0}, digit = 255;
        for (size_t i = peaks->first; i < peaks->count; i++) {
            uint32_t order = kbi_float_order(peaks->peak[i].response);
            if ((order & known) == found) histogram[order >> shift & 255]++;
        }
        for (; digit > 0 && n > histogram[digit]; digit--) n -= histogram[digit];
        found |= digit << shift;
        known |= (uint32_t)255 << shift;
    }
    *equal = n;
    return found;
}

void kbi_peaks_prune(kbi_peaks *peaks)
{
    size_t equal, kept = peaks->first, tied[KB_PYRAMID_MAX_LEVELS] = {0}; /* per level, and how many of them stay */
    if (peaks->count - peaks->first <= peaks->keep) return;
    uint32_t last = nth_strongest(peaks, peaks->keep, &equal);
    for (size_t i = peaks->first; i < peaks->count; i++)
        tied[peaks->peak[i].level] += kbi_float_order(peaks->peak[i].response) == last;
    for (int32_t i = 0; i < KB_PYRAMID_MAX_LEVELS; i++) {
        tied[i] = kbi_min_z(tied[i], equal);
        equal -= tied[i];
    }
    for (size_t i = peaks->first; i < peaks->count; i++) {
        const kbi_peak *p = &peaks->peak[i];
        uint32_t order = kbi_float_order(p->response);
        if (order < last || (order == last && tied[p->level] == 0)) continue;
        if (order == last) {
            tied[p->level]--;
            peaks->least = p->response;
        }
        peaks->peak[kept++] = *p;
    }
    peaks->count = kept;
}

/* The upper bits of a float are a logarithm: 8 bins for a factor of 2, from 2^-28 on. */
#define BIN_SHIFT 20
#define BIN_ZERO ((127 - 28) << (23 - BIN_SHIFT))

static int32_t bin_of(float response)
{
    uint32_t bits;
    memcpy(&bits, &response, sizeof bits);
    return bits >> 31 ? 0 : kbi_clamp_i((int32_t)(bits >> BIN_SHIFT) - BIN_ZERO, 0, 255);
}

/* Raises `least` to the largest bound of a bin that `keep` peaks reach. */
static void raise_least(kbi_peaks *peaks)
{
    size_t sum = 0;
    for (int32_t bin = 255; bin > 0; bin--) {
        sum += peaks->histogram[bin];
        if (sum < peaks->keep) continue;
        uint32_t bits = (uint32_t)(bin + BIN_ZERO) << BIN_SHIFT;
        float bound;
        memcpy(&bound, &bits, sizeof bound);
        if (bound > peaks->least) peaks->least = bound;
        return;
    }
}

/* Makes room: what has become too weak leaves, and where that is not much, all but the `keep` strongest. */
static void make_room(kbi_peaks *peaks)
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
    memset(peaks->histogram, 0, sizeof peaks->histogram);
}

#define RAISE_STEP 256 /* peaks after which it is worth while */

void kbi_peaks_add(kbi_peaks *peaks, const kbi_peak *peak)
{
    if (peak->response < peaks->least) return;
    if (peaks->count == peaks->room) make_room(peaks);
    if (peak->response < peaks->least) return;
    peaks->peak[peaks->count++] = *peak;
    peaks->histogram[bin_of(peak->response)]++;
    if (peaks->count % RAISE_STEP == 0) raise_least(peaks);
}
