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

const char *kbi_detector_name(int32_t detector)
{
    const kbi_detector *row = detector ? kbi_detector_find((kb_detector)detector) : NULL;
    return row ? row->name : NULL;
}

kb_detector_info kb_detector_get_info(kb_detector detector)
{
    const kbi_detector *row = kbi_detector_find(detector);
    return row ? (kb_detector_info){row->id, row->revision, row->options, {NULL, NULL}} : (kb_detector_info){0};
}
