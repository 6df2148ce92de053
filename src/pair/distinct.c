/* SPDX-License-Identifier: Apache-2.0 */
/* Repetition: equal windows, doors and tiles match each other in any order.
 *
 * A geometry through such matches is no accident: windows stand in rows, and any row of windows lies on the epipolar
 * lines of any other. So no count of inliers refutes it. But a match of a window with one of several equal windows is
 * arbitrary: in one of the two images other places look as much like it. An inlier is distinct when its descriptors are
 * nearer to each other, d bits, than either is to any other place of the other image, d2 bits at least, by more than
 * what two views of one thing vary: d2 - d >= 1.5 sqrt(d2), a standard deviation and a half of a sum of d2 independent
 * bits. Other places are keypoints further away than the size of the matched one.
 *
 * Of inliers on repeated windows up to 15 % are distinct by chance. A scene must have more distinct inliers than that
 * explains, by three standard deviations, and in more than a spot or two: one window may be told from the others by its
 * light. Where few of the matches are inliers, the search had many others to choose these from, and the excess must be
 * twice as large. The numbers were chosen on rendered facades with equal windows (eval/facade.h) and on photographs of
 * one scene (docs/collections.md). */
#include <math.h>

#include "match/kernels.h"
#include "pair/verify.h"

#define SAMPLE 256      /* max number of inliers that are examined */
#define DEVIATIONS 1.5  /* standard deviations by which any other place must be further */
#define REPEATED 0.15   /* share of inliers on repeated things that are distinct by chance */
#define EXCESS 3.0      /* standard deviations above that share, */
#define FEW 0.125       /* or twice as many where a smaller share of the matches are inliers */
#define SPOTS 5         /* min number of spots with a distinct inlier */
#define SPOT_PX 32.0f   /* min distance between two spots, in both images */
#define BLOCK 256       /* rows compared at once */

typedef struct image_view {
    const kb_features *f;
    const kbi_match_kernels *kernels;
    int32_t listed[BLOCK]; /* 0, 1, ... */
} image_view;

/* Another place must be at least so far away, in bits, from a row whose match is at `distance`. */
static uint32_t distinct_limit(double distance)
{
    double root = (DEVIATIONS + sqrt(DEVIATIONS * DEVIATIONS + 4 * distance)) / 2;
    return (uint32_t)ceil(root * root);
}

static float distance2(const kb_keypoint *p, const kb_keypoint *q)
{
    float dx = p->x - q->x, dy = p->y - q->y;
    return dx * dx + dy * dy;
}

static bool apart(const kb_keypoint *p, const kb_keypoint *q, float px) { return distance2(p, q) >= px * px; }

static const uint8_t *row_at(const kb_features *f, size_t i) { return (const uint8_t *)f->rows + i * f->row_bytes; }

/* Whether a place of the view other than keypoint `at` has a row nearer than `limit` to `row`. */
static bool has_rival(const image_view *v, const uint8_t *row, size_t at, uint32_t limit)
{
    const kb_keypoint *keypoint = &v->f->keypoints[at];
    uint32_t distances[BLOCK];
    for (size_t first = 0; first < v->f->n; first += BLOCK) {
        size_t n = v->f->n - first < BLOCK ? v->f->n - first : BLOCK;
        uint32_t nearest = v->kernels->hamming_nearest(row, row_at(v->f, first), n, v->f->row_bytes) >> 16;
        if (nearest >= limit) continue;
        v->kernels->hamming_listed(row, row_at(v->f, first), v->listed, n, v->f->row_bytes, v->f->row_bytes,
                                   distances);
        for (size_t i = 0; i < n; i++)
            if (distances[i] < limit && apart(&v->f->keypoints[first + i], keypoint, keypoint->size)) return true;
    }
    return false;
}

static bool is_distinct(const image_view *a, const image_view *b, const kb_match *m)
{
    const size_t ia = (size_t)m->a, ib = (size_t)m->b;
    uint32_t limit = distinct_limit((double)m->distance);
    bool alone = m->second >= (float)limit; /* no other row of b is so near */
    return (alone || !has_rival(b, row_at(a->f, ia), ib, limit)) && !has_rival(a, row_at(b->f, ib), ia, limit);
}

/* Adds a match to the spots unless it is near one of them in either image. */
static void note_spot(const kb_features *a, const kb_features *b, const kb_match *m, const kb_match *spots[SPOTS],
                      int32_t *count)
{
    if (*count == SPOTS) return;
    for (int32_t i = 0; i < *count; i++)
        if (!apart(&a->keypoints[spots[i]->a], &a->keypoints[m->a], SPOT_PX) ||
            !apart(&b->keypoints[spots[i]->b], &b->keypoints[m->b], SPOT_PX))
            return;
    spots[(*count)++] = m;
}

static void view_init(image_view *v, const kb_features *f)
{
    v->f = f;
    v->kernels = kbi_match_kernels_get();
    for (int32_t i = 0; i < BLOCK; i++) v->listed[i] = i;
}

bool kbi_pair_distinct(const kb_features *a, const kb_features *b, const kb_match *matches, const uint8_t *inliers,
                       size_t n, int32_t *distinct)
{
    image_view va, vb;
    const kb_match *spots[SPOTS];
    size_t total = 0, seen = 0;
    int32_t spot_count = 0;
    view_init(&va, a);
    view_init(&vb, b);
    for (size_t i = 0; i < n; i++) total += inliers[i];
    size_t sample = total < SAMPLE ? total : SAMPLE;
    double expected = REPEATED * (double)sample;
    double excess = (double)total < FEW * (double)n ? 2 * EXCESS : EXCESS;
    double wanted = expected + excess * sqrt(expected * (1 - REPEATED));
    *distinct = 0;
    for (size_t i = 0; i < n && (*distinct < wanted || spot_count < SPOTS); i++) {
        if (!inliers[i]) continue;
        bool looked_at = seen * sample % total < sample; /* evenly */
        seen++;
        if (!looked_at || !is_distinct(&va, &vb, &matches[i])) continue;
        (*distinct)++;
        note_spot(a, b, &matches[i], spots, &spot_count);
    }
    return sample > 0 && *distinct >= wanted && spot_count == SPOTS;
}
