/* ORB's detector (Rublee, Rabaud, Konolige, Bradski 2011), with the conventions of OpenCV's.
 *
 *   1. A pyramid, each level `level_factor` times smaller than the one above.
 *   2. FAST-9 corners of every level that are the strongest of their 3x3 neighbourhood.
 *   3. Every level has its share of the keypoints, falling by the factor from level to level. Of twice the share,
 *      the best by FAST score, Harris's response picks the share itself. Rules other than `best` pick among all
 *      corners. Few keypoints (LEAST_SHARED) are picked again, from what the levels gave.
 *   4. The angle is that of the intensity centroid of the disc of radius 15 in the level.
 *
 * Pixel x of level n is centred at (x + 0.5) factor^n - 0.5 of the image. Nothing is found within 31 px of a level's
 * edge: there would be no room for a descriptor. Tasks work on rows of levels or runs of corners and meet only where
 * lists are put together in order, so the number of threads changes nothing. */
#include "detect/orb.h"

#define PATCH 31.0
#define LEAST_SHARED 256 /* of fewer keypoints than this the levels get no shares: the rule picks them from all levels */

static void measure_task(void *context, int32_t piece)
{
    kbi_orb *o = context;
    size_t end = kbi_piece(o->count, o->threads, piece + 1);
    for (size_t i = kbi_piece(o->count, o->threads, piece); i < end; i++) {
        const kbi_orb_corner *c = &o->corners[i];
        const kbi_orb_level *level = &o->level[c->level];
        int64_t harris = o->kernels.harris(level->data + c->y * level->stride + c->x, level->stride);
        o->keypoints[i] = (kb_keypoint){kbi_orb_to_image(level->factor, c->x), kbi_orb_to_image(level->factor, c->y),
                                        (float)(PATCH * level->factor), -1, kbi_harris_response(harris), c->level, -1};
    }
}

/* Each level keeps its share; the kept move together. */
static kb_status select_levels(kbi_orb *o)
{
    size_t from = 0, to = 0;
    for (int32_t i = 0; i < o->levels; i++) {
        size_t kept = 0, n = o->level[i].corners;
        kb_status status = kb_select(o->keypoints + from, n, o->job->image.width, o->job->image.height,
                                     o->job->options.selection, o->level[i].share, o->job->workspace, &kept);
        if (status != KB_OK) return status;
        memmove(o->keypoints + to, o->keypoints + from, kept * sizeof *o->keypoints);
        from += n;
        to += kept;
    }
    o->count = to;
    return KB_OK;
}

static void orient_task(void *context, int32_t piece)
{
    kbi_orb *o = context;
    size_t end = kbi_piece(o->count, o->threads, piece + 1);
    for (size_t i = kbi_piece(o->count, o->threads, piece); i < end; i++) {
        kb_keypoint *k = &o->keypoints[i];
        const kbi_orb_level *level = &o->level[k->octave];
        int32_t x = (int32_t)((k->x + 0.5) / level->factor), y = (int32_t)((k->y + 0.5) / level->factor);
        k->angle = o->kernels.disc_angle(level->data + y * level->stride + x, level->stride);
    }
}

kb_status kbi_detect_orb(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    kbi_orb o = {.job = job, .threads = kbi_parallel_threads(job->options.parallel)};
    size_t n = (size_t)job->options.max_keypoints;
    kbi_detect_kernels_init(&o.kernels, kbi_cpu_flags());
    *count = 0;
    kbi_orb_plan_levels(&o);
    if (o.levels == 0) return KB_OK;
    kb_status status = kbi_orb_build_levels(&o);
    if (status == KB_OK) status = kbi_orb_find_corners(&o, n < LEAST_SHARED ? LEAST_SHARED : n);
    if (status != KB_OK) return status;
    kbi_parallel_run(job->options.parallel, o.threads, measure_task, &o);
    status = select_levels(&o);
    if (status == KB_OK)
        status = kb_select(o.keypoints, o.count, job->image.width, job->image.height, job->options.selection, n,
                           job->workspace, &o.count);
    if (status != KB_OK) return status;
    kbi_parallel_run(job->options.parallel, o.threads, orient_task, &o);
    *found = o.keypoints;
    *count = o.count;
    return KB_OK;
}
