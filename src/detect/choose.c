/* Which peaks become keypoints: maxima over scale, one per place, chosen over the whole image; or, with every_level, a
 * share of each level. */
#include "detect/corners.h"

/* ---- one keypoint per place ---- */

/* Keypoints nearer than SEPARATION of the size of the smaller, and nearer than MAX_SEPARATION px, compete for a place:
 * the stronger stays. */
#define SEPARATION 0.05
#define MAX_SEPARATION 8.0
#define NOBODY UINT32_MAX

/* Cells of MAX_SEPARATION px, each with a list of the keypoints that stay in it. */
typedef struct raster {
    int32_t columns, rows;
    uint32_t *cell, *next;
} raster;

static bool is_taken(const raster *r, const kb_keypoint *keypoints, const kb_keypoint *k, int32_t column, int32_t row)
{
    for (int32_t y = kbi_max_i(row - 1, 0); y <= kbi_min_i(row + 1, r->rows - 1); y++)
        for (int32_t x = kbi_max_i(column - 1, 0); x <= kbi_min_i(column + 1, r->columns - 1); x++)
            for (uint32_t i = r->cell[y * r->columns + x]; i != NOBODY; i = r->next[i]) {
                double dx = (double)keypoints[i].x - k->x, dy = (double)keypoints[i].y - k->y;
                double radius = SEPARATION * (keypoints[i].size < k->size ? keypoints[i].size : k->size);
                if (radius > MAX_SEPARATION) radius = MAX_SEPARATION;
                if (dx * dx + dy * dy < radius * radius) return true;
            }
    return false;
}

/* The keypoints of the first `room` places, strongest first. */
static size_t separate(const kbi_corners *c, raster *r, uint64_t *entries, uint64_t *spare, size_t room)
{
    size_t n = 0, kept = 0;
    for (int32_t level = 0; level < c->levels.count; level++) /* equal ones in the order of levels */
        for (size_t i = 0; i < c->peaks.count; i++)
            if (c->peaks.peak[i].level == level)
                entries[n++] = (uint64_t)~kbi_float_order(c->peaks.peak[i].response) << 32 | i;
    kbi_sort_upper(entries, spare, n);
    memset(r->cell, 0xff, (size_t)r->columns * (size_t)r->rows * sizeof *r->cell); /* NOBODY */
    for (size_t i = 0; i < n && kept < room; i++) {
        kb_keypoint k = kbi_corner_keypoint(c, (uint32_t)entries[i]);
        int32_t column = kbi_clamp_i((int32_t)(k.x / MAX_SEPARATION), 0, r->columns - 1);
        int32_t row = kbi_clamp_i((int32_t)(k.y / MAX_SEPARATION), 0, r->rows - 1);
        if (is_taken(r, c->keypoints, &k, column, row)) continue;
        r->next[kept] = r->cell[row * r->columns + column];
        r->cell[row * r->columns + column] = (uint32_t)kept;
        c->keypoints[kept++] = k;
    }
    return kept;
}

static kb_status choose_places(kbi_corners *c)
{
    const kb_image *image = &c->job->image;
    const kb_detect_options *options = &c->job->options;
    kb_workspace *workspace = c->job->workspace;
    size_t n = (size_t)options->max_keypoints;
    raster r = {(int32_t)(image->width / MAX_SEPARATION) + 1, (int32_t)(image->height / MAX_SEPARATION) + 1, NULL, NULL};
    /* One after the other in the same memory: the bits of maxima, the entries of places. */
    size_t bytes = kbi_maxima_bytes(&c->levels), entry_bytes = 2 * c->peaks.room * sizeof(uint64_t);
    uint64_t *entries = kbi_workspace_get(workspace, bytes > entry_bytes ? bytes : entry_bytes);
    r.cell = kbi_workspace_get(workspace, (size_t)r.columns * (size_t)r.rows * sizeof *r.cell);
    r.next = kbi_workspace_get(workspace, c->room * sizeof *r.next);
    if (!entries || !r.cell || !r.next) return KB_E_MEMORY;
    if (workspace->measures && c->room <= n) return KB_OK;
    if (workspace->measures)
        return kbi_select_measure(c->room, n, image->width, image->height, options->selection, workspace);
    kbi_maxima_keep(&c->levels, &c->peaks, entries);
    c->count = separate(c, &r, entries, entries + c->peaks.room, c->room);
    if (c->count <= n) return KB_OK;
    return kb_select(c->keypoints, c->count, image->width, image->height, options->selection, n, workspace, &c->count);
}

/* ---- a share of every level ---- */

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
    size_t corners[KB_PYRAMID_MAX_LEVELS] = {0}, share[KB_PYRAMID_MAX_LEVELS], from = 0, n = (size_t)options->max_keypoints;
    kb_status status = KB_OK;
    if (c->job->workspace->measures)
        return kbi_select_measure(c->room, n, image->width, image->height, options->selection, c->job->workspace);
    for (int32_t level = 0; level < c->levels.count; level++)
        for (size_t i = 0; i < c->peaks.count; i++)
            if (c->peaks.peak[i].level == level) {
                corners[level]++;
                c->keypoints[from++] = kbi_corner_keypoint(c, i);
            }
    from = 0;
    share_levels(&c->levels, corners, n, share);
    for (int32_t i = 0; i < c->levels.count && status == KB_OK; from += corners[i++]) {
        status = kb_select(c->keypoints + from, corners[i], image->width, image->height, options->selection, share[i],
                           c->job->workspace, &n);
        if (n > 0) memmove(c->keypoints + c->count, c->keypoints + from, n * sizeof *c->keypoints);
        c->count += n;
    }
    return status;
}

/* ---- both ---- */

#define KEEP 5 /* peaks per keypoint: a fifth to a half of them are maxima */

bool kbi_corners_takes_strongest(const kb_detect_options *options)
{
    return options->selection == KB_SELECTION_BEST && !options->every_level;
}

/* Rules that look at places, and shares of levels, choose among more peaks than a photograph has. */
size_t kbi_corners_keep(const kbi_corners *c, int32_t level)
{
    const kbi_level *at = &c->levels.level[c->job->options.every_level ? level : 0];
    size_t keep = KEEP * (size_t)c->job->options.max_keypoints;
    size_t many = (size_t)at->width * (size_t)at->height / 16;
    return kbi_corners_takes_strongest(&c->job->options) || many < keep ? keep : many;
}

kb_status kbi_corners_choose(kbi_corners *c)
{
    return c->job->options.every_level ? choose_per_level(c) : choose_places(c);
}
