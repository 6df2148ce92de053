/* SPDX-License-Identifier: Apache-2.0 */
/* Small files in a temporary folder, for tests of the benchmarks. */
#ifndef TEST_EVAL_FILES_H
#define TEST_EVAL_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/image_io.h"
#include "io/npy.h"
#include "scratch.h"

static inline void write_text(const char *name, const char *text)
{
    assert_true(io_file_write(in_scratch(name), text, strlen(text), NULL));
}

static inline void make_folder(const char *name) { assert_true(io_folder_make(in_scratch(name), NULL)); }

/* A gray image of noise. */
static inline void write_noise(const char *name, int32_t width, int32_t height, unsigned seed)
{
    size_t n = (size_t)width * (size_t)height;
    uint8_t *pixels = malloc(n);
    for (size_t i = 0; i < n; i++) pixels[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    assert_true(io_png_write(in_scratch(name), IO_GRAY8, width, height, pixels, NULL));
    free(pixels);
}

/* Rows of one byte. */
static inline void write_rows(const char *name, const uint8_t *rows, size_t count)
{
    size_t shape[2] = {count, 1};
    assert_true(io_npy_write(in_scratch(name), IO_U8, 2, shape, rows, NULL));
}

#endif
