/* Which variant of every kernel runs on this CPU. */
#include <stdatomic.h>

#include "simd/kernels.h"

/* ---- features ---- */

static const struct feature {
    const char *name;
    uint32_t flag;
} features[] = {{"sse2", KBI_CPU_SSE2}, {"ssse3", KBI_CPU_SSSE3},   {"sse4.1", KBI_CPU_SSE41}, {"popcnt", KBI_CPU_POPCNT},
                {"avx2", KBI_CPU_AVX2}, {"avx512", KBI_CPU_AVX512}, {"neon", KBI_CPU_NEON}};

/* The only state of the library: what kb_cpu_limit leaves. */
static atomic_uint allowed = UINT32_MAX;

#if defined(KBI_X86)
static bool found_avx512(void)
{
#    if defined(KB_EMULATE_AVX512)
    return true;
#    elif defined(KBI_X86_512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bitalg") &&
           __builtin_cpu_supports("avx512vnni");
#    else
    return false;
#    endif
}
#endif

static uint32_t found_flags(void)
{
#if defined(KBI_X86)
    __builtin_cpu_init();
    return (__builtin_cpu_supports("sse2") ? KBI_CPU_SSE2 : 0u) | (__builtin_cpu_supports("ssse3") ? KBI_CPU_SSSE3 : 0u) |
           (__builtin_cpu_supports("sse4.1") ? KBI_CPU_SSE41 : 0u) |
           (__builtin_cpu_supports("popcnt") ? KBI_CPU_POPCNT : 0u) |
           (__builtin_cpu_supports("avx2") ? KBI_CPU_AVX2 : 0u) | (found_avx512() ? KBI_CPU_AVX512 : 0u);
#elif defined(KBI_AARCH64)
    return KBI_CPU_NEON; /* part of every aarch64 */
#else
    return 0;
#endif
}

uint32_t kbi_cpu_flags(void) { return found_flags() & (uint32_t)atomic_load_explicit(&allowed, memory_order_relaxed); }

/* All lists that there can be, so that one lives for ever without being made: NAMES_n(begin) is every choice of the
 * last n features behind `begin`, in the order of their flags read as a number, the first feature highest. The last
 * is that of the widest vectors on this processor. */
#if defined(KBI_AARCH64)
#    define NAMES_1(begin) begin, begin " neon"
#else
#    define NAMES_1(begin) begin, begin " avx512"
#endif
#define NAMES_2(begin) NAMES_1(begin), NAMES_1(begin " avx2")
#define NAMES_3(begin) NAMES_2(begin), NAMES_2(begin " popcnt")
#define NAMES_4(begin) NAMES_3(begin), NAMES_3(begin " sse4.1")
#define NAMES_5(begin) NAMES_4(begin), NAMES_4(begin " ssse3")
#define NAMES_6(begin) NAMES_5(begin), NAMES_5(begin " sse2")

const char *kb_cpu_features(void)
{
    static const uint32_t order[] = {KBI_CPU_SSE2,   KBI_CPU_SSSE3, KBI_CPU_SSE41,
                                     KBI_CPU_POPCNT, KBI_CPU_AVX2,  KBI_CPU_AVX512 | KBI_CPU_NEON};
    static const char lists[1 << KBI_COUNT(order)][sizeof " sse2 ssse3 sse4.1 popcnt avx2 avx512"] = {NAMES_6("")};
    uint32_t flags = kbi_cpu_flags(), index = 0;
    for (size_t i = 0; i < KBI_COUNT(order); i++) index = index << 1 | ((flags & order[i]) != 0);
    return lists[index] + (index != 0); /* without the blank in front */
}

/* The flag of a word of `length` letters; 0 for an unknown one. */
static uint32_t feature_flag(const char *word, size_t length)
{
    for (size_t i = 0; i < KBI_COUNT(features); i++)
        if (strlen(features[i].name) == length && memcmp(features[i].name, word, length) == 0) return features[i].flag;
    return 0;
}

kb_status kb_cpu_limit(const char *list)
{
    uint32_t flags = list ? 0 : UINT32_MAX;
    for (const char *word = list; word && *word;) {
        size_t length = strcspn(word, " ,");
        uint32_t flag = feature_flag(word, length);
        if (length > 0 && !flag && !(length == 1 && *word == 'c')) return KB_E_UNKNOWN;
        flags |= flag;
        word += length + (word[length] != 0);
    }
    atomic_store_explicit(&allowed, flags, memory_order_relaxed);
    return KB_OK;
}

/* ---- the ladder ---- */

/* Tiers from the lowest to the highest; each needs all of its flags. */
static const struct tier {
    const char *name;
    uint32_t needs;
    void (*fill)(kbi_kernels *);
} tiers[] = {
    {"c", 0, kbi_kernels_c},
#if defined(KBI_X86)
    {"popcnt", KBI_CPU_POPCNT, kbi_kernels_popcnt},
    {"sse4.1", KBI_CPU_SSE2 | KBI_CPU_SSSE3 | KBI_CPU_SSE41 | KBI_CPU_POPCNT, kbi_kernels_sse4},
    {"avx2", KBI_CPU_SSE2 | KBI_CPU_SSSE3 | KBI_CPU_SSE41 | KBI_CPU_POPCNT | KBI_CPU_AVX2, kbi_kernels_avx2},
#    ifdef KBI_X86_512
    {"avx512", KBI_CPU_SSE2 | KBI_CPU_SSSE3 | KBI_CPU_SSE41 | KBI_CPU_POPCNT | KBI_CPU_AVX2 | KBI_CPU_AVX512,
     kbi_kernels_avx512},
#    endif
#elif defined(KBI_AARCH64)
    {"neon", KBI_CPU_NEON, kbi_kernels_neon},
#endif
};

void kbi_kernels_init(kbi_kernels *table, uint32_t flags)
{
    for (size_t i = 0; i < KBI_COUNT(tiers); i++)
        if ((flags & tiers[i].needs) == tiers[i].needs) tiers[i].fill(table);
}

/* The name of the last tier that changes the slot: fills two tables side by side and compares. */
kb_kernel kb_kernel_at(int32_t index)
{
#define SLOT_NAME(slot) #slot,
    static const char *const names[] = {KBI_KERNEL_SLOTS(SLOT_NAME)};
    if (index < 0 || index >= (int32_t)KBI_COUNT(names)) return (kb_kernel){NULL, NULL};
    kb_kernel kernel = {names[index], "c"};
    kbi_kernels before, after;
    uint32_t flags = kbi_cpu_flags();
    kbi_kernels_c(&before);
    after = before;
    for (size_t i = 1; i < KBI_COUNT(tiers); i++) {
        if ((flags & tiers[i].needs) != tiers[i].needs) continue;
        tiers[i].fill(&after);
        int32_t slot = 0;
#define SLOT_CHANGED(member)                                                                                           \
    if (slot++ == index && before.member != after.member) kernel.variant = tiers[i].name;
        KBI_KERNEL_SLOTS(SLOT_CHANGED)
        before = after;
    }
    return kernel;
}
