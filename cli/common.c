/* Messages and models: what the commands share. */
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
    cli_join_words(text, capacity, names, ", ");
}

static bool load_file(const char *path, kb_model **out, io_error *error)
{
    io_bytes bytes;
    kb_error why;
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
