/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of the command match. A picture of a thousand matches must still be readable: images keep their colours,
 * a little darker, at a width that fits a screen; some matches have a thin line with a dot at either end, and nothing
 * covers the outline of A in B. */
#include <math.h>
#include <stdlib.h>

#include "io/draw.h"
#include "match.h"

#define WIDEST 900     /* px, of one image in the picture */
#define SHOWN_IN 60    /* lines of inliers at most, and not more than one in 10 px of height */
#define SHOWN_EPI 12   /* epipolar lines */
#define MARGIN 6
#define KEY 24         /* from a key of the legend to its word */
#define KEY_GAP 18
#define INLIER 0.57    /* opacity of lines; dots are opaque */
#define OUTLIER 0.4

static const io_colour green = {70, 235, 110}, red = {225, 80, 80}, yellow = {255, 210, 40}, white = {235, 235, 235};
static const io_colour black = {0, 0, 0}, night = {18, 20, 24};

typedef struct sheet {
    io_canvas canvas;
    double factor[2];  /* px of the picture / px of the image */
    int32_t left[2], top[2]; /* where each image begins */
    int32_t width[2], height[2];
} sheet;

/* ------------------------------------------------------------------------------------------------------- the images */

static int32_t scaled(int32_t index, int32_t from, int32_t to) { return (int32_t)((int64_t)index * from / to); }

/* The mean over the part of the image that one pixel of the picture covers, which is a pixel or more. */
static void mean_under(const io_canvas *full, int32_t x0, int32_t x1, int32_t y0, int32_t y1, uint8_t *pixel)
{
    const size_t stride = 3 * (size_t)full->width;
    for (size_t c = 0; c < 3; c++) {
        uint32_t sum = 0, count = 0;
        for (int32_t y = y0; y < y1; y++)
            for (int32_t x = x0; x < x1; x++, count++) sum += full->rgb[(size_t)y * stride + 3 * (size_t)x + c];
        pixel[c] = (uint8_t)(sum / (count ? count : 1));
    }
}

static bool put_smaller(sheet *s, const io_image *image, int which, io_error *error)
{
    io_canvas full;
    if (!io_canvas_create(&full, image->width, image->height, black, error)) return false;
    io_draw_image(&full, image, 0, 0);
    for (int32_t y = 0; y < s->height[which]; y++) {
        int32_t y0 = scaled(y, image->height, s->height[which]), y1 = scaled(y + 1, image->height, s->height[which]);
        for (int32_t x = 0; x < s->width[which]; x++) {
            int32_t x0 = scaled(x, image->width, s->width[which]), x1 = scaled(x + 1, image->width, s->width[which]);
            mean_under(&full, x0, x1, y0, y1,
                       s->canvas.rgb +
                           3 * ((size_t)(y + s->top[which]) * (size_t)s->canvas.width + (size_t)(x + s->left[which])));
        }
    }
    io_canvas_free(&full);
    return true;
}

/* A little darker than it is, so that lines stand out. */
static bool put_image(sheet *s, const io_image *image, int which, io_error *error)
{
    if (image->width == s->width[which] && image->height == s->height[which])
        io_draw_image(&s->canvas, image, s->left[which], s->top[which]);
    else if (!put_smaller(s, image, which, error))
        return false;
    size_t n = 3 * (size_t)s->width[which];
    for (int32_t y = 0; y < s->height[which]; y++) {
        uint8_t *row = s->canvas.rgb + 3 * ((size_t)(y + s->top[which]) * (size_t)s->canvas.width + (size_t)s->left[which]);
        for (size_t i = 0; i < n; i++) row[i] = (uint8_t)(row[i] * 7u / 8);
    }
    return true;
}

static bool sheet_begin(sheet *s, const match_picture *p, io_error *error)
{
    int32_t height = 1, text = io_text_height(2) + 2 * MARGIN;
    for (int i = 0; i < 2; i++) {
        const io_image *image = p->images[i];
        s->factor[i] = image->width > WIDEST ? (double)WIDEST / image->width : 1;
        s->width[i] = image->width > WIDEST ? WIDEST : image->width;
        s->height[i] = (int32_t)lround(image->height * s->factor[i]);
        if (s->height[i] < 1) s->height[i] = 1;
        if (s->height[i] > height) height = s->height[i];
    }
    s->left[0] = 0;
    s->left[1] = s->width[0] + MARGIN;
    for (int i = 0; i < 2; i++) s->top[i] = (height - s->height[i]) / 2;
    if (!io_canvas_create(&s->canvas, s->left[1] + s->width[1], height + text, night, error)) return false;
    return put_image(s, p->images[0], 0, error) && put_image(s, p->images[1], 1, error);
}

/* ------------------------------------------------------------------------------------------------------ the matches */

/* Centres of pixels keep their places: x + 0.5 scales. */
static double place_x(const sheet *s, int which, double x)
{
    return (x + 0.5) * s->factor[which] - 0.5 + s->left[which];
}
static double place_y(const sheet *s, int which, double y)
{
    return (y + 0.5) * s->factor[which] - 0.5 + s->top[which];
}

static void draw_match(sheet *s, const kb_point_pair *p, double dot, double opacity, io_colour colour)
{
    double xa = place_x(s, 0, p->x1), ya = place_y(s, 0, p->y1), xb = place_x(s, 1, p->x2), yb = place_y(s, 1, p->y2);
    io_draw_faint_line(&s->canvas, xa, ya, xb, yb, opacity, colour);
    io_draw_circle(&s->canvas, xa, ya, 1, dot, colour);
    io_draw_circle(&s->canvas, xb, yb, 1, dot, colour);
}

/* How far apart two lines are: the square of the distances of their ends. */
static double apart(const sheet *s, const kb_point_pair *p, const kb_point_pair *q)
{
    double xa = (p->x1 - q->x1) * s->factor[0], ya = (p->y1 - q->y1) * s->factor[0];
    double xb = (p->x2 - q->x2) * s->factor[1], yb = (p->y2 - q->y2) * s->factor[1];
    return xa * xa + ya * ya + xb * xb + yb * yb;
}

/* At most `shown` of the matches that are, or are not, inliers, spread over the picture: each line is the one farthest
 * from all before it, the first of equals. Returns how many were drawn. */
static size_t draw_lines(sheet *s, const pipeline_result *result, bool inliers, size_t shown, double dot, double opacity,
                         io_colour colour)
{
    double *nearest = io_alloc(result->count + 1, sizeof *nearest);
    size_t drawn = 0;
    for (size_t i = 0; i < result->count; i++) nearest[i] = result->inliers[i] == inliers ? INFINITY : 0;
    for (; drawn < shown; drawn++) {
        size_t next = 0;
        for (size_t i = 1; i < result->count; i++) next = nearest[i] > nearest[next] ? i : next;
        if (result->count == 0 || !(nearest[next] > 0)) break;
        for (size_t i = 0; i < result->count; i++)
            nearest[i] = fmin(nearest[i], apart(s, &result->pairs[i], &result->pairs[next]));
        draw_match(s, &result->pairs[next], dot, opacity, colour);
    }
    free(nearest);
    return drawn;
}

static size_t shown_lines(const sheet *s)
{
    size_t fit = (size_t)s->canvas.height / 10;
    return fit < SHOWN_IN ? fit : SHOWN_IN;
}

/* ----------------------------------------------------------------------------------------------------- the geometry */

/* A line a x + b y + c = 0 of image `which`, cut off at its border. */
static void draw_epiline(sheet *s, const match_picture *p, int which, const double line[3], io_colour colour)
{
    double w = p->images[which]->width - 1, h = p->images[which]->height - 1, x[2], y[2];
    int n = 0;
    for (int side = 0; side < 4 && n < 2; side++) {
        double at = side & 1 ? (side & 2 ? h : w) : 0;
        double px = side & 2 ? -(line[1] * at + line[2]) / line[0] : at;
        double py = side & 2 ? at : -(line[0] * at + line[2]) / line[1];
        if (!(px >= 0 && px <= w && py >= 0 && py <= h) || (n && hypot(px - x[0], py - y[0]) < 1)) continue;
        x[n] = px, y[n++] = py;
    }
    if (n < 2) return;
    io_draw_line(&s->canvas, place_x(s, which, x[0]), place_y(s, which, y[0]), place_x(s, which, x[1]),
                 place_y(s, which, y[1]), 1, colour);
}

/* For some inliers the line on which each image sees the other's point, in a colour of its own. */
static void draw_epilines(sheet *s, const match_picture *p)
{
    const double *f = p->result->fit.model;
    size_t total = (size_t)p->result->fit.inliers, seen = 0, drawn = 0;
    for (size_t i = 0; i < p->result->count; i++) {
        const kb_point_pair *q = &p->result->pairs[i];
        if (!p->result->inliers[i] || seen++ * SHOWN_EPI / total < drawn) continue;
        io_colour colour = io_colour_at(drawn++);
        const double in_b[3] = {f[0] * q->x1 + f[1] * q->y1 + f[2], f[3] * q->x1 + f[4] * q->y1 + f[5],
                                f[6] * q->x1 + f[7] * q->y1 + f[8]};
        const double in_a[3] = {f[0] * q->x2 + f[3] * q->y2 + f[6], f[1] * q->x2 + f[4] * q->y2 + f[7],
                                f[2] * q->x2 + f[5] * q->y2 + f[8]};
        draw_epiline(s, p, 0, in_a, colour);
        draw_epiline(s, p, 1, in_b, colour);
        io_draw_circle(&s->canvas, place_x(s, 0, q->x1), place_y(s, 0, q->y1), 5, 2.5, colour);
        io_draw_circle(&s->canvas, place_x(s, 1, q->x2), place_y(s, 1, q->y2), 5, 2.5, colour);
    }
}

/* Where the border of A lies in B; pieces, since a part of it may be behind the camera. The half of the sheet that
 * belongs to A stays clean. */
static void draw_outline(sheet *s, const match_picture *p, double width, io_colour colour)
{
    enum { PIECES = 40 };
    double w = p->images[0]->width - 1, h = p->images[0]->height - 1;
    const double corner[5][2] = {{0, 0}, {w, 0}, {w, h}, {0, h}, {0, 0}};
    for (int side = 0; side < 4; side++) {
        double x0 = NAN, y0 = NAN;
        for (int k = 0; k <= PIECES; k++) {
            double t = (double)k / PIECES, x1, y1;
            kb_homography_apply(p->result->fit.model, corner[side][0] + t * (corner[side + 1][0] - corner[side][0]),
                                corner[side][1] + t * (corner[side + 1][1] - corner[side][1]), &x1, &y1);
            x1 = place_x(s, 1, x1);
            y1 = place_y(s, 1, y1);
            bool beside = x0 < s->left[1] || x1 < s->left[1] || fabs(x1 - x0) + fabs(y1 - y0) > 1e4;
            if (k > 0 && isfinite(x0) && isfinite(x1) && !beside)
                io_draw_line(&s->canvas, x0, y0, x1, y1, width, colour);
            x0 = x1, y0 = y1;
        }
    }
}

/* Dark around bright, so that it is seen on any picture. */
static void draw_outlined(sheet *s, const match_picture *p)
{
    draw_outline(s, p, 5, black);
    draw_outline(s, p, 2.5, yellow);
}

/* A short line in the colour and its word, right of x; returns where it ends. */
static int32_t draw_key(sheet *s, int32_t x, int32_t y, int magnify, io_colour colour, const char *word)
{
    io_draw_rectangle(&s->canvas, x, y + io_text_height(magnify) / 2 - 1, 18, 3, colour);
    io_draw_text(&s->canvas, x + KEY, y, magnify, white, word);
    return x + KEY + io_text_width(magnify, word) + KEY_GAP;
}

/* What was drawn, for the legend. */
typedef struct legend {
    size_t lines, outliers;
    bool epilines, outline;
} legend;

static void draw_caption(sheet *s, const match_picture *p, const legend *shown)
{
    const pipeline_result *r = p->result;
    bool fitted = !p->pipeline->options.no_fit;
    const char *const keys[] = {"inlier", "outlier", "A in B"};
    const bool used[] = {fitted && shown->lines, shown->outliers, shown->outline};
    const io_colour colours[] = {green, red, yellow};
    char text[256], drawn[64] = "";
    size_t lines = shown->lines + shown->outliers;
    if (shown->epilines)
        snprintf(drawn, sizeof drawn, "   epipolar lines of %d", SHOWN_EPI);
    else if (lines < r->count)
        snprintf(drawn, sizeof drawn, ", %zu drawn", lines);
    if (!fitted) {
        snprintf(text, sizeof text, "%zu matches%s   %s", r->count, drawn, p->pipeline->info.spec->name);
    } else {
        static const char *const names[] = {"",       "homography",       "fundamental matrix", "similarity",
                                            "affinity", "essential matrix", "rotation"};
        snprintf(text, sizeof text, "%d inliers of %zu matches%s   %s %s   %s", (int)r->fit.inliers, r->count, drawn,
                 names[r->fit.geometry], kb_name(KB_NAMES_FIT_RESULT, r->fit.result),
                 p->pipeline->info.spec->name);
    }
    int32_t strip = io_text_height(2) + 2 * MARGIN, width = MARGIN + io_text_width(2, text) + 24;
    for (int i = 0; i < 3; i++) width += used[i] ? KEY + io_text_width(2, keys[i]) + KEY_GAP : 0;
    int magnify = width <= s->canvas.width ? 2 : 1;
    io_draw_rectangle(&s->canvas, 0, s->canvas.height - strip, s->canvas.width, strip, night);
    int32_t x = MARGIN + io_text_width(magnify, text) + 24,
            y = s->canvas.height - (strip + io_text_height(magnify)) / 2;
    io_draw_text(&s->canvas, MARGIN, y, magnify, white, text);
    for (int i = 0; i < 3; i++)
        if (used[i]) x = draw_key(s, x, y, magnify, colours[i], keys[i]);
}

bool match_draw(const match_picture *picture, io_error *error)
{
    sheet s = {0};
    const pipeline_result *result = picture->result;
    bool found = !picture->pipeline->options.no_fit && result->fit.result == KB_FIT_FOUND;
    bool ok = sheet_begin(&s, picture, error);
    if (ok) {
        bool fitted = !picture->pipeline->options.no_fit; /* else nothing is an outlier, nor marked as inlier */
        legend shown = {.epilines = picture->epilines && found && result->fit.geometry == KB_GEOMETRY_FUNDAMENTAL};
        if (shown.epilines) {
            draw_epilines(&s, picture);
        } else {
            if (fitted) shown.outliers = draw_lines(&s, result, false, shown_lines(&s) / 4, 1, OUTLIER, red);
            shown.lines = draw_lines(&s, result, fitted, shown_lines(&s), 2, INLIER, green);
        }
        kb_geometry g = result->fit.geometry;
        shown.outline =
            found && (g == KB_GEOMETRY_HOMOGRAPHY || g == KB_GEOMETRY_SIMILARITY || g == KB_GEOMETRY_AFFINE);
        if (shown.outline) draw_outlined(&s, picture);
        draw_caption(&s, picture, &shown);
        ok = io_canvas_write(picture->path, &s.canvas, error);
    }
    io_canvas_free(&s.canvas);
    return ok;
}
