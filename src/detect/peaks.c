#include "detect/peaks.h"

bool kbi_peaks_get(kbi_peaks *peaks, size_t keep, size_t max_added, kb_workspace *workspace)
{
    size_t room = keep + keep / 4 + 64; /* so that it is not pruned again at once */
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
    size_t equal, kept = peaks->first;
    if (peaks->count - peaks->first <= peaks->keep) return;
    uint32_t last = nth_strongest(peaks, peaks->keep, &equal);
    for (size_t i = peaks->first; i < peaks->count; i++) {
        uint32_t order = kbi_float_order(peaks->peak[i].response);
        if (order < last || (order == last && equal == 0)) continue;
        if (order == last) {
            equal--;
            peaks->least = peaks->peak[i].response;
        }
        peaks->peak[kept++] = peaks->peak[i];
    }
    peaks->count = kept;
}

void kbi_peaks_add(kbi_peaks *peaks, const kbi_peak *peak)
{
    if (peak->response < peaks->least) return;
    if (peaks->count == peaks->room) kbi_peaks_prune(peaks);
    if (peak->response < peaks->least) return;
    peaks->peak[peaks->count++] = *peak;
}
