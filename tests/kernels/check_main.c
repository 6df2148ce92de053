/* SPDX-License-Identifier: Apache-2.0 */
/* Compares every kernel of every tier that this CPU has with plain C: random and extreme data, odd sizes and strides,
 * batches of 0 to 70, and inputs that end at a forbidden page. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#if defined(_WIN32)
#    include <windows.h>
#elif !defined(__wasm__)
#    include <sys/mman.h>
#    include <unistd.h>
#endif

#include "check.h"

/* ---- memory ---- */

/* `size` bytes of whole pages, of which the first and the last are forbidden; NULL when that fails. WebAssembly has no
 * pages to forbid: there only the comparison of results finds a write that strays. */
#if defined(_WIN32)
static size_t page_size(void) { return 4096; }
static uint8_t *pages_map(size_t size)
{
    DWORD before;
    uint8_t *map = VirtualAlloc(NULL, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    bool good = map && VirtualProtect(map, page_size(), PAGE_NOACCESS, &before) &&
                VirtualProtect(map + size - page_size(), page_size(), PAGE_NOACCESS, &before);
    return good ? map : NULL;
}
static void pages_unmap(uint8_t *map, size_t size)
{
    (void)size;
    VirtualFree(map, 0, MEM_RELEASE);
}
#elif defined(__wasm__)
static size_t page_size(void) { return 4096; }
static uint8_t *pages_map(size_t size) { return aligned_alloc(4096, size); }
static void pages_unmap(uint8_t *map, size_t size)
{
    (void)size;
    free(map);
}
#else
static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static uint8_t *pages_map(size_t size)
{
    uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool good = map != MAP_FAILED && mprotect(map, page_size(), PROT_NONE) == 0 &&
                mprotect(map + size - page_size(), page_size(), PROT_NONE) == 0;
    return good ? map : NULL;
}
static void pages_unmap(uint8_t *map, size_t size) { munmap(map, size); }
#endif

#define MAX_GUARDS 64
static struct {
    uint8_t *map;
    size_t size;
} guards[MAX_GUARDS];
static int guard_count;

uint8_t *guarded(size_t size)
{
    size_t page = page_size(), inner = (size + page - 1) / page * page;
    uint8_t *map = guard_count < MAX_GUARDS ? pages_map(inner + 2 * page) : NULL;
    if (!map) {
        fputs("no memory for the checks\n", stderr);
        exit(2);
    }
    guards[guard_count].map = map;
    guards[guard_count++].size = inner + 2 * page;
    return map + page + inner - size;
}

void guard_reset(void)
{
    while (guard_count > 0) {
        guard_count--;
        pages_unmap(guards[guard_count].map, guards[guard_count].size);
    }
}

/* ---- data ---- */

uint64_t check_random = 1;

void fill_bytes(uint8_t *p, size_t size, size_t width, uint32_t sort)
{
    size_t step = 1 + below(4), spike = size ? below((uint32_t)size) : 0;
    uint8_t flat = (uint8_t)below(256);
    for (size_t i = 0; i < size; i++) {
        size_t x = i % width, y = i / width;
        switch (sort % SORTS) {
        case 0: p[i] = (uint8_t)below(256); break;
        case 1: p[i] = flat; break;
        case 2: p[i] = ((x / step + y / step) & 1) ? 255 : 0; break;
        case 3: p[i] = ((x / step) & 1) ? 255 : 0; break;
        case 4: p[i] = ((y / step) & 1) ? 255 : 0; break;
        case 5: p[i] = (uint8_t)(x * step * 3 + y * 5); break;
        case 6: p[i] = i == spike ? 255 : 0; break;
        default: p[i] = below(2) ? 255 : 0; break;
        }
    }
}

/* ---- results ---- */

static const char *check_name, *tier_name;
static int cases, failures;

void same(const char *what, const void *expected, const void *found, size_t size)
{
    cases++;
    if (size == 0 || memcmp(expected, found, size) == 0) return;
    const uint8_t *e = expected, *f = found;
    size_t at = 0;
    while (e[at] == f[at]) at++;
    if (failures++ < 20)
        printf("%s, %s: %s differs from plain C at byte %zu of %zu: %d instead of %d\n", tier_name, check_name, what,
               at, size, f[at], e[at]);
}

/* With a name, that tier alone. */
int main(int argc, char **argv)
{
    /* Sets of features, from none to all; each that gives another table is a tier of its own. */
    static const struct {
        const char *name;
        uint32_t flags;
    } sets[] = {{"c", 0},
                {"sse4.2", KBI_CPU_SSE42},
                {"avx2", KBI_CPU_AVX2},
                {"avx512", KBI_CPU_AVX512},
                {"widest", UINT32_MAX}};
    static const struct {
        const char *name;
        void (*run)(const kbi_kernels *, const kbi_kernels *);
    } checks[] = {
#define CHECK_ROW(name) {#name, check_##name},
        CHECKS(CHECK_ROW)};
#define PLAIN_TABLE(module) .module = &kbi_##module##_kernels_c,
    const kbi_kernels c = {KBI_KERNEL_MODULES(PLAIN_TABLE)};
    kbi_kernels before = c, tier;
    printf("cpu: %s\n", kb_cpu_features(NULL));
    for (size_t i = 1; i < KBI_COUNT(sets); i++) {
        tier = kbi_kernels_for(kbi_cpu_flags() & kbi_cpu_closure(sets[i].flags));
        if (memcmp(&tier, &before, sizeof tier) == 0) continue;
        before = tier;
        tier_name = sets[i].name;
        if (argc > 1 && strcmp(argv[1], tier_name) != 0) continue;
        for (size_t k = 0; k < KBI_COUNT(checks); k++) {
            check_random = 1;
            check_name = checks[k].name;
            checks[k].run(&c, &tier);
            guard_reset();
        }
        printf("%s: %d cases so far\n", tier_name, cases);
    }
    printf("%d cases, %d failures\n", cases, failures);
    return failures != 0;
}
