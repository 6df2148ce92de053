/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

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
    uint32_t white = image->white ? (uint32_t)image->white : 65535u;
    for (int32_t y = 0; y < image->height; y++) {
        const uint16_t *row = (const uint16_t *)(const void *)((const uint8_t *)image->data + y * image->stride);
        uint8_t *to = copy + (size_t)y * width;
        for (size_t x = 0; x < width; x++) {
            uint32_t v = (row[x] * 255u + white / 2) / white;
            to[x] = (uint8_t)(v > 255 ? 255 : v);
        }
    }
    return KB_OK;
}
