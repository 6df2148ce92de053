/* The kernels of this module; image/kernels.h states the contract. */
#ifndef KBI_MATCH_KERNELS_H
#define KBI_MATCH_KERNELS_H

#include "match/hamming_block.h"

typedef struct kbi_match_kernels {
    /* kbi_hamming_block. */
    void (*hamming)(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                    uint32_t *second, uint32_t *best_b);
    /* distances[i] receives the distance from the query to row listed[i] of rows, for i below n. */
    void (*hamming_listed)(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n,
                           size_t row_bytes, uint32_t *distances);
} kbi_match_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_MATCH_KERNEL_SLOTS(SLOT) SLOT(match, hamming) SLOT(match, hamming_listed)

/* Plain C. */
void kbi_match_kernels_c(kbi_match_kernels *kernels);
/* The best variants for the given CPU features (common/cpu.h); implemented in src/simd. */
void kbi_match_kernels_init(kbi_match_kernels *kernels, uint32_t cpu_flags);

#endif
