/* keybits train ablation: the paper's tables beside ours. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/progress.h"
#include "learn/ablation.h"
#include "train.h"

static const char help[] =
    "usage: keybits train ablation SET.kbp... [options]\n"
    "Learns BAD and HashSIFT with one part of the method after the other switched on, and prints the mAP of\n"
    "matching on patches not learned from, beside the paper's mAP of HPatches' matching task. The numbers are not\n"
    "of the same data; what can be compared is how they go up.\n"
    "\n" TRAIN_DATA_HELP "                     (for this kind --hold-back is 0.2 unless --validate is given)\n"
    "  --triplets N       64 to 262144 a bit (default 8192)\n"
    "  --candidates N     1 to 1000000 a bit (default 1000)\n"
    "  --steps N          1 to 100000000 of HashSIFT (default 30000); 0: without HashSIFT\n"
    "  --models FOLDER    also write the models there, to be measured by keybits eval\n"
    "\n" CLI_COMMON_HELP;

enum { TRIPLETS = TRAIN_OWN, CANDIDATES, STEPS, MODELS };

static const struct option longs[] = {
    TRAIN_DATA_OPTIONS,
    {"triplets", required_argument, NULL, TRIPLETS},
    {"candidates", required_argument, NULL, CANDIDATES},
    {"steps", required_argument, NULL, STEPS},
    {"models", required_argument, NULL, MODELS},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

typedef struct ablation_job {
    kbi_ablation_options o;
    train_options shared;
    const char *models;
    io_progress progress;
} ablation_job;

static bool read_option(cli_common *common, int option, ablation_job *job)
{
    int64_t whole = 0;
    bool ok;
    switch (option) {
    case TRIPLETS:
        ok = cli_integer(common, "--triplets", optarg, 64, 262144, &whole);
        job->o.triplets = (int32_t)whole;
        return ok;
    case CANDIDATES:
        ok = cli_integer(common, "--candidates", optarg, 1, 1000000, &whole);
        job->o.candidates = (int32_t)whole;
        return ok;
    case STEPS:
        ok = cli_integer(common, "--steps", optarg, 0, 100000000, &whole);
        job->o.steps = whole;
        job->o.rows = whole ? 0 : KBI_ABLATION_BAD;
        return ok;
    case MODELS: job->models = optarg; return true;
    default: return train_option(&job->shared, common, option);
    }
}

static bool on_row(void *context, int32_t row)
{
    ablation_job *job = context;
    io_progress_update(&job->progress, (size_t)row + 1);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- results */

static bool write_models(const ablation_job *job, const kbi_ablation_row *rows, io_error *error)
{
    bool ok = io_folder_make(job->models, error);
    for (int32_t i = 0; ok && i < KBI_ABLATION_ROWS && rows[i].model; i++) {
        char name[32];
        snprintf(name, sizeof name, "row%d.kbm", (int)i + 1);
        char *path = io_path_join(job->models, name);
        ok = train_model_save(rows[i].model, path, error);
        free(path);
    }
    return ok;
}

static void print_table(const kbi_ablation_row *rows)
{
    printf("%-50s %7s %7s %8s\n", "", "paper", "mAP", "FPR95");
    for (int32_t i = 0; i < KBI_ABLATION_ROWS && rows[i].model; i++)
        printf("%-50s %7.2f %7.2f %8.2f\n", rows[i].name, rows[i].paper, 100 * rows[i].result.map,
               100 * rows[i].result.fpr95);
}

static void print_json(const kbi_ablation_row *rows)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_array(&json, NULL);
    for (int32_t i = 0; i < KBI_ABLATION_ROWS && rows[i].model; i++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "name", rows[i].name);
        io_json_number(&json, "paper", rows[i].paper);
        io_json_number(&json, "map", 100 * rows[i].result.map);
        io_json_number(&json, "rate", 100 * rows[i].result.rate);
        io_json_number(&json, "fpr95", 100 * rows[i].result.fpr95);
        io_json_end(&json);
    }
    io_json_end(&json);
}

static int run(ablation_job *job, cli_common *common, int argc, char **argv)
{
    train_data data;
    kbi_ablation_row rows[KBI_ABLATION_ROWS];
    io_error error;
    if (!job->shared.validate && job->shared.hold_back <= 0) job->shared.hold_back = 0.2;
    if (!train_data_load(&data, &job->shared, common, argc, argv)) return common->exit_code;
    job->o.bits = job->shared.bits;
    job->o.seed = job->shared.seed;
    job->o.parallel = common->parallel;
    job->o.report = on_row;
    job->o.context = job;
    io_progress_start(&job->progress, "ablation", job->o.rows ? KBI_ABLATION_BAD : KBI_ABLATION_ROWS, common->quiet);
    bool ok = kbi_ablation_run(&data.set, &data.held, &job->o, rows, &error);
    io_progress_end(&job->progress);
    if (ok && job->models) ok = write_models(job, rows, &error);
    if (!ok) cli_error("%s", error.text);
    else if (common->json) print_json(rows);
    else print_table(rows);
    kbi_ablation_free(rows);
    train_data_free(&data);
    return ok ? CLI_DONE : CLI_FAILED;
}

int train_ablation(int argc, char **argv)
{
    cli_common common;
    ablation_job job;
    int option;
    memset(&job, 0, sizeof job);
    train_options_begin(&job.shared);
    cli_begin(&common, help);
    while ((option = cli_getopt(&common, argc, argv, "", longs)) != CLI_END) {
        if (option == CLI_STOP) return cli_end(&common, common.exit_code);
        if (!read_option(&common, option, &job)) return cli_end(&common, common.exit_code);
    }
    if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
    return cli_end(&common, run(&job, &common, argc, argv));
}
