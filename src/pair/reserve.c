/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* How much workspace calls take: each module lays out its buffers in a workspace that only counts, by the code that
 * lays them out for work, so the number is exact. This module stands above all others. */
#include "common/options.h"
#include "describe/describe.h"
#include "detect/detect.h"
#include "fit/fit.h"
#include "match/match.h"

/* Never called: measuring runs no task. */
static void run_nothing(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    (void)self;
    (void)count;
    (void)task;
    (void)context;
}

static const kbi_option limits_options[] = {
    KBI_OPTION(kb_workspace_limits, threads, 'i', 1, 1, 256),
    KBI_OPTION(kb_workspace_limits, width, 'i', 0, 0, 65535),
    KBI_OPTION(kb_workspace_limits, height, 'i', 0, 0, 65535),
    KBI_OPTION(kb_workspace_limits, format, 'i', 0, 0, KB_FORMAT_BGRA8),
    KBI_OPTION(kb_workspace_limits, refine, 'i', 0, 0, 1),
    KBI_OPTION(kb_workspace_limits, track, 'i', 0, 0, 1),
    KBI_OPTION(kb_workspace_limits, guided, 'i', 0, 0, 1),
    KBI_OPTION(kb_workspace_limits, stereo, 'i', 0, 0, 1),
};

static kb_status limits_read(kb_workspace_limits *l, const kb_workspace_limits *given, kb_error *error)
{
    if (!given) return kbi_fail(error, KB_E_ARGUMENT, "limits: a pointer is NULL");
    if (KBI_STRUCT_READ(kb_workspace_limits, l, given) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_options_complete(limits_options, KBI_COUNT(limits_options), l, error);
    if (status != KB_OK) return status;
    bool images = l->width > 0 && l->height > 0, wanted = l->detect || l->model || l->refine || l->track;
    if (!images && (wanted || l->width > 0 || l->height > 0))
        return kbi_fail_at(error, KB_E_ARGUMENT, "width", -1, "images of %d x %d", (int)l->width, (int)l->height);
    if (l->row_bytes == 0 && l->model)
        l->row_bytes = l->model->row_floats ? KB_SIFT_VALUES * sizeof(float) : (size_t)l->model->row_bytes;
    if (l->row_bytes == 0) l->row_bytes = KB_MAX_BITS / 8;
    return KB_OK;
}

/* Some address; nothing is read. */
static kb_image image_of(const kb_workspace_limits *l, void *address)
{
    return (kb_image){address, l->width, l->height, 4 * (ptrdiff_t)l->width, l->format, 0};
}

static kb_status measure_matching(const kb_workspace_limits *l, const kb_parallel *parallel, kb_workspace *workspace)
{
    const kb_image image = image_of(l, workspace);
    kb_status status = kbi_match_measure(l->rows_a, l->rows_b, l->row_bytes, l->threads, workspace);
    if (status == KB_OK) status = kbi_filter_measure(l->rows_a, workspace);
    if (status == KB_OK && l->guided) status = kbi_guided_measure(l->rows_a, l->rows_b, l->row_bytes, workspace);
    if (status == KB_OK && l->stereo)
        status = kbi_stereo_measure(l->rows_a, l->rows_b, l->row_bytes, l->width ? &image : NULL, parallel, workspace);
    return status;
}

static kb_status measure_images(const kb_workspace_limits *l, const kb_parallel *parallel, kb_workspace *workspace)
{
    const kb_image image = image_of(l, workspace);
    size_t n = l->keypoints, max = 0;
    kb_status status = KB_OK;
    if (l->detect) status = kbi_detect_measure(&image, l->detect, parallel, workspace, &max);
    if (status == KB_OK && (l->refine || l->track)) status = kbi_refine_measure(&image, workspace); /* two pyramids */
    if (n == 0) n = max;
    /* kb_keypoint_deviations takes the 8-bit image alone, as this does and more */
    if (status == KB_OK) status = kbi_orient_measure(&image, n, parallel, workspace);
    if (status == KB_OK && l->model) status = kbi_describe_measure(l->model, &image, n, parallel, workspace);
    for (int rule = 1; kbi_select_knows((kb_selection)rule) && status == KB_OK; rule++)
        status = kbi_select_measure(n, n, l->width, l->height, (kb_selection)rule, workspace);
    return status;
}

static kb_status measure(const kb_workspace_limits *given, size_t *payload, kb_error *error)
{
    kb_workspace_limits l = {0};
    kb_workspace workspace;
    kb_status status = limits_read(&l, given, error);
    if (status != KB_OK) return status;
    kb_parallel parallel = {sizeof parallel, l.threads, run_nothing, NULL};
    kbi_workspace_measure(&workspace);
    if (l.width > 0) status = measure_images(&l, &parallel, &workspace);
    if (status == KB_OK) status = measure_matching(&l, &parallel, &workspace);
    if (status == KB_OK) status = kbi_fit_measure(l.pairs, &workspace);
    *payload = workspace.peak;
    return status == KB_OK ? KB_OK : kbi_fail_status(error, status);
}

kb_status kb_workspace_reserve(kb_workspace *workspace, const kb_workspace_limits *limits, size_t *bytes,
                               kb_error *error)
{
    size_t payload = 0;
    kbi_error_clear(error);
    if (bytes) *bytes = 0;
    kb_status status = measure(limits, &payload, error);
    return status == KB_OK ? kbi_workspace_reserve(workspace, payload, bytes, error) : status;
}
