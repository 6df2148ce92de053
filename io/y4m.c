/* SPDX-License-Identifier: Apache-2.0 */
/* Y4M streams. */
#include "y4m.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE 2048

/* ----------------------------------------------------------------------------------------------------------- header */

/* A line without its end. False at the end of the file, and for a line that does not fit. */
static bool y4m_read_line(FILE *in, char *line)
{
    size_t length = 0;
    for (int c; (c = getc(in)) != '\n';) {
        if (c == EOF || length + 1 == LINE) return false;
        line[length++] = (char)c;
    }
    line[length] = 0;
    return true;
}

static bool parse_side(const y4m_reader *r, const char *word, int32_t *side, io_error *error)
{
    char *end;
    long value = strtol(word + 1, &end, 10);
    if (end == word + 1 || *end || value < 1 || value > IO_MAX_SIDE) {
        return io_fail(error, "%s: a side of %s pixels in the Y4M header; it must be 1 to %d", r->name, word + 1,
                       IO_MAX_SIDE);
    }
    *side = (int32_t)value;
    return true;
}

/* C420jpeg, C422p10, Cmono, ... */
static bool parse_chroma(y4m_reader *r, const char *word, io_error *error)
{
    static const struct {
        const char *name;
        int shift_x, shift_y;
        bool colour, alpha;
    } kinds[] = {{"420", 1, 1, true, false},  {"422", 1, 0, true, false}, {"444alpha", 0, 0, true, true},
                 {"444", 0, 0, true, false},  {"411", 2, 0, true, false}, {"440", 0, 1, true, false},
                 {"mono", 0, 0, false, false}};
    static const char *const sitings[] = {"", "jpeg", "mpeg2", "paldv"};
    const char *text = word + 1;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        size_t length = strlen(kinds[k].name);
        if (strncmp(text, kinds[k].name, length) != 0) continue;
        const char *rest = text + length;
        char *end = NULL;
        bool deep = *rest == 'p' || !kinds[k].colour;
        long bits = deep && *rest ? strtol(rest + (*rest == 'p'), &end, 10) : 8;
        bool plain = false;
        for (size_t i = 0; i < sizeof sitings / sizeof sitings[0]; i++) plain |= strcmp(rest, sitings[i]) == 0;
        if (!plain && (!end || *end || bits < 8 || bits > 16)) break;
        r->shift_x = kinds[k].shift_x, r->shift_y = kinds[k].shift_y;
        r->colour = kinds[k].colour, r->alpha = kinds[k].alpha;
        r->bits = plain ? 8 : (int32_t)bits;
        return true;
    }
    return io_fail(error,
                   "%s: chroma \"%s\" in the Y4M header is not known; 420, 422, 444, 411, 440 and mono are (ffmpeg: "
                   "-pix_fmt yuv420p)",
                   r->name, text);
}

static bool parse_header(y4m_reader *r, char *line, io_error *error)
{
    strcpy(r->rate, "25:1");
    r->bits = 8, r->shift_x = r->shift_y = 1, r->colour = true;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        bool ok = true;
        if (*word == 'W') ok = parse_side(r, word, &r->width, error);
        else if (*word == 'H') ok = parse_side(r, word, &r->height, error);
        else if (*word == 'C') ok = parse_chroma(r, word, error);
        else if (*word == 'F') snprintf(r->rate, sizeof r->rate, "%s", word + 1);
        else if (strcmp(word, "XCOLORRANGE=FULL") == 0) r->full_range = true;
        if (!ok) return false;
    }
    if (!r->width || !r->height)
        return io_fail(error, "%s: the Y4M header tells no %s", r->name, r->width ? "height (H)" : "width (W)");
    if ((int64_t)r->width * r->height <= IO_MAX_PIXELS) return true;
    return io_fail(error, "%s: frames of %d x %d pixels are more than the limit of %lld", r->name, r->width, r->height,
                   (long long)IO_MAX_PIXELS);
}

static size_t chroma_width(const y4m_reader *r)
{
    return ((size_t)r->width + ((size_t)1 << r->shift_x) - 1) >> r->shift_x;
}

static size_t chroma_height(const y4m_reader *r)
{
    return ((size_t)r->height + ((size_t)1 << r->shift_y) - 1) >> r->shift_y;
}

bool y4m_open(y4m_reader *reader, const char *path, io_error *error)
{
    char line[LINE];
    bool standard = strcmp(path, "-") == 0;
    memset(reader, 0, sizeof *reader);
    reader->name = standard ? "standard input" : path;
    reader->in = standard ? stdin : fopen(path, "rb");
    if (!reader->in) return io_fail(error, "%s: %s", path, strerror(errno));
    if (!y4m_read_line(reader->in, line) || strncmp(line, "YUV4MPEG2", 9) != 0) {
        io_fail(error,
                "%s: not a Y4M stream, which begins with YUV4MPEG2 (ffmpeg -i clip.mp4 -f yuv4mpegpipe - makes one)",
                reader->name);
    } else if (parse_header(reader, line + 9, error)) {
        size_t luma = (size_t)reader->width * (size_t)reader->height,
               chroma = chroma_width(reader) * chroma_height(reader);
        reader->luma = io_alloc(luma, 1);
        reader->cb = io_alloc(chroma, 1);
        reader->cr = io_alloc(chroma, 1);
        reader->raw = io_alloc(luma, reader->bits > 8 ? 2 : 1);
        return true;
    }
    y4m_close(reader);
    return false;
}

void y4m_close(y4m_reader *reader)
{
    if (reader->in && reader->in != stdin) fclose(reader->in);
    free(reader->luma);
    free(reader->cb);
    free(reader->cr);
    free(reader->raw);
    memset(reader, 0, sizeof *reader);
}

/* ----------------------------------------------------------------------------------------------------------- frames */

/* One plane; samples of more than 8 bits are little-endian and lose their low bits. */
static bool read_plane(y4m_reader *r, uint8_t *plane, size_t samples)
{
    if (r->bits == 8) return fread(plane, 1, samples, r->in) == samples;
    if (fread(r->raw, 2, samples, r->in) != samples) return false;
    for (size_t i = 0; i < samples; i++) {
        uint32_t value = (uint32_t)(r->raw[2 * i] | r->raw[2 * i + 1] << 8) >> (r->bits - 8);
        plane[i] = (uint8_t)(value > 255 ? 255 : value);
    }
    return true;
}

y4m_status y4m_next(y4m_reader *r, io_error *error)
{
    char line[LINE];
    int first = getc(r->in);
    if (first == EOF) return Y4M_END;
    ungetc(first, r->in);
    size_t luma = (size_t)r->width * (size_t)r->height, chroma = chroma_width(r) * chroma_height(r);
    if (!y4m_read_line(r->in, line) || strncmp(line, "FRAME", 5) != 0) {
        io_fail(error, "%s: frame %lld does not begin with FRAME: the stream is damaged", r->name,
                (long long)r->frames);
        return Y4M_BROKEN;
    }
    bool ok = read_plane(r, r->luma, luma);
    if (ok && r->colour) ok = read_plane(r, r->cb, chroma) && read_plane(r, r->cr, chroma);
    if (ok && r->alpha) ok = fread(r->raw, 1, luma, r->in) == luma;
    if (!ok) {
        io_fail(error, "%s: the stream ends in the middle of frame %lld", r->name, (long long)r->frames);
        return Y4M_BROKEN;
    }
    r->frames++;
    return Y4M_FRAME;
}

kb_image y4m_view(const y4m_reader *r)
{
    return (kb_image){r->luma, r->width, r->height, r->width, KB_FORMAT_GRAY8, 0};
}

static uint8_t clamp8(int32_t v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

/* BT.601 in 16-bit fixed point. */
void y4m_to_rgb(const y4m_reader *r, uint8_t *rgb)
{
    size_t wide = chroma_width(r);
    int32_t gain = r->full_range ? 65536 : 76309, base = r->full_range ? 0 : 16;
    int32_t red = r->full_range ? 91881 : 104597, blue = r->full_range ? 116130 : 132201;
    int32_t green_u = r->full_range ? 22553 : 25675, green_v = r->full_range ? 46802 : 53279;
    for (int32_t y = 0; y < r->height; y++) {
        for (int32_t x = 0; x < r->width; x++, rgb += 3) {
            size_t c = (size_t)(y >> r->shift_y) * wide + (size_t)(x >> r->shift_x);
            int32_t l = (r->luma[(size_t)y * (size_t)r->width + (size_t)x] - base) * gain + 32768;
            int32_t u = r->colour ? r->cb[c] - 128 : 0, v = r->colour ? r->cr[c] - 128 : 0;
            rgb[0] = clamp8((l + red * v) >> 16);
            rgb[1] = clamp8((l - green_u * u - green_v * v) >> 16);
            rgb[2] = clamp8((l + blue * u) >> 16);
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- writing */

bool y4m_create(y4m_writer *writer, const char *path, int32_t width, int32_t height, const char *rate, io_error *error)
{
    *writer = (y4m_writer){io_writer_open(path, error), width, height, NULL};
    if (!writer->file) return false;
    size_t half = (size_t)((width + 1) / 2) * (size_t)((height + 1) / 2);
    writer->planes = io_alloc((size_t)width * (size_t)height + 2 * half, 1);
    fprintf(io_writer_file(writer->file), "YUV4MPEG2 W%d H%d F%s Ip A1:1 C420jpeg\n", (int)width, (int)height, rate);
    return true;
}

/* The mean colour of a square of two by two pixels, cut off at the border. */
static void mean_of_four(const io_canvas *canvas, int32_t x, int32_t y, int32_t mean[3])
{
    int32_t x1 = x + 1 < canvas->width ? x + 1 : x, y1 = y + 1 < canvas->height ? y + 1 : y;
    const int32_t at[4][2] = {{x, y}, {x1, y}, {x, y1}, {x1, y1}};
    for (int k = 0; k < 3; k++) {
        mean[k] = 2;
        for (int i = 0; i < 4; i++)
            mean[k] += canvas->rgb[3 * ((size_t)at[i][1] * (size_t)canvas->width + (size_t)at[i][0]) + (size_t)k];
        mean[k] /= 4;
    }
}

bool y4m_put(y4m_writer *writer, const io_canvas *canvas, io_error *error)
{
    size_t luma = (size_t)writer->width * (size_t)writer->height;
    size_t half = (size_t)((writer->width + 1) / 2) * (size_t)((writer->height + 1) / 2);
    uint8_t *cb = writer->planes + luma, *cr = cb + half;
    for (size_t i = 0; i < luma; i++) {
        const uint8_t *p = canvas->rgb + 3 * i;
        writer->planes[i] = (uint8_t)(16 + ((66 * p[0] + 129 * p[1] + 25 * p[2] + 128) >> 8));
    }
    for (int32_t y = 0; y < writer->height; y += 2) {
        for (int32_t x = 0; x < writer->width; x += 2) {
            int32_t m[3];
            mean_of_four(canvas, x, y, m);
            *cb++ = (uint8_t)((-38 * m[0] - 74 * m[1] + 112 * m[2] + 128 + 32768) >> 8);
            *cr++ = (uint8_t)((112 * m[0] - 94 * m[1] - 18 * m[2] + 128 + 32768) >> 8);
        }
    }
    FILE *out = io_writer_file(writer->file);
    fputs("FRAME\n", out);
    fwrite(writer->planes, 1, luma + 2 * half, out);
    return io_writer_check(writer->file, error);
}

bool y4m_commit(y4m_writer *writer, io_error *error)
{
    io_writer *file = writer->file;
    free(writer->planes);
    memset(writer, 0, sizeof *writer);
    return !file || io_writer_commit(file, error);
}

void y4m_abandon(y4m_writer *writer)
{
    if (writer->file) io_writer_abandon(writer->file);
    free(writer->planes);
    memset(writer, 0, sizeof *writer);
}
