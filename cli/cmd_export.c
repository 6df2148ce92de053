/* keybits export colmap: keypoints and matches of a set of images as COLMAP's database. */
#include <stdlib.h>
#include <string.h>

#include "export_colmap.h"

typedef struct export_job {
    eval_options eval;
    export_options export;
    const char *output;
} export_job;

/* "x.db" -> "x.pairs.txt" */
static char *pair_list_path(const char *database)
{
    size_t stem = strlen(database) - strlen(io_path_suffix(database));
    char *path = io_alloc(stem + sizeof ".pairs.txt", 1);
    memcpy(path, database, stem);
    strcpy(path + stem, ".pairs.txt");
    return path;
}

static void report(const cli_common *common, const char *database, const char *list, const ev_export_counts *counts)
{
    cli_say(common, "%s: %zu images, %zu keypoints, %zu pairs with %zu matches; pairs are listed in %s", database,
            counts->images, counts->keypoints, counts->pairs, counts->matches, list);
    if (!common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "database", database);
    io_json_string(&json, "pair_list", list);
    io_json_integer(&json, "images", (int64_t)counts->images);
    io_json_integer(&json, "keypoints", (int64_t)counts->keypoints);
    io_json_integer(&json, "pairs", (int64_t)counts->pairs);
    io_json_integer(&json, "matches", (int64_t)counts->matches);
    io_json_end(&json);
}

static int export_database(const cli_common *common, const eval_options *eval, const export_options *own,
                           const io_names *images, const char *database)
{
    io_error error;
    eval_methods methods;
    ev_export_counts counts;
    if (!eval_methods_open(&methods, eval->models, eval->support, &eval->descriptors)) return CLI_FAILED;
    int code = CLI_DONE;
    char *list = pair_list_path(database);
    if (methods.count != 1) code = cli_usage_error(common, "a database is made with one descriptor");
    else if (!ev_colmap_export(images, &methods.items[0], &own->options, database, list, &counts, &error))
        code = cli_error("%s", error.text);
    else report(common, database, list, &counts);
    free(list);
    eval_methods_free(&methods);
    return code;
}

static int export_run(cli_common *common, void *context, int count, char **arguments)
{
    export_job *job = context;
    io_names images = {NULL, 0};
    io_error error;
    if (!job->output) return cli_usage_error(common, "the database needs a name: -o DATABASE.db");
    if (job->eval.export_patches) return cli_usage_error(common, "--export-patches belongs to keybits eval");
    if (!eval_options_settle(&job->eval, common)) return common->exit_code;
    export_options_settle(&job->export, &job->eval, common,
                          count == 1 && io_path_is_folder(arguments[0]) ? arguments[0] : NULL);
    char *list = pair_list_path(job->output);
    int code = cli_claim_images(common, count, arguments, &images, &error) && cli_claim_output(common, list, &error)
                   ? export_database(common, &job->eval, &job->export, &images, job->output)
                   : cli_error("%s", error.text);
    free(list);
    io_names_free(&images);
    return code;
}

static void export_end(void *job) { eval_options_end(&((export_job *)job)->eval); }

static const cli_option export_options_table[] = {
    {"output", 'o', CLI_OUTPUT(export_job, output), "DATABASE.db", .help = "the database; required"},
    CLI_GROUP(export_job, eval, eval_method_options),
    CLI_GROUP(export_job, eval, eval_sfm_keypoint_options),
    CLI_GROUP(export_job, export, export_colmap_options),
    {0}};

static const cli_command export_colmap = {
    .name = "export colmap",
    .summary = "a database of COLMAP 3.8 with keypoints and matches, and the list of pairs beside it",
    .usage = "IMAGES... -o DATABASE.db [options]",
    .about = "Writes the keypoints of images and their matches as a database of COLMAP 3.8, and beside it the list of "
             "pairs, DATABASE.pairs.txt. Names of images must differ and hold no spaces. " CLI_IMAGES_HELP
             "\n\n"
             "COLMAP goes on with\n"
             "  export QT_QPA_PLATFORM=offscreen    # where there is no display\n"
             "  colmap matches_importer --database_path DATABASE.db --match_list_path DATABASE.pairs.txt \\\n"
             "      --match_type pairs --SiftMatching.use_gpu 0\n"
             "  colmap mapper --database_path DATABASE.db --image_path FOLDER --output_path FOLDER",
    .options = export_options_table,
    .least = 1,
    .most = CLI_ANY,
    .wants = "say: export colmap IMAGES...",
    .reads_arguments = true,
    .job_size = sizeof(export_job),
    .run = export_run,
    .end = export_end};

static const cli_command *const formats[] = {&export_colmap, NULL};

const cli_command command_export = {
    .name = "export",
    .summary = "keypoints and matches as a database of COLMAP",
    .usage = "FORMAT ... [options]",
    .about = "Writes keypoints and matches in the formats of other programs.",
    .subcommands = formats};
