/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

kb_status kbi_image_check(const kb_image *image)
{
    if (!image) return KB_E_ARGUMENT;
    static const uint8_t bytes[] = {[KB_FORMAT_GRAY8] = 1, [KB_FORMAT_GRAY16] = 2, [KB_FORMAT_RGB8] = 3,
                                    [KB_FORMAT_BGR8] = 3,  [KB_FORMAT_RGBA8] = 4,  [KB_FORMAT_BGRA8] = 4};
    if (image->format < 0 || (size_t)image->format >= KBI_COUNT(bytes)) return KB_E_IMAGE;
    ptrdiff_t pixel = bytes[image->format];
    if (!image->data || image->width < 1 || image->height < 1 || image->width > 65535 || image->height > 65535)
        return KB_E_IMAGE;
    if (image->stride < image->width * pixel) return KB_E_IMAGE;
    if (pixel == 2 && (((uintptr_t)image->data | (uintptr_t)image->stride) & 1)) return KB_E_IMAGE;
    if (image->white < 0 || image->white > 65535) return KB_E_IMAGE;
    return KB_OK;
}

static void gray_of_16(const kb_image *image, const uint8_t *from, uint8_t *to)
{
    const uint16_t *row = (const uint16_t *)(const void *)from;
    uint32_t white = image->white ? (uint32_t)image->white : 65535u;
    for (int32_t x = 0; x < image->width; x++) {
        uint32_t v = (row[x] * 255u + white / 2) / white;
        to[x] = (uint8_t)(v > 255 ? 255 : v);
    }
}

/* 0.299, 0.587 and 0.114 of red, green and blue in units of 2^-15; OpenCV's arithmetic. They add up to 2^15. */
static void gray_of_colour(const kb_image *image, const uint8_t *from, uint8_t *to)
{
    bool blue_first = image->format == KB_FORMAT_BGR8 || image->format == KB_FORMAT_BGRA8;
    int32_t step = image->format == KB_FORMAT_RGBA8 || image->format == KB_FORMAT_BGRA8 ? 4 : 3;
    const uint32_t first = blue_first ? 3735 : 9798, third = blue_first ? 9798 : 3735;
    for (int32_t x = 0; x < image->width; x++, from += step)
        to[x] = (uint8_t)((first * from[0] + 19235u * from[1] + third * from[2] + 16384u) >> 15);
}

kb_status kbi_gray8(const kb_image *image, kb_workspace *workspace, kb_image *out)
{
    kb_status status = kbi_image_check(image);
    if (status != KB_OK) return status;
    *out = *image;
    if (image->format == KB_FORMAT_GRAY8) return KB_OK;

    size_t width = (size_t)image->width;
    uint8_t *copy = kbi_workspace_array(workspace, (size_t)image->height, width);
    if (!copy) return KB_E_MEMORY;
    *out = (kb_image){copy, image->width, image->height, (ptrdiff_t)width, KB_FORMAT_GRAY8, 0};
    if (workspace->measures) return KB_OK;
    for (int32_t y = 0; y < image->height; y++) {
        const uint8_t *row = (const uint8_t *)image->data + y * image->stride;
        uint8_t *to = copy + (size_t)y * width;
        if (image->format == KB_FORMAT_GRAY16) gray_of_16(image, row, to);
        else gray_of_colour(image, row, to);
    }
    return KB_OK;
}
