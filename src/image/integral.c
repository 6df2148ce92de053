/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

kb_status kbi_integral_build(kbi_integral *integral, const kb_image *gray, kb_workspace *workspace)
{
    size_t stride = (size_t)gray->width + 1, rows = (size_t)gray->height + 1;
    uint32_t *sums = kbi_workspace_array(workspace, rows, stride * sizeof *sums);
    if (!sums) return KB_E_MEMORY;
    if (workspace->measures) return KB_OK;
    memset(sums, 0, stride * sizeof *sums);
    for (int32_t y = 0; y < gray->height; y++) {
        const uint8_t *row = (const uint8_t *)gray->data + y * gray->stride;
        const uint32_t *above = sums + (size_t)y * stride;
        uint32_t *to = sums + ((size_t)y + 1) * stride, run = 0;
        to[0] = 0;
        for (int32_t x = 0; x < gray->width; x++) {
            run += row[x];
            to[x + 1] = above[x + 1] + run;
        }
    }
    *integral = (kbi_integral){sums, gray->width, gray->height, (ptrdiff_t)stride};
    return KB_OK;
}
