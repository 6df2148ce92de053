/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader: jansson parses, and the tree is brought into lists, which are easy to walk. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "io/json.h"

/* The values of a document in one block; the first is its root. Strings are jansson's. */
typedef struct document {
    json_t *json;
    size_t used;
    io_json_value values[];
} document;

static document *document_of(io_json_value *root)
{
    return (document *)(void *)((char *)root - offsetof(document, values));
}

/* How many values there are; 0 when they are nested too deep. */
static size_t count_values(json_t *json, int depth)
{
    size_t count = 1, index, inside = 1;
    const char *key;
    json_t *child;
    if (depth > IO_JSON_READ_DEPTH) return 0;
    if (json_is_array(json)) {
        json_array_foreach(json, index, child) {
            if ((inside = count_values(child, depth + 1)) == 0) return 0;
            count += inside;
        }
    } else if (json_is_object(json)) {
        json_object_foreach(json, key, child) {
            if ((inside = count_values(child, depth + 1)) == 0) return 0;
            count += inside;
        }
    }
    return count;
}

static io_json_value *add_value(document *doc, const char *key, json_t *json)
{
    io_json_value *value = &doc->values[doc->used++], **last = &value->first;
    const char *name;
    size_t index;
    json_t *child;
    *value = (io_json_value){.kind = IO_JSON_NULL, .key = key};
    switch (json_typeof(json)) {
    case JSON_NULL: break;
    case JSON_TRUE:
    case JSON_FALSE:
        value->kind = IO_JSON_BOOL;
        value->truth = json_is_true(json);
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        value->kind = IO_JSON_NUMBER;
        value->number = json_number_value(json);
        break;
    case JSON_STRING:
        value->kind = IO_JSON_STRING;
        value->string = json_string_value(json);
        break;
    case JSON_ARRAY:
        value->kind = IO_JSON_ARRAY;
        json_array_foreach(json, index, child) last = &(*last = add_value(doc, NULL, child))->next;
        break;
    case JSON_OBJECT:
        value->kind = IO_JSON_OBJECT;
        json_object_foreach(json, name, child) last = &(*last = add_value(doc, name, child))->next;
        break;
    }
    return value;
}

io_json_value *io_json_parse(const char *name, const char *text, size_t size, io_error *error)
{
    json_error_t why;
    json_t *json =
        json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &why);
    if (!json) {
        io_fail(error, "%s:%d: not JSON: %s", name, why.line > 0 ? why.line : 1, why.text);
        return NULL;
    }
    size_t count = count_values(json, 0);
    document *doc = count ? malloc(sizeof *doc + count * sizeof *doc->values) : NULL;
    if (!doc) {
        if (count) io_fail(error, "%s: no memory for %zu values", name, count);
        else io_fail(error, "%s: nested deeper than %d", name, IO_JSON_READ_DEPTH);
        json_decref(json);
        return NULL;
    }
    doc->json = json;
    doc->used = 0;
    return add_value(doc, NULL, json);
}

io_json_value *io_json_read(const char *path, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return NULL;
    io_json_value *root = io_json_parse(path, (const char *)bytes.data, bytes.size, error);
    io_bytes_free(&bytes);
    return root;
}

void io_json_free(io_json_value *root)
{
    if (!root) return;
    document *doc = document_of(root);
    json_decref(doc->json);
    free(doc);
}

const io_json_value *io_json_get(const io_json_value *value, const char *key)
{
    if (!value || value->kind != IO_JSON_OBJECT) return NULL;
    for (const io_json_value *child = value->first; child; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return NULL;
}
