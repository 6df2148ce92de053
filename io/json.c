/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: indented by two spaces, one member a line. */
#include "io/json.h"

#include <math.h>
#include <string.h>

#include "io/number.h"
#include "io/text.h"

void io_json_begin(io_json *json, FILE *out)
{
    memset(json, 0, sizeof *json);
    json->out = out;
}

/* Bytes that are no UTF-8, which names of files may have, become U+FFFD. */
static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *c = text; *c;) {
        size_t bytes = io_utf8_bytes(c);
        if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else if (*c == '\n') fputs("\\n", out);
        else if (*c == '\t') fputs("\\t", out);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f) fprintf(out, "\\u%04x", (unsigned)*c);
        else if (bytes == 0) fputs("\\ufffd", out);
        else fwrite(c, 1, bytes, out);
        c += bytes ? bytes : 1;
    }
    fputc('"', out);
}

/* Comma, line break, indentation and key: what stands before a value. False inside what is too deep to be written. */
static bool before_value(io_json *json, const char *key)
{
    if (json->skipped) return false;
    if (json->depth > 0) {
        fputs(json->filled[json->depth - 1] ? ",\n" : "\n", json->out);
        json->filled[json->depth - 1] = true;
        fprintf(json->out, "%*s", 2 * json->depth, "");
    }
    if (key) {
        write_string(json->out, key);
        fputs(": ", json->out);
    }
    return true;
}

static void after_value(io_json *json)
{
    if (json->depth == 0) fputc('\n', json->out);
}

static void open_value(io_json *json, const char *key, bool array)
{
    if (json->depth == IO_JSON_DEPTH) { /* null stands for all up to the end that belongs to it */
        if (before_value(json, key)) fputs("null", json->out);
        json->skipped++;
        return;
    }
    before_value(json, key);
    fputc(array ? '[' : '{', json->out);
    json->array[json->depth] = array;
    json->filled[json->depth] = false;
    json->depth++;
}

void io_json_object(io_json *json, const char *key) { open_value(json, key, false); }
void io_json_array(io_json *json, const char *key) { open_value(json, key, true); }

void io_json_end(io_json *json)
{
    if (json->skipped) {
        json->skipped--;
        return;
    }
    if (json->depth == 0) return;
    json->depth--;
    if (json->filled[json->depth]) fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(json->array[json->depth] ? ']' : '}', json->out);
    after_value(json);
}

void io_json_string(io_json *json, const char *key, const char *value)
{
    if (!before_value(json, key)) return;
    if (value) write_string(json->out, value);
    else fputs("null", json->out);
    after_value(json);
}

static void write_number(io_json *json, const char *key, double value, bool single)
{
    char text[32];
    if (!before_value(json, key)) return;
    fputs(isfinite(value) ? io_number_shortest(text, value, single) : "null", json->out);
    after_value(json);
}

void io_json_number(io_json *json, const char *key, double value) { write_number(json, key, value, false); }
void io_json_float(io_json *json, const char *key, float value) { write_number(json, key, (double)value, true); }

void io_json_integer(io_json *json, const char *key, int64_t value)
{
    if (!before_value(json, key)) return;
    fprintf(json->out, "%lld", (long long)value);
    after_value(json);
}

void io_json_bool(io_json *json, const char *key, bool value)
{
    if (!before_value(json, key)) return;
    fputs(value ? "true" : "false", json->out);
    after_value(json);
}
