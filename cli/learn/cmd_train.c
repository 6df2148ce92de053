/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train KIND: dispatch, and what the kinds share. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/model_table.h"
#include "io/number.h"
#include "io/progress.h"
#include "train.h"

/* ---------------------------------------------------------------------------------------------------------- options */

static bool take_bits(cli_common *common, const char *option, const char *text, void *target)
{
    int64_t whole;
    if (!cli_integer(common, option, text, 8, KB_MAX_BITS, &whole)) return false;
    *(int32_t *)target = (int32_t)whole;
    if (whole % 8 == 0) return true;
    common->exit_code = cli_usage_error(common, "%s must be a multiple of 8, not %d", option, (int)whole);
    return false;
}

static const char *const off_on[] = {"off", "on", NULL};

const cli_option train_model_options[] = {
    {"output", 'o', CLI_OUTPUT(train_options, output), "FILE", .help = "the model file to write; required"},
    {"name", 0, CLI_TEXT(train_options, name), "NAME", .help = "the name of the model (default: the name of the file)"},
    {"support", 0, CLI_NUMBER(train_options, support, 0.1, 10), "S",
     .help = ", written into the model (default: the support of the patches; needed when sets differ in it)"},
    {"sift-support", 0, CLI_NUMBER(train_options, sift_support, 0.1, 10), "S",
     .help = ", written into the model for keypoints of SIFT detectors (default: as the others)"},
    {"log", 0, CLI_OUTPUT(train_options, log), "FILE.csv", .help = "the log (default: the model's name with .csv)"},
    {"page", 0, CLI_OUTPUT(train_options, page), "FILE.html",
     .help = "a page with curves and pictures of the result"},
    {"resume", 0, CLI_FLAG(train_options, resume),
     .help = "go on where an interrupted training with the same options stopped"},
    {0}};

const cli_option train_paper_options[] = {
    {"augment", 0, CLI_CHOICE(train_options, augment, TRAIN_AUGMENT_OFF), "on|off", .words = off_on,
     .help = "small random rotation, scale, light, blur and noise (default: off, with --paper on)"},
    {"paper", 0, CLI_FLAG(train_options, paper),
     .help = "the recipe of the paper (docs/paper.md); other options change it"},
    {0}};

const cli_option train_data_options[] = {
    {"bits", 0, CLI_CALL(train_options, bits), "N", "256", .take = take_bits,
     .help = "a multiple of 8, of bag of 32, up to 1024"},
    {"max-patches", 0, CLI_NUMBER(train_options, max_patches, 0, 0x1p40), "N",
     .help = ": learn from a sample of whole points (default 0: all)"},
    {"validate", 0, CLI_INPUT(train_options, validate), "SET",
     .help = "patches that are not learned from, to measure the result"},
    {"seed", 0, CLI_NUMBER(train_options, seed, 0, CLI_NO_LIMIT), "N", "1",
     .help = "the same patches, options and seed give the same result"},
    {0}};

bool train_augments(const train_options *o)
{
    return o->augment == TRAIN_AUGMENT_ON || (o->paper && o->augment == TRAIN_AUGMENT_UNSAID);
}

void *train_amounts(const train_options *o)
{
    return (void *)(uintptr_t)(o->paper ? &kbi_augment_paper : &kbi_augment_default); /* which are only read */
}

static const cli_command *const train_subcommands[] = {&train_bad,      &train_bag,     &train_hashsift,
                                                       &train_ablation, &train_compare, &train_thresholds, NULL};

const cli_command command_train = {
    .name = "train",
    .summary = "learn a descriptor from patches",
    .usage = "SUBCOMMAND SET.kbp... [options]",
    .about = "Learns a descriptor from patches (keybits patches makes them); docs/learning.md tells how.",
    .subcommands = train_subcommands};

char *train_path(const train_options *options, const char *suffix)
{
    return io_path_with_suffix(options->output, suffix);
}

char *train_claim_path(cli_common *common, const train_options *options, const char *given, const char *suffix)
{
    io_error error;
    if (given) return io_copy_string(given); /* claimed as an option */
    char *path = train_path(options, suffix);
    if (cli_claim_output(common, path, &error)) return path;
    common->exit_code = cli_error("%s", error.text);
    free(path);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- data */

static bool load_sets(train_data *data, const train_options *o, int count, char **paths, io_error *error)
{
    kbi_patch_set all;
    if (!patch_set_load_files((const char *const *)paths, (size_t)count, o->support > 0, (size_t)o->max_patches,
                                 o->seed, &all, error))
        return false;
    kbi_patch_set_shrink(&all);
    if (o->hold_back > 0) {
        kb_error problem;
        kb_status status = kbi_patch_set_split(&all, o->hold_back, o->seed, &data->set, &data->held, &problem);
        kbi_patch_set_free(&all);
        return status == KB_OK || io_fail(error, "%s", problem.text);
    }
    data->set = all;
    if (!o->validate) return true;
    if (!patch_set_load(o->validate, 0, 0, &data->held, error)) return false;
    kbi_patch_set_shrink(&data->held);
    return true;
}

/* What learning takes, octaves or patches of 32x32, must be what the sets hold. */
static bool check_form(const kbi_patch_set *set, const char *which, bool octaves, io_error *error)
{
    if (set->patches == 0 || set->side == (octaves ? KB_OCTAVE_SIDE : KB_PATCH_SIDE)) return true;
    if (octaves)
        return io_fail(error, "BAG is learned from octaves, but %s holds patches (keybits patches ... --octaves)",
                       which);
    if (set->side == KB_OCTAVE_SIDE) return io_fail(error, "%s holds octaves, which only BAG is learned from", which);
    return io_fail(error, "%s holds patches of side %d, but 32 is the least", which, (int)set->side);
}

bool train_data_load(train_data *data, const train_options *o, bool octaves, cli_common *common, int count,
                     char **paths)
{
    io_error error;
    memset(data, 0, sizeof *data);
    setenv("OPENBLAS_NUM_THREADS", "1", 0); /* it would start threads when it is loaded, which learning never uses */
    if (o->validate && o->hold_back > 0) {
        common->exit_code = cli_usage_error(common, "--validate and --hold-back exclude each other");
        return false;
    }
    if (!load_sets(data, o, count, paths, &error) || !check_form(&data->set, paths[0], octaves, &error) ||
        !check_form(&data->held, o->validate ? o->validate : paths[0], octaves, &error)) {
        common->exit_code = cli_error("%s", error.text);
        train_data_free(data);
        return false;
    }
    const kbi_patch_set *set = &data->set;
    data->hash = kbi_sum_bytes(KBI_SUM_START, set->label, set->patches * sizeof *set->label);
    data->hash = kbi_sum_bytes(data->hash, set->pixels, set->patches * kbi_patch_bytes(set->side));
    cli_say(common, "%zu patches of %zu points", set->patches, set->points);
    if (set->singletons) cli_say(common, "%zu patches left out, since no other shows their point", set->singletons);
    return true;
}

kb_learn_patches train_patches(const train_data *data)
{
    kb_learn_patches patches;
    KB_INIT(patches);
    patches.pixels = data->set.pixels;
    patches.labels = data->set.label;
    patches.count = data->set.patches;
    return patches;
}

void train_data_free(train_data *data)
{
    kbi_patch_set_free(&data->set);
    kbi_patch_set_free(&data->held);
}

/* ---------------------------------------------------------------------------------------------------------- results */

bool train_model_save(const kb_model *model, const char *path, io_error *error)
{
    size_t size = 0;
    kb_model_save(model, NULL, 0, &size);
    void *bytes = io_alloc(size, 1);
    kb_model_save(model, bytes, size, &size);
    bool written = io_file_write(path, bytes, size, error);
    free(bytes);
    return written;
}

kb_sampler train_sampler(const train_options *options, kb_kind kind)
{
    kb_sampler sampler;
    if (options->sampler && model_sampler(options->sampler, &sampler)) return sampler;
    if (kind == KB_KIND_BAG) return KB_SAMPLER_OCTAVES;
    return kind == KB_KIND_BAD && !options->paper ? KB_SAMPLER_CELLS : KB_SAMPLER_PATCH;
}

bool train_model_write(kb_model_spec *spec, const train_options *options, const train_data *data, kb_model **out)
{
    char *stem = io_path_stem(options->output);
    kb_error problem;
    io_error error;
    spec->name = options->name ? options->name : stem;
    spec->sampler = train_sampler(options, spec->kind);
    spec->support = options->support > 0 ? (float)options->support : data->set.support > 0 ? data->set.support : 1;
    spec->sift_support = (float)options->sift_support;
    kb_status status = kb_model_create(spec, NULL, out, &problem);
    free(stem);
    if (status != KB_OK) {
        cli_error("the model cannot be made: %s", problem.text);
        return false;
    }
    if (train_model_save(*out, options->output, &error)) return true;
    cli_error("%s", error.text);
    kb_model_free(*out);
    *out = NULL;
    return false;
}

void train_validate(const train_data *data, const cli_common *common, train_result *result)
{
    if (data->held.points == 0) return;
    result->validated = kbi_validate_model(&data->held, result->model, 0, 1, common->parallel, &result->on_held);
    if (!result->validated) cli_warn(common, "the held-back patches are too few to measure with");
}

static void print_result(const train_options *o, const train_data *data, const train_result *r,
                         const kb_model_info *info, double seconds)
{
    char id[17];
    io_json json;
    snprintf(id, sizeof id, "%016llx", (unsigned long long)info->id);
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "model", o->output);
    io_json_string(&json, "log", r->log);
    io_json_string(&json, "page", o->page);
    io_json_string(&json, "name", info->spec->name);
    io_json_string(&json, "kind", kb_name(KB_NAMES_KIND, info->spec->kind));
    io_json_integer(&json, "bits", info->spec->bits);
    io_json_string(&json, "id", id);
    io_json_integer(&json, "points", (int64_t)data->set.points);
    io_json_integer(&json, "patches", (int64_t)data->set.patches);
    io_json_number(&json, "loss", r->loss);
    io_json_number(&json, "seconds", seconds);
    if (r->validated) {
        io_json_object(&json, "held_back");
        io_json_integer(&json, "points", (int64_t)r->on_held.queries);
        io_json_number(&json, "map", 100 * r->on_held.map);
        io_json_number(&json, "rate", 100 * r->on_held.rate);
        io_json_number(&json, "fpr95", 100 * r->on_held.fpr95);
        io_json_end(&json);
    }
    io_json_end(&json);
}

void train_tell(const cli_common *common, const train_options *o, const train_data *data, const train_result *r)
{
    double seconds = io_clock_seconds() - r->started;
    kb_model_info info;
    KB_INIT(info);
    kb_model_get_info(r->model, &info);
    if (r->validated)
        cli_say(common, "on %zu points not learned from: mAP %.2f, nearest right %.2f %%, FPR95 %.2f %%",
                r->on_held.queries, 100 * r->on_held.map, 100 * r->on_held.rate, 100 * r->on_held.fpr95);
    cli_say(common, "wrote %s (%s, %s, %d bits), %s%s%s in %.1f s", o->output, info.spec->name,
            kb_name(KB_NAMES_KIND, info.spec->kind), (int)info.spec->bits, r->log, o->page ? ", " : "",
            o->page ? o->page : "", seconds);
    if (common->json) print_result(o, data, r, &info, seconds);
}
