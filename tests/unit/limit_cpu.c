/* SPDX-License-Identifier: Apache-2.0 */
/* Part of every unit test: the environment's KEYBITS_CPU takes instruction sets away, as it does for the program. */
#include <keybits/advanced.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void limit_cpu(void)
{
    const char *list = getenv("KEYBITS_CPU");
    if (kb_cpu_limit(list) == KB_OK) return;
    fprintf(stderr, "KEYBITS_CPU: \"%s\" names an unknown feature\n", list);
    exit(2);
}
