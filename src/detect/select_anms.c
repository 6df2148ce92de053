/* SPDX-License-Identifier: Apache-2.0 */
/* Adaptive non-maximal suppression (Brown, Szeliski, Winder 2005; the greedy form of Bailo et al. 2018): going from the
 * strongest to the weakest, a keypoint stays when no keypoint that stayed is within a radius; the radius is searched so
 * that n stay. They cover the image evenly. Where slightly fewer stay, the strongest of the rest fill the list up. */
#include <math.h>

#include "detect/select.h"

#define CELLS_A_KEYPOINT 8
#define RADIUS_STEPS 16
#define FILL_UP 64 /* the search for the radius ends when at most n / FILL_UP keypoints are missing */
#define NOBODY UINT32_MAX

/* Cells whose diagonal is the radius, so that one keypoint stays in each at most. */
typedef struct raster {
    double radius, side;
    int32_t columns, rows;
    uint32_t *cell; /* which item stayed there */
} raster;

/* The min radius: below it suppression would only drop chance neighbours, and there would be too many cells. */
static double least_radius(const kbi_selection *s)
{
    return sqrt(2.0 * s->width * s->height / CELLS_A_KEYPOINT / (double)s->total);
}

static raster raster_of(const kbi_selection *s, double radius)
{
    double side = radius / sqrt(2.0);
    return (raster){radius, side, (int32_t)(s->width / side) + 1, (int32_t)(s->height / side) + 1, s->extra};
}

size_t kbi_select_anms_bytes(const kbi_selection *s, size_t n)
{
    (void)n;
    raster r = raster_of(s, least_radius(s));
    return (size_t)r.columns * (size_t)r.rows * sizeof *r.cell;
}

typedef struct place {
    double x, y;
} place;

/* A keypoint outside the image counts as lying on its border. */
static place place_of(const kbi_selection *s, size_t item)
{
    const kb_keypoint *k = kbi_selection_keypoint(s, item);
    double x = k->x, y = k->y, right = s->width - 1, bottom = s->height - 1;
    return (place){x < 0 ? 0 : x > right ? right : x, y < 0 ? 0 : y > bottom ? bottom : y};
}

/* True when something that stayed is closer than the radius: it must be within two cells. */
static bool is_suppressed(const raster *r, const kbi_selection *s, place at)
{
    int32_t column = (int32_t)(at.x / r->side), row = (int32_t)(at.y / r->side);
    if (r->cell[(size_t)row * (size_t)r->columns + (size_t)column] != NOBODY) return true;
    for (int32_t y = kbi_max_i(row - 2, 0); y <= kbi_min_i(row + 2, r->rows - 1); y++)
        for (int32_t x = kbi_max_i(column - 2, 0); x <= kbi_min_i(column + 2, r->columns - 1); x++) {
            uint32_t other = r->cell[(size_t)y * (size_t)r->columns + (size_t)x];
            if (other == NOBODY) continue;
            place there = place_of(s, other);
            double dx = there.x - at.x, dy = there.y - at.y;
            if (dx * dx + dy * dy < r->radius * r->radius) return true;
        }
    return false;
}

/* Marks what stays by 1 in spare; returns how many. */
static size_t thin_out(kbi_selection *s, double radius)
{
    raster r = raster_of(s, radius);
    size_t kept = 0, cells = (size_t)r.columns * (size_t)r.rows;
    for (size_t i = 0; i < cells; i++) r.cell[i] = NOBODY;
    for (size_t i = 0; i < s->finite; i++) {
        place at = place_of(s, i);
        bool stays = !is_suppressed(&r, s, at);
        s->spare[i] = stays;
        if (!stays) continue;
        kept++;
        r.cell[(size_t)(at.y / r.side) * (size_t)r.columns + (size_t)(at.x / r.side)] = (uint32_t)i;
    }
    return kept;
}

/* Thins out by the min radius that leaves no more than n, found by halving the range RADIUS_STEPS times. */
static size_t thin_out_to(kbi_selection *s, size_t n)
{
    double low = least_radius(s), high = 2.0 * (s->width + s->height);
    size_t kept = thin_out(s, low);
    if (kept <= n) return kept;
    for (int32_t step = 0; step < RADIUS_STEPS; step++) {
        double middle = sqrt(low * high);
        kept = thin_out(s, middle);
        if (kept <= n && kept + n / FILL_UP >= n) return kept;
        if (kept <= n) high = middle;
        else low = middle;
    }
    return thin_out(s, high);
}

void kbi_select_anms(kbi_selection *s, size_t n)
{
    size_t extra = n - thin_out_to(s, n), kept = 0;
    for (size_t i = 0; i < s->finite; i++) {
        if (!s->spare[i] && extra == 0) continue;
        if (!s->spare[i]) extra--;
        s->entries[kept++] = s->entries[i];
    }
}
