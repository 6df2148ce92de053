/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text with a decimal point, whatever the locale. */
#ifndef IO_NUMBER_H
#define IO_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a number at text (spaces before it are skipped); *end is where it stopped. False when there is none. Takes nan
 * and inf too: the caller decides. */
bool io_number_parse(const char *text, const char **end, double *value);
/* The whole string must be one number, spaces around it allowed. */
bool io_number_is(const char *text, double *value);
bool io_integer_is(const char *text, int64_t *value);
/* "%.<digits>g"; buffer of at least 32 bytes, which is returned. 9 digits keep a float exactly, 17 a double. */
char *io_number_format(char *buffer, double value, int digits);
/* The fewest digits that read back as the same double, or as the same float: 1.3, not 1.2999999523. */
char *io_number_shortest(char *buffer, double value, bool single);

#endif
