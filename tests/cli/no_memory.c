/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program (LD_PRELOAD), it makes one allocation fail: number KEYBITS_FAIL_AT, counted from 1, and the
 * next ones too when KEYBITS_FAIL_ON is set. The count of all of them goes to the file KEYBITS_FAIL_COUNT. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes); /* glibc's own */
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long calls;
static long fail_at, fail_last;

__attribute__((constructor)) static void read_settings(void)
{
    const char *at = getenv("KEYBITS_FAIL_AT");
    if (at) fail_at = strtol(at, NULL, 10);
    fail_last = getenv("KEYBITS_FAIL_ON") ? __LONG_MAX__ : fail_at;
    calls = 0;
}

__attribute__((destructor)) static void write_count(void)
{
    const char *name = getenv("KEYBITS_FAIL_COUNT");
    long count = calls;
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", count);
    fclose(file);
}

static int fails(void)
{
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (fail_at == 0 || number < fail_at || number > fail_last) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t bytes) { return fails() ? NULL : __libc_realloc(block, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return fails() ? NULL : __libc_memalign(alignment, bytes); }
int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block = fails() ? NULL : __libc_memalign(alignment, bytes);
    if (!block) return ENOMEM;
    *out = block;
    return 0;
}
