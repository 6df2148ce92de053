/* Messages and models: what the commands share. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io/text.h"

/* --------------------------------------------------------------------------------------------------------- messages */

static void message_print(const char *prefix, const char *format, va_list arguments)
{
    char text[1024], printable[1024]; /* names of files may hold anything */
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "%s%s\n", prefix, io_printable(printable, sizeof printable, text));
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
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "keybits %s: %s (see keybits %s --help)\n", common->name, text, common->name);
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
