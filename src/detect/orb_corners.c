/* The lists of corners of the levels: how many a level needs, how many a list holds, and which go on.
 *
 * Each level has a share of the keypoints that falls by the factor from level to level; a level with fewer corners than
 * its share leaves the rest to the others. */
#include "detect/orb.h"

/* ---- when there are more corners than there is room for ---- */

int32_t kbi_orb_score_limit(const uint32_t histogram[256], size_t wanted)
{
    size_t sum = 0;
    for (int32_t score = 255; score > 0; score--) {
        sum += histogram[score];
        if (sum >= wanted) return score;
    }
    return 0;
}

/* Whether corner i comes before corner k in the total order of keypoints of one level. */
static bool corner_before(const kbi_orb_band *band, size_t i, size_t k)
{
    const kbi_orb_corner *a = &band->corners[i], *b = &band->corners[k];
    if (band->responses[i] != band->responses[k]) return band->responses[i] > band->responses[k];
#if KBI_HESSIAN
    if (a->y == b->y && a->dy != b->dy) return a->dy < b->dy; /* both are 0 for FAST */
#endif
    return a->y != b->y ? a->y < b->y : a->x < b->x;
}

static void corner_swap(kbi_orb_band *band, size_t i, size_t k)
{
    kbi_orb_corner corner = band->corners[i];
    float response = band->responses[i];
    band->corners[i] = band->corners[k];
    band->responses[i] = band->responses[k];
    band->corners[k] = corner;
    band->responses[k] = response;
}

/* A heap of the n corners from `first` on, the last in the order on top: moves corner i down to its place. */
static void heap_sink(kbi_orb_band *band, size_t first, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && corner_before(band, first + child, first + child + 1)) child++;
        if (!corner_before(band, first + i, first + child)) return;
        corner_swap(band, first + i, first + child);
    }
}

float kbi_orb_response(const kbi_orb *o, int32_t index, const kbi_orb_corner *c)
{
    const kbi_orb_level *level = &o->level[index];
    return kbi_harris_response(o->kernels.harris(kbi_orb_pixel(level, c->x, c->y), level->stride));
}

/* Keeps the n strongest of the corners from `first` on. */
static void keep_strongest(const kbi_orb *o, kbi_orb_band *band, size_t first, size_t n)
{
    for (size_t i = first; i < band->count && !kbi_orb_measures_at_once(o); i++)
        band->responses[i] = kbi_orb_response(o, band->level, &band->corners[i]);
    for (size_t i = n / 2; i-- > 0;) heap_sink(band, first, n, i);
    for (size_t i = first + n; i < band->count; i++) {
        if (!corner_before(band, i, first)) continue;
        corner_swap(band, i, first);
        heap_sink(band, first, n, 0);
    }
    band->dropped += band->count - first - n;
    band->count = first + n;
}

/* Makes room without any change of the result. A corner goes on if its score is among the best `reach` ones of its
 * level or ties with them, so those below that many of its own band never do. Of those that tie at this place no more
 * than `reach` can be selected, by their response. */
static void band_prune(const kbi_orb *o, kbi_orb_band *band)
{
    size_t reach = o->level[band->level].reach, kept = 0;
    uint32_t histogram[256] = {0};
    for (size_t i = 0; i < band->count; i++) histogram[band->corners[i].score]++;
    int32_t limit = kbi_orb_score_limit(histogram, reach);
    if (limit > band->floor) band->dropped = 0;
    band->floor = kbi_max_i(limit, band->floor);
    size_t above = 0;
    for (size_t i = 0; i < band->count; i++) { /* those above the limit come first */
        int32_t score = band->corners[i].score;
        if (score < band->floor) continue;
        corner_swap(band, i, kept);
        if (score > band->floor) corner_swap(band, kept, above++);
        kept++;
    }
    band->count = kept;
    if (kept - above > reach) keep_strongest(o, band, above, reach);
}

void kbi_orb_corner_add(const kbi_orb *o, kbi_orb_band *band, kbi_orb_corner corner, float response)
{
    band->found++;
    if (corner.score < band->floor) return;
    if (band->count == band->room) band_prune(o, band);
    if (corner.score < band->floor) return;
    if (kbi_orb_measures_at_once(o))
        band->responses[band->count] = kbi_orb_is_hessian(o) ? response : kbi_orb_response(o, band->level, &corner);
    band->corners[band->count++] = corner;
}

/* ---- memory ---- */

/* Corners of a level that go on at least: for `best` those it picks the share from (which is all, if other levels have
 * none); for rules that look at places many more than an image has. */
static size_t level_reach(const kbi_orb *o, const kbi_orb_level *level)
{
    size_t many = (size_t)level->width * (size_t)level->height / 16;
    if (o->job->options.selection == KB_SELECT_BEST) return kbi_orb_choice(o) * o->wanted;
    return many > 4 * o->wanted ? many : 4 * o->wanted;
}

/* Of two neighbours one is a peak at most, so a band holds at most a quarter of its pixels, rounded up. */
static size_t band_room(const kbi_orb_level *level, int32_t rows)
{
    size_t most = (((size_t)rows + 1) / 2) * ((size_t)level->width / 2 + 1), room = 2 * level->reach;
    room += room / 8 + 64; /* so that it is not pruned again at once */
    return room < most ? room : most;
}

static void band_plan(const kbi_orb *o, int32_t index, kbi_orb_band *band)
{
    const kbi_orb_level *level = &o->level[index / o->pieces];
    int32_t cell = o->job->options.cell_size, rows = level->height - 2 * KBI_ORB_EDGE, piece = index % o->pieces;
    size_t strips = (size_t)((rows + cell - 1) / cell);
    *band = (kbi_orb_band){.level = index / o->pieces};
    band->cells_across = (level->width - 2 * KBI_ORB_EDGE + cell - 1) / cell;
    band->top = KBI_ORB_EDGE + kbi_min_i((int32_t)kbi_piece(strips, o->pieces, piece) * cell, rows);
    band->bottom = KBI_ORB_EDGE + kbi_min_i((int32_t)kbi_piece(strips, o->pieces, piece + 1) * cell, rows);
    band->cells_down = kbi_orb_streams(o) ? 1 : (band->bottom - band->top + cell - 1) / cell;
    band->room = band_room(level, band->bottom - band->top);
}

size_t kbi_orb_most_corners(const kbi_orb *o)
{
    size_t most = 0, sum = 0;
    for (int32_t i = 0; i < o->band_count; i++) {
        kbi_orb_band band;
        band_plan(o, i, &band);
        sum = i % o->pieces ? sum + band.room : band.room;
        if (sum > most) most = sum;
    }
    return most;
}

#define SCRATCH_ROWS 5 /* 3 rows of scores, positions of 16 bits */

/* Scratch of a band that is searched at the same time as others. */
static bool band_scratch_get(const kbi_orb *o, kbi_orb_band *band, size_t room)
{
    int32_t width = o->job->image.width;
    size_t scratch = kbi_orb_is_hessian(o) ? kbi_hessian_scratch(width) : SCRATCH_ROWS * kbi_round_up((size_t)width);
    band->scratch = kbi_workspace_get(o->job->workspace, scratch);
    band->responses = kbi_workspace_get(o->job->workspace, room * sizeof *band->responses);
    return band->scratch && band->responses;
}

/* Cuts the levels into bands of whole strips: a level for one thread, else a few for each thread. */
bool kbi_orb_bands_get(kbi_orb *o)
{
    kb_workspace *workspace = o->job->workspace;
    kbi_orb_band shared;
    bool own = kbi_orb_measures_at_once(o); /* responses */
    o->pieces = o->threads > 1 ? 2 * o->threads : 1;
    o->band_count = o->pieces * o->levels;
    for (int32_t i = 0; i < o->levels; i++) o->level[i].reach = level_reach(o, &o->level[i]);
    o->bands = kbi_workspace_get(workspace, (size_t)o->band_count * sizeof *o->bands);
    size_t most = own || o->threads > 1 ? 0 : kbi_orb_most_corners(o);
    if (!o->bands || !band_scratch_get(o, &shared, most)) return false;
    for (int32_t i = 0; i < o->band_count; i++) {
        kbi_orb_band band;
        band_plan(o, i, &band);
        band.scratch = shared.scratch;
        band.responses = shared.responses;
        if (o->threads > 1 && !band_scratch_get(o, &band, own ? 0 : band.room)) return false;
        if (own) band.responses = kbi_workspace_get(workspace, band.room * sizeof *band.responses);
        band.corners = kbi_workspace_get(workspace, band.room * sizeof *band.corners);
        band.cells = kbi_workspace_get(workspace, (size_t)band.cells_across * (size_t)band.cells_down);
        if (!band.corners || !band.cells || !band.responses) return false;
        if (!workspace->measures) o->bands[i] = band;
    }
    return true;
}

/* ---- which of them go on ---- */

/* Gives the levels shares ~ 1 / factor, in whole numbers that sum up to `wanted`, or to all corners if there are fewer.
 * A level that cannot fill its share gets what it has, and the others share the rest anew. */
static void share_levels(kbi_orb *o, size_t wanted)
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

void kbi_orb_goals_start(kbi_orb *o)
{
    for (int32_t i = 0; i < o->levels; i++) o->level[i].corners = kbi_orb_choice(o) * o->wanted;
    share_levels(o, o->wanted);
    for (int32_t i = 0; i < o->levels; i++) {
        kbi_orb_level *level = &o->level[i];
        level->goal = o->job->options.selection == KB_SELECT_BEST ? kbi_orb_choice(o) * level->share + 1 : SIZE_MAX;
        level->corners = 0;
    }
}

bool kbi_orb_goals_met(kbi_orb *o)
{
    bool met = true;
    share_levels(o, o->wanted);
    for (int32_t i = 0; i < o->levels; i++) {
        kbi_orb_level *level = &o->level[i];
        if (level->goal < SIZE_MAX) level->goal = kbi_orb_choice(o) * level->share + 1;
        met = met && !kbi_orb_level_waits(level);
    }
    return met;
}

void kbi_orb_histogram(const kbi_orb *o, int32_t index, uint32_t histogram[256])
{
    memset(histogram, 0, 256 * sizeof *histogram);
    for (int32_t b = index * o->pieces; b < (index + 1) * o->pieces; b++) {
        const kbi_orb_band *band = &o->bands[b];
        for (size_t k = 0; k < band->count; k++) histogram[band->corners[k].score]++;
        histogram[band->floor] += (uint32_t)band->dropped;
    }
}

void kbi_orb_limits(kbi_orb *o)
{
    if (o->job->options.selection != KB_SELECT_BEST) return;
    for (int32_t i = 0; i < o->levels; i++) {
        uint32_t histogram[256];
        kbi_orb_histogram(o, i, histogram);
        o->level[i].limit = kbi_orb_score_limit(histogram, kbi_orb_choice(o) * o->level[i].share);
    }
}
