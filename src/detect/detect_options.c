/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
/* The options of a detection: their defaults, their ranges, and which detectors have them. */
#include "common/options.h"
#include "detect/detectors.h"

#define LOW_THRESHOLD 7 /* of FAST, as in ORB-SLAM */

/* Options of every detector; the others stand in the rows of the detectors that have them. */
static const char *const common_options[] = {"max_keypoints", "orientation", "mask_margin", "low_memory", NULL};

#define WHOLE(field, ...) KBI_OPTION(kb_detect_options, field, 'i', __VA_ARGS__)
#define REAL(field, ...) KBI_OPTION(kb_detect_options, field, 'f', __VA_ARGS__)

static const kbi_option option_table[] = {
    WHOLE(max_keypoints, 2000, 1, 1000000),
    WHOLE(orientation, KB_ORIENTATION_GRADIENT, KB_ORIENTATION_GRADIENT, KB_ORIENTATION_NONE),
    WHOLE(mask_margin, 0, 0, 65535),
    WHOLE(low_memory, 0, 0, 1), /* a detector that has no way to save memory gives the same keypoints */
    WHOLE(levels, KB_PYRAMID_MAX_LEVELS, 1, KB_PYRAMID_MAX_LEVELS),
    WHOLE(every_level, 0, 0, 1),
    REAL(level_factor, 1.2f, 1.05f, 2),
    WHOLE(second_angle, 0, 0, 1),
    WHOLE(whole_pixels, 0, 0, 1),
    WHOLE(fast_threshold, 20, 1, 255),
    WHOLE(fast_threshold_min, LOW_THRESHOLD, 1, 255),
    WHOLE(cell_size, 32, 8, 1024),
    WHOLE(layers, 3, 1, 8),
    REAL(contrast_threshold, 0.04f, 1e-6f, 1),
    REAL(edge_threshold, 10, 1, 1000),
    REAL(sigma, 1.6f, 0.5f, 4),
    WHOLE(no_upsampling, 0, 0, 1),
    REAL(hessian_threshold, 0.001f, 0.0001f, 0.5f),
};

static bool lists_option(const char *const *names, const kbi_option *row)
{
    for (; *names; names++)
        if (strcmp(*names, row->name) == 0) return true;
    return false;
}

static bool has_option(const kbi_detector *detector, const kbi_option *row)
{
    return lists_option(common_options, row) || lists_option(detector->options, row);
}

/* "orb", "orb or sift": the detectors that have an option. */
static void name_owners(const kbi_option *row, char *text, size_t capacity)
{
    text[0] = 0;
    for (const kbi_detector *const *d = kbi_detectors; *d; d++) {
        if (!has_option(*d, row)) continue;
        if (text[0]) strncat(text, " or ", capacity - strlen(text) - 1);
        strncat(text, (*d)->name, capacity - strlen(text) - 1);
    }
}

static kb_status refuse_foreign(const kbi_option *row, const kbi_detector *detector, kb_error *error)
{
    char owners[96];
    name_owners(row, owners, sizeof owners);
    return kbi_fail_at(error, KB_E_ARGUMENT, row->name, -1, "%s belongs to detector %s, but the detector is %s",
                       row->name, owners, detector->name);
}

kb_status kbi_detect_options_copy(kb_detect_options *o, const kb_detect_options *given, kb_error *error)
{
    kbi_error_clear(error);
    return KBI_OPTIONS_READ(kb_detect_options, option_table, o, given, error);
}

kb_status kbi_detect_options_settle(kb_detect_options *o, const kb_detect_options *given, kb_error *error)
{
    const kbi_detector *detector = kbi_detector_find(o->detector);
    if (!detector)
        return kbi_fail_at(error, KB_E_UNKNOWN, "detector", -1, "there is no detector %d", (int)o->detector);
    o->detector = detector->id;
    for (size_t i = 0; given && i < KBI_COUNT(option_table); i++)
        if (kbi_option_get(&option_table[i], given) != 0 && !has_option(detector, &option_table[i]))
            return refuse_foreign(&option_table[i], detector, error);
    if (o->selection == KB_SELECTION_DEFAULT) o->selection = KBI_SELECTION_OF_DEFAULT;
    if (!kbi_select_knows(o->selection))
        return kbi_fail_at(error, KB_E_ARGUMENT, "selection", -1, "there is no selection %d", (int)o->selection);
    if (given && given->fast_threshold && !given->fast_threshold_min)
        o->fast_threshold_min = o->fast_threshold; /* no second search */
    if (o->fast_threshold_min <= o->fast_threshold) return KB_OK;
    return kbi_fail_at(error, KB_E_ARGUMENT, "fast_threshold_min", -1,
                       "fast_threshold_min is %d, above fast_threshold, which is %d", (int)o->fast_threshold_min,
                       (int)o->fast_threshold);
}

kb_status kbi_detect_options_read(kb_detect_options *o, const kb_detect_options *given, kb_error *error)
{
    kb_status status = kbi_detect_options_copy(o, given, error);
    return status == KB_OK ? kbi_detect_options_settle(o, given, error) : status;
}
