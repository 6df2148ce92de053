/* SPDX-License-Identifier: Apache-2.0 */
/* What targets need, whoever drives them. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static int descriptor = -1;

static void remove_file(void) { unlink(path); }

const char *fuzz_file(const uint8_t *data, size_t size)
{
    if (descriptor < 0) {
        strcpy(path, "/dev/shm/keybits-fuzz-XXXXXX"); /* in memory: a file a round wears a disc */
        descriptor = mkstemp(path);
        if (descriptor < 0) descriptor = mkstemp(strcpy(path, "/tmp/keybits-fuzz-XXXXXX"));
        fuzz_expect(descriptor >= 0);
        atexit(remove_file);
    }
    fuzz_expect(ftruncate(descriptor, 0) == 0 && lseek(descriptor, 0, SEEK_SET) == 0);
    fuzz_expect(write(descriptor, data, size) == (ssize_t)size);
    return path;
}

void fuzz_broken(const char *promise, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, promise);
    if (descriptor >= 0) remove_file();
    abort();
}
