/* Options of commands that have not been declared as tables yet. */
#ifndef CLI_LEGACY_H
#define CLI_LEGACY_H

#include <getopt.h>

enum {
    CLI_END = -1,
    CLI_STOP = 0x10000, /* help was printed or the usage was wrong: end with exit_code */
    CLI_OPTION_HELP,
    CLI_OPTION_QUIET,
    CLI_OPTION_JSON,
    CLI_OPTION_THREADS,
    CLI_OPTION_CPU,
    CLI_OPTION_OWN = 0x20000 /* long options of a command without a letter count up from here */
};

#define CLI_COMMON_OPTIONS                                      \
    {"help", no_argument, NULL, CLI_OPTION_HELP},               \
    {"quiet", no_argument, NULL, CLI_OPTION_QUIET},             \
    {"json", no_argument, NULL, CLI_OPTION_JSON},               \
    {"threads", required_argument, NULL, CLI_OPTION_THREADS},   \
    {"cpu", required_argument, NULL, CLI_OPTION_CPU}

#define CLI_COMMON_HELP                                                                                     \
    "Common options\n"                                                                                      \
    "  --threads N        1 to 256; 0 is one per processor (default 0). Results do not depend on it.\n"     \
    "  --cpu FEATURES     use only these instruction sets, such as \"sse2 ssse3\"; c for none\n"            \
    "                     (default: all that are found; the environment's KEYBITS_CPU says the same)\n"     \
    "  --quiet            no progress and no words but errors\n"                                            \
    "  --json             print the summary as JSON on standard output\n"                                   \
    "  --help             this text\n"

void cli_begin(cli_common *common, const char *help);
int cli_getopt(cli_common *common, int argc, char **argv, const char *shorts, const struct option *longs);
bool cli_ready(cli_common *common);
int cli_end(cli_common *common, int exit_code);
bool cli_preset(cli_common *common, const char *text, float *scale);

typedef struct cli_kind {
    const char *name;
    char command[32]; /* what messages call it */
    int (*run)(int argc, char **argv);
} cli_kind;
#define CLI_KIND(command, name) {#name, #command " " #name, command##_##name},
#define CLI_KIND_HELP(name, summary) "  " #name " - " summary "\n"
int cli_run_kind(cli_kind *kinds, size_t count, const char *help, int argc, char **argv);

#endif
