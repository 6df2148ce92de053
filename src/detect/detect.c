/* The public call of the detectors: options, mask and the 8-bit image, the same for all of them. */
#include "detect/detectors.h"
#include "image/image.h"

static kb_status run(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    const kbi_detector *detector = kbi_detector_find(job->options.detector);
    return detector->detect(job, detector->measure, found, count);
}

static kb_status find_keypoints(const kbi_detect_job *job, kb_keypoint *keypoints, size_t *count)
{
    kb_keypoint *found = NULL;
    kb_status status = run(job, &found, count);
    if (status != KB_OK) return status;
    if (*count > 0) memcpy(keypoints, found, *count * sizeof *keypoints);
    return KB_OK;
}

kb_status kbi_detect_measure(const kb_image *image, const kb_detect_options *options, const kb_parallel *parallel,
                             kb_workspace *workspace, size_t *max_keypoints)
{
    kbi_detect_job job = {.workspace = workspace};
    kb_keypoint *found;
    size_t mark = kbi_workspace_mark(workspace), count;
    kb_status status = kbi_detect_options_read(&job.options, options, NULL);
    if (status != KB_OK) return status;
    job.options.mask = NULL; /* with a margin there is memory for one */
    job.options.parallel = parallel;
    *max_keypoints = (size_t)job.options.max_keypoints;
    status = kbi_gray8(image, workspace, &job.image);
    if (status == KB_OK && job.options.mask_margin > 0)
        status = kbi_mask_grow(image, job.options.mask_margin, workspace, NULL);
    if (status == KB_OK) status = run(&job, &found, &count);
    kbi_workspace_rewind(workspace, mark);
    return status;
}

kb_status kb_detect(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                    kb_keypoint *keypoints, size_t capacity, size_t *count, kb_error *error)
{
    kbi_detect_job job;
    kbi_error_clear(error);
    if (!count || (capacity > 0 && !keypoints)) return kbi_fail_status(error, KB_E_ARGUMENT);
    kb_status status = kbi_image_check(image);
    if (status != KB_OK) return kbi_fail_status(error, status);
    status = kbi_detect_options_read(&job.options, options, error);
    if (status != KB_OK) return status;
    if (job.options.mask && !kbi_mask_fits(job.options.mask, image))
        return kbi_fail_at(error, KB_E_ARGUMENT, "mask", -1, "the mask is not an 8-bit image of %d x %d px",
                           (int)image->width, (int)image->height);
    *count = 0;
    if (capacity == 0) return KB_OK;
    if (capacity < (size_t)job.options.max_keypoints) job.options.max_keypoints = (int32_t)capacity;

    kb_workspace local;
    job.workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(job.workspace);
    kb_image grown;
    status = kbi_gray8(image, job.workspace, &job.image);
    if (status == KB_OK && job.options.mask && job.options.mask_margin > 0) {
        status = kbi_mask_grow(job.options.mask, job.options.mask_margin, job.workspace, &grown);
        job.options.mask = &grown;
    }
    if (status == KB_OK) status = find_keypoints(&job, keypoints, count);
    kbi_workspace_rewind(job.workspace, mark);
    kbi_workspace_release(&local);
    return status == KB_OK ? status : kbi_fail_status(error, status);
}
