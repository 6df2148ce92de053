/* From the caller's pairs to those that take part: finite, different, best first, normalised. */
#include <math.h>

#include "fit/fit.h"

#define FEW 31 /* points that give the frame of an image */

static bool finite4(const kb_pair *p)
{
    return fabs(p->x1) <= DBL_MAX && fabs(p->y1) <= DBL_MAX && fabs(p->x2) <= DBL_MAX && fabs(p->y2) <= DBL_MAX;
}

/* ---- order of quality ---- */

/* Indices by quality; equal qualities keep their order. */
static void sort_by_quality(const float *quality, int32_t *order, int32_t n, uint64_t *entries, uint64_t *spare)
{
    for (int32_t i = 0; i < n; i++) entries[i] = (uint64_t)kbi_float_order(quality[order[i]]) << 32 | (uint32_t)order[i];
    kbi_sort_upper(entries, spare, (size_t)n);
    for (int32_t i = 0; i < n; i++) order[i] = (int32_t)(uint32_t)entries[i];
}

/* ---- duplicates ---- */

typedef struct point_set {
    const kb_pair *pairs;
    int32_t *table; /* index + 1 of a pair that holds the point; 0: free */
    size_t mask;
    bool second; /* the points are those of image 2 */
} point_set;

static size_t hash_point(double x, double y)
{
    uint64_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    a = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15u;
    return (size_t)((a ^ a >> 29) * 0xbf58476d1ce4e5b9u >> 24);
}

/* The place of the point of pair i: where it is, or the free place where it belongs. */
static int32_t *find_point(const point_set *set, int32_t i)
{
    const kb_pair *p = &set->pairs[i];
    double x = (set->second ? p->x2 : p->x1) + 0.0, y = (set->second ? p->y2 : p->y1) + 0.0;
    for (size_t k = hash_point(x, y) & set->mask;; k = (k + 1) & set->mask) {
        if (!set->table[k]) return &set->table[k];
        const kb_pair *other = &set->pairs[set->table[k] - 1];
        if ((set->second ? other->x2 : other->x1) == x && (set->second ? other->y2 : other->y1) == y)
            return &set->table[k];
    }
}

/* Keeps of the pairs in order[], best first, those that share no point with a better one. Table has 2 x size places. */
static int32_t drop_duplicates(const kb_pair *pairs, int32_t *order, int32_t n, int32_t *table, size_t size)
{
    point_set first = {pairs, table, size - 1, false}, second = {pairs, table + size, size - 1, true};
    int32_t kept = 0;
    memset(table, 0, 2 * size * sizeof *table);
    for (int32_t k = 0; k < n; k++) {
        int32_t i = order[k], *place1 = find_point(&first, i), *place2 = find_point(&second, i);
        if (*place1 || *place2) continue;
        *place1 = *place2 = i + 1;
        order[kept++] = i;
    }
    return kept;
}

/* ---- normalisation ---- */

static void point_of(const kb_pair *p, bool second, double *x, double *y)
{
    *x = second ? p->x2 : p->x1;
    *y = second ? p->y2 : p->y1;
}

static double median(const double *values, int32_t n)
{
    double v[FEW] = {0};
    for (int32_t i = 0; i < n; i++) {
        int32_t j = i;
        for (; j > 0 && v[j - 1] > values[i]; j--) v[j] = v[j - 1];
        v[j] = values[i];
    }
    return v[n / 2];
}

/* Centre and scale of the points of one image from medians over a few of them, which no wild point can move far.
 * Scale 0 means that all points are at one place. */
static fit_frame frame_of(const kb_pair *pairs, const int32_t *order, int32_t n, bool second)
{
    double x[FEW] = {0}, y[FEW] = {0}, distance[FEW] = {0};
    int32_t few = kbi_min_i(n, FEW);
    for (int32_t k = 0; k < few; k++) point_of(&pairs[order[kbi_piece((size_t)n, few, k)]], second, &x[k], &y[k]);
    double cx = median(x, few), cy = median(y, few);
    for (int32_t k = 0; k < few; k++) distance[k] = fabs(x[k] - cx) + fabs(y[k] - cy);
    double spread = median(distance, few);
    for (int32_t k = 0; k < n && !(spread > 0); k++) { /* most at one place: take the first that is not */
        double px, py;
        point_of(&pairs[order[k]], second, &px, &py);
        spread = fabs(px - cx) + fabs(py - cy);
    }
    return (fit_frame){cx, cy, spread > 0 ? 1 / spread : 0};
}

/* ---- degenerate input ---- */

/* All points of one image at one place or, but for rounding, on one line: that through two points not too close. */
static bool on_a_line(const kb_pair *pairs, const int32_t *order, int32_t n, const fit_frame *frame, bool second)
{
    double x0, y0, dx = 0, dy = 0, length = 0;
    point_of(&pairs[order[0]], second, &x0, &y0);
    for (int32_t k = 1; k < n; k++) {
        double x, y;
        point_of(&pairs[order[k]], second, &x, &y);
        x = (x - x0) * frame->scale;
        y = (y - y0) * frame->scale;
        double distance = fabs(x) + fabs(y);
        if (!(length > 0)) {
            if (distance >= 0.5)
                dx = x / distance, dy = y / distance, length = distance, k = 0; /* from the start again */
        } else if (fabs(dx * y - dy * x) > 1e-6 * (1 + distance)) {
            return false;
        }
    }
    return true;
}

static bool degenerate(const kb_pair *pairs, const int32_t *order, int32_t n, const fit_pairs *out)
{
    return on_a_line(pairs, order, n, &out->frame1, false) || on_a_line(pairs, order, n, &out->frame2, true);
}

/* ---- the arrays ---- */

static void common_scale(fit_frame *a, fit_frame *b)
{
    double scale = sqrt(a->scale * b->scale);
    a->scale = b->scale = scale;
}

/* A step through 0..n-1 that meets every number once and spreads any number of first steps evenly. */
static int32_t even_step(int32_t n)
{
    int32_t step = kbi_max_i(1, (int32_t)((double)n * 0.6180339887498949));
    for (;; step++) {
        int32_t a = n, b = step;
        while (b) {
            int32_t r = a % b;
            a = b;
            b = r;
        }
        if (a == 1) return step;
    }
}

static void fill(const kb_pair *pairs, const int32_t *order, fit_pairs *out)
{
    const fit_frame *f1 = &out->frame1, *f2 = &out->frame2;
    int32_t n = out->n, step = even_step(n), rank = 0;
    for (int32_t s = 0; s < n; s++) {
        const kb_pair *p = &pairs[order[rank]];
        out->x1[s] = (p->x1 - f1->x) * f1->scale;
        out->y1[s] = (p->y1 - f1->y) * f1->scale;
        out->x2[s] = (p->x2 - f2->x) * f2->scale;
        out->y2[s] = (p->y2 - f2->y) * f2->scale;
        out->origin[s] = order[rank];
        out->slot[rank] = s;
        rank = rank >= n - step ? rank - (n - step) : rank + step;
    }
}

/* ---- all together ---- */

/* What preparing needs and nobody afterwards. Sorting comes before the search for duplicates, so they share memory. */
typedef struct room {
    int32_t *order;
    uint64_t *entries; /* of the sort, twice n */
    int32_t *table;    /* of points, twice table_size, which is 2 n or more */
    size_t table_size;
} room;

static bool allocate(kb_workspace *workspace, int32_t n, room *r, fit_pairs *out)
{
    size_t count = (size_t)n;
    r->table_size = 8;
    while (r->table_size < 2 * count) r->table_size *= 2;
    double *d = kbi_workspace_get(workspace, count * (4 * sizeof(double) + 3 * sizeof(int32_t)) +
                                                               2 * r->table_size * sizeof(int32_t));
    if (!d) return false;
    out->x1 = d, out->y1 = d + count, out->x2 = d + 2 * count, out->y2 = d + 3 * count;
    r->entries = (uint64_t *)(d + 4 * count);
    r->table = (int32_t *)r->entries;
    r->order = r->table + 2 * r->table_size;
    out->origin = r->order + count, out->slot = r->order + 2 * count;
    return true;
}

kb_status kbi_fit_prepare(const kb_pair *pairs, int32_t n, const kb_fit_options *options, const fit_kind *kind,
                         kb_workspace *workspace, fit_pairs *out, kb_fit_result *result)
{
    room r;
    int32_t kept = 0;
    *result = KB_FIT_TOO_FEW;
    if (n < kind->sample) return KB_OK;
    if (!allocate(workspace, n, &r, out)) return KB_E_MEMORY;
    for (int32_t i = 0; i < n; i++)
        if (finite4(&pairs[i])) r.order[kept++] = i;
    if (kept < kind->sample) return KB_OK;
    if (options->quality) sort_by_quality(options->quality, r.order, kept, r.entries, r.entries + kept);
    out->frame1 = frame_of(pairs, r.order, kept, false);
    out->frame2 = frame_of(pairs, r.order, kept, true);
    *result = KB_FIT_DEGENERATE;
    if (degenerate(pairs, r.order, kept, out)) return KB_OK;
    if (!options->keep_duplicates) {
        kept = drop_duplicates(pairs, r.order, kept, r.table, r.table_size);
        *result = kept < kind->sample ? KB_FIT_TOO_FEW : KB_FIT_DEGENERATE;
        if (kept < kind->sample || degenerate(pairs, r.order, kept, out)) return KB_OK;
    }
    out->n = kept;
    if (kind->one_scale) common_scale(&out->frame1, &out->frame2);
    double threshold = options->threshold * out->frame2.scale;
    out->threshold2 = threshold * threshold;
    out->chance = kind->chance(threshold) < 0.5 ? kind->chance(threshold) : 0.5;
    fill(pairs, r.order, out);
    *result = KB_FIT_FOUND;
    return KB_OK;
}
