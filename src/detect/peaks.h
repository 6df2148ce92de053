/* The list of candidates of a corner detector.
 *
 * One rule says what may be dropped: of all peaks of the image only the `keep` strongest go on, equal ones in the order
 * in which they are found (levels from the finest, rows from above). So a list that is full drops what `keep` peaks in
 * it precede, and from then on takes nothing weaker than the last one that is left. However many lists there are and
 * whatever their room, joined in order they give the same `keep` peaks. */
#ifndef KBI_DETECT_PEAKS_H
#define KBI_DETECT_PEAKS_H

#include "common/common.h"

#define KBI_PEAK_STEPS 256 /* of a pixel, or of the step from level to level */

typedef struct kbi_peak {
    uint16_t x, y;  /* pixel of its level */
    int16_t dx, dy; /* place beside the pixel, in steps */
    uint8_t level;
    int8_t dlevel;  /* scale between levels, in steps */
    float response; /* comparable between levels */
} kbi_peak;

typedef struct kbi_peaks {
    kbi_peak *peak;
    size_t count, room, keep;
    size_t first; /* peaks before it stay, whatever comes after them; keep counts from it on */
    float least; /* what is weaker cannot go on */
} kbi_peaks;

/* Memory for a list to which at most `max_added` peaks are added; false when it is out. */
bool kbi_peaks_get(kbi_peaks *peaks, size_t keep, size_t max_added, kb_workspace *workspace);
/* Adding needs no memory and cannot fail. */
void kbi_peaks_add(kbi_peaks *peaks, const kbi_peak *peak);
/* Keeps the `keep` strongest, in their order. */
void kbi_peaks_prune(kbi_peaks *peaks);

#endif
