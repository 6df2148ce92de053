/* The hot loops: one table of function pointers, plain C first, then what the CPU can do better.
 *
 * Every variant of a slot gives exactly the results of the plain C one, whatever the size of the batch. A kernel sees
 * valid data only: checks are made before. Patches are 32x32 bytes, one after the other. */
#ifndef KBI_KERNELS_H
#define KBI_KERNELS_H

#include "detect/sift.h"
#include "image/image.h"
#include "model/model.h"

#define KBI_BATCH 32 /* keypoints that go through the kernels together */

typedef struct kbi_kernels {
    /* Rows of the sampler's pyramid (src/image/pyramid.c). n pixels out of 2n of each of two rows: the mean of 2x2. */
    void (*shrink_half)(const uint8_t *upper, const uint8_t *lower, int32_t n, uint8_t *out);
    /* 2n pixels out of 3n: the mean over 1.5 x 1.5, of which the heavy row has twice the weight. */
    void (*shrink_two_thirds)(const uint8_t *heavy, const uint8_t *light, int32_t n, uint8_t *out);
    /* kbi_sampling_plan for n keypoints, whose regions are width_scale x size wide; flags is not NULL. */
    void (*plan)(const kb_keypoint *keypoints, int32_t n, double width_scale, const kbi_pyramid *levels,
                 kbi_sampling *samplings, uint8_t *flags);
    /* Cuts n patches out of the levels: kbi_sample_patch and kbi_sample_patch_two_tap. */
    void (*sample)(const kbi_sampling *samplings, int32_t n, const kbi_pyramid *levels, uint8_t *patches);
    void (*sample_two_tap)(const kbi_sampling *samplings, int32_t n, const kbi_pyramid *levels, uint8_t *patches);
    /* BAD and BAG bits of n patches; rows lie model->row_bytes apart. */
    void (*boxes)(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch);
    /* SIFT histograms of n patches, n x 128, before normalisation. */
    void (*sift)(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch);
    /* n such histograms (values below 2^24) to n x 128 bytes; root: RootSIFT. */
    void (*sift_bytes)(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows);
    /* The signs of weights x values + bias for n rows of 128 bytes; rows lie bits / 8 apart. */
    void (*project)(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows);
    /* Rows and corners of the detectors (src/detect/detect.h, src/detect/sift.h), the functions kb_<slot> there. */
    void (*blend_rows)(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out);
    void (*resize_row)(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out);
    void (*fast_row)(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score);
    int32_t (*peaks_row)(const uint8_t *above, const uint8_t *middle, const uint8_t *below, int32_t width, uint16_t *x);
    int64_t (*harris)(const uint8_t *centre, ptrdiff_t stride);
    float (*disc_angle)(const uint8_t *centre, ptrdiff_t stride);
    void (*blur_pairs)(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur, int32_t width,
                       uint16_t *out);
    void (*difference_row)(const uint16_t *smaller, const uint16_t *larger, int32_t width, int16_t *out);
    int32_t (*extrema_row)(const int16_t *above, const int16_t *middle, const int16_t *below, int32_t width,
                           int32_t limit, int32_t *x);
    /* kbi_hamming_block (src/match/hamming_block.h). */
    void (*hamming)(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                    uint32_t *second, uint32_t *best_b);
} kbi_kernels;

/* Every slot, for code that goes through all of them. */
#define KBI_KERNEL_SLOTS(SLOT)                                                                                          \
    SLOT(shrink_half)                                                                                                  \
    SLOT(shrink_two_thirds) SLOT(plan) SLOT(sample) SLOT(sample_two_tap) SLOT(boxes) SLOT(sift) SLOT(sift_bytes)               \
        SLOT(project) SLOT(blend_rows) SLOT(resize_row) SLOT(fast_row) SLOT(peaks_row) SLOT(harris)                    \
            SLOT(disc_angle) SLOT(blur_pairs) SLOT(difference_row) SLOT(extrema_row) SLOT(hamming)

/* What a task must bring as `scratch`, aligned to KBI_ALIGN. */
#define KBI_KERNEL_SCRATCH (248 * 1024)

/* ---- instruction sets ---- */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#    define KBI_X86
#    if defined(__clang__) ? __clang_major__ >= 10 : __GNUC__ >= 8
#        define KBI_X86_512 /* the compiler knows what KBI_CPU_AVX512 stands for */
#    endif
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(__AARCH64EB__)
#    define KBI_AARCH64
#endif

/* KBI_CPU_AVX512 stands for AVX512F, BW, VL, BITALG and VNNI together. A CPU that has the last two has all of them: Ice
 * Lake, Zen 4 and later, which unlike the first CPUs with AVX-512 do not slow down for wide vectors. */
enum {
    KBI_CPU_SSE2 = 1,
    KBI_CPU_SSSE3 = 2,
    KBI_CPU_SSE41 = 4,
    KBI_CPU_POPCNT = 8,
    KBI_CPU_AVX2 = 16,
    KBI_CPU_AVX512 = 32,
    KBI_CPU_NEON = 64
};

/* The features of this CPU that were not taken away. */
uint32_t kbi_cpu_flags(void);
/* Fills the table: plain C, then every tier that the flags allow replaces what it does better. */
void kbi_kernels_init(kbi_kernels *table, uint32_t flags);

/* The tiers. */
void kbi_kernels_c(kbi_kernels *table);
void kbi_kernels_popcnt(kbi_kernels *table);
void kbi_kernels_sse4(kbi_kernels *table);
void kbi_kernels_avx2(kbi_kernels *table);
void kbi_kernels_avx512(kbi_kernels *table);
void kbi_kernels_neon(kbi_kernels *table);

/* The kernel `hamming` of the tier popcnt, which higher ones use for few or long rows. */
void kbi_hamming_popcnt(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                       uint32_t *second, uint32_t *best_b);

#endif
