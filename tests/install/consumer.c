/* SPDX-License-Identifier: Apache-2.0 */
/* Someone else's program: includes the header, calls the library. Also compiled as C++. */
#include <keybits/keybits.h>
#include <stdio.h>
#include <string.h>

static void double_it(void *context, int32_t index) { ((int32_t *)context)[index] *= 2; }

int main(void)
{
    kb_parallel *pool = NULL;
    const kb_parallel *parallel;
    int32_t values[3] = {1, 2, 3};
    if (strcmp(kb_version(), KB_VERSION_STRING) != 0 || kb_pool_create(2, NULL, &pool) != KB_OK) return 1;
    parallel = pool;
    parallel->run(parallel->self, 3, double_it, values);
    kb_pool_free(pool);
    if (values[0] + values[1] + values[2] != 12) return 1;
    printf("keybits %s\n", kb_version());
    return 0;
}
