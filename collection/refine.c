/* SPDX-License-Identifier: Apache-2.0 */
/* Where keypoints go so that all keypoints of a track show the same point.
 *
 * A match i, j of a verified pair has a measured shift s_ij: where in the patch of keypoint j lies what i shows. With
 * moves m in steps of the patches and R the rotation of the pair, the sum over matches of |m_j - R m_i - s_ij|^2, and of
 * a little |m_i|^2 over
 * keypoints, which keeps tracks where they were on the whole, is least where every keypoint is at the mean of what its
 * matches say. So each goes there, again and again; part of the way, since its neighbours go too. */
#include <stdlib.h>

#include "collection/collection.h"
#include "common/common.h"

#define SWEEPS 30
#define PART 0.7
#define STAY 0.1 /* weight of staying, relative to a match */

typedef struct match_link {
    uint32_t a, b; /* keypoints, counted through all images */
    patch_shift shift;
    float turned; /* R, degrees */
} match_link;

typedef struct refinement {
    uint32_t *first; /* keypoint of each image */
    match_link *links;
    size_t count, room;
} refinement;

static bool add_links(void *context, const collection_pair *p, io_error *error)
{
    refinement *r = context;
    (void)error;
    for (size_t i = 0; i < p->inliers; i++) {
        if (!patch_shift_known(p->shifts[i])) continue;
        if (r->count == r->room) {
            r->room = r->room ? 2 * r->room : 4096;
            r->links = io_grow(r->links, r->room, sizeof *r->links);
        }
        r->links[r->count++] = (match_link){r->first[p->a] + (uint32_t)p->matches[i].a,
                                      r->first[p->b] + (uint32_t)p->matches[i].b, p->shifts[i], p->turned};
    }
    return true;
}

/* Adds to every keypoint what its matches say. */
static void sum_links(const refinement *r, float (*moves)[2], double (*sums)[3])
{
    double turned = 0, sine = 0, cosine = 1;
    for (size_t i = 0; i < r->count; i++) {
        const match_link *l = &r->links[i];
        if ((double)l->turned != turned) kbi_sincos_degrees(turned = (double)l->turned, &sine, &cosine);
        const double shift[2] = {(double)l->shift.x / PATCH_SHEET_STEP, (double)l->shift.y / PATCH_SHEET_STEP};
        const double x = (double)moves[l->a][0], y = (double)moves[l->a][1], u = (double)moves[l->b][0] - shift[0],
                     v = (double)moves[l->b][1] - shift[1];
        sums[l->b][0] += cosine * x - sine * y + shift[0];
        sums[l->b][1] += sine * x + cosine * y + shift[1];
        sums[l->a][0] += cosine * u + sine * v;
        sums[l->a][1] += cosine * v - sine * u;
        sums[l->a][2] += 1;
        sums[l->b][2] += 1;
    }
}

static void solve(const refinement *r, size_t keypoints, float (*moves)[2])
{
    double (*sums)[3] = io_alloc(keypoints + 1, sizeof *sums);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t i = 0; i < keypoints; i++) sums[i][0] = sums[i][1] = sums[i][2] = 0;
        sum_links(r, moves, sums);
        for (size_t i = 0; i < keypoints; i++)
            for (int k = 0; k < 2; k++) {
                double move = (double)moves[i][k], mean = sums[i][k] / (sums[i][2] + STAY);
                moves[i][k] = (float)(move + PART * (mean - move));
            }
    }
    free(sums);
}

bool collection_refine(collection *c, io_error *error)
{
    refinement r = {.first = io_alloc(c->images.count + 1, sizeof *r.first)};
    uint64_t keypoints = 0;
    for (size_t i = 0; i < c->images.count; i++) {
        r.first[i] = (uint32_t)keypoints;
        keypoints += c->good[i] ? c->keypoints[i] : 0;
    }
    bool ok = (keypoints <= UINT32_MAX || io_fail(error, "%llu keypoints, but refinement has room for %u: use --no-refine",
                                                  (unsigned long long)keypoints, UINT32_MAX)) &&
              collection_pairs_read(c, add_links, &r, error);
    if (ok) {
        c->moves = io_alloc((size_t)keypoints + 1, sizeof *c->moves);
        solve(&r, (size_t)keypoints, c->moves);
    }
    free(r.first);
    free(r.links);
    return ok;
}

void collection_unrefine(collection *c)
{
    free(c->moves);
    c->moves = NULL;
}
