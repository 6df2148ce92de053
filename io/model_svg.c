/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes of a model as SVG: one picture of where all pairs lie (a dot is the centre of a first box), then one small
 * patch a bit, in which the first box is filled, the second is open, and a line joins their centres. The colour tells
 * the channel, a tooltip the numbers. Every octave of BAG has its own picture and its own rows of small patches. */
#include "io/number.h"
#include "model_table.h"

#define COLUMNS 16
#define CELL 54     /* a small patch, 32 units of 1.5 px, with room around it */
#define LARGE 320   /* the picture of all boxes */
#define MEDIUM 204  /* or of those of an octave */
#define CAPTION 22  /* a line above what belongs to an octave */
#define MARGIN 20
#define HEAD 60     /* title and legend */
#define GRAY_LEGEND 50
#define GRADIENT_LEGEND 100

static const struct {
    const char *name, *colour;
} channels[KB_CHANNELS] = {
    {"gray", "#555555"},          {"gradient 0\xc2\xb0", "#d62728"},   {"gradient 45\xc2\xb0", "#ff7f0e"},
    {"gradient 90\xc2\xb0", "#b8a000"},  {"gradient 135\xc2\xb0", "#2ca02c"}, {"gradient 180\xc2\xb0", "#00a0a0"},
    {"gradient 225\xc2\xb0", "#1f77b4"}, {"gradient 270\xc2\xb0", "#6a3fb0"}, {"gradient 315\xc2\xb0", "#d0449c"},
};

static void write_escaped(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", file);
        else if (*text == '>') fputs("&gt;", file);
        else if (*text == '&') fputs("&amp;", file);
        else fputc(*text, file);
    }
}

/* A box covers whole samples: x - r to x + r, on cells x - r to x + r - 1; sample x is drawn from x to x + 1. */
static void write_box(FILE *file, bool cells, int channel, int x, int y, int radius, bool filled)
{
    fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" %s=\"%s\"%s/>", x - radius, y - radius,
            2 * radius + !cells, 2 * radius + !cells, filled ? "fill" : "stroke", channels[channel].colour,
            filled ? " fill-opacity=\"0.75\"" : " fill=\"none\"");
}

static void write_line(FILE *file, bool cells, const kb_box_pair *p, const char *colour)
{
    const char *half = cells ? "" : ".5"; /* the centre of a box on cells is a corner of samples */
    fprintf(file, "<path d=\"M%d%s %d%sL%d%s %d%s\" stroke=\"%s\"/>", p->x1, half, p->y1, half, p->x2, half, p->y2,
            half, colour);
}

static void write_pair(FILE *file, bool cells, const kb_box_pair *p)
{
    write_box(file, cells, p->channel1, p->x1, p->y1, p->radius1, true);
    write_box(file, cells, p->channel2, p->x2, p->y2, p->radius2, false);
    write_line(file, cells, p, "#000");
}

static void write_place(FILE *file, bool cells, const kb_box_pair *p)
{
    const char *colour = channels[p->channel1].colour;
    const char *half = cells ? "" : ".5";
    fprintf(file, "<circle cx=\"%d%s\" cy=\"%d%s\" r=\"0.25\" fill=\"%s\"/>", p->x1, half, p->y1, half, colour);
    write_line(file, cells, p, colour);
    fputc('\n', file);
}

static const char *const octave_names[KB_OCTAVES] = {"octave 0: the whole region", "octave 1: its middle half",
                                                     "octave 2: its middle quarter", "octave 3: its middle eighth"};

static void write_caption(FILE *file, int octave, int x, int y)
{
    fprintf(file, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y, octave_names[octave]);
}

/* octave: -1 where there are none. */
static void write_tooltip(FILE *file, int32_t bit, int octave, const kb_box_pair *p)
{
    char threshold[32], where[32] = "";
    if (octave >= 0) snprintf(where, sizeof where, ", octave %d", octave);
    fprintf(file, "<title>bit %d%s: %s (%d, %d) radius %d - %s (%d, %d) radius %d &lt;= %s</title>", (int)bit, where,
            channels[p->channel1].name, p->x1, p->y1, p->radius1, channels[p->channel2].name, p->x2, p->y2, p->radius2,
            io_number_format(threshold, (double)p->threshold, 6));
}

static void svg_write_head(FILE *file, const kb_model_info *info, int width, int height)
{
    const kb_model_spec *spec = info->spec;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    fprintf(file, "<text x=\"%d\" y=\"24\" font-size=\"18\">", MARGIN);
    write_escaped(file, spec->name);
    fprintf(file, ": %s, %d bits, %d different boxes, %s sampler</text>\n", kb_name(KB_NAMES_KIND, spec->kind),
            (int)spec->bits, (int)info->distinct_boxes, kb_name(KB_NAMES_SAMPLER, spec->sampler));
    int x = MARGIN;
    for (int c = 0; c < KB_CHANNELS; c++) {
        if (!(info->channels >> c & 1)) continue;
        fprintf(file, "<rect x=\"%d\" y=\"36\" width=\"11\" height=\"11\" fill=\"%s\"/><text x=\"%d\" y=\"46\" "
                "font-size=\"11\">%s</text>\n", x, channels[c].colour, x + 15, channels[c].name);
        x += c == 0 ? GRAY_LEGEND : GRADIENT_LEGEND;
    }
}

/* Bit i of an octave, whose bytes take turns in a row with those of the others; -1: there are no octaves. */
static int bit_at(int octave, int i) { return octave < 0 ? i : (i / 8 * KB_OCTAVES + octave) * 8 + i % 8; }

/* All pairs of an octave, or of a patch, in a square `size` wide. */
static void write_overview(FILE *file, bool cells, int octave, const kb_model_spec *spec, int count, int size, int x,
                           int y)
{
    char scale[32];
    int side = octave < 0 ? KB_PATCH_SIDE : KB_OCTAVE_SIDE;
    fprintf(file, "<g transform=\"translate(%d %d) scale(%s)\" stroke-width=\"%s\"><rect width=\"%d\" height=\"%d\" "
            "fill=\"#fafafa\" stroke=\"#999\"/><g stroke-opacity=\"0.7\">\n",
            x, y, io_number_format(scale, (double)size / side, 6), side < KB_PATCH_SIDE ? "0.08" : "0.1", side, side);
    for (int i = 0; i < count; i++) write_place(file, cells, &spec->boxes[bit_at(octave, i)]);
    fprintf(file, "</g></g>\n");
}

/* Their small patches, COLUMNS in a row. */
static void write_bits(FILE *file, bool cells, int octave, const kb_model_spec *spec, int count, int y)
{
    for (int i = 0; i < count; i++) {
        int bit = bit_at(octave, i);
        fprintf(file, "<g transform=\"translate(%d %d) scale(1.5)\" stroke-width=\"1\">"
                "<rect width=\"32\" height=\"32\" fill=\"#f4f4f4\" stroke=\"#ccc\"/>",
                MARGIN + i % COLUMNS * CELL, y + i / COLUMNS * CELL);
        write_tooltip(file, bit, octave, &spec->boxes[bit]);
        if (octave >= 0) fprintf(file, "<g transform=\"scale(2)\" stroke-width=\"0.5\">");
        write_pair(file, cells, &spec->boxes[bit]);
        fprintf(file, "%s</g>\n", octave >= 0 ? "</g>" : "");
    }
}

static void write_rule(FILE *file, int x, int y)
{
    fprintf(file, "<text x=\"%d\" y=\"%d\">bit = 1 when mean(filled) - mean(open) &lt;= threshold</text>\n", x, y);
}

static int rows_of(int bits) { return (bits + COLUMNS - 1) / COLUMNS; }

static void write_octaves(FILE *file, const kb_model_spec *spec)
{
    int quarter = spec->bits / KB_OCTAVES, y = HEAD + CAPTION + MEDIUM + MARGIN;
    write_rule(file, MARGIN + COLUMNS / 2 * CELL, y + CAPTION - 6);
    for (int k = 0; k < KB_OCTAVES; k++) {
        int x = MARGIN + k * COLUMNS / KB_OCTAVES * CELL;
        write_caption(file, k, x, HEAD + CAPTION - 6);
        write_overview(file, true, k, spec, quarter, MEDIUM, x, HEAD + CAPTION);
        write_caption(file, k, MARGIN, y + CAPTION - 6);
        write_bits(file, true, k, spec, quarter, y + CAPTION);
        y += CAPTION + rows_of(quarter) * CELL;
    }
}

void model_svg_print(FILE *file, const kb_model_info *info)
{
    const kb_model_spec *spec = info->spec;
    bool octaves = spec->sampler == KB_SAMPLER_OCTAVES, cells = octaves || spec->sampler == KB_SAMPLER_CELLS;
    int grid_width = COLUMNS * CELL, legend_width = GRAY_LEGEND + (KB_CHANNELS - 1) * GRADIENT_LEGEND;
    int below = HEAD + (octaves ? CAPTION + MEDIUM : LARGE) + MARGIN;
    int height = octaves ? KB_OCTAVES * (CAPTION + rows_of(spec->bits / KB_OCTAVES) * CELL)
                         : rows_of(spec->bits) * CELL;
    svg_write_head(file, info, 2 * MARGIN + (grid_width > legend_width ? grid_width : legend_width),
                   below + height + MARGIN);
    if (octaves) {
        write_octaves(file, spec);
    } else {
        write_rule(file, 2 * MARGIN + LARGE, HEAD + MARGIN);
        write_overview(file, cells, -1, spec, spec->bits, LARGE, MARGIN, HEAD);
        write_bits(file, cells, -1, spec, spec->bits, below);
    }
    fprintf(file, "</svg>\n");
}

bool model_svg_write(const char *path, const kb_model_info *info, io_error *error)
{
    const kb_model_spec *spec = info->spec;
    if (spec->kind != KB_KIND_BAD && spec->kind != KB_KIND_BAG) {
        return io_fail(error, "%s has no boxes to draw; only bad and bag models have", spec->name);
    }
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    model_svg_print(io_writer_file(writer), info);
    return io_writer_commit(writer, error);
}
