/* Presets: from a detector's keypoint size to the width of the described region. */
#include <math.h>

#include "model/model.h"

static const kb_preset presets[] = {{"orb", 1.0f},   {"hessian", 1.0f}, {"fast", 5.0f},
                                    {"agast", 5.0f}, {"brisk", 5.0f},   {"akaze", 5.0f},
                                    {"kaze", 6.25f}, {"surf", 6.25f},   {"sift", 6.75f}};

kb_preset kb_preset_at(int32_t index)
{
    return index >= 0 && index < (int32_t)KBI_COUNT(presets) ? presets[index] : (kb_preset){NULL, 0};
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}

float kb_preset_scale(const char *name)
{
    for (size_t i = 0; name && i < KBI_COUNT(presets); i++)
        if (same_word(name, presets[i].name)) return presets[i].scale;
    return 0;
}

float kb_model_scale(const kb_model *model, const char *preset)
{
    if (!model) return 0;
    float scale = kb_preset_scale(preset);
    if (scale == 0 || model->spec.sift_support == 0 || !same_word(preset, "sift")) return scale;
    return scale * (model->spec.sift_support / model->spec.support);
}

float kb_patch_width(const kb_model *model, const kb_keypoint *keypoint, float scale)
{
    if (!model || !keypoint) return NAN;
    return scale * keypoint->size * model->spec.support;
}
