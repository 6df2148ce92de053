/* SPDX-License-Identifier: Apache-2.0 */
/* The list of candidates of a corner detector.
 *
 * One rule says which peaks may be dropped: of all peaks of the image the `keep` strongest go on; of equal ones the
 * finer level wins, and within a level the peak that is found first. So a list with more than `keep` peaks may drop the
 * weakest, and takes nothing weaker from then on. Lists joined in order give the same `keep` peaks, whatever the order
 * of the levels, the number of lists and their room. */
#ifndef KBI_DETECT_PEAKS_H
#define KBI_DETECT_PEAKS_H

#include "common/common.h"

#define KBI_PEAK_BITS 8
#define KBI_PEAK_STEPS (1 << KBI_PEAK_BITS) /* of a pixel, or of the step from level to level */

/* An offset of less than 100 px, rounded to steps: up when it lies between two. */
static inline int16_t kbi_peak_steps(double offset)
{
    return (int16_t)((int32_t)(offset * KBI_PEAK_STEPS + 32768.5) - 32768);
}

typedef struct kbi_peak {
    uint16_t x, y;  /* pixel of its level */
    int16_t dx, dy; /* place beside the pixel, in steps */
    uint8_t level;
    int8_t dlevel;  /* scale between levels, in steps */
    float response; /* comparable between levels */
} kbi_peak;

#define KBI_PEAK_BINS 512

typedef struct kbi_peaks {
    kbi_peak *peak;
    size_t count, room, keep;
    size_t first;    /* peaks before it stay; keep counts from it on */
    float min;     /* weaker peaks cannot go on */
    /* Peaks added since `first`, by the logarithm of their response. So `min` rises long before the list is full:
     * `stronger` peaks, fewer than keep, are in bins above `bin`. */
    uint32_t histogram[KBI_PEAK_BINS];
    size_t stronger;
    int32_t bin;
} kbi_peaks;

/* Empties a list. */
void kbi_peaks_start(kbi_peaks *peaks, float min);
/* The peaks in the list stay; the following ones are kept or dropped among themselves. */
void kbi_peaks_start_level(kbi_peaks *peaks, size_t keep, float min);
/* Memory for a list to which at most `max_added` peaks are added. It has `keep` + `spare` places: the fewer are spare,
 * the more often the list is pruned. False when memory is out. */
bool kbi_peaks_get(kbi_peaks *peaks, size_t keep, size_t spare, size_t max_added, kb_workspace *workspace);
/* Drops peaks below `min`; where that frees too little room, all peaks but the `keep` strongest. */
void kbi_peaks_make_room(kbi_peaks *peaks);
/* Once `keep` are in bins above `bin`, nothing in `bin` can go on. */
void kbi_peaks_raise(kbi_peaks *peaks);

/* The upper bits of a float are a logarithm: 16 bins for a factor of 2, from 2^-28 on. */
#define KBI_PEAK_SHIFT 19
#define KBI_PEAK_ZERO ((127 - 28) << (23 - KBI_PEAK_SHIFT))

static inline int32_t kbi_peak_bin(float response)
{
    uint32_t bits;
    memcpy(&bits, &response, sizeof bits);
    return bits >> 31 ? 0 : kbi_clamp_i((int32_t)(bits >> KBI_PEAK_SHIFT) - KBI_PEAK_ZERO, 0, KBI_PEAK_BINS - 1);
}

/* Adding needs no memory and cannot fail. */
static inline void kbi_peaks_add(kbi_peaks *peaks, kbi_peak peak)
{
    if (peak.response < peaks->min) return;
    if (peaks->count == peaks->room) {
        kbi_peaks_make_room(peaks);
        if (peak.response < peaks->min) return;
    }
    int32_t bin = kbi_peak_bin(peak.response);
    peaks->peak[peaks->count++] = peak;
    peaks->histogram[bin]++;
    peaks->stronger += bin > peaks->bin;
    if (peaks->stronger >= peaks->keep && peaks->stronger > 0) kbi_peaks_raise(peaks);
}
/* Adds the peaks of `count` lists, one after the other. */
void kbi_peaks_join(kbi_peaks *peaks, const kbi_peaks *lists, int32_t count);
/* Keeps the `keep` strongest, in their order. */
void kbi_peaks_prune(kbi_peaks *peaks);

#endif
