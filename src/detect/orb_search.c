/* The search of a level for FAST corners that are the strongest of their 3x3 neighbourhood; hessian.c has that for peaks
 * of the determinant of the Hessian.
 *
 * A level is cut into cells of cell_size px. Where a cell has no corner above fast_threshold, it is searched again with
 * fast_threshold_min, as ORB-SLAM does, so that soft and dim regions give corners too. What a search finds above a
 * higher threshold does not depend on how low its own is: such a corner is stronger than anything below it.
 *
 * So the rule `best`, which takes the corners of a level by their score, need not look for more of them than it takes
 * (`goal`). With that many above fast_threshold no cell is searched again, and a level whose neighbour in the pyramid
 * has many is first searched with a threshold that should leave just enough; when it leaves too few, the search is
 * repeated. */
#include "detect/orb.h"

#define RISE_ROWS 16 /* after which the threshold is set anew */

/* Scores of `width` columns from `left` on of a row. */
static void score_row(const kbi_orb *o, const kbi_orb_level *level, int32_t left, int32_t width, int32_t y,
                      int32_t threshold, uint8_t *score)
{
    o->kernels.fast_row(kbi_orb_pixel(level, left, y), level->stride, width, threshold, score);
}

/* Where a band keeps its rows of scores and positions. */
typedef struct score_rows {
    uint8_t *above, *middle, *below;
    uint16_t *peak;
} score_rows;

static score_rows score_rows_of(const kbi_orb *o, const kbi_orb_band *band)
{
    size_t row = kbi_round_up((size_t)o->job->image.width);
    uint8_t *s = band->scratch;
    return (score_rows){s, s + row, s + 2 * row, (uint16_t *)(void *)(s + 3 * row)};
}

/* Takes n peaks of row y as corners; the scores begin at column `left`. found may be NULL. */
static void add_corners(const kbi_orb *o, kbi_orb_band *band, int32_t y, int32_t left, const score_rows *rows,
                        int32_t n, uint8_t *found)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t x = rows->peak[i] + left;
        if (!kbi_orb_allows(o, &o->level[band->level], x, y)) continue;
        kbi_orb_corner corner = {.x = (uint16_t)x, .y = (uint16_t)y, .score = rows->middle[rows->peak[i]]};
        kbi_orb_corner_add(o, band, corner, 0);
        if (found) found[(x - KBI_ORB_EDGE) / o->job->options.cell_size] = 1;
    }
}

/* Twice as many as suffice, so that levels with few corners do not make it search again. */
int32_t kbi_orb_risen_threshold(const kbi_orb *o, const kbi_orb_band *band, int32_t y, int32_t threshold)
{
    if ((y - band->top) % RISE_ROWS < RISE_ROWS - 1) return threshold;
    size_t goal = o->level[band->level].goal;
    uint32_t histogram[256] = {0};
    if (goal == SIZE_MAX || band->count < 2 * goal) return threshold;
    for (size_t i = 0; i < band->count; i++) histogram[band->corners[i].score]++;
    return kbi_max_i(threshold, kbi_orb_score_limit(histogram, 2 * goal) - 1);
}

/* Columns left..right - 1 of rows top..bottom - 1. The outer columns and rows of scores only compete with their
 * neighbours. */
static void search_rows(const kbi_orb *o, kbi_orb_band *band, int32_t left, int32_t right, int32_t top, int32_t bottom,
                        int32_t threshold, uint8_t *found)
{
    const kbi_orb_level *level = &o->level[band->level];
    int32_t width = right - left + 2;
    score_rows rows = score_rows_of(o, band);
    score_row(o, level, left - 1, width, top - 1, threshold, rows.above);
    score_row(o, level, left - 1, width, top, threshold, rows.middle);
    for (int32_t y = top; y < bottom; y++) {
        score_row(o, level, left - 1, width, y + 1, threshold, rows.below);
        int32_t n = o->kernels.peaks_row(rows.above, rows.middle, rows.below, width, rows.peak);
        uint8_t *strip = found ? found + (y - top) / o->job->options.cell_size * band->cells_across : NULL;
        if (found) threshold = kbi_orb_risen_threshold(o, band, y, threshold);
        add_corners(o, band, y, left - 1, &rows, n, strip);
        uint8_t *oldest = rows.above;
        rows.above = rows.middle;
        rows.middle = rows.below;
        rows.below = oldest;
    }
    if (KBI_BANDS && found) band->threshold = threshold;
}

static void band_clear(kbi_orb_band *band)
{
    band->count = band->found = band->dropped = 0;
    band->floor = 0;
}

/* All of a band with the threshold o->threshold. */
static void search_task(void *context, int32_t piece)
{
    const kbi_orb *o = context;
    kbi_orb_band *band = &o->bands[o->target * o->pieces + piece];
    band_clear(band);
    if (band->top == band->bottom) return;
    if (kbi_orb_is_hessian(o)) {
        kbi_hessian_search(o, band, band->top, band->bottom, o->threshold);
        return;
    }
    memset(band->cells, 0, (size_t)band->cells_across * (size_t)band->cells_down);
    search_rows(o, band, KBI_ORB_EDGE, o->level[band->level].width - KBI_ORB_EDGE, band->top, band->bottom,
                o->threshold, band->cells);
}

/* The empty cells of a strip with the lower threshold, runs of neighbours at once. */
static void search_empty_cells(const kbi_orb *o, kbi_orb_band *band, int32_t top, const uint8_t *found)
{
    int32_t cell = o->job->options.cell_size, right = o->level[band->level].width - KBI_ORB_EDGE;
    for (int32_t i = 0, end; i < band->cells_across; i = end + 1) {
        for (end = i; end < band->cells_across && !found[end];) end++;
        if (end > i)
            search_rows(o, band, KBI_ORB_EDGE + i * cell, kbi_min_i(KBI_ORB_EDGE + end * cell, right), top,
                        kbi_min_i(top + cell, band->bottom), o->lowest_again, NULL);
    }
}

static void search_again_task(void *context, int32_t piece)
{
    const kbi_orb *o = context;
    kbi_orb_band *band = &o->bands[o->target * o->pieces + piece];
    const uint8_t *found = band->cells;
    for (int32_t top = band->top; top < band->bottom; top += o->job->options.cell_size, found += band->cells_across)
        search_empty_cells(o, band, top, found);
}

/* A threshold that should leave the corners wanted of level `index`, by what is known of its neighbour: as many per
 * pixel, and some more to be sure. */
static int32_t likely_threshold(const kbi_orb *o, int32_t index, int32_t neighbour)
{
    const kbi_orb_level *level = &o->level[index], *other = &o->level[neighbour];
    double ratio = ((double)other->width * other->height) / ((double)level->width * level->height);
    uint32_t histogram[256];
    kbi_orb_histogram(o, neighbour, histogram);
    int32_t score = kbi_orb_score_limit(histogram, (size_t)((double)level->goal * ratio * 1.3));
    return kbi_max_i(score - 1, o->lowest);
}

static size_t search_level_with(kbi_orb *o, void (*task)(void *, int32_t), int32_t threshold)
{
    size_t sum = 0;
    o->threshold = threshold;
    kbi_parallel_run(o->job->options.parallel, o->pieces, task, o);
    for (int32_t b = o->target * o->pieces; b < (o->target + 1) * o->pieces; b++) sum += o->bands[b].found;
    return sum;
}

void kbi_orb_search_level(kbi_orb *o, int32_t index, int32_t neighbour)
{
    kbi_orb_level *level = &o->level[index];
    if (!kbi_orb_level_waits(level)) return;
    o->target = index;
    int32_t likely = o->lowest;
    if (level->corners == 0 && neighbour >= 0 && neighbour < o->levels && level->goal < SIZE_MAX)
        likely = likely_threshold(o, index, neighbour);
    level->corners = search_level_with(o, search_task, likely);
    if (likely > o->lowest && level->corners < level->goal)
        level->corners = search_level_with(o, search_task, likely = o->lowest);
    if (o->lowest_again < likely && level->corners < level->goal)
        level->corners = search_level_with(o, search_again_task, o->lowest_again);
    level->complete = level->corners < level->goal;
}

#if KBI_BANDS
/* Whether a level will have corners enough is not known before its last strip, so empty cells are searched again at
 * once, as long as the threshold has not risen: then there are enough, all stronger than what such a cell has. */
void kbi_orb_search_strip(kbi_orb *o, int32_t index, int32_t top, int32_t bottom)
{
    kbi_orb_level *level = &o->level[index];
    kbi_orb_band *band = &o->bands[index];
    if (!kbi_orb_level_waits(level)) return;
    if (top == band->top) {
        band_clear(band);
        band->threshold = o->lowest;
    }
    if (kbi_orb_is_hessian(o)) {
        band->threshold = kbi_hessian_search(o, band, top, bottom, band->threshold);
    } else {
        memset(band->cells, 0, (size_t)band->cells_across);
        search_rows(o, band, KBI_ORB_EDGE, level->width - KBI_ORB_EDGE, top, bottom, band->threshold, band->cells);
        if (o->lowest_again < o->lowest && band->threshold == o->lowest) search_empty_cells(o, band, top, band->cells);
    }
    if (bottom < band->bottom) return;
    level->corners = band->found;
    level->complete = level->corners < level->goal;
}
#endif
