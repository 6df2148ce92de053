/* The kernels of this module; image/kernels.h states the contract. */
#ifndef KBI_MATCH_KERNELS_H
#define KBI_MATCH_KERNELS_H

#include "match/hamming_block.h"

typedef struct kbi_match_kernels {
    /* kbi_hamming_block. */
    void (*hamming)(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                    uint32_t *second, uint32_t *best_b);
} kbi_match_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_MATCH_KERNEL_SLOTS(SLOT) SLOT(match, hamming)

/* Plain C. */
void kbi_match_kernels_c(kbi_match_kernels *kernels);
/* The best variants for the given CPU features (common/cpu.h); implemented in src/simd. */
void kbi_match_kernels_init(kbi_match_kernels *kernels, uint32_t cpu_flags);

#endif
