/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the program share: how a command declares itself, its options, messages and exit codes.
 *
 * A command `x` is a file cli/GROUP/cmd_x.c with one `const cli_command command_x`, and one row in CLI_COMMANDS. The
 * command names its options in a table. Everything that is said about an option stands in one row: its name, letter,
 * type, range, target, default and help text. Parsing, range errors, --help, the man page, the bash completion and the
 * check that no output overwrites an input come from that row.
 */
#ifndef CLI_H
#define CLI_H

#include <stddef.h>
#include <stdint.h>

#include "io/file.h"
#include "keybits/advanced.h"

/* Commands of parts that a build may leave out. */
#ifdef KB_HAVE_EVAL
#  define CLI_EVAL_COMMANDS(COMMAND) COMMAND(eval) COMMAND(bench)
#else
#  define CLI_EVAL_COMMANDS(COMMAND)
#endif

#ifdef KB_HAVE_LEARN
#  define CLI_LEARN_COMMANDS(COMMAND) COMMAND(patches) COMMAND(train)
#else
#  define CLI_LEARN_COMMANDS(COMMAND)
#endif

/* In the order in which the usage shows them. */
#define CLI_COMMANDS(COMMAND)                                                                                       \
    COMMAND(detect) COMMAND(describe) COMMAND(match) COMMAND(track)                                                 \
    COMMAND(vocab) COMMAND(index) COMMAND(search) COMMAND(loops) COMMAND(collection) COMMAND(localize)              \
    CLI_LEARN_COMMANDS(COMMAND) COMMAND(export) CLI_EVAL_COMMANDS(COMMAND) COMMAND(model) COMMAND(info)

/* Exit codes. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_command;
struct cli_paths;

/* The options that every command has, and what follows from them. */
typedef struct cli_common {
    bool quiet, json, asked_for_help, asked_for_all;
    int32_t threads;             /* 0: one per processor */
    const kb_parallel *parallel; /* for the options of the library */
    kb_parallel *pool;
    const struct cli_command *command;
    const char *name; /* of the command in messages, such as "eval oxford" */
    const char *cpu;
    struct cli_paths *paths; /* files that the run reads and writes */
    int exit_code;
} cli_common;

/* Text of others, such as a name in a file, as a line of UTF-8 without control characters, which can do nothing to a
 * terminal. All that is printed of names goes through this, or through the messages below. For the main thread; lives
 * until CLI_SHOWN further calls. */
#define CLI_SHOWN 4
const char *cli_shown(const char *text);

/* ---- messages ---- all on standard error, one line; the line break is added */
__attribute__((format(printf, 2, 3))) void cli_say(const cli_common *common, const char *format,
                                                   ...); /* not with --quiet */
__attribute__((format(printf, 2, 3))) void cli_warn(const cli_common *common, const char *format, ...); /* likewise */
/* "keybits: ..."; return CLI_FAILED and CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_error(const char *format, ...);
__attribute__((format(printf, 2, 3))) int cli_usage_error(const cli_common *common, const char *format, ...);

/* ---- files of the run (paths.c) ----
 * No output may be an input of the same run, nor another output, by whatever name: hard links and symbolic links are
 * followed. Options of type INPUT and OUTPUT and the arguments of a command that reads files are claimed before the
 * command runs. A command claims what it finds later: files of a folder, names that it derives from others. NULL,
 * folders and devices are never claimed; "-" is standard input or output, which one file only may be. */
bool cli_claim_input(cli_common *common, const char *path, io_error *error);
bool cli_claim_output(cli_common *common, const char *path, io_error *error);
/* Every file that is in the folder is an output. */
bool cli_claim_folder(cli_common *common, const char *folder, io_error *error);
/* Expands IMAGE arguments (io_names_images) and claims each of them. */
bool cli_claim_images(cli_common *common, int count, char *const *arguments, io_names *images, io_error *error);
/* Where the result of every input goes (io_names_outputs), each of them claimed. */
bool cli_claim_outputs(cli_common *common, const io_names *inputs, const char *output, const char *suffix,
                       io_names *outputs, io_error *error);
void cli_paths_free(struct cli_paths *paths);

/* ---- commands and options as tables ----
 *
 *     typedef struct grow_job { const char *output; int32_t levels; float factor; bool fast; } grow_job;
 *
 *     static const cli_option grow_options[] = {
 *         {"output", 'o', CLI_OUTPUT(grow_job, output), "FILE.png", .help = "the picture"},
 *         {"levels", 0, CLI_NUMBER(grow_job, levels, 1, 16), "N", "8", .help = "levels of the pyramid"},
 *         {"factor", 0, CLI_NUMBER(grow_job, factor, 1.05, 2), "X", "1.2", .help = "from one level to the next"},
 *         {"fast", 0, CLI_FLAG(grow_job, fast), .help = "leave the last level out"},
 *         {0}};
 *
 *     const cli_command command_grow = {
 *         .name = "grow", .summary = "make images larger", .usage = "IMAGE... [options]",
 *         .examples = "photo.png -o large.png # twice the size",
 *         .about = "Makes images larger.", .options = grow_options,
 *         .least = 1, .most = CLI_ANY, .wants = "name at least one image", .reads_arguments = true,
 *         .job_size = sizeof(grow_job), .run = grow_run};
 *
 * The job is a zeroed struct of the command, filled by `begin` (if there is one), then by the defaults of the rows,
 * then by the command line. `run` gets it together with the arguments. The help of a row with a range begins with the
 * range, and a default is put behind: "1 to 16 levels of the pyramid (default 8)". Nothing else states it.
 */
typedef enum cli_type {
    CLI_TYPE_LAST, /* ends a table */
    CLI_TYPE_SECTION,
    CLI_TYPE_GROUP,
    CLI_TYPE_CHECK,
    CLI_TYPE_FLAG,   /* bool */
    CLI_TYPE_FLAG32, /* int32_t */
    CLI_TYPE_TEXT,   /* const char * */
    CLI_TYPE_INPUT,  /* a file that is read */
    CLI_TYPE_INPUTS, /* files and names separated by commas */
    CLI_TYPE_OUTPUT, /* a file that is written */
    CLI_TYPE_INT32,
    CLI_TYPE_INT64,
    CLI_TYPE_UINT64,
    CLI_TYPE_FLOAT,
    CLI_TYPE_DOUBLE,
    CLI_TYPE_CHOICE, /* one of `words`: its index + low, in an enum or int32_t */
    CLI_TYPE_WORD,   /* one of `words`: the word, const char * */
    CLI_TYPE_CALL    /* whatever `take` does */
} cli_type;

/* What most people need stands first; what few need, such as thresholds of detectors, with --help-all. */
typedef enum cli_rank { CLI_USUAL, CLI_FREQUENT, CLI_RARE } cli_rank;

typedef struct cli_option cli_option;
struct cli_option {
    const char *name; /* without --; of a section its title */
    char letter;      /* 0: none */
    cli_type type;
    size_t offset; /* of the target in the job */
    const char *member; /* its name there */
    double low, high;
    const char *value;   /* what the help calls the value: N, FILE.csv */
    const char *initial; /* the default, as it would be typed; NULL: what `begin` left, and the help says it */
    const char *help;    /* flows; a line that begins with a space stays as it is */
    const char *const *words;
    /* Reads the value into the target; false after common->exit_code = cli_usage_error(...). `option` is what the user
     * wrote: -n or --max-keypoints. May be called again. A CHECK is called once, after all options are read, with NULL
     * for option and text; the target is the job of the table. */
    bool (*take)(cli_common *common, const char *option, const char *text, void *target);
    const cli_option *group;
    cli_rank rank; /* where the help shows it */
};

#define CLI_NO_LIMIT 0x1p63 /* as `high`: no range in the help */

/* The type, the target and the range of a row. The target's own type decides which number it is. */
#define CLI_MEMBER(job, member) (((job *)0)->member)
#define CLI_NUMBER(job, member, low_end, high_end)                                                                  \
    _Generic(CLI_MEMBER(job, member), int32_t: CLI_TYPE_INT32, int64_t: CLI_TYPE_INT64, uint64_t: CLI_TYPE_UINT64,  \
             float: CLI_TYPE_FLOAT, double: CLI_TYPE_DOUBLE), offsetof(job, member), #member, low_end, high_end
#define CLI_FLAG(job, member)                                                                                       \
    _Generic(CLI_MEMBER(job, member), bool: CLI_TYPE_FLAG, int32_t: CLI_TYPE_FLAG32),                               \
        offsetof(job, member), #member, 0, 0
#define CLI_STRING(kind, job, member)                                                                               \
    _Generic(CLI_MEMBER(job, member), const char *: kind), offsetof(job, member), #member, 0, 0
#define CLI_TEXT(job, member) CLI_STRING(CLI_TYPE_TEXT, job, member)
#define CLI_INPUT(job, member) CLI_STRING(CLI_TYPE_INPUT, job, member)
#define CLI_INPUTS(job, member) CLI_STRING(CLI_TYPE_INPUTS, job, member)
#define CLI_OUTPUT(job, member) CLI_STRING(CLI_TYPE_OUTPUT, job, member)
/* `first` is the value of the first word; the target is an enum, an int32_t or a const char *. */
#define CLI_CHOICE(job, member, first)                                                                              \
    _Generic(CLI_MEMBER(job, member), const char *: CLI_TYPE_WORD, default: CLI_TYPE_CHOICE), offsetof(job, member), \
        #member, first, 0
#define CLI_CALL(job, member) CLI_TYPE_CALL, offsetof(job, member), #member, 0, 0
/* Rows that are no options: a line of the help above the options that follow; what must hold for several options
 * together; and the rows of another table, whose targets lie in a member of the job. */
#define CLI_SECTION(title) {.name = title, .type = CLI_TYPE_SECTION}
#define CLI_CHECK(function) {.type = CLI_TYPE_CHECK, .take = function}
#define CLI_GROUP(job, member, table)                                                                               \
    {.type = CLI_TYPE_GROUP, .offset = offsetof(job, member), .group = table}

#define CLI_ANY INT32_MAX
/* For the `about` of commands that take IMAGE arguments. */
#define CLI_IMAGES_HELP                                                                                             \
    "IMAGE may be a folder (its image files, sorted by name; if it has none, those of its subfolders), @list.txt "  \
    "(names, one per line), @- (such a list on standard input) or - (an image on standard input)."

typedef struct cli_command cli_command;
struct cli_command {
    const char *name;    /* "match"; of a subcommand the whole, "eval oxford" */
    const char *summary; /* for the list of commands */
    const char *usage;   /* what follows "keybits NAME", one way per line */
    const char *examples; /* what follows "keybits NAME", one per line; behind " # " what it does */
    const char *about;   /* what it does: paragraphs that flow, parted by an empty line; a line that begins with a space
                            stays as it is */
    const char *notes;   /* the same, behind the options */
    const cli_option *options;
    const cli_command *const *subcommands; /* ends with NULL; then only name, summary, usage and about count */
    const cli_command *otherwise; /* of the subcommands the one that runs when the first argument names none */
    int32_t least, most;                   /* how many arguments it takes, */
    const char *wants;                     /* and what it says when there are more or fewer */
    bool reads_arguments;                  /* the arguments are files */
    int32_t threads;                       /* the default of --threads */
    size_t job_size;
    void (*begin)(void *job);
    int (*run)(cli_common *common, void *job, int count, char **arguments); /* the exit code */
    void (*end)(void *job); /* frees what `begin`, options or `run` left in the job */
};

#define CLI_DECLARE_COMMAND(name) extern const cli_command command_##name;
CLI_COMMANDS(CLI_DECLARE_COMMAND)

/* From options to exit code; argv[0] is the name of the command. */
int cli_run(const cli_command *command, int argc, char **argv);
/* NULL when there is none of that name. */
const cli_command *cli_find_subcommand(const cli_command *command, const char *name);
int cli_subcommand_unknown(const cli_command *command, const char *name); /* says so, and what may be meant */
const char *cli_short_name(const cli_command *command); /* "oxford" of "eval oxford" */

/* Rows that every command has (--threads, --json, --quiet, --help and others); the job is cli_common. */
extern const cli_option cli_common_options[];

/* ---- values, for `take` functions: a wrong one is reported with the range and gives false ---- */
bool cli_integer(cli_common *common, const char *option, const char *text, int64_t low, int64_t high, int64_t *value);
bool cli_number(cli_common *common, const char *option, const char *text, double low, double high, double *value);
/* The index of text in a NULL-terminated list of words. */
bool cli_choice(cli_common *common, const char *option, const char *text, const char *const *words, int *index);
/* --preset NAME: the name of a preset, a const char *. */
bool cli_take_preset(cli_common *common, const char *option, const char *text, void *preset);
/* Words of the library's tables, from the number 1 on; cli_words_init fills them before options are read. */
#define CLI_MAX_WORDS 32
extern const char *cli_detectors[CLI_MAX_WORDS], *cli_selections[CLI_MAX_WORDS];
void cli_words_init(void);
/* "a, b, c" of a list that ends with NULL. */
void cli_join_words(char *text, size_t capacity, const char *const *words, const char *separator);

/* ---- what is written about the commands (help.c) ---- */
extern const cli_command *const cli_commands[]; /* all, ends with NULL */
void cli_print_help(FILE *out, const cli_command *command, bool all);
/* keybits(1), of a command keybits-NAME(1). */
void cli_print_man(FILE *out, const cli_command *command);
void cli_print_completion(FILE *out);
/* Of names the one that differs least from a mistyped one, or NULL; it may differ in a third of its letters. */
typedef struct cli_nearest {
    const char *wrong, *name, *dashes; /* dashes: before the name in messages; may be NULL */
    size_t distance;
} cli_nearest;
void cli_nearest_try(cli_nearest *nearest, const char *name);
/* "; did you mean NAME?", or nothing; for the main thread. */
const char *cli_nearest_words(const cli_nearest *nearest);

#endif
