/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per look. */
/* How exact matches are, for the fit of an epipolar geometry. Coarse keypoints are several times less exact than fine
 * ones, and a geometry with few freedoms gains much where each counts as it deserves. */
#include <math.h>

#include "pair/pair.h"

static int32_t keypoint_of(const kb_match *m, int which) { return which ? m->b : m->a; }

/* Computes those of matched keypoints that are not known yet. */
static kb_status complete_side(const pair_job *job, int which, const pair_look *look)
{
    const pair_side *side = &job->sides[which];
    size_t n = 0, mark = kbi_workspace_mark(job->workspace);
    kb_keypoint *keypoints = kbi_workspace_array(job->workspace, look->count, sizeof *keypoints);
    float *values = kbi_workspace_array(job->workspace, look->count, sizeof *values);
    kb_features f = kbi_pair_view(job, side, keypoints);
    if (!keypoints || !values) return KB_E_MEMORY;
    for (size_t i = 0; i < look->count; i++) {
        int32_t k = keypoint_of(&look->matches[i], which);
        if (side->deviations[k] == 0) keypoints[n++] = side->keypoints[k];
    }
    f.n = n;
    const kb_parallel *parallel = job->options.parallel;
    kb_status status = kb_keypoint_deviations(&side->gray, &f, parallel, job->workspace, values, job->error);
    for (size_t i = 0, at = 0; i < look->count && at < n && status == KB_OK; i++) {
        int32_t k = keypoint_of(&look->matches[i], which);
        if (side->deviations[k] == 0) side->deviations[k] = values[at++];
    }
    kbi_workspace_rewind(job->workspace, mark);
    return status;
}

kb_status kbi_pair_deviations(const pair_job *job, const pair_look *look)
{
    kb_status status = complete_side(job, 0, look);
    if (status == KB_OK) status = complete_side(job, 1, look);
    for (size_t i = 0; i < look->count && status == KB_OK; i++) {
        float a = job->sides[0].deviations[look->matches[i].a], b = job->sides[1].deviations[look->matches[i].b];
        job->deviations[i] = a > 0 && b > 0 ? sqrtf(a * a + b * b) : -1.0f;
    }
    return status;
}
