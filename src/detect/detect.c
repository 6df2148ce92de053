/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of the detectors: options, mask and the 8-bit image, the same for all of them. */
#include "common/features.h"
#include "detect/detectors.h"
#include "detect/kernels.h"
#include "image/image.h"

/* What the options settle. */
static kb_status detect_settle(kbi_detect_job *job, const kb_detect_options *given, kb_error *error)
{
    kb_status status = kbi_detect_options_settle(&job->options, given, error);
    job->detector = kbi_detector_find(job->options.detector);
    return status;
}

static kb_status detect_start(kbi_detect_job *job, const kb_detect_options *given, const kb_parallel *parallel,
                              kb_workspace *workspace)
{
    kb_status status = kbi_detect_options_copy(&job->options, given, NULL);
    job->workspace = workspace;
    job->threads = kbi_parallel_threads(parallel);
    job->kernels = kbi_detect_kernels_get();
    return status == KB_OK ? detect_settle(job, given, NULL) : status;
}

kb_status kbi_detect_measure(const kb_image *image, const kb_detect_options *options, const kb_parallel *parallel,
                             kb_workspace *workspace, size_t *max_keypoints)
{
    kbi_detect_job job;
    kb_keypoint *found;
    size_t mark = kbi_workspace_mark(workspace), count;
    kb_status status = detect_start(&job, options, parallel, workspace);
    if (status != KB_OK) return status;
    job.options.mask = NULL; /* with a margin there is memory for one */
    job.options.parallel = parallel;
    *max_keypoints = (size_t)job.options.max_keypoints;
    status = kbi_gray8(image, workspace, &job.image);
    if (status == KB_OK && job.options.mask_margin > 0)
        status = kbi_mask_grow(image, job.options.mask_margin, workspace, NULL);
    if (status == KB_OK) status = job.detector->detect(&job, &found, &count);
    kbi_workspace_rewind(workspace, mark);
    return status;
}

kb_status kbi_detect_orient(const kb_image *gray, const kb_detect_options *options, kb_workspace *workspace,
                            kb_keypoint *keypoints, size_t n, bool *oriented)
{
    kbi_detect_job job = {.image = *gray};
    kb_status status = detect_start(&job, options, options ? options->parallel : NULL, workspace);
    *oriented = false;
    if (status != KB_OK || !job.detector->orient) return status;
    size_t mark = kbi_workspace_mark(workspace);
    status = job.detector->orient(&job, keypoints, n);
    kbi_workspace_rewind(workspace, mark);
    *oriented = status == KB_OK;
    return status;
}

/* The mask with its margin, and the search. */
static kb_status find_keypoints(kbi_detect_job *job, kb_features *f, kb_error *error)
{
    kb_detect_options *o = &job->options;
    kb_keypoint *found = NULL;
    kb_status status = KB_OK;
    if (o->mask && !kbi_mask_fits(o->mask, &job->image))
        return kbi_fail_at(error, KB_E_ARGUMENT, "mask", -1, "the mask is not an 8-bit image of %d x %d px",
                           (int)job->image.width, (int)job->image.height);
    if (f->capacity == 0) return KB_OK;
    if (o->mask && o->mask_margin > 0) {
        status = kbi_mask_grow(o->mask, o->mask_margin, job->workspace, &job->grown);
        o->mask = &job->grown;
    }
    if (f->capacity < (size_t)o->max_keypoints) o->max_keypoints = (int32_t)f->capacity;
    if (status == KB_OK) status = job->detector->detect(job, &found, &f->n);
    if (status == KB_OK && f->n > 0) memcpy(f->keypoints, found, f->n * sizeof *found);
    return status;
}

kb_status kb_detect(const kb_image *image, const kb_detect_options *options, kb_workspace *workspace,
                    kb_features *features, kb_error *error)
{
    kbi_detect_job job;
    kb_features f;
    kb_workspace local;
    kb_status status = kbi_detect_options_copy(&job.options, options, error);
    if (status == KB_OK && !image && !features) return kbi_detect_options_settle(&job.options, options, error);
    if (status == KB_OK) status = kbi_features_read(&f, features, "features", 0, SIZE_MAX, error);
    if (status != KB_OK) return status;
    if (f.capacity && !f.keypoints)
        return kbi_fail_at(error, KB_E_ARGUMENT, "keypoints", -1, "features.keypoints is NULL");
    job.workspace = kbi_workspace_or(workspace, &local);
    job.threads = kbi_parallel_threads(job.options.parallel);
    job.kernels = kbi_detect_kernels_get();
    status = kbi_gray8(image, job.workspace, &job.image);
    if (status == KB_OK) status = detect_settle(&job, options, error);
    if (status == KB_OK) {
        f.n = 0;
        f.width = image->width;
        f.height = image->height;
        f.detector = job.detector->id;
        f.revision = job.detector->revision;
        f.upright = job.options.orientation == KB_ORIENTATION_NONE;
        status = find_keypoints(&job, &f, error);
    }
    if (status == KB_OK) kbi_features_write(features, &f);
    if (kbi_workspace_lacks(&local, status))
        kbi_detect_measure(image, options, job.options.parallel, job.workspace, &f.n);
    return kbi_workspace_end(&local, status, "detect, width, height, format, threads", error);
}
