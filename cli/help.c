/* SPDX-License-Identifier: Apache-2.0 */
/* What is written about the commands: --help, the man pages and the bash completion, all from the same tables. */
#include <string.h>

#include "cli.h"
#include "collection/photos.h"
#include "io/number.h"

#define WIDTH 100 /* columns of --help */

/* ----------------------------------------------------------------------------------------------------- did you mean */

#define LETTERS 31 /* that count */

/* The number of letters to insert, delete or change to turn a into b (Levenshtein). */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[LETTERS + 1], na = strnlen(a, LETTERS), nb = strnlen(b, LETTERS);
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

void cli_nearest_try(cli_nearest *nearest, const char *name)
{
    size_t distance = edit_distance(nearest->wrong, name);
    if (3 * distance > strlen(name) + 1 || (nearest->name && distance >= nearest->distance)) return;
    nearest->name = name;
    nearest->distance = distance;
}

const char *cli_nearest_words(const cli_nearest *nearest)
{
    static char words[96];
    if (!nearest->name) return "";
    snprintf(words, sizeof words, "; did you mean %s%s?", nearest->dashes ? nearest->dashes : "", nearest->name);
    return words;
}

/* -------------------------------------------------------------------------------------------------- text of one row */

static void append(char *text, size_t capacity, const char *more)
{
    strncat(text, more, capacity - strlen(text) - 1);
}

static bool is_option(const cli_option *row) { return row->type >= CLI_TYPE_FLAG; }

static bool is_number(const cli_option *row) { return row->type >= CLI_TYPE_INT32 && row->type <= CLI_TYPE_DOUBLE; }

/* What stands in front of the help: the range of a number, or the words when the help does not tell them itself. */
static void append_range(char *text, size_t capacity, const cli_option *row)
{
    char low[32], high[32], range[80];
    bool goes_on = strchr(",:;(", row->help[0]) != NULL || !row->help[0];
    if (is_number(row) && row->high < CLI_NO_LIMIT) {
        int digits = row->type >= CLI_TYPE_FLOAT ? 6 : 15;
        snprintf(range, sizeof range, "%s to %s", io_number_format(low, row->low, digits),
                 io_number_format(high, row->high, digits));
        append(text, capacity, range);
    } else if (row->words && goes_on) {
        cli_join_words(text, capacity, row->words, row->words[2] ? ", " : " or ");
    } else {
        return;
    }
    if (!goes_on || row->help[0] == '(') append(text, capacity, " ");
}

/* Words of the library's tables that the help does not explain. */
static void append_other_words(char *text, size_t capacity, const cli_option *row)
{
    for (const char *const *word = row->words; word && *word; word++) {
        if (strstr(text, *word) || (row->initial && strcmp(row->initial, *word) == 0)) continue;
        append(text, capacity, "; ");
        append(text, capacity, *word);
    }
}

/* "1 to 16 levels of the pyramid (default 8)". The default of --threads is the command's. */
static void row_text(char *text, size_t capacity, const cli_option *row, const cli_command *command)
{
    char initial[32];
    text[0] = 0;
    append_range(text, capacity, row);
    append(text, capacity, row->help);
    append_other_words(text, capacity, row);
    snprintf(initial, sizeof initial, "%d", command ? (int)command->threads : 0);
    bool threads = row->member && strcmp(row->member, "threads") == 0;
    if (!row->initial && !threads) return;
    append(text, capacity, " (default ");
    append(text, capacity, threads ? initial : row->initial);
    append(text, capacity, ")");
}

/* "-n, --max-keypoints N" */
static void row_name(char *text, size_t capacity, const cli_option *row)
{
    char letter[5] = {'-', row->letter, ',', ' ', 0};
    snprintf(text, capacity, "%s--%s%s%s", row->letter ? letter : "", row->name, row->value ? " " : "",
             row->value ? row->value : "");
}

/* ------------------------------------------------------------------------------------------------------------- help */

/* Words flow between the columns `left` and WIDTH; a line that is empty or begins with a space stays as it is. The
 * cursor is at column `left`. */
static void print_flowing(FILE *out, const char *text, int left)
{
    int at = left;
    bool fresh = true; /* nothing is on the line yet */
    while (*text) {
        const char *end = text + strcspn(text, "\n");
        if (*text == ' ' || text == end) {
            fprintf(out, "%s%*s%.*s", fresh ? "" : "\n", fresh || text == end ? 0 : left, "", (int)(end - text), text);
            fresh = false;
            at = WIDTH; /* what follows begins a line */
        }
        while (*text != ' ' && text < end) {
            int length = (int)strcspn(text, " \n");
            bool wrap = !fresh && at + 1 + length > WIDTH;
            if (wrap) fprintf(out, "\n%*s", left, "");
            at = (wrap ? left : at + !fresh) + length;
            fprintf(out, "%s%.*s", wrap || fresh ? "" : " ", length, text);
            fresh = false;
            text += length;
            text += strspn(text, " ");
        }
        text = end + (*end == '\n');
    }
    fputc('\n', out);
}

static int name_column(const cli_option *rows, int column)
{
    for (const cli_option *row = rows; row && row->type != CLI_TYPE_LAST; row++) {
        char name[96];
        if (row->type == CLI_TYPE_GROUP) column = name_column(row->group, column);
        if (!is_option(row)) continue;
        row_name(name, sizeof name, row);
        int wanted = (int)strlen(name) + 4;
        if (wanted > column && wanted <= 27) column = wanted;
    }
    return column;
}

static void print_row(FILE *out, const cli_option *row, int column, const cli_command *command)
{
    char name[96], text[1024];
    row_name(name, sizeof name, row);
    row_text(text, sizeof text, row, command);
    if ((int)strlen(name) + 4 > column) fprintf(out, "  %s\n%*s", name, column, "");
    else fprintf(out, "  %-*s", column - 2, name);
    print_flowing(out, text, column);
}

/* Rows of a rank; a section's title is printed before the first of its rows. Returns their number. */
static int print_rows(FILE *out, const cli_option *rows, cli_rank rank, int column, const cli_command *command,
                      const char **title)
{
    int count = 0;
    for (const cli_option *row = rows; row && row->type != CLI_TYPE_LAST; row++) {
        if (row->type == CLI_TYPE_GROUP) count += print_rows(out, row->group, rank, column, command, title);
        if (row->type == CLI_TYPE_SECTION) *title = row->name;
        if (!is_option(row) || row->rank != rank) continue;
        count++;
        if (!out) continue;
        if (*title && rank != CLI_FREQUENT) fprintf(out, "\n%s\n", *title);
        *title = NULL;
        print_row(out, row, column, command);
    }
    return count;
}

/* The frequent options, the usual ones by section, and, with `all`, the others. */
static void print_options(FILE *out, const cli_command *command, bool all)
{
    int column = name_column(cli_common_options, name_column(command->options, 0));
    const char *title = NULL;
    fputc('\n', out);
    int frequent = print_rows(out, command->options, CLI_FREQUENT, column, command, &title);
    title = frequent ? "More" : NULL;
    print_rows(out, command->options, CLI_USUAL, column, command, &title);
    print_rows(out, cli_common_options, CLI_USUAL, column, command, &title);
    title = "Rarely needed";
    int rare = print_rows(all ? out : NULL, command->options, CLI_RARE, column, command, &title) +
               print_rows(all ? out : NULL, cli_common_options, CLI_RARE, column, command, &title);
    if (!all) fprintf(out, "\n--help-all shows %d more option%s.\n", rare, rare == 1 ? "" : "s");
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

/* The width of "NAME WORDS", what stands before " # ". */
static void measure_example(const cli_command *command, const char *line, int *widest)
{
    int length = (int)strlen(command->name) + 1 + (int)(strstr(line, " # ") - line);
    if (length > *widest) *widest = length;
}

static void print_example(FILE *out, const cli_command *command, const char *line, int widest)
{
    const char *mark = strstr(line, " # ");
    int length = (int)(mark - line);
    fprintf(out, "  keybits %s %-*.*s %.*s\n", command->name, widest - (int)strlen(command->name) - 1, length, line,
            (int)strcspn(mark, "\n"), mark);
}

/* The examples of a command; of a group one per subcommand, three at most. */
static void print_examples(FILE *out, const cli_command *command)
{
    int widest = 0;
    for (const char *at = command->examples; at && *at; at = next_line(at)) measure_example(command, at, &widest);
    for (int i = 0; command->subcommands && i < 3 && command->subcommands[i]; i++)
        measure_example(command->subcommands[i], command->subcommands[i]->examples, &widest);
    for (const char *at = command->examples; at && *at; at = next_line(at)) print_example(out, command, at, widest);
    for (int i = 0; command->subcommands && i < 3 && command->subcommands[i]; i++)
        print_example(out, command->subcommands[i], command->subcommands[i]->examples, widest);
    fputc('\n', out);
}

static void print_usage_lines(FILE *out, const cli_command *command)
{
    const char *line = command->usage ? command->usage : "[options]";
    for (const char *before = "usage:"; line; before = "      ") {
        int length = (int)strcspn(line, "\n");
        fprintf(out, "%s keybits %s%s%.*s\n", before, command->name, length ? " " : "", length, line);
        line = line[length] ? line + length + 1 : NULL;
    }
}

void cli_print_help(FILE *out, const cli_command *command, bool all)
{
    print_examples(out, command);
    print_usage_lines(out, command);
    if (command->about) {
        fputc('\n', out);
        print_flowing(out, command->about, 0);
    }
    if (command->subcommands) {
        fprintf(out, "\nSubcommands (keybits %s SUBCOMMAND --help shows the options)\n", command->name);
        for (const cli_command *const *sub = command->subcommands; *sub; sub++)
            fprintf(out, "  %-10s %s\n", cli_short_name(*sub), (*sub)->summary);
        return;
    }
    print_options(out, command, all);
    if (command->notes) {
        fputc('\n', out);
        print_flowing(out, command->notes, 0);
    }
}

/* --------------------------------------------------------------------------------------------------------- man page */

/* Text for roff: backslashes and leading dots are escaped, hyphens stay hyphens of options. */
static void roff_text(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        line_start = *text == '\n';
        if (*text == '\\') fputs("\\e", out);
        else if (*text == '-') fputs("\\-", out);
        else fputc(*text, out);
    }
}

/* Paragraphs; lines that begin with a space are not filled. */
static void roff_flowing(FILE *out, const char *text)
{
    bool verbatim = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if ((line[0] == ' ') != verbatim) {
            fputs(verbatim ? ".fi\n" : ".nf\n", out);
            verbatim = !verbatim;
        }
        if (line[0]) roff_text(out, line);
        else fputs(".PP", out);
        fputc('\n', out);
        text += length + (text[length] == '\n');
    }
    if (verbatim) fputs(".fi\n", out);
}

/* The frequent options, or all others under the titles of their sections. */
static void roff_rows(FILE *out, const cli_option *rows, const cli_command *command, bool frequent, const char **title)
{
    for (const cli_option *row = rows; row && row->type != CLI_TYPE_LAST; row++) {
        char name[96], text[1024];
        if (row->type == CLI_TYPE_GROUP) {
            roff_rows(out, row->group, command, frequent, title);
        } else if (row->type == CLI_TYPE_SECTION) {
            *title = row->name;
        } else if (is_option(row) && (row->rank == CLI_FREQUENT) == frequent) {
            if (*title && !frequent) {
                fputs(".SS ", out);
                roff_text(out, *title);
                fputc('\n', out);
                *title = NULL;
            }
            row_name(name, sizeof name, row);
            row_text(text, sizeof text, row, command);
            fputs(".TP\n.B ", out);
            roff_text(out, name);
            fputc('\n', out);
            roff_flowing(out, text);
        }
    }
}

/* "keybits NAME line", one per line, as they are. */
static void roff_lines(FILE *out, const cli_command *command, const char *lines)
{
    fputs(".nf\n", out);
    for (const char *line = lines; line; line = *line ? line + 1 : NULL) {
        char text[256];
        size_t length = strcspn(line, "\n");
        snprintf(text, sizeof text, "keybits %s %.*s\n", command->name, (int)length, line);
        roff_text(out, text);
        line += length;
    }
    fputs(".fi\n", out);
}

/* What an example does stands above it. */
static void roff_examples(FILE *out, const cli_command *command)
{
    for (const char *line = command->examples; line && *line; line = next_line(line)) {
        const char *mark = strstr(line, " # ");
        char text[256];
        snprintf(text, sizeof text, "%.*s:", (int)strcspn(mark + 3, "\n"), mark + 3);
        fputs(".TP\n", out);
        roff_text(out, text);
        fputs("\n.nf\n", out);
        snprintf(text, sizeof text, "keybits %s %.*s", command->name, (int)(mark - line), line);
        roff_text(out, text);
        fputs("\n.fi\n", out);
    }
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++) roff_examples(out, *sub);
}

static void roff_usage(FILE *out, const cli_command *command)
{
    if (!command->subcommands) roff_lines(out, command, command->usage ? command->usage : "[options]");
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++) roff_usage(out, *sub);
}

static void roff_command(FILE *out, const cli_command *command)
{
    const char *title = NULL;
    if (command->about) roff_flowing(out, command->about);
    if (command->options && !strchr(command->name, ' ')) fputs(".SH OPTIONS\n", out);
    roff_rows(out, command->options, command, true, &title);
    title = NULL;
    roff_rows(out, command->options, command, false, &title);
    if (command->notes) {
        fputs(".PP\n", out);
        roff_flowing(out, command->notes);
    }
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++) {
        fprintf(out, ".SS keybits %s\n", (*sub)->name);
        roff_command(out, *sub);
    }
}

static void roff_end(FILE *out, const cli_command *command)
{
    const char *title = NULL;
    fputs(".SH COMMON OPTIONS\n", out);
    roff_rows(out, cli_common_options + 1, command, false, &title); /* its first row is the section's title */
    fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n"
          ".SH ENVIRONMENT\n.TP\n.B KEYBITS_CPU\nthe instruction sets to use, as \\-\\-cpu says them\n"
          ".SH SEE ALSO\n", out);
    if (command) fputs(".BR keybits (1)", out);
    for (const cli_command *const *other = cli_commands; *other; other++)
        if (*other != command)
            fprintf(out, "%s.BR keybits\\-%s (1)", !command && other == cli_commands ? "" : ",\n", (*other)->name);
    fputc('\n', out);
}

static void roff_overview(FILE *out)
{
    fprintf(out, ".TH KEYBITS 1 \"\" \"keybits %s\" \"User Commands\"\n", kb_version());
    fputs(".SH NAME\nkeybits \\- learned binary local image descriptors, with detection, matching and geometry\n"
          ".SH SYNOPSIS\n.B keybits\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
          ".SH DESCRIPTION\nDetects keypoints, describes them by bits, matches them and fits the geometry between "
          "images;\nlearns descriptors from photographs and measures them.\n"
          "Data goes to standard output, messages to standard error.\n"
          "A file named \\- is standard input or output.\n.SH COMMANDS\n",
          out);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        fprintf(out, ".TP\n.BR keybits\\-%s (1)\n", (*command)->name);
        roff_text(out, (*command)->summary);
        fputc('\n', out);
    }
}

void cli_print_man(FILE *out, const cli_command *command)
{
    if (!command) {
        roff_overview(out);
    } else {
        fprintf(out, ".TH KEYBITS\\-%s 1 \"\" \"keybits %s\" \"User Commands\"\n.SH NAME\nkeybits\\-%s \\- ",
                command->name, kb_version(), command->name);
        roff_text(out, command->summary);
        fputs("\n.SH SYNOPSIS\n", out);
        roff_usage(out, command);
        fputs(".SH EXAMPLES\n", out);
        roff_examples(out, command);
        fputs(".SH DESCRIPTION\n", out);
        roff_command(out, command);
    }
    roff_end(out, command);
}

/* -------------------------------------------------------------------------------------------------- bash completion */

static void completion_names(FILE *out, const cli_option *rows)
{
    for (const cli_option *row = rows; row && row->type != CLI_TYPE_LAST; row++) {
        if (row->type == CLI_TYPE_GROUP) completion_names(out, row->group);
        else if (is_option(row)) fprintf(out, " --%s", row->name);
    }
}

static const char *model_name(size_t i) { return kb_name(KB_NAMES_MODEL, (int32_t)i); }
static const char *vocabulary_name(size_t i) { return photos_vocabulary_name(i, NULL); }

static void join_names(char *words, size_t capacity, const char *(*name_at)(size_t))
{
    words[0] = 0;
    for (size_t i = 0; name_at(i); i++) {
        append(words, capacity, words[0] ? " " : "");
        append(words, capacity, name_at(i));
    }
}

/* Arguments that may be names. */
static void completion_arguments(FILE *out)
{
    char words[256];
    join_names(words, sizeof words, model_name);
    fprintf(out, "    'model show'|'model export') words='%s' ;;\n", words);
    join_names(words, sizeof words, vocabulary_name);
    fprintf(out, "    'vocab show'|'vocab convert') words='%s' ;;\n", words);
}

static void completion_words(FILE *out, const char *command, const cli_option *rows)
{
    for (const cli_option *row = rows; row && row->type != CLI_TYPE_LAST; row++) {
        char words[256];
        if (row->type == CLI_TYPE_GROUP) completion_words(out, command, row->group);
        bool model = row->name && is_option(row) && strcmp(row->name, "model") == 0;
        bool vocabulary = row->name && is_option(row) && strcmp(row->name, "vocab") == 0;
        if (!row->words && !model && !vocabulary) continue;
        if (model || vocabulary) join_names(words, sizeof words, model ? model_name : vocabulary_name);
        else cli_join_words(words, sizeof words, row->words, " ");
        fprintf(out, "    '%s --%s'", command, row->name);
        if (row->letter) fprintf(out, "|'%s -%c'", command, row->letter);
        fprintf(out, ") words='%s' ;;\n", words);
    }
}

static void completion_options(FILE *out, const cli_command *command)
{
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++) completion_options(out, *sub);
    if (command->subcommands) return;
    fprintf(out, "    '%s') options='", command->name);
    completion_names(out, command->options);
    completion_names(out, cli_common_options);
    fputs("' ;;\n", out);
}

static void completion_choices(FILE *out, const cli_command *command)
{
    for (const cli_command *const *sub = command->subcommands; sub && *sub; sub++) completion_choices(out, *sub);
    completion_words(out, command->name, command->options);
}

void cli_print_completion(FILE *out)
{
    fputs("# bash completion of keybits; made by `keybits help --completion`\n"
          "_keybits() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
          "    local commands='help",
          out);
    for (const cli_command *const *command = cli_commands; *command; command++) fprintf(out, " %s", (*command)->name);
    fputs("' subcommands='' options='' words=''\n    case $command in\n", out);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        if (!(*command)->subcommands) continue;
        fprintf(out, "    %s) subcommands='", (*command)->name);
        for (const cli_command *const *sub = (*command)->subcommands; *sub; sub++)
            fprintf(out, "%s ", cli_short_name(*sub));
        fputs("' ;;\n", out);
    }
    fputs("    esac\n"
          "    if [ \"$COMP_CWORD\" = 1 ] || { [ \"$COMP_CWORD\" = 2 ] && [ \"$command\" = help ]; }; then\n"
          "        COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n        return\n    fi\n"
          "    if [ -n \"$subcommands\" ] && [ \"$COMP_CWORD\" = 2 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$subcommands\" -- \"$current\"))\n        return\n    fi\n"
          "    [ -z \"$subcommands\" ] || command+=\" ${COMP_WORDS[2]}\"\n"
          "    case \"$command $before\" in\n",
          out);
    for (const cli_command *const *command = cli_commands; *command; command++) completion_choices(out, *command);
    fputs("    esac\n    if [ -z \"$words\" ] && [[ $before != -* && $current != -* ]]; then\n    case $command in\n", out);
    completion_arguments(out);
    fputs("    esac\n    fi\n    case $command in\n", out);
    for (const cli_command *const *command = cli_commands; *command; command++) completion_options(out, *command);
    fputs("    esac\n"
          "    local listed='' # of a list, what stands before the last comma\n"
          "    [[ $current != *,* ]] || listed=${current%,*},\n"
          "    if [ -n \"$words\" ]; then COMPREPLY=($(compgen -P \"$listed\" -W \"$words\" -- \"${current##*,}\"))\n"
          "    elif [[ $current == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
          "    fi # else bash completes file names\n"
          "}\n"
          "complete -o bashdefault -o default -F _keybits keybits\n",
          out);
}
