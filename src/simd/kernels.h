/* The kernels of all modules in one table, and the tiers that fill it: plain C first, then one tier per instruction
 * set. A tier replaces the slots that it does better. Modules know nothing of this folder: each declares
 * kbi_<module>_kernels_init in its own kernels.h, and dispatch.c implements it. */
#ifndef KBI_KERNELS_H
#define KBI_KERNELS_H

#include "common/cpu.h"
#include "describe/kernels.h"
#include "detect/kernels.h"
#include "fit/kernels.h"
#include "image/kernels.h"
#include "match/kernels.h"

typedef struct kbi_kernels {
    kbi_image_kernels image;
    kbi_detect_kernels detect;
    kbi_describe_kernels describe;
    kbi_match_kernels match;
    kbi_fit_kernels fit;
} kbi_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_KERNEL_SLOTS(SLOT)                                                                                         \
    KBI_IMAGE_KERNEL_SLOTS(SLOT) KBI_DETECT_KERNEL_SLOTS(SLOT) KBI_DESCRIBE_KERNEL_SLOTS(SLOT)                         \
    KBI_MATCH_KERNEL_SLOTS(SLOT) KBI_FIT_KERNEL_SLOTS(SLOT)

/* Plain C, then every tier that the flags allow. */
void kbi_kernels_init(kbi_kernels *table, uint32_t cpu_flags);

/* The tiers. */
void kbi_kernels_c(kbi_kernels *table);
#if defined(KBI_X86)
void kbi_kernels_popcnt(kbi_kernels *table);
void kbi_kernels_sse4(kbi_kernels *table);
void kbi_kernels_sse4_popcnt(kbi_kernels *table);
void kbi_kernels_avx2(kbi_kernels *table);
void kbi_kernels_avx512(kbi_kernels *table);
void kbi_kernels_avx512_rows(kbi_kernels *table);
void kbi_kernels_amx(kbi_kernels *table);
#elif defined(KBI_AARCH64)
void kbi_kernels_neon(kbi_kernels *table);
#elif defined(KBI_WASM_SIMD)
void kbi_kernels_wasm(kbi_kernels *table);
#endif

#if defined(KBI_X86)
/* The kernel `hamming` of the tier popcnt, which higher tiers use for few or long rows. */
void kbi_hamming_popcnt(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                        uint32_t *second, uint32_t *best_b);
/* That of the tier avx512, which the tier amx uses for few or long rows. */
void kbi_hamming_avx512(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                        uint32_t *second, uint32_t *best_b);
#endif

#endif
