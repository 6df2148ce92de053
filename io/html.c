/* SPDX-License-Identifier: Apache-2.0 */
#include "io/html.h"

#include <math.h>
#include <stdlib.h>

#include "io/image_io.h"

/* Colours of curves are --c0 to --c7 (io/plot.c), so that they change with the background too. */
static const char style[] =
    ":root{--ink:#1c2227;--soft:#5c6770;--line:#d8dee3;--paper:#fff;--tint:#f3f6f8;--good:#0b6b3a;"
    "--c0:#1769aa;--c1:#c4500c;--c2:#2e7d32;--c3:#a3195b;--c4:#6a4fb3;--c5:#00798c;--c6:#8d6b00;--c7:#607080}\n"
    "@media(prefers-color-scheme:dark){\n"
    ":root{--ink:#e6eaed;--soft:#9aa6af;--line:#37424a;--paper:#14191d;--tint:#1d242a;--good:#5fd39a;"
    "--c0:#6cb2f0;--c1:#f2975c;--c2:#7ccb82;--c3:#f083b8;--c4:#b3a0f2;--c5:#4fc3d6;--c6:#d8b84a;--c7:#a9b7c4}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1080px;margin:0 auto;padding:1rem 1rem 4rem}\n"
    "h1{font-size:1.7rem;margin:1rem 0;overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;margin:2.2rem 0 .4rem;border-top:1px solid var(--line);padding-top:1rem}\n"
    "p{color:var(--soft);max-width:46rem;margin:.3rem 0 .8rem}\n"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.88rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}\n"
    "th,td{padding:.28rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\n"
    "thead th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal}\n"
    "tbody th,thead th:first-child,td:first-child{text-align:left}\n"
    "tbody th{font-weight:500}\n"
    "tr>th:first-child{position:sticky;left:0;background:var(--paper)}\n"
    "tbody tr:hover,tbody tr:hover th{background:var(--tint)}\n"
    ".best{color:var(--good);font-weight:700}\n"
    ".paper{color:var(--soft);font-style:italic}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:1rem;margin:1rem 0}\n"
    ".origin{font-size:.88rem;overflow-wrap:anywhere}\n"
    "figure{margin:0;max-width:640px}\n"
    "svg{width:100%;height:auto;display:block}\n"
    "svg.plot text{fill:currentColor;font:12px system-ui,sans-serif}\n"
    "svg.plot .axis{fill:var(--soft)}\n"
    "svg.plot .grid{stroke:var(--line)}\n"
    ".picture{max-width:56rem;overflow-x:auto;background:#fff;color:#000}\n"
    ".matrix{max-width:640px}\n"
    ".matrix img{width:100%;height:auto;image-rendering:pixelated}\n"
    "figcaption{color:var(--soft);font-size:.88rem;text-align:center}\n"
    ".key{display:flex;flex-wrap:wrap;gap:.1rem .9rem;justify-content:center;font-size:.88rem;margin:.2rem 0 0}\n"
    ".key span::before{content:\"\";display:inline-block;width:1.3em;border-top:3px solid var(--c);"
    "vertical-align:.25em;margin-right:.35em}\n"
    ".key span.dashed::before{border-top-style:dashed}\n"
    "details{margin:.8rem 0}\n"
    "summary{cursor:pointer;color:var(--soft)}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}\n"
    "dt{color:var(--soft)}\n"
    "dd{margin:0;overflow-wrap:anywhere}\n"
    "@media(max-width:600px){svg.plot text{font-size:14.5px}th,td{padding:.28rem .5rem}}\n"
    "@media print{.scroll{overflow:visible}section{break-inside:avoid}}\n";

void io_html_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>", out);
    io_html_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style></head><body><main>\n<h1>", style);
    io_html_text(out, title);
    fputs("</h1>\n", out);
}

void io_html_end(FILE *out) { fputs("</main></body></html>\n", out); }

void io_html_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
    }
}

void io_html_table_begin(FILE *out, const char *const *heads)
{
    fputs("<div class=\"scroll\"><table><thead><tr>", out);
    for (; *heads; heads++) {
        bool paper = **heads == '*';
        fprintf(out, "<th%s>%s</th>", paper ? " class=\"paper\"" : "", *heads + paper);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void io_html_table_end(FILE *out) { fputs("</tbody></table></div>\n", out); }

void io_html_row_begin(FILE *out, const char *name)
{
    fputs("<tr><th>", out);
    io_html_text(out, name);
    fputs("</th>", out);
}

void io_html_row_end(FILE *out) { fputs("</tr>\n", out); }

void io_html_cell(FILE *out, double value, int digits, const char *class)
{
    fprintf(out, "<td%s%s%s>", class ? " class=\"" : "", class ? class : "", class ? "\"" : "");
    if (isfinite(value)) fprintf(out, "%.*f", digits, value);
    else fputs("&ndash;", out);
    fputs("</td>", out);
}

void io_html_cell_text(FILE *out, const char *text)
{
    fputs("<td>", out);
    io_html_text(out, text);
    fputs("</td>", out);
}

static void write_base64(FILE *out, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned long v = (unsigned long)data[i] << 16;
        if (i + 1 < size) v |= (unsigned long)data[i + 1] << 8;
        if (i + 2 < size) v |= data[i + 2];
        fputc(digits[v >> 18], out);
        fputc(digits[v >> 12 & 63], out);
        fputc(i + 1 < size ? digits[v >> 6 & 63] : '=', out);
        fputc(i + 2 < size ? digits[v & 63] : '=', out);
    }
}

bool io_html_picture(FILE *out, const char *alt, int32_t width, int32_t height, const uint8_t *pixels)
{
    char *png = NULL;
    size_t size = 0;
    io_error error;
    FILE *memory = open_memstream(&png, &size);
    if (!memory) return false;
    bool ok = io_png_encode(memory, alt, IO_GRAY8, width, height, pixels, &error);
    ok = fclose(memory) == 0 && ok;
    if (ok) {
        fprintf(out, "<img width=\"%d\" height=\"%d\" alt=\"", (int)width, (int)height);
        io_html_text(out, alt);
        fputs("\" src=\"data:image/png;base64,", out);
        write_base64(out, (unsigned char *)png, size);
        fputs("\">", out);
    }
    free(png);
    return ok;
}
