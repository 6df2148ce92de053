/* The JSON reader: strict, one pass, a tree of nodes. Strings are decoded in place in a copy of the text that the root
 * owns. */
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/number.h"

#define MAX_NESTING 64

typedef struct parser {
    const char *name;
    char *start, *at, *end;
    io_error *error;
} parser;

/* The root is the first member of what the parse made, so that a pointer to it leads to the text. */
typedef struct document {
    io_json_value root;
    char *text;
} document;

static bool fail_here(parser *p, const char *what)
{
    size_t line = 1;
    for (const char *c = p->start; c < p->at && c < p->end; c++) line += *c == '\n';
    return io_fail(p->error, "%s:%zu: %s", p->name, line, what);
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

static bool take(parser *p, char c)
{
    if (p->at >= p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static int32_t hex4(parser *p)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p->at < p->end ? *p->at++ : 0;
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* \uXXXX, or two of them for a character beyond 16 bits; -1 when wrong. Zero is refused: strings here end with it. */
static int32_t unicode_escape(parser *p)
{
    int32_t high = hex4(p);
    if (high <= 0 || (high >= 0xdc00 && high <= 0xdfff)) return -1;
    if (high < 0xd800 || high > 0xdbff) return high;
    if (!take(p, '\\') || !take(p, 'u')) return -1;
    int32_t low = hex4(p);
    if (low < 0xdc00 || low > 0xdfff) return -1;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static char *put_utf8(char *to, int32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const int lead[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(lead[more] | c >> (6 * more));
    while (more-- > 0) *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return to;
}

/* After the opening quote. What an escape decodes to is never longer than the escape, so it is done in place. */
static const char *parse_string(parser *p)
{
    char *begin = p->at, *to = p->at;
    while (p->at < p->end && *p->at != '"') {
        unsigned char c = (unsigned char)*p->at++;
        if (c < 0x20) return fail_here(p, "a control character in a string"), NULL;
        if (c != '\\') {
            *to++ = (char)c;
            continue;
        }
        char escape = p->at < p->end ? *p->at++ : 0;
        static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *known = escape ? strchr(from, escape) : NULL;
        if (known) {
            *to++ = meant[known - from];
        } else {
            int32_t code = escape == 'u' ? unicode_escape(p) : -1;
            if (code < 0) return fail_here(p, "a wrong escape in a string"), NULL;
            to = put_utf8(to, code);
        }
    }
    if (!take(p, '"')) return fail_here(p, "a string without an end"), NULL;
    *to = 0;
    return begin;
}

/* JSON's own grammar of numbers, which is narrower than strtod's. */
static bool parse_number(parser *p, double *value)
{
    const char *c = p->at;
    if (*c == '-') c++;
    size_t digits = strspn(c, "0123456789");
    if (digits == 0 || (digits > 1 && *c == '0')) return fail_here(p, "not a value");
    c += digits;
    if (*c == '.') {
        digits = strspn(++c, "0123456789");
        if (digits == 0) return fail_here(p, "a number that ends with its point");
        c += digits;
    }
    if (*c == 'e' || *c == 'E') {
        c++;
        if (*c == '+' || *c == '-') c++;
        digits = strspn(c, "0123456789");
        if (digits == 0) return fail_here(p, "a number without its exponent");
    }
    const char *end;
    io_number_parse(p->at, &end, value);
    p->at += end - p->at;
    return true;
}

static bool parse_value(parser *p, io_json_value *value, int depth);

static bool parse_children(parser *p, io_json_value *parent, int depth)
{
    bool object = parent->kind == IO_JSON_OBJECT;
    char close = object ? '}' : ']';
    if (depth > MAX_NESTING) return fail_here(p, "nested too deeply");
    skip_space(p);
    if (take(p, close)) return true;
    io_json_value **link = &parent->first;
    for (;;) {
        io_json_value *child = *link = io_alloc(1, sizeof *child);
        link = &child->next;
        if (object) {
            skip_space(p);
            if (!take(p, '"')) return fail_here(p, "a member without a name");
            child->key = parse_string(p);
            if (!child->key) return false;
            skip_space(p);
            if (!take(p, ':')) return fail_here(p, "a name without a colon");
        }
        if (!parse_value(p, child, depth)) return false;
        skip_space(p);
        if (take(p, close)) return true;
        if (!take(p, ',')) return fail_here(p, object ? "expected , or } in an object" : "expected , or ] in an array");
    }
}

static bool take_word(parser *p, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || strncmp(p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

static bool parse_value(parser *p, io_json_value *value, int depth)
{
    skip_space(p);
    if (p->at >= p->end) return fail_here(p, "the text ends too early");
    if (take(p, '"')) {
        value->kind = IO_JSON_STRING;
        value->string = parse_string(p);
        return value->string != NULL;
    }
    if (*p->at == '{' || *p->at == '[') {
        value->kind = *p->at++ == '{' ? IO_JSON_OBJECT : IO_JSON_ARRAY;
        return parse_children(p, value, depth + 1);
    }
    value->kind = IO_JSON_BOOL;
    if (take_word(p, "true")) return value->truth = true;
    if (take_word(p, "false")) return true;
    value->kind = IO_JSON_NULL;
    if (take_word(p, "null")) return true;
    value->kind = IO_JSON_NUMBER;
    return parse_number(p, &value->number);
}

io_json_value *io_json_parse(const char *name, const char *text, size_t size, io_error *error)
{
    document *made = io_alloc(1, sizeof *made);
    made->text = io_alloc(size + 1, 1);
    memcpy(made->text, text, size);
    parser p = {name, made->text, made->text, made->text + size, error};
    bool ok = parse_value(&p, &made->root, 0);
    if (ok) {
        skip_space(&p);
        if (p.at != p.end) ok = fail_here(&p, "something after the end of the value");
    }
    if (ok) return &made->root;
    io_json_free(&made->root);
    return NULL;
}

io_json_value *io_json_read(const char *path, io_error *error)
{
    io_bytes text;
    if (!io_file_read(path, &text, error)) return NULL;
    io_json_value *root = io_json_parse(path, (const char *)text.data, text.size, error);
    io_bytes_free(&text);
    return root;
}

/* Nesting is limited, so this recursion is. */
static void free_children(io_json_value *value)
{
    for (io_json_value *child = value->first, *next; child; child = next) {
        next = child->next;
        free_children(child);
        free(child);
    }
}

void io_json_free(io_json_value *root)
{
    if (!root) return;
    document *made = (document *)(void *)root;
    free_children(root);
    free(made->text);
    free(made);
}

const io_json_value *io_json_get(const io_json_value *value, const char *key)
{
    if (!value || value->kind != IO_JSON_OBJECT) return NULL;
    for (const io_json_value *child = value->first; child; child = child->next) {
        if (strcmp(child->key, key) == 0) return child;
    }
    return NULL;
}
