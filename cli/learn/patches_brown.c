/* SPDX-License-Identifier: Apache-2.0 */
/* keybits patches brown: a folder of the Brown/PhotoTour format becomes a set. */
#include "io/progress.h"
#include "io/brown.h"
#include "patches.h"

typedef struct brown_job {
    patches_output output;
    int32_t side; /* index of sides */
} brown_job;

static const char *const sides[] = {"64", "32", NULL};

static void brown_tick(void *context, size_t done) { io_progress_update(context, done); }

static bool claim_brown_folder(cli_common *common, const char *folder, io_error *error)
{
    static const char *const suffixes[] = {".bmp", ".txt", NULL};
    io_names files = {NULL, 0};
    bool ok = io_names_folder(&files, folder, suffixes, error);
    for (size_t i = 0; i < files.count && ok; i++) ok = cli_claim_input(common, files.items[i], error);
    io_names_free(&files);
    return ok;
}

static int patches_brown_run(cli_common *common, void *context, int count, char **arguments)
{
    brown_job *job = context;
    int32_t side = job->side ? 32 : IO_BROWN_SIDE;
    io_progress progress;
    io_error error;
    (void)count;
    job->output.supports = 1; /* support 0: not known */
    if (!claim_brown_folder(common, arguments[0], &error)) return cli_error("%s", error.text);
    if (!patches_output_open(common, &job->output, side)) return common->exit_code;
    io_progress_start(&progress, "patches", 0, common->quiet);
    bool ok = io_brown_convert(arguments[0], side, job->output.writer[0], brown_tick, &progress, &error);
    io_progress_end(&progress);
    if (!ok) cli_error("%s", error.text);
    return patches_output_close(common, &job->output, ok);
}

static const cli_option brown_options[] = {
    {"output", 'o', CLI_TEXT(brown_job, output.pattern), "SET", .help = "the file to write; required"},
    {"side", 0, CLI_CHOICE(brown_job, side, 0), "N", "64", .words = sides,
     .help = "64 as they are, or 32 by area averaging"},
    {0}};

const cli_command patches_brown = {
    .name = "patches brown",
    .examples = "notredame -o set.kbp # a folder of the set",
    .summary = "a folder of the Brown/PhotoTour format",
    .usage = "FOLDER -o SET.kbp [options]",
    .about = "FOLDER holds patches0000.bmp, patches0001.bmp ... (16x16 patches of 64x64 pixels each) and info.txt (a "
             "line per patch that begins with the number of its point).",
    .options = brown_options,
    .least = 1,
    .most = 1,
    .wants = "takes one folder",
    .reads_arguments = true,
    .job_size = sizeof(brown_job),
    .run = patches_brown_run};
