/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of detectors says to callers. */
#include "detect/detectors.h"

const kbi_detector *kbi_detector_find(kb_detector id)
{
    if (id == 0) return kbi_detectors[0];
    for (const kbi_detector *const *row = kbi_detectors; *row; row++)
        if ((*row)->id == id) return *row;
    return NULL;
}

kb_detector kb_detector_at(int32_t index)
{
    const kbi_detector *const *row = kbi_detectors;
    while (*row && index > 0) row++, index--;
    return *row && index == 0 ? (*row)->id : (kb_detector)0;
}

const char *kbi_detector_name(int32_t detector)
{
    const kbi_detector *row = detector ? kbi_detector_find((kb_detector)detector) : NULL;
    return row ? row->name : NULL;
}

int32_t kb_detector_revision(kb_detector detector)
{
    const kbi_detector *row = detector ? kbi_detector_find(detector) : NULL;
    return row ? row->revision : 0;
}
