/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Where keypoints are wanted: the caller's mask, grown by a margin once, before any detector sees it. */
#include "detect/detect.h"
#include "image/image.h"

bool kbi_mask_fits(const kb_image *mask, const kb_image *image)
{
    return kbi_image_check(mask) == KB_OK && mask->format == KB_FORMAT_GRAY8 && mask->width == image->width &&
           mask->height == image->height;
}

bool kbi_mask_allows(const kb_image *mask, float x, float y)
{
    int32_t column = kbi_clamp_i((int32_t)(x + 0.5f), 0, mask->width - 1);
    int32_t row = kbi_clamp_i((int32_t)(y + 0.5f), 0, mask->height - 1);
    return ((const uint8_t *)mask->data)[row * mask->stride + column] != 0;
}

/* Two passes along rows and two along columns; each counts the pixels since the last hidden one. */
enum { HIDDEN, ALLOWED, NEAR_ABOVE }; /* NEAR_ABOVE hides nothing below it */

/* out[i] is HIDDEN within the margin of a pixel of the row that is 0. */
static void grow_along_row(const uint8_t *row, int32_t width, int32_t margin, uint8_t *out)
{
    int32_t since = margin;
    for (int32_t i = 0; i < width; i++) {
        since = row[i] == 0 ? -1 : since < margin ? since + 1 : margin;
        out[i] = since < margin ? HIDDEN : ALLOWED;
    }
    since = margin;
    for (int32_t i = width - 1; i >= 0; i--) {
        since = row[i] == 0 ? -1 : since < margin ? since + 1 : margin;
        if (since < margin) out[i] = HIDDEN;
    }
}

static void grow_down(uint8_t *row, int32_t width, int32_t margin, int32_t *since)
{
    for (int32_t i = 0; i < width; i++) {
        since[i] = row[i] == HIDDEN ? -1 : since[i] < margin ? since[i] + 1 : margin;
        if (row[i] != HIDDEN && since[i] < margin) row[i] = NEAR_ABOVE;
    }
}

static void grow_up(uint8_t *row, int32_t width, int32_t margin, int32_t *since)
{
    for (int32_t i = 0; i < width; i++) {
        since[i] = row[i] == HIDDEN ? -1 : since[i] < margin ? since[i] + 1 : margin;
        row[i] = row[i] == ALLOWED && since[i] >= margin ? ALLOWED : HIDDEN;
    }
}

kb_status kbi_mask_grow(const kb_image *mask, int32_t margin, kb_workspace *workspace, kb_image *grown)
{
    int32_t width = mask->width, height = mask->height;
    uint8_t *pixels = kbi_workspace_get(workspace, (size_t)width * (size_t)height);
    int32_t *since = kbi_workspace_get(workspace, (size_t)width * sizeof *since);
    if (!pixels || !since) return KB_E_MEMORY;
    if (workspace->measures) return KB_OK;
    *grown = (kb_image){pixels, width, height, width, KB_FORMAT_GRAY8, 0};
    for (int32_t i = 0; i < width; i++) since[i] = margin;
    for (int32_t y = 0; y < height; y++) {
        uint8_t *row = pixels + (ptrdiff_t)y * width;
        grow_along_row((const uint8_t *)mask->data + y * mask->stride, width, margin, row);
        grow_down(row, width, margin, since);
    }
    for (int32_t i = 0; i < width; i++) since[i] = margin;
    for (int32_t y = height - 1; y >= 0; y--) grow_up(pixels + (ptrdiff_t)y * width, width, margin, since);
    return KB_OK;
}
