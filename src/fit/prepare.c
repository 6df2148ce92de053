/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Makes the list that the search works on: finite pairs, duplicates dropped, best first, normalised. */
#include <math.h>

#include "fit/fit.h"

#define FEW 31  /* points that give the frame of an image */
#define FAR 1e6 /* as good as at infinity, in rays */
#define LEAST_TIMES 0.8 /* of the threshold; no pair is much more exact, since noise of the image is not all there is */
#define MOST_TIMES 4.0

/* The first coordinate of point 1, or of point 2, of correspondence i. */
static const double *point_of(const fit_input *input, int32_t i, bool second)
{
    return input->values + (size_t)i * (size_t)input->stride + (second ? input->stride - 2 : 0);
}

/* Coordinates of a point: three for a point of the scene, else two. */
static int32_t dimensions_of(const fit_input *input, bool second) { return second ? 2 : input->stride - 2; }

static bool finite_row(const fit_input *input, int32_t i)
{
    const double *row = point_of(input, i, false);
    double zero = 0 * row[0] + 0 * row[1] + 0 * row[2] + 0 * row[3]; /* or not a number */
    if (input->stride == 5) zero += 0 * row[4];
    return zero == 0;
}

/* ---- order of quality ---- */

/* Indices by quality; equal qualities keep their order. */
static void sort_by_quality(const float *quality, int32_t *order, int32_t n, uint64_t *entries, uint64_t *spare)
{
    for (int32_t i = 0; i < n; i++)
        entries[i] = (uint64_t)kbi_float_order(quality[order[i]]) << 32 | (uint32_t)order[i];
    kbi_sort_upper(entries, spare, (size_t)n);
    for (int32_t i = 0; i < n; i++) order[i] = (int32_t)(uint32_t)entries[i];
}

/* ---- duplicates ---- */

/* A hash table of the points of one image. */
typedef struct point_set {
    const fit_input *input;
    int32_t *table; /* index + 1 of a pair that holds the point; 0: free */
    size_t mask;
    bool second; /* the points are in image 2 */
} point_set;

/* Coordinates of whole pixels differ in their upper bits alone, and products hand bits on upwards only: the upper half
 * of each goes down before it is multiplied, and their sum does once more. */
uint64_t kbi_fit_hash_point(const double *point, int32_t dimensions)
{
    uint64_t hash = 0;
    for (int32_t k = 0; k < dimensions; k++) {
        double value = point[k] + 0.0; /* -0 is 0 */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits ^ bits >> 32) * 0x9e3779b97f4a7c15u;
    }
    return (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9u;
}

static bool same_point(const double *a, const double *b, int32_t dimensions)
{
    for (int32_t k = 0; k < dimensions; k++)
        if (a[k] != b[k]) return false;
    return true;
}

/* The table's entry for the point of pair i: the entry that holds it, or the free one where it belongs. */
static int32_t *find_point(const point_set *set, int32_t i)
{
    const double *point = point_of(set->input, i, set->second);
    int32_t dimensions = dimensions_of(set->input, set->second);
    for (size_t k = (size_t)(kbi_fit_hash_point(point, dimensions) >> 20) & set->mask;; k = (k + 1) & set->mask) {
        if (!set->table[k]) return &set->table[k];
        if (same_point(point_of(set->input, set->table[k] - 1, set->second), point, dimensions)) return &set->table[k];
    }
}

/* Drops every pair of order[] (best first) that shares a point with a better one. The table has 2 x size places. */
static int32_t drop_duplicates(const fit_input *input, int32_t *order, int32_t n, int32_t *table, size_t size)
{
    const point_set first = {input, table, size - 1, false}, second = {input, table + size, size - 1, true};
    int32_t kept = 0;
    memset(table, 0, 2 * size * sizeof *table);
    for (int32_t at = 0; at < n; at++) {
        int32_t i = order[at], *place = find_point(&first, i), *other = find_point(&second, i);
        if (*place || *other) continue;
        *place = *other = i + 1;
        order[kept++] = i;
    }
    return kept;
}

/* ---- normalisation ---- */

/* Odd-even transposition sort: for so few values the fastest, since it has no branches. */
static double median_of_few(const double *values, int32_t n)
{
    double v[FEW] = {0};
    for (int32_t k = 0; k < n; k++) v[k] = values[k];
    for (int32_t round = 0; round < n; round++) {
        for (int32_t k = round & 1; k + 1 < n; k += 2) {
            double a = v[k], b = v[k + 1];
            v[k] = b < a ? b : a;
            v[k + 1] = a < b ? b : a;
        }
    }
    return v[n / 2];
}

static double taxicab(const double *point, const double *centre, int32_t dimensions)
{
    double sum = 0;
    for (int32_t k = 0; k < dimensions; k++) sum += fabs(point[k] - centre[k]);
    return sum;
}

/* Centre and scale of the points of one image, from medians over a few of the points, which outliers cannot move far.
 * Scale 0 means that all points are at one place. *z receives the third coordinate of the centre of a scene. */
static fit_frame frame_of(const fit_input *input, const int32_t *order, int32_t n, bool second, double *z)
{
    double values[FEW] = {0}, centre[3] = {0};
    int32_t few = kbi_min_i(n, FEW), dimensions = dimensions_of(input, second);
    for (int32_t d = 0; d < dimensions; d++) {
        for (int32_t k = 0; k < few; k++) values[k] = point_of(input, order[kbi_piece((size_t)n, few, k)], second)[d];
        centre[d] = median_of_few(values, few);
    }
    for (int32_t k = 0; k < few; k++)
        values[k] = taxicab(point_of(input, order[kbi_piece((size_t)n, few, k)], second), centre, dimensions);
    double size = median_of_few(values, few);
    for (int32_t k = 0; k < n && !(size > 0); k++) /* most points lie at one place: take the first other one */
        size = taxicab(point_of(input, order[k], second), centre, dimensions);
    if (z) *z = centre[2];
    return (fit_frame){centre[0], centre[1], size > 0 && 1 / size <= DBL_MAX ? 1 / size : 0};
}

/* ---- degenerate input ---- */

/* Whether all points of one image are at one place or, up to rounding, on the line through two points that are not too
 * close to each other. */
static bool on_a_line(const fit_input *input, const int32_t *order, int32_t n, const fit_frame *frame, bool second)
{
    const double *origin = point_of(input, order[0], second);
    int32_t dimensions = dimensions_of(input, second);
    double axis[3] = {0}, length = 0;
    for (int32_t k = 1; k < n; k++) {
        const double *point = point_of(input, order[k], second);
        double d[3] = {0}, distance = 0, off[3];
        for (int32_t i = 0; i < dimensions; i++) {
            d[i] = (point[i] - origin[i]) * frame->scale;
            distance += fabs(d[i]);
        }
        if (!(length > 0)) {
            if (!(distance >= 0.5)) continue; /* too close, or not a number after an overflow */
            for (int32_t i = 0; i < 3; i++) axis[i] = d[i] / distance;
            length = distance;
            k = 0; /* from the start again */
            continue;
        }
        kbi_fit_cross3(axis, d, off);
        if (fabs(off[0]) + fabs(off[1]) + fabs(off[2]) > 1e-6 * (1 + distance)) return false;
    }
    return true;
}

static bool at_one_place(const fit_pairs *out) { return !(out->frame1.scale > 0) || !(out->frame2.scale > 0); }

static bool degenerate(const fit_input *input, const int32_t *order, int32_t n, const fit_kind *kind,
                       const fit_pairs *out)
{
    if (at_one_place(out)) return true;
    if (kind->from_line) return false;
    return on_a_line(input, order, n, &out->frame1, false) || on_a_line(input, order, n, &out->frame2, true);
}

/* ---- the arrays ---- */

static void common_scale(fit_frame *a, fit_frame *b)
{
    double scale = sqrt(a->scale * b->scale);
    a->scale = b->scale = scale;
}

/* A step through 0..n-1 that visits every number once; the first steps, however many, are evenly distributed. */
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

/* A pixel that no ray reaches goes far away, where it is an outlier of every model. */
static void to_ray(const kb_camera *camera, const double *pixel, double *x, double *y)
{
    if (kb_camera_unproject(camera, pixel[0], pixel[1], x, y) == KB_OK && fabs(*x) < FAR && fabs(*y) < FAR) return;
    *x = *y = FAR;
}

static void fill_pairs(const fit_input *input, const int32_t *order, const kb_fit_options *options,
                       const fit_kind *kind, fit_pairs *out)
{
    const fit_frame *f1 = &out->frame1, *f2 = &out->frame2;
    int32_t n = out->n, step = even_step(n), rank = 0;
    for (int32_t s = 0; s < n; s++) {
        const double *a = point_of(input, order[rank], false), *b = point_of(input, order[rank], true);
        if (kind->calibrated && !out->z1) {
            to_ray(options->camera1, a, &out->x1[s], &out->y1[s]);
        } else {
            out->x1[s] = (a[0] - f1->x) * f1->scale;
            out->y1[s] = (a[1] - f1->y) * f1->scale;
        }
        if (out->z1) out->z1[s] = (a[2] - out->z) * f1->scale;
        if (kind->calibrated) {
            to_ray(options->camera2, b, &out->x2[s], &out->y2[s]);
        } else {
            out->x2[s] = (b[0] - f2->x) * f2->scale;
            out->y2[s] = (b[1] - f2->y) * f2->scale;
        }
        out->origin[s] = order[rank];
        out->slot[rank] = s;
        rank = rank >= n - step ? rank - (n - step) : rank + step;
    }
}

/* ---- weights ---- */

/* The median of the deviations that are positive, of the pairs in order[]; 0 when none is. */
static double median_deviation(const float *deviations, const int32_t *order, int32_t n, uint64_t *entries)
{
    size_t count = 0;
    for (int32_t k = 0; k < n; k++) {
        float d = deviations[order[k]];
        if (d > 0 && d <= FLT_MAX) entries[count++] = (uint64_t)kbi_float_order(d) << 32 | (uint32_t)order[k];
    }
    kbi_sort_upper(entries, entries + n, count);
    return count ? (double)deviations[(uint32_t)entries[count / 2]] : 0;
}

/* Weights by the deviations, and the mean chance of pairs whose thresholds differ. */
static void fill_weights(const float *deviations, double threshold, const fit_kind *kind, uint64_t *entries,
                         const int32_t *order, fit_pairs *out)
{
    double median = median_deviation(deviations, order, out->n, entries), sum = 0;
    for (int32_t s = 0; s < out->n; s++) {
        double d = deviations[out->origin[s]], times = d > 0 && d <= FLT_MAX && median > 0 ? d / median : 1;
        times = times < LEAST_TIMES ? LEAST_TIMES : times > MOST_TIMES ? MOST_TIMES : times;
        out->weight[s] = 1 / (times * times);
        sum += kind->chance(times * threshold);
    }
    out->chance = sum / out->n < 0.5 ? sum / out->n : 0.5;
}

static void fill_rough(const fit_pairs *out)
{
    const double *from[4] = {out->x1, out->y1, out->x2, out->y2};
    for (int32_t k = 0; k < 4; k++)
        for (int32_t s = 0; s < out->n; s++) out->rough[(size_t)k * (size_t)out->n + (size_t)s] = (float)from[k][s];
}

/* Pixels per unit of the coordinates that fill_pairs() makes: the focal length for rays. */
static double pixels_per_unit(const kb_fit_options *options, const fit_kind *kind, const fit_pairs *out)
{
    if (!kind->calibrated) return 1 / out->frame2.scale;
    const kb_camera *a = options->camera1, *b = options->camera2;
    double focal2 = 0.5 * (b->fx + b->fy);
    return out->z1 ? focal2 : 0.5 * (focal2 + 0.5 * (a->fx + a->fy));
}

/* ---- all together ---- */

/* Memory that only preparing needs. Sorting comes before the search for duplicates, so they share memory. */
typedef struct prepare_buffers {
    int32_t *order;
    uint64_t *entries; /* of the sort, twice n */
    int32_t *table;    /* of points, twice table_size, which is 2 n or more */
    size_t table_size;
} prepare_buffers;

static size_t table_size(size_t n)
{
    size_t size = 8;
    while (size < 2 * n) size *= 2;
    return size;
}

size_t kbi_fit_prepare_bytes(size_t n)
{
    uint64_t each = 6 * sizeof(double) + 3 * sizeof(int32_t) + 4 * sizeof(float);
    uint64_t bytes = n * each + 2 * (uint64_t)table_size(n) * sizeof(int32_t);
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static prepare_buffers buffers_in(double *d, const fit_input *input, bool weighted, fit_pairs *out)
{
    size_t count = (size_t)input->n, size = table_size(count);
    int32_t *table = (int32_t *)(d + 6 * count), *order = table + 2 * size;
    out->x1 = d, out->y1 = d + count, out->x2 = d + 2 * count, out->y2 = d + 3 * count;
    out->z1 = input->stride == 5 ? d + 4 * count : NULL;
    out->weight = weighted ? d + 5 * count : NULL;
    out->origin = order + count, out->slot = order + 2 * count;
    out->rough = (float *)(order + 3 * count);
    return (prepare_buffers){order, (uint64_t *)(d + 6 * count), table, size};
}

kb_fit_result kbi_fit_prepare(const fit_input *input, const kb_fit_options *options, const fit_kind *kind,
                              void *memory, fit_pairs *out)
{
    int32_t kept = 0;
    prepare_buffers r = buffers_in(memory, input, options->deviations, out);
    for (int32_t i = 0; i < input->n; i++) {
        r.order[kept] = i;
        kept += finite_row(input, i);
    }
    if (kept < kind->sample) return KB_FIT_TOO_FEW;
    if (options->quality) sort_by_quality(options->quality, r.order, kept, r.entries, r.entries + kept);
    out->frame1 = frame_of(input, r.order, kept, false, &out->z);
    out->frame2 = frame_of(input, r.order, kept, true, NULL);
    if (degenerate(input, r.order, kept, kind, out)) return KB_FIT_DEGENERATE;
    kept = drop_duplicates(input, r.order, kept, r.table, r.table_size);
    if (kept < kind->sample) return KB_FIT_TOO_FEW;
    if (degenerate(input, r.order, kept, kind, out)) return KB_FIT_DEGENERATE;
    out->n = kept;
    out->input = *input;
    out->candidates = options->candidates > (size_t)input->n ? (double)options->candidates / input->n : 1;
    out->looks = options->looks;
    out->place = 2 < 2 * options->threshold ? 2 : 2 * options->threshold;
    if (kind->one_scale) common_scale(&out->frame1, &out->frame2);
    double spread = options->threshold * out->frame2.scale; /* the threshold against the extent of the points */
    out->pixel = pixels_per_unit(options, kind, out);
    double threshold = kind->calibrated ? options->threshold / out->pixel : spread;
    out->threshold2 = threshold * threshold;
    out->chance = kind->chance(spread) < 0.5 ? kind->chance(spread) : 0.5;
    fill_pairs(input, r.order, options, kind, out);
    if (out->weight) fill_weights(options->deviations, spread, kind, r.entries, r.order, out);
    if (kind->count_near) fill_rough(out);
    return KB_FIT_FOUND;
}
