/* keybits info: what this program and this machine are made of. */
#include "cli.h"
#include "io/image_io.h"
#include "io/json.h"

const char command_info_help[] =
    "usage: keybits info [--json]\n"
    "\n"
    "Prints the version, the instruction sets that were found and may be used, which variant of each hot loop runs,\n"
    "the number of threads, the image formats that can be read, and the built-in models.\n"
    "\n" CLI_COMMON_HELP;

#ifdef KB_HAVE_WEBP
#define WEBP_NAME "WebP",
#else
#define WEBP_NAME
#endif
#ifdef KB_HAVE_TIFF
#define TIFF_NAME "TIFF",
#else
#define TIFF_NAME
#endif
static const char *const formats[] = {"JPEG", "PNG", "PGM", "PPM", "BMP", WEBP_NAME TIFF_NAME NULL};

static void print_json(const cli_common *common)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "version", kb_version());
    io_json_string(&json, "cpu", kb_cpu_features());
    io_json_integer(&json, "threads", common->parallel->threads);
    io_json_array(&json, "formats");
    for (int i = 0; formats[i]; i++) io_json_string(&json, NULL, formats[i]);
    io_json_end(&json);
    io_json_object(&json, "kernels");
    for (int32_t i = 0; kb_kernel_at(i).name; i++) io_json_string(&json, kb_kernel_at(i).name, kb_kernel_at(i).variant);
    io_json_end(&json);
    io_json_array(&json, "models");
    const char *name;
    int32_t available;
    for (int32_t i = 0; (name = kb_model_builtin_name(i, &available)); i++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "name", name);
        io_json_bool(&json, "available", available);
        io_json_end(&json);
    }
    io_json_end(&json);
    io_json_end(&json);
}

static void print_text(const cli_common *common)
{
    printf("keybits    %s\n", kb_version());
    printf("cpu        %s\n", *kb_cpu_features() ? kb_cpu_features() : "plain C only");
    printf("threads    %d\n", (int)common->parallel->threads);
    printf("formats   ");
    for (int i = 0; formats[i]; i++) printf(" %s", formats[i]);
    printf("\n\nkernels\n");
    for (int32_t i = 0; kb_kernel_at(i).name; i++)
        printf("  %-20s %s\n", kb_kernel_at(i).name, kb_kernel_at(i).variant);
    printf("\nmodels\n");
    const char *name;
    int32_t available;
    for (int32_t i = 0; (name = kb_model_builtin_name(i, &available)); i++) {
        printf("  %-20s %s\n", name, available ? "built in" : "no table in this build");
    }
}

int command_info(int argc, char **argv)
{
    static const struct option longs[] = {CLI_COMMON_OPTIONS, {NULL, 0, NULL, 0}};
    cli_common common;
    cli_begin(&common, command_info_help);
    if (cli_getopt(&common, argc, argv, "", longs) == CLI_STOP) return cli_end(&common, common.exit_code);
    if (optind < argc)
        return cli_end(&common, cli_usage_error(&common, "takes no arguments, but got \"%s\"", argv[optind]));
    if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
    if (common.json) print_json(&common);
    else print_text(&common);
    return cli_end(&common, CLI_DONE);
}
