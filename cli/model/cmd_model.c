/* SPDX-License-Identifier: Apache-2.0 */
/* keybits model: import, show, export and list. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "io/json.h"
#include "io/model_table.h"
#include "pipeline/models.h"

typedef struct model_job {
    const char *output, *svg;
    table_options table;
} model_job;

/* ------------------------------------------------------------------------------------------------------------ show */

static void id_text(char text[17], uint64_t id) { snprintf(text, 17, "%016llx", (unsigned long long)id); }

static bool has_boxes(const kb_model_info *info)
{
    return info->spec->kind == KB_KIND_BAD || info->spec->kind == KB_KIND_BAG;
}

/* file: where the model was written to or came from; NULL: not told. */
static void put_json(io_json *json, const kb_model_info *info, const char *file)
{
    const kb_model_spec *spec = info->spec;
    char id[17];
    id_text(id, info->id);
    io_json_object(json, NULL);
    if (file) io_json_string(json, "file", file);
    io_json_string(json, "name", spec->name);
    io_json_string(json, "kind", kb_name(KB_NAMES_KIND, spec->kind));
    io_json_integer(json, "bits", spec->bits);
    io_json_string(json, "sampler", kb_name(KB_NAMES_SAMPLER, spec->sampler));
    io_json_float(json, "support", spec->support);
    if (spec->sift_support > 0) io_json_float(json, "sift_support", spec->sift_support);
    io_json_string(json, "id", id);
    io_json_integer(json, "row_bytes", info->row_bytes);
    io_json_integer(json, "row_floats", info->row_floats);
    io_json_bool(json, "root", spec->root);
    io_json_array(json, "channels");
    for (int c = 0; c < KB_CHANNELS; c++) {
        if (info->channels >> c & 1) io_json_integer(json, NULL, c);
    }
    io_json_end(json);
    io_json_integer(json, "distinct_boxes", info->distinct_boxes);
    if (info->threshold_high) {
        io_json_integer(json, "threshold_low", info->threshold_low);
        io_json_integer(json, "threshold_high", info->threshold_high);
    }
    if (info->ratio > 0) io_json_float(json, "ratio", info->ratio);
    io_json_string(json, "text", spec->text ? spec->text : "");
    io_json_end(json);
}

static void show_json(const kb_model_info *info, const char *file)
{
    io_json json;
    io_json_begin(&json, stdout);
    put_json(&json, info, file);
}

/* The text of a model has lines, and may hold anything. */
static void show_lines(const char *text)
{
    char *copy = io_copy_string(text);
    printf("text\n");
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL;) printf("%s\n", cli_shown(line));
    free(copy);
}

static void show_text(const kb_model_info *info)
{
    const kb_model_spec *spec = info->spec;
    char id[17];
    id_text(id, info->id);
    printf("name      %s\nkind      %s\n", cli_shown(spec->name), kb_name(KB_NAMES_KIND, spec->kind));
    if (spec->bits) printf("bits      %d\n", (int)spec->bits);
    printf("sampler   %s\nsupport   %g", kb_name(KB_NAMES_SAMPLER, spec->sampler), (double)spec->support);
    if (spec->sift_support > 0) printf(", of SIFT keypoints %g", (double)spec->sift_support);
    printf("\nid        %s\n", id);
    printf("row       %d bytes", (int)info->row_bytes);
    if (info->row_floats) printf(", or %d floats", (int)info->row_floats);
    printf("\n");
    if (spec->kind == KB_KIND_HASHSIFT) printf("over      %s\n", spec->root ? "RootSIFT" : "SIFT");
    if (has_boxes(info)) {
        printf("channels ");
        for (int c = 0; c < KB_CHANNELS; c++) {
            if (!(info->channels >> c & 1)) continue;
            if (c == 0) printf(" gray");
            else printf(" %d\xc2\xb0", 45 * (c - 1));
        }
        printf("\nboxes     %d different in %d pairs\n", (int)info->distinct_boxes, (int)spec->bits);
    }
    if (info->threshold_high)
        printf("distance  %d low, %d high (as 50 and 100 of ORB)\n", (int)info->threshold_low,
               (int)info->threshold_high);
    if (info->ratio > 0) printf("ratio     %g (as 0.75 of ORB)\n", (double)info->ratio);
    if (spec->text && *spec->text) show_lines(spec->text);
}

/* Opens the model that is named; the info is to be read before the model is freed. */
static bool open_model(const char *name, kb_model **model, kb_model_info *info, io_error *error)
{
    if (!models_open(name, model, error)) return false;
    KB_INIT(*info);
    kb_status status = kb_model_get_info(*model, info);
    return status == KB_OK || io_fail(error, "%s: %s", name, kb_status_string(status));
}

static int model_show_run(cli_common *common, void *context, int count, char **arguments)
{
    const model_job *job = context;
    io_error error;
    kb_model *model = NULL;
    kb_model_info info;
    (void)count;
    bool ok = open_model(arguments[0], &model, &info, &error) &&
              (!job->svg || model_svg_write(job->svg, &info, &error));
    if (!ok) cli_error("%s", error.text);
    else if (common->json) show_json(&info, NULL);
    else show_text(&info);
    kb_model_free(model);
    return ok ? CLI_DONE : CLI_FAILED;
}

static const cli_option show_options[] = {
    {"svg", 0, CLI_OUTPUT(model_job, svg), "FILE", .help = "also draw the boxes of a BAD or BAG model"}, {0}};

static const cli_command model_show = {
    .name = "model show",
    .examples = "bag256 --svg bag256.svg # its boxes as a picture",
    .summary = "what is in a built-in model or a model file",
    .usage = "NAME|FILE [--svg FILE] [--json]",
    .about = "Prints what is in a built-in model or a model file.",
    .options = show_options,
    .least = 1,
    .most = 1,
    .wants = "takes one model",
    .reads_arguments = true,
    .job_size = sizeof(model_job),
    .run = model_show_run};

/* ---------------------------------------------------------------------------------------------------------- import */

static bool save_model(const kb_model *model, const char *path, io_error *error)
{
    size_t size = 0;
    kb_status status = kb_model_save(model, NULL, 0, &size);
    void *buffer = io_alloc(size, 1);
    if (status == KB_OK) status = kb_model_save(model, buffer, size, &size);
    bool ok = status == KB_OK ? io_file_write(path, buffer, size, error)
                              : io_fail(error, "%s: %s", path, kb_status_string(status));
    free(buffer);
    return ok;
}

static int model_import_run(cli_common *common, void *context, int count, char **arguments)
{
    const model_job *job = context;
    io_error error;
    kb_model *model = NULL;
    (void)count;
    if (!job->output) return cli_usage_error(common, "needs -o MODEL.kbm");
    if (!model_table_read(arguments[0], &job->table, &model, &error)) return cli_error("%s", error.text);
    bool ok = save_model(model, job->output, &error);
    kb_model_info info;
    KB_INIT(info);
    if (ok && kb_model_get_info(model, &info) == KB_OK) {
        cli_say(common, "%s: %s, %s, %d bits, %s sampler, support %g", job->output, info.spec->name,
                kb_name(KB_NAMES_KIND, info.spec->kind), (int)info.spec->bits,
                kb_name(KB_NAMES_SAMPLER, info.spec->sampler), (double)info.spec->support);
        if (common->json) show_json(&info, job->output);
    }
    kb_model_free(model);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static const char *const samplers[] = {"image", "patch", "octaves", "cells", NULL};

static const cli_option import_options[] = {
    {"sampler", 0, CLI_CHOICE(model_job, table.sampler, 0), "NAME", .words = samplers,
     .help = "image: boxes in the image, as OpenCV's TEBLID; patch: in the resampled 32x32 patch; cells: in 16x16 "
             "cells, for tables whose boxes are on cells; octaves: of BAG, which has no other (default: image for BAD, "
             "octaves for BAG, patch for the others)"},
    {"support", 0, CLI_NUMBER(model_job, table.support, 0.1, 10), "S",
     .help = ": patch width = preset x keypoint size x support (default 1)"},
    {"sift-support", 0, CLI_NUMBER(model_job, table.sift_support, 0.1, 10), "S",
     .help = ", for keypoints of SIFT detectors (default: as the others)"},
    {"name", 0, CLI_TEXT(model_job, table.name), "NAME",
     .help = "the model's name, 1 to 63 bytes (default: the name of the file)"},
    {"root", 0, CLI_FLAG(model_job, table.root), .help = "HashSIFT: the weights are for RootSIFT"},
    {"output", 'o', CLI_OUTPUT(model_job, output), "FILE", .help = "the model file to write; required"},
    {0}};

static const cli_command model_import = {
    .name = "model import",
    .examples = "table.txt -o my.kbm # of your own numbers",
    .summary = "a table of numbers becomes a model",
    .usage = "TABLE.txt -o MODEL.kbm [options]",
    .about = "Reads a table of numbers, one row per bit, '#' for comments; the number of columns tells the kind:\n"
             "    6  x1 y1 x2 y2 r th               BAD: two boxes of one radius and a threshold\n"
             "    9  c1 x1 y1 r1 c2 x2 y2 r2 th     BAD, or BAG when a channel is not 0\n"
             "  129  bias w1 ... w128               HashSIFT\n"
             "TABLE.txt may be - for standard input.",
    .options = import_options,
    .least = 1,
    .most = 1,
    .wants = "takes one table",
    .reads_arguments = true,
    .job_size = sizeof(model_job),
    .run = model_import_run};

/* ---------------------------------------------------------------------------------------------------------- export */

static int model_export_run(cli_common *common, void *context, int count, char **arguments)
{
    const model_job *job = context;
    io_error error;
    kb_model *model = NULL;
    kb_model_info info;
    (void)count;
    if (common->json && (!job->output || strcmp(job->output, "-") == 0))
        return cli_usage_error(common, "--json needs -o FILE, since the table goes to standard output otherwise");
    bool ok = open_model(arguments[0], &model, &info, &error) && model_table_write(job->output, &info, &error);
    if (ok && common->json) show_json(&info, job->output);
    kb_model_free(model);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static const cli_option export_options[] = {
    {"output", 'o', CLI_OUTPUT(model_job, output), "FILE", .help = "where to (default: standard output)"}, {0}};

static const cli_command model_export = {
    .name = "model export",
    .examples = "bad256 -o table.txt # as numbers",
    .summary = "the table of a model; import gives the same model back",
    .usage = "NAME|FILE [-o TABLE.txt]",
    .about = "Writes the table of a model; import gives the same model back.",
    .options = export_options,
    .least = 1,
    .most = 1,
    .wants = "takes one model",
    .reads_arguments = true,
    .job_size = sizeof(model_job),
    .run = model_export_run};

/* ------------------------------------------------------------------------------------------------------------ list */

static int model_list_run(cli_common *common, void *context, int count, char **arguments)
{
    io_json json;
    const char *name;
    (void)context, (void)count, (void)arguments;
    if (common->json) {
        io_json_begin(&json, stdout);
        io_json_array(&json, NULL);
    }
    for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)); i++) {
        kb_model *model = NULL;
        kb_model_info info;
        KB_INIT(info);
        if (!common->json) {
            printf("%s\n", name);
        } else if (kb_model_builtin(name, NULL, &model) == KB_OK && kb_model_get_info(model, &info) == KB_OK) {
            put_json(&json, &info, NULL);
        }
        kb_model_free(model);
    }
    if (common->json) io_json_end(&json);
    return CLI_DONE;
}

static const cli_command model_list = {.name = "model list",
                                       .examples = "--json # bits, ids, thresholds",
                                       .summary = "the built-in models",
                                       .usage = "[--json]",
                                       .about = "Names the built-in models.",
                                       .run = model_list_run};

static const cli_command *const model_subcommands[] = {&model_import, &model_show, &model_export, &model_list, NULL};

const cli_command command_model = {.name = "model",
                                   .summary = "import, show, export and list models",
                                   .usage = "SUBCOMMAND ... [options]",
                                   .subcommands = model_subcommands};
