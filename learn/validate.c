/* SPDX-License-Identifier: Apache-2.0 */
/* Matching rate, area under precision and recall, FPR95, and how evenly the bits are used, on patches kept back. */
#include "learn/validate.h"

#include <math.h>
#include <string.h>

#include "common/common.h"
#include "learn/memory.h"
#include "learn/metrics.h"
#include "learn/random.h"

#define GALLERY 2000
#define MAX_DISTANCE KB_MAX_BITS
#define BLOCKS 64 /* pieces of work within a gallery; fixed, so that sums do not depend on the threads */

typedef struct pair {
    size_t query, answer; /* patches of one point */
} pair;

/* What matching one gallery gives, by distance. */
typedef struct tally {
    double right[MAX_DISTANCE + 1];       /* queries whose nearest is right, ties in proportion */
    uint64_t answered[MAX_DISTANCE + 1];  /* queries by the distance of their nearest */
    uint64_t same[MAX_DISTANCE + 1], different[MAX_DISTANCE + 1]; /* pairs of patches */
} tally;

typedef struct gallery_job {
    const uint8_t *queries, *answers; /* rows side by side */
    size_t n, row_bytes;
    tally *tallies; /* one a block */
} gallery_job;

static void match_query(const gallery_job *job, size_t i, tally *t)
{
    const uint8_t *row = job->queries + i * job->row_bytes;
    int32_t own = kb_hamming(row, job->answers + i * job->row_bytes, job->row_bytes), nearest = own;
    size_t ties = 0;
    for (size_t k = 0; k < job->n; k++) {
        int32_t d = kb_hamming(row, job->answers + k * job->row_bytes, job->row_bytes);
        if (k != i) t->different[d]++;
        if (d < nearest) {
            nearest = d;
            ties = 0;
        }
        ties += d == nearest;
    }
    t->same[own]++;
    t->answered[nearest]++;
    if (own == nearest) t->right[nearest] += 1.0 / (double)ties;
}

static void match_block(void *context, int32_t index)
{
    const gallery_job *job = context;
    size_t end = kbi_piece(job->n, BLOCKS, index + 1);
    for (size_t i = kbi_piece(job->n, BLOCKS, index); i < end; i++) match_query(job, i, &job->tallies[index]);
}

static void add_tally(tally *to, const tally *from)
{
    for (int d = 0; d <= MAX_DISTANCE; d++) {
        to->right[d] += from->right[d];
        to->answered[d] += from->answered[d];
        to->same[d] += from->same[d];
        to->different[d] += from->different[d];
    }
}

static double average_precision(const tally *t, size_t queries, double *rate)
{
    return kbi_average_precision_binned(t->right, t->answered, MAX_DISTANCE + 1, queries, rate);
}

static double false_positives_at_95(const tally *t)
{
    return kbi_fpr_at_95((kbi_histograms){t->same, t->different, MAX_DISTANCE + 1}).rate;
}

/* ------------------------------------------------------------------------------------------------------- the bits */

static bool bit_statistics(const uint8_t *rows, size_t n, size_t row_bytes, kbi_validation *out)
{
    size_t bits = 8 * row_bytes, words = (n + 63) / 64;
    uint64_t *column = kbi_zeros(bits * words, sizeof *column);
    double *mean = kbi_zeros(bits, sizeof *mean);
    double away = 0, correlation = 0;
    if (!column || !mean) {
        free(column);
        free(mean);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < bits; b++) {
            if (rows[i * row_bytes + b / 8] >> (7 - b % 8) & 1) column[b * words + i / 64] |= (uint64_t)1 << (i % 64);
        }
    }
    for (size_t b = 0; b < bits; b++) {
        uint64_t ones = 0;
        for (size_t w = 0; w < words; w++) ones += (uint64_t)__builtin_popcountll(column[b * words + w]);
        mean[b] = (double)ones / (double)n;
        away += fabs(mean[b] - 0.5);
    }
    for (size_t a = 0; a < bits; a++) {
        for (size_t b = 0; b < a; b++) {
            uint64_t both = 0;
            for (size_t w = 0; w < words; w++)
                both += (uint64_t)__builtin_popcountll(column[a * words + w] & column[b * words + w]);
            double spread = sqrt(mean[a] * (1 - mean[a]) * mean[b] * (1 - mean[b]));
            if (spread > 0) correlation += fabs((double)both / (double)n - mean[a] * mean[b]) / spread;
        }
    }
    out->bit_mean = away / (double)bits;
    out->bit_correlation = bits > 1 ? correlation / ((double)bits * (double)(bits - 1) / 2) : 0;
    free(column);
    free(mean);
    return true;
}

/* ------------------------------------------------------------------------------------------------------ galleries */

/* A query and an answer of another view for every point that has them, in random order. Returns how many. */
static size_t draw_pairs(const kbi_patch_set *set, uint64_t seed, pair *pairs)
{
    size_t count = 0;
    uint64_t state = kbi_random_fork(seed, 0);
    for (size_t p = 0; p < set->points; p++) {
        size_t start = set->first[p], patches = set->first[p + 1] - start, others = 0;
        size_t query = start + kbi_random_below(&state, (uint32_t)patches);
        uint64_t pick = kbi_random_next(&state);
        for (size_t i = start; i < start + patches; i++) others += set->view[i] != set->view[query];
        if (others == 0) continue;
        size_t wanted = (size_t)(pick % others), answer = start;
        for (;; answer++) {
            if (set->view[answer] != set->view[query] && wanted-- == 0) break;
        }
        pairs[count++] = (pair){query, answer};
    }
    for (size_t i = 0; i + 1 < count; i++) {
        size_t j = i + kbi_random_below(&state, (uint32_t)(count - i));
        pair swap = pairs[i];
        pairs[i] = pairs[j];
        pairs[j] = swap;
    }
    return count;
}

static void gather(const pair *pairs, size_t n, const uint8_t *rows, size_t row_bytes, uint8_t *queries,
                   uint8_t *answers)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(queries + i * row_bytes, rows + pairs[i].query * row_bytes, row_bytes);
        memcpy(answers + i * row_bytes, rows + pairs[i].answer * row_bytes, row_bytes);
    }
}

/* Room of one validation. */
typedef struct room {
    pair *pairs;
    uint8_t *queries, *answers;
    tally *all, *one, *blocks;
} room;

static bool room_create(room *r, size_t points, size_t row_bytes)
{
    *r = (room){kbi_zeros(points, sizeof(pair)), kbi_zeros(points, row_bytes), kbi_zeros(points, row_bytes),
                kbi_zeros(1, sizeof(tally)), kbi_zeros(1, sizeof(tally)), kbi_zeros(BLOCKS, sizeof(tally))};
    return r->pairs && r->queries && r->answers && r->all && r->one && r->blocks;
}

static void room_free(room *r)
{
    free(r->pairs);
    free(r->queries);
    free(r->answers);
    free(r->all);
    free(r->one);
    free(r->blocks);
}

static void match_galleries(const room *r, size_t n, size_t row_bytes, size_t galleries, const kb_parallel *parallel,
                            kbi_validation *out)
{
    for (size_t g = 0; g < galleries; g++) {
        size_t from = n * g / galleries, to = n * (g + 1) / galleries;
        double rate;
        memset(r->blocks, 0, BLOCKS * sizeof *r->blocks);
        memset(r->one, 0, sizeof *r->one);
        gallery_job job = {r->queries + from * row_bytes, r->answers + from * row_bytes, to - from, row_bytes,
                           r->blocks};
        kbi_parallel_run(parallel, BLOCKS, match_block, &job);
        for (int b = 0; b < BLOCKS; b++) add_tally(r->one, &r->blocks[b]);
        out->map += average_precision(r->one, to - from, &rate) / (double)galleries;
        out->rate += rate * (double)(to - from) / (double)n;
        add_tally(r->all, r->one);
    }
    out->fpr95 = false_positives_at_95(r->all);
    memcpy(out->right, r->all->same, sizeof out->right);
    memcpy(out->wrong, r->all->different, sizeof out->wrong);
}

bool kbi_validate_rows(const kbi_patch_set *set, const uint8_t *rows, size_t row_bytes, size_t gallery, uint64_t seed,
                      const kb_parallel *parallel, kbi_validation *out)
{
    room r;
    *out = (kbi_validation){0};
    if (row_bytes < 1 || row_bytes > MAX_DISTANCE / 8) return false;
    bool ok = room_create(&r, set->points, row_bytes);
    if (ok) {
        size_t n = draw_pairs(set, seed, r.pairs), galleries = n / (gallery ? gallery : GALLERY);
        gather(r.pairs, n, rows, row_bytes, r.queries, r.answers);
        out->queries = n;
        ok = n >= 2;
        if (ok) match_galleries(&r, n, row_bytes, galleries ? galleries : 1, parallel, out);
        ok = ok && bit_statistics(r.queries, n, row_bytes, out);
    }
    room_free(&r);
    return ok;
}

bool kbi_validate_model(const kbi_patch_set *set, const kb_model *model, size_t gallery, uint64_t seed,
                       const kb_parallel *parallel, kbi_validation *out)
{
    kb_model_info info;
    kb_describe_options options;
    KB_INIT(info);
    KB_INIT(options);
    options.parallel = parallel;
    *out = (kbi_validation){0};
    if (kb_model_get_info(model, &info) != KB_OK || info.spec->bits == 0) return false;
    size_t row_bytes = (size_t)info.row_bytes;
    uint8_t *rows = kbi_zeros(set->patches, row_bytes);
    kb_features f;
    KB_INIT(f);
    f.n = set->patches;
    f.rows = rows;
    f.rows_size = set->patches * row_bytes;
    bool ok = rows && kb_describe_patches(model, set->pixels, set->side, &options, NULL, &f, NULL) == KB_OK &&
              kbi_validate_rows(set, rows, row_bytes, gallery, seed, parallel, out);
    free(rows);
    return ok;
}

double kbi_validate_map(const kbi_patch_set *set, const uint8_t *rows, size_t row_bytes, size_t gallery, uint64_t seed,
                       const kb_parallel *parallel)
{
    kbi_validation v;
    return kbi_validate_rows(set, rows, row_bytes, gallery, seed, parallel, &v) ? v.map : -1;
}
