/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line by the tables of a command. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io/number.h"

const cli_option cli_common_options[] = {
    CLI_SECTION("Common options"),
    {"json", 0, CLI_FLAG(cli_common, json), .help = "print the summary as JSON on standard output"},
    {"quiet", 0, CLI_FLAG(cli_common, quiet), .help = "no progress and no messages but errors"},
    {"threads", 0, CLI_NUMBER(cli_common, threads, 0, 256), "N",
     .help = "threads; 0 is one per processor. Results do not depend on it"},
    {"cpu", 0, CLI_TEXT(cli_common, cpu), "FEATURES", .rank = CLI_RARE,
     .help = "use only these instruction sets, such as avx2; c for none (default: all that are found; the "
             "environment variable KEYBITS_CPU says the same)"},
    {"help", 0, CLI_FLAG(cli_common, asked_for_help), .help = "examples and the options that are used most"},
    {"help-all", 0, CLI_FLAG(cli_common, asked_for_all), .help = "all options"},
    {0}};

/* ------------------------------------------------------------------------------------------------ values of options */

const char *cli_detectors[CLI_MAX_WORDS], *cli_selections[CLI_MAX_WORDS];

void cli_words_init(void)
{
    for (int i = 0; i + 1 < CLI_MAX_WORDS; i++) {
        cli_detectors[i] = kb_name(KB_NAMES_DETECTOR, i + 1);
        cli_selections[i] = kb_name(KB_NAMES_SELECTION, i + 1);
    }
}

bool cli_integer(cli_common *common, const char *option, const char *text, int64_t low, int64_t high, int64_t *value)
{
    if (io_integer_is(text, value) && *value >= low && *value <= high) return true;
    common->exit_code = cli_usage_error(common, "%s takes a whole number from %lld to %lld, not \"%s\"", option,
                                        (long long)low, (long long)high, text);
    return false;
}

bool cli_number(cli_common *common, const char *option, const char *text, double low, double high, double *value)
{
    if (io_number_is(text, value) && *value >= low && *value <= high) return true;
    char from[32], to[32];
    io_number_format(from, low, 6);
    if (high >= CLI_NO_LIMIT)
        common->exit_code = cli_usage_error(common, "%s takes a number of %s or more, not \"%s\"", option, from, text);
    else
        common->exit_code = cli_usage_error(common, "%s takes a number from %s to %s, not \"%s\"", option, from,
                                            io_number_format(to, high, 6), text);
    return false;
}

void cli_join_words(char *text, size_t capacity, const char *const *words, const char *separator)
{
    text[0] = 0;
    for (const char *const *word = words; *word; word++) {
        if (word != words) strncat(text, separator, capacity - strlen(text) - 1);
        strncat(text, *word, capacity - strlen(text) - 1);
    }
}

bool cli_choice(cli_common *common, const char *option, const char *text, const char *const *words, int *index)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) != 0) continue;
        *index = i;
        return true;
    }
    char list[256];
    cli_join_words(list, sizeof list, words, ", ");
    common->exit_code = cli_usage_error(common, "%s is one of %s, not \"%s\"", option, list, text);
    return false;
}

bool cli_take_preset(cli_common *common, const char *option, const char *text, void *preset)
{
    *(const char **)preset = text;
    if (kb_model_scale(NULL, text) > 0) return true;
    const char *names[32] = {NULL};
    char list[256];
    for (int32_t i = 0; i < 31 && kb_name(KB_NAMES_PRESET, i); i++) names[i] = kb_name(KB_NAMES_PRESET, i);
    cli_join_words(list, sizeof list, names, ", ");
    common->exit_code = cli_usage_error(common, "%s is one of %s, not \"%s\"", option, list, text);
    return false;
}

static bool take_integer(cli_common *common, const cli_option *row, const char *option, const char *text, void *target)
{
    int64_t value, high = row->high >= CLI_NO_LIMIT ? INT64_MAX : (int64_t)row->high;
    if (!cli_integer(common, option, text, (int64_t)row->low, high, &value)) return false;
    switch (row->type) {
    case CLI_TYPE_INT32: *(int32_t *)target = (int32_t)value; return true;
    case CLI_TYPE_UINT64: *(uint64_t *)target = (uint64_t)value; return true;
    default: *(int64_t *)target = value; return true;
    }
}

static bool take_real(cli_common *common, const cli_option *row, const char *option, const char *text, void *target)
{
    double value;
    if (!cli_number(common, option, text, row->low, row->high, &value)) return false;
    if (row->type == CLI_TYPE_FLOAT) *(float *)target = (float)value;
    else *(double *)target = value;
    return true;
}

/* An empty value, as a script gives with a variable that is not set, would make messages that name nothing. */
static bool take_text(cli_common *common, const char *option, const char *text, const char **target)
{
    *target = text;
    if (*text) return true;
    common->exit_code = cli_usage_error(common, "the value of %s is empty", option);
    return false;
}

static bool take_choice(cli_common *common, const cli_option *row, const char *option, const char *text, void *target)
{
    int index;
    if (!cli_choice(common, option, text, row->words, &index)) return false;
    if (row->type == CLI_TYPE_WORD) *(const char **)target = row->words[index];
    else *(int32_t *)target = (int32_t)row->low + index;
    return true;
}

static bool take_value(cli_common *common, const cli_option *row, const char *option, const char *text, void *target)
{
    switch (row->type) {
    case CLI_TYPE_FLAG: return *(bool *)target = true;
    case CLI_TYPE_FLAG32: return (*(int32_t *)target = 1) == 1;
    case CLI_TYPE_TEXT:
    case CLI_TYPE_INPUT:
    case CLI_TYPE_INPUTS:
    case CLI_TYPE_OUTPUT: return take_text(common, option, text, target);
    case CLI_TYPE_INT32:
    case CLI_TYPE_INT64:
    case CLI_TYPE_UINT64: return take_integer(common, row, option, text, target);
    case CLI_TYPE_FLOAT:
    case CLI_TYPE_DOUBLE: return take_real(common, row, option, text, target);
    case CLI_TYPE_CHOICE:
    case CLI_TYPE_WORD: return take_choice(common, row, option, text, target);
    default: return row->take(common, option, text, target);
    }
}

/* ----------------------------------------------------------------------------------------------- tables, made flat */

#define MAX_OPTIONS 96
#define MAX_CHECKS 8
#define FIRST_VALUE 0x100 /* what getopt_long gives for row 0; below are letters */

typedef struct flat_row {
    const cli_option *row;
    char *job; /* what its offset counts from */
} flat_row;

typedef struct flat_table {
    flat_row rows[MAX_OPTIONS];
    struct option longs[MAX_OPTIONS + 1];
    char letters[2 * MAX_OPTIONS + 2];
    int count;
    flat_row checks[MAX_CHECKS];
    int check_count;
} flat_table;

static bool takes_value(const cli_option *row) { return row->type != CLI_TYPE_FLAG && row->type != CLI_TYPE_FLAG32; }

static bool has_option(const flat_table *flat, const cli_option *row)
{
    for (int i = 0; i < flat->count && row->name; i++) {
        const cli_option *other = flat->rows[i].row;
        if (strcmp(other->name, row->name) == 0 || (row->letter && other->letter == row->letter)) return true;
    }
    return false;
}

static void flatten(flat_table *flat, const cli_option *rows, void *job)
{
    for (const cli_option *row = rows; row && row->type != CLI_TYPE_LAST; row++) {
        if (row->type == CLI_TYPE_SECTION) continue;
        if (row->type == CLI_TYPE_GROUP) {
            flatten(flat, row->group, (char *)job + row->offset);
            continue;
        }
        /* a table of ours is too long or names an option twice: every call would show it */
        if (flat->count == MAX_OPTIONS || flat->check_count == MAX_CHECKS || has_option(flat, row)) abort();
        if (row->type == CLI_TYPE_CHECK) {
            flat->checks[flat->check_count++] = (flat_row){row, job};
            continue;
        }
        flat->longs[flat->count] = (struct option){row->name, takes_value(row) ? required_argument : no_argument, NULL,
                                                   FIRST_VALUE + flat->count};
        if (row->letter) {
            char letter[3] = {row->letter, takes_value(row) ? ':' : 0, 0};
            strcat(flat->letters, letter);
        }
        flat->rows[flat->count++] = (flat_row){row, job};
    }
}

static void *target_of(const flat_row *flat) { return flat->job + flat->row->offset; }

/* The path that a row of this type holds; NULL for other rows. */
static const char *path_of(const flat_row *flat, cli_type type)
{
    return flat->row->type == type ? *(const char **)target_of(flat) : NULL;
}

static bool set_defaults(cli_common *common, const flat_table *flat)
{
    for (int i = 0; i < flat->count; i++) {
        const cli_option *row = flat->rows[i].row;
        if (row->initial && !take_value(common, row, row->name, row->initial, target_of(&flat->rows[i]))) return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ the command line */

/* A long option that no row has, or that several begin with. */
static bool report_unknown_option(cli_common *common, const flat_table *flat, const char *given)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    cli_nearest nearest = {.wrong = name + 2, .dashes = "--"};
    const char *prefixed[2] = {NULL, NULL};
    for (int i = 0; i < flat->count; i++) {
        const char *option = flat->rows[i].row->name;
        cli_nearest_try(&nearest, option);
        if (strstr(option, name + 2) == option) prefixed[prefixed[0] != NULL] = option;
    }
    if (prefixed[1])
        common->exit_code = cli_usage_error(common, "option %s may be --%s or --%s", name, prefixed[0], prefixed[1]);
    else
        common->exit_code = cli_usage_error(common, "unknown option %s%s", name, cli_nearest_words(&nearest));
    return false;
}

/* getopt_long gave up on an option: says why. */
static bool report_wrong_option(cli_common *common, const flat_table *flat, int problem, char **argv)
{
    const char *given = argv[optind - 1];
    const char *what = problem == ':' ? "no value for" : "unknown option";
    if (problem == '?' && optopt < FIRST_VALUE && strncmp(given, "--", 2) == 0)
        return report_unknown_option(common, flat, given);
    if (problem == '?' && optopt >= FIRST_VALUE) /* a long option that is known */
        common->exit_code = cli_usage_error(common, "%.*s takes no value", (int)strcspn(given, "="), given);
    else if (strncmp(given, "--", 2) == 0)
        common->exit_code = cli_usage_error(common, "%s %.*s", what, (int)strcspn(given, "="), given);
    else
        common->exit_code = cli_usage_error(common, "%s -%c", what, optopt);
    return false;
}

static bool take_option(cli_common *common, const flat_table *flat, int value)
{
    int index = value - FIRST_VALUE;
    char name[64];
    if (index >= 0) {
        snprintf(name, sizeof name, "--%s", flat->rows[index].row->name);
    } else {
        for (index = 0; flat->rows[index].row->letter != value;) index++;
        snprintf(name, sizeof name, "-%c", value);
    }
    return take_value(common, flat->rows[index].row, name, optarg, target_of(&flat->rows[index]));
}

static bool read_command_line(cli_common *common, const flat_table *flat, int argc, char **argv)
{
    optind = 1;
    opterr = 0;
    for (;;) {
        int value = getopt_long(argc, argv, flat->letters, flat->longs, NULL);
        if (value == -1) return true;
        if (value == '?' || value == ':') return report_wrong_option(common, flat, value, argv);
        if (!take_option(common, flat, value)) return false;
        if (common->asked_for_help || common->asked_for_all) return true;
    }
}

static bool options_agree(cli_common *common, const flat_table *flat)
{
    for (int i = 0; i < flat->check_count; i++)
        if (!flat->checks[i].row->take(common, NULL, NULL, flat->checks[i].job)) return false;
    return true;
}

/* --------------------------------------------------------------------------------------------- files that are named */

static bool claim_list(cli_common *common, const char *list, io_error *error)
{
    io_names names = {NULL, 0};
    bool ok = true;
    io_names_split(&names, list);
    for (size_t i = 0; i < names.count && ok; i++) ok = cli_claim_input(common, names.items[i], error);
    io_names_free(&names);
    return ok;
}

/* Inputs first, so that the message is about the output. */
static bool claim_files(cli_common *common, const flat_table *flat, int count, char **arguments)
{
    io_error error;
    bool ok = true;
    for (int i = 0; i < count && ok && common->command->reads_arguments; i++)
        ok = cli_claim_input(common, arguments[i] + (arguments[i][0] == '@'), &error); /* @list.txt is read, too */
    for (int i = 0; i < flat->count && ok; i++) {
        const char *list = path_of(&flat->rows[i], CLI_TYPE_INPUTS);
        ok = cli_claim_input(common, path_of(&flat->rows[i], CLI_TYPE_INPUT), &error) &&
             (!list || claim_list(common, list, &error));
    }
    for (int i = 0; i < flat->count && ok; i++) {
        const char *path = path_of(&flat->rows[i], CLI_TYPE_OUTPUT);
        ok = cli_claim_output(common, path, &error) &&
             (!path || !io_path_is_folder(path) || io_fail(&error, "%s: cannot be written: it is a folder", path));
    }
    if (!ok) common->exit_code = cli_error("%s", error.text);
    return ok;
}

/* Two options that both want standard output. */
static bool output_is_free(cli_common *common, const flat_table *flat)
{
    const char *first = NULL;
    for (int i = 0; i < flat->count; i++) {
        const char *path = path_of(&flat->rows[i], CLI_TYPE_OUTPUT), *name = flat->rows[i].row->name;
        if (!path || strcmp(path, "-") != 0) continue;
        if (first) {
            common->exit_code = cli_usage_error(common, "--%s and --%s both want standard output", first, name);
            return false;
        }
        first = name;
    }
    return true;
}

/* As many arguments as the command takes, none of them empty. */
static bool arguments_fit(cli_common *common, int count, char **arguments)
{
    const cli_command *command = common->command;
    int empty = 0;
    while (empty < count && *arguments[empty]) empty++;
    if (count >= command->least && count <= command->most && empty == count) return true;
    if (empty < count) common->exit_code = cli_usage_error(common, "argument %d is empty", empty + 1);
    else if (!command->wants) common->exit_code = cli_usage_error(common, "takes no arguments");
    else if (command->least < command->most) common->exit_code = cli_usage_error(common, "%s", command->wants);
    else common->exit_code = cli_usage_error(common, "%s, not %d", command->wants, count);
    return false;
}

/* ------------------------------------------------------------------------------------------------------ the command */

/* Limits the instruction sets and starts the threads, as asked for. */
static bool start_threads(cli_common *common)
{
    if (common->cpu && *common->cpu && !kb_cpu_features(common->cpu)) {
        const char *found = kb_cpu_features(NULL);
        common->exit_code = cli_usage_error(common, "no such instruction set: \"%s\"; this machine has %s%sc",
                                            common->cpu, found, *found ? " and " : "");
        return false;
    }
    kb_status status = kb_pool_create(common->threads, NULL, &common->pool);
    if (status != KB_OK) {
        common->exit_code = cli_error("threads cannot be started: %s", kb_status_string(status));
        return false;
    }
    common->parallel = common->pool;
    return true;
}

static int run_with_options(cli_common *common, const flat_table *flat, void *job, int argc, char **argv)
{
    if (!set_defaults(common, flat) || !read_command_line(common, flat, argc, argv)) return common->exit_code;
    if (common->asked_for_help || common->asked_for_all) {
        cli_print_help(stdout, common->command, common->asked_for_all);
        return CLI_DONE;
    }
    int count = argc - optind;
    char **arguments = argv + optind;
    if (!arguments_fit(common, count, arguments) || !options_agree(common, flat) || !output_is_free(common, flat) ||
        !claim_files(common, flat, count, arguments) || !start_threads(common))
        return common->exit_code;
    return common->command->run(common, job, count, arguments);
}

int cli_subcommand_unknown(const cli_command *command, const char *name)
{
    cli_nearest nearest = {.wrong = name};
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++)
        cli_nearest_try(&nearest, cli_short_name(*sub));
    cli_error("%s has no subcommand \"%s\"%s (see keybits %s --help)", command->name, name,
              cli_nearest_words(&nearest), command->name);
    return CLI_USAGE;
}

static int run_subcommand(const cli_command *command, int argc, char **argv)
{
    bool asked = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "--help-all") == 0);
    if (argc < 2 || asked) {
        cli_print_help(asked ? stdout : stderr, command, false);
        return asked ? CLI_DONE : CLI_USAGE;
    }
    const cli_command *found = cli_find_subcommand(command, argv[1]);
    if (found) return cli_run(found, argc - 1, argv + 1);
    if (command->otherwise) return cli_run(command->otherwise, argc, argv);
    return cli_subcommand_unknown(command, argv[1]);
}

int cli_run(const cli_command *command, int argc, char **argv)
{
    if (command->subcommands) return run_subcommand(command, argc, argv);
    cli_common common = {.command = command, .name = command->name, .threads = command->threads};
    common.cpu = getenv("KEYBITS_CPU");
    void *job = io_alloc(1, command->job_size);
    flat_table *flat = io_alloc(1, sizeof *flat);
    flat->letters[0] = ':'; /* asks getopt to tell a missing value from an unknown option */
    flatten(flat, command->options, job);
    flatten(flat, cli_common_options, &common);
    if (command->begin) command->begin(job);
    int code = run_with_options(&common, flat, job, argc, argv);
    if (command->end) command->end(job);
    cli_paths_free(common.paths);
    kb_pool_free(common.pool);
    free(flat);
    free(job);
    return code;
}
