/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints as ORB has them: every level gives its share, so a corner may be found on several levels. */
#include "detect/corners.h"

/* Gives the levels shares ~ 1 / factor, in whole numbers that sum up to `wanted`, or to all corners if there are fewer.
 * A level that cannot fill its share gets what it has, and the others share the rest anew. */
static void share_levels(const kbi_levels *levels, const size_t *corners, size_t wanted, size_t *share)
{
    bool settled[KB_PYRAMID_MAX_LEVELS] = {false};
    double weights = 0, sum = 0;
    size_t given = 0;
    for (bool again = true; again;) {
        size_t taken = 0;
        again = false;
        weights = 0;
        for (int32_t i = 0; i < levels->count; i++) weights += settled[i] ? 0 : 1 / levels->level[i].factor;
        for (int32_t i = 0; i < levels->count; i++) {
            if (settled[i] || (double)wanted / weights / levels->level[i].factor < (double)corners[i]) continue;
            settled[i] = again = true;
            share[i] = corners[i];
            taken += share[i];
        }
        wanted -= taken < wanted ? taken : wanted;
    }
    for (int32_t i = 0; i < levels->count; i++) {
        if (settled[i]) continue;
        sum += (double)wanted / weights / levels->level[i].factor;
        share[i] = (size_t)(sum + 0.5) - given;
        given += share[i];
    }
}

static kb_status choose_per_level(kbi_corners *c)
{
    const kb_image *image = &c->job->image;
    const kb_detect_options *options = &c->job->options;
    size_t corners[KB_PYRAMID_MAX_LEVELS] = {0}, share[KB_PYRAMID_MAX_LEVELS], from = 0,
           n = (size_t)options->max_keypoints;
    kb_status status = KB_OK;
    if (c->job->workspace->measures)
        return kbi_select_measure(c->room, n, image->width, image->height, options->selection, c->job->workspace);
    for (size_t i = 0; i < c->peaks.count; i++) { /* in the order of levels */
        corners[c->peaks.peak[i].level]++;
        c->keypoints[i] = kbi_corner_keypoint(c, i, 1);
    }
    share_levels(&c->levels, corners, n, share);
    for (int32_t i = 0; i < c->levels.count && status == KB_OK; from += corners[i++]) {
        status = kbi_select(c->keypoints + from, corners[i], image->width, image->height, options->selection, share[i],
                           c->job->workspace, &n);
        if (n > 0) memmove(c->keypoints + c->count, c->keypoints + from, n * sizeof *c->keypoints);
        c->count += n;
    }
    return status;
}

const kbi_scheme kbi_scheme_every_level = {.border = 31, .per_level = true, .choose = choose_per_level};
