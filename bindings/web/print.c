/* SPDX-License-Identifier: Apache-2.0 */
/* snprintf and vsnprintf for the sentences of the library, in place of the C library's, which would be an eighth of the
 * WebAssembly file and would ask for WASI's files. They know %s %d %u %x %c %g %% with width, zeros, precision of
 * strings, and the lengths l, ll, z and j. %g writes up to six significant digits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct text_out {
    char *text;
    size_t size, length;
} text_out;

typedef struct conversion {
    int zeros, width, precision;
    int wide; /* 64 bits */
} conversion;

static void put_char(text_out *out, char c)
{
    if (out->length + 1 < out->size) out->text[out->length] = c;
    out->length++;
}

static void put_padded(text_out *out, const char *s, size_t n, const conversion *c)
{
    for (size_t i = n; i < (size_t)(c->width > 0 ? c->width : 0); i++) put_char(out, c->zeros ? '0' : ' ');
    for (size_t i = 0; i < n; i++) put_char(out, s[i]);
}

static void put_number(text_out *out, uint64_t value, int negative, unsigned base, const conversion *c)
{
    char digits[24], *end = digits + sizeof digits, *at = end;
    do *--at = "0123456789abcdef"[value % base];
    while ((value /= base) > 0);
    if (negative) *--at = '-';
    put_padded(out, at, (size_t)(end - at), c);
}

/* Six significant digits: d.ddddde-NN outside 1e-4 to 1e6, as printf chooses. */
static void put_double(text_out *out, double value, const conversion *c)
{
    char text[40];
    size_t n = 0;
    int exponent = 0;
    if (value != value || value - value != 0) {
        const char *name = value != value ? "nan" : value < 0 ? "-inf" : "inf";
        put_padded(out, name, strlen(name), c);
        return;
    }
    if (value < 0) text[n++] = '-', value = -value;
    double scaled = value;
    while (scaled >= 10) scaled /= 10, exponent++;
    while (scaled > 0 && scaled < 1) scaled *= 10, exponent--;
    uint32_t digits = (uint32_t)(scaled * 100000 + 0.5);
    if (digits >= 1000000) digits /= 10, exponent++;
    int scientific = value > 0 && (exponent < -4 || exponent >= 6), kept = 6;
    char digit[6];
    for (int i = 5; i >= 0; i--, digits /= 10) digit[i] = (char)('0' + digits % 10);
    while (kept > 1 && digit[kept - 1] == '0') kept--;
    int point = scientific ? 1 : exponent + 1; /* digits before the point */
    if (point <= 0) text[n++] = '0';
    for (int i = point <= 0 ? point : 0; i < kept || i < point; i++) {
        if (i == point) text[n++] = '.';
        text[n++] = i < 0 || i >= kept ? '0' : digit[i];
    }
    put_padded(out, text, n, c);
    if (!scientific) return;
    const conversion two = {1, 2, -1, 0};
    put_char(out, 'e');
    put_char(out, exponent < 0 ? '-' : '+');
    put_number(out, (uint64_t)(exponent < 0 ? -exponent : exponent), 0, 10, &two);
}

static const char *read_conversion(const char *f, va_list *arguments, conversion *c)
{
    *c = (conversion){0, 0, -1, 0};
    if (*f == '0') c->zeros = 1, f++;
    while (*f >= '0' && *f <= '9') c->width = c->width * 10 + (*f++ - '0');
    if (*f == '.') {
        c->precision = 0;
        if (*++f == '*') c->precision = va_arg(*arguments, int), f++;
        while (*f >= '0' && *f <= '9') c->precision = c->precision * 10 + (*f++ - '0');
    }
    if (*f == 'z') f++; /* 32 bits here, as l is */
    for (; *f == 'l' || *f == 'j'; f++) c->wide = *f == 'j' || f[1] == 'l' || c->wide;
    return f;
}

static void put_string(text_out *out, const char *s, const conversion *c)
{
    size_t n = 0;
    while ((c->precision < 0 || n < (size_t)c->precision) && s[n]) n++;
    put_padded(out, s, n, c);
}

static void put_conversion(text_out *out, char kind, va_list *arguments, const conversion *c)
{
    switch (kind) {
    case 's': put_string(out, va_arg(*arguments, const char *), c); break;
    case 'c': put_char(out, (char)va_arg(*arguments, int)); break;
    case 'g': put_double(out, va_arg(*arguments, double), c); break;
    case 'd': {
        int64_t value = c->wide ? va_arg(*arguments, int64_t) : va_arg(*arguments, int);
        put_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, 10, c);
        break;
    }
    case 'u':
    case 'x':
        put_number(out, c->wide ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned), 0,
                   kind == 'x' ? 16 : 10, c);
        break;
    default: put_char(out, kind); break;
    }
}

int vsnprintf(char *text, size_t size, const char *format, va_list given)
{
    text_out out = {text, size, 0};
    va_list arguments;
    va_copy(arguments, given);
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            put_char(&out, *f);
            continue;
        }
        conversion c;
        f = read_conversion(f + 1, &arguments, &c);
        if (!*f) break;
        put_conversion(&out, *f, &arguments, &c);
    }
    va_end(arguments);
    if (size > 0) text[out.length < size ? out.length : size - 1] = 0;
    return (int)out.length;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}
