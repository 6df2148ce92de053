/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Names of values: each module knows its own. */
#include "detect/detect.h"
#include "fit/fit.h"
#include "model/model.h"
#include "pair/pair.h"

/* "?" is no name. */
static const char *known(const char *name) { return name[0] == '?' ? NULL : name; }

const char *kb_name(kb_names names, int32_t value)
{
    switch (names) {
    case KB_NAMES_DETECTOR: return kbi_detector_name(value);
    case KB_NAMES_SELECTION: return kbi_selection_name(value);
    case KB_NAMES_ORIENTATION: return kbi_orientation_name(value);
    case KB_NAMES_LOOK: return kbi_look_name(value);
    case KB_NAMES_GEOMETRY: return kbi_geometry_name(value);
    case KB_NAMES_FIT_RESULT: return kbi_fit_result_name(value);
    case KB_NAMES_KIND: return known(kbi_kind_name((kb_kind)value));
    case KB_NAMES_SAMPLER: return known(kbi_sampler_name((kb_sampler)value));
    case KB_NAMES_MODEL: return kbi_model_builtin_name(value);
    case KB_NAMES_PRESET: return kbi_preset_name(value);
    default: return NULL;
    }
}
