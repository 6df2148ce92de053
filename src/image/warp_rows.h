/* SPDX-License-Identifier: Apache-2.0 */
/* A row of an image that a homography warps. Coordinates are exact at the ends of blocks and linear in between, which
 * is off by a few hundredths of a pixel. Everything but the loads of pixels is loops without branches, which compilers
 * turn into vector code: the plain kernel and the ones with wider vectors are compiled from it. */
#ifndef KBI_WARP_ROWS_H
#define KBI_WARP_ROWS_H

#include "common/rows.h"
#include "image/kernels.h"

#define WARP_BLOCK    8  /* pixels of a row between two divisions */
#define WARP_BLOCKS   16 /* of a piece of a row, which is done at once */
#define WARP_PIECE    (WARP_BLOCK * WARP_BLOCKS)
#define WARP_FRACTION 14 /* bits of coordinates between divisions */

/* A coordinate with its fraction; anything for one that is not finite. */
KBI_ROWS_HELPER int32_t warp_fixed(double x)
{
    const double max = 1e5;
    return (int32_t)((x > -max ? x < max ? x : max : -max) * (1 << WARP_FRACTION));
}

/* Held inside the image. */
KBI_ROWS_HELPER int32_t warp_held(int32_t x, int32_t size)
{
    return kbi_clamp_i(x, 0, ((size - 1) << WARP_FRACTION) - 1);
}

/* The coordinates at the ends of the blocks of a piece that begins at x, as by kb_homography_apply. */
KBI_ROWS_HELPER void warp_ends(const double h[9], int32_t x, int32_t y, int32_t u[WARP_BLOCKS + 1],
                               int32_t v[WARP_BLOCKS + 1])
{
    for (int32_t k = 0; k <= WARP_BLOCKS; k++) {
        double at = x + k * WARP_BLOCK, w = h[6] * at + h[7] * y + h[8];
        u[k] = warp_fixed((h[0] * at + h[1] * y + h[2]) / w);
        v[k] = warp_fixed((h[3] * at + h[4] * y + h[5]) / w);
    }
}

/* Ends of either side of the horizon may be further apart than numbers reach: what lies between is anything. */
KBI_ROWS_HELPER void warp_between(const int32_t ends[WARP_BLOCKS + 1], int32_t size, int32_t all[WARP_PIECE])
{
    for (int32_t k = 0; k < WARP_BLOCKS; k++) {
        const uint32_t first = (uint32_t)ends[k];
        const uint32_t step = (uint32_t)((int32_t)((uint32_t)ends[k + 1] - first) / WARP_BLOCK);
        for (uint32_t i = 0; i < WARP_BLOCK; i++)
            all[(uint32_t)k * WARP_BLOCK + i] = warp_held((int32_t)(first + i * step), size);
    }
}

KBI_ROWS_HELPER uint16_t warp_two(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

/* Two columns at once, in the halves of a word, which hold 255 x 256. */
KBI_ROWS_HELPER uint8_t warp_blend(uint32_t upper, uint32_t lower, int32_t u, int32_t v)
{
    uint32_t x = (uint32_t)u >> (WARP_FRACTION - 8) & 255, y = (uint32_t)v >> (WARP_FRACTION - 8) & 255;
    uint32_t columns = ((upper | upper << 8) & 0xff00ff) * (256 - y) + ((lower | lower << 8) & 0xff00ff) * y;
    return (uint8_t)(((columns & 65535) * (256 - x) + (columns >> 16) * x + 32768) >> 16);
}

KBI_ROWS void KBI_ROWS_NAME(warp_row)(const kbi_warp *w, int32_t y, uint8_t *out)
{
    const uint8_t *from = w->from;
    const ptrdiff_t stride = w->stride;
    for (int32_t x = 0; x < w->to_width; x += WARP_PIECE) {
        int32_t ends_u[WARP_BLOCKS + 1], ends_v[WARP_BLOCKS + 1], u[WARP_PIECE], v[WARP_PIECE];
        uint16_t upper[WARP_PIECE], lower[WARP_PIECE];
        uint8_t piece[WARP_PIECE];
        warp_ends(w->h, x, y, ends_u, ends_v);
        warp_between(ends_u, w->width, u);
        warp_between(ends_v, w->height, v);
        for (int32_t k = 0; k < WARP_PIECE; k++) {
            const uint8_t *p = from + (v[k] >> WARP_FRACTION) * stride + (u[k] >> WARP_FRACTION);
            upper[k] = warp_two(p);
            lower[k] = warp_two(p + stride);
        }
        for (int32_t k = 0; k < WARP_PIECE; k++) piece[k] = warp_blend(upper[k], lower[k], u[k], v[k]);
        memcpy(out + x, piece, (size_t)kbi_min_i(WARP_PIECE, w->to_width - x));
    }
}

#endif
