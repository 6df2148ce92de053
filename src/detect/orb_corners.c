/* FAST corners of all levels that are the strongest of their 3x3 neighbourhood.
 *
 * A level is cut into cells of cell_size px. Where a cell has no corner above fast_threshold, it is searched again with
 * fast_threshold_min, as ORB-SLAM does, so that soft and dim regions give corners too. What the first search finds
 * does not depend on the second: a corner above the higher threshold is stronger than anything below it.
 *
 * Each level then has a share of the keypoints that falls by the factor from level to level; a level with fewer corners
 * than its share leaves the rest to the others. */
#include "detect/orb.h"

/* Scores of `width` columns from `left` on of a row. */
static void score_row(const kbi_orb *o, const kbi_orb_level *level, int32_t left, int32_t width, int32_t y,
                      int32_t threshold, uint8_t *score)
{
    o->kernels.fast_row(level->data + y * level->stride + left, level->stride, width, threshold, score);
}

typedef struct score_rows {
    uint8_t *above, *middle, *below;
} score_rows;

static void score_rows_roll(score_rows *rows)
{
    uint8_t *oldest = rows->above;
    rows->above = rows->middle;
    rows->middle = rows->below;
    rows->below = oldest;
}

/* Where a band keeps its rows of scores and positions, and which cells of a strip have a corner. */
typedef struct band_memory {
    score_rows first, second;
    uint16_t *peak;
    uint8_t *found;
} band_memory;

#define SCRATCH_ROWS 9 /* 6 rows of scores, positions of 16 bits, cells */

static band_memory band_memory_of(const kbi_orb *o, const kbi_orb_band *band)
{
    size_t row = kbi_round_up((size_t)o->job->image.width);
    uint8_t *s = band->scratch;
    return (band_memory){{s, s + row, s + 2 * row}, {s + 3 * row, s + 4 * row, s + 5 * row},
                         (uint16_t *)(void *)(s + 6 * row), s + 8 * row};
}

/* Takes n peaks of row y as corners; the scores begin at column `left`. found may be NULL. */
static void add_corners(const kbi_orb *o, kbi_orb_band *band, int32_t y, int32_t left, const uint8_t *score,
                        const uint16_t *peak, int32_t n, uint8_t *found)
{
    const kb_detect_options *options = &o->job->options;
    double factor = o->level[band->level].factor;
    for (int32_t i = 0; i < n; i++) {
        int32_t x = peak[i] + left;
        if (options->mask &&
            !kbi_mask_allows(options->mask, kbi_orb_to_image(factor, x), kbi_orb_to_image(factor, y)))
            continue;
        band->corners[band->count++] = (kbi_orb_corner){(uint16_t)x, (uint16_t)y, score[peak[i]], (uint8_t)band->level};
        if (found) found[(x - KBI_ORB_EDGE) / options->cell_size] = 1;
    }
}

/* Columns left..right - 1 of rows top..bottom - 1 with the lower threshold. */
static void search_again(const kbi_orb *o, kbi_orb_band *band, band_memory *m, int32_t left, int32_t right, int32_t top,
                         int32_t bottom)
{
    const kbi_orb_level *level = &o->level[band->level];
    int32_t threshold = o->job->options.fast_threshold_min, width = right - left + 2;
    score_row(o, level, left - 1, width, top - 1, threshold, m->second.above);
    score_row(o, level, left - 1, width, top, threshold, m->second.middle);
    for (int32_t y = top; y < bottom; y++) {
        score_row(o, level, left - 1, width, y + 1, threshold, m->second.below);
        int32_t n = o->kernels.peaks_row(m->second.above, m->second.middle, m->second.below, width, m->peak);
        add_corners(o, band, y, left - 1, m->second.middle, m->peak, n, NULL);
        score_rows_roll(&m->second);
    }
}

/* The empty cells of a strip, runs of neighbours at once. */
static void search_empty_cells(const kbi_orb *o, kbi_orb_band *band, band_memory *m, int32_t top, int32_t bottom)
{
    int32_t cell = o->job->options.cell_size, right = o->level[band->level].width - KBI_ORB_EDGE;
    int32_t cells = (right - KBI_ORB_EDGE + cell - 1) / cell;
    for (int32_t i = 0, end; i < cells; i = end + 1) {
        for (end = i; end < cells && !m->found[end];) end++;
        if (end > i)
            search_again(o, band, m, KBI_ORB_EDGE + i * cell, kbi_min_i(KBI_ORB_EDGE + end * cell, right), top, bottom);
    }
}

/* Rows of a band, strip by strip: a strip is a row of cells. The outer columns of a row of scores only compete with
 * their neighbours. */
static void search_task(void *context, int32_t index)
{
    const kbi_orb *o = context;
    kbi_orb_band *band = &o->bands[index];
    const kbi_orb_level *level = &o->level[band->level];
    const kb_detect_options *options = &o->job->options;
    int32_t width = level->width - 2 * KBI_ORB_EDGE + 2, left = KBI_ORB_EDGE - 1, strip = band->top;
    bool twice = options->fast_threshold_min < options->fast_threshold;
    band_memory m = band_memory_of(o, band);
    band->count = 0;
    if (band->top == band->bottom) return;
    memset(m.found, 0, (size_t)width);
    score_row(o, level, left, width, band->top - 1, options->fast_threshold, m.first.above);
    score_row(o, level, left, width, band->top, options->fast_threshold, m.first.middle);
    for (int32_t y = band->top; y < band->bottom; y++) {
        score_row(o, level, left, width, y + 1, options->fast_threshold, m.first.below);
        int32_t n = o->kernels.peaks_row(m.first.above, m.first.middle, m.first.below, width, m.peak);
        add_corners(o, band, y, left, m.first.middle, m.peak, n, m.found);
        score_rows_roll(&m.first);
        if (!twice || (y + 1 < band->bottom && y + 1 - strip < options->cell_size)) continue;
        search_empty_cells(o, band, &m, strip, y + 1);
        memset(m.found, 0, (size_t)width);
        strip = y + 1;
    }
}

/* Cuts the levels into bands of whole strips: a level for one thread, else a few for each thread. Of two neighbours one
 * is a peak at most, so a band holds at most a quarter of its pixels, rounded up. */
static kb_status plan_bands(kbi_orb *o)
{
    int32_t pieces = o->threads > 1 ? 2 * o->threads : 1, cell = o->job->options.cell_size;
    size_t room = 0, scratch = SCRATCH_ROWS * kbi_round_up((size_t)o->job->image.width);
    o->band_count = pieces * o->levels;
    for (int32_t i = 0; i < o->levels; i++)
        room += ((size_t)o->level[i].height / 2 + (size_t)pieces) * ((size_t)o->level[i].width / 2 + 1);
    size_t list = kbi_round_up((size_t)o->band_count * sizeof(kbi_orb_band));
    uint8_t *memory = kbi_workspace_get(o->job->workspace, list + (size_t)o->band_count * scratch + room * sizeof(kbi_orb_corner));
    if (!memory) return KB_E_MEMORY;
    o->bands = (kbi_orb_band *)(void *)memory;
    memory += list;
    o->corners = (kbi_orb_corner *)(void *)(memory + (size_t)o->band_count * scratch);
    kbi_orb_corner *corners = o->corners;
    for (int32_t i = 0; i < o->band_count; i++) {
        const kbi_orb_level *level = &o->level[i / pieces];
        int32_t rows = level->height - 2 * KBI_ORB_EDGE, strips = (rows + cell - 1) / cell, piece = i % pieces;
        kbi_orb_band *band = &o->bands[i];
        band->level = i / pieces;
        band->top = KBI_ORB_EDGE + kbi_min_i((int32_t)kbi_piece((size_t)strips, pieces, piece) * cell, rows);
        band->bottom = KBI_ORB_EDGE + kbi_min_i((int32_t)kbi_piece((size_t)strips, pieces, piece + 1) * cell, rows);
        band->scratch = memory + (size_t)i * scratch;
        band->corners = corners;
        corners += ((size_t)(band->bottom - band->top + 1) / 2) * ((size_t)level->width / 2 + 1);
    }
    return KB_OK;
}

/* ---- which of them go on ---- */

static size_t corners_of_level(const kbi_orb *o, int32_t level)
{
    size_t sum = 0;
    for (int32_t b = 0; b < o->band_count; b++) sum += o->bands[b].level == level ? o->bands[b].count : 0;
    return sum;
}

/* Gives the levels shares ~ 1 / factor, in whole numbers that sum up to `wanted`, or to all corners if there are fewer.
 * A level that cannot fill its share gets what it has, and the others share the rest anew. */
static void share_out(kbi_orb *o, size_t wanted)
{
    bool settled[KB_PYRAMID_MAX_LEVELS] = {false};
    double weights = 0, sum = 0;
    size_t given = 0;
    for (bool again = true; again;) {
        size_t taken = 0;
        again = false;
        weights = 0;
        for (int32_t i = 0; i < o->levels; i++) weights += settled[i] ? 0 : 1 / o->level[i].factor;
        for (int32_t i = 0; i < o->levels; i++) {
            kbi_orb_level *level = &o->level[i];
            if (settled[i] || (double)wanted / weights / level->factor < (double)level->corners) continue;
            settled[i] = again = true;
            level->share = level->corners;
            taken += level->share;
        }
        wanted -= taken < wanted ? taken : wanted;
    }
    for (int32_t i = 0; i < o->levels; i++) {
        if (settled[i]) continue;
        sum += (double)wanted / weights / o->level[i].factor;
        o->level[i].share = (size_t)(sum + 0.5) - given;
        given += o->level[i].share;
    }
}

/* The least FAST score such that at least `wanted` corners have it or more; 0 when there are not so many. */
static int32_t score_limit(const kbi_orb *o, int32_t level, size_t wanted)
{
    size_t histogram[256] = {0}, sum = 0;
    for (int32_t b = 0; b < o->band_count; b++)
        if (o->bands[b].level == level)
            for (size_t i = 0; i < o->bands[b].count; i++) histogram[o->bands[b].corners[i].score]++;
    for (int32_t score = 255; score > 0; score--) {
        sum += histogram[score];
        if (sum >= wanted) return score;
    }
    return 0;
}

/* Puts the corners that go on into one list, level by level: for `best`, twice the share by FAST score. */
static void gather_corners(kbi_orb *o)
{
    bool by_score = o->job->options.selection == KB_SELECT_BEST;
    int32_t limit = 0, level = -1;
    o->count = 0;
    for (int32_t b = 0; b < o->band_count; b++) {
        const kbi_orb_band *band = &o->bands[b];
        if (band->level != level) {
            level = band->level;
            limit = by_score ? score_limit(o, level, 2 * o->level[level].share) : 0;
            o->level[level].corners = 0;
        }
        size_t before = o->count;
        for (size_t i = 0; i < band->count; i++)
            if (band->corners[i].score >= limit) o->corners[o->count++] = band->corners[i];
        o->level[level].corners += o->count - before;
    }
}

kb_status kbi_orb_find_corners(kbi_orb *o, size_t wanted)
{
    kb_status status = plan_bands(o);
    if (status != KB_OK) return status;
    kbi_parallel_run(o->job->options.parallel, o->band_count, search_task, o);
    for (int32_t i = 0; i < o->levels; i++) o->level[i].corners = corners_of_level(o, i);
    share_out(o, wanted);
    gather_corners(o);
    o->keypoints = kbi_workspace_get(o->job->workspace, o->count * sizeof *o->keypoints);
    return o->keypoints ? KB_OK : KB_E_MEMORY;
}
