/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The essential matrix between two calibrated cameras: x2^T E x1 = 0 for rays x1, x2, E = [t]x R.
 *
 * E has two equal singular values and one that is zero: E = U diag(s, s, 0) V^T. In the bases U and V a small change
 * of R and t changes the entries (1,3), (2,3), (3,1), (3,2) freely and (1,2), (2,1) by opposite amounts. The four
 * other directions leave the manifold of unit essential matrices and are taken out of least squares: (1,1), (2,2),
 * (3,3) and the sum of (1,2) and (2,1). */
#include <math.h>

#include "fit/fit.h"

#define FAR 3.0 /* thresholds of parallax, below which noise decides on which side of a camera a point is */

typedef struct svd3 {
    double u[3][3], v[3][3]; /* singular vectors as rows, the third for the smallest singular value; right-handed */
    double s[2];             /* the two larger singular values */
} svd3;

static bool decompose(const double *e, svd3 *out)
{
    double values[3], vectors[9];
    kbi_fit_right_singular(e, values, vectors);
    for (int32_t k = 0; k < 2; k++) {
        const double *v = vectors + 3 * (2 - k); /* eigenvalues ascend */
        double norm = 0;
        for (int32_t i = 0; i < 3; i++) {
            out->v[k][i] = v[i];
            out->u[k][i] = e[3 * i] * v[0] + e[3 * i + 1] * v[1] + e[3 * i + 2] * v[2];
        }
        for (int32_t j = 0; j < k; j++) { /* orthogonal but for rounding */
            double along = 0;
            for (int32_t i = 0; i < 3; i++) along += out->u[k][i] * out->u[j][i];
            for (int32_t i = 0; i < 3; i++) out->u[k][i] -= along * out->u[j][i];
        }
        for (int32_t i = 0; i < 3; i++) norm += out->u[k][i] * out->u[k][i];
        out->s[k] = sqrt(norm);
        if (!(out->s[k] > 1e-12 && out->s[k] <= DBL_MAX)) return false;
        for (int32_t i = 0; i < 3; i++) out->u[k][i] /= out->s[k];
    }
    kbi_fit_cross3(out->u[0], out->u[1], out->u[2]);
    kbi_fit_cross3(out->v[0], out->v[1], out->v[2]);
    return true;
}

/* u_i v_j^T, times a factor, added to nine entries. */
static void add_singular_pair(const svd3 *d, int32_t i, int32_t j, double factor, double *sum)
{
    for (int32_t r = 0; r < 3; r++)
        for (int32_t c = 0; c < 3; c++) sum[3 * r + c] += factor * d->u[i][r] * d->v[j][c];
}

static int32_t essential_gauge(const double *e, double directions[FIT_GAUGE][FIT_MODEL])
{
    svd3 d;
    memset(directions, 0, FIT_GAUGE * sizeof directions[0]);
    if (!decompose(e, &d)) return 0;
    for (int32_t k = 0; k < 3; k++) add_singular_pair(&d, k, k, 1, directions[k]);
    add_singular_pair(&d, 0, 1, FIT_HALF_ROOT, directions[3]);
    add_singular_pair(&d, 1, 0, FIT_HALF_ROOT, directions[3]);
    return 4;
}

/* The nearest essential matrix, of unit norm. */
static bool essential_retract(double *e)
{
    svd3 d;
    if (!decompose(e, &d)) return false;
    memset(e, 0, 9 * sizeof *e);
    add_singular_pair(&d, 0, 0, FIT_HALF_ROOT, e);
    add_singular_pair(&d, 1, 1, FIT_HALF_ROOT, e);
    return true;
}

/* ---- relative pose ---- */

/* E leaves four poses: R = U W V^T, W the turn by 90 or -90 degrees about the third axis, with t = u3 or -u3. Pose
 * number c has the turn c & 1 and the sign c & 2. */
#define POSES 4

typedef struct essential_poses {
    double rotation[2][9], translation[3];
} essential_poses;

static bool poses_of(const double *e, essential_poses *out)
{
    svd3 d;
    if (!decompose(e, &d)) return false;
    memset(out, 0, sizeof *out);
    for (int32_t k = 0; k < 2; k++) {
        double turn = k ? -1 : 1;
        add_singular_pair(&d, 1, 0, turn, out->rotation[k]);
        add_singular_pair(&d, 0, 1, -turn, out->rotation[k]);
        add_singular_pair(&d, 2, 2, 1, out->rotation[k]);
    }
    memcpy(out->translation, d.u[2], sizeof out->translation);
    return true;
}

/* The poses, a bit for each, in which a pair lies in front of both cameras. With r = R x1, depths obey
 * l2 x2 = l1 r + t, so l2 |r x x2|^2 = (r x t) . (r x x2) and l1 |r x x2|^2 = (x2 x t) . (r x x2). Where the sine of
 * the parallax is below that of `far2`, squared, noise decides about these signs, and either t will do. */
static uint32_t poses_in_front(const essential_poses *poses, const fit_pairs *pairs, int32_t s, double far2)
{
    const double a[3] = {pairs->x1[s], pairs->y1[s], 1}, b[3] = {pairs->x2[s], pairs->y2[s], 1};
    const double *t = poses->translation;
    double r[3], normal[3], rt[3], bt[3];
    uint32_t front = 0;
    kbi_fit_cross3(b, t, bt);
    for (int32_t k = 0; k < 2; k++) {
        for (int32_t i = 0; i < 3; i++) r[i] = kbi_fit_dot3(poses->rotation[k] + 3 * i, a);
        kbi_fit_cross3(r, b, normal);
        kbi_fit_cross3(r, t, rt);
        double depth2 = kbi_fit_dot3(rt, normal), depth1 = kbi_fit_dot3(bt, normal);
        double sine2 = kbi_fit_dot3(normal, normal), along = kbi_fit_dot3(r, b);
        bool far = sine2 <= far2 * kbi_fit_dot3(r, r) * kbi_fit_dot3(b, b) && along > 0;
        if (far || (depth1 > 0 && depth2 > 0)) front |= 1u << k;
        if (far || (depth1 < 0 && depth2 < 0)) front |= 4u << k;
    }
    return front;
}

static int32_t most_frequent(const int32_t count[POSES])
{
    int32_t best = 0;
    for (int32_t c = 1; c < POSES; c++)
        if (count[c] > count[best]) best = c;
    return best;
}

bool kbi_fit_essential_pose(const double *e, const fit_pairs *pairs, const int32_t *list, int32_t count,
                            double rotation[9], double translation[3])
{
    essential_poses poses;
    int32_t front[POSES] = {0};
    if (!poses_of(e, &poses)) return false;
    for (int32_t k = 0; k < count; k++) {
        uint32_t in_front = poses_in_front(&poses, pairs, list[k], 0);
        for (int32_t c = 0; c < POSES; c++) front[c] += (int32_t)(in_front >> c & 1);
    }
    int32_t best = most_frequent(front);
    memcpy(rotation, poses.rotation[best & 1], sizeof poses.rotation[0]);
    for (int32_t i = 0; i < 3; i++) translation[i] = best & 2 ? -poses.translation[i] : poses.translation[i];
    return true;
}

/* ---- the geometry ---- */

/* A wrong match that lies on its epipolar line by chance is seldom in front of both cameras of one pose, while right
 * matches all are. So those behind a camera are no inliers, in the search, in refinement and in what is reported. */
static void essential_screen(const double *e, const fit_pairs *pairs, double *error2)
{
    const double cutoff2 = FIT_CUTOFF2 * pairs->threshold2, far2 = FAR * FAR * pairs->threshold2;
    essential_poses poses;
    int32_t front[POSES] = {0};
    if (!poses_of(e, &poses)) return;
    for (int32_t s = 0; s < pairs->n; s++) {
        if (!(error2[s] <= cutoff2)) continue;
        uint32_t in_front = poses_in_front(&poses, pairs, s, far2);
        for (int32_t c = 0; c < POSES; c++) front[c] += (int32_t)(in_front >> c & 1);
    }
    int32_t best = most_frequent(front);
    for (int32_t s = 0; s < pairs->n; s++)
        if (error2[s] <= cutoff2 && !(poses_in_front(&poses, pairs, s, far2) >> best & 1)) error2[s] = DBL_MAX;
}

/* In the band of an epipolar line as for the fundamental matrix, and in front of both cameras: half of it at most. */
static double essential_chance(double threshold) { return 0.5 * kbi_fit_band_chance(threshold); }

const fit_kind kbi_fit_essential = {
    .name = "essential",
    .sample = 5,
    FIT_BY_SAMPSON,
    .chance = essential_chance,
    .calibrated = true,
    .solve = kbi_fit_five_point,
    .screen = essential_screen,
    .gauge = essential_gauge,
    .retract = essential_retract,
};

/* A camera that only turns leaves t undetermined, yet any t then fits. The pairs that the best rotation does not
 * explain must be more than chance explains, in the whole band: most are errors of detection, with so little parallax
 * that they count as far. Weights count against parallax only: wrong pairs are coarse ones more often than others, in
 * whose wider band they would lie by chance, and an exact pair must be as far off the rotation as the median pair. */
bool kbi_fit_has_parallax(const fit_pairs *pairs, const fit_limits *limits, const fit_scratch *scratch,
                          const fit_found *found)
{
    fit_pairs part = scratch->part, plain = *pairs;
    fit_limits few = {limits->confidence, 200, limits->seed, false, false};
    fit_found turn;
    int32_t count = 0, off = 0, *slots = scratch->list.slot;
    plain.weight = NULL;
    part.n = 0;
    part.threshold2 = 4 * pairs->threshold2;
    for (int32_t k = 0; k < found->score.count; k++) kbi_fit_part_add(&part, pairs, slots[k]);
    kbi_fit_search(&kbi_fit_rotation, &part, &few, scratch, &turn);
    if (turn.score.count < kbi_fit_rotation.sample) return true;
    kbi_fit_refine(&kbi_fit_rotation, &part, scratch, &turn);
    kbi_fit_score(&kbi_fit_essential, &plain, found->model, scratch); /* the search has used the list of inliers */
    for (int32_t s = 0; s < pairs->n; s++) {
        slots[count] = s;
        count += scratch->error2[s] <= pairs->threshold2;
    }
    kbi_fit_rotation.errors(turn.model, pairs, 0, pairs->n, scratch->error2);
    for (int32_t k = 0; k < count; k++) {
        double weight = pairs->weight && pairs->weight[slots[k]] < 1 ? pairs->weight[slots[k]] : 1;
        slots[off] = slots[k];
        off += !(weight * scratch->error2[slots[k]] <= part.threshold2);
    }
    int32_t places = kbi_fit_places(pairs, slots, off, scratch, slots);
    return kbi_fit_meaningful(pairs->n - (count - off), places, 2, 2 * pairs->chance, 1);
}
