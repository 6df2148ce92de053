/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
/* Presets: from the size of a keypoint, which every detector defines in its own way, to the width of the region that
 * describes it. They stand below detectors and descriptors, so that a program which describes the keypoints of another
 * library links no detector. */
#include "common/common.h"

/* The detectors of src/detect and of other libraries, by their names. Two factors are not in the literature of their
 * descriptors: the size of GFTT is its blockSize, 3 px unless told, which becomes a region of 30 px, ORB's; the size of
 * MSER is the diameter of its ellipse, and its measurement region is 3 times as wide (Mikolajczyk et al. 2005). */
static const struct preset_entry {
    const char *name;
    float scale;
    kb_detector detector; /* 0: of another library */
} presets[] = {{"orb", 1.0f, KB_DETECTOR_ORB},
               {"hessian", 1.0f, KB_DETECTOR_HESSIAN},
               {"fast", 5.0f, 0},
               {"agast", 5.0f, 0},
               {"brisk", 5.0f, 0},
               {"akaze", 5.0f, 0},
               {"kaze", 6.25f, 0},
               {"surf", 6.25f, 0},
               {"sift", 6.75f, KB_DETECTOR_SIFT},
               {"gftt", 10.0f, 0},
               {"mser", 3.0f, 0}};

const char *kbi_preset_name(int32_t index)
{
    return index >= 0 && index < (int32_t)KBI_COUNT(presets) ? presets[index].name : NULL;
}

const char *kbi_preset_of(kb_detector detector)
{
    for (size_t i = 0; detector && i < KBI_COUNT(presets); i++)
        if (presets[i].detector == detector) return presets[i].name;
    return NULL;
}

bool kbi_same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}

float kbi_preset_scale(const char *name)
{
    for (size_t i = 0; name && i < KBI_COUNT(presets); i++)
        if (kbi_same_word(name, presets[i].name)) return presets[i].scale;
    return 0;
}
