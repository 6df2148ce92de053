/* SPDX-License-Identifier: Apache-2.0 */
/* keybits info: what this program and this machine are made of. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "io/image_io.h"
#include "io/json.h"

static void formats_json(io_json *json)
{
    char name[16];
    io_json_array(json, "formats");
    for (const char *at = io_image_formats; sscanf(at, "%15[^,]", name) == 1; at += strspn(at, ", ")) {
        io_json_string(json, NULL, name);
        at += strlen(name);
    }
    io_json_end(json);
}

static void info_json(const cli_common *common)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "version", kb_version());
    io_json_string(&json, "cpu", kb_cpu_features(NULL));
    io_json_integer(&json, "threads", common->parallel->threads);
    formats_json(&json);
    io_json_object(&json, "kernels");
    for (int32_t i = 0; kb_kernel_at(i).name; i++) io_json_string(&json, kb_kernel_at(i).name, kb_kernel_at(i).variant);
    io_json_end(&json);
    io_json_array(&json, "models");
    const char *name;
    for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)); i++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "name", name);
        io_json_end(&json);
    }
    io_json_end(&json);
    io_json_end(&json);
}

static void info_text(const cli_common *common)
{
    printf("keybits    %s\n", kb_version());
    printf("cpu        %s\n", *kb_cpu_features(NULL) ? kb_cpu_features(NULL) : "plain C only");
    printf("threads    %d\n", (int)common->parallel->threads);
    printf("formats    %s\n", io_image_formats);
    printf("\nkernels\n");
    for (int32_t i = 0; kb_kernel_at(i).name; i++)
        printf("  %-20s %s\n", kb_kernel_at(i).name, kb_kernel_at(i).variant);
    printf("\nmodels\n");
    const char *name;
    for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)); i++) printf("  %s\n", name);
}

static int info_run(cli_common *common, void *job, int count, char **arguments)
{
    (void)job, (void)count, (void)arguments;
    if (common->json) info_json(common);
    else info_text(common);
    return CLI_DONE;
}

const cli_command command_info = {
    .name = "info",
    .examples = "--json # for a bug report",
    .summary = "version, instruction sets, kernels and built-in models",
    .usage = "[options]",
    .about = "Prints the version, the instruction sets that were found and may be used, which variant of each kernel "
             "runs, the number of threads, the image formats that can be read, and the built-in models.",
    .run = info_run};
