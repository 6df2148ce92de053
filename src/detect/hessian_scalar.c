/* SPDX-License-Identifier: Apache-2.0 */
/* -Os on x86: only its test calls it there. */
/* The blur of hessian.c for cores without vectors. It gives the same results as hessian_rows.h. */
#include "detect/detect.h"

#ifdef __ARM_FEATURE_DSP
#    include <arm_acle.h>
/* sum + (a weight >> 16), by one instruction */
#    define ADD_HIGH(sum, a, weight) ((uint32_t)__smlawb((int32_t)(a), (int32_t)(weight), (int32_t)(sum)))
#else
#    define ADD_HIGH(sum, a, weight) ((sum) + ((uint32_t)(a) * (weight) >> 16))
#endif

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Adds 4 pixels of a row times a weight: pixels 0 and 2 in the halves of a word, 1 and 3 in another's. A sum of all
 * rows is at most 128 x 255. */
#define ADD_ROW(weight)                                                                                                \
    {                                                                                                                  \
        uint32_t four;                                                                                                 \
        memcpy(&four, p, 4);                                                                                           \
        even += (mask & four) * (weight);                                                                              \
        odd += (mask & four >> 8) * (weight);                                                                          \
        p += stride;                                                                                                   \
    }

static void blur_columns_scalar(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *out)
{
    const uint32_t mask = 0x00ff00ff;
    int32_t x = 0;
    for (; x + 4 <= width && is_little_endian(); x += 4) {
        const uint8_t *p = row + x - 4 * stride;
        uint32_t even = 0, odd = 0;
        ADD_ROW(KBI_HESSIAN_W4)
        ADD_ROW(KBI_HESSIAN_W3)
        ADD_ROW(KBI_HESSIAN_W2)
        ADD_ROW(KBI_HESSIAN_W1)
        ADD_ROW(KBI_HESSIAN_W0)
        ADD_ROW(KBI_HESSIAN_W1)
        ADD_ROW(KBI_HESSIAN_W2)
        ADD_ROW(KBI_HESSIAN_W3)
        ADD_ROW(KBI_HESSIAN_W4)
        out[x] = (uint16_t)even;
        out[x + 1] = (uint16_t)odd;
        out[x + 2] = (uint16_t)(even >> 16);
        out[x + 3] = (uint16_t)(odd >> 16);
    }
    for (; x < width; x++) {
        const uint8_t *p = row + x;
        out[x] = (uint16_t)(KBI_HESSIAN_W0 * p[0] + KBI_HESSIAN_W1 * (p[-stride] + p[stride]) +
                            KBI_HESSIAN_W2 * (p[-2 * stride] + p[2 * stride]) +
                            KBI_HESSIAN_W3 * (p[-3 * stride] + p[3 * stride]) +
                            KBI_HESSIAN_W4 * (p[-4 * stride] + p[4 * stride]));
    }
}

static void blur_across_scalar(const uint16_t *p, int32_t width, uint16_t *out)
{
    for (const uint16_t *end = p + width; p < end; p++) {
        uint32_t sum = ADD_HIGH(0, p[0], 512 * KBI_HESSIAN_W0);
        sum = ADD_HIGH(sum, (uint16_t)(p[-1] + p[1]), 512 * KBI_HESSIAN_W1);
        sum = ADD_HIGH(sum, (uint16_t)(p[-2] + p[2]), 512 * KBI_HESSIAN_W2);
        sum = ADD_HIGH(sum, (uint16_t)(p[-3] + p[3]), 512 * KBI_HESSIAN_W3);
        *out++ = (uint16_t)ADD_HIGH(sum, (uint16_t)(p[-4] + p[4]), 512 * KBI_HESSIAN_W4);
    }
}

void kbi_hessian_blur_scalar(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                             uint16_t *const out[2])
{
    for (int32_t i = 0; i < 2; i++, row += stride) {
        blur_columns_scalar(row - KBI_HESSIAN_BLUR, stride, width + 2 * KBI_HESSIAN_BLUR, columns);
        blur_across_scalar(columns + KBI_HESSIAN_BLUR, width, out[i]);
    }
}
