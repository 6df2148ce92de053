/* Options, words and models: what the commands share. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io/number.h"

/* ----------------------------------------------------------------------------------------------------------- words */

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "%s%s\n", prefix, text);
}

void cli_say(const cli_common *common, const char *format, ...)
{
    if (common->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void cli_warn(const cli_common *common, const char *format, ...)
{
    if (common->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    print_line("keybits: warning: ", format, arguments);
    va_end(arguments);
}

int cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("keybits: ", format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_usage_error(const cli_common *common, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "keybits %s: %s (see keybits %s --help)\n", common->command, text, common->command);
    return CLI_USAGE;
}

/* --------------------------------------------------------------------------------------------------------- options */

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
        if (!common->command) common->command = argv[0];
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

bool cli_ready(cli_common *common)
{
    if (common->cpu && *common->cpu && kb_cpu_limit(common->cpu) != KB_OK) {
        const char *found = kb_cpu_features();
        common->exit_code = cli_usage_error(common, "no such instruction set: \"%s\"; this machine has %s%sc",
                                            common->cpu, found, *found ? " and " : "");
        return false;
    }
    kb_status status = kb_pool_create(common->threads, &common->pool);
    if (status != KB_OK) {
        common->exit_code = cli_error("threads cannot be started: %s", kb_status_string(status));
        return false;
    }
    common->parallel = kb_pool_parallel(common->pool);
    return true;
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

/* ------------------------------------------------------------------------------------------------ values of options */

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
    common->exit_code = cli_usage_error(common, "%s takes a number from %s to %s, not \"%s\"", option,
                                        io_number_format(from, low, 6), io_number_format(to, high, 6), text);
    return false;
}

/* "a, b, c" of a list that ends with NULL. */
static void join_words(char *text, size_t capacity, const char *const *words)
{
    text[0] = 0;
    for (const char *const *word = words; *word; word++) {
        if (word != words) strncat(text, ", ", capacity - strlen(text) - 1);
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
    join_words(list, sizeof list, words);
    common->exit_code = cli_usage_error(common, "%s is one of %s, not \"%s\"", option, list, text);
    return false;
}

bool cli_preset(cli_common *common, const char *text, float *scale)
{
    *scale = kb_preset_scale(text);
    if (*scale > 0) return true;
    const char *names[32] = {NULL};
    for (int32_t i = 0; i < 31 && kb_preset_at(i).name; i++) names[i] = kb_preset_at(i).name;
    char list[256];
    join_words(list, sizeof list, names);
    common->exit_code = cli_usage_error(common, "--preset is one of %s, not \"%s\"", list, text);
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- models */

static void list_models(char *text, size_t capacity)
{
    const char *names[32] = {NULL};
    int used = 0;
    int32_t available;
    for (int32_t i = 0; used < 31; i++) {
        const char *name = kb_model_builtin_name(i, &available);
        if (!name) break;
        if (available) names[used++] = name;
    }
    join_words(text, capacity, names);
}

static bool load_file(const char *path, kb_model **out, io_error *error)
{
    io_bytes bytes;
    kb_error why = {""};
    if (!io_file_read(path, &bytes, error)) return false;
    kb_status status = kb_model_load(bytes.data, bytes.size, out, &why);
    io_bytes_free(&bytes);
    if (status == KB_OK) return true;
    return io_fail(error, "%s: %s", path, why.text[0] ? why.text : kb_status_string(status));
}

bool cli_model_open(const char *name_or_path, kb_model **out, io_error *error)
{
    kb_status status = kb_model_builtin(name_or_path, out);
    char models[256];
    if (status == KB_OK) return true;
    if (status == KB_E_NO_TABLE) {
        list_models(models, sizeof models);
        return io_fail(error, "%s: this build holds no table for that model; it has: %s", name_or_path, models);
    }
    if (status != KB_E_UNKNOWN) return io_fail(error, "%s: %s", name_or_path, kb_status_string(status));
    if (io_path_exists(name_or_path)) return load_file(name_or_path, out, error);
    list_models(models, sizeof models);
    return io_fail(error, "no such model or file: %s; built-in models: %s", name_or_path, models);
}

const char *cli_model_default(void)
{
    static const char *const wanted[] = {"bag256", "bad256", "hashsift256"};
    for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
        int32_t available;
        const char *name;
        for (int32_t i = 0; (name = kb_model_builtin_name(i, &available)); i++) {
            if (available && strcmp(name, wanted[w]) == 0) return wanted[w];
        }
    }
    return "sift";
}
