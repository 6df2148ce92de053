/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of the detectors: options, mask and the 8-bit image, the same for all of them. */
#include "common/features.h"
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

kb_status kbi_detect_orient(const kb_image *gray, const kb_detect_options *options, kb_workspace *workspace,
                            kb_keypoint *keypoints, size_t n, bool *oriented)
{
    kbi_detect_job job = {.image = *gray, .workspace = workspace};
    kb_status status = kbi_detect_options_read(&job.options, options, NULL);
    *oriented = false;
    if (status != KB_OK) return status;
    const kbi_detector *detector = kbi_detector_find(job.options.detector);
    if (!detector->orient) return KB_OK;
    size_t mark = kbi_workspace_mark(workspace);
    status = detector->orient(&job, detector->measure, keypoints, n);
    kbi_workspace_rewind(workspace, mark);
    *oriented = status == KB_OK;
    return status;
}

/* The mask with its margin, the 8-bit image, and the search. */
static kb_status detect(kbi_detect_job *job, const kb_image *image, kb_keypoint *keypoints, size_t *count)
{
    kb_status status = kbi_gray8(image, job->workspace, &job->image);
    if (status == KB_OK && job->options.mask && job->options.mask_margin > 0) {
        status = kbi_mask_grow(job->options.mask, job->options.mask_margin, job->workspace, &job->grown);
        job->options.mask = &job->grown;
    }
    return status == KB_OK ? find_keypoints(job, keypoints, count) : status;
}

kb_status kb_detect(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                    kb_features *features, kb_error *error)
{
    kbi_detect_job job;
    kb_features f;
    kbi_error_clear(error);
    kb_status status = kbi_features_read(&f, features, "features", 0, SIZE_MAX, error);
    if (status != KB_OK) return status;
    if (f.capacity && !f.keypoints)
        return kbi_fail_at(error, KB_E_ARGUMENT, "keypoints", -1, "features.keypoints is NULL");
    status = kbi_image_check(image);
    if (status != KB_OK) return kbi_fail_status(error, status);
    status = kbi_detect_options_read(&job.options, options, error);
    if (status != KB_OK) return status;
    if (job.options.mask && !kbi_mask_fits(job.options.mask, image))
        return kbi_fail_at(error, KB_E_ARGUMENT, "mask", -1, "the mask is not an 8-bit image of %d x %d px",
                           (int)image->width, (int)image->height);

    kb_workspace local;
    job.workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(job.workspace);
    f.n = 0;
    f.width = image->width;
    f.height = image->height;
    f.detector = job.options.detector;
    f.revision = kb_detector_revision(f.detector);
    f.upright = job.options.orientation == KB_ORIENTATION_NONE;
    if (f.capacity < (size_t)job.options.max_keypoints) job.options.max_keypoints = (int32_t)f.capacity;
    if (f.capacity > 0) status = detect(&job, image, f.keypoints, &f.n);
    if (status == KB_OK) kbi_features_write(features, &f);
    return kbi_workspace_end(job.workspace, mark, &local, status, "detect, width, height, format, threads", error);
}
