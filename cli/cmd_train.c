/* keybits train KIND: dispatch, and what the kinds share. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "learn/validate.h"
#include "model_text.h"
#include "train.h"

static const char train_help[] =
    "usage: keybits train KIND SET.kbp... [options]\n"
    "Learns a descriptor from patches (keybits patches makes them); docs/learning.md tells how.\n"
    "\n"
    "Kinds (keybits train KIND --help says more)\n" TRAIN_KINDS(CLI_KIND_HELP);

static int train_legacy(int argc, char **argv)
{
#define TRAIN_ENTRY(name, summary) CLI_KIND(train, name)
    static cli_kind kinds[] = {TRAIN_KINDS(TRAIN_ENTRY)};
    setenv("OPENBLAS_NUM_THREADS", "1", 0); /* it would start threads when it is loaded, which learning never uses */
    return cli_run_kind(kinds, sizeof kinds / sizeof *kinds, train_help, argc, argv);
}

/* ---------------------------------------------------------------------------------------------------------- options */

void train_options_begin(train_options *o)
{
    *o = (train_options){.bits = 256, .seed = 1, .amounts = kbi_augment_default};
}

bool train_option(train_options *o, cli_common *common, int option)
{
    static const char *const on_off[] = {"off", "on", NULL};
    static const char *const samplers[] = {"patch", "two-tap", NULL};
    int64_t whole = 0;
    int index = 0;
    bool ok = true;
    switch (option) {
    case 'o': o->output = optarg; break;
    case TRAIN_LOG: o->log = optarg; break;
    case TRAIN_PAGE: o->page = optarg; break;
    case TRAIN_NAME: o->name = optarg; break;
    case TRAIN_VALIDATE: o->validate = optarg; break;
    case TRAIN_RESUME: o->resume = true; break;
    case TRAIN_HOLD_BACK: ok = cli_number(common, "--hold-back", optarg, 0, 0.9, &o->hold_back); break;
    case TRAIN_SAMPLER:
        ok = cli_choice(common, "--sampler", optarg, samplers, &index);
        if (ok) o->sampler = samplers[index];
        break;
    case TRAIN_SUPPORT: ok = cli_number(common, "--support", optarg, 0.1, 10, &o->support); break;
    case TRAIN_AUGMENT:
        ok = cli_choice(common, "--augment", optarg, on_off, &index);
        o->augment = index == 1;
        break;
    case TRAIN_BITS:
        ok = cli_integer(common, "--bits", optarg, 8, KB_MAX_BITS, &whole);
        if (ok && whole % 8) {
            common->exit_code = cli_usage_error(common, "--bits must be a multiple of 8, not %d", (int)whole);
            ok = false;
        }
        o->bits = (int32_t)whole;
        break;
    case TRAIN_MAX_PATCHES:
        ok = cli_integer(common, "--max-patches", optarg, 0, INT64_C(1) << 40, &whole);
        o->max_patches = (size_t)whole;
        break;
    case TRAIN_SEED:
        ok = cli_integer(common, "--seed", optarg, 0, INT64_MAX, &whole);
        o->seed = (uint64_t)whole;
        break;
    default: break;
    }
    return ok;
}

char *train_path(const train_options *options, const char *suffix)
{
    size_t stem = strlen(options->output) - strlen(io_path_suffix(options->output));
    char *path = io_alloc(stem + strlen(suffix) + 1, 1);
    memcpy(path, options->output, stem);
    strcpy(path + stem, suffix);
    return path;
}

/* ------------------------------------------------------------------------------------------------------------- data */

uint64_t train_hash(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool load_sets(train_data *data, const train_options *o, int count, char **paths, io_error *error)
{
    kbi_patch_set all;
    if (!kbi_patch_set_load_files((const char *const *)paths, (size_t)count, o->max_patches, o->seed, &all, error))
        return false;
    kbi_patch_set_shrink(&all);
    if (o->hold_back > 0) {
        bool split = kbi_patch_set_split(&all, o->hold_back, o->seed, &data->set, &data->held, error);
        kbi_patch_set_free(&all);
        return split;
    }
    data->set = all;
    if (!o->validate) return true;
    if (!kbi_patch_set_load(o->validate, 0, 0, &data->held, error)) return false;
    kbi_patch_set_shrink(&data->held);
    return true;
}

bool train_data_load(train_data *data, const train_options *o, cli_common *common, int argc, char **argv)
{
    io_error error;
    memset(data, 0, sizeof *data);
    if (optind >= argc) {
        common->exit_code = cli_usage_error(common, "needs a set of patches (.kbp)");
        return false;
    }
    if (o->validate && o->hold_back > 0) {
        common->exit_code = cli_usage_error(common, "--validate and --hold-back exclude each other");
        return false;
    }
    if (!load_sets(data, o, argc - optind, argv + optind, &error)) {
        common->exit_code = cli_error("%s", error.text);
        train_data_free(data);
        return false;
    }
    const kbi_patch_set *set = &data->set;
    data->hash = train_hash(TRAIN_HASH_START, set->label, set->patches * sizeof *set->label);
    data->hash = train_hash(data->hash, set->pixels, set->patches * KB_PATCH_SIDE * KB_PATCH_SIDE);
    cli_say(common, "%zu patches of %zu points", set->patches, set->points);
    if (set->lonely) cli_say(common, "%zu patches left out, since no other shows their point", set->lonely);
    return true;
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

bool train_model_write(kb_model_spec *spec, const train_options *options, const train_data *data, kb_model **out)
{
    char *stem = io_path_stem(options->output);
    kb_error problem;
    io_error error;
    spec->name = options->name ? options->name : stem;
    if (!options->sampler || !model_sampler(options->sampler, &spec->sampler))
        spec->sampler = spec->kind == KB_BAD ? KB_SAMPLER_TWO_TAP : KB_SAMPLER_PATCH;
    spec->support = options->support > 0 ? (float)options->support : data->set.support > 0 ? data->set.support : 1;
    kb_status status = kb_model_create(spec, out, &problem);
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

void train_validate(const train_data *data, const kb_model *model, const cli_common *common)
{
    kbi_validation v;
    if (data->held.points == 0) return;
    if (!kbi_validate_model(&data->held, model, 0, 1, common->parallel, &v)) {
        cli_warn(common, "the held-back patches are too few to judge by");
        return;
    }
    cli_say(common, "on %zu points not learned from: mAP %.2f, nearest right %.2f %%, FPR95 %.2f %%", v.queries,
            100 * v.map, 100 * v.rate, 100 * v.fpr95);
}

const cli_command command_train = {
    .name = "train", .summary = "learn a descriptor from patches", .legacy = train_legacy, .legacy_help = train_help};
