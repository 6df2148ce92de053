/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: a writer that cannot produce a wrong file as long as calls are balanced, and a strict reader (jansson's). Text
 * is UTF-8 always: the writer puts U+FFFD for bytes that are not. */
#ifndef IO_JSON_H
#define IO_JSON_H

#include "io/file.h"

/* ---- writing ----
 *     io_json json;
 *     io_json_begin(&json, stdout);
 *     io_json_object(&json, NULL);            the outermost value has no key
 *     io_json_string(&json, "name", "bad256");
 *     io_json_array(&json, "numbers");
 *     io_json_number(&json, NULL, 1.5);       nor have the elements of an array
 *     io_json_end(&json);
 *     io_json_end(&json);                     ends with a line break
 */
#define IO_JSON_DEPTH 32
typedef struct io_json {
    FILE *out;
    int depth;
    bool array[IO_JSON_DEPTH]; /* what is open at each depth */
    bool filled[IO_JSON_DEPTH];
    int skipped; /* open values beyond IO_JSON_DEPTH; null is written for them */
} io_json;

void io_json_begin(io_json *json, FILE *out);
void io_json_object(io_json *json, const char *key);
void io_json_array(io_json *json, const char *key);
void io_json_end(io_json *json);
void io_json_string(io_json *json, const char *key, const char *value); /* NULL value: null */
void io_json_number(io_json *json, const char *key, double value);      /* shortest that reads back; not finite: null */
void io_json_float(io_json *json, const char *key, float value);        /* the same for a float */
void io_json_integer(io_json *json, const char *key, int64_t value);
void io_json_bool(io_json *json, const char *key, bool value);

/* ---- reading ---- */
#define IO_JSON_READ_DEPTH 64
typedef enum io_json_kind {
    IO_JSON_NULL,
    IO_JSON_BOOL,
    IO_JSON_NUMBER,
    IO_JSON_STRING,
    IO_JSON_ARRAY,
    IO_JSON_OBJECT
} io_json_kind;

typedef struct io_json_value io_json_value;
struct io_json_value {
    io_json_kind kind;
    const char *key;          /* of a member of an object; else NULL */
    bool truth;               /* BOOL */
    double number;            /* NUMBER */
    const char *string;       /* STRING, UTF-8 */
    io_json_value *first;     /* ARRAY and OBJECT: the children as a list */
    io_json_value *next;
};

/* One tree of one document; nesting up to IO_JSON_READ_DEPTH; a key may not occur twice in an object. NULL when it
 * failed; name is for the message, which gives the line. */
io_json_value *io_json_parse(const char *name, const char *text, size_t size, io_error *error);
io_json_value *io_json_read(const char *path, io_error *error);
void io_json_free(io_json_value *root);
/* The member of an object; NULL when there is none, or value is NULL or not an object. */
const io_json_value *io_json_get(const io_json_value *value, const char *key);

#endif
