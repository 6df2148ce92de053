/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the command and lets it work. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "io/host.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define COMMAND_ADDRESS(name) &command_##name,
const cli_command *const cli_commands[] = {CLI_COMMANDS(COMMAND_ADDRESS) NULL};
#define COMMANDS (sizeof cli_commands / sizeof cli_commands[0] - 1)

static void print_usage(FILE *out)
{
    fprintf(out, "keybits %s: finds the same points in photographs\n\n"
            "  keybits match poster.jpg photo.jpg --draw match.png    find a poster in a photograph, look at it\n"
            "  keybits collection photos -o photos.db                 match a folder, for COLMAP\n"
            "  keybits index build photos -o photos.kbi               then: keybits search photos.kbi new.jpg\n\n"
            "usage: keybits COMMAND [OPTION]... [ARGUMENT]...\n\n", kb_version());
    for (size_t i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(out,
            "\n  keybits COMMAND --help shows examples and options, --help-all all of them; keybits --version the "
            "version.\n\nData goes to standard output, messages to standard error. Exit code 0: done, 1: failed, 2: "
            "wrong usage.\n");
}

static const cli_command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
    }
    return NULL;
}

static int command_unknown(const char *name)
{
    cli_nearest nearest = {.wrong = name};
    for (size_t i = 0; i < COMMANDS; i++) cli_nearest_try(&nearest, cli_commands[i]->name);
    cli_error("no command \"%s\"%s (see keybits --help)", name, cli_nearest_words(&nearest));
    return CLI_USAGE;
}

const char *cli_short_name(const cli_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

const cli_command *cli_find_subcommand(const cli_command *command, const char *name)
{
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++)
        if (strcmp(cli_short_name(*sub), name) == 0) return *sub;
    return NULL;
}

/* keybits help [COMMAND [SUBCOMMAND]] */
static int print_topic(int count, char **topics)
{
    if (count == 0) {
        print_usage(stdout);
        return CLI_DONE;
    }
    const cli_command *found = command_find(topics[0]);
    if (!found) return command_unknown(topics[0]);
    const cli_command *sub = count > 1 ? cli_find_subcommand(found, topics[1]) : found;
    if (!sub) return cli_subcommand_unknown(found, topics[1]);
    cli_print_help(stdout, sub, false);
    return CLI_DONE;
}

/* keybits help --man [COMMAND], --completion: for the build and the packages. */
static int print_for_packages(const char *what, const char *name)
{
    const cli_command *command = name ? command_find(name) : NULL;
    if (name && !command) return command_unknown(name);
    if (strcmp(what, "--man") == 0) cli_print_man(stdout, command);
    else cli_print_completion(stdout);
    return CLI_DONE;
}

/* Only the first of several threads may end the program; temporary files are removed by exit(). */
static void stop_without_memory(void)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&ending)) pause();
    fputs("keybits: out of memory\n", stderr);
    exit(CLI_FAILED);
}

static void show_progress(const char *line) { fprintf(stderr, "\r\033[K%s", line ? cli_shown(line) : ""); }

/* A file must not be opened in the place of a standard stream that is closed: what is printed would go into it. So the
 * places are taken, by /dev/null opened the wrong way round: reading and writing fail as they did. */
static void hold_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", modes[i]) != i) exit(CLI_FAILED);
}

/* Memory that was given back is taken again instead of fetched from the system: a fresh page costs as much as working
 * on it. Blocks of large photographs still go back at once. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) return print_topic(0, NULL);
    if (strcmp(first, "help") == 0 && argc > 2 &&
        (strcmp(argv[2], "--man") == 0 || strcmp(argv[2], "--completion") == 0))
        return print_for_packages(argv[2], argc > 3 ? argv[3] : NULL);
    if (strcmp(first, "help") == 0) return print_topic(argc - 2, argv + 2);
    if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
        printf("keybits %s\n", kb_version());
        return CLI_DONE;
    }
    const cli_command *found = command_find(first);
    if (!found) return command_unknown(first);
    return cli_run(found, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    keep_memory();
    const io_host host = {stop_without_memory, isatty(STDERR_FILENO) ? show_progress : NULL};
    io_set_host(&host);
    cli_words_init();
    int code = run(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_DONE) /* a full disc: what was printed is not there */
        code = cli_error("standard output: cannot be written");
    return code;
}
