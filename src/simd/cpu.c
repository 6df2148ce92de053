/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
#include "simd/cpu.h"

/* The features, each after the features that it builds on; no CPU has it without them. */
static const struct cpu_feature {
    const char *name;
    uint32_t flag, builds_on;
    const char *list; /* the result of kb_cpu_features when it is the highest */
} cpu_features[] = {{"sse4.2", KBI_CPU_SSE42, 0, "sse4.2"},
                    {"avx2", KBI_CPU_AVX2, KBI_CPU_SSE42, "sse4.2 avx2"},
                    {"avx512", KBI_CPU_AVX512, KBI_CPU_AVX2, "sse4.2 avx2 avx512"},
                    {"neon", KBI_CPU_NEON, 0, "neon"},
                    {"simd128", KBI_CPU_SIMD128, 0, "simd128"}};

KBI_STATIC atomic_uint kbi_cpu_state;

uint32_t kbi_cpu_closure(uint32_t flags)
{
    for (size_t i = KBI_COUNT(cpu_features); i-- > 0;)
        if (flags & cpu_features[i].flag) flags |= cpu_features[i].builds_on;
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

/* Threads that ask at the same time store the same answer, unless kb_cpu_limit came first. */
uint32_t kbi_cpu_ask(void)
{
    unsigned before = 0, found = cpu_detect() | KBI_CPU_KNOWN;
    return atomic_compare_exchange_strong(&kbi_cpu_state, &before, found) ? found : before;
}

const char *kb_cpu_features(void)
{
    const uint32_t flags = kbi_cpu_flags();
    for (size_t i = KBI_COUNT(cpu_features); i-- > 0;)
        if (flags & cpu_features[i].flag) return cpu_features[i].list;
    return "";
}

/* The flag of a word of `length` letters; 0 for an unknown one. */
static uint32_t cpu_flag_of(const char *word, size_t length)
{
    for (size_t i = 0; i < KBI_COUNT(cpu_features); i++)
        if (strlen(cpu_features[i].name) == length && memcmp(cpu_features[i].name, word, length) == 0)
            return cpu_features[i].flag;
    return 0;
}

kb_status kb_cpu_limit(const char *list)
{
    uint32_t flags = list ? 0 : UINT32_MAX;
    for (const char *word = list; word && *word;) {
        size_t length = strcspn(word, " ,");
        uint32_t flag = cpu_flag_of(word, length);
        if (length > 0 && !flag && !(length == 1 && *word == 'c')) return KB_E_UNKNOWN;
        flags |= flag;
        word += length + (word[length] != 0);
    }
    atomic_store_explicit(&kbi_cpu_state, (cpu_detect() & kbi_cpu_closure(flags)) | KBI_CPU_KNOWN,
                          memory_order_relaxed);
    return KB_OK;
}
