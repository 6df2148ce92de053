/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a detection: their defaults, their ranges, and which detectors have them. */
#include "common/structs.h"
#include "detect/detectors.h"

#define LOW_THRESHOLD 7 /* of FAST, as in ORB-SLAM */

typedef struct option {
    const char *name;
    uint16_t offset;
    bool is_float;
    bool is_common; /* every detector has it; else those that list it in their rows */
    float standard; /* what 0 means */
    float low, high;
} option;

#define OPTION(field, is_float, is_common, ...) \
    {#field, (uint16_t)offsetof(kb_detect_options, field), is_float, is_common, __VA_ARGS__}
#define WHOLE(field, standard, low, high) OPTION(field, false, false, standard, low, high)
#define REAL(field, standard, low, high) OPTION(field, true, false, standard, low, high)
#define COMMON(field, standard, low, high) OPTION(field, false, true, standard, low, high)

static const option option_table[] = {
    COMMON(max_keypoints, 2000, 1, 1000000),
    COMMON(orientation, KB_ORIENTATION_GRADIENT, KB_ORIENTATION_GRADIENT, KB_ORIENTATION_NONE),
    COMMON(mask_margin, 0, 0, 65535),
    COMMON(low_memory, 0, 0, 1), /* one that has no way to save memory gives the same keypoints */
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

/* Some compilers make an enum as small as it can be. */
static bool is_orientation(const option *row) { return row->offset == offsetof(kb_detect_options, orientation); }

static double option_get(const option *row, const kb_detect_options *o)
{
    if (is_orientation(row)) return (double)o->orientation;
    const char *field = (const char *)o + row->offset;
    int32_t whole;
    float real;
    if (row->is_float) return memcpy(&real, field, sizeof real), (double)real;
    return memcpy(&whole, field, sizeof whole), (double)whole;
}

static void option_set(const option *row, kb_detect_options *o, float value)
{
    char *field = (char *)o + row->offset;
    int32_t whole = (int32_t)value;
    if (is_orientation(row)) o->orientation = (kb_orientation)whole;
    else if (row->is_float) memcpy(field, &value, sizeof value);
    else memcpy(field, &whole, sizeof whole);
}

static bool has_option(const kbi_detector *detector, const option *row)
{
    if (row->is_common) return true;
    for (const char *const *name = detector->options; *name; name++)
        if (strcmp(*name, row->name) == 0) return true;
    return false;
}

int32_t kb_detector_has(kb_detector detector, const char *name)
{
    const kbi_detector *row = detector ? kbi_detector_find(detector) : NULL;
    for (size_t i = 0; row && name && i < KBI_COUNT(option_table); i++)
        if (strcmp(option_table[i].name, name) == 0) return has_option(row, &option_table[i]);
    return 0;
}

/* "orb", "orb or sift": the detectors that have an option. */
static void name_owners(const option *row, char *text, size_t capacity)
{
    text[0] = 0;
    for (const kbi_detector *const *d = kbi_detectors; *d; d++) {
        if (!has_option(*d, row)) continue;
        if (text[0]) strncat(text, " or ", capacity - strlen(text) - 1);
        strncat(text, (*d)->name, capacity - strlen(text) - 1);
    }
}

static kb_status refuse_foreign(const option *row, const kbi_detector *detector, kb_error *error)
{
    char owners[96];
    name_owners(row, owners, sizeof owners);
    return kbi_fail_at(error, KB_E_ARGUMENT, row->name, -1, "%s belongs to detector %s, but the detector is %s",
                       row->name, owners, detector->name);
}

static kb_status option_complete(const option *row, const kbi_detector *detector, kb_detect_options *o,
                                 kb_error *error)
{
    double value = option_get(row, o);
    if (value != 0 && !has_option(detector, row)) return refuse_foreign(row, detector, error);
    if (value == 0) option_set(row, o, row->standard);
    value = option_get(row, o);
    if (value >= (double)row->low && value <= (double)row->high) return KB_OK; /* not when it is NaN */
    return kbi_fail_at(error, KB_E_ARGUMENT, row->name, -1, "%s is %.7g, but must be %.7g to %.7g", row->name, value,
                       (double)row->low, (double)row->high);
}

kb_status kbi_detect_options_read(kb_detect_options *o, const kb_detect_options *given, kb_error *error)
{
    kb_status status = KBI_STRUCT_READ(kb_detect_options, o, given);
    if (status != KB_OK) return kbi_fail_struct(error);
    const kbi_detector *detector = kbi_detector_find(o->detector);
    if (!detector)
        return kbi_fail_at(error, KB_E_UNKNOWN, "detector", -1, "there is no detector %d", (int)o->detector);
    o->detector = detector->id;
    if (o->selection == KB_SELECTION_DEFAULT) o->selection = KBI_SELECTION_OF_DEFAULT;
    if (!kbi_select_knows(o->selection))
        return kbi_fail_at(error, KB_E_ARGUMENT, "selection", -1, "there is no selection %d", (int)o->selection);
    if (o->fast_threshold_min == 0) o->fast_threshold_min = o->fast_threshold; /* no second search */
    for (size_t i = 0; i < KBI_COUNT(option_table); i++) {
        status = option_complete(&option_table[i], detector, o, error);
        if (status != KB_OK) return status;
    }
    if (o->fast_threshold_min <= o->fast_threshold) return KB_OK;
    return kbi_fail_at(error, KB_E_ARGUMENT, "fast_threshold_min", -1,
                       "fast_threshold_min is %d, above fast_threshold, which is %d", (int)o->fast_threshold_min,
                       (int)o->fast_threshold);
}

kb_status kb_detect_options_check(const kb_detect_options *given, kb_error *error)
{
    kb_detect_options o;
    kbi_error_clear(error);
    return kbi_detect_options_read(&o, given, error);
}
