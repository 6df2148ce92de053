/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train ablation: the paper's tables beside ours. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/progress.h"
#include "learn/ablation.h"
#include "train.h"

typedef struct ablation_job {
    kbi_ablation_options o;
    train_options shared;
    const char *models;
    bool paper;
    io_progress progress;
} ablation_job;

static bool report_row(void *context, int32_t row)
{
    ablation_job *job = context;
    io_progress_update(&job->progress, (size_t)row + 1);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- results */

static bool write_models(cli_common *common, const ablation_job *job, const kbi_ablation_row *rows, io_error *error)
{
    bool ok = io_folder_make(job->models, error);
    for (int32_t i = 0; ok && i < KBI_ABLATION_ROWS && rows[i].model; i++) {
        char name[32];
        snprintf(name, sizeof name, "row%d.kbm", (int)i + 1);
        char *path = io_path_join(job->models, name);
        ok = cli_claim_output(common, path, error) && train_model_save(rows[i].model, path, error);
        free(path);
    }
    return ok;
}

static void ablation_table(const kbi_ablation_row *rows)
{
    printf("%-50s %7s %7s %8s\n", "", "paper", "mAP", "FPR95");
    for (int32_t i = 0; i < KBI_ABLATION_ROWS && rows[i].model; i++)
        printf("%-50s %7.2f %7.2f %8.2f\n", rows[i].name, rows[i].paper, 100 * rows[i].result.map,
               100 * rows[i].result.fpr95);
}

static void ablation_json(const kbi_ablation_row *rows)
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

static int ablation_run(cli_common *common, void *context, int count, char **arguments)
{
    ablation_job *job = context;
    train_data data;
    kbi_ablation_row rows[KBI_ABLATION_ROWS];
    io_error error;
    if (!job->shared.validate && job->shared.hold_back <= 0) job->shared.hold_back = 0.2;
    if (!train_data_load(&data, &job->shared, false, common, count, arguments)) return common->exit_code;
    job->o.rows = job->o.steps ? 0 : KBI_ABLATION_BAD;
    job->o.paper = job->paper;
    job->o.bits = job->shared.bits;
    job->o.seed = job->shared.seed;
    job->o.parallel = common->parallel;
    job->o.report = report_row;
    job->o.context = job;
    io_progress_start(&job->progress, "ablation", job->o.rows ? KBI_ABLATION_BAD : KBI_ABLATION_ROWS, common->quiet);
    kb_error problem;
    bool ok = kbi_ablation_run(&data.set, &data.held, &job->o, rows, &problem) == KB_OK ||
              io_fail(&error, "%s", problem.text);
    io_progress_end(&job->progress);
    if (ok && job->models) ok = write_models(common, job, rows, &error);
    if (!ok) cli_error("%s", error.text);
    else if (common->json) ablation_json(rows);
    else ablation_table(rows);
    kbi_ablation_free(rows);
    train_data_free(&data);
    return ok ? CLI_DONE : CLI_FAILED;
}

static const cli_option ablation_options[] = {
    CLI_GROUP(ablation_job, shared, train_data_options),
    TRAIN_HOLD_BACK(ablation_job, shared.hold_back, "(default 0.2, without --validate)"),
    {"paper", 0, CLI_FLAG(ablation_job, paper), .help = "each row by the recipe of the paper (docs/paper.md)"},
    {"triplets", 0, CLI_NUMBER(ablation_job, o.triplets, 64, 262144), "N", "8192", .help = "per bit"},
    {"candidates", 0, CLI_NUMBER(ablation_job, o.candidates, 1, 1000000), "N", "1000", .help = "per bit"},
    {"steps", 0, CLI_NUMBER(ablation_job, o.steps, 0, 100000000), "N", "30000",
     .help = "steps of HashSIFT; 0: without HashSIFT"},
    {"models", 0, CLI_TEXT(ablation_job, models), "FOLDER",
     .help = "also write the models there, to be measured by keybits eval"},
    {0}};

const cli_command train_ablation = {
    .name = "train ablation",
    .examples = "set.kbp --paper # the recipe of the paper",
    .summary = "what every part of the learning is worth, beside the paper's table",
    .usage = "SET.kbp... [options]",
    .about = "Learns BAD and HashSIFT with one part of the method after the other switched on, and prints the mAP of "
             "matching on patches not learned from, beside the paper's mAP of HPatches' matching task. The numbers are "
             "not of the same data; what can be compared is how they go up.",
    .options = ablation_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "needs a set of patches (.kbp)",
    .reads_arguments = true,
    .job_size = sizeof(ablation_job),
    .run = ablation_run};
