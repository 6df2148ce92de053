/* Whether a model is accepted: its inliers must be more than chance explains.
 *
 * A-contrario reasoning (Moisan and Stival 2004): if all pairs were wrong and their points in image 2 fell anywhere,
 * how many models with k inliers of n would one expect to find? There are C(n, k) sets of k pairs, C(k, m) samples in
 * each that give a model, the other k - m pairs fit with probability `chance` each, and any of n - m values of k
 * would have been accepted:
 *     (n - m) C(n, k) C(k, m) chance^(k - m).
 * Below 1 the model is accepted.
 *
 * This assumes independent pairs, but detectors find one corner several times, on several pyramid levels, and fine
 * print as a cluster of corners: where one of them fits by chance its neighbours do too. So pairs whose points
 * of image 2 lie in one cell, a few thresholds wide, count as one. */
#include <math.h>

#include "fit/fit.h"

#define CELL 4.0 /* thresholds */

bool kbi_fit_meaningful(int32_t n, int32_t k, int32_t m, double chance)
{
    if (n <= m) return k == n; /* nothing is left that could speak for or against it */
    if (k < m) return false;
    double expected = n - m;
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

/* ---- crowds ---- */

static uint64_t cell_of(const fit_pairs *pairs, int32_t s, double cells)
{
    const double most = 2e9; /* points beyond share the outermost cells, and what overflowed to NaN is there, too */
    double x = floor(pairs->x2[s] * cells), y = floor(pairs->y2[s] * cells);
    x = x < most ? (x > -most ? x : -most) : most;
    y = y < most ? (y > -most ? y : -most) : most;
    return (uint64_t)(x + most + 1) << 32 | (uint64_t)(y + most); /* never 0, which is a free place */
}

/* How many cells hold the n slots listed, or the first n when the list is NULL; it stops at `enough` cells. The table
 * has room for 4 n entries. */
static int32_t count_cells(const fit_pairs *pairs, const int32_t *list, int32_t n, int32_t enough, uint64_t *table)
{
    double cells = 1 / (CELL * sqrt(pairs->threshold2));
    size_t size = 8;
    int32_t count = 0;
    while (size < 2 * (size_t)kbi_min_i(n, enough)) size *= 2;
    memset(table, 0, size * sizeof *table);
    for (int32_t k = 0; k < n && count < enough; k++) {
        uint64_t cell = cell_of(pairs, list ? list[k] : k, cells);
        size_t place = (size_t)((cell * 0x9e3779b97f4a7c15u) >> 32) & (size - 1);
        while (table[place] && table[place] != cell) place = (place + 1) & (size - 1);
        count += !table[place];
        table[place] = cell;
    }
    return count;
}

/* A number of inliers from which on every number is more than chance explains, or INT32_MAX. One inlier more changes
 * what is expected by (n - k) / (k + 1 - m) x chance, which falls with k: once it is below 1, it stays there. */
static int32_t enough_inliers(int32_t n, int32_t m, double chance)
{
    for (int32_t k = 2 * m; k < n; k *= 2)
        if ((n - k) * chance < k + 1 - m && kbi_fit_meaningful(n, k, m, chance)) return k;
    return INT32_MAX;
}

bool kbi_fit_significant(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, int32_t count)
{
    uint64_t *table = (uint64_t *)(void *)scratch->part.x1; /* four arrays of n, not in use now */
    int32_t enough = enough_inliers(pairs->n, kind->sample, pairs->chance);
    int32_t inliers = count_cells(pairs, scratch->list.slot, count, enough, table);
    if (inliers >= enough || kbi_fit_meaningful(pairs->n, inliers, kind->sample, pairs->chance)) return true;
    int32_t all = count_cells(pairs, NULL, pairs->n, INT32_MAX, table);
    return kbi_fit_meaningful(all, inliers, kind->sample, pairs->chance);
}

/* ---- lines ---- */

bool kbi_fit_off_line(const fit_pairs *pairs, const int32_t *inliers, int32_t count)
{
    double mx = 0, my = 0, cov[4] = {0}, values[2], axes[4];
    int32_t near_line = 0, off = 0;
    for (int32_t k = 0; k < count; k++) mx += pairs->x2[inliers[k]], my += pairs->y2[inliers[k]];
    mx /= count, my /= count;
    for (int32_t k = 0; k < count; k++) {
        double x = pairs->x2[inliers[k]] - mx, y = pairs->y2[inliers[k]] - my;
        cov[0] += x * x, cov[1] += x * y, cov[3] += y * y;
    }
    cov[2] = cov[1];
    kbi_fit_eigen(cov, 2, values, axes);
    for (int32_t k = 0; k < count; k++) {
        double x = pairs->x2[inliers[k]] - mx, y = pairs->y2[inliers[k]] - my;
        double d = x * axes[0] + y * axes[1];
        if (d * d <= pairs->threshold2) near_line++;
        else off++;
    }
    return kbi_fit_meaningful(pairs->n - near_line, off, 2, pairs->chance);
}
