/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* A fundamental or essential matrix when most of the scene is one plane.
 *
 * Seven pairs of which five or more lie on a plane do not determine F: any epipole goes with the plane's homography
 * H, and a matrix with a wrong epipole still has the whole plane as inliers. Such a matrix can win a search. The
 * remedy is DEGENSAC's (Chum, Werner and Matas 2005): find the plane, then look for F = [e]x H, where two pairs off
 * the plane give the epipole e as the meeting point of the lines from H x1 to x2.
 * Five pairs on a plane do determine E, up to two solutions, but badly: noise turns it about the plane. With calibrated
 * cameras [e]x H is an essential matrix but for noise, and goes to the nearest one. */
#include <math.h>

#include "fit/fit.h"

#define PLANE_SAMPLES 200    /* enough for a plane with half of the inliers, many times over */
#define PARALLAX_SAMPLES 200

/* The homography with the largest number of inliers of the epipolar geometry; its threshold is twice as large, since it
 * must hold in two directions. The order of slots mixes qualities well, so the sampling is RANSAC's. */
static bool find_plane(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits,
                       const fit_scratch *scratch, const fit_found *found, double *plane)
{
    fit_pairs part = scratch->part;
    fit_limits few = {limits->confidence, PLANE_SAMPLES, limits->seed, false, false};
    fit_found h;
    kbi_fit_score(kind, pairs, found->model, scratch);
    part.n = 0;
    part.threshold2 = 4 * pairs->threshold2;
    for (int32_t s = 0; s < pairs->n; s++)
        if (scratch->error2[s] <= pairs->threshold2) kbi_fit_part_add(&part, pairs, s);
    if (part.n < 4) return false;
    kbi_fit_search(&kbi_fit_homography, &part, &few, scratch, &h);
    if (2 * h.score.count < part.n) return false;
    kbi_fit_refine(&kbi_fit_homography, &part, scratch, &h);
    memcpy(plane, h.model, sizeof h.model);
    return true;
}

/* The line through H x1 and x2. */
static void parallax_line(const double *h, const fit_pairs *pairs, int32_t s, double line[3])
{
    double x1 = pairs->x1[s], y1 = pairs->y1[s], x2 = pairs->x2[s], y2 = pairs->y2[s];
    double x = h[0] * x1 + h[1] * y1 + h[2], y = h[3] * x1 + h[4] * y1 + h[5], w = h[6] * x1 + h[7] * y1 + h[8];
    line[0] = y - w * y2;
    line[1] = w * x2 - x;
    line[2] = x * y2 - y * x2;
}

/* F = [e]x H, of unit norm, with the epipole e where two of these lines meet. */
static bool through_plane(const double *h, const fit_pairs *pairs, int32_t s, int32_t t, double *f)
{
    double a[3], b[3], e[3];
    parallax_line(h, pairs, s, a);
    parallax_line(h, pairs, t, b);
    kbi_fit_cross3(a, b, e);
    for (int32_t j = 0; j < 3; j++) {
        f[j] = e[1] * h[6 + j] - e[2] * h[3 + j];
        f[3 + j] = e[2] * h[j] - e[0] * h[6 + j];
        f[6 + j] = e[0] * h[3 + j] - e[1] * h[j];
    }
    return kbi_fit_unit9(f);
}

/* Tries pairs of the listed slots. */
static void search_parallax(const fit_kind *kind, const double *plane, const fit_pairs *pairs, const fit_limits *limits,
                            const int32_t *off, int32_t n, const fit_scratch *scratch, fit_found *found)
{
    uint64_t random = limits->seed;
    fit_found best = *found;
    for (int32_t i = 0; i < PARALLAX_SAMPLES; i++) {
        double f[9];
        int32_t s = (int32_t)kbi_random_below(&random, (uint32_t)n),
                t = (int32_t)kbi_random_below(&random, (uint32_t)n - 1);
        if (t >= s) t++;
        if (!through_plane(plane, pairs, off[s], off[t], f) || !kind->retract(f)) continue;
        fit_score score = kbi_fit_score(kind, pairs, f, scratch);
        if (score.cost >= best.score.cost) continue;
        best.score = score;
        memcpy(best.model, f, sizeof f);
    }
    if (best.score.cost >= found->score.cost) return;
    *found = best;
    kbi_fit_optimise(kind, pairs, best.model, scratch, found);
    kbi_fit_refine(kind, pairs, scratch, found);
}

/* The chance that a pair which is off the plane by an error of detection, and so in any direction, is an inlier. Its
 * epipolar line passes through H x1, so of all directions those count that keep x2 within the threshold of that line:
 * (2 / pi) asin(w / d) for the distance d from H x1. In image 2 the half width w is sqrt(2) times the Sampson
 * distance's, which both images share. The arc cosine is Abramowitz and Stegun's 4.4.45. */
static double stray_chance(double distance2, double threshold2)
{
    double x2 = 2 * threshold2 / distance2;
    if (!(x2 < 1)) return 1;
    double x = sqrt(x2);
    double acos_x = sqrt(1 - x) * (1.5707288 + x * (-0.2121144 + x * (0.0742610 - x * 0.0187293)));
    return 1 - acos_x / 1.5707963267948966;
}

bool kbi_fit_off_plane(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits,
                       const fit_scratch *scratch, fit_found *found)
{
    double plane[FIT_MODEL], limit2 = 4 * pairs->threshold2, chance = 0;
    int32_t *off = scratch->part.slot, n = 0, inliers = 0;
    if (!find_plane(kind, pairs, limits, scratch, found, plane)) return true;
    kbi_fit_errors(&kbi_fit_homography, plane, pairs, 0, pairs->n, scratch->error2);
    for (int32_t s = 0; s < pairs->n; s++) {
        if (scratch->error2[s] <= limit2) continue;
        chance += stray_chance(scratch->error2[s], pairs->threshold2);
        off[n++] = s;
    }
    if (n < 2) return false;
    chance = chance / n > pairs->chance ? chance / n : pairs->chance;
    search_parallax(kind, plane, pairs, limits, off, n, scratch, found);
    kbi_fit_score(kind, pairs, found->model, scratch);
    for (int32_t k = 0; k < n; k++) {
        off[inliers] = off[k];
        inliers += scratch->error2[off[k]] <= pairs->threshold2;
    }
    return kbi_fit_meaningful(n, kbi_fit_places(pairs, off, inliers, scratch, off), 2, chance, 1);
}
