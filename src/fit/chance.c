/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Whether a model is accepted: its inliers must be more than chance explains.
 *
 * A-contrario reasoning (Moisan and Stival 2004): if all pairs were wrong and their points in image 2 fell anywhere,
 * how many models with k inliers of n would one expect to find? There are C(n, k) sets of k pairs, C(k, m) samples in
 * each that give a model, the other k - m pairs fit with probability `chance` each, and any of n - m values of k
 * would have been accepted:
 *     (n - m) C(n, k) C(k, m) chance^(k - m).
 * Below 1 the model is accepted. A caller who takes the best of several looks multiplies that; and where a filter chose
 * the pairs, n is the number it chose from, since it had all of them to find some that agree.
 *
 * This assumes independent pairs, but detectors find one corner several times, on several pyramid levels, and fine
 * print as a cluster of corners: where one of them fits by chance its neighbours do too. So pairs that are one place,
 * within 2 px of each other in both images, count once, and so do places whose points of image 2 lie in one cell, a few
 * thresholds wide. Among the n of a pose, though, a cell counts as often as it was offered other parts of the scene. */
#include <math.h>

#include "fit/fit.h"

#define CELL 4.0 /* thresholds */

bool kbi_fit_meaningful(int32_t n, int32_t k, int32_t m, double chance, double looks)
{
    if (n <= m) return k == n; /* nothing is left that could speak for or against it */
    if (k < m) return false;
    double expected = looks * (n - m);
    int32_t scale = 0; /* expected is to be multiplied by 1e100^scale */
    for (int32_t i = 1; i <= m; i++) expected *= (double)(k - m + i) / i;
    for (int32_t i = 1; i <= k; i++) {
        double factor = (double)(n - k + i) / i;
        if (i <= k - m) factor *= chance;
        expected *= factor;
        if (expected > 1e100) expected *= 1e-100, scale++;
        if (expected < 1e-100) expected *= 1e100, scale--;
        if (scale < -2 && factor < 1) return true; /* factors fall, and the last m, without chance, cannot make it up */
    }
    return scale < 0 || (scale == 0 && expected < 1);
}

/* A cell of a grid along one axis: the floor of x, without a call. Points far away share the outermost cells, and what
 * overflowed to NaN is there, too. */
static int64_t cell_along(double x)
{
    const double max = 2e9;
    x = x < max ? (x > -max ? x : -max) : max;
    int64_t cell = (int64_t)x;
    return cell - ((double)cell > x);
}

/* ---- places ----
 * A hash table leads from cells, PLACE_CELLS times as wide as a place, in the coordinates of both images, to the places
 * found there. A place touches one cell, or two along an axis where it is near the edge. */

#define PLACE_CELLS 8.0

/* The pixels of a pair, both images' or, of a scene point, image 2's. */
static const double *pixels_of(const fit_pairs *pairs, int32_t s, int32_t *axes)
{
    const fit_input *input = &pairs->input;
    *axes = input->stride == 4 ? 4 : 2;
    return input->values + (size_t)pairs->origin[s] * (size_t)input->stride + (input->stride - *axes);
}

static bool one_place(const double *a, const double *b, int32_t axes, double radius2)
{
    for (int32_t k = 0; k < axes; k += 2) {
        double dx = a[k] - b[k], dy = a[k + 1] - b[k + 1];
        if (!(dx * dx + dy * dy <= radius2)) return false;
    }
    return true;
}

/* The free entry for a cell, or NULL when its chain has a place with these pixels. */
static int32_t *place_find(const fit_pairs *pairs, int32_t *table, size_t mask, uint64_t hash, const double *pixels)
{
    size_t at = (size_t)(hash >> 32) & mask;
    int32_t axes;
    for (; table[at]; at = (at + 1) & mask) {
        const double *other = pixels_of(pairs, table[at] - 1, &axes);
        if (one_place(pixels, other, axes, pairs->place * pairs->place)) return NULL;
    }
    return &table[at];
}

/* Enters the slot and returns true, unless the table has its place already. The hash of a cell is a sum over the
 * axes. */
static bool new_place(const fit_pairs *pairs, int32_t *table, size_t mask, int32_t s)
{
    static const uint64_t odd[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u};
    const double reach = 1.0001 / PLACE_CELLS; /* of a place, in cells; rounding must not lose one at its edge */
    int32_t axes, *entry = NULL;
    const double *pixels = pixels_of(pairs, s, &axes), cells = 1 / (PLACE_CELLS * pairs->place);
    uint64_t own = 0, other[4];
    uint32_t split = 0, corner = 0; /* the axes along which it touches a second cell */
    for (int32_t k = 0; k < axes; k++) {
        double x = pixels[k] * cells;
        int64_t cell = cell_along(x);
        double inside = x - (double)cell;
        own += (uint64_t)cell * odd[k];
        other[k] = inside < 0.5 ? 0 - odd[k] : odd[k]; /* to the neighbour on the nearer side */
        split |= (uint32_t)(inside < reach || inside > 1 - reach) << k;
    }
    do {
        uint64_t hash = own;
        for (int32_t k = 0; k < axes; k++) hash += corner >> k & 1 ? other[k] : 0;
        int32_t *at = place_find(pairs, table, mask, (hash ^ hash >> 32) * odd[0], pixels);
        if (!at) return false;
        if (corner == 0) entry = at;
        corner = (corner - split) & split; /* the next set of these axes */
    } while (corner);
    *entry = s + 1;
    return true;
}

int32_t kbi_fit_places(const fit_pairs *pairs, const int32_t *list, int32_t n, const fit_scratch *scratch, int32_t *out)
{
    int32_t *table = (int32_t *)(void *)scratch->part.x1, count = 0; /* room for 8 n entries; fewer than 4 n are used */
    size_t size = 4;
    while (size < 2 * (size_t)n) size *= 2;
    memset(table, 0, size * sizeof *table);
    for (int32_t k = 0; k < n; k++) {
        int32_t s = list ? list[k] : k;
        if (new_place(pairs, table, size - 1, s)) out[count++] = s;
    }
    return count;
}

/* ---- crowds ---- */

static uint64_t image_cell_of(const fit_pairs *pairs, int32_t s, double cells)
{
    int64_t x = cell_along(pairs->x2[s] * cells), y = cell_along(pairs->y2[s] * cells);
    return (uint64_t)(x + 2000000001) << 32 | (uint32_t)y; /* never 0, which is a free place */
}

/* The same, together with the cell of the scene point. Its side is the same share of the extent of the scene points as
 * a cell of image 2 is of the extent of its points. */
static uint64_t scene_cell_of(const fit_pairs *pairs, int32_t s, double cells)
{
    double scene = cells / (pairs->pixel * pairs->frame2.scale);
    const double point[3] = {pairs->x1[s], pairs->y1[s], pairs->z1[s]};
    uint64_t hash = image_cell_of(pairs, s, cells);
    for (int32_t k = 0; k < 3; k++)
        hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u + (uint64_t)cell_along(point[k] * scene);
    return hash | 1;
}

/* How many cells hold the n slots listed. */
static int32_t count_cells(const fit_pairs *pairs, const int32_t *list, int32_t n, bool scene,
                           const fit_scratch *scratch)
{
    uint64_t *table = (uint64_t *)(void *)scratch->part.x1; /* 4 n entries */
    double cells = 1 / (CELL * sqrt(pairs->threshold2));
    size_t size = 8;
    int32_t count = 0;
    while (size < 2 * (size_t)n) size *= 2;
    memset(table, 0, size * sizeof *table);
    for (int32_t k = 0; k < n; k++) {
        int32_t s = list ? list[k] : k;
        uint64_t cell = scene ? scene_cell_of(pairs, s, cells) : image_cell_of(pairs, s, cells);
        size_t place = (size_t)((cell * 0x9e3779b97f4a7c15u) >> 32) & (size - 1);
        while (table[place] && table[place] != cell) place = (place + 1) & (size - 1);
        count += !table[place];
        table[place] = cell;
    }
    return count;
}

/* How many independent pairs there are: cells that hold a place. Keypoints in one cell that were offered different
 * parts of the scene may each meet theirs by chance, while pairs of two images at one place are one corner found
 * again. */
static int32_t independent_pairs(const fit_pairs *pairs, const fit_scratch *scratch)
{
    if (pairs->z1) return count_cells(pairs, NULL, pairs->n, true, scratch);
    int32_t *places = scratch->part.slot, all = kbi_fit_places(pairs, NULL, pairs->n, scratch, places);
    return count_cells(pairs, places, all, false, scratch);
}

/* Whether `inliers` independent inliers among n pairs, and the candidates left behind, are more than chance
 * explains. */
static bool believable(const fit_kind *kind, const fit_pairs *pairs, int32_t n, int32_t inliers)
{
    double all = ceil(n * pairs->candidates);
    n = all < INT32_MAX ? (int32_t)all : INT32_MAX;
    return kbi_fit_meaningful(n, inliers, kind->sample, pairs->chance, pairs->looks);
}

bool kbi_fit_significant(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch,
                         const fit_found *found)
{
    int32_t *places = scratch->part.slot, inliers = count_cells(pairs, places, found->places, false, scratch);
    if (believable(kind, pairs, pairs->n, inliers)) return true;
    if (!believable(kind, pairs, independent_pairs(pairs, scratch), inliers)) return false;
    kbi_fit_places(pairs, scratch->list.slot, found->score.count, scratch, places); /* overwritten by the count */
    return true;
}

int32_t kbi_fit_least_inliers(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch)
{
    int32_t max = independent_pairs(pairs, scratch), low = kind->sample, high = max;
    if (!believable(kind, pairs, max, max)) return 0;
    while (low < high) { /* more inliers are more believable */
        int32_t middle = low + (high - low) / 2;
        if (believable(kind, pairs, max, middle)) high = middle;
        else low = middle + 1;
    }
    return high;
}

/* ---- lines ---- */

bool kbi_fit_off_line(const fit_pairs *pairs, const int32_t *places, int32_t count)
{
    double mx = 0, my = 0, cov[4] = {0}, values[2], axes[4];
    int32_t near_line = 0;
    for (int32_t k = 0; k < count; k++) mx += pairs->x2[places[k]], my += pairs->y2[places[k]];
    mx /= count, my /= count;
    for (int32_t k = 0; k < count; k++) {
        double x = pairs->x2[places[k]] - mx, y = pairs->y2[places[k]] - my;
        cov[0] += x * x, cov[1] += x * y, cov[3] += y * y;
    }
    cov[2] = cov[1];
    kbi_fit_eigen(cov, 2, values, axes);
    for (int32_t k = 0; k < count; k++) {
        double x = pairs->x2[places[k]] - mx, y = pairs->y2[places[k]] - my;
        double d = x * axes[0] + y * axes[1];
        near_line += d * d <= pairs->threshold2;
    }
    return kbi_fit_meaningful(pairs->n - near_line, count - near_line, 2, pairs->chance, 1);
}
