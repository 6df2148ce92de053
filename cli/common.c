/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: what the commands share. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io/text.h"

/* --------------------------------------------------------------------------------------------------------- messages */

const char *cli_shown(const char *text)
{
    static char *shown[CLI_SHOWN];
    static size_t next;
    char **slot = &shown[next++ % CLI_SHOWN];
    size_t room = 4 * strlen(text) + 1; /* \xNN for every byte */
    free(*slot);
    *slot = io_alloc(room, 1);
    return io_printable(*slot, room, text);
}

/* Names of files may hold anything, and be long; the line is printed as a whole. */
static void message_print(const char *prefix, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t room = length < 0 ? 0 : (size_t)length;
    char *text = malloc(room + 1), *printable = malloc(4 * room + 1); /* without memory too there are words */
    if (text && printable) {
        vsnprintf(text, room + 1, format, arguments);
        fprintf(stderr, "%s%s\n", prefix, io_printable(printable, 4 * room + 1, text));
    } else {
        fprintf(stderr, "%sout of memory\n", prefix);
    }
    free(text);
    free(printable);
}

void cli_say(const cli_common *common, const char *format, ...)
{
    if (common->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    message_print("", format, arguments);
    va_end(arguments);
}

void cli_warn(const cli_common *common, const char *format, ...)
{
    if (common->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    message_print("keybits: warning: ", format, arguments);
    va_end(arguments);
}

int cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message_print("keybits: ", format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_usage_error(const cli_common *common, const char *format, ...)
{
    va_list arguments;
    char prefix[64], *with_hint = io_alloc(strlen(format) + strlen(common->name) + 32, 1);
    snprintf(prefix, sizeof prefix, "keybits %s: ", common->name);
    sprintf(with_hint, "%s (see keybits %s --help)", format, common->name);
    va_start(arguments, format);
    message_print(prefix, with_hint, arguments);
    va_end(arguments);
    free(with_hint);
    return CLI_USAGE;
}
