/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per fit. */
/* KB_GEOMETRY_ANY: a plane or a camera that turns, or a scene with depth? A homography determines where a point is seen,
 * an epipolar geometry only a line through it, so the homography is taken unless the other one has clearly more places.
 * Where a scene is flat, the fit of a fundamental matrix finds it degenerate, where a camera turns, that of an essential
 * matrix does: then the homography stays, too. */
#include "fit/fit.h"

#define SOLID 1.5 /* times the places of the homography: the scene has depth */

static kb_status fit_both(const kb_point_pair *pairs, size_t n, kb_fit_options *o, kb_workspace *workspace,
                          uint8_t *inliers, kb_fit_report *best, kb_error *error)
{
    kb_fit_report solid;
    const float *deviations = o->deviations; /* they weigh the errors of lines */
    KB_INIT(*best);
    KB_INIT(solid);
    o->geometry = KB_GEOMETRY_HOMOGRAPHY;
    o->deviations = NULL;
    kb_status status = kb_fit(pairs, n, o, workspace, inliers, best, error);
    if (status != KB_OK || SOLID * best->places > (double)n || n == 0) return status;
    uint8_t *marks = kbi_workspace_get(workspace, n);
    if (!marks) return KB_E_MEMORY;
    o->geometry = o->camera1 ? KB_GEOMETRY_ESSENTIAL : KB_GEOMETRY_FUNDAMENTAL;
    o->threshold /= FIT_ANY_THRESHOLDS;
    o->deviations = deviations;
    status = kb_fit(pairs, n, o, workspace, marks, &solid, error);
    if (status != KB_OK || solid.result != KB_FIT_FOUND || solid.places < SOLID * best->places) return status;
    *best = solid;
    if (inliers) memcpy(inliers, marks, n);
    return KB_OK;
}

kb_status kbi_fit_any(const kb_point_pair *pairs, size_t n, kb_fit_options *o, kb_workspace *workspace,
                      uint8_t *inliers, kb_fit_report *report, kb_error *error)
{
    kb_fit_report best;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    if (o->looks == 0) o->looks = 1;
    if (o->looks > 0 && o->looks <= INT32_MAX / 2) o->looks *= 2; /* one of two fits is taken */
    kb_status status = fit_both(pairs, n, o, ws, inliers, &best, error);
    if (status == KB_OK) KBI_STRUCT_WRITE(kb_fit_report, report, &best);
    return kbi_workspace_end(&local, status, "pairs", error);
}
