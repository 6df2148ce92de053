/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a patch that leave what it shows the same: what a detector and a camera do differently the next time. */
#ifndef KBI_AUGMENT_H
#define KBI_AUGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "keybits/advanced.h"

/* How far each change goes. Zero switches a change off. */
typedef struct kbi_augment {
    double rotation; /* degrees, deviation of a normal draw, cut at twice that */
    double scale;    /* the same for the natural logarithm of the scale */
    double shift;    /* the same for both axes, in samples of a 32x32 patch */
    double gain;     /* the same for the logarithm of the gain */
    double offset;   /* the same, gray levels */
    double gamma;    /* the same for the logarithm of the exponent */
    double blur;     /* largest sigma in samples of a 32x32 patch, drawn evenly from 0 */
    double noise;    /* largest deviation of pixel noise in gray levels, drawn evenly from 0 */
} kbi_augment;

/* The paper (section III-B) names small random rotation, scale, illumination change, blurring and pixel noise, without
 * amounts, so these are ours; kbi_augment_default shifts the patch too, as detectors do. */
extern const kbi_augment kbi_augment_paper, kbi_augment_default;

#define KBI_AUGMENT_MAX_SIDE 1024
/* One patch of side x side (32 to KBI_AUGMENT_MAX_SIDE) into another; what lies outside repeats the border. The state
 * goes on by the same number of steps whatever the patch holds. logarithms: kbi_level_logarithms. */
void kbi_augment_patch(const kbi_augment *augment, const double logarithms[256], const uint8_t *in, int32_t side,
                       uint64_t *state, uint8_t *out);
/* n patches; patch i uses a state of its own made of seed and i, so the result is the same on any number of threads. */
void kbi_augment_patches(const kbi_augment *augment, const uint8_t *in, size_t n, int32_t side, uint64_t seed,
                        const kb_parallel *parallel, uint8_t *out);

/* The same as a kb_learn_augment of 32x32 patches; context: a kbi_augment. */
void kbi_augment_sample(void *context, const uint8_t *patches, size_t n, uint64_t seed, const kb_parallel *parallel,
                        uint8_t *out);

#endif
