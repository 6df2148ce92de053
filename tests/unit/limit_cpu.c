/* SPDX-License-Identifier: Apache-2.0 */
/* Part of every unit test: the environment's KEYBITS_CPU takes instruction sets away, as it does for the program, and
 * KEYBITS_TESTS, a pattern such as "*threads*", names the tests to run. */
#include <keybits/advanced.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void limit_cpu(void)
{
    const char *list = getenv("KEYBITS_CPU"), *tests = getenv("KEYBITS_TESTS");
    if (tests) cmocka_set_test_filter(tests);
    if (kb_cpu_features(list)) return;
    fprintf(stderr, "KEYBITS_CPU: \"%s\" names an unknown feature\n", list);
    exit(2);
}
