#include "common/cpu.h"

#include <stdatomic.h>

#if defined(KBI_X86_AMX) && !defined(KB_EMULATE_AVX512)
#    include <cpuid.h>
#endif

/* Every feature with the ones it builds on, in an order where those come first. No CPU has a feature without them. */
static const struct cpu_feature {
    const char *name;
    uint32_t flag, builds_on;
} cpu_features[] = {{"sse2", KBI_CPU_SSE2, 0},
                    {"ssse3", KBI_CPU_SSSE3, KBI_CPU_SSE2},
                    {"sse4.1", KBI_CPU_SSE41, KBI_CPU_SSSE3},
                    {"popcnt", KBI_CPU_POPCNT, KBI_CPU_SSE2},
                    {"avx2", KBI_CPU_AVX2, KBI_CPU_SSE41 | KBI_CPU_POPCNT},
                    {"avx512", KBI_CPU_AVX512, KBI_CPU_AVX2},
                    {"amx", KBI_CPU_AMX, KBI_CPU_AVX512},
                    {"neon", KBI_CPU_NEON, 0},
                    {"simd128", KBI_CPU_SIMD128, 0}};

/* The only mutable state of the library: what kb_cpu_limit leaves. */
static atomic_uint cpu_allowed = UINT32_MAX;

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

/* ---- AMX ---- */

#if defined(KBI_X86_AMX) && !defined(KB_EMULATE_AVX512)
#    define ARCH_PRCTL 158 /* the system call, and two of its functions */
#    define XCOMP_GET_PERMISSION 0x1022
#    define XCOMP_REQUEST_PERMISSION 0x1023
#    define XCOMP_TILES 18 /* the registers, as a component of the state of a thread */

/* With clang 12 microseconds in a virtual machine, which stops at every CPUID; so it is the last question of a call. */
static bool cpu_has_tiles(void)
{
#    if defined(__clang__) /* whose __builtin_cpu_supports does not know these names */
    uint32_t eax, ebx, ecx, edx;
    if (!__builtin_cpu_supports("avx512vnni") || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    return (edx >> 24 & 3) == 3;
#    else
    return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8");
#    endif
}

/* Without the C library, which has no function for it, and whose syscall() is not in every mode of its headers. */
static bool arch_prctl_done(long function, uintptr_t argument)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)ARCH_PRCTL), "D"(function), "S"(argument)
                     : "rcx", "r11", "memory");
    return result == 0;
}

static bool process_has_tiles(void)
{
    uint64_t components = 0;
    return arch_prctl_done(XCOMP_GET_PERMISSION, (uintptr_t)&components) && components >> XCOMP_TILES & 1;
}

static bool process_request_tiles(void) { return arch_prctl_done(XCOMP_REQUEST_PERMISSION, XCOMP_TILES); }
#else
static bool cpu_has_tiles(void)
{
#    if defined(KBI_X86_AMX) /* emulated */
    return true;
#    else
    return false;
#    endif
}
static bool process_has_tiles(void) { return cpu_has_tiles(); }
static bool process_request_tiles(void) { return cpu_has_tiles(); }
#endif

kb_status kb_cpu_request_amx(void)
{
    return cpu_has_tiles() && (process_has_tiles() || process_request_tiles()) ? KB_OK : KB_E_UNKNOWN;
}

/* ---- all features ---- */

static uint32_t cpu_detect(void)
{
#if defined(KBI_X86)
    __builtin_cpu_init();
    return (__builtin_cpu_supports("sse2") ? KBI_CPU_SSE2 : 0u) |
           (__builtin_cpu_supports("ssse3") ? KBI_CPU_SSSE3 : 0u) |
           (__builtin_cpu_supports("sse4.1") ? KBI_CPU_SSE41 : 0u) |
           (__builtin_cpu_supports("popcnt") ? KBI_CPU_POPCNT : 0u) |
           (__builtin_cpu_supports("avx2") ? KBI_CPU_AVX2 : 0u) | (cpu_has_avx512() ? KBI_CPU_AVX512 : 0u);
#elif defined(KBI_AARCH64)
    return KBI_CPU_NEON; /* part of every aarch64 */
#elif defined(KBI_WASM_SIMD)
    return KBI_CPU_SIMD128; /* compiled in */
#else
    return 0;
#endif
}

uint32_t kbi_cpu_flags(void)
{
    return cpu_detect() & (uint32_t)atomic_load_explicit(&cpu_allowed, memory_order_relaxed);
}

uint32_t kbi_cpu_flags_matching(void)
{
    uint32_t flags = kbi_cpu_flags(), allowed = (uint32_t)atomic_load_explicit(&cpu_allowed, memory_order_relaxed);
    /* valgrind, which does not know the system call, has no AVX-512 either */
    bool amx = flags & KBI_CPU_AVX512 && allowed & KBI_CPU_AMX && process_has_tiles() && cpu_has_tiles();
    return flags | (amx ? KBI_CPU_AMX : 0u);
}

/* All lists that kb_cpu_features can return, in static storage: NAMES_n(begin) is every subset of the last n features
 * behind `begin`, ordered by their flags read as a binary number, the first feature highest. The last feature is the
 * widest vectors of this architecture. */
#if defined(KBI_AARCH64)
#    define NAMES_1(begin) begin, begin " neon"
#elif defined(KBI_WASM_SIMD)
#    define NAMES_1(begin) begin, begin " simd128"
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
                                     KBI_CPU_POPCNT, KBI_CPU_AVX2,  KBI_CPU_AVX512 | KBI_CPU_NEON | KBI_CPU_SIMD128};
    static const char lists[1 << KBI_COUNT(order)][sizeof " sse2 ssse3 sse4.1 popcnt avx2 simd128"] = {NAMES_6("")};
    uint32_t flags = kbi_cpu_flags_matching(), index = 0;
    if (flags & KBI_CPU_AMX) return "sse2 ssse3 sse4.1 popcnt avx2 avx512 amx"; /* it builds on all others */
    for (size_t i = 0; i < KBI_COUNT(order); i++) index = index << 1 | ((flags & order[i]) != 0);
    return lists[index] + (index != 0); /* without the leading blank */
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
    atomic_store_explicit(&cpu_allowed, kbi_cpu_closure(flags), memory_order_relaxed);
    return KB_OK;
}
