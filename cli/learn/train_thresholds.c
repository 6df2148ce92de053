/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train thresholds: the distances that let through as many wrong pairs as 50 and 100 of ORB do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/features.h"
#include "io/json.h"
#include "learn/random.h"
#include "train.h"
#include "pipeline/models.h"
#ifdef KB_HAVE_EVAL
#    include "eval/peers.h"
#endif

#define ORB_LOW 50
#define ORB_HIGH 100
#define MOST_DISTANCE KB_MAX_BITS

typedef struct threshold_job {
    const char *list; /* -m */
    double rate_low, rate_high; /* per cent; 0: those of ORB on the same patches */
    int64_t pairs;
    uint64_t seed;
    kbi_patch_set *sets;
    int set_count;
    io_names names;
    io_json json;
    bool store; /* into the model files */
    bool begun; /* the head of the table is printed */
} threshold_job;

/* Distances of pairs that show the same point, and of pairs that do not. */
typedef struct pair_counts {
    uint64_t right[MOST_DISTANCE + 1], wrong[MOST_DISTANCE + 1];
    uint64_t right_total, wrong_total;
} pair_counts;

static bool row_is_zero(const uint8_t *row, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (row[i]) return false;
    return true;
}

static void count_pair(pair_counts *c, const uint8_t *a, const uint8_t *b, size_t bytes, bool right)
{
    if (row_is_zero(a, bytes) || row_is_zero(b, bytes)) return;
    int32_t distance = kb_hamming(a, b, bytes);
    if (right) c->right[distance]++, c->right_total++;
    else c->wrong[distance]++, c->wrong_total++;
}

/* The same seed draws the same pairs from sets that have the same patches. */
static void count_pairs(const threshold_job *job, const kbi_patch_set *set, const uint8_t *rows, size_t bytes,
                        pair_counts *c)
{
    uint64_t state = job->seed;
    memset(c, 0, sizeof *c);
    for (size_t p = 0; p < set->points; p++) {
        const uint8_t *first = rows + set->first[p] * bytes;
        for (size_t i = set->first[p] + 1; i < set->first[p + 1]; i++)
            count_pair(c, first, rows + i * bytes, bytes, true);
    }
    for (int64_t k = 0; k < job->pairs; k++) {
        size_t i = kbi_random_below(&state, (uint32_t)set->patches), j = kbi_random_below(&state, (uint32_t)set->patches);
        if (set->label[i] != set->label[j]) count_pair(c, rows + i * bytes, rows + j * bytes, bytes, false);
    }
}

static double share_within(const uint64_t *counts, uint64_t total, int32_t distance)
{
    uint64_t sum = 0;
    for (int32_t d = 0; d <= distance; d++) sum += counts[d];
    return total ? (double)sum / (double)total : 0;
}

/* The largest distance, up to `most`, that accepts no more than this share of the wrong pairs. */
static int32_t distance_at(const pair_counts *c, double rate, int32_t most)
{
    int32_t distance = 0;
    while (distance < most && share_within(c->wrong, c->wrong_total, distance + 1) <= rate) distance++;
    return distance;
}

static const kbi_patch_set *set_of_support(const threshold_job *job, float support, bool octaves)
{
    for (int i = 0; i < job->set_count; i++)
        if ((job->sets[i].side == KB_OCTAVE_SIDE) == octaves &&
            fabsf(job->sets[i].support - support) <= 1e-3f * support)
            return &job->sets[i];
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- printing */

/* The head comes with the first row, so that a run that fails at once prints nothing. */
static void print_threshold_head(threshold_job *job, const cli_common *common)
{
    if (job->begun) return;
    job->begun = true;
    if (common->json) {
        io_json_begin(&job->json, stdout);
        io_json_array(&job->json, NULL);
    } else {
        printf("%-12s %5s %9s %7s %5s %9s %7s\n", "model", "low", "wrong %", "right %", "high", "wrong %", "right %");
    }
}

static void print_threshold_row(threshold_job *job, const cli_common *common, const char *name, const pair_counts *c,
                                int32_t low, int32_t high)
{
    const int32_t at[2] = {low, high};
    print_threshold_head(job, common);
    if (common->json) {
        io_json_object(&job->json, NULL);
        io_json_string(&job->json, "model", name);
    } else {
        printf("%-12s", cli_shown(name));
    }
    for (int i = 0; i < 2; i++) {
        double wrong = 100 * share_within(c->wrong, c->wrong_total, at[i]);
        double right = 100 * share_within(c->right, c->right_total, at[i]);
        if (!common->json) {
            printf(" %5d %9.4f %7.1f", (int)at[i], wrong, right);
            continue;
        }
        io_json_integer(&job->json, i ? "high" : "low", at[i]);
        io_json_number(&job->json, i ? "wrong_high" : "wrong_low", wrong);
        io_json_number(&job->json, i ? "right_high" : "right_low", right);
    }
    if (common->json) io_json_end(&job->json);
    else printf("\n");
}

/* -------------------------------------------------------------------------------------------------------------- ORB */

#ifdef KB_HAVE_EVAL
static bool measure_orb(threshold_job *job, const cli_common *common, pair_counts *c, io_error *error)
{
    const kbi_patch_set *set = set_of_support(job, 1, false);
    io_rows rows = {0};
    if (!set) return io_fail(error, "none of the sets has support 1, at which ORB describes");
    if (!ev_peers_available(error)) return io_fail(error, "no ORB to compare with: give --rate-low and --rate-high");
    if (!ev_peer_describe_patches("cv:orb", set->pixels, set->patches, set->side, &rows, error)) return false;
    count_pairs(job, set, rows.bytes, rows.width, c);
    io_rows_free(&rows);
    job->rate_low = 100 * share_within(c->wrong, c->wrong_total, ORB_LOW);
    job->rate_high = 100 * share_within(c->wrong, c->wrong_total, ORB_HIGH);
    print_threshold_row(job, common, "ORB", c, ORB_LOW, ORB_HIGH);
    return true;
}
#else
static bool measure_orb(threshold_job *job, const cli_common *common, pair_counts *c, io_error *error)
{
    (void)job, (void)common, (void)c;
    return io_fail(error, "this build has no ORB to compare with: give --rate-low and --rate-high");
}
#endif

/* ----------------------------------------------------------------------------------------------------------- models */

static bool store_thresholds(const char *path, const kb_model_spec *spec, int32_t low, int32_t high, io_error *error)
{
    kb_model_spec changed = *spec;
    kb_model *model;
    kb_error why;
    changed.threshold_low = low;
    changed.threshold_high = high;
    if (kb_model_create(&changed, NULL, &model, &why) != KB_OK) return io_fail(error, "%s: %s", path, why.text);
    bool ok = train_model_save(model, path, error);
    kb_model_free(model);
    return ok;
}

static bool measure_opened(threshold_job *job, const cli_common *common, const char *name, const kb_model *model,
                           pair_counts *c, io_error *error)
{
    kb_model_info info;
    kb_describe_options options;
    KB_INIT(info);
    KB_INIT(options);
    options.parallel = common->parallel;
    kb_model_get_info(model, &info);
    if (info.row_floats > 0) return io_fail(error, "%s gives floats, which have no Hamming distance", name);
    bool octaves = info.spec->sampler == KB_SAMPLER_OCTAVES;
    const kbi_patch_set *set = set_of_support(job, info.spec->support, octaves);
    if (!set)
        return io_fail(error, "%s describes %s with support %g, which no set has (keybits patches ... --support%s)", name,
                       octaves ? "octaves" : "patches", (double)info.spec->support, octaves ? " --octaves" : "");
    size_t bytes = (size_t)info.row_bytes;
    uint8_t *rows = io_alloc(set->patches, bytes);
    kb_features f = io_bytes_view(rows, set->patches, bytes);
    kb_status status = kb_describe_patches(model, set->pixels, set->side, &options, NULL, &f, NULL);
    if (status == KB_OK) count_pairs(job, set, rows, bytes, c);
    free(rows);
    if (status != KB_OK) return io_fail(error, "%s: %s", name, kb_status_string(status));
    int32_t low = distance_at(c, job->rate_low / 100, info.spec->bits);
    int32_t high = distance_at(c, job->rate_high / 100, info.spec->bits);
    print_threshold_row(job, common, name, c, low, high);
    return !job->store || store_thresholds(name, info.spec, low, high, error);
}

static bool measure_model(threshold_job *job, const cli_common *common, const char *name, pair_counts *c,
                          io_error *error)
{
    kb_model *model;
    if (!models_open(name, &model, error)) return false;
    bool ok = measure_opened(job, common, name, model, c, error);
    kb_model_free(model);
    return ok;
}

static bool load_threshold_sets(threshold_job *job, const cli_common *common, int count, char **paths, io_error *error)
{
    job->sets = io_alloc((size_t)count, sizeof *job->sets);
    for (; job->set_count < count; job->set_count++) {
        kbi_patch_set *set = &job->sets[job->set_count];
        if (!io_patch_set_load(paths[job->set_count], 0, job->seed, set, error)) return false;
        kbi_patch_set_shrink(set);
        cli_say(common, "%s: %zu patches of %zu points", paths[job->set_count], set->patches, set->points);
    }
    return true;
}

static bool is_built_in(const char *name)
{
    const char *known;
    for (int32_t i = 0; (known = kb_name(KB_NAMES_MODEL, i)); i++)
        if (strcmp(known, name) == 0) return true;
    return false;
}

static bool thresholds_measure(threshold_job *job, const cli_common *common, io_error *error)
{
    static const char builtin[] = "bad256,bad512,bag128,bag256,bag512,hashsift256,hashsift512";
    pair_counts counts;
    io_names_split(&job->names, job->list ? job->list : builtin);
    for (size_t i = 0; job->store && i < job->names.count; i++)
        if (is_built_in(job->names.items[i]))
            return io_fail(error, "--store writes into model files, and %s is built in", job->names.items[i]);
    bool ok = job->rate_low > 0 || measure_orb(job, common, &counts, error);
    for (size_t i = 0; ok && i < job->names.count; i++)
        ok = measure_model(job, common, job->names.items[i], &counts, error);
    if (ok && common->json) io_json_end(&job->json);
    return ok;
}

static int thresholds_run(cli_common *common, void *context, int count, char **paths)
{
    threshold_job *job = context;
    io_error error;
    if ((job->rate_low > 0) != (job->rate_high > 0) || job->rate_low > job->rate_high)
        return cli_usage_error(common, "--rate-low and --rate-high go together, the lower first");
    bool ok = load_threshold_sets(job, common, count, paths, &error) && thresholds_measure(job, common, &error);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static void thresholds_end(void *context)
{
    threshold_job *job = context;
    for (int i = 0; i < job->set_count; i++) kbi_patch_set_free(&job->sets[i]);
    free(job->sets);
    io_names_free(&job->names);
}

static const cli_option thresholds_options[] = {
    {"model", 'm', CLI_INPUTS(threshold_job, list), "LIST",
     .help = "binary models and .kbm files, separated by commas (default: all that are built in)"},
    {"rate-low", 0, CLI_NUMBER(threshold_job, rate_low, 0, 100), "P",
     .help = ": per cent of the wrong pairs that the low threshold may accept (default: what 50 of ORB accepts)"},
    {"rate-high", 0, CLI_NUMBER(threshold_job, rate_high, 0, 100), "P",
     .help = ": the same for the high threshold (default: what 100 of ORB accepts)"},
    {"store", 0, CLI_FLAG(threshold_job, store),
     .help = "write the distances into the model files"},
    {"pairs", 0, CLI_NUMBER(threshold_job, pairs, 1000, 1e9), "N", "4000000", .help = ": wrong pairs that are drawn"},
    {"seed", 0, CLI_NUMBER(threshold_job, seed, 0, CLI_NO_LIMIT), "N", "1", .help = "decides which"},
    {0}};

const cli_command train_thresholds = {
    .name = "train thresholds",
    .examples = "set.kbp -m my.kbm # distances for SLAM",
    .summary = "distances that mean for a model what 50 and 100 mean for ORB",
    .usage = "SET.kbp... [options]",
    .about = "SLAM systems accept a match when its distance is at most 50 or 100, numbers for ORB. For every model this "
             "prints the largest distances that accept no more wrong pairs than those do, with the shares of wrong "
             "pairs and of right pairs that they accept, in per cent. Every model is measured on the set of its own "
             "support, ORB (OpenCV's, where the program was built with it) on that of support 1:\n"
             "    keybits patches synth held-back/ -o 'held-{}.kbp' --support 1,1.3,1.6\n"
             "    keybits patches synth held-back/ -o held-octaves.kbp --support 4 --octaves    (for BAG)\n"
             "    keybits train thresholds held-1.kbp held-1.3.kbp held-1.6.kbp held-octaves.kbp\n"
             "    keybits train thresholds held-1.kbp held-1.6.kbp -m mine.kbm --store\n"
             "Model files hold the numbers that --store wrote, the files of the built-in models too; kb_model_info and "
             "`keybits model show` give them (docs/slam.md).",
    .options = thresholds_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "needs sets of patches (.kbp)",
    .reads_arguments = true,
    .job_size = sizeof(threshold_job),
    .run = thresholds_run,
    .end = thresholds_end};
