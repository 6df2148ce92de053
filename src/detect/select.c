/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Which keypoints to keep. All rules start from the total order, strongest first.
 *
 *   best      the first n.
 *   grid      the image is cut into square cells, about one for every eight keypoints wanted. The strongest of every
 *             cell come first, then the second strongest of every cell, and so on, until there are n; the last round
 *             goes by strength.
 *   quadtree  the strongest of each leaf of a quad-tree with n leaves (select_quadtree.c). */
#include <math.h>

#include "common/features.h"
#include "detect/select.h"

static bool is_finite_keypoint(const kb_keypoint *k)
{
    return isfinite(k->x) && isfinite(k->y) && isfinite(k->size) && isfinite(k->angle) && isfinite(k->response);
}

static void put_in_order(kbi_selection *s)
{
    size_t others = 0;
    s->finite = 0;
    for (size_t i = 0; i < s->total; i++) {
        if (is_finite_keypoint(&s->keypoints[i])) s->entries[s->finite++] = kbi_keypoint_entry(s->keypoints, i);
        else s->spare[others++] = i;
    }
    if (others > 0) memcpy(s->entries + s->finite, s->spare, others * sizeof *s->entries);
    kbi_sort_keypoints(s->entries, s->spare, s->finite, s->keypoints);
}

/* The cell of a coordinate when 0..side is cut into `cells`; coordinates outside belong to the nearest cell. */
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

static uint32_t *grid_cell(const grid *g, const kbi_selection *s, size_t item)
{
    const kb_keypoint *k = kbi_selection_keypoint(s, item);
    return &g->cell[cell_of(k->y, s->height, g->rows) * g->columns + cell_of(k->x, s->width, g->columns)];
}

/* How many keypoints there are in the first `rounds` of every cell. */
static size_t grid_sum(const grid *g, uint32_t rounds)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < g->columns * g->rows; i++) sum += g->cell[i] < rounds ? g->cell[i] : rounds;
    return sum;
}

static grid grid_plan(const kbi_selection *s, size_t n)
{
    double side = sqrt((double)s->width * s->height * KEYPOINTS_A_CELL / (double)n);
    return (grid){(uint32_t)(s->width / side) + 1, (uint32_t)(s->height / side) + 1, s->extra};
}

size_t kbi_select_grid_bytes(const kbi_selection *s, size_t n)
{
    grid g = grid_plan(s, n);
    return (size_t)g.columns * g.rows * sizeof *g.cell;
}

void kbi_select_grid(kbi_selection *s, size_t n)
{
    grid g = grid_plan(s, n);
    size_t cells = (size_t)g.columns * g.rows, kept = 0;
    memset(g.cell, 0, cells * sizeof *g.cell);
    for (size_t i = 0; i < s->finite; i++) ++*grid_cell(&g, s, i);

    uint32_t full = 0, over = (uint32_t)s->finite; /* `full` rounds fit in n; `over` rounds do not, or are all */
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

/* ---- public call ---- */

bool kbi_select_knows(kb_selection rule)
{
    int32_t count = 0;
    while (kbi_select_rules[count].name) count++;
    return (int32_t)rule >= 0 && (int32_t)rule < count;
}

const char *kbi_selection_name(int32_t rule)
{
    return kbi_select_knows((kb_selection)rule) ? kbi_select_rules[rule].name : NULL;
}

/* Moves the picked keypoints to the front, in order. */
static void move_to_front(const kbi_selection *s, kb_keypoint *keypoints, kb_keypoint *copy, size_t n)
{
    for (size_t i = 0; i < n; i++) copy[i] = *kbi_selection_keypoint(s, i);
    memcpy(keypoints, copy, n * sizeof *keypoints);
}

/* Bytes beyond the two lists of entries that a rule needs. */
static size_t extra_bytes(const kbi_selection *s, kb_selection rule, size_t n)
{
    return kbi_select_rules[rule].bytes ? kbi_select_rules[rule].bytes(s, n) : 0;
}

/* Memory of the selection, and for a copy of n keypoints; NULL when it is out. */
static kb_keypoint *selection_get(kbi_selection *s, kb_selection rule, size_t n, kb_workspace *workspace)
{
    kb_keypoint *copy = kbi_workspace_get(workspace, n * sizeof *copy);
    s->entries = kbi_workspace_get(workspace, s->total * sizeof *s->entries);
    s->spare = kbi_workspace_get(workspace, s->total * sizeof *s->spare);
    s->extra = kbi_workspace_get(workspace, extra_bytes(s, rule, n));
    return s->entries && s->spare && s->extra ? copy : NULL;
}

kb_status kbi_select_measure(size_t total, size_t n, int32_t width, int32_t height, kb_selection rule,
                             kb_workspace *workspace)
{
    kbi_selection s = {.total = total, .width = width, .height = height};
    size_t mark = kbi_workspace_mark(workspace);
    if (rule == KB_SELECTION_DEFAULT) rule = KBI_SELECTION_OF_DEFAULT;
    bool fits = total == 0 || selection_get(&s, rule, n < total ? n : total, workspace);
    kbi_workspace_rewind(workspace, mark);
    return fits ? KB_OK : KB_E_MEMORY;
}

kb_status kbi_select(kb_keypoint *keypoints, size_t total, int32_t width, int32_t height, kb_selection rule, size_t n,
                     kb_workspace *workspace, size_t *count)
{
    kbi_selection s = {.keypoints = keypoints, .total = total, .width = width, .height = height};
    if (rule == KB_SELECTION_DEFAULT) rule = KBI_SELECTION_OF_DEFAULT;
    if (n > total) n = total;
    *count = n;
    if (n == 0) return KB_OK;
    size_t mark = kbi_workspace_mark(workspace);
    kb_keypoint *copy = selection_get(&s, rule, n, workspace);
    if (copy) {
        put_in_order(&s);
        if (n < s.finite && kbi_select_rules[rule].pick) kbi_select_rules[rule].pick(&s, n);
        move_to_front(&s, keypoints, copy, n);
    }
    kbi_workspace_rewind(workspace, mark);
    return copy ? KB_OK : KB_E_MEMORY;
}

kb_status kb_select(kb_selection rule, size_t n, kb_workspace *workspace, kb_features *features, kb_error *error)
{
    kb_features f;
    kbi_error_clear(error);
    kb_status status = kbi_features_read(&f, features, "features", KBI_KEYPOINTS, UINT32_MAX / 2, error);
    if (status != KB_OK) return status;
    if (f.width < 1 || f.height < 1 || f.width > 65535 || f.height > 65535)
        return kbi_fail_at(error, KB_E_ARGUMENT, "width", -1, "an image of %d x %d, but sides must be 1 to 65535",
                           (int)f.width, (int)f.height);
    if (f.rows || f.flags)
        return kbi_fail_at(error, KB_E_ARGUMENT, f.rows ? "rows" : "flags", -1,
                           "keypoints are selected before they are "
                           "described: rows and flags must be NULL");
    if (!kbi_select_knows(rule))
        return kbi_fail_at(error, KB_E_ARGUMENT, "selection", -1, "there is no selection %d", (int)rule);
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = kbi_select(f.keypoints, f.n, f.width, f.height, rule, n, ws, &f.n);
    if (status == KB_OK) kbi_features_write(features, &f);
    return kbi_workspace_end(&local, status, "keypoints, width, height", error);
}
