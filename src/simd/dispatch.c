/* SPDX-License-Identifier: Apache-2.0 */
/* Which table of every module runs on this CPU: the first of its list whose instruction set may be used. */
#include "simd/kernels.h"

typedef struct kernel_tier {
    const char *name;
    uint32_t needs;
    const void *table;
} kernel_tier;

#define TIER_C(module) {"c", 0, &kbi_##module##_kernels_c}
#if defined(KBI_X86)
#    define TIER_AVX2(module) {"avx2", KBI_CPU_AVX2, &kbi_##module##_kernels_avx2}
#    define TIERS_BELOW_512(module)                                                                                    \
        TIER_AVX2(module), {"sse4.2", KBI_CPU_SSE42, &kbi_##module##_kernels_sse4}, TIER_C(module)
#    ifdef KBI_X86_512
#        define TIER_AVX512(module) {"avx512", KBI_CPU_AVX512, &kbi_##module##_kernels_avx512}
#        define TIERS(module) TIER_AVX512(module), TIERS_BELOW_512(module)
#    else
#        define TIERS(module) TIERS_BELOW_512(module)
#    endif
#    define FIT_TIERS TIER_AVX2(fit), TIER_C(fit)
#    ifdef KBI_X86_512
#        define ALIGN_TIERS TIER_AVX512(align), TIER_AVX2(align), TIER_C(align)
#    else
#        define ALIGN_TIERS TIER_AVX2(align), TIER_C(align)
#    endif
#else
#    if defined(KBI_AARCH64)
#        define TIERS(module) {"neon", KBI_CPU_NEON, &kbi_##module##_kernels_neon}, TIER_C(module)
#        define FIT_TIERS TIERS(fit)
#    elif defined(KBI_WASM_SIMD) /* which is compiled in, so that nothing runs without it */
#        define TIERS(module) {"simd128", 0, &kbi_##module##_kernels_wasm}
#    else
#        define TIERS(module) TIER_C(module)
#    endif
#    define ALIGN_TIERS TIER_C(align)
#    ifndef FIT_TIERS
#        define FIT_TIERS TIER_C(fit)
#    endif
#endif

/* From the highest tier to plain C, which needs no feature. */
static const kernel_tier image_tiers[] = {TIERS(image)};
static const kernel_tier detect_tiers[] = {TIERS(detect)};
static const kernel_tier boxes_tiers[] = {TIERS(boxes)};
static const kernel_tier sift_tiers[] = {TIERS(sift)};
static const kernel_tier match_tiers[] = {TIERS(match)};
static const kernel_tier fit_tiers[] = {FIT_TIERS};
static const kernel_tier align_tiers[] = {ALIGN_TIERS};

static const void *table_for(const kernel_tier *tier, uint32_t cpu_flags)
{
    while (tier->needs & ~cpu_flags) tier++;
    return tier->table;
}

#define GET_TABLE(module)                                                                                              \
    const kbi_##module##_kernels *kbi_##module##_kernels_get(void)                                                     \
    {                                                                                                                  \
        return table_for(module##_tiers, kbi_cpu_flags());                                                             \
    }
KBI_KERNEL_MODULES(GET_TABLE)

kbi_kernels kbi_kernels_for(uint32_t cpu_flags)
{
#define TABLE_FOR(module) .module = table_for(module##_tiers, cpu_flags),
    return (kbi_kernels){KBI_KERNEL_MODULES(TABLE_FOR)};
}

/* The variant of a slot is the lowest tier whose table has it. */
kb_kernel kb_kernel_at(int32_t index)
{
    static const struct {
        const char *name;
        const kernel_tier *tiers, *end;
        size_t offset;
    } slots[] = {
#define SLOT_ROW(module, slot)                                                                                         \
    {#slot, module##_tiers, module##_tiers + KBI_COUNT(module##_tiers), offsetof(kbi_##module##_kernels, slot)},
        KBI_KERNEL_SLOTS(SLOT_ROW)};
    if (index < 0 || index >= (int32_t)KBI_COUNT(slots)) return (kb_kernel){NULL, NULL};
    const size_t offset = slots[index].offset, pointer = sizeof(void (*)(void));
    const char *used = table_for(slots[index].tiers, kbi_cpu_flags());
    const kernel_tier *tier = slots[index].end;
    do tier--;
    while (memcmp((const char *)tier->table + offset, used + offset, pointer) != 0);
    return (kb_kernel){slots[index].name, tier->name};
}
