/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
#include "simd/cpu.h"

/* The features, each after the features that it builds on; no CPU has it without them. The first and the last are only
 * words of limits. */
static const struct cpu_feature {
    const char *name;
    uint32_t flags, builds_on;
    const char *list; /* the result of kb_cpu_features when it is the highest that there is */
} cpu_features[] = {{"c", 0, 0, ""},
                    {"sse4.2", KBI_CPU_SSE42, 0, "sse4.2"},
                    {"avx2", KBI_CPU_AVX2, KBI_CPU_SSE42, "sse4.2 avx2"},
                    {"avx512", KBI_CPU_AVX512, KBI_CPU_AVX2, "sse4.2 avx2 avx512"},
                    {"neon", KBI_CPU_NEON, 0, "neon"},
                    {"simd128", KBI_CPU_SIMD128, 0, "simd128"},
                    {"all", KBI_CPU_KNOWN - 1, 0, NULL}};

KBI_STATIC atomic_uint kbi_cpu_state;

uint32_t kbi_cpu_closure(uint32_t flags)
{
    for (size_t i = KBI_COUNT(cpu_features); i-- > 0;)
        if (flags & cpu_features[i].flags) flags |= cpu_features[i].builds_on;
    return flags;
}

#if defined(KBI_X86)
static bool cpu_has_avx512(void)
{
#    if defined(KB_EMULATE_AVX512)
    return true;
#    elif defined(KBI_X86_512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bitalg") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
#    else
    return false;
#    endif
}
#endif

static uint32_t cpu_detect(void)
{
#if defined(KBI_X86)
    __builtin_cpu_init();
    bool sse42 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    bool avx2 = sse42 && __builtin_cpu_supports("avx2");
    return (sse42 ? KBI_CPU_SSE42 : 0u) | (avx2 ? KBI_CPU_AVX2 : 0u) | (avx2 && cpu_has_avx512() ? KBI_CPU_AVX512 : 0u);
#elif defined(KBI_AARCH64)
    return KBI_CPU_NEON; /* part of every aarch64 */
#elif defined(KBI_WASM_SIMD)
    return KBI_CPU_SIMD128; /* compiled in */
#else
    return 0;
#endif
}

/* Threads that ask at the same time store the same answer, unless a limit came first. */
uint32_t kbi_cpu_ask(void)
{
    unsigned before = 0, found = cpu_detect() | KBI_CPU_KNOWN;
    return atomic_compare_exchange_strong(&kbi_cpu_state, &before, found) ? found : before;
}

/* The feature of a word of `length` letters; NULL for an unknown one. */
static const struct cpu_feature *find_feature(const char *word, size_t length)
{
    for (size_t i = 0; i < KBI_COUNT(cpu_features); i++)
        if (strlen(cpu_features[i].name) == length && memcmp(cpu_features[i].name, word, length) == 0)
            return &cpu_features[i];
    return NULL;
}

const char *kb_cpu_features(const char *limit)
{
    uint32_t flags = 0;
    for (const char *word = limit; word && *word;) {
        size_t length = strcspn(word, " ,");
        const struct cpu_feature *feature = length > 0 ? find_feature(word, length) : cpu_features;
        if (!feature) return NULL;
        flags |= feature->flags;
        word += length + (word[length] != 0);
    }
    if (limit)
        atomic_store_explicit(&kbi_cpu_state, (cpu_detect() & kbi_cpu_closure(flags)) | KBI_CPU_KNOWN,
                              memory_order_relaxed);
    flags = kbi_cpu_flags();
    const struct cpu_feature *highest = cpu_features + KBI_COUNT(cpu_features) - 1;
    while ((flags & highest->flags) != highest->flags) highest--;
    return highest->list;
}
