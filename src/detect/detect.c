/* The public calls of the detectors: options, mask, the 8-bit image, and what belongs to a detector's name. */
#include "detect/corners.h"
#include "image/image.h"

kb_detector kb_detector_default(void) { return KB_DETECTOR_HESSIAN; }

float kb_detector_scale(kb_detector detector)
{
    switch (detector) {
    case KB_DETECTOR_ORB:
    case KB_DETECTOR_SIFT:
    case KB_DETECTOR_HESSIAN: return kb_preset_scale(kb_detector_name(detector));
    }
    return 0;
}

const char *kb_detector_name(kb_detector detector)
{
    switch (detector) {
    case KB_DETECTOR_ORB: return "orb";
    case KB_DETECTOR_SIFT: return "sift";
    case KB_DETECTOR_HESSIAN: return "hessian";
    }
    return "?";
}

bool kbi_mask_allows(const kb_image *mask, float x, float y)
{
    int32_t column = kbi_clamp_i((int32_t)(x + 0.5f), 0, mask->width - 1);
    int32_t row = kbi_clamp_i((int32_t)(y + 0.5f), 0, mask->height - 1);
    return ((const uint8_t *)mask->data)[row * mask->stride + column] != 0;
}

/* Zero becomes the default; false when the value is out of its range. */
static bool set_integer(int32_t *value, int32_t standard, int32_t low, int32_t high)
{
    if (*value == 0) *value = standard;
    return *value >= low && *value <= high;
}

static bool set_number(float *value, float standard, float low, float high)
{
    if (*value == 0) *value = standard;
    return *value >= low && *value <= high; /* not when it is NaN */
}

#define LOW_THRESHOLD 7 /* of FAST, as in ORB-SLAM */

static bool options_complete(kb_detect_options *o)
{
    if (o->orientation == KB_ORIENTATION_DEFAULT) o->orientation = KB_ORIENTATION_GRADIENT;
    if (o->selection == KB_SELECT_DEFAULT) o->selection = KBI_SELECT_USUAL;
    if (o->fast_threshold_min == 0) o->fast_threshold_min = o->fast_threshold ? o->fast_threshold : LOW_THRESHOLD;
    return set_integer(&o->max_keypoints, 2000, 1, 1000000) &&
           o->selection >= KB_SELECT_BEST && o->selection <= KB_SELECT_QUADTREE &&
           set_integer(&o->levels, KB_PYRAMID_MAX_LEVELS, 1, KB_PYRAMID_MAX_LEVELS) && set_number(&o->level_factor, 1.2f, 1.05f, 2) &&
           set_integer(&o->fast_threshold, 20, 1, 255) &&
           o->fast_threshold_min >= 1 && o->fast_threshold_min <= o->fast_threshold &&
           set_integer(&o->cell_size, 32, 8, 1024) && set_integer(&o->layers, 3, 1, 8) &&
           set_number(&o->contrast_threshold, 0.04f, FLT_MIN, 1) && set_number(&o->edge_threshold, 10, 1, 1000) &&
           set_number(&o->sigma, 1.6f, 0.5f, 4) && (o->no_upsampling == 0 || o->no_upsampling == 1) &&
           o->orientation >= KB_ORIENTATION_GRADIENT && o->orientation <= KB_ORIENTATION_NONE &&
           (o->second_angle == 0 || o->second_angle == 1) && (o->whole_pixels == 0 || o->whole_pixels == 1) &&
           (o->every_level == 0 || o->every_level == 1) &&
           (o->low_memory == 0 || o->low_memory == 1) && set_number(&o->hessian_threshold, 0.001f, 0.0001f, 0.5f);
}

static bool mask_fits(const kb_image *mask, const kb_image *image)
{
    return kbi_image_check(mask) == KB_OK && mask->format == KB_GRAY8 && mask->width == image->width &&
           mask->height == image->height;
}

static kb_status run(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    if (job->options.detector == KB_DETECTOR_SIFT) return kbi_detect_sift(job, found, count);
    return kbi_detect_corners(job, job->options.detector == KB_DETECTOR_ORB ? &kbi_measure_fast : &kbi_measure_hessian,
                              found, count);
}

static kb_status find_keypoints(const kbi_detect_job *job, kb_keypoint *keypoints, size_t *count)
{
    kb_keypoint *found = NULL;
    kb_status status = run(job, &found, count);
    if (status != KB_OK) return status;
    if (*count > 0) memcpy(keypoints, found, *count * sizeof *keypoints);
    return KB_OK;
}

/* The options with every field set, or what is wrong with them. */
kb_status kbi_detect_options_read(kb_detect_options *o, const kb_detect_options *given)
{
    kb_status status = KBI_STRUCT_READ(kb_detect_options, o, given);
    if (status != KB_OK) return status;
    if (o->detector == 0) o->detector = kb_detector_default();
    bool known = o->detector == KB_DETECTOR_ORB || o->detector == KB_DETECTOR_SIFT ||
                 o->detector == KB_DETECTOR_HESSIAN;
    if (!known) return KB_E_UNKNOWN;
    return options_complete(o) ? KB_OK : KB_E_ARGUMENT;
}

kb_status kbi_detect_measure(const kb_image *image, const kb_detect_options *options, const kb_parallel *parallel,
                             kb_workspace *workspace, size_t *max_keypoints)
{
    kbi_detect_job job = {.workspace = workspace};
    kb_keypoint *found;
    size_t mark = kbi_workspace_mark(workspace), count;
    kb_status status = kbi_detect_options_read(&job.options, options);
    if (status != KB_OK) return status;
    job.options.mask = NULL;
    job.options.parallel = parallel;
    *max_keypoints = (size_t)job.options.max_keypoints;
    status = kbi_gray8(image, workspace, &job.image);
    if (status == KB_OK)
        status = run(&job, &found, &count);
    kbi_workspace_rewind(workspace, mark);
    return status;
}

kb_status kb_detect(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                    kb_keypoint *keypoints, size_t capacity, size_t *count)
{
    kbi_detect_job job;
    if (!count || (capacity > 0 && !keypoints)) return KB_E_ARGUMENT;
    kb_status status = kbi_image_check(image);
    if (status == KB_OK) status = kbi_detect_options_read(&job.options, options);
    if (status != KB_OK) return status;
    if (job.options.mask && !mask_fits(job.options.mask, image)) return KB_E_ARGUMENT;
    *count = 0;
    if (capacity == 0) return KB_OK;
    if (capacity < (size_t)job.options.max_keypoints) job.options.max_keypoints = (int32_t)capacity;

    kb_workspace local;
    job.workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(job.workspace);
    status = kbi_gray8(image, job.workspace, &job.image);
    if (status == KB_OK) status = find_keypoints(&job, keypoints, count);
    kbi_workspace_rewind(job.workspace, mark);
    kbi_workspace_release(&local);
    return status;
}
