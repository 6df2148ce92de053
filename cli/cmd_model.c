/* keybits model: import, show, export and list. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io/json.h"
#include "model_text.h"

static const char model_help[] =
    "usage: keybits model import TABLE.txt [--sampler image|patch|pairs] [--support S] [--name NAME] [--root]\n"
    "                            -o MODEL.kbm\n"
    "       keybits model show NAME|FILE [--svg FILE] [--json]\n"
    "       keybits model export NAME|FILE [-o TABLE.txt]\n"
    "       keybits model list [--json]\n"
    "\n"
    "import reads a table of numbers, one row a bit, '#' for comments; the number of columns tells the kind:\n"
    "    6  x1 y1 x2 y2 r th               BAD: two boxes of one radius and a threshold\n"
    "    9  c1 x1 y1 r1 c2 x2 y2 r2 th     BAD, or BAG when a channel is not 0\n"
    "  129  bias w1 ... w128               HashSIFT\n"
    "  --sampler NAME     image: boxes in the image, as OpenCV's TEBLID; patch: in the resampled 32x32 patch;\n"
    "                     pairs: in one resampled more quickly, each sample the mean of two pixels\n"
    "                     (default: image for BAD, patch for the others, which have no image sampler)\n"
    "  --support S        0.1 to 10: patch width = preset x keypoint size x support (default 1)\n"
    "  --name NAME        the model's name, 1 to 63 bytes (default: the name of the file)\n"
    "  --root             HashSIFT: the weights are for RootSIFT\n"
    "  -o, --output FILE  the model file to write; required\n"
    "  TABLE.txt may be - for standard input.\n"
    "\n"
    "show prints what is in a built-in model or a model file.\n"
    "  --svg FILE         also draws the boxes of a BAD or BAG model\n"
    "\n"
    "export writes the table again; import gives the same model back.\n"
    "  -o, --output FILE  where to (default: standard output)\n"
    "\n"
    "list names the built-in models.\n"
    "\n" CLI_COMMON_HELP;

typedef struct model_options {
    const char *output, *svg;
    table_options table;
} model_options;

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

static int run_import(const cli_common *common, const char *path, const model_options *options)
{
    io_error error;
    kb_model *model = NULL;
    if (!options->output) return cli_usage_error(common, "import needs -o MODEL.kbm");
    if (!io_refuse_overwrite(options->output, path, &error) || !model_table_read(path, &options->table, &model, &error))
        return cli_error("%s", error.text);
    bool ok = save_model(model, options->output, &error);
    kb_model_info info;
    KB_INIT(info);
    if (ok && kb_model_get_info(model, &info) == KB_OK) {
        cli_say(common, "%s: %s, %s, %d bits, %s sampler, support %g", options->output, info.spec->name,
                kb_kind_name(info.spec->kind), (int)info.spec->bits, kb_sampler_name(info.spec->sampler),
                (double)info.spec->support);
    }
    kb_model_free(model);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

/* ------------------------------------------------------------------------------------------------------------ show */

static void id_text(char text[17], uint64_t id) { snprintf(text, 17, "%016llx", (unsigned long long)id); }

static bool has_boxes(const kb_model_info *info) { return info->spec->kind == KB_BAD || info->spec->kind == KB_BAG; }

static void show_json(const kb_model_info *info)
{
    const kb_model_spec *spec = info->spec;
    char id[17];
    io_json json;
    id_text(id, info->id);
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "name", spec->name);
    io_json_string(&json, "kind", kb_kind_name(spec->kind));
    io_json_integer(&json, "bits", spec->bits);
    io_json_string(&json, "sampler", kb_sampler_name(spec->sampler));
    io_json_float(&json, "support", spec->support);
    io_json_string(&json, "id", id);
    io_json_integer(&json, "row_bytes", info->row_bytes);
    io_json_integer(&json, "row_floats", info->row_floats);
    io_json_bool(&json, "root", spec->root);
    io_json_array(&json, "planes");
    for (int c = 0; c < KB_PLANES; c++) {
        if (info->planes >> c & 1) io_json_integer(&json, NULL, c);
    }
    io_json_end(&json);
    io_json_integer(&json, "distinct_boxes", info->distinct_boxes);
    io_json_string(&json, "text", spec->text ? spec->text : "");
    io_json_end(&json);
}

static void show_text(const kb_model_info *info)
{
    const kb_model_spec *spec = info->spec;
    char id[17];
    id_text(id, info->id);
    printf("name      %s\nkind      %s\n", spec->name, kb_kind_name(spec->kind));
    if (spec->bits) printf("bits      %d\n", (int)spec->bits);
    printf("sampler   %s\nsupport   %g\nid        %s\n", kb_sampler_name(spec->sampler), (double)spec->support, id);
    printf("row       %d bytes", (int)info->row_bytes);
    if (info->row_floats) printf(", or %d floats", (int)info->row_floats);
    printf("\n");
    if (spec->kind == KB_HASHSIFT) printf("over      %s\n", spec->root ? "RootSIFT" : "SIFT");
    if (has_boxes(info)) {
        printf("planes   ");
        for (int c = 0; c < KB_PLANES; c++) {
            if (!(info->planes >> c & 1)) continue;
            if (c == 0) printf(" gray");
            else printf(" %d\xc2\xb0", 45 * (c - 1));
        }
        printf("\nboxes     %d different in %d pairs\n", (int)info->distinct_boxes, (int)spec->bits);
    }
    if (spec->text && *spec->text) printf("text\n%s\n", spec->text);
}

static int run_show(const cli_common *common, const kb_model_info *info, const model_options *options)
{
    io_error error;
    if (options->svg && !model_svg_write(options->svg, info, &error)) return cli_error("%s", error.text);
    if (common->json) show_json(info);
    else show_text(info);
    return CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------ list */

static int run_list(const cli_common *common)
{
    io_json json;
    const char *name;
    int32_t available;
    if (common->json) {
        io_json_begin(&json, stdout);
        io_json_array(&json, NULL);
    }
    for (int32_t i = 0; (name = kb_model_builtin_name(i, &available)); i++) {
        if (!common->json) {
            printf("%-12s %s\n", name, available ? "built in" : "no table in this build");
            continue;
        }
        io_json_object(&json, NULL);
        io_json_string(&json, "name", name);
        io_json_bool(&json, "available", available);
        io_json_end(&json);
    }
    if (common->json) io_json_end(&json);
    return CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------ command */

enum { SHOW, EXPORT, IMPORT, LIST };
static const char *const actions[] = {"show", "export", "import", "list", NULL};

static int run_on_model(const cli_common *common, int action, const char *name, const model_options *options)
{
    io_error error;
    kb_model *model = NULL;
    if (!io_refuse_overwrite(options->output, name, &error) || !io_refuse_overwrite(options->svg, name, &error) ||
        !cli_model_open(name, &model, &error))
        return cli_error("%s", error.text);
    kb_model_info info;
    KB_INIT(info);
    kb_status status = kb_model_get_info(model, &info);
    int result;
    if (status != KB_OK) result = cli_error("%s: %s", name, kb_status_string(status));
    else if (action == SHOW) result = run_show(common, &info, options);
    else result = model_table_write(options->output, &info, &error) ? CLI_DONE : cli_error("%s", error.text);
    kb_model_free(model);
    return result;
}

static bool read_options(cli_common *common, int argc, char **argv, model_options *options)
{
    enum { SAMPLER = CLI_OPTION_OWN, SUPPORT, NAME, ROOT, SVG };
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"sampler", required_argument, NULL, SAMPLER},
                                          {"support", required_argument, NULL, SUPPORT},
                                          {"name", required_argument, NULL, NAME},
                                          {"root", no_argument, NULL, ROOT},
                                          {"svg", required_argument, NULL, SVG},
                                          CLI_COMMON_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const char *const samplers[] = {"image", "patch", "two-tap", NULL};
    int option, index;
    double number;
    while ((option = cli_getopt(common, argc, argv, "o:", longs)) != CLI_END) {
        switch (option) {
        case 'o': options->output = optarg; break;
        case SAMPLER:
            if (!cli_choice(common, "--sampler", optarg, samplers, &index)) return false;
            options->table.sampler = samplers[index];
            break;
        case SUPPORT:
            if (!cli_number(common, "--support", optarg, 0.1, 10, &number)) return false;
            options->table.support = (float)number;
            break;
        case NAME: options->table.name = optarg; break;
        case ROOT: options->table.root = true; break;
        case SVG: options->svg = optarg; break;
        default: return false;
        }
    }
    return true;
}

static int model_legacy(int argc, char **argv)
{
    cli_common common;
    model_options options = {0};
    int action;
    cli_begin(&common, model_help);
    if (!read_options(&common, argc, argv, &options)) return common.exit_code;
    if (optind >= argc) return cli_usage_error(&common, "say what to do: import, show, export or list");
    if (!cli_choice(&common, "what to do", argv[optind], actions, &action)) return common.exit_code;
    int left = argc - optind - 1;
    if (left != (action == LIST ? 0 : 1)) {
        return cli_usage_error(&common, "%s takes %s", actions[action],
                               action == LIST ? "no arguments" : action == IMPORT ? "one table" : "one model");
    }
    if (action == LIST) return run_list(&common);
    const char *argument = argv[optind + 1];
    if (action == IMPORT) return run_import(&common, argument, &options);
    return run_on_model(&common, action, argument, &options);
}

const cli_command command_model = {
    .name = "model", .summary = "import, show, export and list models", .legacy = model_legacy, .legacy_help = model_help};
