/* SPDX-License-Identifier: Apache-2.0 */
#include "pair/pair.h"

#define BINS 72 /* of 5 degrees */

float kbi_pair_rotation_of_points(const pair_job *job, const pair_look *look)
{
    const kb_keypoint *a = job->sides[0].keypoints, *b = job->sides[1].keypoints;
    double mean[4] = {0}, n = 0, dot = 0, cross = 0;
    for (size_t i = 0; i < look->count; i++) {
        if (!look->inliers[i]) continue;
        const kb_keypoint *p = &a[look->matches[i].a], *q = &b[look->matches[i].b];
        mean[0] += p->x, mean[1] += p->y, mean[2] += q->x, mean[3] += q->y;
        n++;
    }
    for (int k = 0; k < 4 && n > 0; k++) mean[k] /= n;
    for (size_t i = 0; i < look->count; i++) {
        if (!look->inliers[i]) continue;
        const kb_keypoint *p = &a[look->matches[i].a], *q = &b[look->matches[i].b];
        double px = p->x - mean[0], py = p->y - mean[1], qx = q->x - mean[2], qy = q->y - mean[3];
        dot += px * qx + py * qy;
        cross += px * qy - py * qx;
    }
    return (float)kbi_atan2_degrees(cross, dot);
}

/* From 0 to below 360. */
static double angle_between(const pair_job *job, const kb_match *m)
{
    double d = (double)job->sides[1].angles[m->b] - (double)job->sides[0].angles[m->a];
    return d < 0 ? d + 360 : d;
}

static int32_t bin_of(double angle) { return (int32_t)(angle * (BINS / 360.0)) % BINS; }

float kbi_pair_rotation_of_angles(const pair_job *job, const pair_look *look)
{
    int32_t count[BINS] = {0}, best = 0, best_sum = -1;
    double sum = 0, n = 0;
    for (size_t i = 0; i < look->count; i++) count[bin_of(angle_between(job, &look->matches[i]))]++;
    for (int32_t k = 0; k < BINS; k++) {
        int32_t smooth = count[(k + BINS - 1) % BINS] + 2 * count[k] + count[(k + 1) % BINS];
        if (smooth > best_sum) best = k, best_sum = smooth;
    }
    /* The mean over the bin and its neighbours is as exact as hundreds of differences are together. */
    double centre = (best + 0.5) * (360.0 / BINS);
    for (size_t i = 0; i < look->count; i++) {
        double d = angle_between(job, &look->matches[i]) - centre;
        if (d > 180) d -= 360;
        if (d < -180) d += 360;
        if (d >= -7.5 && d <= 7.5) sum += d, n++;
    }
    double angle = n > 0 ? centre + sum / n : 0;
    return (float)(angle < 0 ? angle + 360 : angle >= 360 ? angle - 360 : angle);
}
