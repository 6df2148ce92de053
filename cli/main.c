/* The program: finds the command and lets it work. */
#include <string.h>

#include "cli.h"

typedef struct command {
    const char *name, *summary, *help;
    int (*run)(int argc, char **argv);
} command;

#define TABLE_ROW(name, summary) {#name, summary, command_##name##_help, command_##name},
static const command commands[] = {CLI_COMMANDS(TABLE_ROW)};
#define VERBS (sizeof commands / sizeof commands[0])

static void print_usage(FILE *out)
{
    fprintf(out, "keybits %s: keypoints in, bits out\n\nusage: keybits COMMAND [OPTION]... [ARGUMENT]...\n\n",
            kb_version());
    for (size_t i = 0; i < VERBS; i++) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out,
            "\n  keybits help COMMAND or keybits COMMAND --help shows the options with their defaults and ranges;\n"
            "  keybits --version prints the version.\n\n"
            "Data goes to standard output, words to standard error. Exit code 0: done, 1: failed, 2: wrong usage.\n");
}

static const command *command_find(const char *name)
{
    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    }
    return NULL;
}

/* The number of letters to insert, delete or change to turn a into b (Levenshtein); words beyond 15 letters are cut. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[17], na = strlen(a) < 16 ? strlen(a) : 16, nb = strlen(b) < 16 ? strlen(b) : 16;
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

static int command_unknown(const char *name)
{
    const command *nearest = &commands[0];
    for (size_t i = 1; i < VERBS; i++) {
        if (edit_distance(name, commands[i].name) < edit_distance(name, nearest->name)) nearest = &commands[i];
    }
    if (edit_distance(name, nearest->name) <= 3) {
        fprintf(stderr, "keybits: no command \"%s\"; did you mean %s? keybits --help lists them\n", name, nearest->name);
    } else {
        fprintf(stderr, "keybits: no command \"%s\"; keybits --help lists them\n", name);
    }
    return CLI_USAGE;
}

static int help(const char *topic)
{
    if (!topic) {
        print_usage(stdout);
        return CLI_DONE;
    }
    const command *found = command_find(topic);
    if (!found) return command_unknown(topic);
    fputs(found->help, stdout);
    return CLI_DONE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) return help(NULL);
    if (strcmp(first, "help") == 0) return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
        printf("keybits %s\n", kb_version());
        return CLI_DONE;
    }
    const command *found = command_find(first);
    if (!found) return command_unknown(first);
    int code = found->run(argc - 1, argv + 1);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_DONE) /* a full disc: what was printed is not there */
        code = cli_error("standard output: cannot be written");
    return code;
}
