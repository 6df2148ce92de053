/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a model: samples by PROSAC or RANSAC, early rejection, local optimisation, and when to stop.
 *
 * PROSAC (Chum and Matas 2005) draws samples out of the n best pairs and lets n grow so that, after T_N samples, it
 * has drawn what RANSAC would have drawn: T_n = T_N x prod (n - i) / (N - i) is how many of RANSAC's T_N samples lie
 * within the n best. It stops when, for some n, the inliers among the n best are more than chance explains
 * (non-randomness) and a model with more would have been found by now with the requested confidence (maximality).
 *
 * That is no proof of an epipolar geometry. The best pairs often lie close together or on one plane, and then many
 * wrong matrices pass through all of them. So a fundamental or essential matrix is sought until some GOOD_SAMPLES
 * samples without an outlier would have come out of all pairs, or LEAST_SAMPLES were drawn; one sample in four is of
 * all pairs, and the prefix grows on.
 *
 * A search that finds nothing ends when a model with the fewest inliers that chance could not explain would have been
 * found, or at once when not even all pairs would be enough (kbi_fit_least_inliers). That is asked after FEW_SAMPLES,
 * since most searches have ended by then.
 *
 * A model is scored by a robust sum over all pairs (rho in fit.h). Most models are wrong and leave early, by a
 * sequential probability ratio test (Matas and Chum 2005): with d and e the shares of inliers of a wrong model and
 * of one worth having, the likelihood ratio after i pairs with k inliers passes the bound A when k < slope x i - start,
 * a straight line that is computed once for every e.
 *
 * A sample's model that beats all sample models before it is optimised: least squares over pairs within a wide
 * threshold that shrinks to the true one. Records of samples and the best optimised model are kept apart; a wrong
 * model that optimises well must not keep correct ones from being optimised. */
#include <math.h>

#include "fit/fit.h"

#define BLOCK 32           /* pairs between two decisions of the test */
#define GROWTH_SAMPLES 2e5 /* T_N */
#define FEW_PAIRS 150      /* local optimisation uses no more of the inliers */
#define LEAST_PREFIX 20    /* the stopping rule looks at no fewer of the best pairs */
#define GOOD_SAMPLES 100
#define LEAST_SAMPLES 1000
#define FEW_SAMPLES 32

/* ---- scores ---- */

/* The sum of n values, a multiple of four, as four partial sums: value i goes into sum i modulo 4. */
static double sum_by_four(const double *values, int32_t n)
{
    double a = 0, b = 0, c = 0, d = 0;
    for (int32_t i = 0; i < n; i += 4) a += values[i], b += values[i + 1], c += values[i + 2], d += values[i + 3];
    return (a + b) + (c + d);
}

/* Adds the score of up to BLOCK pairs. Compilers turn the loops into vector code; inliers are counted in doubles so
 * that all lanes have one width. */
static void score_add(fit_score *sum, const double *error2, int32_t n, double threshold2)
{
    double cost[BLOCK + 3], count[BLOCK + 3], cutoff2 = FIT_CUTOFF2 * threshold2, inverse = 1 / cutoff2;
    for (int32_t i = 0; i < n; i++) {
        double e = error2[i] < cutoff2 ? error2[i] : cutoff2, left = 1 - e * inverse; /* NaN is beyond the cutoff */
        cost[i] = 1 - left * left * left;
        count[i] = error2[i] <= threshold2 ? 1 : 0;
    }
    for (int32_t i = n; i < n + 3; i++) cost[i] = count[i] = 0;
    sum->cost += sum_by_four(cost, n);
    sum->count += (int32_t)sum_by_four(count, n);
}

void kbi_fit_errors(const fit_kind *kind, const double *model, const fit_pairs *pairs, int32_t from, int32_t to,
                    double *error2)
{
    kind->errors(model, pairs, from, to, error2);
    for (int32_t s = from; s < to && pairs->weight; s++) error2[s - from] *= pairs->weight[s];
}

/* Of all pairs, given their errors. */
static fit_score score_all(const fit_kind *kind, const fit_pairs *pairs, const double *model, double *error2)
{
    fit_score sum = {0, 0};
    if (kind->screen) kind->screen(model, pairs, error2);
    for (int32_t from = 0; from < pairs->n; from += BLOCK)
        score_add(&sum, error2 + from, kbi_min_i(BLOCK, pairs->n - from), pairs->threshold2);
    return sum;
}

fit_score kbi_fit_score(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch)
{
    kbi_fit_errors(kind, model, pairs, 0, pairs->n, scratch->error2);
    return score_all(kind, pairs, model, scratch->error2);
}

void kbi_fit_list(const fit_pairs *pairs, const double *error2, int32_t from, int32_t to, double cutoff2,
                  fit_list *list)
{
    double inverse = 1 / cutoff2;
    int32_t n = list->n;
    for (int32_t i = from; i < to; i++) {
        double left = 1 - error2[i - from] * inverse;
        list->slot[n] = i;
        list->weight[n] = pairs->weight ? pairs->weight[i] * left * left : left * left;
        n += left > 0;
    }
    list->n = n;
}

/* The line under which a model is given up. */
typedef struct sprt {
    double slope, start;
} sprt;

static sprt sprt_for(double wrong, double good)
{
    const double log_bound = 5.3; /* one right model in 200 is lost */
    if (good < 1.5 * wrong) good = 1.5 * wrong;
    if (good > 0.99) good = 0.99;
    double outlier = kbi_log(1 - wrong) - kbi_log(1 - good); /* what an outlier adds to the log of the ratio */
    double inlier = kbi_log(good) - kbi_log(wrong);          /* and an inlier takes away */
    return (sprt){outlier / (outlier + inlier), log_bound / (outlier + inlier)};
}

/* Whether a model costs at least `worst_cost`, because too few pairs are within the cutoff: a pair beyond the cutoff
 * costs 1. While no right model is known, most models are dropped here, before they are scored. */
static bool costs_too_much(const fit_kind *kind, const fit_pairs *pairs, const double *model, double worst_cost)
{
    return kind->count_near && pairs->rough && !pairs->weight && worst_cost < pairs->n &&
           kind->count_near(model, pairs) <= pairs->n - worst_cost;
}

/* The score of a model, or false as soon as it is known to cost too much, or to fall below the line. */
static bool score_below(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch,
                        sprt line, double worst_cost, fit_score *out)
{
    fit_score sum = {0, 0};
    for (int32_t from = 0; from < pairs->n; from += BLOCK) {
        int32_t to = kbi_min_i(from + BLOCK, pairs->n);
        kbi_fit_errors(kind, model, pairs, from, to, scratch->error2 + from);
        score_add(&sum, scratch->error2 + from, to - from, pairs->threshold2);
        if (sum.cost >= worst_cost || sum.count < line.slope * to - line.start) return false;
    }
    if (kind->screen) sum = score_all(kind, pairs, model, scratch->error2);
    *out = sum;
    return sum.cost < worst_cost;
}

/* ---- samples ---- */

typedef struct prosac {
    uint64_t random;
    int32_t total;    /* pairs */
    int32_t size;     /* of a sample */
    int32_t fair;     /* every fair-th sample comes out of all pairs */
    int32_t prefix;   /* n, of the best pairs */
    int32_t end;      /* n does not grow beyond the prefix that decides about stopping */
    double growth;    /* T_n */
    int32_t until;    /* T'_n: the number of the last sample of this n */
} prosac;

static prosac prosac_start(const fit_kind *kind, int32_t total, const fit_limits *limits)
{
    prosac s = {.random = limits->seed, .total = total, .size = kind->sample, .prefix = total, .end = total};
    s.fair = kind->epipolar ? 4 : 8;
    if (!limits->by_rank) return s;
    s.prefix = s.size;
    s.growth = GROWTH_SAMPLES;
    for (int32_t i = 0; i < s.size; i++) s.growth *= (double)(s.size - i) / (total - i);
    s.until = 1;
    return s;
}

static void prosac_grow(prosac *s, int32_t number)
{
    while (number > s->until && s->prefix < s->end) {
        double next = s->growth * (s->prefix + 1) / (s->prefix + 1 - s->size);
        double more = ceil(next - s->growth);
        s->until = more < INT32_MAX - s->until ? s->until + (int32_t)more : INT32_MAX;
        s->growth = next;
        s->prefix++;
    }
}

/* Sample number 1, 2, ... as slots. While n grows, its newest pair is in every sample; but some samples come out of
 * all pairs, in case that their order misleads. */
static void prosac_draw(prosac *s, int32_t number, const int32_t *slot, int32_t *sample)
{
    int32_t ranks[FIT_MAX_SAMPLE], count = 0, from = s->prefix;
    if (s->growth > 0) {
        prosac_grow(s, number);
        from = s->prefix;
        if (number % s->fair == 0) from = s->total;
        else if (number <= s->until && from > s->size) ranks[count++] = --from;
    }
    while (count < s->size) {
        int32_t rank = (int32_t)kbi_random_below(&s->random, (uint32_t)from), k = 0;
        while (k < count && ranks[k] != rank) k++;
        if (k == count) ranks[count++] = rank;
    }
    for (int32_t k = 0; k < s->size; k++) sample[k] = slot[ranks[k]];
}

/* ---- when to stop ---- */

/* The smallest k with (1 - share)^k <= doubt, at most limit. Powers by squaring, so that no logarithm decides. */
static int32_t samples_needed(double share, double doubt, int32_t limit)
{
    double power[31], miss = 1 - share, product = 1;
    int32_t bits = 0, k = 0;
    for (power[0] = miss; bits < 30 && power[bits] > doubt; bits++) power[bits + 1] = power[bits] * power[bits];
    for (int32_t b = bits; b >= 0; b--) {
        if (product * power[b] <= doubt) continue;
        product *= power[b];
        k += (int32_t)1 << b;
        if (k >= limit) return limit;
    }
    return k + 1;
}

static double all_inliers(int32_t inliers, int32_t n, int32_t size)
{
    double share = 1;
    for (int32_t i = 0; i < size; i++) share *= inliers > i ? (double)(inliers - i) / (n - i) : 0;
    return share;
}

/* Whether `inliers` exceeds what 95 % of wrong models have among n pairs. The bound sqrt(x) <= (x + 1) / 2 settles most
 * calls without a root. */
static bool enough_among(const fit_kind *kind, int32_t inliers, int32_t n)
{
    double mean = kind->beta * (n - kind->sample), variance = mean * (1 - kind->beta);
    double more = inliers - kind->sample - mean;
    return more >= 1.645 * 0.5001 * (variance + 1) || more >= 1.645 * sqrt(variance);
}

/* How many samples of all pairs hold GOOD_SAMPLES without an outlier, at most LEAST_SAMPLES. */
static int32_t samples_for_good(const fit_kind *kind, int32_t inliers, int32_t n)
{
    double share = all_inliers(inliers, n, kind->sample);
    return share * LEAST_SAMPLES > GOOD_SAMPLES ? (int32_t)ceil(GOOD_SAMPLES / share) : LEAST_SAMPLES;
}

/* How many samples are needed to find a model with the fewest inliers that chance does not explain among all pairs. */
static int32_t samples_for_least(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits,
                                 const fit_scratch *scratch)
{
    int32_t inliers = kbi_fit_least_inliers(kind, pairs, scratch);
    if (inliers == 0) return 0;
    int32_t needed = samples_needed(all_inliers(inliers, pairs->n, kind->sample), 1 - limits->confidence,
                                    limits->max_iterations);
    return kbi_min_i(kbi_max_i(needed, LEAST_SAMPLES), limits->max_iterations);
}

/* After which sample to stop, given the errors of the best model in scratch->error2. */
static int32_t stop_after(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits,
                          const fit_scratch *scratch, prosac *s)
{
    int32_t inliers = 0, best_n = 0, best_inliers = 0,
            first = limits->by_rank ? kbi_min_i(LEAST_PREFIX, pairs->n) : pairs->n;
    for (int32_t n = 1; n <= pairs->n; n++) {
        inliers += scratch->error2[pairs->slot[n - 1]] <= pairs->threshold2;
        if (n < first || (double)inliers * best_n < (double)best_inliers * n || !enough_among(kind, inliers, n))
            continue;
        best_n = n;
        best_inliers = inliers;
    }
    if (!best_n) return limits->max_iterations;
    int32_t needed = samples_needed(all_inliers(best_inliers, best_n, kind->sample), 1 - limits->confidence,
                                    limits->max_iterations);
    if (kind->epipolar) return kbi_min_i(kbi_max_i(needed, samples_for_good(kind, inliers, pairs->n)),
                                         limits->max_iterations);
    if (limits->by_rank) s->end = kbi_max_i(best_n, s->prefix);
    return needed;
}

/* ---- local optimisation ---- */

/* The first FEW_PAIRS or so slots within the cutoff: a fair sample, and enough to stand near the optimum. */
static fit_list list_few(const fit_kind *kind, const fit_pairs *pairs, const double *model, double cutoff2,
                         const fit_scratch *scratch)
{
    fit_list list = scratch->list;
    for (int32_t from = 0; from < pairs->n && list.n < FEW_PAIRS; from += BLOCK) {
        int32_t to = kbi_min_i(from + BLOCK, pairs->n);
        kbi_fit_errors(kind, model, pairs, from, to, scratch->error2);
        kbi_fit_list(pairs, scratch->error2, from, to, cutoff2, &list);
    }
    return list;
}

static bool least_squares_step(const fit_kind *kind, double *model, const fit_pairs *pairs, const fit_list *list)
{
    fit_normal around;
    if (kind->relax) return kind->relax(model, pairs, list);
    if (list->n < kind->sample + (kind->epipolar ? 1 : 0)) return false;
    kind->normal(model, pairs, list, &around);
    return kbi_fit_step(kind, &around, 0, model);
}

void kbi_fit_optimise(const fit_kind *kind, const fit_pairs *pairs, const double *model, const fit_scratch *scratch,
                     fit_found *found)
{
    static const double cutoffs2[] = {20, 10, 5, FIT_CUTOFF2}; /* of the squared threshold */
    double moved[FIT_MODEL];
    memcpy(moved, model, sizeof moved);
    found->measured = false;
    for (size_t i = 0; i < KBI_COUNT(cutoffs2); i++) {
        fit_list list = list_few(kind, pairs, moved, cutoffs2[i] * pairs->threshold2, scratch);
        if (!least_squares_step(kind, moved, pairs, &list)) return;
    }
    fit_score score;
    if (!score_below(kind, pairs, moved, scratch, (sprt){0, 0}, found->score.cost, &score)) return;
    found->score = score;
    found->measured = true;
    memcpy(found->model, moved, sizeof moved);
}

/* ---- the search ---- */

void kbi_fit_search(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits, const fit_scratch *scratch,
                   fit_found *found)
{
    double models[FIT_MAX_MODELS][FIT_MODEL], record = pairs->n;
    int32_t sample[FIT_MAX_SAMPLE], stop = limits->max_iterations, number = 0, max = limits->max_iterations;
    prosac s = prosac_start(kind, pairs->n, limits);
    sprt line = sprt_for(kind->beta, 0);
    memset(models, 0, sizeof models);
    memset(found, 0, sizeof *found);
    found->score.cost = pairs->n;
    while (number < stop && number < max) {
        if (number == FEW_SAMPLES && limits->believable) max = samples_for_least(kind, pairs, limits, scratch);
        prosac_draw(&s, ++number, pairs->slot, sample);
        int32_t count = kind->solve(pairs, sample, models);
        for (int32_t m = 0; m < count; m++) {
            fit_score score;
            found->measured = false;
            if (costs_too_much(kind, pairs, models[m], record) ||
                !score_below(kind, pairs, models[m], scratch, line, record, &score))
                continue;
            record = score.cost;
            line = sprt_for(kind->beta, (double)score.count / pairs->n);
            double before = found->score.cost;
            if (score.cost < before) {
                found->score = score;
                memcpy(found->model, models[m], sizeof models[m]);
            }
            kbi_fit_optimise(kind, pairs, models[m], scratch, found);
            if (found->score.cost >= before) continue;
            if (!found->measured) kbi_fit_score(kind, pairs, found->model, scratch);
            stop = stop_after(kind, pairs, limits, scratch, &s);
        }
    }
    found->iterations = number;
}
