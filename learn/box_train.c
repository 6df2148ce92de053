/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy feature selection: the paper's Algorithm 1 (section III-A), in learn_bits. Lines of the algorithm are cited
 * there.
 *
 * The paper's recipe is what kb_learn_paper sets. Around it stands what the paper does not have: batches that stay
 * for several bits, screening of candidates, a local search from the best of them, boxes of two sizes, cells,
 * channels of gradient. */
#include "learn/box_train.h"

#include <stdlib.h>

#include "learn/arguments.h"
#include "learn/augment.h"
#include "learn/random.h"
#include "model/model.h"

#define BEAM 8      /* candidates that the local search starts from */
#define SCREENED 64 /* candidates, and moves of the beam, that are judged by all triplets after a screening */

typedef struct trainer {
    kb_learn_options o;
    kbi_box_sample sample;
    kbi_scorer scorer;
    kbi_box_space space;
    kbi_scored *features;    /* candidates, and room for the moves of the beam */
    kb_box_pair *boxes;
    int32_t chosen;
} trainer;

/* ---- options ---- */

static bool in_range(kb_error *error, const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value >= low && value <= high) return true;
    kbi_fail_at(error, KB_E_ARGUMENT, name, -1, "%s is %lld, but must be %lld to %lld", name, (long long)value,
                (long long)low, (long long)high);
    return false;
}

static bool must(kb_error *error, bool condition, const char *words)
{
    if (!condition) kbi_fail(error, KB_E_ARGUMENT, "%s", words);
    return condition;
}

void kb_learn_defaults(kb_learn_options *o)
{
    if (!o->kind) o->kind = KB_KIND_BAD;
    if (!o->bits) o->bits = 256;
    if (!o->triplets) o->triplets = 8192;
    if (!o->batch) o->batch = 1024;
    if (!o->candidates) o->candidates = 1000;
    if (!(o->margin != 0)) o->margin = 0.2;
    if (!o->channels) o->channels = o->kind == KB_KIND_BAG ? 0x1fe : 1;
    if (!o->min_radius) o->min_radius = 1;
    if (o->kind == KB_KIND_BAG && o->sampler == KB_SAMPLER_PATCH) o->sampler = KB_SAMPLER_OCTAVES;
    if (!o->max_radius) o->max_radius = kbi_max_radius(kbi_sampler_grid(o->sampler));
    if (!o->keep) o->keep = 4;
    if (o->loss == KB_LEARN_LOSS_ORB) o->fixed_threshold = 1;
}

void kb_learn_paper(kb_learn_options *o)
{
    if (!o->candidates) o->candidates = 1000; /* J */
    if (!o->keep) o->keep = 1;
    if (!o->augment) {
        o->augment = kbi_augment_sample;
        o->augment_context = (void *)(uintptr_t)&kbi_augment_paper; /* which is only read */
    }
}

static bool sampler_known(const kb_learn_options *o)
{
    if (o->kind == KB_KIND_BAG) return o->sampler == KB_SAMPLER_OCTAVES;
    return o->sampler == KB_SAMPLER_PATCH || o->sampler == KB_SAMPLER_IMAGE || o->sampler == KB_SAMPLER_CELLS;
}

static bool check_options(const kb_learn_options *o, kb_error *error)
{
    int32_t most_radius = kbi_max_radius(kbi_sampler_grid(o->sampler));
    return in_range(error, "kind", o->kind, KB_KIND_BAD, KB_KIND_BAG) &&
           in_range(error, "bits", o->bits, 8, KB_MAX_BITS) &&
           must(error, o->bits % 8 == 0, "bits must be a multiple of 8") &&
           must(error, o->kind == KB_KIND_BAD || o->bits % 32 == 0, "bits of BAG must be a multiple of 32") &&
           must(error, o->kind == KB_KIND_BAD || !o->augment,
                "octaves, which BAG is learned from, cannot be augmented") &&
           in_range(error, "loss", (int64_t)o->loss, 0, KB_LEARN_LOSS_ORB) &&
           in_range(error, "triplets", o->triplets, 64, 262144) && in_range(error, "batch", o->batch, 16, 8192) &&
           in_range(error, "candidates", o->candidates, 1, 1000000) &&
           must(error, o->margin > 0 && o->margin <= 2, "margin must be above 0 and up to 2") &&
           must(error, o->channels >> KB_CHANNELS == 0, "channels names a channel that does not exist") &&
           must(error, o->kind == KB_KIND_BAG || o->channels == 1, "BAD has the gray channel only") &&
           must(error, o->kind == KB_KIND_BAD || !(o->channels & 1), "BAG has gradient channels only") &&
           in_range(error, "min_radius", o->min_radius, 1, most_radius) &&
           in_range(error, "max_radius", o->max_radius, o->min_radius, most_radius) &&
           in_range(error, "local_search", o->local_search, 0, 100) &&
           in_range(error, "keep", o->keep, 1, KB_MAX_BITS) && in_range(error, "screen", o->screen, 0, 262144) &&
           must(error, sampler_known(o), "there is no such sampler, or not for this kind") &&
           in_range(error, "started", o->started, 0, o->bits) &&
           must(error, o->start || o->started == 0, "start is NULL, but bits are said to be there");
}

static bool check_start_box(kbi_grid grid, int32_t bit, int channel, int x, int y, int radius, kb_error *error)
{
    int least = kbi_min_radius(grid), most = kbi_max_radius(grid);
    if (channel >= KB_CHANNELS) {
        kbi_fail_at(error, KB_E_TABLE, "start", bit, "start: bit %d: there is no channel %d", (int)bit, channel);
    } else if (radius < least || radius > most) {
        kbi_fail_at(error, KB_E_TABLE, "start", bit, "start: bit %d: radius %d is not %d to %d", (int)bit, radius, least,
                    most);
    } else if (!kbi_box_fits((kbi_box){(uint8_t)channel, (uint8_t)x, (uint8_t)y, (uint8_t)radius}, grid)) {
        kbi_fail_at(error, KB_E_TABLE, "start", bit, "start: bit %d: centre (%d, %d) with radius %d %s", (int)bit, x, y,
                    radius, channel ? "is not on the cells of an octave" : "leaves the patch");
    } else {
        return true;
    }
    return false;
}

/* Bits to go on from come from files, so they are checked as a model's table is; and they must use channels that are
 * there. */
static bool check_start(const kb_learn_options *o, kb_error *error)
{
    const kbi_grid grid = kbi_sampler_grid(o->sampler);
    for (int32_t i = 0; i < o->started; i++) {
        const kb_box_pair *p = &o->start[i];
        if (!check_start_box(grid, i, p->channel1, p->x1, p->y1, p->radius1, error) ||
            !check_start_box(grid, i, p->channel2, p->x2, p->y2, p->radius2, error))
            return false;
        if (!(o->channels >> p->channel1 & o->channels >> p->channel2 & 1)) {
            kbi_fail_at(error, KB_E_TABLE, "start", i, "start: bit %d: it uses a channel that channels leaves out", (int)i);
            return false;
        }
        double most = kbi_threshold_max(o->kind);
        if (!((double)p->threshold >= -most && (double)p->threshold <= most)) {
            kbi_fail_at(error, KB_E_TABLE, "start", i, "start: bit %d: threshold %g is not between -%g and %g", (int)i,
                        (double)p->threshold, most, most);
            return false;
        }
    }
    return true;
}

static kb_status set_up(trainer *t, const kb_learn_patches *patches, kb_box_pair *boxes, kb_error *error)
{
    const kb_learn_options *o = &t->o;
    kb_status status = kbi_box_sample_create(&t->sample, patches, o, error);
    if (status != KB_OK) return status;
    status = kbi_scorer_create(&t->scorer, &t->sample);
    t->features = malloc(((size_t)o->candidates + BEAM * (KBI_BOX_MOVES + 1)) * sizeof *t->features);
    if (status != KB_OK || !t->features)
        return kbi_fail(error, KB_E_MEMORY, "no memory for %d candidates", (int)o->candidates);

    t->space = (kbi_box_space){.min_radius = o->min_radius,
                               .max_radius = o->max_radius, .two_radii = o->two_radii != 0,
                               .grid = kbi_sampler_grid(o->sampler)};
    for (int32_t c = 0; c < KB_CHANNELS; c++)
        if (o->channels >> c & 1) t->space.channels[t->space.channel_count++] = c;
    t->boxes = boxes;
    for (; t->chosen < o->started; t->chosen++) boxes[t->chosen] = o->start[t->chosen];
    return KB_OK;
}

static void tear_down(trainer *t)
{
    kbi_scorer_free(&t->scorer);
    kbi_box_sample_free(&t->sample);
    free(t->features);
}

/* ---- choosing one bit ---- */

/* On this octave. */
static bool chosen_already(const trainer *t, const kb_box_pair *pair)
{
    for (int32_t octaves = kbi_octaves(t->o.sampler), k = t->chosen % octaves; k < t->chosen; k += octaves)
        if (kbi_box_pair_same(pair, &t->boxes[k])) return true;
    return false;
}

/* J random features. The paper may choose a pair of boxes twice; here it is drawn again. */
static void sample_features(trainer *t)
{
    uint64_t state = kbi_random_fork(kbi_random_fork(t->o.seed, UINT64_MAX), (uint64_t)t->chosen);
    for (int32_t i = 0; i < t->o.candidates; i++) {
        kb_box_pair pair;
        int32_t tries = 0; /* with very few boxes all pairs may have been chosen */
        do pair = kbi_box_draw(&t->space, &state);
        while (chosen_already(t, &pair) && ++tries < 100);
        t->features[i] = (kbi_scored){pair, 0};
    }
}

/* Puts a feature into the beam, best first, unless it is there already or all are better. */
static void beam_insert(kbi_scored beam[BEAM], int32_t *count, const kbi_scored *feature)
{
    int32_t at = *count;
    for (int32_t i = 0; i < *count; i++)
        if (kbi_box_pair_same(&beam[i].pair, &feature->pair)) return;
    while (at > 0 && feature->change < beam[at - 1].change) at--;
    if (at == BEAM) return;
    *count = kbi_min_i(*count + 1, BEAM);
    memmove(&beam[at + 1], &beam[at], (size_t)(*count - 1 - at) * sizeof *beam);
    beam[at] = *feature;
}

/* Tries all small moves of the best features, again and again, until none of them is better than the beam. */
static void beam_search(trainer *t, kbi_scored beam[BEAM], int32_t *count)
{
    kbi_scored seen[BEAM];
    int32_t seen_count = 0;
    for (int32_t step = 0; step < t->o.local_search; step++) {
        kbi_scored *moves = t->features;
        int32_t n = 0;
        for (int32_t i = 0; i < *count; i++) {
            kb_box_pair next[KBI_BOX_MOVES];
            bool fresh = true;
            for (int32_t k = 0; k < seen_count; k++) fresh &= !kbi_box_pair_same(&seen[k].pair, &beam[i].pair);
            int32_t moved = fresh ? kbi_box_moves(&t->space, &beam[i].pair, next) : 0;
            for (int32_t k = 0; k < moved; k++)
                if (!chosen_already(t, &next[k])) moves[n++] = (kbi_scored){next[k], 0};
        }
        if (n == 0) return;
        seen_count = *count;
        memcpy(seen, beam, (size_t)seen_count * sizeof *seen);
        n = (int32_t)kbi_scorer_score_best(&t->scorer, moves, (size_t)n, SCREENED);
        for (int32_t i = 0; i < n; i++) beam_insert(beam, count, &moves[i]);
    }
}

/* Lines 4 to 11: the feature with the least loss, each with its best threshold. Without local search that is the
 * first of the beam. */
static bool choose_feature(trainer *t, kbi_scored *best)
{
    kbi_scored beam[BEAM];
    int32_t count = 0;
    sample_features(t);
    if (t->o.loss == KB_LEARN_LOSS_ORB)
        return kbi_orb_rule_choose(&t->sample, t->chosen, t->features, (size_t)t->o.candidates, best);
    int32_t n = (int32_t)kbi_scorer_score_best(&t->scorer, t->features, (size_t)t->o.candidates, SCREENED);
    for (int32_t i = 0; i < n; i++) beam_insert(beam, &count, &t->features[i]);
    beam_search(t, beam, &count);
    *best = beam[0];
    return true;
}

/* ---- all bits ---- */

static bool report_progress(const trainer *t, double loss, double mean)
{
    if (!t->o.report) return true;
    double triplets = (double)(t->sample.batches * t->sample.batch);
    kb_learn_progress progress;
    KB_INIT(progress);
    progress.bit = t->chosen;
    progress.bits = t->o.bits;
    progress.loss = loss;
    progress.mean = mean;
    progress.boxes = t->boxes;
    if (t->o.loss == KB_LEARN_LOSS_TRIPLET) progress.active = (double)t->scorer.triple_count / triplets;
    return t->o.report(t->o.report_context, &progress) != 0;
}

/* Line 3: T := sampleTriplets(P, N), by the k bits that are there. */
static void sample_triplets(trainer *t, int32_t k)
{
    kbi_box_sample_refresh(&t->sample, t->boxes, k);
    kbi_scorer_prepare(&t->scorer, k);
}

/* Lines 12 and 13: h_k := {+1 if f*(x) <= theta*; -1 otherwise}, h := h u h_k. Returns the share of +1. */
static double add_bit(trainer *t, int32_t k, const kb_box_pair *pair, int64_t change)
{
    t->boxes[k] = *pair;
    kbi_scorer_boost(&t->scorer, k, change);
    return kbi_box_sample_extend(&t->sample, pair, k);
}

/* AdaBoost's weights of the bits that learning goes on from: they come out as they did before. */
static void boost_again(trainer *t)
{
    for (int32_t k = 0; k < t->chosen; k++) {
        sample_triplets(t, k);
        add_bit(t, k, &t->o.start[k], kbi_scorer_change(&t->scorer, &t->o.start[k]));
    }
}

/* Algorithm 1. */
static kb_status learn_bits(trainer *t, double *loss)
{
    bool go_on = true;
    if (t->o.loss == KB_LEARN_LOSS_BINARY) boost_again(t);
    while (go_on && t->chosen < t->o.bits) {
        kbi_scored best;
        sample_triplets(t, t->chosen);
        if (!choose_feature(t, &best)) return KB_E_MEMORY;
        double mean = add_bit(t, t->chosen, &best.pair, best.change);
        t->chosen++;
        *loss = kbi_scorer_loss(&t->scorer, best.change);
        go_on = report_progress(t, *loss, mean);
    }
    return KB_OK;
}

/* From the order of choice, in which octaves take turns bit by bit, to that of the model, in which they do so byte by
 * byte. */
static void order_by_bytes(trainer *t)
{
    kb_box_pair chosen[8 * KB_OCTAVES];
    int32_t octaves = kbi_octaves(t->o.sampler);
    for (int32_t first = 0; first < t->chosen; first += 8 * octaves) {
        memcpy(chosen, t->boxes + first, (size_t)(8 * octaves) * sizeof *chosen);
        for (int32_t i = 0; i < 8 * octaves; i++)
            t->boxes[first + kbi_octave_bit(octaves, i % octaves, i / octaves)] = chosen[i];
    }
}

static void write_summary(const trainer *t, double loss, kb_learn_summary *summary)
{
    kb_learn_summary s;
    KB_INIT(s);
    s.points = t->sample.list.points;
    s.patches = t->sample.list.patches;
    s.singletons = t->sample.list.singletons;
    s.bits = t->chosen;
    s.batch = (int32_t)t->sample.batch;
    s.triplets = (int32_t)(t->sample.batches * t->sample.batch);
    s.loss = loss;
    KBI_STRUCT_WRITE(kb_learn_summary, summary, &s);
}

kb_status kbi_learn_patches_read(kb_learn_patches *out, const kb_learn_patches *patches, kb_error *error)
{
    if (!patches) return kbi_fail_at(error, KB_E_ARGUMENT, "patches", -1, "there are no patches");
    if (KBI_STRUCT_READ(kb_learn_patches, out, patches) != KB_OK) return kbi_fail_struct(error);
    if (out->count && (!out->pixels || !out->labels))
        return kbi_fail(error, KB_E_ARGUMENT, "patches have no pixels or no labels");
    return KB_OK;
}

kb_status kb_learn_boxes(const kb_learn_patches *patches, const kb_learn_options *options, kb_box_pair *boxes,
                         kb_learn_summary *summary, kb_error *error)
{
    trainer t;
    kb_learn_patches p;
    double loss = 0;
    memset(&t, 0, sizeof t);
    kb_status status = kbi_learn_patches_read(&p, patches, error);
    if (status != KB_OK) return status;
    if (!boxes) return kbi_fail(error, KB_E_ARGUMENT, "there is no room for the result");
    if (KBI_STRUCT_READ(kb_learn_options, &t.o, options) != KB_OK ||
        (summary && KBI_STRUCT_CHECK(kb_learn_summary, summary) != KB_OK))
        return kbi_fail_struct(error);
    kb_learn_defaults(&t.o);
    if (!check_options(&t.o, error)) return KB_E_ARGUMENT;
    if (!check_start(&t.o, error)) return KB_E_TABLE;
    status = set_up(&t, &p, boxes, error);
    if (status == KB_OK) status = learn_bits(&t, &loss);
    if (status == KB_OK && t.chosen == t.o.bits) order_by_bytes(&t);
    if (status == KB_OK && summary) write_summary(&t, loss, summary);
    tear_down(&t);
    return status;
}
