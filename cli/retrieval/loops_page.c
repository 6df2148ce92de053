/* SPDX-License-Identifier: Apache-2.0 */
/* The page of keybits loops: a matrix of similarities, and both pictures of each loop. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/html.h"
#include "loops.h"

#define THUMBNAIL 200 /* px, the longer side at most */
#define MATRIX 640    /* px */

/* Exact area averages of whole pixels: each output pixel is the mean of those that it covers. */
static uint8_t *shrink(const io_image *image, int32_t *width, int32_t *height)
{
    int32_t longer = image->width > image->height ? image->width : image->height;
    int32_t factor = (longer + THUMBNAIL - 1) / THUMBNAIL;
    *width = image->width / factor > 0 ? image->width / factor : 1;
    *height = image->height / factor > 0 ? image->height / factor : 1;
    uint8_t *out = io_alloc((size_t)*width * (size_t)*height, 1);
    for (int32_t y = 0; y < *height; y++) {
        for (int32_t x = 0; x < *width; x++) {
            uint32_t sum = 0, n = 0;
            for (int32_t v = y * factor; v < (y + 1) * factor && v < image->height; v++)
                for (int32_t u = x * factor; u < (x + 1) * factor && u < image->width; u++, n++)
                    sum += image->pixels[(size_t)v * (size_t)image->width + (size_t)u];
            out[(size_t)y * (size_t)*width + (size_t)x] = (uint8_t)(n ? sum / n : 0);
        }
    }
    return out;
}

static bool write_thumbnail(FILE *out, const char *path, const io_read_options *reading, io_error *error)
{
    io_image image;
    io_read_options gray = *reading;
    int32_t width, height;
    gray.keep16 = false;
    if (!io_image_read(path, &gray, &image, error)) return false;
    uint8_t *pixels = shrink(&image, &width, &height);
    io_image_free(&image);
    fputs("<figure>", out);
    bool ok = io_html_picture(out, io_path_base(path), width, height, pixels) || io_fail(error, "out of memory");
    fputs("<figcaption>", out);
    io_html_text(out, io_path_base(path));
    fputs("</figcaption></figure>\n", out);
    free(pixels);
    return ok;
}

/* Scores as brightness, by their square root since most are small; white is as similar as the most similar pair. */
static bool write_matrix(FILE *out, const float *scores, size_t n, size_t stride, io_error *error)
{
    size_t side = n < MATRIX ? n : MATRIX;
    uint8_t *pixels = io_alloc(side * side, 1);
    float most = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (scores[i * stride + k] > most) most = scores[i * stride + k];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            float score = scores[i * stride + k];
            uint8_t v = score > 0 && most > 0 ? (uint8_t)(255 * sqrtf(score / most)) : 0;
            uint8_t *pixel = &pixels[i * side / n * side + k * side / n];
            uint8_t *mirror = &pixels[k * side / n * side + i * side / n];
            if (v > *pixel) *pixel = v;
            if (v > *mirror) *mirror = v;
        }
    }
    bool ok = io_html_picture(out, "similarity of all pairs", (int32_t)side, (int32_t)side, pixels) ||
              io_fail(error, "out of memory");
    free(pixels);
    return ok;
}

/* Five images along an axis: its number, and its name where the reader points. */
static void write_ticks(FILE *out, const io_names *images, const char *axis)
{
    size_t last = images->count - 1, ticks = last < 4 ? last : 4;
    fprintf(out, "<div class=\"%s\">", axis);
    for (size_t i = 0; i <= ticks; i++) {
        size_t at = ticks ? i * last / ticks : 0;
        fputs("<span title=\"", out);
        io_html_text(out, io_path_base(images->items[at]));
        fprintf(out, "\">%zu</span>", at);
    }
    fputs("</div>", out);
}

static bool write_similarity(FILE *out, const io_names *images, const float *scores, size_t stride, io_error *error)
{
    fputs(
        "<h2>Similarity</h2>\n<p>Rows and columns are images by their number, from 0, in natural order of names: from ",
        out);
    io_html_text(out, io_path_base(images->items[0]));
    fputs(" to ", out);
    io_html_text(out, io_path_base(images->items[images->count - 1]));
    fputs(". Bright is similar; lines beside the diagonal are loops.</p>\n<style>"
          ".matrix{display:grid;grid-template-columns:auto minmax(0,640px);gap:.3rem}"
          ".matrix img{width:100%;height:auto;min-width:12rem;image-rendering:pixelated}"
          ".rows,.columns{display:flex;justify-content:space-between}"
          ".rows{flex-direction:column;text-align:right}.columns{grid-column:2}"
          ".loops{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:0 2rem}"
          ".loops h3{margin:1rem 0 0}.loop{display:grid;grid-template-columns:1fr 1fr;gap:.5rem}"
          ".loop img{width:100%;height:auto}</style>\n<div class=\"matrix\">", out);
    write_ticks(out, images, "rows");
    bool ok = write_matrix(out, scores, images->count, stride, error);
    write_ticks(out, images, "columns");
    fputs("</div>\n", out);
    return ok;
}

/* The surest first: by places, then by score, then in the order of the images. */
static int surer(const void *a, const void *b)
{
    const kb_loop *x = *(const kb_loop *const *)a, *y = *(const kb_loop *const *)b;
    if (x->places != y->places) return x->places > y->places ? -1 : 1;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

static bool write_loops(FILE *out, const io_names *images, const io_read_options *reading, const loops_found *loops,
                        io_error *error)
{
    const kb_loop **order = io_alloc(loops->count + 1, sizeof *order);
    bool ok = true;
    for (size_t i = 0; i < loops->count; i++) order[i] = &loops->items[i];
    qsort(order, loops->count, sizeof *order, surer);
    fputs("<h2>Loops, the surest first</h2>\n<div class=\"loops\">\n", out);
    for (size_t i = 0; ok && i < loops->count; i++) {
        fprintf(out, "<div><h3>%zu sees %zu again</h3>\n<p>%d places, score %.4f</p>\n<div class=\"loop\">\n",
                order[i]->query, order[i]->reference, order[i]->places, order[i]->score);
        ok = write_thumbnail(out, images->items[order[i]->query], reading, error) &&
             write_thumbnail(out, images->items[order[i]->reference], reading, error);
        fputs("</div></div>\n", out);
    }
    fputs("</div>\n", out);
    free(order);
    return ok;
}

bool loops_page_write(const char *path, const io_names *images, const io_read_options *reading, const float *scores,
                      size_t stride, const loops_found *loops, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    size_t n = images->count;
    io_html_begin(out, "Loops");
    fprintf(out, "<p>%zu loops in %zu images.</p>\n", loops->count, n);
    bool ok = n == 0 || write_similarity(out, images, scores, stride, error);
    ok = ok && write_loops(out, images, reading, loops, error);
    io_html_end(out);
    if (ok) return io_writer_commit(writer, error);
    io_writer_abandon(writer);
    return false;
}
