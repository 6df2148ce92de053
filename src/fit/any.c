/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per fit. */
/* KB_GEOMETRY_ANY: a plane or a camera that turns, or a scene with depth? A homography determines where a point is seen,
 * an epipolar geometry only a line through it, so the homography is taken unless the other one has clearly more places.
 * Where a scene is flat, the fit of a fundamental matrix finds it degenerate, where a camera turns, that of an essential
 * matrix does: then the homography stays, too. */
#include "fit/fit.h"

#define SOLID 1.5 /* times the places of the homography: the scene has depth */

static kb_status fit_one(const kb_point_pair *pairs, size_t n, const kb_fit_options *any, kb_geometry geometry,
                         kb_workspace *workspace, uint8_t *inliers, kb_fit_report *report, kb_error *error)
{
    kb_fit_options o = *any;
    o.geometry = geometry;
    if (geometry == KB_GEOMETRY_HOMOGRAPHY) o.deviations = NULL; /* they weigh the errors of lines */
    else o.threshold /= FIT_ANY_THRESHOLDS;
    KB_INIT(*report);
    return kb_fit(pairs, n, &o, workspace, inliers, report, error);
}

static kb_status fit_both(const kb_point_pair *pairs, size_t n, const kb_fit_options *any, kb_workspace *workspace,
                          uint8_t *inliers, kb_fit_report *best, kb_error *error)
{
    kb_fit_report solid;
    kb_geometry epipolar = any->camera1 ? KB_GEOMETRY_ESSENTIAL : KB_GEOMETRY_FUNDAMENTAL;
    kb_status status = fit_one(pairs, n, any, KB_GEOMETRY_HOMOGRAPHY, workspace, inliers, best, error);
    if (status != KB_OK || SOLID * best->places > (double)n) return status;
    uint8_t *marks = n > 0 ? kbi_workspace_get(workspace, n) : NULL;
    if (n > 0 && !marks) return KB_E_MEMORY;
    status = fit_one(pairs, n, any, epipolar, workspace, marks, &solid, error);
    if (status != KB_OK || solid.result != KB_FIT_FOUND || solid.places < SOLID * best->places) return status;
    *best = solid;
    if (inliers) memcpy(inliers, marks, n);
    return KB_OK;
}

kb_status kbi_fit_any(const kb_point_pair *pairs, size_t n, const kb_fit_options *options, kb_workspace *workspace,
                      uint8_t *inliers, kb_fit_report *report, kb_error *error)
{
    kb_fit_options any = *options;
    kb_fit_report best;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    if (any.looks == 0) any.looks = 1;
    if (any.looks > 0 && any.looks <= INT32_MAX / 2) any.looks *= 2; /* one of two fits is taken */
    kb_status status = fit_both(pairs, n, &any, ws, inliers, &best, error);
    if (status == KB_OK) KBI_STRUCT_WRITE(kb_fit_report, report, &best);
    return kbi_workspace_end(ws, mark, &local, status, "pairs", error);
}
