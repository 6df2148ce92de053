/* keybits train compare: models side by side on sets of patches that they should not have learned from. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "learn/validate.h"
#include "train.h"

static const char help[] =
    "usage: keybits train compare SET.kbp... -m MODEL,... [options]\n"
    "Matches patches of the same point among those of 2000 points, and prints for every model and set:\n"
    "mAP       area under precision against recall when matches are accepted by distance, in per cent\n"
    "nearest   queries whose nearest row is right, in per cent\n"
    "FPR95     wrong pairs accepted when 95 % of the right ones are, in per cent\n"
    "bias      mean of |share of ones - 1/2| over the bits: 0 is best\n"
    "corr.     mean absolute correlation between two bits\n"
    "Patches are used as they were cut: for a model to be judged as it is used, they must be cut at its support\n"
    "(keybits patches ... --support).\n"
    "\n"
    "  -m, --model LIST   built-in binary models and .kbm files, separated by commas; required\n"
    "  --seed N           decides which patch of a point is the query (default 1)\n"
    "\n" CLI_COMMON_HELP;

enum { SEED = CLI_OPTION_OWN };

static const struct option longs[] = {
    {"model", required_argument, NULL, 'm'},
    {"seed", required_argument, NULL, SEED},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

typedef struct comparison {
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
        if (!cli_model_open(c->names.items[i], &c->models[i], error)) return false;
        KB_INIT(info);
        kb_model_get_info(c->models[i], &info);
        if (info.row_floats > 0)
            return io_fail(error, "%s gives floats; only rows of bits are compared", c->names.items[i]);
    }
    return true;
}

static void print_result(comparison *c, const cli_common *common, const char *set, const char *model,
                         const kbi_validation *v)
{
    if (!common->json) {
        printf("%-*s %-*s %7zu %7.2f %7.2f %7.2f %6.3f %6.4f\n", c->set_width, set, c->model_width, model, v->queries,
               100 * v->map, 100 * v->rate, 100 * v->fpr95, v->bit_mean, v->bit_correlation);
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

static bool compare_on(comparison *c, const cli_common *common, const char *path, io_error *error)
{
    kbi_patch_set set;
    if (!kbi_patch_set_load(path, 0, c->seed, &set, error)) return false;
    kbi_patch_set_shrink(&set);
    bool ok = true;
    for (size_t i = 0; ok && i < c->names.count; i++) {
        kbi_validation v;
        ok = kbi_validate_model(&set, c->models[i], 0, c->seed, common->parallel, &v);
        if (ok) print_result(c, common, path, c->names.items[i], &v);
        else io_fail(error, "%s: too few points that several views show", path);
    }
    kbi_patch_set_free(&set);
    return ok;
}

static int run(comparison *c, const cli_common *common, int count, char **paths)
{
    io_error error;
    bool ok = open_models(c, &error);
    c->set_width = longest((size_t)count, paths);
    c->model_width = longest(c->names.count, c->names.items);
    if (ok && common->json) {
        io_json_begin(&c->json, stdout);
        io_json_array(&c->json, NULL);
    } else if (ok)
        printf("%-*s %-*s %7s %7s %7s %7s %6s %6s\n", c->set_width, "set", c->model_width, "model", "points", "mAP",
               "nearest", "FPR95", "bias", "corr.");
    for (int i = 0; ok && i < count; i++) ok = compare_on(c, common, paths[i], &error);
    if (ok && common->json) io_json_end(&c->json);
    for (size_t i = 0; i < c->names.count; i++) kb_model_free(c->models[i]);
    free(c->models);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

int train_compare(int argc, char **argv)
{
    cli_common common;
    comparison c = {.seed = 1};
    const char *models = NULL;
    int64_t seed = 1;
    int option, code;
    cli_begin(&common, help);
    while ((option = cli_getopt(&common, argc, argv, "m:", longs)) != CLI_END) {
        if (option == CLI_STOP) return cli_end(&common, common.exit_code);
        if (option == 'm') models = optarg;
        else if (!cli_integer(&common, "--seed", optarg, 0, INT64_MAX, &seed))
            return cli_end(&common, common.exit_code);
    }
    c.seed = (uint64_t)seed;
    if (optind >= argc) code = cli_usage_error(&common, "needs a set of patches (.kbp)");
    else if (!models) code = cli_usage_error(&common, "needs -m, the models to compare");
    else if (!cli_ready(&common)) code = common.exit_code;
    else {
        io_names_split(&c.names, models);
        code = run(&c, &common, argc - optind, argv + optind);
        io_names_free(&c.names);
    }
    return cli_end(&common, code);
}
