/* SPDX-License-Identifier: Apache-2.0 */
/* Gray images through libjpeg and back, for what its losses do to descriptors. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "io/image_io.h"

typedef struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first, so that a pointer to it is a pointer to all */
    jmp_buf back;
} jpeg_failure;

static void on_error(j_common_ptr info) { longjmp(((jpeg_failure *)(void *)info->err)->back, 1); }

static bool encode(const uint8_t *pixels, int32_t width, int32_t height, int quality, unsigned char **data,
                   unsigned long *size)
{
    struct jpeg_compress_struct info;
    jpeg_failure failure;
    info.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_error;
    if (setjmp(failure.back)) {
        jpeg_destroy_compress(&info);
        return false;
    }
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, data, size);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = 1;
    info.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)info.next_scanline * (size_t)width);
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    return true;
}

bool io_jpeg_round_trip(uint8_t *pixels, int32_t width, int32_t height, int quality, io_error *error)
{
    unsigned char *data = NULL;
    unsigned long size = 0;
    io_image image;
    bool ok = encode(pixels, width, height, quality, &data, &size) || io_fail(error, "libjpeg cannot write an image");
    ok = ok && io_image_decode("JPEG in memory", data, size, NULL, &image, error);
    if (ok) {
        memcpy(pixels, image.pixels, (size_t)width * (size_t)height);
        io_image_free(&image);
    }
    free(data);
    return ok;
}
