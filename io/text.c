/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 and control characters. */
#include "io/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t io_utf8_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t bytes = c[0] < 0x80                   ? 1
                   : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                   : (c[0] & 0xf0) == 0xe0       ? 3
                   : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                                 : 0;
    uint32_t code = bytes < 2 ? c[0] : c[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (c[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (bytes == 0 || code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    return bytes;
}

/* C0, DEL and C1, which begin escape codes. */
static int is_control(const char *c, size_t bytes)
{
    const unsigned char *u = (const unsigned char *)c;
    return bytes == 1 ? u[0] < 0x20 || u[0] == 0x7f : bytes == 2 && u[0] == 0xc2 && u[1] < 0xa0;
}

char *io_printable(char *out, size_t room, const char *text)
{
    size_t used = 0;
    while (*text) {
        size_t bytes = io_utf8_bytes(text);
        if (bytes && !is_control(text, bytes)) {
            if (used + bytes >= room) break;
            memcpy(out + used, text, bytes);
            used += bytes;
            text += bytes;
        } else {
            if (used + 4 >= room) break;
            snprintf(out + used, room - used, "\\x%02x", (unsigned)(unsigned char)*text++);
            used += 4;
        }
    }
    if (room) out[used] = 0;
    return out;
}

char *io_shortened(char *out, size_t room, const char *text)
{
    static const char gap[] = " ... ";
    size_t length = strlen(text), head = room / 3, tail = room - 1 - head - (sizeof gap - 1);
    if (length < room) return memcpy(out, text, length + 1);
    while (head > 0 && ((unsigned char)text[head] & 0xc0) == 0x80) head--;
    const char *end = text + length - tail;
    while (((unsigned char)*end & 0xc0) == 0x80) end++;
    memcpy(out, text, head);
    memcpy(out + head, gap, sizeof gap - 1);
    memcpy(out + head + sizeof gap - 1, end, strlen(end) + 1);
    return out;
}
