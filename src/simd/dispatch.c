/* Which variant of every kernel runs on this CPU. */
#include "simd/kernels.h"

void kbi_kernels_c(kbi_kernels *table)
{
    kbi_image_kernels_c(&table->image);
    kbi_detect_kernels_c(&table->detect);
    kbi_describe_kernels_c(&table->describe);
    kbi_match_kernels_c(&table->match);
    if (!KB_BAD_ONLY) kbi_fit_kernels_c(&table->fit); /* which else stays out where nothing is fitted */
}

/* Tiers from the lowest to the highest. A tier needs its feature and, with it, all that the feature builds on. */
static const struct kernel_tier {
    const char *name;
    uint32_t needs;
    void (*fill)(kbi_kernels *);
} kernel_tiers[] = {
    {"c", 0, kbi_kernels_c},
#if defined(KBI_X86)
    {"popcnt", KBI_CPU_POPCNT, kbi_kernels_popcnt},
    {"sse4.1", KBI_CPU_SSE41, kbi_kernels_sse4},
    {"sse4.1", KBI_CPU_SSE41 | KBI_CPU_POPCNT, kbi_kernels_sse4_popcnt},
    {"avx2", KBI_CPU_AVX2, kbi_kernels_avx2},
#    ifdef KBI_X86_512
    {"avx512", KBI_CPU_AVX512, kbi_kernels_avx512},
    {"avx512", KBI_CPU_AVX512, kbi_kernels_avx512_rows},
#    endif
#    ifdef KBI_X86_AMX
    {"amx", KBI_CPU_AMX, kbi_kernels_amx},
#    endif
#elif defined(KBI_AARCH64)
    {"neon", KBI_CPU_NEON, kbi_kernels_neon},
#elif defined(KBI_WASM_SIMD)
    {"simd128", KBI_CPU_SIMD128, kbi_kernels_wasm},
#endif
};

static bool tier_allowed(const struct kernel_tier *tier, uint32_t cpu_flags)
{
    uint32_t needs = kbi_cpu_closure(tier->needs);
    return (cpu_flags & needs) == needs;
}

void kbi_kernels_init(kbi_kernels *table, uint32_t cpu_flags)
{
    for (size_t i = 0; i < KBI_COUNT(kernel_tiers); i++)
        if (tier_allowed(&kernel_tiers[i], cpu_flags)) kernel_tiers[i].fill(table);
}

#define INIT_MODULE(module)                                                                                            \
    void kbi_##module##_kernels_init(kbi_##module##_kernels *kernels, uint32_t cpu_flags)                              \
    {                                                                                                                  \
        kbi_kernels all;                                                                                               \
        kbi_kernels_init(&all, cpu_flags);                                                                             \
        *kernels = all.module;                                                                                         \
    }
INIT_MODULE(image)
INIT_MODULE(detect)
INIT_MODULE(describe)
INIT_MODULE(match)
INIT_MODULE(fit)

/* The variant of a slot is the last tier that changes it: applies the tiers one by one and compares. */
kb_kernel kb_kernel_at(int32_t index)
{
#define SLOT_NAME(module, slot) #slot,
    static const char *const names[] = {KBI_KERNEL_SLOTS(SLOT_NAME)};
    if (index < 0 || index >= (int32_t)KBI_COUNT(names)) return (kb_kernel){NULL, NULL};
    kb_kernel kernel = {names[index], "c"};
    kbi_kernels before, after;
    uint32_t flags = kbi_cpu_flags_matching();
    kbi_kernels_c(&before);
    after = before;
    for (size_t i = 1; i < KBI_COUNT(kernel_tiers); i++) {
        if (!tier_allowed(&kernel_tiers[i], flags)) continue;
        kernel_tiers[i].fill(&after);
        int32_t slot = 0;
#define SLOT_CHANGED(module, member)                                                                                   \
    if (slot++ == index && before.module.member != after.module.member) kernel.variant = kernel_tiers[i].name;
        KBI_KERNEL_SLOTS(SLOT_CHANGED)
        before = after;
    }
    return kernel;
}
