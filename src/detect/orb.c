/* ORB's detector (Rublee, Rabaud, Konolige, Bradski 2011), with the conventions of OpenCV's; and hessian, which
 * differs in steps 2 and 3: corners are peaks of the determinant of the Hessian (hessian.c), of which the share with
 * the largest is picked.
 *
 *   1. A pyramid, each level `level_factor` times smaller than the one above.
 *   2. FAST-9 corners of every level that are the strongest of their 3x3 neighbourhood.
 *   3. Every level has its share of the keypoints, falling by the factor from level to level. Of twice the share,
 *      the best by FAST score, Harris's response picks the share itself. Rules other than `best` pick among all
 *      corners. Few keypoints (LEAST_SHARED) are picked again, from what the levels gave.
 *   4. The angle is the peak of the histogram of gradients around the corner in its level (gradient.c), or that of the
 *      intensity centroid of the disc of radius 15.
 *
 * Pixel x of level n is centred at (x + 0.5) factor^n - 0.5 of the image. Nothing is found within 31 px of a level's
 * edge: there would be no room for a descriptor. Tasks work on rows of levels or runs of corners, and their lists
 * are joined in order, so the number of threads changes nothing. */
#include "detect/orb.h"
#include "detect/rows.h"

#define PATCH 31.0
#define LEAST_SHARED 256 /* of fewer keypoints than this the levels get no shares: the rule picks them from all levels */

static kb_keypoint keypoint_of(const kbi_orb *o, int32_t index, const kbi_orb_corner *c, float response)
{
    double factor = o->level[index].factor;
    kb_keypoint k = {kbi_orb_to_image(factor, c->x), kbi_orb_to_image(factor, c->y), (float)(PATCH * factor), -1,
                     response, index, -1};
    if (kbi_orb_is_hessian(o)) kbi_hessian_place(c, factor, &k);
    return k;
}

/* The first place of a level among the keypoints. */
static kb_keypoint *level_keypoints(const kbi_orb *o, int32_t index)
{
    kb_keypoint *first = o->keypoints;
    for (int32_t i = 0; i < index; i++) first += o->level[i].share;
    return first;
}

/* ---- best: the strongest of each level ---- */

/* The response of corner i of a band. */
static float corner_response(const kbi_orb *o, const kbi_orb_band *band, size_t i)
{
    return kbi_orb_measures_at_once(o) ? band->responses[i] : kbi_orb_response(o, band->level, &band->corners[i]);
}

/* The bands of a level keep only what reaches its limit, with responses. */
static void measure_best(kbi_orb *o, int32_t index)
{
    for (int32_t b = index * o->pieces; b < (index + 1) * o->pieces; b++) {
        kbi_orb_band *band = &o->bands[b];
        size_t kept = 0;
        for (size_t i = 0; i < band->count; i++) {
            if (band->corners[i].score < o->level[index].limit) continue;
            band->responses[kept] = corner_response(o, band, i);
            band->corners[kept++] = band->corners[i];
        }
        band->count = kept;
    }
}

/* The order (kbi_float_order) of the n-th strongest response, found digit by digit, and how many of the n have it. */
static uint32_t nth_strongest(const kbi_orb *o, int32_t index, size_t n, size_t *equal)
{
    uint32_t found = 0, known = 0;
    for (int32_t shift = 24; shift >= 0; shift -= 8) {
        uint32_t histogram[256] = {0}, digit = 255;
        for (int32_t b = index * o->pieces; b < (index + 1) * o->pieces; b++)
            for (size_t i = 0; i < o->bands[b].count; i++) {
                uint32_t order = kbi_float_order(o->bands[b].responses[i]);
                if ((order & known) == found) histogram[order >> shift & 255]++;
            }
        for (; digit > 0 && n > histogram[digit]; digit--) n -= histogram[digit];
        found |= digit << shift;
        known |= (uint32_t)255 << shift;
    }
    *equal = n;
    return found;
}

static void keypoint_swap(kb_keypoint *a, kb_keypoint *b)
{
    kb_keypoint moved = *a;
    *a = *b;
    *b = moved;
}

typedef bool keypoint_order(const kb_keypoint *a, const kb_keypoint *b);

/* A heap with the last in the order on top: keypoint i goes down to its place. */
static void heap_sink(kb_keypoint *heap, size_t n, size_t i, keypoint_order *before)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&heap[child], &heap[child + 1])) child++;
        if (!before(&heap[i], &heap[child])) return;
        keypoint_swap(&heap[i], &heap[child]);
    }
}

/* Adds to a heap that holds up to `most` keypoints. */
static void heap_add(kb_keypoint *heap, size_t *n, size_t most, const kb_keypoint *k)
{
    if (*n < most) {
        heap[(*n)++] = *k;
        for (size_t h = *n < most ? 0 : *n / 2; h-- > 0;) heap_sink(heap, *n, h, kbi_keypoint_before);
    } else if (kbi_keypoint_before(k, &heap[0])) {
        heap[0] = *k;
        heap_sink(heap, *n, 0, kbi_keypoint_before);
    }
}

/* The share of one level, into its place among the keypoints: what is stronger than its last one, then by places as many
 * as there is room for of those that are as strong. */
static void best_task(void *context, int32_t index)
{
    kbi_orb *o = context;
    size_t share = o->level[index].share, equal, ties = 0;
    kb_keypoint *to = level_keypoints(o, index);
    if (share == 0) return;
    measure_best(o, index);
    uint32_t last = nth_strongest(o, index, share, &equal);
    kb_keypoint *tied = to + share - equal;
    for (int32_t b = index * o->pieces; b < (index + 1) * o->pieces; b++)
        for (size_t i = 0; i < o->bands[b].count; i++) {
            uint32_t order = kbi_float_order(o->bands[b].responses[i]);
            if (order < last) continue;
            kb_keypoint k = keypoint_of(o, index, &o->bands[b].corners[i], o->bands[b].responses[i]);
            if (order > last) *to++ = k;
            else heap_add(tied, &ties, equal, &k);
        }
}

/* ---- other rules: they choose among all corners of a level ---- */

static void measure_task(void *context, int32_t piece)
{
    kbi_orb *o = context;
    size_t at = 0;
    for (int32_t b = o->measured * o->pieces; b < (o->measured + 1) * o->pieces; b++) {
        const kbi_orb_band *band = &o->bands[b];
        size_t end = kbi_piece(band->count, o->threads, piece + 1);
        for (size_t i = kbi_piece(band->count, o->threads, piece); i < end; i++)
            o->candidates[at + i] = keypoint_of(o, o->measured, &band->corners[i], corner_response(o, band, i));
        at += band->count;
    }
}

static kb_status select_level(kbi_orb *o, int32_t index)
{
    const kbi_detect_job *job = o->job;
    size_t total = 0, kept = 0;
    for (int32_t b = index * o->pieces; b < (index + 1) * o->pieces; b++) total += o->bands[b].count;
    o->measured = index;
    kbi_parallel_run(job->options.parallel, o->threads, measure_task, o);
    kb_status status = kb_select(o->candidates, total, job->image.width, job->image.height, job->options.selection,
                                 o->level[index].share, job->workspace, &kept);
    if (kept > 0) memcpy(level_keypoints(o, index), o->candidates, kept * sizeof *o->keypoints);
    return status;
}

/* ---- all together ---- */

/* A second direction that is nearly as strong is kept in class_id, in 1/1024 degrees, until all is selected. */
#define SECOND_STRONG 0.8f
#define SECOND_UNIT 1024.0f

static int32_t level_pixel(float place, const kbi_orb_level *level) { return (int32_t)((place + 0.5) / level->factor); }

/* Where the pixel of a keypoint is in its level. */
static const uint8_t *keypoint_pixel(const kbi_orb *o, const kb_keypoint *k)
{
    const kbi_orb_level *level = &o->level[k->octave];
    return kbi_orb_pixel(level, level_pixel(k->x, level), level_pixel(k->y, level));
}

#ifdef KBI_SCALAR_CORE
#    define ORIENT_BATCH 1 /* it would wait all the same, and its stack is small */
#else
#    define ORIENT_BATCH 8
#endif

static void set_angle(const kbi_orb *o, const float *histogram, int32_t highest, kb_keypoint *k)
{
    kbi_gradient_direction direction;
    k->angle = kbi_gradient_angle(histogram, highest);
    if (!o->job->options.second_angle) return;
    kbi_gradient_peaks(histogram, highest, &direction);
    if (direction.second != direction.angle && direction.confidence <= 1 - SECOND_STRONG)
        k->class_id = (int32_t)(direction.second * SECOND_UNIT);
}

/* Step by step for several keypoints: what a step computes for one does not wait for what it computes for another. */
static void orient_by_gradient(const kbi_orb *o, kb_keypoint *keypoints, size_t n)
{
    uint16_t cells[ORIENT_BATCH][KBI_GRADIENT_ROOM] = {{0}};
    float sums[ORIENT_BATCH][KBI_GRADIENT_SUMS], histogram[ORIENT_BATCH][KBI_GRADIENT_DIRECTIONS];
    int32_t highest[ORIENT_BATCH];
    for (size_t from = 0; from < n; from += ORIENT_BATCH) {
        kb_keypoint *k = keypoints + from;
        size_t batch = n - from < ORIENT_BATCH ? n - from : ORIENT_BATCH;
        for (size_t i = 0; i < batch; i++)
            o->kernels.gradient_cells(keypoint_pixel(o, &k[i]), o->level[k[i].octave].stride, cells[i]);
        for (size_t i = 0; i < batch; i++) o->kernels.gradient_sums(cells[i], sums[i]);
        for (size_t i = 0; i < batch; i++) highest[i] = o->kernels.gradient_histogram(sums[i], histogram[i]);
        for (size_t i = 0; i < batch; i++) set_angle(o, histogram[i], highest[i], &k[i]);
    }
}

/* The top of a parabola through the scores beside a corner, px; none where the middle is not the largest. */
static double parabola_top(int32_t before, int32_t middle, int32_t after)
{
    int32_t slope = before - after, curve = before + after - 2 * middle;
    if (curve >= 0) return 0;
    double top = 0.5 * slope / curve;
    const double most = KBI_ORB_MOST_OFFSET;
    return top < -most ? -most : top > most ? most : top;
}

/* The pixel of a keypoint and its neighbours, side by side. */
enum { CROSS_LEFT, CROSS_MIDDLE, CROSS_RIGHT, CROSS_ABOVE, CROSS_BELOW, CROSS };

/* The circles of the cross around a keypoint's pixel, from place `at` on; there is room for CROSS. */
static void cross_circles(const kbi_orb *o, const kb_keypoint *k, kbi_fast_circles circles, size_t at)
{
    ptrdiff_t stride = o->level[k->octave].stride;
    const uint8_t *p = keypoint_pixel(o, k);
    const uint8_t *const circle[KBI_FAST_CIRCLE] = KBI_FAST_AROUND(p, stride);
    for (int32_t i = 0; i <= KBI_FAST_CIRCLE; i++) {
        const uint8_t *from = i < KBI_FAST_CIRCLE ? circle[i] : p;
        memcpy(&circles[i][at + CROSS_LEFT], from - 1, 4); /* of which three count */
        circles[i][at + CROSS_ABOVE] = from[-stride];
        circles[i][at + CROSS_BELOW] = from[stride];
    }
}

/* Moves a keypoint from its pixel to the top of FAST's score, by which the pixel was chosen. (Harris's response has its
 * top somewhere else, so that a parabola through it leads away.) */
static void move_to_top(const kbi_orb *o, const uint8_t score[CROSS], kb_keypoint *k)
{
    const kbi_orb_level *level = &o->level[k->octave];
    double dx = parabola_top(score[CROSS_LEFT], score[CROSS_MIDDLE], score[CROSS_RIGHT]);
    double dy = parabola_top(score[CROSS_ABOVE], score[CROSS_MIDDLE], score[CROSS_BELOW]);
    k->x = kbi_orb_to_image(level->factor, level_pixel(k->x, level) + dx);
    k->y = kbi_orb_to_image(level->factor, level_pixel(k->y, level) + dy);
}

/* Before the last selection, which looks at places: it must not see whether levels came one at a time. */
static void refine_keypoints(kbi_orb *o, size_t from, size_t to)
{
    enum { BATCH = KBI_FAST_BATCH / CROSS };
    kbi_fast_circles circles = {{0}};
    uint8_t score[KBI_FAST_BATCH];
    if (kbi_orb_is_hessian(o) || o->job->options.whole_pixels) return;
    for (size_t i = from; i < to; i += BATCH) {
        kb_keypoint *batch = &o->keypoints[i];
        size_t n = to - i < BATCH ? to - i : BATCH;
        for (size_t k = 0; k < n; k++) cross_circles(o, &batch[k], circles, CROSS * k);
        o->kernels.fast_scores((const uint8_t(*)[KBI_FAST_BATCH])circles, (int32_t)(CROSS * n), score);
        for (size_t k = 0; k < n; k++) move_to_top(o, score + CROSS * k, &batch[k]);
    }
}

static void orient_keypoints(kbi_orb *o, size_t from, size_t to)
{
    if (o->job->options.orientation == KB_ORIENTATION_GRADIENT)
        orient_by_gradient(o, o->keypoints + from, to - from);
    if (o->job->options.orientation == KB_ORIENTATION_CENTROID)
        for (size_t i = from; i < to; i++)
            o->keypoints[i].angle =
                o->kernels.disc_angle(keypoint_pixel(o, &o->keypoints[i]), o->level[o->keypoints[i].octave].stride);
}

/* Gives keypoints with a second direction twice, as long as there is room for n, in their order. */
static void spread_directions(kbi_orb *o, size_t n)
{
    size_t taken = 0, total = 0;
    while (taken < o->count && total < n) total += o->keypoints[taken++].class_id >= 0 ? 2 : 1;
    bool cut = total > n; /* the last one has no room for its second */
    o->count = cut ? n : total;
    for (size_t to = o->count; taken > 0;) { /* from the end, since they move that way */
        kb_keypoint one = o->keypoints[--taken], two = one;
        one.class_id = two.class_id = -1;
        bool second = o->keypoints[taken].class_id >= 0 && !cut;
        two.angle = (float)o->keypoints[taken].class_id / SECOND_UNIT;
        cut = false;
        if (second) o->keypoints[--to] = one.angle < two.angle ? two : one;
        o->keypoints[--to] = second && two.angle < one.angle ? two : one;
    }
}

static void orient_task(void *context, int32_t piece)
{
    kbi_orb *o = context;
    orient_keypoints(o, kbi_piece(o->count, o->threads, piece), kbi_piece(o->count, o->threads, piece + 1));
}

static void refine_task(void *context, int32_t piece)
{
    kbi_orb *o = context;
    refine_keypoints(o, kbi_piece(o->count, o->threads, piece), kbi_piece(o->count, o->threads, piece + 1));
    if (o->all_stay) orient_task(o, piece);
}

/* Memory for all steps but the selections. */
static bool orb_get(kbi_orb *o)
{
    kb_workspace *workspace = o->job->workspace;
    if (!kbi_orb_levels_get(o) || !kbi_orb_bands_get(o)) return false;
    if (o->job->options.selection == KB_SELECT_BEST) return true;
    o->candidates = kbi_workspace_get(workspace, kbi_orb_most_corners(o) * sizeof *o->candidates);
    return o->candidates;
}

/* What orb_get takes with or without bands. */
static size_t bytes_taken(const kbi_orb *o, bool streams)
{
    kb_workspace counting;
    kbi_detect_job job = *o->job;
    kbi_orb tried = *o;
    kbi_workspace_measure(&counting);
    job.workspace = &counting;
    tried.job = &job;
    tried.streams = streams;
    return orb_get(&tried) ? counting.peak : SIZE_MAX;
}

/* Bands where they take less. Of two sizes that grow with the image and the keypoints, the smaller one does so too. */
static bool takes_bands(const kbi_orb *o)
{
    return KBI_BANDS && o->single && bytes_taken(o, true) < bytes_taken(o, false);
}

/* All levels, then all corners, then all keypoints. */
static kb_status detect_at_once(kbi_orb *o)
{
    const kb_parallel *parallel = o->job->options.parallel;
    kbi_orb_goals_start(o);
    for (int32_t i = 1; i < o->levels; i++) kbi_orb_build_level(o, i);
    /* from the coarsest: what is known of the smaller ones saves work on the larger */
    do
        for (int32_t i = o->levels - 1; i >= 0; i--) kbi_orb_search_level(o, i, i + 1);
    while (!kbi_orb_goals_met(o));
    kbi_orb_limits(o);
    kb_status status = KB_OK;
    if (!o->candidates) kbi_parallel_run(parallel, o->levels, best_task, o);
    for (int32_t i = 0; i < o->levels && o->candidates && status == KB_OK; i++) status = select_level(o, i);
    return status;
}

/* ---- with low_memory, on this thread ----
 * The levels are made once for the corners, and once more when it is known which of them go on. With a whole level in
 * memory responses wait for that; with bands they are known already. The angles come here too, since the levels are
 * not there afterwards. */

static bool row_before(const kb_keypoint *a, const kb_keypoint *b) { return a->y < b->y; }

static void sort_by_rows(kb_keypoint *keypoints, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) heap_sink(keypoints, n, i, row_before);
    for (size_t i = n; i-- > 1;) {
        keypoint_swap(&keypoints[0], &keypoints[i]);
        heap_sink(keypoints, i, 0, row_before);
    }
}

static kb_status choose_keypoints(kbi_orb *o, int32_t index)
{
    if (o->candidates) return select_level(o, index);
    best_task(o, index);
    return KB_OK;
}

static void visit_search(kbi_orb *o, int32_t index, int32_t from, int32_t to)
{
    if (kbi_orb_streams(o)) kbi_orb_search_strip(o, index, from, to);
    else kbi_orb_search_level(o, index, index - 1);
}

static void visit_finish(kbi_orb *o, int32_t index, int32_t from, int32_t to)
{
    (void)from;
    size_t first = o->count, end = first + o->level[index].share;
    if (kbi_orb_streams(o)) {
        first = o->rings[index].next;
        end = o->rings[index].end;
        for (size_t i = first; i < end; i++)
            if (level_pixel(o->keypoints[i].y, &o->level[index]) >= to) end = i;
        o->rings[index].next = end;
    } else if (o->status == KB_OK) {
        o->status = choose_keypoints(o, index);
        o->count = end;
    }
    if (o->status != KB_OK) return;
    refine_keypoints(o, first, end);
    orient_keypoints(o, first, end);
}

/* The whole of one level after the other, or bands of all of them in turn. */
static void sweep(kbi_orb *o, const kbi_orb_visitor *visitor)
{
    if (kbi_orb_streams(o)) {
        kbi_orb_sweep(o, visitor);
        return;
    }
    for (int32_t i = 0; i < o->levels; i++) {
        if (i > 0) kbi_orb_build_level(o, i);
        visitor->visit(o, i, KBI_ORB_EDGE, o->level[i].height - KBI_ORB_EDGE);
    }
}

static kb_status detect_in_sweeps(kbi_orb *o)
{
    const kbi_orb_visitor search = {visit_search, o->job->options.cell_size, kbi_orb_search_reach(o)};
    const kbi_orb_visitor finish = {visit_finish, KBI_ORB_FINISH_ROWS, KBI_ORB_FINISH_REACH};
    kbi_orb_goals_start(o);
    do sweep(o, &search);
    while (!kbi_orb_goals_met(o));
    kbi_orb_limits(o);
    for (int32_t i = 0; i < o->levels && kbi_orb_streams(o) && o->status == KB_OK; i++) {
        o->status = choose_keypoints(o, i);
        sort_by_rows(level_keypoints(o, i), o->level[i].share);
        o->rings[i].next = o->count;
        o->rings[i].end = o->count += o->level[i].share;
    }
    if (o->status == KB_OK) sweep(o, &finish);
    return o->status;
}

static kb_status orb_measure(kbi_orb *o, size_t mark)
{
    const kbi_detect_job *job = o->job;
    kb_workspace *workspace = job->workspace;
    kb_status status = KB_OK;
    if (o->candidates)
        status = kbi_select_measure(kbi_orb_most_corners(o), o->wanted, job->image.width, job->image.height,
                                    job->options.selection, workspace);
    kbi_workspace_rewind(workspace, o->single ? mark : kbi_workspace_mark(workspace));
    if (status != KB_OK) return status;
    return kbi_select_measure(o->wanted, (size_t)job->options.max_keypoints, job->image.width, job->image.height,
                              job->options.selection, workspace);
}

static void set_thresholds(kbi_orb *o)
{
    const kb_detect_options *options = &o->job->options;
    o->hessian = options->detector == KB_DETECTOR_HESSIAN;
    o->lowest = options->fast_threshold;
    o->lowest_again = options->fast_threshold_min;
    if (kbi_orb_is_hessian(o))
        o->lowest = o->lowest_again = kbi_max_i(kbi_hessian_score(options->hessian_threshold) - 1, 0);
}

kb_status kbi_detect_orb(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    kbi_orb o = {.job = job, .single = job->options.low_memory};
    set_thresholds(&o);
    size_t n = (size_t)job->options.max_keypoints;
    kbi_detect_kernels_init(&o.kernels, kbi_cpu_flags());
    *count = 0;
    o.threads = o.single ? 1 : kbi_parallel_threads(job->options.parallel);
    o.wanted = n < LEAST_SHARED ? LEAST_SHARED : n;
    kbi_orb_plan_levels(&o);
    if (o.levels == 0) return KB_OK;
    o.streams = takes_bands(&o);
    o.keypoints = kbi_workspace_get(job->workspace, o.wanted * sizeof *o.keypoints);
    size_t mark = kbi_workspace_mark(job->workspace);
    if (!o.keypoints || !orb_get(&o)) return KB_E_MEMORY;
    if (job->workspace->measures) return orb_measure(&o, mark);
    kb_status status = o.single ? detect_in_sweeps(&o) : detect_at_once(&o);
    if (status != KB_OK) return status;
    if (o.single) kbi_workspace_rewind(job->workspace, mark); /* the levels are not needed any more */
    o.count = (size_t)(level_keypoints(&o, o.levels) - o.keypoints);
    o.all_stay = o.count <= n;
    if (!o.single) kbi_parallel_run(job->options.parallel, o.threads, refine_task, &o);
    status = kb_select(o.keypoints, o.count, job->image.width, job->image.height, job->options.selection, n,
                       job->workspace, &o.count);
    if (status != KB_OK) return status;
    if (!o.single && !o.all_stay) kbi_parallel_run(job->options.parallel, o.threads, orient_task, &o);
    if (job->options.second_angle) spread_directions(&o, n);
    *found = o.keypoints;
    *count = o.count;
    return status;
}
