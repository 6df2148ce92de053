/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder for the files of a test program: make_scratch and remove_scratch are cmocka's set-up and end. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch[256];

static int make_scratch(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/keybits-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/* scratch/name; valid for the next 64 calls. */
static inline const char *in_scratch(const char *name)
{
    static char paths[64][512];
    static int at;
    char *path = paths[at++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

#endif
