/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per look. */
/* How exact matches are, for the fit of an epipolar geometry, up to a factor. A place is as exact as its scale is fine,
 * and noise of the image moves a weak peak more than a strong one. kb_keypoint_deviations looks at the image and knows
 * more, at the price of describing once again. */
#include <math.h>

#include "pair/pair.h"

#define WEAK 0.01f /* response of the hessian detector at which noise moves a peak as much as all else does */

static float square_of(const pair_job *job, const kb_keypoint *k)
{
    float weak = job->detect.detector == KB_DETECTOR_HESSIAN ? WEAK / k->response : 0;
    return k->size * k->size * (1 + weak * weak);
}

void kbi_pair_deviations(const pair_job *job, const pair_look *look)
{
    const kb_keypoint *a = job->sides[0].keypoints, *b = job->sides[1].keypoints;
    for (size_t i = 0; i < look->count; i++)
        job->deviations[i] = sqrtf(square_of(job, &a[look->matches[i].a]) + square_of(job, &b[look->matches[i].b]));
}
