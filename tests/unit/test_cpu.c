/* SPDX-License-Identifier: Apache-2.0 */
/* src/simd/cpu.c and src/simd/dispatch.c: a limit keeps what a feature builds on, and the kernels follow it. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simd/kernels.h"

static void test_feature_implies_what_it_builds_on(void **state)
{
    (void)state;
    assert_int_equal(kbi_cpu_closure(0), 0);
    assert_int_equal(kbi_cpu_closure(KBI_CPU_SSE42), KBI_CPU_SSE42);
    assert_int_equal(kbi_cpu_closure(KBI_CPU_AVX2), KBI_CPU_SSE42 | KBI_CPU_AVX2);
    assert_int_equal(kbi_cpu_closure(KBI_CPU_AVX512), KBI_CPU_SSE42 | KBI_CPU_AVX2 | KBI_CPU_AVX512);
    assert_int_equal(kbi_cpu_closure(KBI_CPU_NEON), KBI_CPU_NEON);
}

static bool any_kernel_runs(const char *variant)
{
    for (int32_t i = 0; kb_kernel_at(i).name; i++)
        if (strcmp(kb_kernel_at(i).variant, variant) == 0) return true;
    return false;
}

/* The word alone must select the tier of that name, on a CPU that has the feature. */
static void test_limit_selects_tier(void **state)
{
    (void)state;
    static const char *const words[] = {"sse4.2", "avx2", "avx512", "neon"};
    const char *found = kb_cpu_features("all");
    for (size_t i = 0; i < KBI_COUNT(words); i++) {
        assert_non_null(kb_cpu_features(words[i]));
        assert_int_equal(any_kernel_runs(words[i]), strstr(found, words[i]) != NULL);
        for (size_t k = i + 1; k < KBI_COUNT(words); k++) assert_false(any_kernel_runs(words[k]));
    }
    assert_string_equal(kb_cpu_features("c"), "");
    assert_string_equal(kb_cpu_features(NULL), "");
    for (int32_t i = 0; kb_kernel_at(i).name; i++) assert_string_equal(kb_kernel_at(i).variant, "c");
    assert_string_equal(kb_cpu_features("all"), found);
}

static void test_unknown_word_changes_nothing(void **state)
{
    (void)state;
    const char *before = kb_cpu_features("all");
    assert_null(kb_cpu_features("avx2 abacus"));
    assert_null(kb_cpu_features("avx"));
    assert_ptr_equal(kb_cpu_features(NULL), before);
}

/* Every slot of every module is listed once, and every slot has a kernel. */
static void test_all_slots_are_listed(void **state)
{
    (void)state;
    int32_t count = 0;
    while (kb_kernel_at(count).name) count++;
#define COUNT_SLOT(module, slot) +1
    assert_int_equal(count, KBI_KERNEL_SLOTS(COUNT_SLOT));
    assert_null(kb_kernel_at(-1).name);
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < i; k++) assert_string_not_equal(kb_kernel_at(i).name, kb_kernel_at(k).name);

    const kbi_kernels all = kbi_kernels_for(kbi_cpu_flags());
    assert_ptr_equal(kbi_match_kernels_get(), all.match);
    assert_ptr_equal(kbi_match_kernels_get(), kbi_match_kernels_get());
#define SLOT_IS_SET(module, slot) assert_true(all.module->slot != NULL);
    KBI_KERNEL_SLOTS(SLOT_IS_SET)
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feature_implies_what_it_builds_on),
        cmocka_unit_test(test_limit_selects_tier),
        cmocka_unit_test(test_unknown_word_changes_nothing),
        cmocka_unit_test(test_all_slots_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
