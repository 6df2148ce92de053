/* SPDX-License-Identifier: Apache-2.0 */
/* Pages in one HTML file with nothing from elsewhere: one style for all, light and dark, that fits a phone. */
#ifndef IO_HTML_H
#define IO_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* From the doctype to the heading, and the end. */
void io_html_begin(FILE *out, const char *title);
void io_html_end(FILE *out);

/* Text with <, >, & and quotes made harmless. */
void io_html_text(FILE *out, const char *text);

/* A gray picture inside the page, as PNG; alt is text. False when memory is out. */
bool io_html_picture(FILE *out, const char *alt, int32_t width, int32_t height, const uint8_t *pixels);

/* A table that scrolls sideways where it is too wide. heads is NULL-terminated and is markup, not text; a head that
 * starts with '*' belongs to a column of others' numbers. */
void io_html_table_begin(FILE *out, const char *const *heads);
void io_html_table_end(FILE *out);
/* A row begins with its name; the cells follow. */
void io_html_row_begin(FILE *out, const char *name);
void io_html_row_end(FILE *out);
/* A dash for a value that is not finite. The class may be NULL, "best" or "paper" (others' numbers). */
void io_html_cell(FILE *out, double value, int digits, const char *class);
void io_html_cell_text(FILE *out, const char *text);

#endif
