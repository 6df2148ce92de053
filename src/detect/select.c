/* Which keypoints to keep. All rules start from the total order, strongest first.
 *
 *   best    the first n.
 *   grid    the image is cut into square cells, about one for every eight keypoints wanted. The strongest of every
 *           cell come first, then the second strongest of every cell, and so on, until there are n; the last round
 *           goes by strength.
 *   spread  adaptive non-maximal suppression (Brown, Szeliski, Winder 2005; the greedy form of Bailo et al. 2018):
 *           going from the strongest to the weakest, a keypoint stays when nothing that stayed is within a radius,
 *           and the radius is the one that leaves n. Then the image is covered evenly and no two are closer than
 *           the radius, but for a few of the strongest that fill up what is missing to n. */
#include <math.h>

#include "detect/detect.h"

/* Memory of one call; entries (kbi_keypoint_entry) are in total order. */
typedef struct selection {
    const kb_keypoint *keypoints;
    uint64_t *entries, *spare; /* total each */
    size_t finite;             /* entries that are in the order; those with a number that is not finite follow */
    int32_t width, height;
    void *extra;               /* the cells of the grid or raster */
} selection;

static bool is_finite_keypoint(const kb_keypoint *k)
{
    return isfinite(k->x) && isfinite(k->y) && isfinite(k->size) && isfinite(k->angle) && isfinite(k->response);
}

static const kb_keypoint *keypoint_of(const selection *s, size_t entry)
{
    return &s->keypoints[(uint32_t)s->entries[entry]];
}

static void put_in_order(selection *s, size_t total)
{
    s->finite = 0;
    for (size_t i = 0; i < total; i++)
        if (is_finite_keypoint(&s->keypoints[i])) s->entries[s->finite++] = kbi_keypoint_entry(s->keypoints, i);
    size_t last = s->finite;
    for (size_t i = 0; i < total; i++)
        if (!is_finite_keypoint(&s->keypoints[i])) s->entries[last++] = i;
    kbi_sort_keypoints(s->entries, s->spare, s->finite, s->keypoints);
}

/* Where a coordinate falls when 0..side is cut into `cells`; what is outside counts to the nearest. */
static uint32_t cell_of(float place, int32_t side, uint32_t cells)
{
    double at = ((double)place + 0.5) / side * cells;
    return at <= 0 ? 0 : at >= cells ? cells - 1 : (uint32_t)at;
}

/* ---- grid ---- */

#define KEYPOINTS_A_CELL 8

typedef struct grid {
    uint32_t columns, rows;
    uint32_t *cell; /* how many keypoints it holds */
} grid;

static uint32_t *grid_cell(const grid *g, const selection *s, size_t item)
{
    const kb_keypoint *k = keypoint_of(s, item);
    return &g->cell[cell_of(k->y, s->height, g->rows) * g->columns + cell_of(k->x, s->width, g->columns)];
}

/* How many keypoints there are in the first `rounds` of every cell. */
static size_t grid_sum(const grid *g, uint32_t rounds)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < g->columns * g->rows; i++) sum += g->cell[i] < rounds ? g->cell[i] : rounds;
    return sum;
}

static grid grid_plan(const selection *s, size_t n)
{
    double side = sqrt((double)s->width * s->height * KEYPOINTS_A_CELL / (double)n);
    return (grid){(uint32_t)(s->width / side) + 1, (uint32_t)(s->height / side) + 1, s->extra};
}

static size_t grid_bytes(const selection *s, size_t n)
{
    grid g = grid_plan(s, n);
    return (size_t)g.columns * g.rows * sizeof *g.cell;
}

static void pick_grid(selection *s, size_t n)
{
    grid g = grid_plan(s, n);
    size_t cells = (size_t)g.columns * g.rows, kept = 0;
    memset(g.cell, 0, cells * sizeof *g.cell);
    for (size_t i = 0; i < s->finite; i++) ++*grid_cell(&g, s, i);

    uint32_t full = 0, over = (uint32_t)s->finite; /* so many rounds fit in n; so many do not (or there are no more) */
    while (over - full > 1) {
        uint32_t middle = full + (over - full) / 2;
        if (grid_sum(&g, middle) <= n) full = middle;
        else over = middle;
    }
    size_t extra = n - grid_sum(&g, full);
    memset(g.cell, 0, cells * sizeof *g.cell);
    for (size_t i = 0; i < s->finite; i++) {
        uint32_t round = (*grid_cell(&g, s, i))++;
        if (round > full || (round == full && extra == 0)) continue;
        if (round == full) extra--;
        s->entries[kept++] = s->entries[i];
    }
}

/* ---- spread ---- */

#define CELLS_A_KEYPOINT 8
#define RADIUS_STEPS 16
#define FILL_UP 64 /* 1 in so many may be missing when the search for the radius ends */
#define NOBODY UINT32_MAX

/* Cells whose diagonal is the radius, so that one keypoint stays in each at most. */
typedef struct raster {
    double radius, side;
    int32_t columns, rows;
    uint32_t *cell; /* which item stayed there */
} raster;

/* Below the least radius suppression would be about chance neighbours, and there would be too many cells. */
static double least_radius(const selection *s, size_t total)
{
    return sqrt(2.0 * s->width * s->height / CELLS_A_KEYPOINT / (double)total);
}

static raster raster_of(const selection *s, double radius)
{
    double side = radius / sqrt(2.0);
    return (raster){radius, side, (int32_t)(s->width / side) + 1, (int32_t)(s->height / side) + 1, s->extra};
}

static size_t raster_bytes(const selection *s, size_t total)
{
    raster r = raster_of(s, least_radius(s, total));
    return (size_t)r.columns * (size_t)r.rows * sizeof *r.cell;
}

typedef struct place {
    double x, y;
} place;

/* A keypoint outside the image counts as lying on its border. */
static place place_of(const selection *s, size_t item)
{
    const kb_keypoint *k = keypoint_of(s, item);
    double x = k->x, y = k->y, right = s->width - 1, bottom = s->height - 1;
    return (place){x < 0 ? 0 : x > right ? right : x, y < 0 ? 0 : y > bottom ? bottom : y};
}

/* True when something that stayed is closer than the radius: it must be within two cells. */
static bool is_suppressed(const raster *r, const selection *s, place at)
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
static size_t thin_out(selection *s, double radius)
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

/* Thins out by the least radius that leaves no more than n, as far as halving the range a few times finds it. */
static size_t thin_out_to(selection *s, size_t total, size_t n)
{
    double low = least_radius(s, total), high = 2.0 * (s->width + s->height);
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

static void pick_spread(selection *s, size_t total, size_t n)
{
    size_t extra = n - thin_out_to(s, total, n), kept = 0;
    for (size_t i = 0; i < s->finite; i++) {
        if (!s->spare[i] && extra == 0) continue;
        if (!s->spare[i]) extra--;
        s->entries[kept++] = s->entries[i];
    }
}

/* ---- the front door ---- */

/* Moves the picked keypoints to the front, in order. */
static void move_to_front(const selection *s, kb_keypoint *keypoints, kb_keypoint *copy, size_t n)
{
    for (size_t i = 0; i < n; i++) copy[i] = *keypoint_of(s, i);
    memcpy(keypoints, copy, n * sizeof *keypoints);
}

kb_status kb_select(kb_keypoint *keypoints, size_t total, int32_t width, int32_t height, kb_selection rule, size_t n,
                    kb_workspace *workspace, size_t *count)
{
    if (!count || (total > 0 && !keypoints)) return KB_E_ARGUMENT;
    if (width < 1 || height < 1 || width > 65535 || height > 65535) return KB_E_ARGUMENT;
    if (rule != KB_SELECT_BEST && rule != KB_SELECT_GRID && rule != KB_SELECT_SPREAD) return KB_E_ARGUMENT;
    if (total > UINT32_MAX / 2) return KB_E_ARGUMENT;
    if (n > total) n = total;
    *count = n;
    if (n == 0) return KB_OK;

    kb_workspace local;
    workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(workspace);
    selection s = {.keypoints = keypoints, .width = width, .height = height};
    size_t list = total * sizeof(uint64_t);
    size_t extra = rule == KB_SELECT_GRID ? grid_bytes(&s, n) : rule == KB_SELECT_SPREAD ? raster_bytes(&s, total) : 0;
    uint8_t *memory = kbi_workspace_get(workspace, 2 * list + extra + n * sizeof *keypoints);
    if (memory) {
        s.entries = (uint64_t *)(void *)memory;
        s.spare = s.entries + total;
        s.extra = s.spare + total;
        put_in_order(&s, total);
        if (rule == KB_SELECT_GRID && n < s.finite) pick_grid(&s, n);
        if (rule == KB_SELECT_SPREAD && n < s.finite) pick_spread(&s, total, n);
        move_to_front(&s, keypoints, (kb_keypoint *)(void *)(memory + 2 * list + extra), n);
    }
    kbi_workspace_rewind(workspace, mark);
    kbi_workspace_release(&local);
    return memory ? KB_OK : KB_E_MEMORY;
}
