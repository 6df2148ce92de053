/* The JSON writer: indented by two spaces, one member a line. */
#include "io/json.h"

#include <math.h>
#include <string.h>

#include "io/number.h"

void io_json_begin(io_json *json, FILE *out)
{
    memset(json, 0, sizeof *json);
    json->out = out;
}

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else if (*c == '\n') fputs("\\n", out);
        else if (*c == '\t') fputs("\\t", out);
        else if (*c < 0x20 || *c == 0x7f) fprintf(out, "\\u%04x", *c);
        else fputc(*c, out);
    }
    fputc('"', out);
}

/* Comma, line break, indentation and key: what stands before a value. */
static void before_value(io_json *json, const char *key)
{
    if (json->depth > 0) {
        fputs(json->filled[json->depth - 1] ? ",\n" : "\n", json->out);
        json->filled[json->depth - 1] = true;
        fprintf(json->out, "%*s", 2 * json->depth, "");
    }
    if (key) {
        write_string(json->out, key);
        fputs(": ", json->out);
    }
}

static void after_value(io_json *json)
{
    if (json->depth == 0) fputc('\n', json->out);
}

static void open_value(io_json *json, const char *key, bool array)
{
    before_value(json, key);
    fputc(array ? '[' : '{', json->out);
    if (json->depth < IO_JSON_DEPTH) {
        json->array[json->depth] = array;
        json->filled[json->depth] = false;
        json->depth++;
    }
}

void io_json_object(io_json *json, const char *key) { open_value(json, key, false); }
void io_json_array(io_json *json, const char *key) { open_value(json, key, true); }

void io_json_end(io_json *json)
{
    if (json->depth == 0) return;
    json->depth--;
    if (json->filled[json->depth]) fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(json->array[json->depth] ? ']' : '}', json->out);
    after_value(json);
}

void io_json_string(io_json *json, const char *key, const char *value)
{
    before_value(json, key);
    if (value) write_string(json->out, value);
    else fputs("null", json->out);
    after_value(json);
}

static void write_number(io_json *json, const char *key, double value, bool single)
{
    char text[32];
    before_value(json, key);
    fputs(isfinite(value) ? io_number_shortest(text, value, single) : "null", json->out);
    after_value(json);
}

void io_json_number(io_json *json, const char *key, double value) { write_number(json, key, value, false); }
void io_json_float(io_json *json, const char *key, float value) { write_number(json, key, (double)value, true); }

void io_json_integer(io_json *json, const char *key, int64_t value)
{
    before_value(json, key);
    fprintf(json->out, "%lld", (long long)value);
    after_value(json);
}

void io_json_bool(io_json *json, const char *key, bool value)
{
    before_value(json, key);
    fputs(value ? "true" : "false", json->out);
    after_value(json);
}
