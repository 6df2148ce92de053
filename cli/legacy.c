/* Options of commands that have not been declared as tables yet. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void cli_begin(cli_common *common, const char *help)
{
    memset(common, 0, sizeof *common);
    common->help = help;
    common->cpu = getenv("KEYBITS_CPU");
}

/* getopt_long gave up on an option: says why. */
static int wrong_option(cli_common *common, int problem, char **argv)
{
    const char *given = argv[optind - 1];
    bool is_long = strncmp(given, "--", 2) == 0;
    const char *what = problem == ':' ? "no value for" : "unknown or unclear option";
    if (is_long) common->exit_code = cli_usage_error(common, "%s %.*s", what, (int)strcspn(given, "="), given);
    else common->exit_code = cli_usage_error(common, "%s -%c", what, optopt);
    return CLI_STOP;
}

static int common_option(cli_common *common, int option)
{
    int64_t value;
    switch (option) {
    case CLI_OPTION_HELP:
        fputs(common->help, stdout);
        return CLI_STOP;
    case CLI_OPTION_QUIET: common->quiet = true; break;
    case CLI_OPTION_JSON: common->json = true; break;
    case CLI_OPTION_CPU: common->cpu = optarg; break;
    case CLI_OPTION_THREADS:
        if (!cli_integer(common, "--threads", optarg, 0, 256, &value)) return CLI_STOP;
        common->threads = (int32_t)value;
        break;
    }
    return 0;
}

int cli_getopt(cli_common *common, int argc, char **argv, const char *shorts, const struct option *longs)
{
    if (!common->started) {
        common->started = true;
        if (!common->name) common->name = argv[0];
        optind = 1;
        opterr = 0;
    }
    char with_colon[64] = ":"; /* asks getopt to tell a missing value from an unknown option */
    strncat(with_colon, shorts, sizeof with_colon - 2);
    for (;;) {
        int option = getopt_long(argc, argv, with_colon, longs, NULL);
        if (option == -1) return CLI_END;
        if (option == '?' || option == ':') return wrong_option(common, option, argv);
        if (option < CLI_OPTION_HELP || option >= CLI_OPTION_OWN) return option;
        if (common_option(common, option) == CLI_STOP) return CLI_STOP;
    }
}

int cli_end(cli_common *common, int exit_code)
{
    kb_pool_free(common->pool);
    common->pool = NULL;
    common->parallel = NULL;
    return exit_code;
}

int cli_run_kind(cli_kind *kinds, size_t count, const char *help, int argc, char **argv)
{
    bool asked = argc > 1 && strcmp(argv[1], "--help") == 0;
    if (argc < 2 || asked) {
        fputs(help, asked ? stdout : stderr);
        return asked ? CLI_DONE : CLI_USAGE;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0) continue;
        argv[1] = kinds[i].command;
        return kinds[i].run(argc - 1, argv + 1);
    }
    cli_error("%s: no kind is called %s; keybits %s --help lists them", argv[0], argv[1], argv[0]);
    return CLI_USAGE;
}

bool cli_preset(cli_common *common, const char *text, float *scale)
{
    return cli_take_preset(common, "--preset", text, scale);
}
