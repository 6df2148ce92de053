/* SPDX-License-Identifier: Apache-2.0 */
/* PGM and PPM: a text header with comments, then text (P2, P3) or bytes (P5, P6; two per sample, the high one first,
 * when the largest value is above 255). */
#include <string.h>

#include "io/codecs.h"

typedef struct pnm_cursor {
    const uint8_t *at, *end;
} pnm_cursor;

static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The next number, after white space and comments; -1 when there is none. Stops growing above 65536. */
static int32_t next_number(pnm_cursor *cursor)
{
    while (cursor->at < cursor->end && (is_space(*cursor->at) || *cursor->at == '#')) {
        if (*cursor->at++ != '#') continue;
        while (cursor->at < cursor->end && *cursor->at != '\n' && *cursor->at != '\r') cursor->at++;
    }
    int32_t value = -1;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        value = (value < 0 ? 0 : value) * 10 + (*cursor->at++ - '0');
        if (value > 65536) value = 65536;
    }
    return value;
}

static bool read_text(const io_source *source, pnm_cursor *cursor, io_raster *raster, size_t count, io_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int32_t value = next_number(cursor);
        if (value < 0) {
            return io_fail(error, "%s: truncated or damaged image: %zu numbers of %zu", source->name, i, count);
        }
        if (value > raster->white) value = raster->white;
        if (raster->bytes == 1) {
            raster->samples[i] = (uint8_t)value;
        } else {
            uint16_t wide = (uint16_t)value;
            memcpy(raster->samples + 2 * i, &wide, sizeof wide);
        }
    }
    return true;
}

static void read_binary(const pnm_cursor *cursor, io_raster *raster, size_t count)
{
    if (raster->bytes == 1) {
        memcpy(raster->samples, cursor->at, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t wide = (uint16_t)(cursor->at[2 * i] << 8 | cursor->at[2 * i + 1]);
        memcpy(raster->samples + 2 * i, &wide, sizeof wide);
    }
}

bool io_decode_pnm(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    (void)colour;
    char kind = (char)source->data[1];
    bool text = kind == '2' || kind == '3';
    int32_t channels = kind == '3' || kind == '6' ? 3 : 1;
    pnm_cursor cursor = {source->data + 2, source->data + source->size};
    int32_t width = next_number(&cursor), height = next_number(&cursor), white = next_number(&cursor);
    if (width < 0 || height < 0 || white < 1 || white > 65535) {
        return io_fail(error, "%s: damaged header of a P%c image (width, height, largest value 1 to 65535)",
                       source->name, kind);
    }
    if (!io_source_accepts(source, width, height, error)) return false;
    int32_t bytes = white > 255 ? 2 : 1;
    if (!text) cursor.at += cursor.at < cursor.end; /* one white space ends the header */

    /* A number takes at least a digit and a space as text, but for the last. */
    uint64_t count = (uint64_t)width * (uint64_t)height * (uint64_t)channels;
    uint64_t needed = text ? 2 * count - (count > 0) : count * (uint64_t)bytes;
    uint64_t left = (uint64_t)(cursor.end - cursor.at);
    if (left < needed) {
        return io_fail(error, "%s: truncated image: %llu bytes of pixels, %llu needed", source->name,
                       (unsigned long long)left, (unsigned long long)needed);
    }
    if (!io_raster_create(raster, source, width, height, channels, bytes, error)) return false;
    raster->white = white;
    if (text) return read_text(source, &cursor, raster, (size_t)count, error);
    read_binary(&cursor, raster, (size_t)count);
    return true;
}
