/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of kernels. A module has a table of its contract (its kernels.h) in plain C, and a complete one for every
 * instruction set that does better: kbi_<module>_kernels_<set>, in kernels_<set>.c. dispatch.c gives the best one for
 * this CPU. Modules know nothing of this folder, and tables of one module nothing of the others, so that a linker drops
 * the tables and kernels of modules that a program does not use. */
#ifndef KBI_KERNELS_H
#define KBI_KERNELS_H

#include "simd/cpu.h"
#include "describe/kernels.h"
#include "detect/kernels.h"
#include "fit/kernels.h"
#include "image/kernels.h"
#include "match/align.h"
#include "match/kernels.h"

/* MODULE(module) for every table. */
#define KBI_KERNEL_MODULES(MODULE) MODULE(image) MODULE(detect) MODULE(boxes) MODULE(sift) MODULE(match) MODULE(fit)   \
    MODULE(align)

/* The tables of all modules, for tests and benchmarks. */
typedef struct kbi_kernels {
#define KBI_KERNELS_MEMBER(module) const kbi_##module##_kernels *module;
    KBI_KERNEL_MODULES(KBI_KERNELS_MEMBER)
} kbi_kernels;
kbi_kernels kbi_kernels_for(uint32_t cpu_flags);

/* SLOT(module, slot) for every slot. */
#define KBI_KERNEL_SLOTS(SLOT)                                                                                         \
    KBI_IMAGE_KERNEL_SLOTS(SLOT) KBI_DETECT_KERNEL_SLOTS(SLOT) KBI_BOXES_KERNEL_SLOTS(SLOT)                            \
    KBI_SIFT_KERNEL_SLOTS(SLOT) KBI_MATCH_KERNEL_SLOTS(SLOT) KBI_FIT_KERNEL_SLOTS(SLOT)                                \
    KBI_ALIGN_KERNEL_SLOTS(SLOT)

#define KBI_TABLES_FOR(set)                                                                                            \
    KBI_EXTERN const kbi_image_kernels kbi_image_kernels_##set;                                                        \
    KBI_EXTERN const kbi_detect_kernels kbi_detect_kernels_##set;                                                      \
    KBI_EXTERN const kbi_boxes_kernels kbi_boxes_kernels_##set;                                                        \
    KBI_EXTERN const kbi_sift_kernels kbi_sift_kernels_##set;                                                          \
    KBI_EXTERN const kbi_match_kernels kbi_match_kernels_##set
/* A kernel of one set that the tables of higher sets use too. */
#define KBI_KERNEL_OF(module, slot, set) KBI_STATIC __typeof__(*((kbi_##module##_kernels *)0)->slot) kbi_##slot##_##set

#if defined(KBI_X86)
KBI_TABLES_FOR(sse4);
KBI_TABLES_FOR(avx2);
KBI_EXTERN const kbi_fit_kernels kbi_fit_kernels_avx2;
KBI_EXTERN const kbi_align_kernels kbi_align_kernels_avx2;
KBI_STATIC __typeof__(kbi_hamming_block) kbi_hamming_few_sse4; /* for few or long rows */
KBI_KERNEL_OF(match, hamming_listed, sse4);
KBI_KERNEL_OF(match, hamming_nearest, sse4);
KBI_KERNEL_OF(match, hamming_near, sse4);
KBI_KERNEL_OF(detect, harris, sse4);
KBI_KERNEL_OF(image, shrink_half, avx2);
KBI_KERNEL_OF(image, shrink_two_thirds, avx2);
KBI_KERNEL_OF(image, plan, avx2);
KBI_KERNEL_OF(image, warp_row, avx2);
KBI_STATIC __typeof__(kbi_sample_patch) kbi_sample_upright_avx2; /* where b is 0 */
KBI_KERNEL_OF(detect, blend_rows, avx2);
KBI_KERNEL_OF(detect, disc_angle, avx2);
KBI_KERNEL_OF(detect, gradient_histogram, avx2);
KBI_KERNEL_OF(detect, difference_row, avx2);
KBI_KERNEL_OF(detect, direction_rows, avx2);
KBI_KERNEL_OF(sift, sift_bytes, avx2);
KBI_KERNEL_OF(match, list_circle, avx2);
KBI_KERNEL_OF(match, filter_block, avx2);
KBI_KERNEL_OF(align, align_samples, avx2);
KBI_KERNEL_OF(align, align_products, avx2);
#    ifdef KBI_X86_512
KBI_TABLES_FOR(avx512);
KBI_EXTERN const kbi_align_kernels kbi_align_kernels_avx512;
KBI_KERNEL_OF(detect, fast_row, avx512);
KBI_KERNEL_OF(detect, fast_scores, avx512);
KBI_KERNEL_OF(detect, peaks_row, avx512);
KBI_KERNEL_OF(detect, gradient_blocks, avx512);
KBI_KERNEL_OF(detect, gradient_sums, avx512);
#    endif
#elif defined(KBI_AARCH64)
KBI_TABLES_FOR(neon);
KBI_EXTERN const kbi_fit_kernels kbi_fit_kernels_neon;
#elif defined(KBI_WASM_SIMD)
KBI_TABLES_FOR(wasm);
#endif

#endif
