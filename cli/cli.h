/* What the commands of the program share: the table of commands, options that all of them know, words and exit codes.
 *
 * A new command `x` is a file cli/cmd_x.c with
 *     const char command_x_help[] = "usage: keybits x ...";
 *     int command_x(int argc, char **argv);              argv[0] is "x"; the result is the exit code
 * and one line in CLI_COMMANDS.
 */
#ifndef CLI_H
#define CLI_H

#include <getopt.h>

#include "io/file.h"
#include "keybits/keybits.h"

/* Commands of parts that a build may leave out. */
#ifdef KB_HAVE_EVAL
#  define CLI_EVAL_COMMANDS(COMMAND)                                               \
      COMMAND(eval, "measure descriptors by the benchmarks of the field")       \
      COMMAND(export, "keypoints and matches as a database of COLMAP")
#else
#  define CLI_EVAL_COMMANDS(COMMAND)
#endif

#ifdef KB_HAVE_LEARN
#  define CLI_LEARN_COMMANDS(COMMAND)                                              \
      COMMAND(patches, "make, show and look into sets of patches for learning") \
      COMMAND(train, "learn a descriptor from patches")
#else
#  define CLI_LEARN_COMMANDS(COMMAND)
#endif

/* In the order in which the usage shows them. */
#define CLI_COMMANDS(COMMAND)                                                              \
    COMMAND(detect, "find keypoints in images, as tables and as pictures")              \
    COMMAND(describe, "turn keypoints of images, or ready patches, into descriptors")   \
    COMMAND(match, "match two images and find the geometry between them")               \
    COMMAND(track, "find a flat template in every frame of a folder or a video")        \
    CLI_LEARN_COMMANDS(COMMAND)                                                            \
    CLI_EVAL_COMMANDS(COMMAND)                                                             \
    COMMAND(bench, "time every step, next to OpenCV's")                                 \
    COMMAND(model, "import, show, export and list models")                              \
    COMMAND(info, "version, instruction sets, kernels and built-in models")

#define CLI_DECLARE_COMMAND(name, summary)        \
    extern const char command_##name##_help[];    \
    int command_##name(int argc, char **argv);
CLI_COMMANDS(CLI_DECLARE_COMMAND)

/* Exit codes. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* ---- options ----
 *     cli_common common;
 *     cli_begin(&common, command_x_help);
 *     while ((option = cli_getopt(&common, argc, argv, "o:", longs)) != CLI_END) {
 *         switch (option) {
 *         case 'o': output = optarg; break;
 *         case CLI_STOP: return cli_end(&common, common.exit_code);
 *         }
 *     }
 *     if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
 *     ... argv[optind] onwards are the arguments ...
 *     return cli_end(&common, CLI_DONE);
 */
typedef struct cli_common {
    bool quiet, json;
    int32_t threads;             /* 0: one a processor */
    const kb_parallel *parallel; /* set by cli_ready; for the options of the library */
    kb_pool *pool;
    const char *command;
    const char *help;
    const char *cpu;
    bool started; /* cli_getopt has been called */
    int exit_code;
} cli_common;

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

/* To be put into the command's table of long options, before its closing {NULL, 0, NULL, 0}. */
#define CLI_COMMON_OPTIONS                                      \
    {"help", no_argument, NULL, CLI_OPTION_HELP},               \
    {"quiet", no_argument, NULL, CLI_OPTION_QUIET},             \
    {"json", no_argument, NULL, CLI_OPTION_JSON},               \
    {"threads", required_argument, NULL, CLI_OPTION_THREADS},   \
    {"cpu", required_argument, NULL, CLI_OPTION_CPU}

/* To be put at the end of a command's help text. */
#define CLI_COMMON_HELP                                                                                     \
    "Common options\n"                                                                                      \
    "  --threads N        1 to 256; 0 is one a processor (default 0). Results do not depend on it.\n"       \
    "  --cpu FEATURES     use only these instruction sets, such as \"sse2 ssse3\"; c for none\n"            \
    "                     (default: all that are found; the environment's KEYBITS_CPU says the same)\n"     \
    "  --quiet            no progress and no words but errors\n"                                            \
    "  --json             print the summary as JSON on standard output\n"                                   \
    "  --help             this text\n"

/* common->command, the name in messages, becomes argv[0] unless it is set before cli_getopt ("model import"). */
void cli_begin(cli_common *common, const char *help);
/* getopt_long that deals with the common options, with --help and with unknown options itself. `shorts` without ':' in
 * front. */
int cli_getopt(cli_common *common, int argc, char **argv, const char *shorts, const struct option *longs);
/* Starts the threads and takes instruction sets away, as asked for. */
bool cli_ready(cli_common *common);
/* Gives back what cli_ready made; returns exit_code. */
int cli_end(cli_common *common, int exit_code);

/* Values of options: a wrong one is reported with the range, sets exit_code to CLI_USAGE and gives false. */
bool cli_integer(cli_common *common, const char *option, const char *text, int64_t low, int64_t high, int64_t *value);
bool cli_number(cli_common *common, const char *option, const char *text, double low, double high, double *value);
/* The index of text in a NULL-terminated list of words. */
bool cli_choice(cli_common *common, const char *option, const char *text, const char *const *words, int *index);
/* --preset NAME: the scale of a preset; the message of a wrong one lists all. */
bool cli_preset(cli_common *common, const char *text, float *scale);

/* ---- kinds ---- commands such as "eval oxford", of which each kind is a function like a command, called eval_oxford */
typedef struct cli_kind {
    const char *name;
    char command[32]; /* what messages call it */
    int (*run)(int argc, char **argv);
} cli_kind;
#define CLI_KIND(command, name) {#name, #command " " #name, command##_##name},
#define CLI_KIND_HELP(name, summary) "  " #name " - " summary "\n"
/* Lets the kind that argv[1] names work; the help of the command for none, and for --help. */
int cli_run_kind(cli_kind *kinds, size_t count, const char *help, int argc, char **argv);

/* ---- words ---- all on standard error, one line, the line break is added */
__attribute__((format(printf, 2, 3))) void cli_say(const cli_common *common, const char *format,
                                                   ...); /* not with --quiet */
__attribute__((format(printf, 2, 3))) void cli_warn(const cli_common *common, const char *format, ...); /* likewise */
/* "keybits: ..."; return CLI_FAILED and CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_error(const char *format, ...);
__attribute__((format(printf, 2, 3))) int cli_usage_error(const cli_common *common, const char *format, ...);

/* ---- models ---- */
/* A built-in name or the path of a .kbm file. A name of a built-in wins over a file of that name; ./bad256 is the
 * file. */
bool cli_model_open(const char *name_or_path, kb_model **out, io_error *error);
/* The default of --model: the first available of the built-in models in the order bag256, bad256, hashsift256, sift. */
const char *cli_model_default(void);

#endif
