/* SPDX-License-Identifier: Apache-2.0 */
/* What light, lens, sensor and codec do to the gray of an image. */
#ifndef KBI_PHOTOMETRIC_H
#define KBI_PHOTOMETRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gray v becomes 255 (v / 255)^gamma x gain + offset, cut to 0..255. */
typedef struct kbi_tone {
    double gain, offset, gamma;
} kbi_tone;
/* logarithms: ln(v / 255) of every level above 0, which take longest and are the same for all curves. */
void kbi_level_logarithms(double logarithms[256]);
void kbi_tone_table(const kbi_tone *tone, const double logarithms[256], uint8_t table[256]);

/* Gaussian blur in place; what lies outside repeats the border. sigma up to 8 px; nothing happens below 0.2. line:
 * scratch of the longer side + KBI_BLUR_MARGIN bytes. */
#define KBI_BLUR_MARGIN 64
void kbi_blur(uint8_t *pixels, int32_t width, int32_t height, double sigma, uint8_t *line);

/* Normal noise of the given deviation in gray levels, every pixel by itself. */
void kbi_noise(uint8_t *pixels, size_t count, double deviation, uint64_t *state);

/* Brightness that falls off: multiplied by 1 + x_slope x + y_slope y + bow (x^2 + y^2), x and y from -1 to 1 across the
 * image. */
typedef struct kbi_shading {
    double x_slope, y_slope, bow;
} kbi_shading;
void kbi_shade(uint8_t *pixels, int32_t width, int32_t height, const kbi_shading *shading);

/* Shadows of things that are not in the picture: gray is multiplied by 1 - depth where a random landscape, of hills
 * about `size` px wide and heights from 0 to 1, is higher than `level`, going over from light to dark within `softness`
 * of height: nearly 0 is the shadow of a wall or of leaves, 0.5 the uneven light of a lamp. */
typedef struct kbi_shadows {
    double size, level, softness, depth; /* size at least 1, softness above 0, level and depth 0 to 1 */
} kbi_shadows;
/* False when memory is out. */
bool kbi_cast_shadows(uint8_t *pixels, int32_t width, int32_t height, const kbi_shadows *shadows, uint64_t *state);

#endif
