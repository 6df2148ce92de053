/* keybits export colmap: keypoints and matches of a set of images as COLMAP's database. */
#include <stdlib.h>
#include <string.h>

#include "export_colmap.h"

static const char export_help[] =
    "usage: keybits export colmap IMAGES... -o DATABASE.db [options]\n"
    "Writes the keypoints of images and their matches as a database of COLMAP 3.8, and beside it the list\n"
    "of pairs, DATABASE.pairs.txt. IMAGES are files, folders or @lists; names must differ and hold no\n"
    "spaces. COLMAP goes on with\n"
    "  colmap matches_importer --database_path DATABASE.db --match_list_path DATABASE.pairs.txt --match_type pairs\n"
    "  colmap mapper --database_path DATABASE.db --image_path FOLDER --output_path FOLDER\n"
    "\n"
    EVAL_METHOD_HELP
    "\n"
    EVAL_KEYPOINT_HELP
    "\n"
    EXPORT_HELP
    "\n"
    CLI_COMMON_HELP;

static const struct option longs[] = {
    EVAL_METHOD_OPTIONS,
    EVAL_KEYPOINT_OPTIONS,
    EXPORT_OPTIONS,
    {"output", required_argument, NULL, 'o'},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

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

static int run(cli_common *common, eval_options *eval, export_options *own, const char *output, int count,
               char **arguments)
{
    io_names images = {NULL, 0};
    io_error error;
    if (count < 2 || strcmp(arguments[0], "colmap") != 0)
        return cli_usage_error(common, "say: export colmap IMAGES...");
    if (!output) return cli_usage_error(common, "the database needs a name: -o DATABASE.db");
    if (eval->export_patches) return cli_usage_error(common, "--export-patches belongs to keybits eval");
    if (!eval_options_settle(eval, common) || !cli_ready(common)) return common->exit_code;
    export_options_settle(own, eval, common, count == 2 && io_path_is_folder(arguments[1]) ? arguments[1] : NULL);
    int code = io_names_images(&images, count - 1, arguments + 1, &error)
                   ? export_database(common, eval, own, &images, output)
                   : cli_error("%s", error.text);
    io_names_free(&images);
    return code;
}

static int export_legacy(int argc, char **argv)
{
    cli_common common;
    eval_options eval;
    export_options own;
    const char *output = NULL;
    int option;
    cli_begin(&common, export_help);
    eval_options_begin(&eval);
    export_options_begin(&own);
    while ((option = cli_getopt(&common, argc, argv, "m:n:o:", longs)) != CLI_END) {
        if (option == 'o') output = optarg;
        else if (option == CLI_STOP || (!export_option(&own, &common, option) && !eval_option(&eval, &common, option)))
            return cli_end(&common, common.exit_code);
    }
    int code = run(&common, &eval, &own, output, argc - optind, argv + optind);
    eval_options_end(&eval);
    return cli_end(&common, code);
}

const cli_command command_export = {
    .name = "export", .summary = "keypoints and matches as a database of COLMAP", .legacy = export_legacy, .legacy_help = export_help};
