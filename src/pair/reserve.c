/* SPDX-License-Identifier: Apache-2.0 */
/* How much workspace calls take: each module lays out its buffers in a workspace that only counts, by the code that
 * lays them out for work, so the number is exact. This module stands above all others. */
#include "common/common.h"
#include "common/structs.h"
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

static kb_status limits_read(kb_workspace_limits *l, const kb_workspace_limits *given)
{
    if (!given) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_READ(kb_workspace_limits, l, given);
    if (status != KB_OK) return status;
    if (l->threads == 0) l->threads = 1;
    if (l->threads < 1 || l->threads > 256 || l->width < 0 || l->height < 0 || l->width > 65535 || l->height > 65535)
        return KB_E_ARGUMENT;
    if (l->refine < 0 || l->refine > 1 || l->track < 0 || l->track > 1) return KB_E_ARGUMENT;
    if (l->format != KB_FORMAT_GRAY8 && l->format != KB_FORMAT_GRAY16) return KB_E_ARGUMENT;
    bool images = l->width > 0 && l->height > 0;
    if (!images && (l->detect || l->model || l->refine || l->track || l->width > 0 || l->height > 0)) return KB_E_ARGUMENT;
    if (l->row_bytes == 0 && l->model)
        l->row_bytes = l->model->row_floats ? KB_SIFT_VALUES * sizeof(float) : (size_t)l->model->row_bytes;
    if (l->row_bytes == 0) l->row_bytes = KB_MAX_BITS / 8;
    return KB_OK;
}

static kb_status measure_images(const kb_workspace_limits *l, const kb_parallel *parallel, kb_workspace *workspace)
{
    /* Some address; nothing is read. */
    kb_image image = {workspace, l->width, l->height, 2 * (ptrdiff_t)l->width, l->format, 0};
    size_t n = l->keypoints, most = 0;
    kb_status status = KB_OK;
    if (l->detect) status = kbi_detect_measure(&image, l->detect, parallel, workspace, &most);
    if (status == KB_OK && (l->refine || l->track)) status = kbi_refine_measure(&image, workspace); /* two pyramids */
    if (n == 0) n = most;
    /* kb_keypoint_deviations takes the 8-bit image alone, as this does and more */
    if (status == KB_OK) status = kbi_orient_measure(&image, n, parallel, workspace);
    if (status == KB_OK && l->model) status = kbi_describe_measure(l->model, &image, n, parallel, workspace);
    for (int rule = 1; kbi_select_knows((kb_selection)rule) && status == KB_OK; rule++)
        status = kbi_select_measure(n, n, l->width, l->height, (kb_selection)rule, workspace);
    return status;
}

static kb_status measure(const kb_workspace_limits *given, size_t *payload)
{
    kb_workspace_limits l;
    kb_workspace workspace;
    kb_status status = limits_read(&l, given);
    if (status != KB_OK) return status;
    kb_parallel parallel = {run_nothing, NULL, l.threads};
    kbi_workspace_measure(&workspace);
    if (l.width > 0) status = measure_images(&l, &parallel, &workspace);
    if (status == KB_OK) status = kbi_match_measure(l.rows_a, l.rows_b, l.row_bytes, l.threads, &workspace);
    if (status == KB_OK) status = kbi_filter_measure(l.rows_a, &workspace);
    if (status == KB_OK) status = kbi_fit_measure(l.pairs, &workspace);
    *payload = workspace.peak;
    return status;
}

kb_status kb_workspace_needed(const kb_workspace_limits *limits, size_t *bytes)
{
    size_t payload = 0;
    if (!bytes) return KB_E_ARGUMENT;
    *bytes = 0;
    kb_status status = measure(limits, &payload);
    if (status == KB_OK) *bytes = kbi_workspace_total(payload);
    return status;
}

kb_status kb_workspace_reserve(kb_workspace *workspace, const kb_workspace_limits *limits)
{
    size_t payload = 0;
    if (!workspace) return KB_E_ARGUMENT;
    kb_status status = measure(limits, &payload);
    if (status != KB_OK || kbi_workspace_grow(workspace, payload)) return status;
    return workspace->fixed ? KB_E_SPACE : KB_E_MEMORY;
}
