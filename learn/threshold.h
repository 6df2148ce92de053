/* The best threshold of a feature, in one sweep (the paper's algorithm 2).
 *
 * Three patches a, p and n get a bit each; what counts is which of them is alone on its side of the threshold. As the
 * threshold rises, first nobody is alone, then the one with the least value, then the one with the greatest, then
 * nobody again. So the loss of a triple changes at its three values and nowhere else: all changes go into a histogram
 * over the values, and the running sum of the histogram is the loss of every threshold. O(triples + bins), and exact,
 * since all is in integers. */
#ifndef KBI_THRESHOLD_H
#define KBI_THRESHOLD_H

#include "common/common.h"

/* Three places in the array of values, and what it adds to the loss when the patch there is alone. */
typedef struct kbi_triple {
    uint32_t place[3];
    int32_t alone[3];
} kbi_triple;

/* Thresholds are whole bins: 1/8 gray level for BAD, 1/1024 of the mean gradient for BAG. */
#define KBI_BIN_SHIFT 4
#define KBI_VALUE_LIMIT 32640
#define KBI_BINS (2 * (KBI_VALUE_LIMIT >> KBI_BIN_SHIFT) + 1)

typedef struct kbi_found_threshold {
    int64_t change;    /* of the loss against a bit that is the same everywhere; never above 0 */
    int32_t threshold; /* the bit is value <= threshold */
} kbi_found_threshold;

/* values: within +-KBI_VALUE_LIMIT. histogram: KBI_BINS zeros, which it is again afterwards. The amounts of all triples
 * together must stay below 2^30. The lowest of equally good thresholds is taken. */
kbi_found_threshold kbi_find_threshold(const kbi_triple *triples, size_t n, const int16_t *values,
                                     int32_t *histogram);
/* The same change for a threshold that is given. */
int64_t kbi_threshold_change(const kbi_triple *triples, size_t n, const int16_t *values, int32_t threshold);

#endif
