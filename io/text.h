/* SPDX-License-Identifier: Apache-2.0 */
/* Text that comes from outside, above all names of files: shown so that it cannot do anything to a terminal. */
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include <stddef.h>

/* The bytes of the UTF-8 character that begins at text (1 to 4), or 0 when there is no valid one. The end of the text
 * counts as a byte that fits nothing. */
size_t io_utf8_bytes(const char *text);

/* A copy in which control characters and bytes that are no UTF-8 stand as \xNN; cut off, never inside a character, when
 * room bytes do not do. Returns out, which must not be text. */
char *io_printable(char *out, size_t room, const char *text);

/* A copy of UTF-8 text that does not fit into room bytes (at least 32) without its middle: a long name stands at the
 * beginning of a message, and what is wrong with it at the end. Returns out. */
char *io_shortened(char *out, size_t room, const char *text);

#endif
