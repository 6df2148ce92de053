/* SPDX-License-Identifier: Apache-2.0 */
/* The width of the described region, by the preset of a keypoint's detector and by the model. */
#include <math.h>

#include "model/model.h"

float kb_model_scale(const kb_model *model, const char *preset)
{
    if (!model) return 0;
    float scale = kb_preset_scale(preset);
    if (scale == 0 || model->spec.sift_support == 0 || !kbi_same_word(preset, "sift")) return scale;
    return scale * (model->spec.sift_support / model->spec.support);
}

float kb_patch_width(const kb_model *model, const kb_keypoint *keypoint, float scale)
{
    if (!model || !keypoint) return NAN;
    return scale * keypoint->size * model->spec.support;
}
