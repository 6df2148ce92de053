/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train compare: models side by side on sets of patches that they should not have learned from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "learn/validate.h"
#include "train.h"
#include "pipeline/models.h"

typedef struct comparison {
    const char *list; /* -m */
    kb_model **models;
    io_names names;
    uint64_t seed;
    io_json json;
    int set_width, model_width; /* of the table's columns */
} comparison;

static int longest(size_t count, char *const *names)
{
    size_t length = 5;
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) > length) length = strlen(names[i]);
    return (int)length;
}

static bool open_models(comparison *c, io_error *error)
{
    c->models = io_alloc(c->names.count, sizeof *c->models);
    if (c->names.count == 0) return io_fail(error, "--model names no descriptor");
    for (size_t i = 0; i < c->names.count; i++) {
        kb_model_info info;
        if (!models_open(c->names.items[i], &c->models[i], error)) return false;
        KB_INIT(info);
        kb_model_get_info(c->models[i], &info);
        if (info.row_floats > 0)
            return io_fail(error, "%s gives floats; only rows of bits are compared", c->names.items[i]);
    }
    return true;
}

static void print_comparison(comparison *c, const cli_common *common, const char *set, const char *model,
                         const kbi_validation *v)
{
    if (!common->json) {
        printf("%-*s %-*s %7zu %7.2f %7.2f %7.2f %6.3f %6.4f\n", c->set_width, cli_shown(set), c->model_width,
               cli_shown(model), v->queries, 100 * v->map, 100 * v->rate, 100 * v->fpr95, v->bit_mean,
               v->bit_correlation);
        return;
    }
    io_json_object(&c->json, NULL);
    io_json_string(&c->json, "set", set);
    io_json_string(&c->json, "model", model);
    io_json_integer(&c->json, "points", (int64_t)v->queries);
    io_json_number(&c->json, "map", 100 * v->map);
    io_json_number(&c->json, "rate", 100 * v->rate);
    io_json_number(&c->json, "fpr95", 100 * v->fpr95);
    io_json_number(&c->json, "bias", v->bit_mean);
    io_json_number(&c->json, "correlation", v->bit_correlation);
    io_json_end(&c->json);
}

/* Patches of another support than the model's say little about the model. */
static void warn_support(const cli_common *common, const char *path, const kbi_patch_set *set, const char *name,
                         const kb_model *model)
{
    kb_model_info info;
    KB_INIT(info);
    if (kb_model_get_info(model, &info) != KB_OK || set->support <= 0) return;
    /* a patch is the middle half of octaves */
    float share = info.spec->sampler == KB_SAMPLER_OCTAVES && set->side != KB_OCTAVE_SIDE ? 0.5f : 1;
    const float own[2] = {share * info.spec->support, share * info.spec->sift_support};
    for (int i = 0; i < 2; i++)
        if (fabsf(set->support - own[i]) <= 1e-3f * set->support) return;
    cli_warn(common, "%s: patches of support %g, but %s describes with %g (keybits patches ... --support)", path,
             (double)set->support, name, (double)own[0]);
}

static bool takes_octaves(const kb_model *model)
{
    kb_model_info info;
    KB_INIT(info);
    return kb_model_get_info(model, &info) == KB_OK && info.spec->sampler == KB_SAMPLER_OCTAVES;
}

/* Octaves are for models that describe them. */
static bool check_octaves(const comparison *c, const char *path, io_error *error)
{
    io_patch_info info;
    io_patch_reader *reader = io_patch_reader_open(path, &info, error);
    if (!reader) return false;
    io_patch_reader_close(reader);
    for (size_t i = 0; info.side == KB_OCTAVE_SIDE && i < c->names.count; i++)
        if (!takes_octaves(c->models[i]))
            return io_fail(error, "%s holds octaves, but %s describes patches", path, c->names.items[i]);
    return true;
}

static bool compare_on(comparison *c, const cli_common *common, const char *path, io_error *error)
{
    kbi_patch_set set;
    if (!patch_set_load(path, 0, c->seed, &set, error)) return false;
    kbi_patch_set_shrink(&set);
    bool ok = true;
    for (size_t i = 0; ok && i < c->names.count; i++) {
        kbi_validation v;
        warn_support(common, path, &set, c->names.items[i], c->models[i]);
        ok = kbi_validate_model(&set, c->models[i], 0, c->seed, common->parallel, &v);
        if (ok) print_comparison(c, common, path, c->names.items[i], &v);
        else io_fail(error, "%s: too few points that several views show", path);
    }
    kbi_patch_set_free(&set);
    return ok;
}

static void print_head(comparison *c, const cli_common *common)
{
    if (common->json) {
        io_json_begin(&c->json, stdout);
        io_json_array(&c->json, NULL);
        return;
    }
    printf("%-*s %-*s %7s %7s %7s %7s %6s %6s\n", c->set_width, "set", c->model_width, "model", "points", "mAP",
           "nearest", "FPR95", "bias", "corr.");
}

static int compare_run(cli_common *common, void *context, int count, char **paths)
{
    comparison *c = context;
    io_error error;
    if (!c->list) return cli_usage_error(common, "needs -m, the models to compare");
    io_names_split(&c->names, c->list);
    bool ok = open_models(c, &error);
    c->set_width = longest((size_t)count, paths);
    c->model_width = longest(c->names.count, c->names.items);
    for (int i = 0; ok && i < count; i++) ok = check_octaves(c, paths[i], &error);
    if (ok) print_head(c, common);
    for (int i = 0; ok && i < count; i++) ok = compare_on(c, common, paths[i], &error);
    if (ok && common->json) io_json_end(&c->json);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static void compare_end(void *context)
{
    comparison *c = context;
    for (size_t i = 0; c->models && i < c->names.count; i++) kb_model_free(c->models[i]);
    free(c->models);
    io_names_free(&c->names);
}

static const cli_option compare_options[] = {
    {"model", 'm', CLI_INPUTS(comparison, list), "LIST",
     .help = "built-in binary models and .kbm files, separated by commas; required"},
    {"seed", 0, CLI_NUMBER(comparison, seed, 0, CLI_NO_LIMIT), "N", "1",
     .help = "decides which patch of a point is the query"},
    {0}};

const cli_command train_compare = {
    .name = "train compare",
    .examples = "set.kbp -m bad256,bag256,my.kbm # side by side",
    .summary = "how good models are on patches, side by side",
    .usage = "SET.kbp... -m MODEL,... [options]",
    .about = "Matches patches of the same point among those of 2000 points, and prints for every model and set:\n"
             "  mAP       area under precision against recall when matches are accepted by distance, in per cent\n"
             "  nearest   queries whose nearest row is right, in per cent\n"
             "  FPR95     wrong pairs accepted when 95 % of the right ones are, in per cent\n"
             "  bias      mean of |share of ones - 1/2| over the bits: 0 is best\n"
             "  corr.     mean absolute correlation between two bits\n"
             "Patches are used as they were sampled: to measure a model as it is used, sample them at its support "
             "(keybits patches ... --support).",
    .options = compare_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "needs a set of patches (.kbp)",
    .reads_arguments = true,
    .job_size = sizeof(comparison),
    .run = compare_run,
    .end = compare_end};
